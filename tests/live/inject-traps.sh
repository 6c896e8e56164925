#!/bin/sh
# A thread that is stopped with a trap about to be delivered to it takes the trap, and is not borrowed before.
. "$top_srcdir/tests/live/lib.sh"
[ -x "$TRACEES/traps" ] || skip_all 'there is no such program for this architecture'

for how in int3 seccomp; do
	start_tracee traps $how
	nr=0
	# Running all the time it is hard to borrow: the stops are what counts, not the answers.
	while [ $nr -lt "$(some 60)" ] && lives "$tracee_pid"; do
		memdiag info --method=inject --wait 700ms --debug --pid "$tracee_pid"
		nr=$((nr + $(grep -c 'event 5' "$dir/err")))
	done
	check "$how: no trap was lost" test "$(ask lost)" = '0 of many'
	check "$how: the target lives on" end_tracee
done
finish
