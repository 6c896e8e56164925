"""Compare rows of a report with what tests/tracees/plugins says is live of each of its libraries.

	record-plugins.py LIVE JSON

JSON is a report by function, of memory in use.  Prints what differs, and exits with 1 if something does.
"""
import json
import sys

want = {}
for line in open(sys.argv[1]):
    name, size, blocks = line.split()
    want[name] = int(size)
data = json.load(open(sys.argv[2]))["data"]
rows = (data.get("report") or data)["rows"]
got = {row["name"]: row["flat"] for row in rows if row["name"].startswith("plugin_")}
differ = [(name, got.get(name, 0), size) for name, size in want.items() if got.get(name, 0) != size]
others = [(row["name"], row["flat"]) for row in rows if row["name"].startswith("plugin-") or "+0x" in row["name"] and row["flat"]]
for name, is_, size in differ[:8]:
    print("%s has %d bytes, not %d" % (name, is_, size))
if others:
    print("rows without a name: %s" % others[:8])
print("%d libraries with %d bytes" % (sum(size > 0 for size in want.values()), sum(want.values())))
sys.exit(bool(differ or others))
