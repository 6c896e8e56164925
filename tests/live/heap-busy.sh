#!/bin/sh
# heap of programs that allocate all the time, a thousand times: tests/unit/heap-busy.c; and of
# heaps with a damaged word: tests/unit/heap-damage.c.
. "$top_srcdir/tests/live/lib.sh"

# rounds NAME N: N rounds of that unit test.
rounds()
{
	"$top_builddir/tests/unit/$1" "$(some "$2")" >"$dir/said"
	status=$?
	grep -E '^(not ok|#)' "$dir/said"
	return $status
}
check 'busy heaps: a thousand reads each, and nothing exact is wrong' rounds heap-busy 1000
grep -E '^# [0-9]+ threads' "$dir/said"
check 'damaged heaps: two hundred words, and nothing exact is wrong' rounds heap-damage 200
finish
