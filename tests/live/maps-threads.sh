#!/bin/sh
# Threads in the map: each has its stack, under its number and its name, whatever that is.
. "$top_srcdir/tests/live/lib.sh"
need jq python3
cat >"$dir/threads.py" <<'PROGRAM'
import ctypes, os, sys, threading

libc = ctypes.CDLL(None)
started = threading.Barrier(4)
end = threading.Event()

def run(name):
    libc.prctl(15, ctypes.c_char_p(name))	# PR_SET_NAME
    os.write(1, b"%d\n" % threading.get_native_id())	# whole, unlike print()
    started.wait()
    end.wait()

def leave():
    pass

threading.stack_size(1 << 20)
threads = [threading.Thread(target=run, args=(name,))
           for name in (b"plain", b"evil\033[31m", b"two\nlines")]
for thread in threads:
    thread.start()
started.wait()
gone = threading.Thread(target=leave)
gone.start()
gone.join()
print("ready", flush=True)
sys.stdin.read()
end.set()
for thread in threads:
    thread.join()
print("alive", flush=True)
PROGRAM

start_command python3 "$dir/threads.py"
tids=$(grep '^[0-9]' "$dir/$tracee_pid.out")
check 'maps runs' exits 0 memdiag maps "$tracee_pid" --by=thread --json
for tid in $tids; do
	check 'a thread has a stack of 1 MiB, guard and all' json_is \
		"[.data.groups[] | select(.name | startswith(\"$tid \")) | .virt_bytes / 1048576 | floor] == [1]"
done
check 'the main thread has its own' json_is \
	"[.data.groups[] | select(.name == \"$tracee_pid python3\")] | length == 1"
check 'names cannot control a terminal' json_is '[.data.groups[].name |
	select(endswith(" plain") or endswith(" evil\\033[31m") or endswith(" two\\012lines"))] |
	length == 3'
check 'all adds up' json_is \
	'([.data.groups[].virt_bytes] | add) == .data.totals.virt_bytes'
check 'the map by class' exits 0 memdiag maps "$tracee_pid" --json
check 'has the stack of the thread that has ended as well' json_is \
	'[.data.groups[].parts[]? | select(.name == "cached stacks").virt_bytes / 65536 | ceil] == [16]'
check 'the target lives on' end_tracee

# ---- what of a stack is in use ----
# thread FILTER: of every thread but the first
thread()
{
	json_is "[.data.groups[] | select(.name | test(\"^[0-9]+ \")) |
		select(.name | startswith(\"$tracee_pid \") | not)] | $1"
}

# part NAME FILTER
part()
{
	json_is "[.data.groups[].parts[]? | select(.name == \"$1\")][0] | $2"
}

start_tracee manythreads 3 64
check 'threads that used more of their stacks once' exits 0 \
	memdiag maps "$tracee_pid" --by=thread --json
check 'have it still' thread \
	'map(.unused_stack_bytes / 1024 | . > 48 and . < 96) == [true, true, true]'
check 'others do not count' json_is \
	'.data.groups[] | select(.name == "not stacks") | has("unused_stack_bytes") | not'
check 'as text' exits 0 memdiag maps "$tracee_pid" --by=thread -b
check 'in a column' grep -q '^THREAD  *VIRT  *RSS  *UNUSED ' "$dir/out"
check 'by class' exits 0 memdiag maps "$tracee_pid" --json
check 'unused stack is a part' part 'unused stack' '.rss_bytes / 1024 | . > 144 and . < 300'
check 'each thread has one that is used' part 'thread stacks' \
	'.count == 3 and .rss_bytes == .virt_bytes and .rss_bytes / 1024 < 36'
check 'and TLS at its end' part 'thread TLS' '.count == 3 and .rss_bytes > 0'
check 'with smaps alone it is not known' exits 0 \
	memdiag maps "$tracee_pid" --by=thread --json --rss-from=smaps
check 'and null' thread 'map(.unused_stack_bytes) == [null, null, null]'
check 'the target lives on' end_tracee
start_tracee spin
check 'a thread that runs' exits 0 memdiag maps "$tracee_pid" --by=thread --json
check 'cannot be asked' json_is \
	'[.data.groups[] | select(.name | endswith(" spin")) | has("unused_stack_bytes")] == [false]'
check 'the target lives on' end_tracee
finish
