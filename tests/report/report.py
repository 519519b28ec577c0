#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""xstate report: its statuses, that nothing of a file becomes markup, and the page in a browser."""
import html
import html.parser
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile

import browser
import made

XSTATE = os.path.abspath(sys.argv[1])
failures = 0


def check(ok, what):
    global failures
    if not ok:
        failures += 1
        print("FAILED:", what)


def run(*args, **kw):
    return subprocess.run([XSTATE, "report", *args], capture_output=True, text=True, timeout=60, **kw)


def write(folder, name, *docs):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        for doc in docs:
            f.write(json.dumps(doc) + "\n")
    return path


def refusals(d):
    broken = os.path.join(d, "broken.json")
    with open(broken, "w") as f:
        f.write('{"schema":"xstate.lab/1","results":[')
    out = os.path.join(d, "kept.html")
    with open(out, "w") as f:
        f.write("what was there before")
    empty = os.path.join(d, "empty.json")
    open(empty, "w").close()
    for args, says in [([], "nothing to show"), ([broken], "not JSON"), ([empty], "is empty"),
                       ([os.path.join(d, "none.json")], "No such file"),
                       ([write(d, "other.json", {"schema": "xstate.cpu/1"})], "shows no xstate.cpu/1"),
                       ([write(d, "foreign.json", {"a": 1})], "no result of xstate"),
                       ([write(d, "list.json", [1, 2])], "no result of xstate"),
                       ([d], "is a directory")]:
        r = run(*args, "-o", out)
        check(r.returncode == 2, f"{args}: exit {r.returncode}")
        check(says in r.stderr and r.stderr.count("\n") == 1, f"{args} says {r.stderr!r}")
        with open(out) as f:
            check(f.read() == "what was there before", f"{args}: the old page is kept")
    good = write(d, "good.json", made.lab())
    r = run(good, "-o", os.path.join(d, "no", "where.html"))
    check(r.returncode == 2 and "cannot write" in r.stderr, f"unwritable: {r.stderr}")
    check(sorted(x for x in os.listdir(d) if ".html." in x) == [], "no half-written file is left")


def walk(x, path=()):
    """Every place in a document, but only the first element of a list."""
    for k, v in x.items() if isinstance(x, dict) else list(enumerate(x))[:1]:
        yield (*path, k)
        if isinstance(v, (dict, list)):
            yield from walk(v, (*path, k))


def changed(doc, path, value):
    """A copy with another value there; ... takes the key away."""
    doc = json.loads(json.dumps(doc))
    at = doc
    for k in path[:-1]:
        at = at[k]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return doc


def synthetic(*args):
    r = subprocess.run([XSTATE, "sim", "--synthetic", "tasks=4,cpus=2,slots=3000", "-j", *args],
                       capture_output=True, text=True, timeout=60)
    check(r.returncode == 0, f"sim --synthetic: {r.stderr}")
    return [json.loads(line) for line in r.stdout.splitlines()]


