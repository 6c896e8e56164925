"""leaks-explain.py PID KIND...: read the JSON of memdiag leaks on stdin, and look at the heads of its groups in the memory
of PID.  Exits with 1, and prints the groups, if a head is of no KIND:

    environment  an array of "NAME=VALUE" strings, or such a string: a program that copies environ at its start, to write
                 over the old one, loses the copy at the next setenv() (glibc's copies it again) or clearenv()
    directory    a text that is the name of a directory: PostmasterMain() keeps a copy of -D's argument on its stack only
    lock         a semaphore: Python's child of a fork() leaves the locks of the parent where they are, on purpose
                 (Python/thread_pthread.h, _PyThread_at_fork_reinit())
    option       a text "-D...": java's launcher passes these to the JVM, and frees only their array (libjli, AddOption())
    handle-mark  HotSpot's HandleMark: {thread, area, chunk, hwm, max, size, previous}: that of a thread which has ended
"""
import json
import os
import re
import struct
import sys

memory = os.open("/proc/%s/mem" % sys.argv[1], os.O_RDONLY)
NAME = re.compile(rb"[^=\0]+=|\0")


def read(at, size):
    try:
        return os.pread(memory, size, at)
    except (OSError, OverflowError):
        return b""


def words(at, size):
    data = read(at, size // 8 * 8)
    return struct.unpack("<%dQ" % (len(data) // 8), data)


def is_environment(at, size):
    if NAME.match(read(at, 256)):
        return True
    # What follows the array in its block was not written.
    strings = [w for w in words(at, size) if w]
    nr = sum(1 for w in strings if NAME.match(read(w, 256)))
    return nr > 3 and nr > len(strings) * 3 / 4


def is_lock(at, size):
    value, private, *_ = words(at, 32)
    return size == 40 and value < 2 and private < 256


def is_directory(at, size):
    return os.path.isdir(read(at, size).split(b"\0")[0])


def is_option(at, _):
    return read(at, 2) == b"-D"


def is_handle_mark(at, size):
    if size != 56:
        return False
    _, _, chunk, hwm, end, bytes_before, previous = words(at, size)
    return chunk <= hwm <= end and end - chunk < 1 << 20 and bytes_before < 1 << 20


KINDS = {"environment": is_environment, "directory": is_directory, "lock": is_lock,
          "option": is_option, "handle-mark": is_handle_mark}
odd = []
for group in json.load(sys.stdin)["data"]["groups"]:
    for example in group["examples"]:
        at = int(example, 16)
        if not any(KINDS[kind](at, group["head_bytes"]) for kind in sys.argv[2:]):
            odd.append((group, read(at, min(group["head_bytes"], 128))))
for group, data in odd:
    print(group, data)
sys.exit(bool(odd))
