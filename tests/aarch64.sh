#!/bin/sh
# Files that only arm64 builds: scripts/check-aarch64, as a test.
exec "$top_srcdir/scripts/check-aarch64"
