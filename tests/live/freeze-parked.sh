#!/bin/sh
# Whatever system call a thread waits in while all are stopped again and again, it ends as if nobody
# had been here: its result, no EINTR, its deadline.  Also if whoever stopped it was killed.
. "$top_srcdir/tests/live/lib.sh"
ms=12000

# All wait at the same time, so that this takes as long as one of them.
pids=
for kind in $("$TRACEES/parked" all); do
	for how in '' multi; do
		# shellcheck disable=SC2086 # nothing or a word
		start_tracee parked "$kind" $ms $how
		pids="$pids $tracee_pid"
		echo "$kind${how:+, second thread}" >"$dir/$tracee_pid.name"
	done
done

for pid in $pids; do
	check "$(cat "$dir/$pid.name"): stopped 20 times" \
		"$top_builddir/tests/unit/stop" "$pid" 500 20 300000
done

killed_while_still()
{
	"$top_builddir/tests/unit/stop" "$1" 1000000000 1 2000000 >"$dir/freeze.out" 2>&1 &
	freezer=$!
	wait_for $freezer "$dir/freeze.out" still || return
	kill -KILL $freezer
	wait $freezer
	[ $? -eq 137 ]
}
for pid in $pids; do
	check "$(cat "$dir/$pid.name"): stopped by one who is killed" killed_while_still "$pid"
done

for pid in $pids; do
	check "$(cat "$dir/$pid.name"): the wait was kept" says_kept "$pid"
	check "$(cat "$dir/$pid.name"): the target lives on" end_tracee "$pid"
done
finish
