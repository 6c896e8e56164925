#!/usr/bin/env python3
"""Compare what memdiag and heaptrack_print say of a recording of heaptrack: report-heaptrack.py MEMDIAG FILE

Totals are compared as heaptrack_print shows them, and each stack's values to the byte, by its flame graphs.  The number
of temporary blocks is counted here as well: heaptrack_print takes each free of the first kind of allocation that
follows another free for one (accumulatedtracedata.cpp: after a free it remembers 0, which is that kind).
"""

import collections
import json
import re
import subprocess
import sys
import tempfile

# Frames above main, which heaptrack_print does not show, and those that it leaves out at the other end.
DROPPED = {
    "main", "_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_call_main",
    "__static_initialization_and_destruction_0", "call_init", "_dl_init", "__libc_csu_init",
    "operator new", "operator new[]",
}
PLAIN = ["--disable-builtin-suppressions", "--disable-embedded-suppressions"]
TYPES = {"allocations": "alloc_objects", "temporary": "temporary_objects", "leaked": "inuse_space", "peak": "peak_space"}


def lines_of(file):
    tool = {"zst": ["zstd", "-dcq"], "gz": ["gzip", "-dc"]}.get(file.rsplit(".", 1)[-1], ["cat"])
    text = subprocess.run(tool + [file], stdout=subprocess.PIPE, check=True).stdout
    return text.decode("utf-8", "surrogateescape").split("\n")


def temporary_of(file):
    """The right number, and that of heaptrack_print."""
    right = theirs = 0
    last = None
    for line in lines_of(file):
        if line.startswith("+ "):
            last = int(line[2:], 16)
        elif line.startswith("- "):
            kind = int(line[2:], 16)
            right += last == kind
            theirs += (last or 0) == kind
            last = None
    return right, theirs


def show(value):
    """As heaptrack_print shows bytes."""
    for unit in "BKMGT":
        if abs(value) <= 1000 or unit == "T":
            return f"{value}B" if unit == "B" else f"{value:.2f}{unit}"
        value /= 1000
    return None


def plain(name):
    """A function without file, module, arguments, result and characters that are different in folded stacks."""
    name = re.sub(r" \([^()]*\)$", "", name) if name.endswith(")") else name
    name = re.sub(r"^(0x[0-9a-f]+) in .*", r"\1", name)
    name = re.sub(r" const$", "", name)
    if name.endswith(")") and not name.endswith("operator()"):
        depth = 0
        for at in range(len(name) - 1, -1, -1):
            depth += (name[at] == ")") - (name[at] == "(")
            if not depth:
                if at and not name[:at].endswith("operator"):
                    name = name[:at]
                break
    return name.replace(";", ":").strip()


def stacks_of(text, named):
    sums = collections.Counter()
    for line in text.split("\n"):
        frames, _, value = line.rpartition(" ")
        if not value.lstrip("-").isdigit():
            continue
        names = (named(name) for name in frames.split(";") if name)
        # A function that was inlined is on the other side of its caller there.
        key = tuple(sorted(name for name in names if name not in DROPPED and name != "??"))
        sums[key] += int(value)
    return {key: value for key, value in sums.items() if value}


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode(
        "utf-8", "replace")


def result_dropped(name):
    """The result of a template: heaptrack shows it, memdiag does not."""
    if name.endswith(">") and "operator" not in name:
        depth = start = 0
        for at, c in enumerate(name):
            depth += (c in "<(") - (c in ">)")
            if c == " " and not depth:
                start = at + 1
        name = name[start:]
    return name


def compare_stacks(memdiag, file, cost, value):
    with tempfile.NamedTemporaryFile("r", errors="replace") as folded:
        run("heaptrack_print", *PLAIN, "-t", "0", "--flamegraph-cost-type", cost, "-F", folded.name, file)
        theirs = folded.read()
    theirs = stacks_of(theirs, lambda name: result_dropped(plain(name)))
    ours = run(memdiag, "report", file, "--value", value, "--format=folded", "--allocators", "-q")
    ours = stacks_of(ours, plain)
    different = [key for key in set(ours) | set(theirs) if ours.get(key) != theirs.get(key)]
    for key in different[:3]:
        print("#", cost, "ours", ours.get(key), "theirs", theirs.get(key), key)
    return not different, len(theirs)


def main():
    memdiag, file = sys.argv[1:]
    failed = False

    def check(holds, words):
        nonlocal failed
        failed |= not holds
        print("right" if holds else "wrong", words)

    printed = run("heaptrack_print", *PLAIN, "-p", "0", "-a", "0", "-T", "0", file)
    total = {t["name"]: t["total"] for t in json.loads(run(memdiag, "report", file, "--json", "-q"))["data"]["types"]}
    right, theirs = temporary_of(file)
    for words, pattern, ours in [
        ("allocations", r"calls to allocation functions: (\d+)", str(total["alloc_objects"])),
        ("peak", r"peak heap memory consumption: (\S+)", show(total["peak_space"])),
        ("leaked", r"total memory leaked: (\S+)", show(total["inuse_space"])),
        ("temporary", r"temporary memory allocations: (\d+)", str(total["temporary_objects"] + theirs - right)),
    ]:
        printed_value = re.search(pattern, printed).group(1)
        check(printed_value == ours, f"{words}: heaptrack_print {printed_value}, memdiag {ours}")
    check(total["temporary_objects"] == right, f"temporary: counted {right}, memdiag {total['temporary_objects']}")
    for cost in ["allocations", "leaked", "peak"]:
        same, nr = compare_stacks(memdiag, file, cost, TYPES[cost])
        check(same and nr, f"{cost} of each of {nr} stacks")
    sys.exit(failed)


main()
