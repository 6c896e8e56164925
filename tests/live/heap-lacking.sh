#!/bin/sh
# Heaps that are not among the arenas: a second libc's, and those that a damaged list leaves out.
. "$top_srcdir/tests/live/lib.sh"
need jq python3

# A program whose threads have an arena each, of this libc or of a second one; it may damage the
# list of the first.
cat >"$dir/lacking.py" <<'PROGRAM'
import ctypes, sys, threading

libc = ctypes.CDLL(None)
libc.dlmopen.restype = libc.malloc.restype = libc.dlsym.restype = ctypes.c_void_p
malloc = libc.malloc
if sys.argv[1] == "second":
    second = libc.dlmopen(ctypes.c_long(-1), b"libc.so.6", 2)
    malloc = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(
        libc.dlsym(ctypes.c_void_p(second), b"malloc"))
blocks = []
used = threading.Barrier(4)
end = threading.Event()

def use():
    blocks.append([malloc(50000) for _ in range(20)][-1])
    used.wait()
    end.wait()

def word(at):
    return ctypes.c_uint64.from_address(at)

threads = [threading.Thread(target=use) for _ in range(3)]
for thread in threads:
    thread.start()
used.wait()
if sys.argv[1] == "damage":
    arenas = [word(block & ~0x3ffffff).value for block in blocks]
    for arena in arenas:
        for at in range(arena, arena + 0x900, 8):
            if word(at).value in arenas:
                word(at).value = 0
print("ready", flush=True)
sys.stdin.read()
end.set()
for thread in threads:
    thread.join()
print("alive", flush=True)
PROGRAM

start_command python3 "$dir/lacking.py" none
check 'heap reads a program with four arenas' exits 0 memdiag heap "$tracee_pid" --json
check 'heap of a program with four arenas has no warnings' json_is '(.data.arenas | length == 4) and .warnings == []'
check 'the target lives on' end_tracee

start_command python3 "$dir/lacking.py" second
check 'beside a second libc it is a part' exits 2 memdiag heap "$tracee_pid" --json
check 'the second libc is named' json_is '.partial and any(.warnings[]; test("second libc.*/libc"))'
check 'its heaps are counted' json_is \
	'any(.warnings[]; test("none of these arenas has: [1-9].*they are the second libc"))'
check 'the target lives on' end_tracee

start_command python3 "$dir/lacking.py" damage
check 'with a damaged list it is a part' exits 2 memdiag heap "$tracee_pid" --json
check 'it says so' json_is 'any(.warnings[]; test("list of arenas is damaged"))'
check 'it says how many heaps lack' json_is \
	'any(.warnings[]; test("none of these arenas has: [1-9].*memory is damaged"))'
check 'the target lives on' end_tracee
finish
