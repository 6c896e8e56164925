#!/bin/sh
# Signals for memdiag while the process makes a call that waits, as an arena is locked; and the priority of the
# thread that makes it.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
need jq
env --default-signal=INT true 2>/dev/null || skip_all 'this env cannot set signals to their default'

# thread_in_call: the thread that memdiag traces and that waits for a lock; futex is 202 on x86-64 and 98 on aarch64.
thread_in_call()
{
	for task in /proc/"$tracee_pid"/task/*; do
		grep -qs '^TracerPid:.[1-9]' "$task/status" && grep -Eqs '^(202|98) ' "$task/syscall" || continue
		echo "${task##*/}"
		return
	done
	return 1
}

# begin SETTING COMMAND...: start it in a process with an arena that is locked; returns when it waits there.
begin()
{
	local setting="$1"
	shift
	ask lock >"$dir/said"
	env "$setting" "$MEMDIAG" "$@" --pid "$tracee_pid" --timeout 1800s --json >"$dir/out" 2>"$dir/err" &
	memdiag_pid=$!
	started="$started $memdiag_pid"
	until thread_in_call >"$dir/caller"; do
		lives $memdiag_pid || { cat "$dir/err"; return 1; }
	done
}

# ends STATUS: the lock is opened, and memdiag ends so.
ends()
{
	kill -USR1 "$tracee_pid"
	wait $memdiag_pid
	status=$?
	[ $status -eq "$1" ] || { echo "exit status $status"; cat "$dir/err"; return 1; }
}

# is_alone: until the process has only its own threads again.
is_alone()
{
	until [ "$(find "/proc/$tracee_pid/task" -mindepth 1 -maxdepth 1 | wc -l)" -eq "$nr_tasks" ]; do
		sleep 0.01
	done
}

begin_tracee()
{
	start_tracee logger 1
	ask find >"$dir/said"
	nr_tasks=$(find "/proc/$tracee_pid/task" -mindepth 1 -maxdepth 1 | wc -l)
	remember
}

# ---- SIGHUP ignored, as under nohup

hangs_up()
{
	# shellcheck disable=SC2086 # a command and its option
	begin --ignore-signal=HUP $1 || return
	for _ in 1 2 3; do
		kill -HUP $memdiag_pid || return
		sleep 0.05
	done
	thread_in_call >"$dir/caller" || { echo 'it has given up'; cat "$dir/err"; return 1; }
	ends 0
}

begin_tracee
for command in 'info --method=inject' trim; do
	check "SIGHUP ignored: $command goes on" each_of 5 hangs_up "$command"
done
check 'SIGHUP ignored: there is an answer' json_is '.data.borrow.mode == "helper"'
check 'SIGHUP ignored: no thread is left' is_alone
check 'SIGHUP ignored: the target is as before' unharmed
check 'SIGHUP ignored: it lives on' end_tracee

# ---- Ctrl-C in the middle of a trim

interrupted()
{
	begin --default-signal="$1" trim || return
	kill -"$1" $memdiag_pid
	wait $memdiag_pid
	status=$?
	cat "$dir/err"
	echo "exit status $status"
	# Before the lock is opened, and long before --timeout.
	[ $status -eq "$2" ] && kill -USR1 "$tracee_pid" && is_alone
}

begin_tracee
check 'SIGINT ends a trim that waits' interrupted INT 130
check 'SIGTERM does' interrupted TERM 143
check 'SIGHUP that is not ignored does' interrupted HUP 129
check 'the target is as before' unharmed
check 'another trim is made' exits 0 memdiag trim --pid "$tracee_pid"
check 'it lives on' end_tracee

# ---- priority: field 19 of stat

nice_of()
{
	sed 's/.*) //' "/proc/$tracee_pid/task/$1/stat" | cut -d ' ' -f 17
}

# others_are N: every thread but the caller has that nice value.
others_are()
{
	for task in /proc/"$tracee_pid"/task/*; do
		[ "${task##*/}" = "$(cat "$dir/caller")" ] || [ "$(nice_of "${task##*/}")" -eq "$1" ] || return
	done
}

if [ "$(nice -n -1 nice 2>/dev/null)" = -1 ]; then
	begin_tracee
	check 'helper: it makes the call' begin --default-signal=INT trim --mode=helper
	check 'helper: with the highest priority' test "$(nice_of "$(cat "$dir/caller")")" -eq -20
	check 'helper: the others keep theirs' others_are 0
	check 'helper: it ends' ends 0
	check 'helper: and is gone' is_alone
	echo none >"$dir/caller"
	check 'helper: all have the priority that they had' others_are 0
	check 'thread: it makes the call' begin --default-signal=INT trim --mode=thread
	check 'thread: with its own priority' test "$(nice_of "$(cat "$dir/caller")")" -eq 0
	check 'thread: it ends' ends 0
	echo none >"$dir/caller"
	check 'thread: all have the priority that they had' others_are 0
	check 'the target lives on' end_tracee
else
	skip 'priority' 'we may not raise it'
fi
finish
