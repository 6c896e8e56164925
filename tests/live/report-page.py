#!/usr/bin/env python3
"""report-page.py DIRECTORY: open the pages in DIRECTORY in a browser, use them as a user does, and compare what they show with
memdiag's other formats.

For NAME in DIRECTORY/names there are NAME.html, and for each type of values NAME.TYPE.json (report --format=json) and
NAME.TYPE.folded (report --format=folded): the folded stacks are the oracle for everything that is drawn.  Prints "ok WORDS" or
"not ok WORDS: why" for each check.
"""
import collections
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from webdriver import Browser  # noqa: E402

directory = sys.argv[1]
browser = None


def check(words, fn, *args, **named):
    try:
        why = fn(*args, **named)
    except Exception as e:  # whatever it is, the next check is worth while
        why = f"{type(e).__name__}: {e}"
    why = "" if why in (None, True) else "false" if why is False else str(why)
    print(f"not ok {words}: {why}"[:2000].replace("\n", " ") if why else f"ok {words}", flush=True)


def differ(got, want, what=""):
    if got == want:
        return None
    if isinstance(got, dict) and isinstance(want, dict):
        keys = [k for k in {**got, **want} if got.get(k) != want.get(k)][:3]
        return f"{what} " + "; ".join(f"{k}: {got.get(k)}, not {want.get(k)}" for k in keys)
    return f"{what} {str(got)[:300]}, not {str(want)[:300]}"


def fold(name):
    """A name in the page, as folded stacks write it."""
    return name.replace(";", ":")


def rows_of(report):
    """The rows of a report in JSON, which doubles a backslash."""
    return {r["name"].replace("\\\\", "\\"): [r["flat"], r["cum"]] for r in report["rows"]}


class Oracle:
    """Sums over folded stacks."""

    def __init__(self, name, kind):
        with open(f"{directory}/{name}.{kind}.json") as f:
            self.report = json.load(f)["data"]
        self.stacks = collections.Counter()
        with open(f"{directory}/{name}.{kind}.folded") as f:
            for line in f:
                stack, value = line.rstrip("\n").rsplit(" ", 1)
                self.stacks[tuple(stack.split(";"))] += int(value)

    def rows(self):
        return rows_of(self.report)

    def children(self, *path):
        """The values of what is called by exactly PATH from the root."""
        found = collections.Counter()
        for stack, value in self.stacks.items():
            if stack[:len(path)] == path and len(stack) > len(path):
                found[stack[len(path)]] += value
        return {k: v for k, v in found.items() if v}

    def leaves(self, *path):
        """The values of what calls exactly PATH, innermost first."""
        found = collections.Counter()
        for stack, value in self.stacks.items():
            inner = stack[::-1]
            if inner[:len(path)] == path and len(inner) > len(path):
                found[inner[len(path)]] += value
        return {k: v for k, v in found.items() if v}

    def neighbours(self, of):
        callers, callees = collections.Counter(), collections.Counter()
        for stack, value in self.stacks.items():
            pairs = set(zip(("[root]",) + stack, stack))
            for caller, callee in pairs:
                if callee == of:
                    callers[caller] += value
                if caller == of:
                    callees[callee] += value
        return [{k: v for k, v in x.items() if v} for x in (callers, callees)]

    def matching(self, expression):
        return sum(v for s, v in self.stacks.items() if any(re.search(expression, f) for f in s))

    def total(self):
        return sum(self.stacks.values())

    def absolute(self):
        return sum(abs(v) for v in self.stacks.values())


def address(name, **state):
    from urllib.parse import quote
    return f"file://{directory}/{name}.html#" + "&".join(f"{k}={quote(str(v), safe='')}" for k, v in state.items())


def opens(name, **state):
    # From another page, so that the page is read again.
    browser.get("about:blank")
    browser.get(address(name, **state))
    ready = browser.until("return document.documentElement.dataset.ready")
    return differ(ready, state.get("view", "graph"), "ready:")


def goes(**state):
    """Change the address of the page that is open."""
    browser.run("location.hash = arguments[0]", address("", **state).split("#", 1)[1])
    browser.until("return document.documentElement.dataset.shown === location.hash")


