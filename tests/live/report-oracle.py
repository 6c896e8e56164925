#!/usr/bin/env python3
"""Profiles made at random, and what is true of them by sums of our own.

report-oracle.py MEMDIAG DIRECTORY SEED: write a profile in each format that memdiag reads, and compare all that
"memdiag report" finds in them, and in what it makes of them.
"""
import gzip
import json
import math
import random
import re
import subprocess
import sys

memdiag, directory, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = random.Random(seed)
TYPES = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "peak_objects", "peak_space",
         "temporary_objects", "temporary_space"]
failed = 0


def wrong(what, ours, theirs):
    global failed
    failed += 1
    if failed < 20:
        print(f"seed {seed}: {what}: memdiag has {ours!r}, should be {theirs!r}")


# ---- a random program ----

HOSTILE = ["</script><script>alert(1)</script>", "a\"b'c&<d>", "tab\there", "new\nline", "back\\slash\\012",
           "<lambda>::operator()", "naïve::größe", "x" * 3000, "semi;colon", "sp ace", "\x1b[31mred", "percent%s%n"]


def some_name(i):
    return rng.choice(HOSTILE) + str(i) if rng.random() < 0.1 else f"ns{i % 7}::function_{i}"


functions = [(some_name(i), rng.choice(["/src/a.c", "/src/dir/b.cc", ""])) for i in range(rng.randint(3, 60))]
ALLOCATORS = [("malloc", ""), ("operator new", ""), ("je_malloc", "")]
frames = {}  # return address: [(function, line), ...], inside out
for _ in range(rng.randint(2, 150)):
    inlines = 1 if rng.random() < 0.7 else rng.randint(2, 4)
    frames[0x400000 + rng.randrange(1, 0xffff0)] = [(rng.choice(functions), rng.randint(1, 9999)) for _ in range(inlines)]
for allocator in ALLOCATORS:
    frames[0x400000 + rng.randrange(1, 0xffff0)] = [(allocator, 0)]
addresses = sorted(frames)
is_allocator = {a: frames[a][0][0] in ALLOCATORS for a in addresses}
users = [a for a in addresses if not is_allocator[a]]
allocators = [a for a in addresses if is_allocator[a]]


def some_stack():
    stack = [rng.choice(users) for _ in range(rng.randint(1, 30))]
    if rng.random() < 0.5:
        stack = [rng.choice(allocators) for _ in range(rng.randint(1, 3))] + stack
    return tuple(stack)


stacks = list({some_stack() for _ in range(rng.randint(1, 120))})
threads = [(rng.randint(1, 99999), rng.choice(["main", "worker " + str(i), "", "x\ty"])) for i in range(5)]
threads = list(dict.fromkeys(threads))


def some_values():
    n = rng.randint(1, 1000)
    size = rng.randint(1, 1 << rng.randint(1, 20))
    live = rng.randint(0, n)
    peak = rng.randint(live, n)
    temporary = rng.randint(0, n - live)
    return [n, n * size, live, live * size, peak, peak * size, temporary, temporary * size]


# (stack, thread number or 0, size or 0, values)
samples = []
for stack in stacks:
    if rng.random() < 0.4:
        v = some_values()
        samples.append((stack, 0, 0, v[:4] + [0] * 4))
    else:
        keys = {(rng.randint(0, len(threads)), rng.choice([0, 16, 64, 4096])) for _ in range(rng.randint(1, 5))}
        for thread, size in keys:
            samples.append((stack, thread, size, some_values()))


# ---- what is true of them ----

def path(stack, by):
    """The names of a stack, the leaf first, without allocators and what they call."""
    outermost = max([i for i, a in enumerate(stack) if is_allocator[a]], default=-1)
    names = []
    for address in stack[outermost + 1:]:
        for (name, file), line in frames[address]:
            names.append(f"{name} {file.rsplit('/')[-1]}:{line}" if by == "line" and file else name)
    return names


def sums(weighted, by="function", keep=lambda names: True):
    """{name: [flat, cum]} of [(stack, value)], the sum of what is shown, and that of all."""
    rows, shown, total = {}, 0, 0
    for stack, value in weighted:
        names = path(stack, by)
        if not value:
            continue
        total += abs(value)
        if not keep(names):
            continue
        shown += value
        rows.setdefault(names[0], [0, 0])[0] += value
        for name in set(names):
            rows.setdefault(name, [0, 0])[1] += value
    return {n: r for n, r in rows.items() if r != [0, 0]}, shown, total


# ---- what memdiag says ----

def run(*arguments):
    r = subprocess.run([memdiag, "report", *arguments], capture_output=True, check=False)
    if r.returncode:
        wrong("exit status of " + " ".join(arguments), r.returncode, r.stderr)
    return r.stdout


