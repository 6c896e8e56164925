#!/bin/sh
# The arrows between the rooms: scripts/check-layers, as a test.
exec "$top_srcdir/scripts/check-layers"