def cells(table, *columns):
    """The texts of a table by its last column, of all rows."""
    browser.run("document.querySelectorAll(arguments[0] + ' ~ button.more').forEach("
                "b => { while (!b.classList.contains('away')) b.click(); })", "#" + table)
    rows = browser.run("return Array.from(document.querySelectorAll(arguments[0] + ' tbody tr')).map("
                       "tr => Array.from(tr.cells).map(td => td.textContent))", "#" + table)
    return {r[-1]: [number(r[c]) for c in columns] if len(columns) > 1 else number(r[columns[0]]) for r in rows}


def number(text):
    return int(text.replace("+", ""))


def drawn(canvas="#graph"):
    """Places of the frames of a graph, as it drew them."""
    places = browser.run("const g = window.page_app.graphs.find(g => g.box.matches(arguments[0]));"
                       "return g.places.map(p => ({name: g.how.name(p.frame), value: p.frame.value, x: p.x, width: p.width,"
                       "row: p.row, parent: p.parent && g.how.name(p.parent.frame)}))", canvas)
    for p in places:
        p["folded"], p["parent"] = fold(p["name"]), p["parent"] and fold(p["parent"])
    return places


# ---- the same numbers in every view ----------------------------------------------------------------

def total_is(oracle):
    text = browser.run("return document.getElementById('total').textContent")
    shown = oracle.report["shown"]
    return differ(number(browser.run("return document.getElementById('total').dataset.total")), shown) or (
        None if f": {shown}" in text.replace("+", "") else text)


def table_is(oracle):
    return differ(cells("functions", 0, 2), {k: v for k, v in oracle.rows().items()}, "rows:")


def graph_is(oracle, of_path):
    """The first two rows below the root; a frame that is too narrow is not drawn."""
    places = drawn()
    if places[0]["value"] != oracle.total():
        return f"the root has {places[0]['value']}, not {oracle.total()}"
    for row in (1, 2):
        for p in places:
            if p["row"] != row or (row == 2 and sum(q["folded"] == p["parent"] and q["row"] == 1 for q in places) != 1):
                continue
            want = of_path(p["folded"]) if row == 1 else of_path(p["parent"], p["folded"])
            if p["value"] != want:
                return f"{p['name']}: {p['value']}, not {want}"
    want = {k: v for k, v in of_path().items() if oracle.absolute() and
            sum(abs(x) for x in [v]) / oracle.absolute() > 0.01}
    got = {p["folded"] for p in places if p["row"] == 1}
    missing = set(want) - got
    return f"not drawn: {missing}" if missing else None


def down_of(oracle):
    def of(*path):
        return oracle.children() if not path else oracle.children(*path[:-1]).get(path[-1], 0)
    return of


def up_of(oracle):
    def of(*path):
        return oracle.leaves() if not path else oracle.leaves(*path[:-1]).get(path[-1], 0)
    return of


def tree_is(oracle):
    script = ("return Array.from(document.querySelectorAll('#tree > li[role=treeitem] > .line')).map(l => "
              "[l.querySelector('a').textContent, l.querySelector('.value').textContent])")
    got = {fold(k): number(v) for k, v in browser.run(script)}
    return differ(got, oracle.children(), "tree:")


def function_is(oracle):
    by_cum = sorted(oracle.rows().items(), key=lambda r: -abs(r[1][1]))[:3]
    for name, (flat, cum) in by_cum:
        goes(view="function", value=oracle.report["type"], of=name, exact=1)
        text = browser.run("return document.getElementById('of-sums').textContent").replace("+", "")
        if not text.startswith(f"flat {flat}, ") or f"; cum {cum}, " not in text:
            return f"{name}: {text}, not {flat} and {cum}"
        callers, callees = oracle.neighbours(fold(name))
        why = differ({fold(k): v for k, v in cells("callers", 0).items()}, callers, f"callers of {name}:")
        if not why and callees:
            why = differ({fold(k): v for k, v in cells("callees", 0).items()}, callees, f"callees of {name}:")
        if why:
            return why
        for graph in ("#below", "#above"):
            value = drawn(graph)[0]["value"]
            if value != cum:
                return f"{graph} of {name} has {value}, not {cum}"
    return None