def unsound(d):
    """What is not as its schema has it is refused, never shown as nothing: above all whatever
    xstate sim --merge refuses."""
    out = os.path.join(d, "unsound.html")
    doc, = synthetic()
    path = write(d, "sim.json", doc)
    check(run(path, "-o", out).returncode == 0, "a sound result of sim")
    os.unlink(out)
    refused = 0
    for place in walk({k: doc[k] for k in ("use", "signals", "seed", "totals", "parts", "policies")}):
        for value in (..., None, "x", -1) if len(place) == 1 else (...,) if len(place) == 2 else (-1, "x"):
            # An idea that --merge does not know has no price there; as a word it can be shown.
            if place[-1] == "hypothesis" and value == "x":
                continue
            write(d, "sim.json", changed(doc, place, value))
            r = subprocess.run([XSTATE, "sim", "--merge", path], capture_output=True, text=True, timeout=60)
            if r.returncode == 0:
                continue
            refused += 1
            if os.path.exists(out):
                os.unlink(out)
            r = run(path, "-o", out)
            check(r.returncode == 2 and "no sound xstate.sim/1" in r.stderr and r.stderr.count("\n") == 1 and
                  not os.path.exists(out), f"{place} = {value}: exit {r.returncode}, {r.stderr!r}")
    check(refused > 60, f"only {refused} refusals were compared")
    rng = made.rng(5)
    switch, insn, fiber, kernel = made.switch(rng), made.insn(rng), made.fiber(rng), made.kernel(rng)
    for doc, place, value, says in [
            (switch, ("pairs",), "x", "pairs is not a list"), (switch, ("pairs",), ..., "pairs is not"),
            (switch, ("machine",), ..., "machine is not an object"),
            (switch, ("machine", "family"), "6", "machine.family is not a count"),
            (switch, ("pairs", 1), 7, "pairs[1] is not an object"),
            (switch, ("pairs", 1, "log_ratio"), "x", "pairs[1].log_ratio is not a number"),
            (switch, ("noise",), None, "noise is not"), (switch, ("kind",), "tea", "kind unknown"),
            (switch, ("samples", "arms", 0, "loops"), -1, "samples.arms[0].loops is not a count"),
            (insn, ("costs",), None, "costs is not"), (insn, ("effects", 0, "low"), [], "effects[0].low"),
            (fiber, ("switches", 2, "ratio"), "1", "switches[2].ratio"),
            (kernel, ("sections",), {}, "sections is not a list"),
            (made.lab(), ("results",), "x", "results is not a list"),
            (made.lab(), ("results", 3, "saves"), -1, "results[3].saves is not a count"),
            (made.merged(), ("rows", 0, "groups", 1, "hosts"), None, "rows[0].groups[1].hosts is not"),
            (made.sim(), ("verdict", 0), 1, "verdict[0] is not text")]:
        r = run(write(d, "x.json", changed(doc, place, value)), "-o", out)
        check(r.returncode == 2 and says in r.stderr and r.stderr.count("\n") == 1,
              f"{place} = {value}: exit {r.returncode}, {r.stderr!r}")


def page_of(d, *docs):
    out = os.path.join(d, "page.html")
    r = run(write(d, "page.json", *docs), "-o", out)
    check(r.returncode == 0, f"exit {r.returncode}: {r.stderr}")
    with open(out, encoding="utf-8") as f:
        return f.read()


def brief(text):
    return re.search(r'<div class="brief">(.*?)</div>', text, re.S).group(1)


def paragraphs(text):
    """What is said of each workload in brief: label, whether it is marked, and the rest."""
    return [(html.unescape(label), mark, html.unescape(rest)) for mark, label, rest in re.findall(
        r'<p><strong(?: class="(\w+)")?>([^<]*):</strong> (.*?)</p>', text, re.S)]


def incomplete(d):
    """What a trace lacks comes first, each kind by its own name, and the verdict after it."""
    doc = made.sim()
    check([p[0] for p in paragraphs(brief(page_of(d, doc)))] == ["Used", "Verdict"], "a whole trace")
    lost = changed(changed(doc, ("totals", "lost_events"), 12), ("totals", "gaps"), 30)
    lost["holds"] = "events-lost"
    text = page_of(d, lost)
    for part in brief(text), text.split(brief(text))[1]:
        said = paragraphs(part)
        check([p[:2] for p in said[:2]] == [("Incomplete", "bad"), ("Gaps", "bad")] and
              said[0][2].startswith("12 events were lost,") and said[1][2].startswith("at 30 places, 3.0 % of its 1000") and
              "more than 1 %" in said[1][2] and "Verdict" in [p[0] for p in said[2:]], f"a lossy trace: {said}")
    said = paragraphs(brief(page_of(d, changed(doc, ("totals", "gaps"), 3))))
    check(said[0][:2] == ("Gaps", "") and "0.30 % of" in said[0][2] and "Up to 1 %" in said[0][2], f"few gaps: {said}")
    said = paragraphs(brief(page_of(d, changed(changed(doc, ("totals", "gaps"), 30), ("holds",), "contradictions"))))
    check([p[0] for p in said] == ["Gaps", "Used", "Verdict"] and said[0][1] == "bad" and "lost" not in said[0][2],
          f"many gaps: {said}")
    hole = changed(changed(doc, ("parts", 0, "before"), "2" * 16), ("holds",), "pieces-missing")
    said = paragraphs(brief(page_of(d, hole)))
    check(said[0] == ("Incomplete", "bad", "pieces of the trace are missing."), f"pieces: {said}")


