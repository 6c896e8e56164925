#!/usr/bin/env python3
"""report-viewers.py DIRECTORY: whether speedscope and the Firefox Profiler, unpacked there, read speedscope.json and
firefox.json and show the numbers of report.json and of TYPE.json for each type of values."""
import base64
import json
import os
import re
import signal
import subprocess
import sys

from webdriver import Browser

directory = sys.argv[1]
PROFILER = ["node", f"{directory}/firefox/package/dist/profiler-cli.js"]
bad = []


def compare(what, got, want):
    if got != want:
        bad.append(f"{what}: {str(got)[:300]}, not {str(want)[:300]}")


def load(name):
    with open(f"{directory}/{name}.json") as f:
        return json.load(f)


def rows(report):
    """{function: (flat, cum)}; JSON doubles a backslash."""
    return {r["name"].replace("\\\\", "\\"): (r["flat"], r["cum"]) for r in report["rows"] if r["flat"] or r["cum"]}


def profiler(*words):
    done = subprocess.run([*PROFILER, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr or done.stdout)
    return done.stdout


def load_in_profiler(tries=10):
    """It starts a server and gives it half a second, in which a busy machine does not start it."""
    try:
        profiler("load", f"{directory}/firefox.json")
    except RuntimeError as e:
        late = re.search("running as pid ([0-9]+)", str(e))
        if not late or tries == 1:
            raise
        os.kill(int(late[1]), signal.SIGKILL)
        load_in_profiler(tries - 1)


def check_firefox(types):
    load_in_profiler()
    try:
        for i, t in enumerate(types):
            report = load(t["name"])["data"]
            want = rows(report)
            if not want:
                continue
            profiler("thread", "select", f"t-{i}")
            functions = json.loads(profiler("thread", "functions", "--json", "--include-idle"))
            compare(f"firefox: {t['name']}: unit", functions["weightType"],
                    "bytes" if t["unit"] == "bytes" else "samples")
            compare(f"firefox: {t['name']}",
                    {f["name"]: (f["selfSamples"], f["totalSamples"]) for f in functions["functions"]}, want)
    finally:
        profiler("stop")


def shown(value, unit):
    """A value as speedscope's formatters print it (src/lib/value-formatters.ts)."""
    if unit != "bytes":
        return f"{value:,}"
    for name in ("B", "KB", "MB", "GB"):
        if value < 1024 or name == "GB":
            return f"{value:.0f} B" if name == "B" else f"{value:.2f} {name}"
        value /= 1024
    return None


def check_speedscope(types):
    browser = Browser(directory, height=4000)
    try:
        with open(f"{directory}/speedscope.json", "rb") as f:
            profile = base64.b64encode(f.read()).decode()
        with open(f"{directory}/speedscope.js", "w") as f:
            f.write(f"speedscope.loadFileFromBase64('it', '{profile}')")
        browser.get(f"file://{directory}/speedscope/package/dist/release/index.html#localProfilePath={directory}/speedscope.js")
        browser.until("return document.body.innerText.includes('Sandwich')")
        browser.keys("3")
        table = browser.until("""
            const rows = [...document.querySelectorAll('tr')].map(r => [...r.children].map(c => c.innerText));
            return rows.findIndex(r => r[2] === 'Symbol Name') in rows && /%/.test(rows[rows.length - 1][0]) && rows""")
        head = next(i for i, r in enumerate(table) if r[2:] == ["Symbol Name"])
        listed = {r[1]: r[2] for r in table[:head] if r[0].isdigit()}
        if len(types) > 1:
            totals = [shown(load(t["name"])["data"]["shown"], t["unit"]) for t in types]
            compare("speedscope: totals", list(listed.values()), totals)
        report = load("report")["data"]
        unit = next(t["unit"] for t in types if t["name"] == report["type"])
        want = {name: tuple(shown(v, unit) for v in values) for name, values in rows(report).items()}
        got = {r[2]: (r[1].split(" (")[0], r[0].split(" (")[0]) for r in table[head + 1:]}
        compare("speedscope: functions", {k: v for k, v in got.items() if want.get(k) != v}, {})
        compare("speedscope: number of functions", len(got), min(len(want), len(got)))
        if not got:
            bad.append("speedscope: no function is listed")
    finally:
        browser.close()


kinds = load("report")["data"]["types"]
check_firefox(kinds)
check_speedscope(kinds)
print("\n".join(bad))
sys.exit(bool(bad))
