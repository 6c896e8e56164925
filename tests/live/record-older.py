"""Recordings of heaptrack at random, and which of their blocks memdiag record report chooses by age and size.

record-older.py MEMDIAG FILE FIRST LAST

For each seed from FIRST to LAST a recording is written to FILE, in which each block is known, and reported with some ages
and sizes.  For each place and size the oracle follows all numbers of old blocks that there can be, whichever of the blocks
was freed each time; what memdiag calls certain is the least of them, and what it calls possible the most.  The blocks that
are really old are between them.  Prints what differs, and exits with 1 if something does.
"""
import collections
import json
import random
import subprocess
import sys

NR_SITES = 6
failures = []


def fail(words):
    failures.append(words)
    if len(failures) <= 6:
        print(words)


class Recording:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.events = []  # (ms, "+" or "-", site, size, block)
        self.live = []  # (site, size, block)
        self.ms = 0
        self.sizes = self.random.sample([1, 16, 24, 100, 1000, 4096, 70000, 1 << 20], self.random.randint(1, 5))
        # Of some sites blocks are freed in the order they were made in, of others the last one first, or any, or none.
        self.habits = [self.random.choice(["fifo", "lifo", "any", "leak", "any"]) for _ in range(NR_SITES)]
        for _ in range(self.random.choice([0, 3, 50, 1500])):
            self.step()

    def step(self):
        if self.random.random() < 0.1:
            self.ms += self.random.choice([1, 1, 7, 1000])
        site = self.random.randrange(NR_SITES)
        mine = [block for block in self.live if block[0] == site]
        habit = self.habits[site]
        if mine and habit != "leak" and self.random.random() < 0.5:
            block = mine[0] if habit == "fifo" else mine[-1] if habit == "lifo" else self.random.choice(mine)
            self.live.remove(block)
            self.events.append((self.ms, "-") + block)
        else:
            block = (site, self.random.choice(self.sizes), len(self.events))
            self.live.append(block)
            self.events.append((self.ms, "+") + block)

    def write(self, path):
        with open(path, "w") as f:
            f.write("v 10500 3\nX test\nI 1000 1000\n")
            names = ["site_%d" % i for i in range(NR_SITES)] + ["prog", "main.c"]
            for name in names:
                f.write("s %x %s\n" % (len(name), name))
            for i in range(NR_SITES):
                # address, module, function, file, line
                f.write("i %x %x %x %x %x\n" % (0x1000 + i, NR_SITES + 1, i + 1, NR_SITES + 2, i + 1))
                f.write("t %x 0\n" % (i + 1))
            kinds, ms = {}, 0
            for time, sign, site, size, _ in self.events:
                if (site, size) not in kinds:
                    kinds[site, size] = len(kinds)
                    f.write("a %x %x\n" % (size, site + 1))
                if time != ms:
                    f.write("c %x\n" % time)
                    ms = time
                f.write("%s %x\n" % (sign, kinds[site, size]))

    def expected(self, older_ms, least, most):
        """Certain and possible blocks and bytes of each site, and those that are really old."""
        end = self.events[-1][0] if self.events else 0
        cut = None if older_ms is None else end - older_ms
        groups, truth = collections.defaultdict(list), collections.Counter()
        for event in self.events:
            groups[event[2], event[3]].append(event)
        for site, size, block in self.live:
            made = self.events[block][0]
            if least <= size <= most and (cut is None or made <= cut):
                truth[site] += 1
        certain, possible = collections.Counter(), collections.Counter()
        for (site, size), events in groups.items():
            if not least <= size <= most:
                continue
            total, olds = 0, {0}
            for time, sign, *_ in events:
                is_old = cut is None or time <= cut
                if sign == "+":
                    total += 1
                    if is_old:
                        olds = {n + 1 for n in olds}
                    continue
                olds = {n - 1 for n in olds if n > 0} | {n for n in olds if total - n > 0}
                total -= 1
            for sums, n in ((certain, min(olds)), (possible, max(olds))):
                sums[site, "blocks"] += n
                sums[site, "bytes"] += n * size
        for site in range(NR_SITES):
            if not certain[site, "blocks"] <= truth[site] <= possible[site, "blocks"]:
                fail("the oracle is wrong: site %d" % site)
        return certain, possible


def report(memdiag, path, words):
    out = subprocess.run([memdiag, "record", "report", path, "--json", "--by=function", "--lines=0", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if out.returncode != 0:
        fail("%s: exit status %d: %s" % (words, out.returncode, out.stderr.decode()))
        return None
    return json.loads(out.stdout)["data"]


def compare(memdiag, path, recording, older_ms, least, most, what):
    words = []
    if older_ms is not None:
        words.append("--older=%dms" % older_ms)
    if least > 1 or not words:
        words.append("--min-size=%d" % least)
    if most < 1 << 40:
        words.append("--max-size=%d" % most)
    certain, possible = recording.expected(older_ms, least, most)
    for value, sums, name in (("in-use", certain, "certain"), ("possible", possible, "possible")):
        data = report(memdiag, path, words + ["--value=" + value])
        if data is None:
            return
        got = collections.Counter()
        for row in data["rows"]:
            site = int(row["name"].split("_")[1])
            got[site, "bytes"], got[site, "blocks"] = row["flat"], row["blocks"]
        for key in set(got) | set(sums):
            if got[key] != sums[key]:
                fail("%s %s: %s of site_%d: %d, not %d" % (what, words, value, key[0], got[key], sums[key]))
        for unit in ("blocks", "bytes"):
            total = sum(n for (_, u), n in sums.items() if u == unit)
            if data["choice"][name][unit] != total:
                fail("%s %s: %s %s in all: %d, not %d" % (what, words, name, unit, data["choice"][name][unit], total))
    global nr_certain, nr_between
    nr_certain += sum(n for (_, u), n in certain.items() if u == "blocks")
    nr_between += sum(n for (_, u), n in (possible - certain).items() if u == "blocks")


nr_certain = nr_between = 0
program, file, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
for seed in range(first, last + 1):
    made = Recording(seed)
    made.write(file)
    end = made.events[-1][0] if made.events else 0
    chance = random.Random(seed + 1000000)
    for older in (1, chance.randint(1, end + 1), end + 10, None):
        low = chance.choice([1, 1, chance.randint(1, 5000)])
        high = chance.choice([1 << 50, 1 << 50, low + chance.randint(0, 100000)])
        compare(program, file, made, older, low, high, "seed %d" % seed)
if failures:
    print("%d differences" % len(failures))
    sys.exit(1)
if first != last and not (nr_certain and nr_between):
    print("nothing to compare")
    sys.exit(1)
print("%d blocks for certain, %d more may be" % (nr_certain, nr_between))
