#!/usr/bin/env python3
"""A monitoring plugin's output, as the Monitoring Plugins Development Guidelines have it.

check-plugin.py STATUS <LINE: fails unless it is one line whose performance data are well formed, and whose ranges, applied to
its values, come to STATUS.  Prints the data as JSON.
"""
import json
import re
import sys

NAMES = {0: "OK", 1: "WARNING", 2: "CRITICAL", 3: "UNKNOWN"}
status, output = int(sys.argv[1]), sys.stdin.buffer.read().decode()


def wrong(why):
    sys.exit(f"{why}: {output!r}")


def alerts(text, value):
    """Whether VALUE raises an alert: [@][start:][end], start 0 and end infinity if omitted."""
    if not text:
        return False
    start, colon, end = text.rpartition(":")
    low = float("-inf") if start == "~" else float(start) if start else 0.0
    high = float(end) if end else float("inf")
    if not colon and not end or low > high:
        wrong(f"the range {text}")
    return not low <= value <= high


if output.count("\n") != 1 or not output.endswith("\n") or re.search(r"[\x00-\x09\x0b-\x1f\x7f]", output):
    wrong("not one line")
head, bar, tail = output[:-1].partition("|")
if "|" in tail:
    wrong("two bars")
if not head.startswith(f"MEMDIAG {NAMES[status]} - ") or len(head) > 1200:
    wrong(f"not {NAMES[status]}")
metrics, worst, rest = {}, 0, tail
while rest.strip():
    item = re.match(r" ?'([^'=]+)'=(U|-?[0-9.]+)(B?)((?:;[0-9.~@:-]*){0,4})(?= |$)", rest)
    if not item:
        wrong(f"performance data at {rest}")
    rest = rest[item.end():]
    fields = item[4].split(";")[1:] + [""] * 4
    if item[2] == "U":
        metrics[item[1]] = None
        continue
    value = float(item[2])
    metrics[item[1]] = {"value": int(item[2]), "unit": item[3], "warn": fields[0], "crit": fields[1],
                        "min": fields[2], "max": fields[3]}
    worst = max(worst, 2 if alerts(fields[1], value) else 1 if alerts(fields[0], value) else 0)
# An unknown state is in no range.
if status != 3 and worst != status:
    wrong(f"the ranges come to {worst}")
print(json.dumps({"text": head.strip(), "metrics": metrics}))
