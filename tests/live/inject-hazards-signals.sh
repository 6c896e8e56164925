#!/bin/sh
# Signals and their dispositions, of memdiag and of the target, at the wrong time.
. "$top_srcdir/tests/live/lib.sh"
need jq
env --default-signal=INT true 2>/dev/null || skip_all 'this env cannot set signals to their default'

# ---- SIGCHLD ignored by whoever started memdiag (tests/unit/os-trace.c: stops are reported all the same)

borrow()
{
	env --ignore-signal=CHLD "$MEMDIAG" info --wait=300s --timeout=600s --pid "$tracee_pid" --json >"$dir/out" || return
	json_is '.data.borrow.held_us > 0'
}

for threads in 0 3; do
	start_tracee idle $threads
	remember
	check "$threads more threads: SIGCHLD ignored: five of five answered" each_of 5 borrow
	check "$threads more threads: SIGCHLD ignored: the target is as before" unharmed
	check "$threads more threads: SIGCHLD ignored: it lives on" end_tracee
done

# ---- Ctrl-C while memdiag waits for a safe moment

# ended_by SIGNAL: memdiag searches in vain; it ends long before its wait would.
ended_by()
{
	rm -f "$dir/err"
	env --default-signal="$1" "$MEMDIAG" info --debug --method=inject --pid "$tracee_pid" --wait 900s --timeout 1800s \
		>"$dir/out" 2>"$dir/err" &
	memdiag_pid=$!
	started="$started $memdiag_pid"
	wait_for $memdiag_pid "$dir/err" "thread $tracee_pid refused" || return
	before=$(date +%s%N)
	kill -"$1" $memdiag_pid
	wait $memdiag_pid
	status=$?
	took_ms=$((($(date +%s%N) - before) / 1000000))
	echo "exit status $status after $took_ms ms"
	[ $status -ne 0 ] && [ $took_ms -lt 450000 ]
}
start_tracee parked sem 1 multi
wait_for "$tracee_pid" "$dir/$tracee_pid.out" '^kept'
remember
for signal in INT TERM HUP; do
	check "SIG$signal ends the wait for a safe moment" ended_by $signal
done
check 'the target is as before' unharmed
check 'it lives on' end_tracee

# ---- the target is killed

is_traced()
{
	grep -qs '^TracerPid:.[1-9]' "$1"/status
}

# A traced thread waits for a lock: futex is 202 on x86-64 and 98 on aarch64.
is_in_call()
{
	for task in /proc/"$tracee_pid"/task/*; do
		is_traced "$task" && grep -Eqs '^(202|98) ' "$task/syscall" && return
	done
	return 1
}

is_held()
{
	for task in /proc/"$tracee_pid"/task/*; do
		is_traced "$task" && return
	done
	return 1
}

# killed_when CONDITION MODE: kill the target then, or when memdiag has done its work.
killed_when()
{
	rm -f "$dir/err"
	memdiag trim --pid "$tracee_pid" --mode="$2" &
	memdiag_pid=$!
	started="$started $memdiag_pid"
	until "$1"; do
		kill -0 $memdiag_pid 2>/dev/null || break
	done
	kill -KILL "$tracee_pid"
	wait $memdiag_pid
	status=$?
	echo "exit status $status"
	cat "$dir/err"
}

is_reported()
{
	[ $status -eq 3 ] && grep -q ' ended' "$dir/err"
}

# An arena is locked for ever, so that malloc_trim() does not return.
killed_in_call()
{
	start_tracee logger 1
	ask lock >"$dir/said"
	killed_when is_in_call "$1"
	is_reported
}

killed_soon()
{
	start_tracee bloat 2
	killed_when is_held "$1"
	[ $status -eq 0 ] || is_reported
}

for mode in helper thread; do
	check "$mode: a target killed in malloc_trim() is told, with status 3" \
		each_of 3 killed_in_call $mode
	check "$mode: so is one that was killed at some moment of a trim" each_of 5 killed_soon $mode
done
finish
