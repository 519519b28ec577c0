#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""xstate report: its statuses, that nothing of a file becomes markup, and the page in a browser."""
import html.parser
import json
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
            made.sim()]
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
    looked = good(folder, sys.argv[2] if len(sys.argv) > 2 else None)
print("ok" if not failures else f"{failures} failures")
sys.exit(1 if failures else 0 if looked else 77)
