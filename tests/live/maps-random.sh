#!/bin/sh
# More random address spaces and damaged words than 'make check' has time for: tests/unit/maps-random.c,
# maps-random-several.c, maps-random-names.c, maps-stacks.c.  MEMDIAG_TEST_SEED=N begins with that seed.
. "$top_srcdir/tests/live/lib.sh"

check 'address spaces put together at random are what smaps and status say' \
	"$top_builddir/tests/unit/maps-random" "${MEMDIAG_TEST_SEED:-41}" "$(some 800)"
check 'so are several processes together, addresses in them, and parts of them' \
	"$top_builddir/tests/unit/maps-random-several" "${MEMDIAG_TEST_SEED:-13}" "$(some 200)"
check 'processes are found by random names' "$top_builddir/tests/unit/maps-random-names" "${MEMDIAG_TEST_SEED:-25}" "$(some 200)"
check 'stacks are found with every word of libc damaged in every way' \
	env MEMDIAG_TEST_SHARE=100 "$top_builddir/tests/unit/maps-stacks"
finish
