#!/bin/sh
# The heap reader on each release of glibc: heap --xml is to the byte what its malloc_info says of
# itself, of an ordered program and of random ones, and what its malloc_trim gives back is as
# forecast.  Ends with a table.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/heap-lib.sh"
need jq

# The unit test of the reader, on random programs of this release.
random_heaps()
{
	"$top_builddir/tests/unit/heap-read" "$loader" --library-path "$libdir" "$program" \
		>"$dir/heap-read" || {
		grep -E '^(not ok|#)' "$dir/heap-read"
		return 1
	}
}

# compared WORDS: the number before WORDS that heap-read says.
compared()
{
	sed -n "s/^# \\([0-9]*\\) $1.*/\\1/p" "$dir/heap-read"
}

on_release()
{
	start_release_tracee bloat 4
	check "$release: the document is malloc_info's" same_xml
	arenas=$(grep -c '<heap ' "$dir/out")
	check "$release: and by the lists alone" same_xml --bins-only
	check "$release: heap runs" exits 0 memdiag heap --pid "$tracee_pid" --max-stop 300s --json
	check "$release: all arenas are exact" json_is '.data.certainty == "exact"'
	check "$release: each adds up" json_is '.data.arenas | all(.system_bytes == .in_use_bytes +
		.cached_bytes + .fast_bytes + .binned_bytes + .top_bytes + .overhead_bytes)'
	check "$release: what it is for adds up to what is resident" json_is \
		'.data.arenas | all(.resident_bytes == ([.accounting[].bytes] | add))'
	check "$release: the target lives on" end_tracee
	release_program random-heap || exit
	check "$release: random heaps are as malloc_info and malloc_trim say" random_heaps
	printf '%-8s %8s %15s %17s %15s\n' "$release" "$arenas" "$(compared programs)" \
		"$(compared arenas)" "$(compared bytes)" >>"$dir/table"
}

for_each_release on_release
if [ -e "$dir/table" ]; then
	echo '# glibc     arenas random programs arenas compared   bytes trimmed'
	sed 's/^/# /' "$dir/table"
fi
finish
