#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""xstate bench insn, fiber and kernel from outside: exit statuses, the JSON's promises, Ctrl-C, and that the table
follows from the raw samples it comes with. No figure is believed, only their relations."""
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

XSTATE = os.path.abspath(sys.argv[1])
failures = 0


def run(*args, what="insn", **kw):
    return subprocess.run([XSTATE, "bench", what, *args], capture_output=True, text=True,
                          timeout=90, **kw)


def check(ok, what):
    global failures
    if not ok:
        failures += 1
        print("FAILED:", what)


def usage_errors():
    for args, says in [
        (["nosuch"], "no instruction is called 'nosuch'"),
        (["--claim", "0"], "between 0 and 100 %"),
        (["--claim", "150%"], "between 0 and 100 %"),
        (["--claim", "small"], "between 0 and 100 %"),
        (["--time", "0"], "time"),
        (["--time", "soon"], "time"),
        (["--cpu", "65000", "emms"], "CPU 65000"),
        (["--frobnicate"], "frobnicate"),
    ]:
        r = run(*args)
        want = 3 if "--cpu" in args else 2
        check(r.returncode == want, f"{args}: exit {r.returncode}, want {want}")
        check(says in r.stderr and r.stderr.count("\n") <= 2, f"{args} says {r.stderr!r}")
        check(r.stdout == "", f"{args} prints {r.stdout!r}")
    r = run("emms", "-t", "0.2s", "-o", "/nonexistent/costs.json")
    check(r.returncode == 2 and "cannot write /nonexistent/costs.json" in r.stderr,
          "unwritable output")


def listing():
    r = run("--list")
    check(r.returncode == 0 and "fxsave+fxrstor/sse" in r.stdout, "--list")
    doc = json.loads(run("--list", "-j", "fninit").stdout)
    check(doc["schema"] == "xstate.bench-list/1" and
          [(x["id"], x["available"]) for x in doc["rows"]] ==
          [("fninit", True), ("fninit/used", True)], f"--list -j: {doc}")


def spread(doc, row):
    """The median cost in cycles, again, from the raw samples alone."""
    arms = {a["name"]: a for a in doc["samples"]["arms"]}
    less, more = arms[row["id"] + " x1"], arms[row["id"] + " x2"]
    gone = set(less["dropped_blocks"]) | set(more["dropped_blocks"])
    rate = doc["samples"]["cycles_per_tick"]
    return [(more["ticks"][b] - less["ticks"][b]) * rate[b] / more["loops"]
            for b in range(doc["blocks_done"]) if b not in gone]


def table_follows_from_samples():
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "costs.json")
        r = run("fxsave", "fninit", "ldmxcsr", "-t", "1s", "--seed", "77", "-j", "-o", path)
        check(r.returncode == 0, f"exit {r.returncode}: {r.stderr}")
        doc = json.loads(r.stdout)
        with open(path) as f:
            check(json.load(f) == doc, "-o writes what -j prints")
        check(os.listdir(d) == ["costs.json"], "nothing else is left behind")
    check(doc["schema"] == "xstate.bench/1" and doc["kind"] == "insn", "schema")
    check(doc["seed"] == 77 and doc["complete"] and doc["blocks_done"] >= 20, "protocol")
    for key in ["cpu", "microcode", "kernel", "hypervisor", "mitigations", "tsc_hz",
                "tsc_invariant"]:
        check(key in doc["machine"], f"machine has {key}")
    check(doc["counters"] in ("read", "not available"), "counters")
    check((doc["counters"] == "read") == (doc["counters_reason"] is None), "counters' reason")
    ids = [c["id"] for c in doc["costs"]]
    check("fxsave/sse" in ids and "ldmxcsr/changed" in ids, f"rows {ids}")
    check(len(ids) == len(set(ids)), f"rows twice: {ids}")
    per = {"ldmxcsr/changed": 2 * 8, "ldmxcsr/same": 16, "fninit": 8, "fxsave/sse": 4}
    for c in doc["costs"]:
        ns = c["median_cycles"] / doc["cycles_per_tick"] / doc["machine"]["tsc_hz"] * 1e9
        check(math.isclose(ns, c["median_ns"], rel_tol=1e-6, abs_tol=1e-9), f"ns of {c['id']}")
        check(c["low_quartile_cycles"] <= c["median_cycles"] <= c["high_quartile_cycles"],
              "quartiles")
        if c["id"] in per:
            x = [v / per[c["id"]] for v in spread(doc, c)]
            check(len(x) == c["blocks"], f"blocks of {c['id']}")
            # Ticks are written rounded, so this agrees to about a tick in a slice.
            check(abs(statistics.median(x) - c["median_cycles"]) < 0.01, f"median of {c['id']}")
    check([c["name"] for c in doc["controls"]] == ["A/A", "dose 1", "dose 2"], "controls")
    check(doc["controls"][0]["truth_percent"] == 0, "A/A is 0")
    check(0.05 < doc["controls"][1]["truth_percent"] < 1, "dose 1")


def refusals():
    # A hundred-thousandth of a percent is beyond any machine; so is a claim cut short.
    r = run("--claim", "0.00001%", "-t", "0.5s", "-j")
    doc = json.loads(r.stdout)
    check(r.returncode == 1 and doc["claim"]["resolvable"] is False,
          "an impossible claim is refused")
    check(len(doc["claim"]["reason"]) > 20, "with a reason")
    r = run("--claim", "0.00001%", "-t", "0.5s")
    check(r.returncode == 1 and "Refused: " in r.stdout, "in words too")


def company():
    """Two busy loops beside it: refused, however modest the claim."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        r = run("--claim", "90%", "-t", "3s", "-j")
    finally:
        for p in loops:
            p.kill()
            p.wait()
    doc = json.loads(r.stdout)
    check(r.returncode == 1 and not doc["claim"]["resolvable"], "refused beside two busy loops")
    check("not quiet" in doc["claim"]["reason"], f"because of them: {doc['claim']['reason']}")
    check(doc["noise"]["others_cpus"] > 0.25, "and they are seen")


