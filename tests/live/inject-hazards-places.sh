#!/bin/sh
# Threads that look as if they could be borrowed and must not be, or not before others.
. "$top_srcdir/tests/live/lib.sh"
need jq

# replies WORDS COMMAND: the tracee answers COMMAND with a line that matches WORDS.
replies()
{
	ask "$2" >"$dir/said"
	grep -q -e "$1" "$dir/said" || {
		cat "$dir/said"
		return 1
	}
}

# ---- a small stack inside other memory

start_tracee coroutine
for command in 'info --method=inject' trim; do
	# shellcheck disable=SC2086 # words
	check "a thread on a small stack inside other memory is not borrowed for $command" \
		exits 6 memdiag $command --pid "$tracee_pid" --wait 100ms
done
check 'what lies below the small stack is intact' replies '^intact' check
check 'the target with a small stack inside other memory lives on' end_tracee
start_tracee coroutine other
check 'beside it, a thread on a stack of its own is borrowed' \
	exits 0 memdiag info --pid "$tracee_pid" --json
check 'the thread on the small stack is not borrowed' json_is ".data.borrow.tid != $tracee_pid"
check 'what lies below the small stack is intact, too' replies '^intact' check
check 'the target with a second thread lives on' end_tracee

# ---- a system call that an attach would cut short

# all_messages_come_whole WORDS STATUS
all_messages_come_whole()
{
	check "$1: 50 of info are answered, or find no safe moment" \
		each_of 50 exits "$2" memdiag info --pid "$tracee_pid" --wait 20ms
	check "$1: no message came short or with EINTR" replies '^whole [1-9]' check
	check "$1: the target lives on" end_tracee
}

for how in recv-waitall read-timeout recv-timeout; do
	start_tracee receiver $how
	all_messages_come_whole $how '0 6'
done

# Beside a program that takes the processor: what was refused and put back cannot return to its call
# yet, and looks as if it ran.  A thread may even be too slow for an answer.
cpu=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
start_command taskset -c "$cpu" "$TRACEES/spin"
spinning=$tracee_pid
start_command taskset -c "$cpu" nice -n 19 "$TRACEES/receiver" recv-waitall
all_messages_come_whole 'recv-waitall, starved' '0 1 6'
check 'the program that took the processor ends' end_tracee "$spinning"

# ---- a thread that gets the processor after all others, or before them

for policy in idle fifo; do
	if [ $policy = fifo ] && ! chrt --fifo 1 true 2>/dev/null; then
		skip "$policy: the ordinary thread was borrowed" 'that policy is not available here'
		continue
	fi
	start_tracee scheduled $policy
	ordinary=$(sed -n 's/^ordinary //p' "$dir/$tracee_pid.out")
	check "$policy: answered" exits 0 memdiag info --pid "$tracee_pid" --json
	check "$policy: the ordinary thread was borrowed" json_is ".data.borrow.tid == $ordinary"
	check "$policy: the target lives on" end_tracee
done

# ---- a filter that kills for a system call the program never made

start_tracee seccomp
check 'under a system call filter: --capture=fd2 is refused' \
	exits 5 memdiag info --pid "$tracee_pid" --capture=fd2
check 'under a system call filter: the reason is given' grep -qi 'filter' "$dir/err"
check 'under a system call filter: info is answered' exits 0 memdiag info --pid "$tracee_pid"
check 'under a system call filter: the target lives on' end_tracee

for who in list thread; do
	start_tracee seccomp $who
	check "under one that lists what may be, $who: info is answered" \
		exits 0 memdiag info --pid "$tracee_pid"
	check "under one that lists what may be, $who: trim is done" \
		exits 0 memdiag trim --pid "$tracee_pid"
	check "under one that lists what may be, $who: count is refused" \
		exits 5 memdiag count start --pid "$tracee_pid"
	check "under one that lists what may be, $who: the target lives on" end_tracee
done

# The wait in poll() is made again.  A filter is shown no other call than those of the program.
start_tracee seccomp list poll
check 'a sleeper under a filter that kills: info is answered' \
	exits 0 memdiag info --pid "$tracee_pid" --method=inject
check 'a sleeper under a filter that kills: trim is done' exits 0 memdiag trim --pid "$tracee_pid"
check 'a sleeper under a filter that kills: the target lives on' end_tracee
check 'a sleeper under a filter that kills: it slept on' \
	sh -c "! grep -q 'broken off' '$dir/$tracee_pid.out'"
start_tracee seccomp refuse poll
check 'a sleeper under a filter that refuses: info is answered' exits 0 memdiag info --pid "$tracee_pid"
check 'a sleeper under a filter that refuses: trim is done' exits 0 memdiag trim --pid "$tracee_pid"
check 'a sleeper under a filter that refuses: the target lives on' end_tracee
check 'a sleeper under a filter that refuses: it slept on' \
	sh -c "! grep -q 'broken off' '$dir/$tracee_pid.out'"
finish
