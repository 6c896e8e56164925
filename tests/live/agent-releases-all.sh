#!/bin/sh
# The programs that agent-releases.sh leaves out.
release_tests='exact threads fork'
. "$top_srcdir/tests/live/agent-releases.sh"
