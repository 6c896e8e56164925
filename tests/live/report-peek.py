#!/usr/bin/env python3
"""report-peek.py peek FOLDED <TEXT             whether a peek in bytes has the callers and callees of folded stacks
report-peek.py speedscope FOLDED FILE TYPE ROWS whether speedscope's FILE has them in its profile of TYPE, and the files and
                                                objects of ROWS, a report in JSON
report-peek.py firefox FOLDED FILE TYPE ROWS    whether the Firefox Profiler's FILE has them in its thread of TYPE"""
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
    """A name as folded stacks write it."""
    return name.replace(";", ":")


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


TEXTS = {"inuse_space": "bytes in use", "inuse_objects": "blocks in use", "alloc_space": "bytes allocated",
         "alloc_objects": "blocks allocated", "peak_space": "bytes at the peak", "peak_objects": "blocks at the peak",
         "temporary_space": "bytes freed soon", "temporary_objects": "blocks freed soon"}


def of_type(profiles, kind):
    return [p for p in profiles if p["name"] == TEXTS.get(kind, kind) or p["name"].startswith(kind + " (")]


def differ(got, stacks):
    got = {k: v for k, v in got.items() if v}
    if got == stacks:
        return False
    print([(k, got.get(k), stacks.get(k)) for k in {**got, **stacks} if got.get(k) != stacks.get(k)][:3])
    return True


def wrong_places(got, rows):
    """GOT is {name: (file, object)}, or {name: file or object}; JSON doubles a backslash."""
    with open(rows) as f:
        for r in json.load(f)["data"]["rows"]:
            name, file, obj = (r[k] and r[k].replace("\\\\", "\\") for k in ("name", "file", "object"))
            if got.get(name) not in ((file, obj), file or obj):
                yield f"{name} is in {got.get(name)}, not {file} and {obj}"


def speedscope(stacks, path, kind, rows):
    with open(path) as f:
        file = json.load(f)
    wrong = list(wrong_places({f["name"]: f.get("file") for f in file["shared"]["frames"]}, rows))
    if wrong:
        print(wrong[:3])
        return True
    names = [fold(f["name"]) for f in file["shared"]["frames"]]
    found = of_type(file["profiles"], kind)
    if len(found) != 1 or "file-format-schema" not in file["$schema"]:
        print(f"{len(found)} profiles of {kind} in {[p['name'] for p in file['profiles']]}")
        return True
    p, got = found[0], collections.Counter()
    if p["type"] != "sampled" or len(p["samples"]) != len(p["weights"]) or p["endValue"] != sum(p["weights"]):
        print("the samples and weights do not fit")
        return True
    for stack, weight in zip(p["samples"], p["weights"]):
        got[tuple(names[i] for i in stack)] += weight
    return differ(got, stacks)


# The columns of version 60, and the table that a column's numbers are places in.
COLUMNS = {
    "stackTable": {"frame": "frameTable", "prefix": "stackTable"},
    "frameTable": {"address": None, "inlineDepth": None, "category": "categories", "subcategory": None, "func": "funcTable",
                   "nativeSymbol": "nativeSymbols", "innerWindowID": None, "line": None, "column": None},
    "funcTable": {"isJS": None, "relevantForJS": None, "name": "stringArray", "resource": "resourceTable",
                  "source": "sources", "lineNumber": None, "columnNumber": None},
    "resourceTable": {"lib": "libs", "name": "stringArray", "host": "stringArray", "type": None},
    "sources": {"uuid": None, "filename": "stringArray"},
    "nativeSymbols": {"libIndex": "libs", "address": None, "name": "stringArray", "functionSize": None},
}


def wrong_tables(file):
    shared = file["shared"]
    lists = {"stringArray": shared["stringArray"], "libs": file["libs"], "categories": file["meta"]["categories"]}
    length = {**{k: shared[k]["length"] for k in COLUMNS}, **{k: len(v) for k, v in lists.items()}}
    for table, columns in COLUMNS.items():
        if set(shared[table]) != {*columns, "length"}:
            yield f"{table} has {list(shared[table])}"
        for column, of in columns.items():
            values = shared[table][column]
            if len(values) != length[table]:
                yield f"{table}.{column} has {len(values)} elements"
            bad = [v for v in values if of and v not in (None, -1) and not 0 <= v < length[of]]
            if bad:
                yield f"{table}.{column} has {bad[:3]}"
    stacks = shared["stackTable"]
    if any(p is not None and p >= i for i, p in enumerate(stacks["prefix"])):
        yield "a caller comes after its callee"
    if len(set(zip(stacks["prefix"], stacks["frame"]))) != stacks["length"]:
        yield "a stack is listed twice"


def places(file):
    shared, func = file["shared"], file["shared"]["funcTable"]
    for name, source, resource in zip(func["name"], func["source"], func["resource"]):
        lib = None if resource == -1 else file["libs"][shared["resourceTable"]["lib"][resource]]["path"]
        yield shared["stringArray"][name], (
            None if source is None else shared["stringArray"][shared["sources"]["filename"][source]], lib)


def firefox(stacks, path, kind, rows):
    with open(path) as f:
        file = json.load(f)
    wrong, found, got = list(wrong_tables(file)), of_type(file["threads"], kind), collections.Counter()
    wrong += wrong_places(dict(places(file)), rows)
    if wrong or len(found) != 1 or file["meta"]["preprocessedProfileVersion"] != 60:
        print(wrong, len(found))
        return True
    shared, samples = file["shared"], found[0]["samples"]
    if {len(samples[k]) for k in ("stack", "weight", "time")} != {samples["length"]} or \
            samples["weightType"] != ("bytes" if kind.endswith("_space") or kind == "space" else "samples"):
        print("the samples do not fit")
        return True
    for at, weight in zip(samples["stack"], samples["weight"]):
        stack = []
        while at is not None:
            func = shared["frameTable"]["func"][shared["stackTable"]["frame"][at]]
            stack.insert(0, fold(shared["stringArray"][shared["funcTable"]["name"][func]]))
            at = shared["stackTable"]["prefix"][at]
        got[tuple(stack)] += weight
    return differ(got, stacks)


sys.exit({"peek": peek, "speedscope": speedscope, "firefox": firefox}[sys.argv[1]](read_folded(sys.argv[2]), *sys.argv[3:]))