def groups_are(oracle, view, of_json):
    want = collections.Counter()
    for row in oracle.report[view]:
        want[of_json(row)] += row["value"]
    return differ(cells(view, 0), {k: v for k, v in want.items() if v}, view + ":")


def equality(name, kinds):
    for i, kind in enumerate(kinds):
        oracle = Oracle(name, kind)
        state = {"value": kind, "exact": 1}
        if i == 0:
            check(f"{name}: the page opens", opens, name, view="graph", **state)
        else:
            check(f"{name}: values {kind}", goes, view="graph", value=kind, exact=1)
        check(f"{name}: {kind}: the total is the report's", total_is, oracle)
        check(f"{name}: {kind}: the flame graph has the folded stacks' values", graph_is, oracle, down_of(oracle))
        goes(view="callers", **state)
        check(f"{name}: {kind}: the bottom-up graph has them, too", graph_is, oracle, up_of(oracle))
        check(f"{name}: {kind}: the total of the bottom-up graph", total_is, oracle)
        goes(view="functions", **state)
        check(f"{name}: {kind}: the table has flat and cum of each function", table_is, oracle)
        goes(view="tree", **state)
        check(f"{name}: {kind}: the tree has them at its root", tree_is, oracle)
        check(f"{name}: {kind}: callers and callees of a function", function_is, oracle)
        if oracle.report["sizes"]:
            goes(view="sizes", **state)
            check(f"{name}: {kind}: the sizes", groups_are, oracle, "sizes", lambda r: str(r["size_bytes"]))
        if oracle.report["threads"]:
            goes(view="threads", **state)
            check(f"{name}: {kind}: the threads", groups_are, oracle, "threads",
                  lambda r: (f"{r['tid']} " if r["tid"] else "") + (r["name"] or ""))
    check(f"{name}: no request left the page", no_requests)
    check(f"{name}: the browser has no complaint", lambda: "; ".join(browser.complaints()) or None)


def no_requests():
    bad = [u for u in browser.requests() if not u.startswith(("file://" + directory, "about:", "data:", "blob:"))]
    return ", ".join(bad) or None


# ---- what a user does ------------------------------------------------------------------------------

def hash_of():
    return browser.run("return location.hash")


def typed(selector, text, script, *args):
    browser.write(selector, text)
    return browser.until(script, *args) and None


def search_matches(name, kind):
    oracle = Oracle(name, kind)
    word = max(oracle.rows().items(), key=lambda r: abs(r[1][1]))[0]
    expression = "^" + re.escape(word) + "$"
    opens(name, view="functions", value=kind, exact=1)
    browser.write("#search", expression)
    share = 100 * oracle.matching("^" + re.escape(fold(word)) + "$") / oracle.absolute()
    text = browser.run("return document.getElementById('total').textContent")
    if not text.endswith(f"; 1 found, {share:.1f}%"):
        return f"{text}, not {share:.1f}%"
    return differ(list(cells("functions", 0, 2)), [word])


def filters(name, kind, only, without):
    """The same as report's --focus and --ignore, from NAME.filtered.json."""
    with open(f"{directory}/{name}.filtered.json") as f:
        report = json.load(f)["data"]
    opens(name, view="functions", value=kind, exact=1)
    browser.write("#only", only)
    browser.write("#without", without)
    if number(browser.run("return document.getElementById('total').dataset.total")) != report["shown"]:
        return "total: " + browser.run("return document.getElementById('total').textContent") + f", not {report['shown']}"
    return differ(cells("functions", 0, 2), rows_of(report))


