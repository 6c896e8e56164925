"""Compare memdiag record report --addresses, or sizes, with the blocks that tests/tracees/ages keeps.

	record-addresses.py BLOCKS JSON LEAST MOST N SITES

LEAST and MOST are the sizes that were asked for, N the number of blocks, SITES a regular expression of the sites.  Prints
what differs, and exits with 1 if something does; else how much was compared.
"""
import collections
import json
import re
import sys

blocks, path, least, most, nr, sites = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]), sys.argv[6]
want = []
for line in open(blocks):
    address, size, site, tid = line.split()
    if least <= int(size) <= most and re.search(sites, "site_" + site):
        want.append((int(size), int(address, 16), "site_" + site, int(tid)))
want.sort(key=lambda block: (-block[0], block[1]))
data = json.load(open(path))["data"]
failed = False
got = []
others = 0  # of the program itself: threads and streams
for block in data["addresses"] or []:
    name = next((name for name in block["frames"] if name.startswith("site_")), None)
    if name is None:
        others += 1
    else:
        got.append((block["bytes"], int(block["address"], 16), name, block["tid"]))
if nr:
    expected = want[:len(got)] if data["address_count"] > nr else want
    if got != expected or len(got) + others != min(nr, data["address_count"]):
        print("%d blocks, not %d" % (len(got), len(expected)))
        print([(a, b) for a, b in zip(got, expected) if a != b][:5], set(got) ^ set(expected))
        failed = True
elif data["addresses"] is not None or data["address_count"] is not None:
    print("addresses that were not asked for")
    failed = True
sums = collections.Counter()
for size, _, site, _ in want:
    sums[site, "bytes"] += size
    sums[site, "blocks"] += 1
for row in data["rows"]:
    if row["name"].startswith("site_") and (row["flat"], row["blocks"]) != (
            sums[row["name"], "bytes"], sums[row["name"], "blocks"]):
        print("%s: %d bytes in %d blocks, not %s" % (row["name"], row["flat"], row["blocks"], sums))
        failed = True
if {row["name"] for row in data["rows"] if row["name"].startswith("site_")} != {site for site, _ in sums}:
    print("other sites: %s" % data["rows"])
    failed = True
print("%d blocks, %d of them listed" % (len(want), len(got)))
sys.exit(failed)
