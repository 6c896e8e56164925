"""Compare what memdiag trace has printed with the ledger of tests/tracees/takes-memory.

	trace-compare.py json LEDGER JSON	sums by stack
	trace-compare.py lines LEDGER TEXT	lines of calls, those of each thread in their order
	trace-compare.py folded LEDGER FOLDED	bytes left by stack
	trace-compare.py strace FILE TEXT	lines of calls with what strace -f -k has written of them
	trace-compare.py perf FILE TEXT		the same with perf script, which knows no results: but for brk

Prints what differs, and exits with 1 if something does; else how much was compared.
"""
import collections
import json
import os
import re
import sys

SITE = re.compile(r"^(map|unmap|remap|advise|break)_(by|inline)")
STEP = re.compile(r"^step_\d$")
# What leads to the first step, where the compiler has not put it into another function.
MAKERS = {"make", "map", "unmap", "remap", "shrink", "discard", "fail", "move_break", "step"}
# What takes-memory itself asks of libc: threads, and their stacks; marks; its heap at the beginning.
OTHERS = {"pthread_create", "start_thread", "mark", "begin", "play", "step", "write_ledger", "discard"}
COLUMNS = ["map_calls", "mapped_bytes", "freed_bytes", "unmap_calls", "unmapped_bytes",
    "discard_calls", "discarded_bytes", "failed_calls", "left_bytes"]

failures = []


def fail(words):
    failures.append(words)
    if len(failures) <= 6:
        print(words)


def end(words):
    if failures:
        print("%d differences" % len(failures))
        sys.exit(1)
    print(words)


class Call:
    def __init__(self, words):
        self.tid = int(words[0])
        self.name = words[1]
        self.bytes = int(words[2])
        self.address = int(words[3], 16)
        self.error = int(words[4])
        self.is_reserve = words[5] == "1"
        self.chain = words[6]


def read_ledger(path):
    calls, sums = [], {}
    for line in open(path):
        words = line.split()
        if words[0] == "call":
            calls.append(Call(words[1:]))
        else:
            # moves are in no sum; two chains may be the same functions
            old = sums.get(words[1], [0] * len(COLUMNS))
            sums[words[1]] = [a + int(b) for a, b in zip(old, words[3:])]
    return calls, sums


def functions_of(stack):
    return [f["name"] for frame in stack["frames"] for f in frame["functions"]]


def chain_of(names):
    """The frames of the program, from the function that makes the call to that of the thread."""
    names = [name.split(".")[0] for name in names]  # gcc's fail.isra.0
    at = next((i for i, name in enumerate(names) if SITE.match(name)), None)
    if at is None:
        return None
    ours = [names[at]]
    for at in range(at + 1, len(names)):
        if not STEP.match(names[at]):
            break
        ours.append(names[at])
    while at < len(names) and names[at] in MAKERS:
        at += 1
    return ";".join(ours + names[at:at + 1])


# ---- sums ----

def compare_json(ledger, path):
    _, sums = read_ledger(ledger)
    document = json.load(open(path))
    found = collections.defaultdict(lambda: [0] * len(COLUMNS))
    for stack in document["data"]["stacks"]:
        names = functions_of(stack)
        chain = chain_of(names)
        if stack["end"] != "complete":
            fail("a stack ends %s: %s" % (stack["end"], names))
        if chain is None:
            if not OTHERS & set(names):
                fail("an unknown stack: %s" % names)
            continue
        if stack["by_malloc"]:
            fail("marked as malloc's: %s" % names)
        if not chain.endswith(";work"):
            fail("a stack has gaps: %s" % names)
        values = [stack[c] for c in COLUMNS]
        if None in values:  # what is left is unknown
            values = [0 if v is None else v for v in values]
        found[chain] = [a + b for a, b in zip(found[chain], values)]
    for chain in sorted(set(sums) | set(found)):
        want, got = sums.get(chain, [0] * len(COLUMNS)), found[chain]
        for column, a, b in zip(COLUMNS, want, got):
            if a != b:
                fail("%s of %s: %d, not %d" % (column, chain, b, a))
    total = [sum(v[i] for v in sums.values()) for i in range(len(COLUMNS))]
    if not total[0] or not total[-1]:
        fail("nothing to compare")
    end("%d stacks; %s" % (len(sums), ", ".join("%s %d" % p for p in zip(COLUMNS, total))))


# ---- lines ----

ERRORS = {1: "EPERM", 12: "ENOMEM", 22: "EINVAL", 17: "EEXIST", 14: "EFAULT", 9: "EBADF"}
MARKS = re.compile(r"^\[(\w+)\] ")


def threads_of(calls):
    ret = collections.defaultdict(list)
    for c in calls:
        ret[c.tid].append(c)
    return ret


def read_lines(path):
    """The calls of memdiag's lines, by thread."""
    got = collections.defaultdict(list)
    for line in open(path):
        if not line.strip():
            break  # the summary comes next
        words = line.split(None, 5)
        if words[0] == "TIME":
            continue
        if len(words) < 6:
            fail("a strange line: %s" % line)
            continue
        stack, marks = words[5].rstrip("\n"), []
        while MARKS.match(stack):
            marks.append(MARKS.match(stack).group(1))
            stack = stack[len(marks[-1]) + 3:]
        names = stack.split(" <- ")
        chain = chain_of(names)
        if chain is None:
            continue
        if not SITE.match(names[0]) and names[0] not in ("sbrk", "__sbrk"):
            fail("a line does not begin with the function that called: %s" % stack)
        if "malloc" in marks:
            fail("marked as malloc's: %s" % stack)
        size = words[3]
        if words[2] in ("munmap", "madvise") and size[0] == "-":
            size = size[1:]
        elif words[2] == "brk":
            size = size.lstrip("-")
        got[int(words[1])].append((words[2], size, words[4], "reserve" in marks, chain))
    return got


