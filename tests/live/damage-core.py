"""damage-core.py CORE COPY SEED: copy a core file and write over words of its heaps: headers of chunks, links, and the
memory of libc around them, with numbers that are sizes, addresses, or neither."""
import random
import shutil
import struct
import sys

PT_LOAD, PF_W = 1, 2
shutil.copyfile(sys.argv[1], sys.argv[2])
rng = random.Random(int(sys.argv[3]))
written = []  # (offset, bytes, address)


def number():
    _, size, vaddr = rng.choice(written)
    return rng.choice([
        lambda: 0,
        lambda: 1 << rng.randrange(64),
        lambda: rng.getrandbits(64),
        lambda: rng.randrange(1 << 12) * 16 + rng.randrange(8),  # a size with flags
        lambda: vaddr + rng.randrange(size),
        lambda: vaddr + rng.randrange(size) & ~15,
        lambda: 2**64 - rng.randrange(1, 1 << 12),
    ])()


with open(sys.argv[2], "r+b") as core:
    header = core.read(64)
    phoff, = struct.unpack_from("<Q", header, 32)
    phentsize, phnum = struct.unpack_from("<HH", header, 54)
    core.seek(phoff)
    table = core.read(phentsize * phnum)
    for i in range(phnum):
        kind, flags, offset, vaddr, _, size = struct.unpack_from("<IIQQQQ", table, i * phentsize)
        if kind == PT_LOAD and flags & PF_W and size:
            written.append((offset, size, vaddr))
    for _ in range(1 << rng.randrange(12)):
        offset, size, vaddr = rng.choice(written)
        core.seek(offset + (rng.randrange(size) & ~7))
        core.write(struct.pack("<Q", number()))
