#!/bin/sh
# A target whose malloc structures are damaged: malloc_info would crash it or never return.
. "$top_srcdir/tests/live/lib.sh"
need jq

# It may answer in part or refuse, but not crash, hang or be silent.
told()
{
	memdiag info --pid "$tracee_pid" --json --wait 200ms --timeout 5s
	status=$?
	case $status in
	1 | 2 | 5) [ -s "$dir/err" ] ;;
	*)
		echo "exit status $status"
		cat "$dir/err"
		return 1
		;;
	esac
}

for what in owner cycle size ring; do
	start_tracee corrupt $what
	remember
	check "$what: it is told" told
	check "$what: the target is as before" unharmed
	check "$what: it lives on" end_tracee
done
finish
