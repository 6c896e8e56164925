#!/bin/sh
# info on a program whose malloc_info writes a gigabyte: the room for it and the time for it are
# limited, and it is left to end by itself.
deadline=120
. "$top_srcdir/tests/live/lib.sh"
[ -x "$TRACEES/liar" ] || skip_all 'the liar is not made for this machine'
start_tracee liar huge
check 'info gives up in time' exits 1 timeout 20 "$MEMDIAG" info --pid "$tracee_pid" --timeout 2s
check 'the target ends its lie and lives on' end_tracee
start_tracee liar huge 1
check 'info with a helper gives up in time' \
	exits 1 timeout 20 "$MEMDIAG" info --pid "$tracee_pid" --timeout 2s
check 'the target lives on' end_tracee
finish
