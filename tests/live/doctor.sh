#!/bin/sh
# What can be seen of processes of all kinds, and what is in the way.
. "$top_srcdir/tests/live/lib.sh"
need jq

# finds STATE ABOUT [WORDS]: whether the last doctor says so of the process, with WORDS.
finds()
{
	json_is "[.data.findings[] | select(.of == \"process\" and .about == \"$2\" and
		.state == \"$1\") | .text | test(\"${3-}\")] == [true]"
}

check 'the machine' exits '0 2' memdiag doctor --json
check 'has no process' json_is '.target == null and (.data.findings | length > 3 and all(.of == "machine"))'
check 'its memory can be read' json_is '[.data.findings[] | select(.about == "memory").state] == ["yes"]'

start_tracee idle 2
remember
check 'a process' exits 0 memdiag doctor --pid "$tracee_pid" --json
check 'is named' json_is ".schema == \"memdiag.doctor/1\" and .target.pid == $tracee_pid and (.partial | not)"
for about in mappings tracing 'resident pages' smaps allocator calls arenas layout threads; do
	check "it says yes to $about" finds yes "$about"
done
check 'the allocator is named' finds yes allocator 'libc.so.6 .glibc.'
check 'and how many threads' finds yes process '3 threads'
check 'as text' exits 0 memdiag doctor --pid "$tracee_pid"
check 'for the process' grep -q "^Process $tracee_pid (idle)" "$dir/out"
check 'the target is as before' unharmed
check 'stopped' kill -STOP "$tracee_pid"
until grep -q '^State:.T' "/proc/$tracee_pid/status"; do :; done
check 'it can be asked still' exits 2 memdiag doctor --pid "$tracee_pid" --json
check 'that is said' finds no stopped "kill -CONT $tracee_pid"
check 'and that calls must wait' finds no calls 'is stopped'
check 'in warnings, too' json_is '.partial and (.warnings | any(test("^stopped: ")))'
kill -CONT "$tracee_pid"
check 'and it lives on' end_tracee

start_tracee spin
check 'a process that runs' exits '0 2' memdiag doctor --pid "$tracee_pid" --json
check 'has its arenas' finds yes arenas
check 'and lives on' end_tracee

if [ -x "$TRACEES/idle-musl" ]; then
	start_tracee idle-musl
	check 'musl' exits 2 memdiag doctor --pid "$tracee_pid" --json
	check 'has no calls' finds no calls musl
	check 'no arenas' finds no arenas
	check 'and so no threads' finds unknown threads
	check 'but mappings' finds yes mappings
	check 'and lives on' end_tracee
else
	skip 'musl' 'there is no musl-gcc'
fi

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	cp "$MEMDIAG" "$dir"
	start_tracee idle 2
	check 'to another user' sh -c "setpriv --reuid=65534 --regid=65534 --clear-groups \
		'$dir/memdiag' doctor --pid $tracee_pid --json >'$dir/out'; [ \$? -eq 2 ]"
	check 'it says what is missing' finds no mappings 'uid 65534. CAP_SYS_PTRACE is missing'
	check 'for each' finds no tracing 'CAP_SYS_PTRACE'
	check 'malloc comes after that' finds unknown malloc
	check 'and lives on' end_tracee
else
	skip 'to another user' 'only root can be another user'
fi

if command -v strace >/dev/null; then
	start_tracee idle 2
	strace -o /dev/null -p "$tracee_pid" 2>"$dir/strace.err" &
	started="$started $!"
	tracer=$!
	wait_for "$tracer" "/proc/$tracee_pid/status" '^TracerPid:.[1-9]'
	check 'with a tracer' exits 2 memdiag doctor --pid "$tracee_pid" --json
	check 'that one is named' finds no tracing "traced by process $tracer .strace."
	kill "$tracer"
	wait "$tracer"
	check 'and it lives on' end_tracee
else
	skip 'with a tracer' 'strace is not installed'
fi
finish
