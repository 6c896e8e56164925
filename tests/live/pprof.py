"""A reader of profile.proto that shares nothing with memdiag: fields of messages, by number.

read(BYTES) -> {"types": [(name, unit)], "samples": [(location ids, values, labels)], "functions": {id: (name, file)},
	"locations": {id: (address, [(function, line)])}, "mappings": [(start, file, build id)], "strings": [...],
	"comments": [...], "time": ns, "default": name}
"""
import gzip


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
    """A list of values for each field: numbers, or bytes."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            if at + size > len(data):
                raise ValueError("cut off")
            value, at = data[at:at + size], at + size
        else:
            raise ValueError("wire type %d" % (key & 7))
        found.setdefault(key >> 3, []).append(value)
    return found


def one(message, number):
    return message.get(number, [0])[-1]


def numbers(message, number):
    """A repeated number, packed or not, with its sign."""
    found = []
    for value in message.get(number, []):
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < len(value):
            n, at = varint(value, at)
            found.append(n)
    return [n - (1 << 64) if n >> 63 else n for n in found]


def read(data):
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    top = fields(data)
    strings = [s.decode() for s in top[6]]

    def text(message, number):
        return strings[one(message, number)]

    def each(number):
        return [fields(m) for m in top.get(number, [])]

    def label(message):
        return text(message, 1), text(message, 2) if one(message, 2) else one(message, 3)

    return {
        "types": [(text(t, 1), text(t, 2)) for t in each(1)],
        "samples": [(numbers(s, 1), numbers(s, 2), [label(fields(m)) for m in s.get(3, [])]) for s in each(2)],
        "mappings": [(one(m, 2), text(m, 5), text(m, 6)) for m in each(3)],
        "locations": {one(m, 1): (one(m, 3), [(one(fields(n), 1), one(fields(n), 2)) for n in m.get(4, [])])
                      for m in each(4)},
        "functions": {one(m, 1): (text(m, 2), text(m, 4)) for m in each(5)},
        "strings": strings,
        "comments": [strings[n] for n in numbers(top, 13)],
        "time": one(top, 9),
        "default": strings[one(top, 14)],
    }


def stacks(profile):
    """The sums of all types by stack of names, the leaf first."""
    sums = {}
    for locations, values, _ in profile["samples"]:
        stack = tuple(profile["functions"][f][0] for n in locations for f, _ in profile["locations"][n][1])
        before = sums.get(stack, [0] * len(values))
        sums[stack] = [a + b for a, b in zip(before, values)]
    return sums
