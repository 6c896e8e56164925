"""Compare the file of memdiag trace --calls with the ledger of tests/tracees/calls-truth.

	trace-calls.py LEDGER CALLS DATA DOCUMENT

DATA is the file that was mapped.  Members are those that DOCUMENT, doc/json.md, lists.  Prints what differs, and exits
with 1 if something does; else how much was compared.
"""
import collections
import errno
import json
import os
import sys

PAGE = os.sysconf("SC_PAGESIZE")
# From the headers of the kernel, by hand.
PROTECTIONS = {1: "PROT_READ", 2: "PROT_WRITE", 4: "PROT_EXEC"}
FLAGS = {
    "mmap": {0x1: "MAP_SHARED", 0x2: "MAP_PRIVATE", 0x10: "MAP_FIXED", 0x20: "MAP_ANONYMOUS", 0x4000: "MAP_NORESERVE",
        0x8000: "MAP_POPULATE", 0x20000: "MAP_STACK", 0x100000: "MAP_FIXED_NOREPLACE"},
    "mremap": {1: "MREMAP_MAYMOVE"},
    "shmat": {0o10000: "SHM_RDONLY"},
}
ADVICE = {4: "MADV_DONTNEED", 8: "MADV_FREE"}
FILES = {2: "/SYSV00000000 (deleted)", 3: "/dev/zero (deleted)"}
failures = []


def fail(words):
    failures.append(words)
    if len(failures) <= 6:
        print(words)


def number(text):
    return None if text == "-1" else int(text)


def names(value, known):
    return None if value is None else sorted(name for bit, name in known.items() if value & bit)


class Call:
    """What the line of a call in the ledger makes one expect."""

    def __init__(self, words, data):
        self.tid, self.call = int(words[0]), words[1]
        address, size, result, error, protection, flags, advice, fd, offset, file, old, old_bytes = map(number, words[2:14])
        returns = self.call in ("mmap", "mremap", "shmat")
        self.members = {
            "address": hex(address if address is not None else 0),
            "bytes": size,
            "gives_back": self.call in ("munmap", "madvise", "shmdt"),
            "result": None if error else hex(result) if returns else 0,
            "errno": error,
            "error": errno.errorcode[error] if error else None,
            "protection": ["PROT_NONE"] if protection == 0 else names(protection, PROTECTIONS),
            "flags": names(flags, FLAGS.get(self.call, {})),
            "advice": ADVICE[advice] if advice is not None else None,
            "fd": fd,
            "offset_bytes": offset,
            "file": data if file == 1 else FILES.get(file),
            "old_address": None if old is None else hex(old),
            "old_bytes": old_bytes,
            "by_malloc": False,
            "end": "complete",
        }
        self.caller = words[14]


def documented(path):
    """The members that the tables of the document list, by type of line."""
    lists, name = collections.defaultdict(set), None
    for line in open(path):
        if line.startswith("#"):
            name = line.split("`")[1] if line.startswith("### Lines of type `") else None
        elif name and line.startswith("| `"):
            lists[name].add(line.split("`")[1])
    return lists


def main(ledger, calls, data, document):
    want, got = collections.defaultdict(list), collections.defaultdict(list)
    for line in open(ledger):
        call = Call(line.split(), data)
        want[call.tid].append(call)
    lists = documented(document)
    lines = [json.loads(line) for line in open(calls)]
    for line in lines:
        if set(line) != lists[line["type"]]:
            fail("members of %s: %s" % (line["type"], set(line) ^ lists[line["type"]]))
    if lines[0]["type"] != "begin" or lines[-1]["type"] != "end" or lines[0]["schema"] != "memdiag.trace-calls/1":
        fail("it begins or ends otherwise")
    if lines[-1]["events"]["seen"] != sum(line["type"] == "call" for line in lines):
        fail("other numbers of calls")
    last = collections.defaultdict(int)
    for line in lines:
        if line["type"] != "call":
            continue
        if line["time_ns"] < last[line["tid"]] or line["time_ns"] > lines[-1]["duration_ns"]:
            fail("out of time: %s" % line)
        last[line["tid"]] = line["time_ns"]
        if any(name.startswith("call_from_") for name in line["frames"]):
            got[line["tid"]].append(line)
    for tid in sorted(set(want) | set(got)):
        if len(want[tid]) != len(got[tid]):
            fail("thread %d: %d calls, not %d" % (tid, len(got[tid]), len(want[tid])))
        for a, b in zip(want[tid], got[tid]):
            for name, value in a.members.items():
                found = sorted(b[name]) if isinstance(b[name], list) else b[name]
                if found != value:
                    fail("%s of %s: %s, not %s" % (name, b, found, value))
            if b["call"] != a.call or b["frames"][:3] and a.caller not in b["frames"][:2] or "play" not in b["frames"]:
                fail("%s by %s: %s" % (a.call, a.caller, b))
            if b["pid"] != lines[0]["target"]["pid"]:
                fail("another process: %s" % b)
    if failures:
        print("%d differences" % len(failures))
        sys.exit(1)
    kinds = collections.Counter((c.call, c.members["error"]) for calls in want.values() for c in calls)
    print("%d calls of %d threads: %s" % (sum(kinds.values()), len(want), ", ".join(
        "%d %s%s" % (n, call, " " + error if error else "") for (call, error), n in sorted(kinds.items(), key=str))))


main(*sys.argv[1:])