def sorts(name):
    opens(name, view="functions", exact=1)
    script = ("return Array.from(document.querySelectorAll('#functions tbody tr')).map("
              "tr => tr.cells[arguments[0]].textContent)")
    browser.click("#functions-cum")
    browser.until("return window.page_app.state.sort")
    down = [abs(number(x)) for x in browser.run(script, 2)]
    browser.click("#functions-name")
    browser.until("return window.page_app.state.sort.id === 'name'")
    names = browser.run(script, 4)
    browser.click("#functions-name")
    browser.until("return !window.page_app.state.sort.is_up")
    again = browser.run(script, 4)
    if down != sorted(down, reverse=True) or names != sorted(names) or len(again) != len(names):
        return f"{down[:5]} {names[:5]} {again[:5]}"
    browser.back()
    browser.until("return window.page_app.state.sort.is_up")
    return differ(browser.run(script, 4), names, "after going back:")


def clicks_zoom(name):
    opens(name, view="graph", exact=1)
    place = next(p for p in drawn() if p["row"] == 2)
    browser.mouse("#graph canvas", place["x"] + place["width"] / 2, 2 * 18 + 9)
    browser.until("return location.hash.includes('zoom=')")
    zoomed = [p for p in drawn() if p["row"] == 2]
    width = browser.run("return document.getElementById('graph').clientWidth")
    if len(zoomed) != 1 or zoomed[0]["name"] != place["name"] or abs(zoomed[0]["width"] - width) > 1:
        return f"{zoomed[:2]}, not {place['name']} in {width}"
    browser.back()
    browser.until("return !location.hash.includes('zoom=')")
    return differ(next(p for p in drawn() if p["row"] == 2)["width"], place["width"], "after going back:")


def doubles_open(name):
    opens(name, view="graph", exact=1)
    place = next(p for p in drawn() if p["row"] == 1)
    browser.mouse("#graph canvas", place["x"] + 3, 18 + 9, clicks=2)
    browser.until("return window.page_app.state.view === 'function'")
    return differ(browser.run("return window.page_app.state.of"), place["name"])


def points_out(name):
    opens(name, view="graph", exact=1)
    place = next(p for p in drawn() if p["row"] == 1)
    browser.mouse("#graph canvas", place["x"] + 3, 18 + 9, clicks=0)
    text = browser.run("const t = document.querySelector('#graph .tip'); return t.className === 'tip' && t.textContent")
    return None if text and text.startswith(f"{place['name']}\n{place['value']}, ") else text


def by_keyboard(name):
    opens(name, view="graph", exact=1)
    browser.keys("/")
    if browser.run("return document.activeElement.id") != "search":
        return "/ does not lead to the search"
    browser.keys("Tab", "Tab", "Tab")
    browser.run("document.activeElement.blur()")
    browser.keys("4")
    browser.until("return window.page_app.state.view === 'functions'")
    browser.keys("1")
    browser.until("return window.page_app.state.view === 'graph'")
    browser.run("document.querySelector('#graph canvas').focus()")
    browser.keys("Down", "Down", "Right", "Left", "Up", "Down")
    selected = browser.run("const g = window.page_app.graphs[0]; return g.how.name(g.selected.frame)")
    first = [p for p in drawn() if p["row"] == 1]
    if selected != first[0]["name"]:
        return f"the arrows lead to {selected}, not {first[0]['name']}"
    browser.keys("Enter")
    browser.until("return location.hash.includes('zoom=')")
    if browser.run("return document.activeElement.tagName") != "CANVAS":
        return "the focus is lost"
    browser.keys("Escape")
    browser.until("return !location.hash.includes('zoom=')")
    browser.keys("Down", "Down", "f")
    browser.until("return window.page_app.state.view === 'function'")
    return differ(browser.run("return window.page_app.state.of"), first[0]["name"])


def tree_by_keyboard(name, kind):
    oracle = Oracle(name, kind)
    opens(name, view="tree", value=kind, exact=1)
    browser.run("document.querySelector('#tree [role=treeitem]').focus()")
    browser.keys("Left", "Right")
    script = ("const at = document.activeElement; return [at.getAttribute('aria-expanded'),"
              "at.querySelector('a').textContent, Array.from(at.querySelectorAll(':scope > ul > li > .line')).map(l => "
              "[l.querySelector('a').textContent, l.querySelector('.value').textContent])]")
    expanded, first, below = browser.run(script)
    if expanded != "true":
        return f"{first} is not open: {expanded}"
    why = differ({fold(k): number(v) for k, v in below}, oracle.children(fold(first)), f"below {first}:")
    if why:
        return why
    browser.keys("Right", "Left", "Left", "Enter")
    browser.until("return window.page_app.state.view === 'function'")
    return None


