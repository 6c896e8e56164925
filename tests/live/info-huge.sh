#!/bin/sh
# info on a program whose malloc_info writes a gigabyte: the room for it and the time for it are
# limited, and it is left to end by itself.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
[ -x "$TRACEES/liar" ] || skip_all 'the liar is not made for this machine'

# gives_up: in time, by the limit that it comes to first: that of the time, or that of the room, with what it has then.
gives_up()
{
	local status
	timeout 600 "$MEMDIAG" info --pid "$tracee_pid" --timeout 2s >"$dir/out" 2>"$dir/err"
	status=$?
	cat "$dir/err"
	case $status in
	1) grep -q 'malloc_info took too long' "$dir/err" ;;
	2) grep -q 'its end is missing' "$dir/err" ;;
	*) return 1 ;;
	esac
}

start_tracee liar huge
check 'info gives up in time' gives_up
check 'the target ends its lie and lives on' end_tracee
start_tracee liar huge 1
check 'info with a helper gives up in time' gives_up
check 'the target lives on' end_tracee
finish
