#!/bin/sh
# Arenas of different sizes: what malloc says of one and what memory shows of it are put together.
. "$top_srcdir/tests/live/lib.sh"
need jq python3
cat >"$dir/sizes.py" <<'PROGRAM'
import ctypes, sys, threading

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
filled = threading.Barrier(5)
end = threading.Event()

def fill(mib):
    for _ in range(mib * 16):
        libc.memset(ctypes.c_void_p(libc.malloc(65536)), 1, 65536)
    filled.wait()
    end.wait()

threads = [threading.Thread(target=fill, args=(mib,)) for mib in (8, 16, 24, 32)]
for thread in threads:
    thread.start()
filled.wait()
print("ready", flush=True)
sys.stdin.read()
end.set()
for thread in threads:
    thread.join()
print("alive", flush=True)
PROGRAM
start_command python3 "$dir/sizes.py"
check 'info runs' exits 0 memdiag info --pid "$tracee_pid" --json
check 'there are five arenas' json_is '.data.arenas | length == 5'
check 'of different sizes' json_is \
	'[.data.arenas[] | select(.main | not).system_bytes / 8388608 | floor] | sort == [1, 2, 3, 4]'
check 'each has resident what it holds' json_is \
	'[.data.arenas[] | select(.main | not) | .resident_bytes - .system_bytes | fabs] | max < 1048576'
check 'each has its thread' json_is '[.data.arenas[].threads] == [1, 1, 1, 1, 1]'
check 'no two the same' json_is '[.data.arenas[].tids[]] | unique | length == 5'
check 'sorted by size the smallest comes last' sh -c \
	"'$MEMDIAG' info '$tracee_pid' --sort=system -n 4 | awk '/^ARENA/ { getline; print \$3; exit }' |
	grep -q '^3[0-9]'"
check 'the target lives on' end_tracee
finish
