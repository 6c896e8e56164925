#!/usr/bin/env python3
"""page.py DIRECTORY NAME ROUNDS: medians of how long NAME.html takes in a browser; see scripts/bench/page."""
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/live"))
from webdriver import Browser  # noqa: E402

directory, name, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])

# From the address that is entered to the first view that is drawn.
OPENED = """return performance.getEntriesByName('page-shown')[0].startTime"""
# The data, unpacked and parsed, and nothing else.
BOUND = """
const done = arguments[arguments.length - 1], text = document.querySelector('script.profile').textContent;
const begin = performance.now(), packed = atob(text.trim()), bytes = new Uint8Array(packed.length);
for (let i = 0; i < packed.length; i++)
    bytes[i] = packed.charCodeAt(i);
new Response(new Blob([bytes]).stream()
    .pipeThrough(new DecompressionStream('gzip'))).json().then(() => done(performance.now() - begin));
"""
# An action, up to the end of the next frame.
ACTION = """
const done = arguments[arguments.length - 1], begin = performance.now();
%s;
window.page_app.follow();
requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin)));
"""
ACTIONS = [
    ("search", "history.replaceState(null, '', '#search=f1%5B0-9%5D%2B')"),
    ("bottom-up", "history.replaceState(null, '', '#view=callers')"),
    ("table", "history.replaceState(null, '', '#view=functions')"),
    ("search in the table", "history.replaceState(null, '', '#view=functions&search=f2%5B0-9%5D%2B')"),
    ("tree", "history.replaceState(null, '', '#view=tree')"),
    ("function", "history.replaceState(null, '', '#view=function&of=' + encodeURIComponent(window.page_app.p.names[3]))"),
    ("filter", "history.replaceState(null, '', '#only=f3')"),
    ("other values", "history.replaceState(null, '', '#value=' + window.page_app.p.data.types[0].name)"),
]

browser = Browser(directory)
times = {}
try:
    for _ in range(rounds):
        browser.get("about:blank")
        browser.get(f"file://{directory}/{name}.html")
        browser.until("return document.documentElement.dataset.ready")
        times.setdefault("opens", []).append(browser.run(OPENED))
        times.setdefault("bound", []).append(browser.run_later(BOUND))
        for what, action in ACTIONS:
            times.setdefault(what, []).append(browser.run_later(ACTION % action))
finally:
    browser.close()
rows = os.environ.get("BENCH_ROWS")
if rows:
    opens, bound = statistics.median(times["opens"]), statistics.median(times["bound"])
    with open(rows, "a") as file:
        print(f"page, {name} stacks, opens", "ms", f"{opens:.0f}", "-", "-", f"{bound:.0f}", "self 2000", sep="\t", file=file)
        print(f"page, {name} stacks, search", "ms", f"{statistics.median(times['search']):.0f}", "-", "-", "-", "self 100",
              sep="\t", file=file)
print(", ".join(f"{what} {statistics.median(t):.0f} ms" for what, t in times.items()))