def unescape(text):
    """Names as they are in memory: ui_json_string() escapes them."""
    raw = re.sub(rb"\\(\\|[0-7]{3})", lambda m: b"\\" if m[1] == b"\\" else bytes([int(m[1], 8)]), text.encode())
    return raw.decode(errors="replace")


def report(file, *arguments):
    data = json.loads(run(file, "--json", *arguments))["data"]
    rows = {unescape(r["name"]): [r["flat"], r["cum"]] for r in data["rows"]}
    return rows, data["shown"], data["total"], data


def compare(what, ours, truth, slack=0):
    for name in ours[0].keys() | truth[0].keys():
        a, b = ours[0].get(name, [0, 0]), truth[0].get(name, [0, 0])
        if abs(a[0] - b[0]) > slack or abs(a[1] - b[1]) > slack:
            wrong(f"{what}: {name[:40]!r}", a, b)
    for i, word in ((1, "shown"), (2, "total")):
        if abs(ours[i] - truth[i]) > slack:
            wrong(f"{what}: {word}", ours[i], truth[i])


def escape(name):
    return "".join(c if re.match(r"[A-Za-z0-9_:/.()<>-]", c) else "".join(f"\\{b:03o}" for b in c.encode())
                   for c in name)


MAPPINGS = "MAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 00:00 0                 /nowhere/program\n"


# ---- our own file, with all types ----

def line(stack, v):
    return f"{v[2]:6}: {v[3]:8} [{v[0]:6}: {v[1]:8}] @ " + " ".join(hex(a) for a in stack) + "\n"


def column(i, some=None):
    return [(s, v[i]) for s, _, _, v in (some or samples)]


own = f"{directory}/own.heap"
with open(own, "w", encoding="utf-8") as f:
    totals = [sum(v[i] for _, _, _, v in samples) for i in range(8)]
    f.write(f"heap profile: {totals[2]:6}: {totals[3]:8} [{totals[0]:6}: {totals[1]:8}] @ heapprofile\n")
    f.write("# memdiag heap 1\n# values " + " ".join(
        t + ("/count" if t.endswith("objects") else "/bytes") for t in TYPES) + "\n")
    for tid, name in threads:
        f.write(f"# thread {tid} {escape(name)}\n")
    for stack in stacks:
        mine = [s for s in samples if s[0] == stack]
        f.write(line(stack, [sum(s[3][i] for s in mine) for i in range(8)]))
        if len(mine) > 1 or mine[0][1] or mine[0][2] or any(mine[0][3][4:]):
            for _, thread, size, v in mine:
                f.write(f"#+ {thread} {size} " + " ".join(map(str, v)) + "\n")
    f.write("\n" + MAPPINGS)
    for address, lines in frames.items():
        for (name, file), number in lines:
            f.write(f"# name {hex(address)} {number}\t{escape(file)}\t{escape(name)}\n")
    f.write("# end\n")

WORDS = {"alloc": "allocated", "inuse": "in-use", "peak": "peak", "temporary": "temporary"}
for i, kind in enumerate(TYPES):
    prefix, unit = kind.split("_")
    options = ["--value", WORDS[prefix]] + (["--objects"] if unit == "objects" else [])
    compare(f"own {kind}", report(own, *options), sums(column(i)))
compare("by line", report(own, "--by=line"), sums(column(3), "line"))
compare("by object", report(own, "--by=object"), ({"program": [sum(v for _, v in column(3))] * 2} if any(
    v for _, v in column(3)) else {}, *sums(column(3))[1:]))
pattern = "function_1"
compare("focus", report(own, "--focus", pattern, "--value=allocated"),
        sums(column(1), keep=lambda names: any(pattern in n for n in names)))
compare("ignore", report(own, "--ignore", pattern, "--value=allocated"),
        sums(column(1), keep=lambda names: not any(pattern in n for n in names)))

_, _, _, data = report(own, "--value=allocated")
by_thread = {}
by_size = {}
for _, thread, size, v in samples:
    if thread and v[1]:
        by_thread[threads[thread - 1]] = by_thread.get(threads[thread - 1], 0) + v[1]
    if size and v[1]:
        by_size[size] = by_size.get(size, 0) + v[1]
ours = {(t["tid"], unescape(t["name"] or "")): t["value"] for t in data["threads"]}
if ours != by_thread:
    wrong("threads", ours, by_thread)
ours = {s["size_bytes"]: s["value"] for s in data["sizes"]}
if ours != by_size:
    wrong("sizes", ours, by_size)

# ---- what memdiag makes of it says the same ----

