#!/bin/sh
# --capture=fd2 where descriptor 2 is more than a log, with a second memdiag at work, and after memdiag
# was killed: descriptor 2 leads where it led, and no descriptor stays.
. "$top_srcdir/tests/live/lib.sh"
need jq

# same_descriptors: whether the tracee's are what remember_descriptors noted.
list_descriptors()
{
	find "/proc/$tracee_pid/fd" -type l -printf '%f %l\n' | sort -n
}
remember_descriptors()
{
	list_descriptors >"$dir/fds"
}
same_descriptors()
{
	list_descriptors | diff "$dir/fds" -
}

# The program would miss what it expects of descriptor 2.
for how in socket data; do
	start_tracee stderr $how
	remember_descriptors
	check "descriptor 2 is a $how: refused" exits 5 memdiag info --pid "$tracee_pid" --capture=fd2
	check "descriptor 2 is a $how: by its name" grep -Eq 'socket:|memfd:data' "$dir/err"
	check "descriptor 2 is a $how: with what works" grep -q -e '--capture=stream' "$dir/err"
	check "descriptor 2 is a $how: which does" exits 0 memdiag info --pid "$tracee_pid"
	check "descriptor 2 is a $how: it stays that" same_descriptors
	check "descriptor 2 is a $how: the target lives on" end_tracee
done

# The program may not write files: a write to the file in memory would end it.
start_command sh -c 'ulimit -f 8; exec "$@"' sh "$TRACEES/idle"
remember_descriptors
check 'its files may not be large: refused' exits 5 memdiag info --pid "$tracee_pid" --capture=fd2
check 'its files may not be large: by the limit' grep -q 'ulimit -f' "$dir/err"
check 'its files may not be large: descriptors stay' same_descriptors
check 'its files may not be large: the target lives on' end_tracee

# Several at once: each waits for the one before, and the log goes on where it went.
start_tracee logger 4
remember_descriptors
in_turn()
{
	pids=
	for who in 1 2 3 4; do
		# shellcheck disable=SC2034 # it counts
		for run in 1 2 3; do
			"$MEMDIAG" info --wait=300s --timeout=600s --pid "$tracee_pid" --capture=fd2 -q >"$dir/many.$who" 2>&1 ||
				cat "$dir/many.$who" >>"$dir/many.failed"
		done &
		pids="$pids $!"
	done
	# shellcheck disable=SC2086 # words
	wait $pids
	[ ! -s "$dir/many.failed" ] || {
		cat "$dir/many.failed"
		return 1
	}
}
check 'four at once: all get their answers' in_turn
check 'four at once: the log goes where it went' same_descriptors

# Another has it and does not give it up: here flock(1), which takes the same lock.
if command -v flock >/dev/null; then
	flock "/proc/$tracee_pid/mem" sh -c 'echo locked; exec sleep 100000' >"$dir/locked" &
	holder=$!
	until grep -q locked "$dir/locked"; do
		sleep 0.01
	done
	for command in info 'info --method=read' trim 'trim -n' heap 'count start' 'count stop'; do
		# shellcheck disable=SC2086 # words
		check "another memdiag has it: $command gives up" \
			exits 6 memdiag $command --pid "$tracee_pid" --timeout 2s
		check "another memdiag has it: $command said that it waits" \
			grep -q "^memdiag: another memdiag (process [0-9]*) .* waiting" "$dir/err"
	done
	for command in maps doctor 'heap --no-stop'; do
		# shellcheck disable=SC2086 # words
		check "another memdiag has it: $command need not wait" \
			exits '0 2' memdiag $command --pid "$tracee_pid"
	done
	# The lock is the sleep's as well, which has its descriptor.
	kill "$(sed 's/ .*//' "/proc/$holder/task/$holder/children")" "$holder" 2>/dev/null
	wait "$holder" 2>/dev/null
	check 'the other memdiag has ended: info borrows the target again' exits 0 memdiag info --pid "$tracee_pid"
else
	skip 'another memdiag has it' 'no flock'
fi

# Killed at each third step: the target heals by itself, or the next run heals it.
killed_often()
{
	killed_each_time ptrace 3 true "$MEMDIAG" info --capture=fd2 --mode=thread --pid PID && [ "$nr_tried" -gt 10 ]
}
if command -v strace >/dev/null; then
	check 'killed in the middle' killed_often
	check 'killed in the middle: the next gets its answer' \
		exits 0 memdiag info --pid "$tracee_pid" --capture=fd2
	check 'killed in the middle: no descriptor stays' same_descriptors
else
	skip 'killed in the middle' 'no strace'
fi
check 'the target lives on' end_tracee
finish
