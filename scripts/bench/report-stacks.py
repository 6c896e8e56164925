#!/usr/bin/env python3
"""report-stacks.py PROGRAM FILE STACKS ADDRESSES: write a .heap file of so many different stacks, 7 to 36 frames deep,
through so many places in PROGRAM and its libc."""
import random
import subprocess
import sys

program, file, nr_stacks, nr_addresses = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rng = random.Random(1)


def lines_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


libc = next(line.split()[2] for line in lines_of("ldd", program) if "libc.so" in line)
mappings, addresses = [], []
for path, base in ((program, 0x555555554000), (libc, 0x7f0000000000)):
    for line in lines_of("readelf", "-lW", path):
        word = line.split()
        if word and word[0] == "LOAD" and "R E" in line:
            offset, start, size = int(word[1], 16), int(word[2], 16), int(word[4], 16)
            mappings.append((base + start, base + start + (size + 4095 & ~4095), offset, path))
    for line in lines_of("nm", "--defined-only", *(["-D"] if path == libc else []), path):
        word = line.split(None, 2)
        if len(word) == 3 and word[1] in "tTW":
            addresses += [base + int(word[0], 16) + rng.randint(1, 60) for _ in range(8)]
addresses = sorted({a for a in addresses if any(s <= a < e for s, e, _, _ in mappings)})
rng.shuffle(addresses)
addresses = addresses[:nr_addresses]
# As in programs, many stacks have their outer part in common.
outer = [tuple(rng.choice(addresses) for _ in range(rng.randint(5, 24))) for _ in range(300)]
stacks = {}
while len(stacks) < nr_stacks:
    stack = tuple(rng.choice(addresses) for _ in range(rng.randint(2, 12))) + rng.choice(outer)
    count = rng.randint(1, 50)
    stacks[stack] = (count, count * rng.randint(16, 4096))
count, size = (sum(v[i] for v in stacks.values()) for i in (0, 1))
with open(file, "w", encoding="ascii") as f:
    f.write(f"heap profile: {count}: {size} [{count}: {size}] @ heapprofile\n")
    for stack, (n, b) in stacks.items():
        f.write(f"{n:6}: {b:8} [{n:6}: {b:8}] @ {' '.join(map(hex, stack))}\n")
    f.write("\nMAPPED_LIBRARIES:\n")
    for start, end, offset, path in mappings:
        f.write(f"{start:x}-{end:x} r-xp {offset:08x} 00:00 1 {path}\n")
