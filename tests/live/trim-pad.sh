#!/bin/sh
# trim --pad leaves that much free at the end of the main heap; trim without it, nearly nothing.
. "$top_srcdir/tests/live/lib.sh"
need jq python3
cat >"$dir/top.py" <<'PROGRAM'
import ctypes, sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.mallopt(M_TRIM_THRESHOLD, 1 << 30)
libc.mallopt(M_MMAP_THRESHOLD, 32 << 20)	# all that 2.31 takes (malloc.c, do_set_mmap_threshold)
blocks = [ctypes.c_void_p(libc.malloc(1 << 20)) for _ in range(48)]
for block in blocks:
    libc.memset(block, 1, 1 << 20)
for block in reversed(blocks):
    libc.free(block)
print("ready", flush=True)
sys.stdin.read()
print("alive", flush=True)
PROGRAM
start_command python3 "$dir/top.py"
check 'trim --pad runs' exits 0 memdiag trim --pid "$tracee_pid" --pad 32M --json
check 'it left the pad' json_is '.data.released_bytes | . > 12000000 and . < 18000000'
check 'trim runs' exits 0 memdiag trim --pid "$tracee_pid" --json
check 'it took the pad' json_is '.data.released_bytes | . > 30000000 and . < 36000000'
check 'the target lives on' end_tracee
finish
