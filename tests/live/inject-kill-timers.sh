#!/bin/sh
# SIGKILL memdiag before its first, second, third ... ptrace call and write to the target, until it gets through:
# the calls that threads sleep in end when they would have ended, with the same result.
. "$top_srcdir/tests/live/lib.sh"
need strace
step=$((100 / $(some 100)))

# in_time MAY_BREAK: whether all sleeps ended, none was late, and none was broken off, unless they may be: of a
# thread that memdiag has stopped, and died before it had seen that, the call ends with EINTR.
in_time()
{
	awk -v may_break="$1" '
		NF == 5 {
			count += $2
			bad += $3
			late += $4 > $5 + 3000
			print
		}
		END { exit !(count > 1 && (!bad || may_break) && !late) }' "$dir/$tracee_pid.out" || {
		cat "$dir/$tracee_pid.err"
		return 1
	}
}

# Calls that the kernel would continue by itself are never broken off.
for kinds in poll,ppoll,nanosleep,clock_nanosleep,futex epoll,sigtimedwait,semtimedop; do
	for how in '' 3; do
		# shellcheck disable=SC2086 # nothing or a number
		start_tracee sleeps 1 $kinds 600 1000 $how
		for command in info heap trim; do
			for syscall in ptrace process_vm_writev; do
				[ "$command $syscall" != 'heap process_vm_writev' ] || continue
				check "$kinds${how:+, several threads}: $command, killed at each $syscall" \
					killed_each_time $syscall $step true "$MEMDIAG" $command --pid "$tracee_pid"
			done
		done
		check "$kinds${how:+, several threads}: the target lives on" end_tracee
		check "$kinds${how:+, several threads}: in time" in_time "$(echo $kinds | grep -c epoll)"
	done
done
finish
