#!/bin/sh
# info where pages cannot be seen: malloc's numbers are reported, resident ones are not, and that is a
# partial result that names what is missing.
. "$top_srcdir/tests/live/lib.sh"
need jq strace
start_tracee bloat 4
cannot_see_pages()
{
	strace -o "$dir/strace" -P pagemap -P smaps -e trace=openat -e inject=openat:error=EACCES \
		"$MEMDIAG" info "$tracee_pid" "$@" >"$dir/out" 2>"$dir/err"
}
check 'the result is partial' exits 2 cannot_see_pages
check 'stderr has the reason for a partial answer' \
	grep -q 'cannot determine which pages are resident: .' "$dir/err"
check 'arenas are listed without resident bytes' grep -q '^ *1 .*iB.* ? ' "$dir/out"
check 'the table has RSS as unaccounted' grep -q 'unaccounted .*iB' "$dir/out"
check 'the result as JSON is partial' exits 2 cannot_see_pages --json
check 'the JSON is marked as partial' json_is '.partial and (.warnings | length) > 0'
check 'no number stands for what is not known' json_is '.data.arenas[0] | has("resident_bytes") | not'
check 'the accounting still sums to RSS' \
	json_is '([.data.accounting[].bytes] | add) == .data.totals.rss_bytes'
check 'the target lives on' end_tracee
finish
