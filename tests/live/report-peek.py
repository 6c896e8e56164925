#!/usr/bin/env python3
"""report-peek.py peek FOLDED <TEXT             whether a peek in bytes has the callers and callees of folded stacks
report-peek.py speedscope FOLDED FILE TYPE      whether speedscope's FILE has them in its profile of TYPE"""
import collections
import json
import re
import sys


def read_folded(path):
    stacks = collections.Counter()
    with open(path) as f:
        for line in f:
            stack, value = line.rstrip("\n").rsplit(" ", 1)
            stacks[() if stack == "[hidden]" else tuple(stack.split(";"))] += int(value)
    return {k: v for k, v in stacks.items() if v}


def fold(name):
    """As folded stacks write it; other formats double a backslash."""
    return name.replace("\\\\", "\\").replace(";", ":")


def number(text):
    return int(re.sub(r"[+,]| B$", "", text))


def peek(stacks):
    want = {}
    for f in {f for s in stacks for f in s}:
        callers, callees = collections.Counter(), collections.Counter()
        flat = sum(v for s, v in stacks.items() if s and s[-1] == f)
        cum = sum(v for s, v in stacks.items() if f in s)
        for s, v in stacks.items():
            for a, b in set(zip(("[root]",) + s, s)):
                callers[a] += v if b == f else 0
                callees[b] += v if a == f else 0
        if flat or cum:
            want[f] = (flat, cum, {k: v for k, v in callers.items() if v}, {k: v for k, v in callees.items() if v})
    got, before, now = {}, {}, None
    for line in sys.stdin.read().splitlines()[1:]:
        if not line.strip():
            before, now = {}, None
            continue
        call = re.match(r"\s*([-+]?\d+)(?: B)?\s+[-\d.]+%\s+\| (.*)$", line)
        if call and now is None:
            before[call[2].replace(";", ":")] = number(call[1])
        elif call:
            got[now][3][call[2].replace(";", ":")] = number(call[1])
        else:
            own = re.match(r"\s*([-+]?\d+)(?: B)?\s+[-\d.]+%\s+([-+]?\d+)(?: B)?\s+[-\d.]+%\s+(.*)$", line)
            now = own[3].replace(";", ":")
            got[now] = (number(own[1]), number(own[2]), before, {})
    bad = [f"{f}: {got.get(f)}, not {want.get(f)}" for f in {**want, **got} if got.get(f) != want.get(f)]
    print("\n".join(bad[:5]))
    return bool(bad) or not want


def speedscope(stacks, path, kind):
    with open(path) as f:
        file = json.load(f)
    names = [fold(f["name"]) for f in file["shared"]["frames"]]
    texts = {"inuse_space": "bytes in use", "inuse_objects": "blocks in use", "alloc_space": "bytes allocated",
             "alloc_objects": "blocks allocated", "peak_space": "bytes at the peak", "peak_objects": "blocks at the peak",
             "temporary_space": "bytes freed soon", "temporary_objects": "blocks freed soon"}
    found = [p for p in file["profiles"] if p["name"] == texts.get(kind, kind) or p["name"].startswith(kind + " (")]
    if len(found) != 1 or "file-format-schema" not in file["$schema"]:
        print(f"{len(found)} profiles of {kind} in {[p['name'] for p in file['profiles']]}")
        return True
    p, got = found[0], collections.Counter()
    if p["type"] != "sampled" or len(p["samples"]) != len(p["weights"]) or p["endValue"] != sum(p["weights"]):
        print("the samples and weights do not fit")
        return True
    for stack, weight in zip(p["samples"], p["weights"]):
        got[tuple(names[i] for i in stack)] += weight
    if dict(got) != stacks:
        print([(k, got.get(k), stacks.get(k)) for k in {**got, **stacks} if got.get(k) != stacks.get(k)][:3])
        return True
    return False


if sys.argv[1] == "peek":
    sys.exit(peek(read_folded(sys.argv[2])))
sys.exit(speedscope(read_folded(sys.argv[2]), *sys.argv[3:]))
