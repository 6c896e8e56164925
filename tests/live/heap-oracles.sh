#!/bin/sh
# The heap reader on other releases of glibc, against what their own malloc_info says, to the digit,
# and what their own malloc_trim gives back, to the byte.
deadline=300
. "$top_srcdir/tests/live/lib.sh"

heap_is_read()
{
	"$top_builddir/tests/unit/heap-read" "$loader" --library-path "$libdir" "$program" \
		>"$dir/heap-read" || {
		grep -E '^(not ok|#)' "$dir/heap-read"
		return 1
	}
}

on_release()
{
	release_program random-heap || exit
	check "$release: random heaps are read as malloc_info and malloc_trim say" heap_is_read
}

for_each_release on_release
finish
