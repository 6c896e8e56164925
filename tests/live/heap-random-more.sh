#!/bin/sh
# Other seeds than those of heap-random.sh.
# shellcheck disable=SC2034 # lib.sh uses it
deadline=3600
: "${MEMDIAG_TEST_SEEDS:="17 $((16 + (36 * ${MEMDIAG_TEST_SHARE:-100} + 99) / 100))"}"
export MEMDIAG_TEST_SEEDS
. "$top_srcdir/tests/live/heap-random.sh"