def alike(d):
    """The page says of a workload what the command does: the same paragraphs, in brief those that were asked for."""
    asked = ["Used", "Break-even", "Verdict", "Verdict on what the trace does have", "Rough", "Least work", "Check",
             "Incomplete", "Gaps"]
    with lzma.open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "traces",
                                "build.perf.txt.xz")) as f:
        lines = f.read().splitlines(True)
    torn = [l for i, l in enumerate(lines) if b"sched_switch" not in l or i % 9]
    prices = made.insn(made.rng(2))
    prices.update(complete=False, blocks_done=5, blocks_planned=170, costs=[
        {"instruction": i, "format": "compacted", "live": "SSE", "low_quartile_cycles": 100, "high_quartile_cycles": 120}
        for i in ("XSAVEC", "XRSTOR")])
    rough = write(d, "rough.json", prices)
    for name, trace, args, bad in [("whole", lines, [], []), ("torn", torn, [], ["Gaps", "Verdict on what the trace does have"]),
                                   ("lost", [b"CPU:1 [LOST 12 EVENTS]\n", *lines], [],
                                    ["Incomplete", "Verdict on what the trace does have"]),
                                   ("rough", lines, ["-c", rough], ["Rough"])]:
        r = subprocess.run([XSTATE, "sim", "-", "-j", *args], input=b"".join(trace), capture_output=True, timeout=60)
        check(r.returncode == 0, f"sim of {name}: {r.stderr}")
        doc = json.loads(r.stdout)
        want = [p for p in doc["verdict"] if p.split(":")[0] in asked]
        text = page_of(d, doc)
        said = paragraphs(brief(text))
        check(sorted(f"{l}: {rest}" for l, _, rest in said) == sorted(want) and len(want) > 5, f"{name} in brief: {said}")
        every = sorted(f"{l}: {rest}" for l, _, rest in paragraphs(text.split(brief(text))[1]))
        check(every == sorted(doc["verdict"]), f"{name} in its section: {every}")
        marked = [l for l, mark, _ in said if mark == "bad" and l != "Check"]
        check(sorted(marked) == sorted(bad), f"{name}: marked {marked}")
        n = doc["check"]
        off = abs(n["predicted_restores"] - n["observed_restores"]) > 0.02 * n["observed_restores"]
        check([m for l, m, _ in said if l == "Check"] == ["bad" if off else "good"], f"{name}: its check")
    check("5 of 170 blocks" in brief(text), "how rough")
    # A piece of a trace has no figures of its check, and is as far off all the same.
    piece = changed(changed(made.sim(), ("check",), None), ("verdict",), ["Check: made +9 %."])
    check(paragraphs(brief(page_of(d, piece))) == [("Check", "bad", "made +9 %.")], "a piece's check")
    # Of many, only what is decided.
    docs = [changed(doc, ("parts", 0, "after"), f"{i:016x}") for i in range(1, 7)]
    said = paragraphs(brief(page_of(d, *docs)))
    check({p[0] for p in said} == {"Gaps", "Verdict", "Rough", "Check"} and len(said) == 24, f"of six: {said}")