def theme(name):
    opens(name)
    colour = "return getComputedStyle(document.body).backgroundColor"
    before = browser.run(colour)
    browser.click("#theme")
    after = browser.run(colour)
    browser.click("#theme")
    return None if before != after and browser.run(colour) == before else f"{before} {after}"


def fits(name, width, height):
    browser.resize(width, height)
    try:
        for view in ("graph", "callers", "tree", "functions", "function", "sizes", "threads"):
            opens(name, view=view)
            got = browser.run("return [document.documentElement.scrollWidth, window.innerWidth]")
            if got[0] > got[1]:
                return f"{view}: {got[0]} of {got[1]} pixels"
        opens(name)
        return None if browser.run("return document.querySelector('#graph canvas').getBoundingClientRect().width") > width / 2 \
            else "the graph is too narrow"
    finally:
        browser.resize(1280, 900)


def copies(name):
    opens(name, view="functions")
    browser.run("document.getSelection().selectAllChildren(document.getElementById('functions'))")
    text = browser.run("return document.getSelection().toString()")
    return None if "flat" in text and len(text) > 50 else text


def hostile(name, bad):
    """Names that would be markup or script are text only."""
    for view in ("graph", "callers", "tree", "functions"):
        opens(name, view=view)
        got = browser.run("return [document.title, document.images.length, document.scripts.length, window.harmed || 0,"
                          "document.body.textContent.includes(arguments[0])]", bad)
        if got[1] or got[3] or got[2] != 2 or got[0] == "HARMED":
            return f"{view}: {got}"
        if view == "functions" and not got[4]:
            return f"{view}: the name is missing"
    opens(name, view="function", of=bad)
    return differ(browser.run("return document.querySelector('#view h2').textContent"), bad)


def policy(name):
    """A script that somebody adds to the page does not run, and no image is loaded."""
    opens(name)
    browser.complaints()
    browser.run("const s = document.createElement('script'); s.textContent = 'window.harmed = 1'; document.body.append(s);"
                "const i = document.createElement('img'); i.src = 'http://127.0.0.1:1/x'; document.body.append(i);"
                "const d = document.createElement('div'); d.setAttribute('onclick', 'window.harmed = 2');"
                "document.body.append(d); d.click();")
    if browser.run("return window.harmed || 0"):
        return "it ran"
    said = browser.complaints()
    return None if sum("Content Security Policy" in s for s in said) >= 3 else str(said)


# ---- the curve -------------------------------------------------------------------------------------

def timeline(name, *options):
    with open(f"{directory}/{name}.recording") as f:
        file = f.read().strip()
    done = subprocess.run([os.environ["MEMDIAG"], "timeline", file, "--interval=10ms", "--json", "-n", "0", *options],
                          capture_output=True, text=True)
    if done.returncode not in (0, 2):
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)["data"]


def moment_is(report, objects):
    total = browser.run("return document.getElementById('total').dataset.total")
    if number(total) != report["shown"]:
        return f"total {total}, not {report['shown']}"
    return differ(cells("functions", 0, 2), rows_of(report), objects)


