#!/bin/sh
# Functions of other releases of glibc are hooked while four threads call them.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/hook-lib.sh"

on_release()
{
	start_release_tracee churn 4
	check "$release: the bytes can be read" same_bytes
	check "$release: set" hooks '2 0 0' set "$payload" malloc free
	check "$release: seen" all_seen
	check "$release: lifted" hooks '2 0 0' lift
	check "$release: every byte is as it was" same_bytes
	check "$release: the target lives on" end_tracee
}
for_each_release on_release
finish
