#!/bin/sh
# Other seeds than those of profile-mappings-static.sh.
: "${MEMDIAG_TEST_SEEDS:="15 29"}"
export MEMDIAG_TEST_SEEDS
. "$top_srcdir/tests/live/profile-mappings-static.sh"
