#!/bin/sh
# What heap says of programs that allocate all the time, a thousand times: tests/unit/heap-busy.c.
deadline=600
. "$top_srcdir/tests/live/lib.sh"

heap_busy()
{
	"$top_builddir/tests/unit/heap-busy" "$(some 1000)" >"$dir/said"
	status=$?
	grep -E '^(not ok|#)' "$dir/said"
	return $status
}
check 'a thousand reads each, and nothing exact is wrong' heap_busy
grep -E '^# [0-9]+ threads' "$dir/said"
finish
