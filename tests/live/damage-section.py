"""Overwrite bytes of a section of an ELF file: damage-section.py FROM TO SECTION SEED SHARE."""

import random
import struct
import sys


def sections(elf):
    """Yield name, offset and size of each section of a 64-bit little-endian file."""
    start, = struct.unpack_from('<Q', elf, 0x28)
    size, number, names = struct.unpack_from('<HHH', elf, 0x3a)
    headers = [struct.unpack_from('<IIQQQQ', elf, start + i * size) for i in range(number)]
    for name, _, _, _, offset, length in headers:
        at = headers[names][4] + name
        yield elf[at:elf.index(b'\0', at)].decode(), offset, length


def main():
    source, target, section, seed, share = sys.argv[1:]
    with open(source, 'rb') as file:
        elf = bytearray(file.read())
    chance = random.Random(int(seed))
    offset, size = next((o, s) for name, o, s in sections(bytes(elf)) if name == section)
    for _ in range(max(1, int(size * float(share)))):
        # Small numbers are instructions, the others lengths and operands.
        elf[offset + chance.randrange(size)] = chance.choice(
            [0, 0x7f, 0x80, 0xff, chance.randrange(0x40), chance.randrange(0x100)])
    with open(target, 'wb') as file:
        file.write(elf)


main()
