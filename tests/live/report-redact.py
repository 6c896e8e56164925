"""What a redacted report must not have, and what it must.

report-redact.py names JSON...		the strings of reports that are not redacted
report-redact.py scan NAMES BASELINE FILE	exits 1 if FILE has one of NAMES, in any encoding; lines of BASELINE are
					the format's own
report-redact.py same FOLDED FOLDED	exits 1 unless they are the same but for one-to-one names
report-redact.py shape PPROF		the samples without names
"""
import base64
import gzip
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pprof

# Types of values, units, and malloc's own names, which stay.
PUBLIC = """count bytes space objects unknown alloc_objects alloc_space inuse_objects inuse_space peak_objects peak_space
temporary_objects temporary_space malloc calloc realloc memalign operator_new mmap mremap posix_memalign aligned_alloc mmap64
""".split() + ["operator new", "operator new[]", "[no stack]", "[unknown]"]


def strings(value, key=None):
    if isinstance(value, dict):
        for k, v in value.items():
            if k not in ("types", "type", "unit", "by", "format", "schema", "memdiag", "generated_at", "warnings"):
                yield from strings(v, k)
    elif isinstance(value, list):
        for v in value:
            yield from strings(v, key)
    elif isinstance(value, str):
        yield value


def names(paths):
    found = set()
    for path in paths:
        with open(path, encoding="utf-8") as f:
            report = json.load(f)
            # Of the directories that the file happens to be in only the whole path is a name: "check" is a word of formats, too.
            path = report["data"].pop("file")
            found.update([path, os.path.basename(path)])
            for text in strings(report):
                found.add(text)
                found.update(text.split("/"))
    for text in sorted(found):
        if len(text) >= 5 and text not in PUBLIC and not text.isdigit():
            print(text)


def encodings(name):
    raw = name.encode()
    yield raw
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    for shift in range(3):
        # the characters of base64 that depend on NAME alone
        coded = base64.b64encode(b"\0" * shift + raw)
        inner = coded[(shift * 8 + 5) // 6:len(coded) // 4 * 4 - 4]
        if len(inner) >= 6:
            yield inner


def contents(data):
    yield data
    if data[:2] == b"\x1f\x8b":
        yield from contents(gzip.decompress(data))
    # the packed data of a page
    for packed in re.findall(rb'class="profile"[^>]*>([^<]*)<', data):
        yield from contents(base64.b64decode(packed))


def scan(names_path, baseline_path, path):
    with open(names_path, encoding="utf-8") as f:
        wanted = [line.rstrip("\n") for line in f if line.strip()]
    with open(baseline_path, "rb") as f:
        own = set(f.read().split(b"\n"))
    with open(path, "rb") as f:
        data = f.read()
    found = 0
    for part in contents(data):
        rest = b"\n".join(line for line in part.split(b"\n") if line not in own)
        for name in wanted:
            if any(code in rest for code in encodings(name)):
                print("%s has '%s'" % (path, name))
                found = 1
    if not wanted or not data:
        print("there is nothing to scan")
        found = 1
    return found


def same(one, two):
    to, back = {}, {}
    with open(one, encoding="utf-8") as f, open(two, encoding="utf-8") as g:
        a, b = f.read().splitlines(), g.read().splitlines()
    if len(a) != len(b) or not a:
        print("%d stacks and %d" % (len(a), len(b)))
        return 1
    for x, y in zip(a, b):
        stack, value = x.rsplit(" ", 1)
        other, other_value = y.rsplit(" ", 1)
        p, q = stack.split(";"), other.split(";")
        if value != other_value or len(p) != len(q):
            print("'%s' became '%s'" % (x, y))
            return 1
        for m, n in zip(p, q):
            if to.setdefault(m, n) != n or back.setdefault(n, m) != m:
                print("'%s' is '%s' and '%s', and that is '%s'" % (m, to[m], n, back[n]))
                return 1
    return 0


def shape(path):
    with open(path, "rb") as f:
        p = pprof.read(f.read())
    print(p["types"], p["default"], len(p["functions"]), len(p["comments"]), len(p["mappings"]))
    for locations, values, labels in p["samples"]:
        print(locations, values, [value for key, value in labels if key == "bytes"], len(labels))


if sys.argv[1] == "names":
    names(sys.argv[2:])
elif sys.argv[1] == "shape":
    shape(sys.argv[2])
else:
    sys.exit({"scan": scan, "same": same}[sys.argv[1]](*sys.argv[2:]))
