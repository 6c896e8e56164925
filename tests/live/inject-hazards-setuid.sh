#!/bin/sh
# setuid() and its like make every thread of a process take part, by a signal that must not be held
# back, while libc's lock of the thread stacks is held, which pthread_create() needs.
. "$top_srcdir/tests/live/lib.sh"
need jq

# The masks of all threads, at a moment when none of them is in the handler of that signal.
masks()
{
	until masks=$(grep -h '^SigBlk' /proc/"$tracee_pid"/task/*/status | sort) &&
		! echo "$masks" | grep -q 0000000100000000; do
		kill -0 "$tracee_pid" || return
	done
	echo "$masks"
}

start_tracee setuid 300
masks >"$dir/masks.before"
for command in info trim; do
	# 1: pthread_create() had to wait for setuid() too long, and was left to end by itself.
	check "setuid() in a loop: 50 of $command by a helper end well, or give up" \
		each_of 50 exits '0 1 6' \
		memdiag $command --pid "$tracee_pid" --mode=helper --wait 300ms
	check "setuid() in a loop: after $command it goes on" goes_on 10
done
check 'a new thread can call setuid(), too' obeys work
masks >"$dir/masks.after"
check 'the signal masks are as before' diff "$dir/masks.before" "$dir/masks.after"
check 'the target lives on' end_tracee

# A thread inside setuid() must not be borrowed, however quietly it waits, for any mode.
for function in setuid seteuid setgid; do
	for command in info trim; do
		start_tracee setuid-waits $function
		check "a thread waiting in $function() is not borrowed for $command" \
			exits 6 memdiag $command --pid "$tracee_pid" --mode=thread --wait 200ms
		check "$function() comes to its end after $command" obeys release
		check "the target lives on after $command" end_tracee
	done
done

# The thread beside it may be borrowed, but it cannot make another now.  Since 2.34 that is seen before.
is_itself()
{
	while grep -q '^SigBlk:.*[1-9a-f]' /proc/"$tracee_pid"/task/*/status ||
		[ "$(find /proc/"$tracee_pid"/task -mindepth 1 -maxdepth 1 | wc -l)" -ne 4 ]; do
		kill -0 "$tracee_pid" || return
	done
}
cannot()
{
	if grep -q libpthread "/proc/$tracee_pid/maps"; then
		exits '1 6' "$@"
	else
		exits 6 "$@" && grep -q 'setuid() or the like' "$dir/err"
	fi
}
for command in 'info --method=inject' trim; do
	start_tracee setuid-waits setuid other
	# shellcheck disable=SC2086 # words
	check "a thread beside setuid(): $command does not have it make one" \
		cannot memdiag $command --pid "$tracee_pid" --wait 200ms
	# shellcheck disable=SC2086 # words
	check "a thread beside setuid(): it does the work of $command itself" \
		exits 0 memdiag $command --pid "$tracee_pid" --mode=thread
	check "a thread beside setuid(), after $command: setuid() comes to its end" \
		obeys release
	check "a thread beside setuid(), after $command: the threads are as before" is_itself
	check "a thread beside setuid(), after $command: the target lives on" end_tracee
done
finish