def compare_threads(want, got):
    for tid in sorted(set(want) | set(got)):
        a, b = want[tid], got[tid]
        if len(a) != len(b):
            fail("thread %d: %d calls, not %d" % (tid, len(b), len(a)))
        for i, (x, y) in enumerate(zip(a, b)):
            if x != y:
                fail("thread %d, call %d: %s, not %s" % (tid, i, y, x))
                break
    if not want:
        fail("nothing to compare")
    return sum(len(c) for c in want.values())


def compare_lines(ledger, path):
    calls, _ = read_ledger(ledger)
    want = collections.defaultdict(list)
    for c in calls:
        size = ERRORS[c.error] if c.error else str(c.bytes)
        want[c.tid].append((c.name, size, "%x" % c.address, c.is_reserve, c.chain))
    compare_threads(want, read_lines(path))
    end("%d calls of %d threads" % (len(calls), len(want)))


# ---- strace ----

CALL = re.compile(r"^(\d+) +(\w+)\((.*)\) += (\S+)(?: (E\w+))?")
UNFINISHED = re.compile(r"^(\d+) +(.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. \w+ resumed>(.*)$")
PAGE = os.sysconf("SC_PAGESIZE")
FRAME = re.compile(r"^ > .*\((\w*)[^()]*\) \[0x[0-9a-f]+\]$")


def whole_lines(path):
    """Its lines, where one that was interrupted comes when it ends."""
    begun = {}
    for line in open(path):
        line = line.rstrip("\n")
        first, rest = UNFINISHED.match(line), RESUMED.match(line)
        if first:
            begun[first.group(1)] = first.group(2)
        elif rest:
            yield "%s %s%s" % (rest.group(1), begun.pop(rest.group(1), ""), rest.group(2))
        else:
            yield line


def read_strace(path):
    """Calls as (thread, name, address, error), each with the names of its frames."""
    calls, end_of_heap = [], None
    for line in whole_lines(path):
        call, frame = CALL.match(line), FRAME.match(line)
        if frame and calls:
            calls[-1][1].append(frame.group(1))
        elif call:
            tid, name, args, result, error = call.groups()
            first = args.split(",")[0]
            if name == "brk":  # it fails without an error; and less than a page more or less has no line
                pages = -(-int(result, 16) // PAGE)
                if first != result or pages == end_of_heap:
                    name = "break unchanged"
                end_of_heap = pages
            address = result if name in ("mmap", "mremap") else first
            calls.append(((int(tid), name, address, error), []))
    return calls


def compare_strace(path, text):
    want, nr_frames = collections.defaultdict(list), 0
    for (tid, name, address, error), frames in read_strace(path):
        chain = chain_of(frames)
        if chain is not None and name != "break unchanged":
            want[tid].append((name, error or "", "" if error or name == "brk" else address, chain))
            nr_frames += chain.count(";") + 1
    got = collections.defaultdict(list)
    for tid, calls in read_lines(text).items():
        for name, size, address, _, chain in calls:
            error = size if size[0] == "E" else ""
            got[tid].append((name, error, "" if error or name == "brk" else "0x" + address, chain))
    nr = compare_threads(want, got)
    end("%d of %d calls equal those of strace, with %d frames of the program" % (nr, nr, nr_frames))


# ---- folded stacks ----

def compare_folded(ledger, path):
    _, sums = read_ledger(ledger)
    want = {chain: v[-1] for chain, v in sums.items() if v[-1]}
    got = collections.defaultdict(int)
    for line in open(path):
        stack, value = line.rsplit(" ", 1)
        chain = chain_of(stack.split(";")[::-1])
        if chain is not None:
            got[chain] += int(value)
    for chain in sorted(set(want) | set(got)):
        if want.get(chain, 0) != got[chain]:
            fail("%s has %d bytes, not %d" % (chain, got[chain], want.get(chain, 0)))
    end("%d stacks with %d bytes" % (len(want), sum(want.values())))


# ---- perf ----

EVENT = re.compile(r"^ *(\d+) +syscalls:sys_enter_(\w+): ")


def compare_perf(path, text):
    want, nr_frames, frames, events = collections.defaultdict(list), 0, [], []
    for line in open(path):
        event = EVENT.match(line)
        if event:
            frames = []
            events.append((int(event.group(1)), event.group(2), frames))
        elif line.strip():
            frames.append(line.split()[1])
    for tid, name, frames in events:
        chain = chain_of(frames)
        if chain is not None and name != "brk":
            want[tid].append((name, chain))
            nr_frames += chain.count(";") + 1
    got = collections.defaultdict(list)
    for tid, calls in read_lines(text).items():
        got[tid] = [(name, chain) for name, _, _, _, chain in calls if name != "brk"]
    nr = compare_threads(want, got)
    end("%d of %d calls equal those of perf, with %d frames of the program" % (nr, nr, nr_frames))


COMPARES = {"json": compare_json, "lines": compare_lines, "folded": compare_folded,
    "strace": compare_strace,
    "perf": compare_perf}
COMPARES[sys.argv[1]](*sys.argv[2:])
