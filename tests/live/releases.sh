#!/bin/sh
# Other releases of glibc: their malloc is found, recognised by its layout, asked and trimmed.
. "$top_srcdir/tests/live/lib.sh"
need jq

# The releases whose structures are like those of $release.
era()
{
	case $release in
	2.2[89] | 2.3[01]) echo '2.28 to 2.31' ;;
	2.3[234]) echo '2.32 to 2.34' ;;
	2.3[5-9] | 2.4[01]) echo '2.35 to 2.41' ;;
	2.42) echo 2.42 ;;
	*) echo '2.43 or later' ;;
	esac
}

# layout_is_reported LIBDIR [FILE...]: of settings, on the libc in LIBDIR, which deletes the FILEs.
layout_is_reported()
{
	from=$1
	shift
	$unprivileged "$top_builddir/tests/unit/glibc-layout" "$loader" --library-path "$from" "$program" "$@" \
		>"$dir/layout" || {
		cat "$dir/layout"
		return 1
	}
	grep "^# $(era): " "$dir/layout"
}

# Root may open a deleted file through /proc/PID/map_files: without these capabilities it may not.
layout_is_reported_without_file()
{
	[ "$(id -u)" -ne 0 ] || unprivileged='setpriv --bounding-set -sys_admin,-cap_40'
	mkdir -p "$dir/lib" && cp "$libdir"/lib*.so.[0-9]* "$dir/lib" &&
		layout_is_reported "$dir/lib" "$dir/lib/libc.so.6" &&
		grep 'mp_ by what it holds' "$dir/layout"
}

on_release()
{
	unprivileged=
	release_program settings || exit
	check "$release: the layout of malloc is right" layout_is_reported "$libdir"
	check "$release: it is without libc's file, too" layout_is_reported_without_file

	start_release_tracee bloat 4
	check "$release: info runs" exits 0 memdiag info --pid "$tracee_pid" --json
	check "$release: it knows which release that is" json_is ".data.libc == \"$release\""
	check "$release: arenas are as malloc_info and as memory say" json_is '.data.arenas |
		length > 2 and
		all(.[]; .main or (.heaps > 0 and .resident_bytes <= .system_bytes)) and
		([.[].threads] | add == 13)'
	check "$release: trim runs" exits 0 memdiag trim --pid "$tracee_pid" --json
	check "$release: and gives back" json_is '.data.released_bytes > 1000000'
	check "$release: the target lives on" end_tracee
}

for_each_release on_release
finish