def workloads(d):
    """Units as the command prints them, titles that differ, and a curve from a sweep."""
    text = page_of(d, made.sim(), changed(made.sim(), ("seed",), 2))
    titles = re.findall(r"<figcaption>(What each policy.*?)<span>", text)
    check(len(titles) == 2 and len(set(titles)) == 2 and "page.json" in titles[0], f"titles {titles}")
    check("cycles a slot" in text and "cycles a switch, over" not in text, "cycles a slot")
    check("2.5 to 22" in text, "a share of a CPU is a range")
    text = page_of(d, *synthetic("--use", "none"))
    check("At most" not in text and "Made up, 3000" in text and "real machine" not in text, "what it was")
    check("Recorded, 1000 switches" in page_of(d, made.sim()), "and what that was")
    sweep = synthetic("--sweep", "8")
    text = page_of(d, *sweep)
    check(text.count('<figure class="chart">') == 1 and "Break-even in a sweep" in text, "one chart of a sweep")
    curves = re.findall(r'points="([^"]*)"', text)
    check(curves and all(len(c.split()) == 9 for c in curves), "with nine points in each curve")
    eager, lazy = (next(p for p in sweep[4]["policies"] if p["policy"] == n) for n in ("eager", "lazy"))
    middle = (lazy["cycles_low"] + lazy["cycles_high"]) / 2 / sweep[4]["totals"]["slots"]
    check(f">{middle:.1f}<" in text and eager["saves"] > 0, "the table has the command's figures")
    check(brief(text).count("<li>") == 1, "and one sentence")
    check(page_of(d, *sweep[:2]).count('<figure class="chart">') == 2, "two points are no sweep")


def fleet(d):
    rng = made.rng(11)
    hosts = [made.switch(rng, {"avx512": 0.08 + 0.001 * i, "x87": 0.02}, "Made", 200 + i % 3) for i in range(24)]
    said = brief(page_of(d, *hosts))
    check(said.count("costs a task switch most") == 1 and "24 runs on 3 CPU models" in said and
          "avx512 in both tasks" in said, f"a fleet in one sentence: {said}")
    effects = sorted(p["effect_percent"] for h in hosts for p in h["pairs"]
                     if p["id"] == "yield/process/avx512/both")
    check(f"{effects[0]:+.1f} to {effects[-1]:+.1f} from run to run" in said, f"its range: {said}")
    text = page_of(d, *hosts)
    outside = re.sub(r"<details>(?:(?!<details>).)*?</details>", "", text, flags=re.S)
    outside = re.sub(r"<details>(?:(?!<details>).)*?</details>", "", outside, flags=re.S)
    check(text.count('<figure class="chart">') > 24 and '<figure class="chart">' not in outside,
          "charts of many hosts are folded")
    folds = re.findall(r"<summary>(bench switch.*?)</summary>", text)
    check(len(set(folds)) == 24 and all(folds.count(x) == 2 for x in folds), f"and told apart: {folds[:3]}")
    markup(os.path.join(d, "page.html"), 24)
    check('<figure class="chart">' in page_of(d, *hosts[:2]), "of two they are not")
    check(brief(page_of(d, *hosts[:2])).count("costs a task switch most") == 2, "two hosts have one each")
    said = brief(page_of(d, made.merged()))
    check("20 hosts joined" in said and "+10.1 %" in said and "+3.2 %" in said, f"joined: {said}")


