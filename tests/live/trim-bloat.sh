#!/bin/sh
# trim gives back what malloc_trim gives back when the program calls it itself: two twins.
. "$top_srcdir/tests/live/lib.sh"
need jq

start_tracee bloat 16
twin=$tracee_pid
by_itself=$(ask trim "$twin")
start_tracee bloat 16
rss=$(ask rss)

check 'trim runs' exits 0 memdiag trim --pid "$tracee_pid" --json
check 'the schema is named' json_is '.schema == "memdiag.trim/1" and (.partial | not)'
released=$(json .data.released_bytes)
# Which thread came first is not the same in both, and pages at the edges of its blocks are not.
check 'it gave back what the twin gave back by itself' near "$released" "$by_itself" \
	$((by_itself / 50))
check 'a trim releases much' test "$released" -gt 4000000
check 'before is what the program sees' near "$(json .data.before.rss_bytes)" "$rss" 1048576
check 'after is, too' near "$(json .data.after.rss_bytes)" "$(ask rss)" 1048576
check 'released is their difference' json_is \
	'.data.released_bytes == .data.before.rss_bytes - .data.after.rss_bytes'
check 'the arenas shrank by it' json_is \
	'(.data.before.arenas_resident_bytes - .data.after.arenas_resident_bytes -
	  .data.released_bytes | fabs) < 1048576'
check 'times are reported' json_is \
	'.data.held_us > 0 and .data.locked_us > 0 and .data.borrow.tid > 0'
check 'a second trim finds nothing and is no error' exits 0 memdiag trim --pid "$tracee_pid"
check 'the text has before and after' grep -q '^RSS .*iB .*iB' "$dir/out"
check "the trim's times are printed" grep -q '^released .*was held for .*locked for' "$dir/out"
check 'nothing on stderr' test ! -s "$dir/err"
check 'the target lives on' end_tracee
check 'the twin that trimmed itself lives on' end_tracee "$twin"
finish
