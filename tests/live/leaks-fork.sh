#!/bin/sh
# leaks --fork: of a copy, while the program goes on; nothing is left of the copy, however it ends.
# shellcheck disable=SC3043 # every sh we know has local
. "$top_srcdir/tests/live/lib.sh"
. "$top_srcdir/tests/live/cgroup-lib.sh"
need jq

# children: the processes of the program, also zombies.
children()
{
	grep -l "^PPid:[[:space:]]*$tracee_pid\$" /proc/[0-9]*/status 2>"$dir/ignored"
	return 0
}

# nothing_left: no copy, no thread more than before, nobody who traces it.
nothing_left()
{
	children >"$dir/children.now"
	diff "$dir/children" "$dir/children.now" && is_untraced &&
		[ "$(find "/proc/$tracee_pid/task" -mindepth 1 -maxdepth 1 | wc -l)" -eq "$nr_tasks" ]
}

begin()
{
	start_tracee "$@"
	children >"$dir/children"
	nr_tasks=$(find "/proc/$tracee_pid/task" -mindepth 1 -maxdepth 1 | wc -l)
}

# as_without COMMAND FILTER: what FILTER gets from the command with --fork is what it gets without.
as_without()
{
	exits '0 1 2' memdiag "$1" --pid "$tracee_pid" --max-stop 300s --timeout 600s --json &&
		jq -c "$2" "$dir/out" >"$dir/without" &&
		exits '0 1 2' memdiag "$1" --fork --pid "$tracee_pid" --max-stop 300s --timeout 600s --json &&
		jq -c "$2" "$dir/out" >"$dir/with" && diff "$dir/without" "$dir/with"
}

# ---- what is found -------------------------------------------------------------------------------

# found: how many of the 1,000 lost blocks are listed; they alone have 1,000 bytes.
found()
{
	json '[.data.groups[] | select(.head_bytes == 1000 and .shape == "single") | .heads] | add // 0'
}

# finds_all: in each run, and at most two others: the third thread may have a block that is not in its hands yet.
finds_all()
{
	exits '1 2' memdiag leaks --fork --pid "$tracee_pid" --max-stop 300s --timeout 600s --json || return
	echo "$(found) of $(json .data.unreachable.blocks)"
	[ "$(found)" = 1000 ] && [ "$(json .data.unreachable.blocks)" -le 1002 ]
}
begin mover
# deep_is_lost: whether that block, which has 2,000 bytes, is found.
deep_is_lost()
{
	exits '1 2' memdiag leaks --fork --pid "$tracee_pid" --max-stop 300s --timeout 600s --json &&
		json_is '[.data.groups[] | select(.head_bytes == 2008 or .head_bytes == 2000) | .heads] == [1]'
}
check 'blocks that move all the time: the 1,000 lost ones' each_of 10 finds_all
check 'nothing is left' eventually nothing_left
check 'the copy is in the report' json_is '.data.copy_ns > 0 and .data.stop.count >= 1'
check 'as text' exits '1 2' memdiag leaks --fork --pid "$tracee_pid" --max-stop 300s --timeout 600s
check 'as text: how long there was a copy' grep -q 'a copy of it existed for [0-9]' "$dir/out"
check 'types of a copy' exits '0 2' memdiag types --fork --pid "$tracee_pid" --max-stop 300s --timeout 600s
check 'retained of a copy' exits '0 2' memdiag retained --fork --pid "$tracee_pid" --max-stop 300s --timeout 600s
check 'nothing is left by them' eventually nothing_left
check 'the program loses a block whose address is left on the main stack' ask deep
check 'it is found' deep_is_lost
check 'a stop that is too short for the fork: status 6' exits_saying 6 'may stop it for' memdiag leaks --fork \
	--pid "$tracee_pid" --max-stop 1us
check 'the threads go on' goes_on 1000
check 'the lock of an arena is held' ask lock
check 'no copy is made: status 6' exits_saying 6 'was inside malloc each time' memdiag leaks --fork --pid "$tracee_pid" \
	--max-stop 300s --timeout 600s
check 'nothing is left then' eventually nothing_left
check 'the program still works' end_tracee

