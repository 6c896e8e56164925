#!/bin/sh
# memdiag trace against the ledger of a program that takes memory and gives it back at random, call by call and stack
# by stack.
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/trace-lib.sh"
can_trace || skip_all "tracing is not permitted here: $(cat "$dir/err")"

# ---- sums and lines ------------------------------------------------------------------------------

# sums_are_right SEED STEPS [LEAST]: the JSON of a trace is what the program says.
sums_are_right()
{
	begin_trace --json ${3:+--min-size "$3"} && plays "$@" && end_trace TERM && compare json
}

# lines_are_right SEED STEPS [LEAST]: so is each line.
lines_are_right()
{
	begin_trace ${3:+--min-size "$3"} && plays "$@" && end_trace INT && compare lines
}

for threads in 1 4; do
	start_tracee takes-memory "$threads"
	for seed in 1 2; do
		check "$threads threads, seed $seed: sums of each stack" sums_are_right "$seed$threads" 600
		check "$threads threads, seed $seed: each call" lines_are_right "$seed$threads" 600
	done
	check "$threads threads: sums of large calls, of which small ones free parts" sums_are_right 7 900 1048576
	check "$threads threads: lines of large calls" lines_are_right 8 900 1048576
	check "$threads threads: the program goes on" lives "$tracee_pid"
	check "$threads threads: it ends as it would have" end_tracee
done

# ---- until when ----------------------------------------------------------------------------------

start_tracee takes-memory 1

# begin_marked ARGUMENTS...: a trace begins, and the program maps and unmaps 3 MiB.
begin_marked()
{
	begin_trace "$@" && ask 'mark 3145728' >/dev/null
}

enough_events()
{
	begin_marked --events 1 --min-size 3M && ends_trace 0 && [ "$(grep -c ' mmap ' "$dir/out")" -eq 1 ]
}

some_calls()
{
	begin_marked --syscalls=munmap --min-size 3M && end_trace TERM &&
		[ "$(grep -c ' munmap ' "$dir/out")" -eq 1 ] && ! grep ' mmap ' "$dir/out"
}

check '--events ends it' enough_events
check '--syscalls chooses calls' some_calls
check '--duration ends it' exits 0 memdiag trace --mount-tracefs --min-size 1G -d 0.1 "$tracee_pid"

for format in json pprof folded flame html tree; do
	check "--format=$format" exits 0 memdiag trace --mount-tracefs --min-size 1G -d 0.1 --format=$format "$tracee_pid"
done

target_ends()
{
	begin_marked --json && end_tracee && ends_trace 0 &&
		json_is '.data.ended_by == "target-ended" and .data.totals.left_bytes == null'
}
check 'the process ends: what it had is printed' target_ends

# ---- page faults ---------------------------------------------------------------------------------

start_tracee takes-memory 2
touches_are_counted()
{
	begin_trace --json --rss --period 7 && plays 3 600 && { end_trace TERM || [ "$trace_status" -eq 2 ]; } &&
		json_is '[.data.stacks[] | select([.frames[].functions[].name] | index("work")) | .minor_faults] | add > 7'
}
check '--rss names the functions that touch pages' touches_are_counted

# ---- refusals ------------------------------------------------------------------------------------

check 'a call that there is not' exits_saying 64 'is no call that memdiag traces' \
	memdiag trace "$tracee_pid" --syscalls=open
check '--rss is not for calls' exits_saying 64 'traces page faults' memdiag trace "$tracee_pid" --rss --min-size 1M
check '--period is for --rss' exits_saying 64 'is for --rss' memdiag trace "$tracee_pid" --period 3
check 'no value of a trace' exits_saying 64 'left, mapped, calls and resident' \
	memdiag trace "$tracee_pid" --value=faults
check 'no process' exits 3 memdiag trace 4194304
check 'a user without rights' exits 4 captured setpriv --reuid 65534 --clear-groups "$MEMDIAG" trace "$tracee_pid" -d 1
check 'the process is as it was' lives "$tracee_pid"

finish
