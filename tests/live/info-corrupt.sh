#!/bin/sh
# Arenas that were written over: malloc would follow them into nothing, so it is not called at all.
# With one arena left nothing even shows whether it is malloc's.
. "$top_srcdir/tests/live/lib.sh"

refuses()
{
	memdiag "$@"
	case $? in
	1) grep -q 'are damaged' "$dir/err" ;;
	5) grep -q 'its layout is not known' "$dir/err" ;;
	*) cat "$dir/out" "$dir/err" && false ;;
	esac
}

for damage in owner cycle size ring; do
	start_tracee corrupt "$damage"
	remember
	check "$damage: info refuses" refuses info --pid "$tracee_pid"
	check "$damage: trim refuses" refuses trim --pid "$tracee_pid"
	check "$damage: the target is as before" unharmed
	check "$damage: the target lives on" end_tracee
done
finish