def words(d):
    rng = made.rng(3)
    blurred = made.switch(rng)
    blurred["controls"][2]["verdict"] = "not resolved"
    text = page_of(d, blurred)
    check(text.count("not resolved") >= 2 and "a dose was not told from nothing" in brief(text),
          "a dose that is not resolved")
    text = page_of(d, made.kernel(rng))
    check("38616" in text and "ratios 0.61, 0.61, 0.61 with both; 0.70" in text, "xor on record")
    once = page_of(d, blurred)
    r = run(write(d, "twice.json", blurred, blurred), "-o", os.path.join(d, "twice.html"))
    with open(os.path.join(d, "twice.html"), encoding="utf-8") as f:
        twice = f.read()
    check("left out: 1" in r.stderr, f"a copy is told: {r.stderr!r}")
    check(once.count("<figure") == twice.count("<figure"), "and shown once")
    path = write(d, "in.json", blurred)
    with open(path) as f:
        before = f.read()
    os.symlink(path, path + ".link")
    for out in (path, path + ".link"):
        r = run(path, "-o", out)
        with open(path) as f:
            check(r.returncode == 2 and "would replace it" in r.stderr and f.read() == before, f"-o an input: {r}")
    for text, says in [("hello", "line 1: no document"), ('{"a":1,"a":2}', "one key twice"),
                       ('{"schema":"x"', "ends in the middle"), ('{"schema":"\xff"}', "not UTF-8"),
                       ('{"schema":"x"}\n{"a" 1}', "line 2: it breaks off"), ("[" * 5000, "nested too deeply")]:
        with open(path, "w", encoding="latin-1") as f:
            f.write(text)
        r = run(path, "-o", "-")
        check(r.returncode == 2 and "not JSON" in r.stderr and says in r.stderr and "expected near" not in r.stderr,
              f"{text[:20]!r}: {r.stderr!r}")


class Markup(html.parser.HTMLParser):
    """Elements must be closed as they were opened, but for those that HTML closes itself."""
    OPEN = {"meta", "line", "rect", "circle", "polyline", "path", "tr", "td", "th", "tbody", "thead"}

    def __init__(self):
        super().__init__()
        self.stack, self.wrong, self.scripts, self.ids = [], [], 0, []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        for name, value in attrs.items():
            if name.startswith("on") or (name in ("src", "href") and not value.startswith("#")):
                self.wrong.append(f"{tag} {name}={value}")
        self.scripts += tag == "script"
        if tag not in self.OPEN:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag in self.OPEN:
            return
        if not self.stack or self.stack.pop() != tag:
            self.wrong.append(f"</{tag}>")


def markup(path, viewers):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    m = Markup()
    m.feed(text)
    check(not m.wrong and not m.stack, f"markup: {m.wrong[:5]} {m.stack[:5]}")
    check(m.scripts == 1 + viewers, f"{m.scripts} scripts")
    check(len(m.ids) == len(set(m.ids)), "ids are different")
    check("boom()" in text and "<script>boom" not in text, "names are shown, not run")
    check("http://" not in text.replace("http://www.w3.org/2000/svg", "") and "https://" not in text,
          "nothing from elsewhere")
    check("nan" not in re.sub(r"[A-Za-z]{4,}", "", text.lower()), "no NaN")


