"""Run a program with a seccomp filter by which one system call fails.

	deny.py NUMBER ERROR [--request=REQUEST] COMMAND...

NUMBER and ERROR are numbers of this machine; REQUEST: only with this first argument.  Exits with a message where filters
cannot be set.
"""
import ctypes
import os
import struct
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # linux/bpf_common.h
FAIL, ALLOW = 0x50000, 0x7FFF0000  # linux/seccomp.h
NR, FIRST_ARGUMENT = 0, 16  # offsets in struct seccomp_data

number, error, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
wanted = [(NR, number)]
if command[0].startswith("--request="):
    wanted.append((FIRST_ARGUMENT, int(command.pop(0).split("=")[1], 0)))
code = []
for nr, (offset, value) in enumerate(wanted):
    to_the_end = 2 * (len(wanted) - nr) - 1
    code += [(LOAD, 0, 0, offset), (JUMP_IF_EQUAL, 0, to_the_end, value)]
code += [(RETURN, 0, 0, FAIL | error), (RETURN, 0, 0, ALLOW)]
filter_code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *i) for i in code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(filter_code)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program):
    sys.exit("cannot filter calls")
os.execv(command[0], command)
