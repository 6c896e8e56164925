#!/usr/bin/env python3
"""The memory map of a process as a profile, read without memdiag.

maps-format.py decode FILE		print a file of pprof as JSON: its types, comments, and samples with their stacks
maps-format.py compare PID FILE [ARENA...]	compare FILE with smaps and pagemap of PID, which stands still; ARENA is
					the address of a struct malloc_state of x86-64, that of arena 0 first
"""
import gzip
import json
import re
import struct
import sys

PAGE = 4096


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Each field of a message: its number, and a number or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            assert key & 7 == 2, key
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def numbers(value):
    if isinstance(value, int):
        return [value]
    at, found = 0, []
    while at < len(value):
        number, at = varint(value, at)
        found.append(number)
    return found


def decode(name):
    message = list(fields(gzip.open(name).read()))
    strings = [value.decode() for key, value in message if key == 6]
    functions, locations, samples = {}, {}, []
    for key, value in message:
        if key == 5:
            function = dict(fields(value))
            functions[function[1]] = strings[function[2]]
    for key, value in message:
        if key == 4:
            location = list(fields(value))
            lines = [dict(fields(line)) for number, line in location if number == 4]
            locations[dict(location)[1]] = [functions[line[1]] for line in lines]
    for key, value in message:
        if key == 2:
            ids = [n for number, part in fields(value) if number == 1 for n in numbers(part)]
            values = [n for number, part in fields(value) if number == 2 for n in numbers(part)]
            labels = [dict(fields(part)) for number, part in fields(value) if number == 3]
            samples.append({"stack": [name for i in reversed(ids) for name in locations[i]], "values": values,
                            "labels": {strings[of[1]]: strings[of[2]] if of.get(2) else of.get(3) for of in labels}})
    types = [dict(fields(value)) for key, value in message if key == 1]
    return {"types": [[strings[of[1]], strings[of[2]]] for of in types],
            "default": [strings[value] for key, value in message if key == 14],
            "comments": [strings[n] for key, value in message if key == 13 for n in numbers(value)],
            "samples": samples, "totals": [sum(of["values"][i] for of in samples) for i in range(len(types))]}


class Process:
    def __init__(self, pid):
        self.pid, self.mappings = pid, []
        for line in open(f"/proc/{pid}/smaps", errors="surrogateescape"):
            head = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+) *(.*)", line)
            if head:
                self.mappings.append({"start": int(head[1], 16), "end": int(head[2], 16), "prot": head[3], "path": head[5]})
            else:
                key, value = line.split(":", 1)
                if value.strip().endswith("kB"):
                    self.mappings[-1][key] = int(value.split()[0]) * 1024

    def sum(self, is_wanted, key="Rss"):
        return sum(of[key] for of in self.mappings if is_wanted(of))

    def word(self, at):
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(at)
            return struct.unpack("<Q", memory.read(8))[0]

    def resident(self, start, end):
        with open(f"/proc/{self.pid}/pagemap", "rb") as pagemap:
            pagemap.seek(start // PAGE * 8)
            pages = pagemap.read((end - start) // PAGE * 8)
        return sum(PAGE for (word,) in struct.iter_unpack("<Q", pages) if word >> 63)

    def top(self, arena):
        """Bytes of the whole pages of the top of ARENA that are in memory (struct malloc_state, since 2.27)."""
        top = self.word(arena + 96)
        end = top + (self.word(top + 8) & ~7)
        return self.resident(-(-top // PAGE) * PAGE, end)


def compare(pid, name, arenas):
    p, profile, failed = Process(pid), decode(name), 0

    def frames(*part):
        """Resident bytes of stacks that begin with the root and PART."""
        return sum(of["values"][0] for of in profile["samples"] if of["stack"][1:len(part) + 1] == list(part))

    def same(what, got, want):
        nonlocal failed
        if got != want:
            print(f"{what}: {got} in the profile, {want} of the process")
            failed += 1

    def every(_):
        return True

    same("RSS", profile["totals"][0], sum(p.sum(every, key) for key in ("Rss", "Shared_Hugetlb", "Private_Hugetlb")))
    same("swap", profile["totals"][1], p.sum(every, "Swap"))
    for of in profile["samples"]:
        for frame in of["stack"]:
            if not re.fullmatch(r"\[[^()<>\x00-\x1f\x7f]*\]", frame) or len(of["stack"]) > 4:
                same("a frame", frame, "a name in brackets")
    same("the main stack", frames("[stack]", "[main stack]") + frames("[stack]", "[unused stack]", "[main thread]"),
         p.sum(lambda of: of["path"] == "[stack]"))
    for path in {of["path"] for of in p.mappings if re.search(r"\.so(\.|$)", of["path"])}:
        base = "[" + path.rsplit("/", 1)[1] + "]"
        same(f"text of {path}", frames("[so]", base, "[text]"),
             p.sum(lambda of, path=path: of["path"] == path and of["prot"][2] == "x"))
    tops = 0
    for i, arena in enumerate(arenas):
        frame = f"[arena {i}]" if i else "[main arena]"
        same(f"the top of arena {i}", frames("[glibc heap]", frame, "[free: top]"), p.top(arena))
        same(f"the rest of arena {i}", frames("[glibc heap]", frame, "[chunks and top]"), 0)
        tops += p.top(arena)
    if arenas:
        same("the main arena", frames("[glibc heap]", "[main arena]"), p.sum(lambda of: of["path"] == "[heap]"))
        print(f"{tops} bytes of tops")
    return failed


if sys.argv[1] == "decode":
    print(json.dumps(decode(sys.argv[2])))
else:
    sys.exit(compare(int(sys.argv[2]), sys.argv[3], [int(a, 16) for a in sys.argv[4:]]) != 0)