def in_browser(path, figures, pictures):
    where = browser.find()
    if not where:
        print("not looked at in a browser: no chromium here")
        return False
    b = browser.Browser(where)
    try:
        for width, dark in ((1100, False), (1100, True), (360, False), (360, True)):
            b.view(width, 800, dark)
            b.open(path)
            name = f"{width}{' dark' if dark else ''}"
            check(b.complaints() == [], f"{name}: console {b.complaints()}")
            check(b.run("document.documentElement.scrollWidth <= innerWidth"),
                  f"{name}: {b.run('document.documentElement.scrollWidth')} px wide")
            shown = b.run("[...document.querySelectorAll('figure.chart')].filter(f => f.closest('details') "
                          "|| [...f.querySelectorAll('svg')].filter(s => s.getBoundingClientRect().height "
                          "> 40).length === 1).length")
            check(shown == figures, f"{name}: {shown} charts of {figures} are seen")
            check(b.run("[...document.querySelectorAll('svg text')].every(t => {"
                        "const r = t.getBoundingClientRect(), s = t.closest('svg').getBoundingClientRect();"
                        "return !r.width || (r.left >= s.left - 1 && r.right <= s.right + 1)})"),
                  f"{name}: a chart's text is cut off: " + str(b.run(
                      "[...document.querySelectorAll('svg text')].filter(t => {"
                      "const r = t.getBoundingClientRect(), s = t.closest('svg').getBoundingClientRect();"
                      "return r.width && (r.left < s.left - 1 || r.right > s.right + 1)}).map(t => "
                      "t.textContent).slice(0, 4).join(';')")))
            small = b.run("Math.min(...[...document.querySelectorAll('svg text')].map(t => "
                          "t.getBoundingClientRect().height).filter(h => h))")
            check(small >= 11, f"{name}: text of {small} px")
            light = b.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]")
            check((light < 90) == dark, f"{name}: background {light}")
            if pictures:
                b.picture(os.path.join(pictures, name.replace(" ", "-") + ".png"))
        check(b.run("[...document.querySelectorAll('svg.wide, svg.narrow')].every(s => s.tabIndex === 0 && "
                    "s.getAttribute('aria-labelledby').split(' ').every(i => document.getElementById(i)"
                    ".textContent.length > 5))"), "charts can be reached and have a title and a description")
        check(b.run("[...document.querySelectorAll('figure.chart')].every(f => { let n = f.nextElementSibling;"
                    "return n && n.querySelector('table') })"), "every chart has its table")
        check(b.run("typeof boom") == "undefined" and b.run("window.ran") is None, "nothing was run")
        # Zooming: by a key, and back.
        zoom = ("(k => { const s = document.querySelector('.plot'); s.focus(); s.dispatchEvent(new "
                "KeyboardEvent('keydown', {key: k})); return document.querySelector('[role=status]')"
                ".textContent })")
        check(" 0 to 300" in b.run(zoom + "('0')"), "all samples at first")
        check(" 75 to 225" in b.run(zoom + "('+')"), f"zoomed in: {b.run(zoom + '(0)')}")
        check(b.run("document.querySelector('.plot path').getAttribute('d').split('M').length") > 100,
              "dots are drawn")
        check(b.run("document.querySelectorAll('nav a').length") > 8 and
              b.run("[...document.querySelectorAll('nav a')].every(a => document.querySelector("
                    "a.getAttribute('href')))"), "links lead somewhere")
    finally:
        b.close()
    return True


def good(d, pictures):
    rng = made.rng(4711)
    docs = [made.lab(), made.insn(rng), made.fiber(rng), made.switch(rng), made.merged(),
            made.sim(), made.kernel(rng)]
    paths = [write(d, f"{i}.json", doc) for i, doc in enumerate(docs)]
    out = os.path.join(d, "report.html")
    r = run(*paths, "-o", out)
    check(r.returncode == 0 and r.stdout == out + "\n", f"exit {r.returncode}: {r.stderr}")
    with open(out, encoding="utf-8") as f:
        text = f.read()
    figures = text.count('<figure class="chart">')
    for says in ["yield on bochs:tigerlake", "Eager or lazy", "Task switch by yield", "What a save",
                 "Controls of bench switch", "On record and here", "no corruption", "Made CPU",
                 "All hosts", "holds over all prices", "eager beats lazy here", "least work is done by <strong>laziest</strong>", "all were quiet"]:
        check(says in text, f"the page says {says!r}")
    markup(out, 2)
    # One at a time, nothing but what it has; and all in one stream.
    for path in paths:
        r = run(path, "-o", out + "1")
        check(r.returncode == 0, f"{path} alone: {r.stderr}")
    with open(out + "2", "w") as f:
        r = subprocess.run([XSTATE, "report", "-", "-o", "-"], stdout=f, text=True,
                           input="".join(json.dumps(x) for x in docs), timeout=60)
    check(r.returncode == 0 and os.path.getsize(out + "2") > 20000, "from standard input to output")
    return in_browser(out, figures, pictures)


with tempfile.TemporaryDirectory() as folder:
    refusals(folder)
    unsound(folder)
    incomplete(folder)
    alike(folder)
    workloads(folder)
    fleet(folder)
    words(folder)
    looked = good(folder, sys.argv[2] if len(sys.argv) > 2 else None)
print("ok" if not failures else f"{failures} failures")
sys.exit(1 if failures else 0 if looked else 77)