def interrupt():
    for extra, want in [(["fxsave"], 0), (["--claim", "0.2%"], 1)]:
        p = subprocess.Popen([XSTATE, "bench", "insn", "-t", "60s", "-j", *extra],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(3)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=30)
        check(p.returncode == want, f"{extra} interrupted: exit {p.returncode}: {err}")
        doc = json.loads(out)
        check(not doc["complete"] and 0 < doc["blocks_done"] < doc["blocks_planned"],
              "what is known so far")
        check(len(doc["samples"]["arms"][0]["ticks"]) == doc["blocks_done"], "raw samples so far")


def few_blocks():
    """What a few blocks do not tell is said in words; no figure is "nan"."""
    for what in ("insn", "kernel"):
        p = subprocess.Popen([XSTATE, "bench", what, "-t", "60s"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        time.sleep(1.5)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=30)
        check(p.returncode in (0, 1), f"{what} interrupted: exit {p.returncode}: {err}")
        check(not re.search(r"(?i)\bnan\b", out), f"{what}: {re.findall('.*nan.*', out)[:3]}")


def keys(x):
    if isinstance(x, dict):
        for k, v in x.items():
            yield k
            if k not in ("mitigations", "dropped"):
                yield from keys(v)
    elif isinstance(x, list):
        for v in x[:1]:
            yield from keys(v)


def fiber():
    """Ratios and rulings follow from the raw samples; what a build lacks is said."""
    for args, says in [(["xsavec"], "unexpected argument 'xsavec'"), (["--list"], "--list"),
                       (["--must-reach=1"], "--must-reach")]:
        r = run(*args, what="fiber")
        check(r.returncode == 2 and says in r.stderr and r.stdout == "", f"fiber {args}: {r}")
    r = run("-t", "0.5s", "--seed", "5", "-j", what="fiber")
    check(r.returncode == 0, f"fiber: exit {r.returncode}: {r.stderr}")
    doc = json.loads(r.stdout)
    check(doc["schema"] == "xstate.bench/1" and doc["kind"] == "fiber", "fiber's schema")
    rows = {(x["id"], x["live"]): x for x in doc["switches"]}
    check(len(rows) == len(doc["switches"]) == 40, f"{len(rows)} rows")
    arms = {a["name"]: a for a in doc["samples"]["arms"]}
    rate = doc["samples"]["cycles_per_tick"]
    for (name, live), x in rows.items():
        check(x["available"] == (x["reason"] is None), f"{name}/{live}: reason")
        if not x["available"]:
            continue
        arm = arms[f"{name}/{live}"]
        gone = set(arm["dropped_blocks"])
        level = [arm["ticks"][b] * rate[b] / arm["loops"] / x["switches_per_loop"]
                 for b in range(doc["blocks_done"]) if b not in gone]
        check(len(level) == x["blocks"], f"{name}/{live}: blocks")
        if level:
            check(math.isclose(statistics.median(level), x["median_cycles"], rel_tol=1e-3),
                  f"{name}/{live}: median")
        if name == "pair" and x["ratio"] is not None:
            check(math.isclose(x["ratio"], 1), f"pair/{live} against itself: {x['ratio']}")
    goals = [(g["goal"], g["live"]) for g in doc["must_reach"]]
    check(("init-switch", "INIT") in goals and ("eager-switch", "SSE") in goals, f"goals {goals}")
    for g in doc["must_reach"]:
        want = ("not measured" if g["high_ratio"] is None
                else "reached" if g["high_ratio"] <= g["limit_ratio"]
                else "missed" if g["low_ratio"] > g["limit_ratio"] else "undecided")
        check(g["ruling"] == want, f"ruling of {g}")
    missed = any(g["ruling"] == "missed" for g in doc["must_reach"])
    r = run("-t", "0.5s", "--must-reach", what="fiber")
    check(r.returncode in (0, 1) and (r.returncode == 1) == ("missed" in r.stdout),
          f"--must-reach: exit {r.returncode}, {missed}")
    documented(doc, "fiber")


def documented(doc, what):
    """Each key of a run, and each option of its verb, has its line."""
    docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
    with open(os.path.join(docs, "json.md")) as f:
        described = f.read()
    for key in set(keys(doc)) - {"schema"}:
        check(f"`{key}`" in described, f"docs/json.md describes {key}")
    with open(os.path.join(docs, "man", "xstate-bench.1.scd")) as f:
        manual = f.read()
    for option in re.findall(r"^ +(?:-[a-z], )?(--[a-z-]+)", run("--help", what=what).stdout, re.M):
        check(option in manual, f"{option} is in the manual page")


def kernel():
    """Sections: figures follow from the samples, and the library loaded what was not in place only."""
    for args, says in [(["xor"], "unexpected argument 'xor'"), (["--time", "soon"], "--time")]:
        r = run(*args, what="kernel")
        check(r.returncode == 2 and says in r.stderr and r.stdout == "", f"kernel {args}: {r}")
    r = run("-t", "1s", "--seed", "5", "-j", what="kernel")
    check(r.returncode == 0, f"kernel: exit {r.returncode}: {r.stderr}")
    doc = json.loads(r.stdout)
    check(doc["schema"] == "xstate.bench/1" and doc["kind"] == "kernel", "kernel's schema")
    rows = {x["id"]: x for x in doc["sections"]}
    arms = {a["name"]: a for a in doc["samples"]["arms"]}
    rate = doc["samples"]["cycles_per_tick"]
    sections = 0
    for name, x in rows.items():
        check(x["available"] == (x["reason"] is None), f"{name}: reason")
        if not x["available"]:
            continue
        arm = arms[name]
        level = [arm["ticks"][b] * rate[b] / arm["loops"] for b in range(doc["blocks_done"])
                 if b not in arm["dropped_blocks"]]
        check(len(level) == x["blocks"], f"{name}: blocks")
        if level:
            per_loop = statistics.median(level) / x["median_cycles"]
            check(abs(per_loop - round(per_loop)) < 0.01 * per_loop, f"{name}: median")
            sections += arm["loops"] * round(per_loop) * len(level) if x["library"] else 0
    # What was counted: each section that a sample stands for, and no value loaded in those that
    # declare nothing or find it in place.
    count = doc["counters"]
    check(count["kernel_sections"] >= sections > 0, f"{count} for {sections} sections")
    check(0 < count["kernel_init_x87"] < count["kernel_sections"] / 2 and
          0 < count["kernel_init_mxcsr"] < count["kernel_sections"] / 2 and
          count["kernel_saves"] <= 1, f"nothing is paid twice: {count}")
    check({g["goal"] for g in doc["must_reach"]} >= {"need-0", "need-mxcsr", "need-x87"}, "goals")
    for g in doc["must_reach"]:
        check(g["row"] in rows and g["ruling"] in ("reached", "missed", "undecided", "not measured"),
              f"ruling of {g}")
    documented(doc, "kernel")



def documents_agree():
    """Options in the help, in the manual page, and keys in docs/json.md are the same ones."""
    docs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
    with open(os.path.join(docs, "man", "xstate-bench.1.scd")) as f:
        manual = f.read()
    with open(os.path.join(docs, "json.md")) as f:
        described = f.read()
    for option in re.findall(r"^ +(?:-[a-z], )?(--[a-z]+)", run("--help").stdout, re.M):
        check(option in manual, f"{option} is in the manual page")
    examples = re.findall(r"^\txstate bench insn(.*)$", manual, re.M)
    check(len(examples) >= 4, "examples in the manual page")
    with tempfile.TemporaryDirectory() as d:
        for example in examples:
            r = run(*example.split(), "-t", "0.5s", cwd=d)
            check(r.returncode in (0, 1) and r.stdout, f"xstate bench insn{example}: {r.stderr}")
    doc = json.loads(run("emms", "-t", "0.2s", "-j", "--claim", "50%").stdout)
    for key in set(keys(doc)) - {"schema"}:
        check(f"`{key}`" in described, f"docs/json.md describes {key}")


for test in (documents_agree, usage_errors, listing, table_follows_from_samples, fiber, kernel, refusals,
             company, interrupt, few_blocks):
    test()
print("ok" if not failures else f"{failures} failures")
sys.exit(failures != 0)