def moments(name):
    """Each moment, and the growth between two, is what timeline --at, --from and --to report."""
    opens(name)
    at = browser.run("return window.page_app.p.data.moments.at_ns")
    some = sorted({0, len(at) // 4, len(at) // 2, len(at) - 1})
    for i in some:
        for value, option in (("bytes", []), ("blocks", ["--objects"])):
            goes(view="functions", at=at[i], value=value, exact=1)
            report = timeline(name, f"--at={at[i] // 1000000}ms", *option)["report"]
            why = moment_is(report, f"at {at[i]} ns:")
            if why:
                return why
    for i, k in zip(some, some[1:]):
        goes(view="functions", at=at[k], **{"from": at[i]}, exact=1)
        report = timeline(name, f"--from={at[i] // 1000000}ms", f"--to={at[k] // 1000000}ms")["report"]
        why = moment_is(report, f"from {at[i]} to {at[k]} ns:")
        if why:
            return why
    return None


def curve(name):
    """The areas and the line above them are the live bytes of timeline's intervals, and the greatest is the peak."""
    opens(name)
    m = browser.run("return window.page_app.p.data.moments")
    want = {v["live_max"]["bytes"] for v in timeline(name)["intervals"]}
    bad = [b for b in m["live"] if b not in want]
    if bad or max(m["live"]) != max(want):
        return f"{bad[:3]} are no maxima, or {max(m['live'])} is not the peak {max(want)}"
    top = browser.run("const t = window.page_app.curve.top;"
                      "return t.rest.map((r, i) => r + t.functions.reduce((s, f) => s + f.values[i], 0))")
    return differ(top, m["live"], "the sum of the areas:")


def clicks_curve(name):
    opens(name, view="functions", exact=1)
    browser.run("document.querySelector('#curve').scrollIntoView()")
    width = browser.run("return document.querySelector('#curve .u-over').clientWidth")
    browser.mouse("#curve .u-over", width * 0.6, 60)
    at = browser.until("return new URLSearchParams(location.hash.slice(1)).get('at')")
    expected = browser.run("return window.page_app.curve.nearest(window.page_app.curve.plot.posToVal(arguments[0], 'x'))",
                           width * 0.6)
    all_at = browser.run("return window.page_app.curve.at")
    if all_at[expected] != int(at):
        return f"moment {at}, not {all_at[expected]}"
    browser.drag("#curve .u-over", width * 0.2, width * 0.8, 60)
    begin = browser.until("return new URLSearchParams(location.hash.slice(1)).get('from')")
    end = browser.run("return new URLSearchParams(location.hash.slice(1)).get('at')")
    if not int(begin) < int(end):
        return f"{begin} to {end}"
    browser.click("#whole")
    browser.until("return !location.hash.includes('at=')")
    browser.run("document.getElementById('at').focus()")
    browser.keys("Left")
    at = browser.until("return new URLSearchParams(location.hash.slice(1)).get('at')")
    return differ(int(at), all_at[-2], "by the keyboard:")


def main():
    global browser
    with open(directory + "/names") as f:
        names = [line.split() for line in f]
    browser = Browser(directory)
    try:
        # Chromium's own first page asks for its parts.
        browser.get("about:blank")
        browser.requests()
        for name, *kinds in names:
            equality(name, kinds)
        for name in [n[0] for n in names if os.path.exists(f"{directory}/{n[0]}.recording")]:
            check(f"{name}: the curve is that of the intervals", curve, name)
            check(f"{name}: moments and growth are those of timeline", moments, name)
            check(f"{name}: a click, an interval and the keyboard choose", clicks_curve, name)
        name, kind = names[0][0], names[0][1]
        check("a search finds what the stacks have", search_matches, name, kind)
        with open(directory + "/filter") as f:
            only, without = f.read().splitlines()
        check("filters are those of report", filters, name, kind, only, without)
        check("columns sort, and the history goes back", sorts, name)
        check("a click zooms in, and the history goes back", clicks_zoom, name)
        check("a double click opens the function", doubles_open, name)
        check("the mouse shows a frame's value", points_out, name)
        check("the keyboard does it all in the graph", by_keyboard, name)
        check("the keyboard does it all in the tree", tree_by_keyboard, name, kind)
        check("dark and light", theme, name)
        check("it fits into 400 pixels", fits, name, 400, 800)
        check("it fits into 4K", fits, name, 3840, 2160)
        check("text can be copied", copies, name)
        with open(directory + "/hostile-name") as f:
            check("a hostile name does nothing", hostile, "hostile", f.read())
        check("the page's policy holds", policy, name)
    finally:
        browser.close()


main()
