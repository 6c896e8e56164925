#!/bin/sh
# heap --xml is to the byte what malloc_info of each release of glibc says of itself.
deadline=180
. "$top_srcdir/tests/live/lib.sh"
need jq

# same_xml OPTIONS...: whether the two documents are the same.
same_xml()
{
	exits 0 memdiag info --xml --pid "$tracee_pid" && mv "$dir/out" "$dir/theirs" &&
		exits 0 memdiag heap --xml --pid "$tracee_pid" --max-stop-ms 5000 "$@" &&
		diff "$dir/theirs" "$dir/out"
}

on_release()
{
	start_release_tracee bloat 4
	check "$release: the document is malloc_info's" same_xml
	echo "# glibc $release: $(grep -c '<heap ' "$dir/out") arenas, $(wc -l <"$dir/out") lines"
	check "$release: and by the lists alone" same_xml --bins-only
	check "$release: heap runs" exits 0 memdiag heap --pid "$tracee_pid" --max-stop-ms 5000 --json
	check "$release: all arenas are exact" json_is '.data.certainty == "exact"'
	check "$release: each adds up" json_is '.data.arenas | all(.system_bytes == .in_use_bytes +
		.cached_bytes + .fast_bytes + .binned_bytes + .top_bytes + .overhead_bytes)'
	check "$release: what it is for adds up to what is resident" json_is \
		'.data.arenas | all(.resident_bytes == ([.accounting[].bytes] | add))'
	check "$release: the target lives on" end_tracee
}

for_each_release on_release
finish
