#!/bin/sh
# doctor on processes of all kinds: what can be seen of them, and what is in the way.
. "$top_srcdir/tests/live/lib.sh"
need jq

# finds STATE ABOUT [WORDS]: whether the last doctor says so of the process, with WORDS.
finds()
{
	json_is "[.data.findings[] | select(.of == \"process\" and .about == \"$2\" and
		.state == \"$1\") | .text | test(\"${3-}\")] == [true]"
}

check 'the machine' exits '0 2' memdiag doctor --json
check 'doctor without a PID has no target' \
	json_is '.target == null and (.data.findings | length > 3 and all(.of == "machine"))'
check 'its memory can be read' json_is '[.data.findings[] | select(.about == "memory").state] == ["yes"]'

# What it says where that is refused is in trace-refused.sh.
check 'whether trace can be used' \
	json_is '[.data.findings[] | select(.about == "events") | .state | IN("yes", "note")] == [true]'
if "$MEMDIAG" trace --mount-tracefs -d 0.01 $$ >"$dir/out" 2>&1; then
	check 'doctor with tracefs' captured unshare -m sh -c '[ -e /sys/kernel/tracing/events ] || mount -t tracefs nodev /sys/kernel/tracing && exec "$@"' sh \
		"$MEMDIAG" doctor
	check 'trace can be used' grep -q '^  yes  events  *trace can be used$' "$dir/out"
	check 'doctor without tracefs' captured unshare -m sh -c 'mount -t tmpfs nodev /sys/kernel && exec "$@"' sh \
		"$MEMDIAG" doctor
	check 'what helps is named' grep -q '^  note events  *trace --rss can be used, trace not yet: .*--mount-tracefs' "$dir/out"
else
	skip 'trace can be used' 'events are not permitted here'
fi

start_tracee idle 2
remember
check 'a process' exits 0 memdiag doctor --pid "$tracee_pid" --json
check 'doctor names its schema and its target' \
	json_is ".schema == \"memdiag.doctor/1\" and .target.pid == $tracee_pid and (.partial | not)"
for about in mappings tracing 'resident pages' smaps allocator calls arenas layout threads; do
	check "it says yes to $about" finds yes "$about"
done
check 'the allocator is named' finds yes allocator 'libc(.so.6|-2.*.so) .glibc.'
check 'the number of threads is found' finds yes process '3 threads'
check 'as text' exits 0 memdiag doctor --pid "$tracee_pid"
check 'for the process' grep -q "^Process $tracee_pid (idle)" "$dir/out"
check 'each line begins with its state' sh -c "! grep '^  [^ ]' '$dir/out' | grep -v -E '^  (yes |no  |note|\\?   ) [a-z]'"
check 'the target is as before' unharmed
check 'stopped' kill -STOP "$tracee_pid"
until grep -q '^State:.T' "/proc/$tracee_pid/status"; do :; done
check 'it can be asked still' exits 2 memdiag doctor --pid "$tracee_pid" --json
check 'a stopped process: kill -CONT is advised' finds no stopped "kill -CONT $tracee_pid"
check 'a stopped process: calls must wait' finds no calls 'is stopped'
check 'a stopped process is a warning' json_is '.partial and (.warnings | any(test("^stopped: ")))'
kill -CONT "$tracee_pid"
check 'a stopped process lives on' end_tracee

start_tracee spin
check 'a process that runs' exits '0 2' memdiag doctor --pid "$tracee_pid" --json
check 'doctor finds the arenas of the program' finds yes arenas
check 'the target of doctor lives on' end_tracee

if [ -x "$TRACEES/idle-musl" ]; then
	start_tracee idle-musl
	check 'musl' exits 2 memdiag doctor --pid "$tracee_pid" --json
	check 'a musl program: doctor finds no calls' finds no calls musl
	check 'no arenas' finds no arenas
	check 'a musl program: threads are unknown' finds unknown threads
	check 'a musl program: the mappings are readable' finds yes mappings
	check 'a musl program lives on after doctor' end_tracee
else
	skip 'musl' 'there is no musl-gcc'
fi

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	cp "$MEMDIAG" "$dir"
	check 'doctor for another user' captured setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/memdiag" doctor
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 1 ] ||
		check 'trace needs a right' grep -q '^  note events  *trace cannot be used: .*CAP_PERFMON' "$dir/out"
	start_tracee idle 2
	check 'to another user' sh -c "setpriv --reuid=65534 --regid=65534 --clear-groups \
		'$dir/memdiag' doctor --pid $tracee_pid --json >'$dir/out'; [ \$? -eq 2 ]"
	check 'it says what is missing' finds no mappings 'uid 65534. CAP_SYS_PTRACE is missing'
	check 'for each' finds no tracing 'CAP_SYS_PTRACE'
	check 'malloc comes after that' finds unknown malloc
	check 'a process of another user: doctor prints text' sh -c "setpriv --reuid=65534 --regid=65534 --clear-groups \
		'$dir/memdiag' doctor $tracee_pid >'$dir/out'; [ \$? = 2 ]"
	check 'what is missing is a no' grep -q '^  no   mappings  *' "$dir/out"
	check 'a process of another user: an unknown fact has a ?' grep -q '^  ?    malloc  *unknown until' "$dir/out"
	check 'a process of another user lives on' end_tracee
else
	skip 'to another user' 'only root can be another user'
fi

if command -v strace >/dev/null; then
	start_tracee idle 2
	strace -o /dev/null -p "$tracee_pid" 2>"$dir/strace.err" &
	started="$started $!"
	tracer=$!
	wait_for "$tracer" "/proc/$tracee_pid/status" '^TracerPid:.[1-9]'
	check 'doctor of a traced process' exits 2 memdiag doctor --pid "$tracee_pid" --json
	check 'doctor names the tracer' finds no tracing "traced by process $tracer .strace."
	kill "$tracer"
	wait "$tracer"
	check 'the traced process lives on' end_tracee
else
	skip 'with a tracer' 'strace is not installed'
fi
# Stopped by its tracer a process is not helped by SIGCONT.
if command -v gdb >/dev/null; then
	start_tracee idle 1
	mkfifo "$dir/end"
	gdb -q -batch -p "$tracee_pid" -ex "shell cat '$dir/end'" >"$dir/gdb" 2>&1 &
	gdb=$!
	until grep -q '^State:.t' "/proc/$tracee_pid/status"; do
		sleep 0.05
	done
	check 'doctor of a process under gdb' exits 2 memdiag doctor --pid "$tracee_pid"
	check 'the tracer is named' grep -q "its tracer (process $gdb) has stopped it" "$dir/out"
	check 'kill -CONT is not advised for a process under a debugger' sh -c "! grep -q 'kill -CONT' '$dir/out'"
	: >"$dir/end"
	wait "$gdb"
	check 'it lives on' end_tracee
else
	skip 'under gdb' 'no gdb'
fi
finish
