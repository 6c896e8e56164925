#!/bin/sh
# memdiag trace that is killed or stopped, and processes that are killed while it traces them: nothing is left behind,
# and the sums are right or said to be partial.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/trace-lib.sh"
can_trace || skip_all "tracing is not permitted here: $(cat "$dir/err")"
cat /proc/self/mountinfo >"$dir/mounts"

# is_well: no mount is left, no thread of the tracee is traced or stopped, and it does what it is told.
is_well()
{
	cmp "$dir/mounts" /proc/self/mountinfo &&
		! grep -h '^State:.[tT]' "/proc/$tracee_pid"/task/*/status &&
		! grep -h '^TracerPid:.[1-9]' "/proc/$tracee_pid"/task/*/status && ask 'mark 4096' >/dev/null
}
traces_again()
{
	unless_lost trace_of_play "$1" 300 0 --json && has_status 0 && compare json
}

start_tracee takes-memory 2

# ---- memdiag is killed ---------------------------------------------------------------------------

if command -v strace >/dev/null; then
	for syscall in fsopen fsconfig fsmount perf_event_open ioctl ppoll; do
		check "killed at each $syscall" killed_each_time $syscall $((100 / MEMDIAG_TEST_SHARE)) is_well \
			"$MEMDIAG" trace --mount-tracefs -d 0.05 "$tracee_pid"
	done
	check 'after that a trace is whole' traces_again 71
else
	skip 'killed at system calls' 'strace is not installed'
fi

# killed_at_work: while the tracee plays.
killed_at_work()
{
	begin_trace || return
	tell "play $1 3000 $dir/ledger"
	sleep "0.0$(($1 % 10))"
	kill -KILL "$trace_pid"
	wait "$trace_pid"
	wait_for "$tracee_pid" "$dir/$tracee_pid.out" '^done ' && : >"$dir/$tracee_pid.out" && is_well
}
killed_at_moments()
{
	for seed in $(seq 81 $((80 + MEMDIAG_TEST_SHARE / 5))); do
		killed_at_work "$seed" || return
	done
}
check 'killed at any moment of its work' killed_at_moments
check 'and a trace is whole' traces_again 72

# ---- memdiag rests -------------------------------------------------------------------------------

rests()
{
	# shellcheck disable=SC2034 # trace-lib.sh reads it
	trace_options='--mount-tracefs --buffer=64K'
	begin_trace --json && kill -STOP "$trace_pid" && plays 73 3000 && kill -CONT "$trace_pid" && end_trace INT 2 &&
		grep -q ' records were lost' "$dir/err" && json_is '.partial and .data.events.lost_records > 100'
}
check 'stopped while calls come: the loss is counted, and the status says so' rests
# shellcheck disable=SC2034 # trace-lib.sh reads it
trace_options='--mount-tracefs --buffer=64M'
check 'the program lives on' end_tracee

# ---- the process is killed -----------------------------------------------------------------------

dies_at_work()
{
	start_tracee takes-memory 3
	begin_trace --json || return
	tell "play $1 100000 $dir/ledger"
	sleep "0.0$(($1 % 10))"
	kill -KILL "$tracee_pid"
	ends_trace 0 && json_is '.data.ended_by == "target-ended" and .data.programs[0].is_over and
		.data.totals.left_bytes == null'
}
dies_at_moments()
{
	for seed in $(seq 91 $((90 + MEMDIAG_TEST_SHARE / 5))); do
		dies_at_work "$seed" || return
	done
}
check 'the process is killed at any moment' dies_at_moments
check 'no mount is left' cmp "$dir/mounts" /proc/self/mountinfo
finish
