#!/bin/sh
# The tests that 'make check' runs on the oldest and the newest release of glibc, on those between.
. "$top_srcdir/tests/live/lib.sh"

# between TEST: run it; what fails is shown.
between()
{
	env -u MEMDIAG_TEST_DEADLINE MEMDIAG_TEST_RELEASES=between MEMDIAG_TEST_SHARE=25 \
		sh "$top_srcdir/tests/live/$1.sh" >"$dir/tap" && grep -q '^1\.\.' "$dir/tap" || {
		grep -A 5 -e '^not ok' -e '^#' "$dir/tap"
		return 1
	}
}

for test in agent-releases heap-mapped info-method inject-refused releases trim-releases; do
	check "$test" between $test
done
finish
