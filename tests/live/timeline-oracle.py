#!/usr/bin/env python3
"""The history of a recording of heaptrack, added up by itself and compared with memdiag timeline.

timeline-oracle.py MEMDIAG FILE INTERVAL_MS

Every interval of --format=csv is compared, and what was live by stack at the local maxima of some intervals (--at), at
the peak, and what grew between two of them (--from, --to).
"""

import collections
import csv
import io
import random
import re
import subprocess
import sys


def text_of(file):
    tool = {"zst": ["zstd", "-dcq"], "gz": ["gzip", "-dc"]}.get(file.rsplit(".", 1)[-1], ["cat"])
    return subprocess.run(tool + [file], stdout=subprocess.PIPE, check=True).stdout.decode("utf-8", "replace")


def plain(name):
    """Without arguments, and without the result of a template."""
    name = re.sub(r" const$", "", name)
    if name.endswith(")") and not name.endswith("operator()"):
        depth = 0
        for at in range(len(name) - 1, -1, -1):
            depth += (name[at] == ")") - (name[at] == "(")
            if not depth:
                if at and not name[:at].endswith("operator"):
                    name = name[:at]
                break
        if name.endswith(">") and "operator" not in name:
            depth = start = 0
            for at, c in enumerate(name):
                depth += (c in "<(") - (c in ">)")
                if c == " " and not depth:
                    start = at + 1
            name = name[start:]
    return name.replace(";", ":")


class Recording:
    """The tables and the events of an interpreted file of version 3."""

    def __init__(self, text):
        self.strings, self.places, self.nodes, self.kinds, self.events = [""], [None], [None], [], []
        self.page = ms = 0
        for line in text.split("\n"):
            letter, rest = line[:1], line[2:]
            if letter == "s":
                self.strings.append(rest.split(" ", 1)[1])
                continue
            if letter not in list("itacR+-I"):
                continue
            numbers = [int(word, 16) for word in rest.split()]
            if letter == "i":
                self.places.append(numbers)
            elif letter == "t":
                self.nodes.append(numbers)
            elif letter == "a":
                self.kinds.append(numbers)
            elif letter == "I":
                self.page = numbers[0]
            elif letter == "c":
                ms = numbers[0]
                self.events.append((ms, "c", 0))
            else:
                self.events.append((ms, letter, numbers[0]))

    def names(self, place):
        address, module, *functions = self.places[place]
        where = f"0x{address:x}" + (" in " + self.strings[module].rsplit("/", 1)[-1] if module else "")
        return [plain(self.strings[functions[i]]) or where for i in range(0, len(functions), 3)] or [where]

    def stack(self, node):
        """As memdiag writes it: the root first."""
        names = []
        while node:
            place, node = self.nodes[node]
            if place:
                names += self.names(place)
        return ";".join(reversed(names))


class History:
    def __init__(self, recording, step):
        self.rows, self.moments = [], []
        self.live, self.blocks = collections.Counter(), 0
        self.bytes = self.allocated = self.allocated_bytes = self.freed = self.freed_bytes = self.rss = 0
        self.begin(0)
        for ms, letter, number in recording.events:
            while ms >= (len(self.rows) + 1) * step:
                self.end()
                self.begin(len(self.rows) * step)
            if letter == "R":
                self.rss = max(self.rss, number * recording.page)
            elif letter in "+-":
                self.take(ms, letter == "+", *recording.kinds[number])
        self.end()

    def begin(self, ms):
        self.best = (self.bytes, self.blocks, ms)
        self.changed = collections.Counter()
        self.rss = self.allocated = self.allocated_bytes = self.freed = self.freed_bytes = 0

    def take(self, ms, is_allocated, size, node):
        sign = 1 if is_allocated else -1
        self.live[node] += sign * size
        self.changed[node] += sign * size
        self.bytes += sign * size
        self.blocks += sign
        if is_allocated:
            self.allocated += 1
            self.allocated_bytes += size
            if self.bytes > self.best[0]:
                self.best = (self.bytes, self.blocks, ms)
                self.changed.clear()
        else:
            self.freed += 1
            self.freed_bytes += size

    def end(self):
        self.rows.append([*self.best, self.allocated_bytes, self.allocated, self.freed_bytes, self.freed, self.rss])
        # Changes since the maximum are taken back.
        self.moments.append({node: size - self.changed[node] for node, size in self.live.items()
            if size - self.changed[node]})


def run(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode("utf-8", "replace")


def folded(text):
    sums = collections.Counter()
    for line in text.split("\n"):
        stack, _, value = line.rpartition(" ")
        if value:
            sums[stack] += int(value)
    return {stack: value for stack, value in sums.items() if value}


def main():
    memdiag, file, step = sys.argv[1], sys.argv[2], int(sys.argv[3])
    recording = Recording(text_of(file))
    history = History(recording, step)
    failed = False
    names = {}

    def check(ours, theirs, words):
        nonlocal failed
        if ours != theirs:
            failed = True
            print("wrong", words, "memdiag", str(ours)[:300], "here", str(theirs)[:300])

    def by_name(sites):
        sums = collections.Counter()
        for node, size in sites.items():
            if node not in names:
                names[node] = recording.stack(node)
            sums[names[node]] += size
        return {stack: value for stack, value in sums.items() if value}

    def report(*arguments):
        return folded(run(memdiag, "timeline", file, f"--interval={step}ms", "--format=folded", "--allocators", *arguments))

    rows = list(csv.reader(io.StringIO(run(memdiag, "timeline", file, f"--interval={step}ms", "--format=csv"))))[1:]
    check(len(rows), len(history.rows), "number of intervals")
    for i, (row, here) in enumerate(zip(rows, history.rows)):
        ours = [int(row[1]), int(row[2]), round(float(row[3]) * 1000), *map(int, row[4:8]), int(row[8] or 0)]
        check([round(float(row[0]) * 1000), *ours], [i * step, *here], f"interval {i}")
    greatest = max(row[0] for row in history.rows)
    peak = next(i for i, row in enumerate(history.rows) if row[0] == greatest)
    check(report("--peak"), by_name(history.moments[peak]), "the peak")
    check(report("--at", f"{peak * step}ms"), by_name(history.moments[peak]), "the interval of the peak")
    random.seed(len(rows))
    chosen = sorted(random.sample(range(len(rows)), min(6, len(rows))))
    for i in chosen:
        at = i * step + random.randrange(step)
        check(report("--at", f"{at}ms"), by_name(history.moments[i]), f"at {at} ms")
    for first, last in zip(chosen, chosen[1:]):
        growth = collections.Counter(history.moments[last])
        growth.subtract(history.moments[first])
        check(report("--from", f"{first * step}ms", "--to", f"{last * step}ms"),
            by_name(growth), f"from {first * step} to {last * step} ms")
    check(report("--at=end"), by_name({node: size for node, size in history.live.items() if size}), "the end")
    print(f"{len(rows)} intervals, the peak of {greatest} bytes in {peak}, {len(names)} stacks")
    sys.exit(failed)


main()
