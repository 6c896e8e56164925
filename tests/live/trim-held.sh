#!/bin/sh
# In a program with one thread, that thread makes the call: it is not stopped in the middle of it, whatever it
# waits in, and the wait goes on afterwards.
. "$top_srcdir/tests/live/lib.sh"
need jq

# nr_waits: how often the thread has given up the processor by itself: for each stop once, and for each wait.
nr_waits()
{
	awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "/proc/$tracee_pid/status"
}

# A stop at each of its system calls, of which it makes one for each of 20,000 free blocks, would be that many waits.
# Half of them is the limit.  Time is no measure of this: on a busy machine every thread is held for longer.
is_stopped_seldom()
{
	before=$(nr_waits)
	memdiag trim --pid "$tracee_pid" --max-lock=100s --json || { cat "$dir/err"; return 1; }
	waits=$(($(nr_waits) - before))
	echo "$waits waits, held for $(json 'first(.. | .held_us? | select(.))') us"
	[ "$before" -gt 0 ] && [ $waits -lt 10000 ]
}

for kind in read poll timed seccomp only-nanosleep only-clock_nanosleep only-futex; do
	start_tracee pieces $kind 40000
	check "$kind: the thread is not stopped at its system calls" is_stopped_seldom
	ask fill >/dev/null
	check "$kind: what is free is given back" exits 0 memdiag trim --pid "$tracee_pid" --max-lock=100s
	check "$kind: the wait was never broken off" test "$(ask broken)" = '0 times'
	check "$kind: the target lives on" end_tracee
done

# Where a filter allows no call that sleeps, the thread is stopped at each, and comes to no harm either.
start_tracee pieces only-read 2000
check 'a filter that allows no sleep: what is free is given back' exits 0 memdiag trim --pid "$tracee_pid" --max-lock=100s
check 'a filter that allows no sleep: the target lives on' end_tracee
finish
