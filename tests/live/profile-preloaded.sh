#!/bin/sh
# memdiag profile of a program that was started under the agent: samples are taken as in any other, its counters and
# its limit stay exact meanwhile, and nothing is hooked.
# shellcheck disable=SC3043,SC2154 # every sh we know has local; lib.sh sets the rest
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/count-lib.sh"
. "$top_srcdir/tests/live/profile-lib.sh"
[ -e "$top_builddir/libmemdiag-agent.so" ] || skip_all "the agent is not made for this processor"
need jq
prefix=$dir/p

# profiled NAME COMMAND...: a profile of the tracee, which COMMAND starts, from its start to its end, and another.
profiled()
{
	local name="$1"
	shift
	start_command "$@" "$TRACEES/sites" 3
	check "$name: it begins" profile start --rate 1
	check "$name: nothing was hooked" json_is '.data.entries == null and .data.was_so_already == false'
	check "$name: a second start changes nothing" profile start
	check "$name: and says so" json_is .data.was_so_already
	check "$name: the tracee works" obeys 'play 1 20000 1'
	check "$name: a dump is written" profile dump -o "$prefix"
	check "$name: it is exact" exact "$(written)"
	check "$name: it goes on" obeys 'play 2 20000 1'
	check "$name: blocks are freed" obeys drop
	check "$name: it ends" profile stop -o "$prefix"
	last=$(written)
	check "$name: it is exact at the end" exact "$last"
	check "$name: nothing is in use any more" test -z "$(values "$last" in-use)"
	check "$name: the stacks are whole" whole "$last"
	check "$name: what comes later is not noted" obeys 'play 3 2000 1'
	check "$name: the file can be written again" profile dump -o "$prefix"
	check "$name: and is the same" test "$(values "$last" allocated)" = "$(values "$(written)" allocated)"
	check "$name: a second stop changes nothing" profile stop
	check "$name: and says so, too" json_is .data.was_so_already
	check "$name: a second profile begins anew" profile start --rate 1
	check "$name: status knows of it" profile status
	check "$name: with nothing noted" json_is '.data.is_profiling and .data.noted.samples == 0'
	check "$name: for a second, while it is profiled" profile --seconds 1s -o "$prefix"
	check "$name: is refused" json_is .data.was_so_already
	check "$name: the second profile ends" profile stop -o "$prefix"
	check "$name: the target lives on" end_tracee
}

agent=$top_builddir/libmemdiag-agent.so
profiled 'preloaded' env LD_PRELOAD="$agent"
profiled 'run' "$MEMDIAG" run -q --
profiled 'requested bytes' "$MEMDIAG" run -q --account=requested --
profiled 'under a limit' "$MEMDIAG" run -q --limit 1T --

# The counters are the ledger's to the byte, whatever is sampled beside them.
for account in usable requested; do
	start_command "$MEMDIAG" run -q --account=$account -- "$TRACEES/ledger"
	check "$account bytes: a profile begins" profile start --rate 1
	check "$account bytes: samples are taken" test "$(ask 'mix 2000')" != ""
	check "$account bytes: it knows of them" profile status
	check "$account bytes: there are many" json_is '.data.noted.samples > 100'
	check "$account bytes: it ends" profile stop -o "$prefix"
	check "$account bytes: the target lives on" end_tracee
done
start_command env LD_PRELOAD="$agent" "$TRACEES/ledger"
check 'counted: exact' does mix 2000
check 'counted: a profile begins' profile start --rate 1
check 'counted: still exact' does mix 2000
check 'counted: the profile ends' profile stop -o "$prefix"
check 'counted: exact as ever' does mix 2000
check 'counted: in text' memdiag profile start --pid "$tracee_pid"
check 'counted: says that no thread was stopped' grep -q 'no thread was stopped for hooks' "$dir/out"
check 'counted: the target lives on' end_tracee
finish