begin holders
check 'all ways to hold a block: registers, stacks, TLS, shared memory' as_without leaks \
	'[.data.unreachable, [.data.groups[] | [.shape, .heads, .blocks, .bytes]]]'
check 'stacks are those of the threads' as_without retained '[.data.roots[] | select(.kind == "stack" and .tid != null) | [.tid, .retained]] | sort'
check 'no stack is another mapping' as_without retained '[.data.roots[] | select(.kind == "mapping") | .address] | sort'
check 'shared memory is no part of a copy' exits_saying 2 'shared memory were read when the process ran again' memdiag \
	leaks --fork --pid "$tracee_pid" --max-stop 300s --timeout 600s
check 'nothing is left' eventually nothing_left
check 'the program still works' end_tracee

# ---- refused ---------------------------------------------------------------------------------------

begin graphs list 1000
check 'one thread: status 5' exits_saying 5 'has one thread' memdiag leaks --fork --pid "$tracee_pid"
check 'the program still works' end_tracee
check '--fork of a core file: usage' exits 64 memdiag leaks --core x --fork
check '--fork without a stop: usage' exits 64 memdiag leaks --fork --no-stop --pid 1

# ---- its end ---------------------------------------------------------------------------------------

# has_copy: whether a thread of the program has a child; all processes are not looked at, as that takes too long.
has_copy()
{
	cat "/proc/$tracee_pid/task/"*/children 2>"$dir/ignored" | grep -q .
}

# at_copy COMMAND...: run it while a copy is read by $memdiag.  A copy that is too short to be seen is made again.
at_copy()
{
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		"$MEMDIAG" leaks --fork --pid "$tracee_pid" --max-stop 300s --timeout 600s >"$dir/out" 2>"$dir/err" &
		memdiag=$!
		started="$started $memdiag"
		while kill -0 $memdiag 2>"$dir/ignored"; do
			if has_copy; then
				"$@"
				return
			fi
		done
		wait $memdiag
	done
	echo 'no copy was seen'
	return 1
}

# interrupted SIGNAL: while a copy is read.
interrupted()
{
	kill "-$1" $memdiag
	wait $memdiag
	eventually nothing_left
}

# shortened: the memory of its cgroup becomes short while a copy is read.
shortened()
{
	local status=0
	limit_room 50000
	wait $memdiag || status=$?
	cat "$dir/err"
	[ $status -eq 6 ] && grep -q 'memory became short; the copy .* was removed' "$dir/err"
}

# not_killed: whether the kernel has killed nothing in the cgroup.
not_killed()
{
	if [ -f "$group/memory.events" ]; then
		grep '^oom_kill 0$' "$group/memory.events"
	else
		grep '^oom_kill 0$' "$group/memory.oom_control"
	fi
}
begin writer 3000000
for signal in INT TERM KILL KILL KILL; do
	check "SIG$signal while the copy is read: it is gone" at_copy interrupted $signal
done
check 'the next one works' exits '0 2' memdiag leaks --fork --pid "$tracee_pid" --max-stop 300s --timeout 600s
check 'the threads go on' goes_on 2
check 'and have written all blocks' test "$(ask check)" = fine
check 'the program still works' end_tracee

# ---- memory ----------------------------------------------------------------------------------------

if new_group memory; then
	start_in "$group" "$TRACEES/writer" 5000000
	children >"$dir/children"
	nr_tasks=$(find "/proc/$tracee_pid/task" -mindepth 1 -maxdepth 1 | wc -l)
	limit_room 100000
	check 'a cgroup with little room: refused' exits_saying 6 'a copy of .* takes .* and more, and .* are left' memdiag \
		leaks --fork --pid "$tracee_pid" --max-stop 300s
	limit_room 1000000
	check 'a cgroup that is full meanwhile: the copy is removed' at_copy shortened
	check 'before the kernel kills it' not_killed
	check 'nothing is left' eventually nothing_left
	check 'the threads go on' goes_on 2
	check 'and have written all blocks' test "$(ask check)" = fine
	check 'the program still works' end_tracee
else
	skip 'a cgroup with little room' 'there is no cgroup for memory'
fi
leave_groups
finish
