#!/bin/sh
# memdiag profile of a program whose threads have real-time priorities: one that is woken while a lower one of the same
# processor notes a sample at the same site has to let it go on.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq

# permitted: whether the tracee may have its priorities.
permitted()
{
	! grep -q '^refused' "$dir/$nr_started.out"
}

start_command "$TRACEES/ranks"
permitted || skip_all "SCHED_FIFO is not permitted"
check 'without a profile it goes on' obeys go
if has_hooks; then
	check 'a profile begins' profile start --rate 1
	check 'profiled it goes on' obeys go
	check 'it is profiled' profile status
	check 'there are many samples' json_is '.data.noted.samples > 10000'
	check 'the profile ends' profile stop -o "$dir/p"
	check 'a profile was written' test -s "$(written)"
else
	skip 'profiled it goes on' 'malloc cannot be hooked on this processor'
fi
check 'the target lives on' end_tracee

start_command "$MEMDIAG" run -q --leak-check --profile=1 -o "$dir/p" -- "$TRACEES/ranks"
check 'run --leak-check: it goes on' obeys go
kill "$(cat "$dir/$tracee_pid.holder")"
check 'run --leak-check: it ends with the status for what is in use' exits 23 wait "$tracee_pid"
finish
