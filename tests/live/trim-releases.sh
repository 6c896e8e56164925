#!/bin/sh
# malloc_trim(0) of other releases of glibc does what trim -n predicts, to the byte.
. "$top_srcdir/tests/live/lib.sh"
need jq

comes_true()
{
	exits 0 memdiag trim -n --pid "$tracee_pid" --json || return
	predicted=$(json .data.predicted.rss_bytes)
	trimmed=$(ask 'trim 0')
	printf '# %-8s %12s %12s\n' "$release" "$predicted" "$trimmed" >>"$dir/table"
	echo "predicted $predicted, went $trimmed"
	[ "$predicted" -gt 10000000 ] && [ "$trimmed" -eq "$predicted" ]
}

on_release()
{
	start_release_tracee trimmable 32
	check "$release: what trim -n predicts comes true to the byte" comes_true
	check "$release: the target lives on" end_tracee
}

for_each_release on_release
if [ -e "$dir/table" ]; then
	echo '# glibc       predicted         went'
	cat "$dir/table"
fi
finish
