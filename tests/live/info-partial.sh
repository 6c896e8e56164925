#!/bin/sh
# info where pages cannot be seen: what malloc says is told, what is resident is not, and that is a
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
check 'and says why' grep -q 'what is resident cannot be told: .' "$dir/err"
check 'arenas are told without what is resident' grep -q '^ *1 .*iB.* ? ' "$dir/out"
check 'so is RSS as a whole' grep -q 'unaccounted .*iB' "$dir/out"
check 'the result as JSON is partial' exits 2 cannot_see_pages --json
check 'in words, too' json_is '.partial and (.warnings | length) > 0'
check 'no number stands for what is not known' json_is '.data.arenas[0] | has("resident_bytes") | not'
check 'the accounting still sums to RSS' \
	json_is '([.data.accounting[].bytes] | add) == .data.totals.rss_bytes'
check 'the target lives on' end_tracee
finish
