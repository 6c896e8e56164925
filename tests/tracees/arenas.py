# arenas.py MIB...: a thread for each number, whose arena holds so many MiB, all written to; and in
# the main thread a block of 50 MiB, which is too large for any arena.
import ctypes
import sys
import threading

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
sizes = [int(mib) for mib in sys.argv[1:]]
filled = threading.Barrier(len(sizes) + 1)
end = threading.Event()


def allocate(size):
    libc.memset(ctypes.c_void_p(libc.malloc(size)), 1, size)


def fill(mib):
    for _ in range(mib * 16):
        allocate(65536)
    filled.wait()
    end.wait()


threads = [threading.Thread(target=fill, args=(mib,)) for mib in sizes]
for thread in threads:
    thread.start()
filled.wait()
allocate(50 << 20)
print("ready", flush=True)
sys.stdin.read()
end.set()
for thread in threads:
    thread.join()
print("alive", flush=True)