for form, name in (("heap", "again.heap"), ("pprof", "again.pb.gz")):
    again = f"{directory}/{name}"
    run(own, f"--format={form}", "-o", again, "--force", *(["--symbols-inside"] if form == "heap" else []))
    for i in (1, 3, 5, 7):
        if form == "heap":
            compare(f"{form} {TYPES[i]}", report(again, "--value", TYPES[i]), sums(column(i)))
            continue
        # Strings are printable there.
        a, b = report(again, "--value", TYPES[i]), sums(column(i))
        if a[1:3] != b[1:] or sorted(a[0].values()) != sorted(b[0].values()):
            wrong(f"{form} {TYPES[i]}", a[1:3], b[1:])
folded = {}
for text in run(own, "--format=folded", "--value=allocated").decode().splitlines():
    stack, _, value = text.rpartition(" ")
    folded[stack] = int(value)
whole = {}
for stack, value in column(1):
    if value:
        key = tuple(path(stack, "function"))
        whole[key] = whole.get(key, 0) + value
if sorted(folded.values()) != sorted(whole.values()):
    wrong("folded", sum(folded.values()), sum(whole.values()))

# ---- less an older one ----

older = [s for s in samples if rng.random() < 0.5]
if older:
    old = f"{directory}/old.heap"
    with open(own, encoding="utf-8") as f, open(old, "w", encoding="utf-8") as g:
        text = f.read()
        head, rest = text.split("\nMAPPED_LIBRARIES:", 1)
        g.write("\n".join(head.split("\n")[:3 + len(threads)]) + "\n")
        for stack in stacks:
            mine = [s for s in older if s[0] == stack]
            if mine:
                g.write(line(stack, [sum(s[3][i] for s in mine) for i in range(8)]))
                for _, thread, size, v in mine:
                    g.write(f"#+ {thread} {size} " + " ".join(map(str, v)) + "\n")
        g.write("\nMAPPED_LIBRARIES:" + rest)
    both = [(s, v) for s, v in column(3)] + [(s, -v) for s, v in column(3, older)]
    compare("base", report(own, "--base", old), sums(both))

# ---- files of others, which are scaled ----


def scaled(v, rate):
    result = []
    for n, b in ((v[0], v[1]), (v[2], v[3])):
        by = 1 / -math.expm1(-(b / n) / rate) if n and b and rate > 1 else 1
        result += [math.floor(n * by + 0.5), math.floor(b * by + 0.5)]
    return result


rate = rng.choice([1, 1024, 524288])
symbols = "--- symbol\nbinary=/nowhere/program\n" + "".join(
    f"{address - 1:#018x} " + "--".join(f"f{functions.index(fn)}" if fn in functions else fn[0] for fn, _ in lines) + "\n"
    for address, lines in frames.items()) + "---\n--- heap\n"
NAMES = {f"f{i}": name for i, (name, _) in enumerate(functions)}
plain = [(stack, 0, 0, some_values()[:4]) for stack in stacks]
weighted = [(s, scaled(v, rate)) for s, _, _, v in plain]
totals = [sum(v[i] for _, _, _, v in plain) for i in range(4)]
sampled = f"{directory}/sampled.heap"
with open(sampled, "w", encoding="utf-8") as f:
    f.write(symbols + f"heap profile: {totals[2]}: {totals[3]} [{totals[0]}: {totals[1]}] @ heap_v2/{rate}\n")
    f.writelines(line(s, v) for s, _, _, v in plain)
    f.write("\n" + MAPPINGS)
per_thread = f"{directory}/threads.heap"
with open(per_thread, "w", encoding="utf-8") as f:
    f.write(symbols + f"heap_v2/{rate}\n  t*: {totals[2]}: {totals[3]} [{totals[0]}: {totals[1]}]\n")
    for s, _, _, v in plain:
        f.write("@ " + " ".join(hex(a) for a in s) + f"\n  t*: {v[2]}: {v[3]} [{v[0]}: {v[1]}]\n")
        half = [x // 2 for x in v]
        for number, part in ((3, half), (12, [x - y for x, y in zip(v, half)])):
            f.write(f"  t{number}: {part[2]}: {part[3]} [{part[0]}: {part[1]}]\n")
    f.write("\n" + MAPPINGS)
for file in (sampled, per_thread):
    for i, word in ((1, "allocated"), (3, "in-use")):
        ours = report(file, "--value", word)
        named = {}
        for name, row in ours[0].items():
            full = NAMES.get(name, name)
            was = named.setdefault(full, [0, 0])
            was[0] += row[0]
            was[1] += row[1]
        truth = sums([(s, v[i]) for s, v in weighted])
        if len({n for n, _ in functions}) == len(functions):
            compare(f"{file.rsplit('/')[-1]} {word}", (named, *ours[1:]), truth)

with gzip.open(f"{directory}/again.pb.gz") as f:
    if len(f.read()) < 10:
        wrong("pprof", "empty", "a profile")
sys.exit(failed > 0)
