#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""xstate bench switch from outside: statuses, the JSON's relations, an older run, Ctrl-C, CSV. No
figure is believed, only their relations. With 'beside': another program in the same blocks."""
import csv
import io
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
DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
failures = 0


def run(*args, **kw):
    return subprocess.run([XSTATE, "bench", "switch", *args], capture_output=True, text=True,
                          timeout=100, **kw)


def check(ok, what):
    global failures
    if not ok:
        failures += 1
        print("FAILED:", what)


def usage_errors(d):
    broken, other = os.path.join(d, "broken"), os.path.join(d, "other")
    with open(broken, "w") as f:
        f.write('{"schema":')
    with open(other, "w") as f:
        f.write('{"schema":"xstate.lab/1","results":[]}')
    for args, says in [(["nosuch"], "no row is called 'nosuch'"),
                       (["--claim", "0"], "between 0 and 100 %"),
                       (["--time", "soon"], "time"),
                       (["--against", "/nonexistent"], "/nonexistent"),
                       (["--against", broken], "not JSON"),
                       (["--against", other], "no run of xstate bench switch"),
                       (["--against", other, "-o", other], "would replace the run"),
                       (["--list", "--csv"], "so --csv has no meaning"),
                       (["--list", "-o", os.path.join(d, "o")], "so --output has no meaning"),
                       (["--db", "/dev/full", "-t", "60s"], "no regular file"),
                       (["--db", d, "-t", "60s"], "no regular file"),
                       (["--db", broken, "-t", "60s"], "broken: "),
                       (["--db", "/nonexistent/x.db", "-t", "60s"], "cannot be made"),
                       (["--frobnicate"], "frobnicate")]:
        r = run(*args)
        check(r.returncode == 2, f"{args}: exit {r.returncode}")
        check(says in r.stderr and r.stderr.count("\n") <= 2, f"{args} says {r.stderr!r}")
        check(r.stdout == "", f"{args} prints {r.stdout!r}")


def asked_in_vain(d):
    """What cannot be had is told before anything is measured, and not answered with something else."""
    begin = time.monotonic()
    r = run("--csv", "-j")
    check(r.returncode == 2 and "two forms of one answer" in r.stderr, f"--csv -j: {r.stderr!r}")
    rows = json.loads(run("--list", "-j").stdout)["rows"]
    for row in [x for x in rows if not x["available"]][:2]:
        r = run(row["id"], "-t", "60s", "-o", os.path.join(d, "vain.json"))
        check(r.returncode == 3 and row["reason"] in r.stderr and r.stdout == "", f"{row['id']}: {r}")
    r = run("pipe/process/none", "--beside", "no-such-program", "-t", "60s")
    check(r.returncode == 3 and "finds no such program" in r.stderr, f"--beside: {r.stderr!r}")
    check(time.monotonic() - begin < 20, "at once")
    check(not os.path.exists(os.path.join(d, "vain.json")) and not os.path.exists("/dev/full-journal"),
          "and leaves nothing")
    # Nor does asking about a place for runs leave anything there.
    fresh = os.path.join(d, "fresh.db")
    r = run("nosuch", "--db", fresh)
    check(r.returncode == 2 and not os.path.exists(fresh), "no database before there is a run")


def listing():
    doc = json.loads(run("--list", "-j").stdout)
    ids = [x["id"] for x in doc["rows"]]
    check(len(ids) == len(set(ids)) and doc["kind"] == "switch", "ids are different")
    for touch in ["x87", "sse", "avx", "avx-vzeroupper", "avx-vzeroall", "avx512", "amx", "pkru"]:
        for tasks in ["one", "both"]:
            check(f"yield/process/{touch}/{tasks}" in ids, f"{touch}/{tasks} is listed")
    for pair in ["yield/thread", "pipe/process", "pipe/thread", "futex/process", "udp/process",
                 "tcp/process", "pipe/idle"]:
        check(f"{pair}/none" in ids, f"{pair} is listed")
    check("yield/process/avx/both" in run("--list", "yield").stdout, "--list for people")


def keys(x):
    if isinstance(x, dict):
        for k, v in x.items():
            yield k
            if k not in ("mitigations", "dropped"):
                yield from keys(v)
    elif isinstance(x, list):
        for v in x:
            yield from keys(v)


def copies(arms, name):
    """A base is measured several times in a block."""
    return [a for n, a in arms.items() if n == name or n.startswith(name + " #")]


def relations(d):
    """Rates, effects and their base follow from the raw samples alone."""
    path = os.path.join(d, "old.json")
    r = run("yield/process", "pipe/process", "-t", "3s", "--seed", "9", "-o", path, "-j")
    check(r.returncode == 0, f"exit {r.returncode}: {r.stderr}")
    doc = json.loads(r.stdout)
    with open(path) as f:
        check(json.load(f) == doc, "-o writes what -j prints")
    check(doc["schema"] == "xstate.bench/1" and doc["kind"] == "switch", "schema")
    arms = {a["name"]: a for a in doc["samples"]["arms"]}
    hz = doc["machine"]["tsc_hz"]
    measured = {p["id"]: p for p in doc["pairs"] if p["available"]}
    check("yield/process/sse/both" in measured and "pipe/process/none" in measured, "rows")
    for p in doc["pairs"]:
        check(p["available"] == (p["reason"] is None), f"{p['id']}: reason")
    for name, p in measured.items():
        arm = arms[name]
        gone = set(arm["dropped_blocks"])
        kept = [a["ticks"][b] / a["loops"] for a in copies(arms, name)
                for b in range(doc["blocks_done"]) if b not in a["dropped_blocks"]]
        check(len(kept) == p["blocks"], f"{name}: blocks")
        if not kept:
            continue
        check(math.isclose(statistics.median(kept) / hz * 1e9, p["median_ns_per_loop"],
                           rel_tol=1e-3), f"{name}: median")
        check(math.isclose(p["loops_in_2_s"] * p["median_ns_per_loop"], 2e9, rel_tol=1e-6),
              f"{name}: loops in 2 s")
        check(math.isclose(p["will_it_scale_per_s"] * p["median_ns_per_loop"], 2e9, rel_tol=1e-6),
              f"{name}: will-it-scale's figure counts both switches of a loop")
        check(math.isclose(p["switches_per_s"] * p["median_ns_per_loop"],
                           1e9 * p["switches_per_loop"], rel_tol=1e-6), f"{name}: switches")
        # A real switch each way: the kernel counted them.
        check(1.9 < p["switches_per_loop"] < 2.1, f"{name}: {p['switches_per_loop']} switches")
        if p["base"] is None or p["low_percent"] is None:
            continue
        bases = copies(arms, p["base"])
        check(len(bases) == (4 if name.startswith("yield") else 2), f"{name}: copies of the base")
        logs = []
        for b in range(doc["blocks_done"]):
            to = [math.log(a["ticks"][b]) for a in bases if b not in a["dropped_blocks"]]
            if b not in gone and to:
                logs.append(math.log(arm["ticks"][b]) - statistics.mean(to))
        logs.sort()
        cut = int(0.1 * len(logs))
        middle = statistics.mean(logs[cut:len(logs) - cut])
        check(abs(100 * math.expm1(middle) - p["effect_percent"]) < 0.02, f"{name}: effect")
        check(p["low_percent"] <= p["effect_percent"] <= p["high_percent"], f"{name}: interval")
    check([c["name"] for c in doc["controls"]] == ["A/A", "dose 1", "dose 2"], "controls")
    check(0.01 < doc["controls"][1]["truth_percent"] < 1, "a dose is small")
    return path


def beside_old(old):
    """On a crowded machine so many samples may be dropped that nothing is left to compare."""
    for seconds in (1, 2, 4, 8):
        r = run("yield/process", "--against", old, "-t", f"{seconds}s", "-j")
        check(r.returncode == 0, f"--against: exit {r.returncode}: {r.stderr}")
        doc = json.loads(r.stdout)
        rows = {c["id"]: c for c in doc["against"]["changes"]}
        if rows["yield/process/sse/both"]["verdict"] != "not compared":
            break
    return doc, rows


def against(old):
    doc, rows = beside_old(old)
    check(doc["against"]["same_boot"] is True and doc["against"]["differs"] == [], "the same boot")
    check(rows["yield/process/none"]["verdict"] == "not compared", "times are not compared")
    check(rows["pipe/process/none"]["new_ns_per_loop"] is None, "what was not measured now")
    c = rows["yield/process/sse/both"]
    check(c["verdict"] in ("changed", "no change seen"), "effects are")
    check((c["verdict"] == "changed") == (c["low_percent"] > 0 or c["high_percent"] < 0), "verdict")
    with open(old) as f:
        text = f.read()
    elsewhere = json.loads(text)
    elsewhere["boot"], elsewhere["machine"]["kernel"] = "another", "2.6.32"
    for p in elsewhere["pairs"]:
        if p.get("log_ratio_se"):
            p["log_ratio"] += 0.7  # an effect that halved since
    with open(old, "w") as f:
        json.dump(elsewhere, f)
    doc, rows = beside_old(old)
    check(doc["against"]["same_boot"] is False and len(doc["against"]["differs"]) == 2,
          f"what differs: {doc['against']['differs']}")
    check(rows["yield/process/sse/both"]["verdict"] == "changed", "a halved effect is seen")
    r = run("yield/process/sse", "--against", old, "-t", "0.5s")
    check("What cannot" in r.stdout and "2.6.32 then" in r.stdout, "for people")
    return keys(doc)


def csv_and_claim():
    rows = list(csv.DictReader(io.StringIO(run("pipe/thread", "-t", "0.5s", "--csv").stdout)))
    check([x["id"] for x in rows][:2] == ["pipe/thread/none", "pipe/thread/sse/both"], "CSV")
    check(float(rows[0]["loops_in_2_s"]) > 0 and rows[0]["effect_percent"] == "", "CSV's figures")
    r = run("yield/thread", "-t", "0.5s", "--claim", "0.00001%", "-j")
    check(r.returncode == 1 and not json.loads(r.stdout)["claim"]["resolvable"], "refused")


def interrupt():
    p = subprocess.Popen([XSTATE, "bench", "switch", "-t", "60s", "-j", "yield"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(3)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=30)
    check(p.returncode == 0, f"interrupted: exit {p.returncode}: {err}")
    doc = json.loads(out)
    check(not doc["complete"] and 0 < doc["blocks_done"] < doc["blocks_planned"], "known so far")
    left = subprocess.run(["pgrep", "-P", str(p.pid)], capture_output=True, text=True).stdout
    check(left == "", f"no partner is left: {left}")


def documents(found):
    with open(os.path.join(DOCS, "json.md")) as f:
        described = f.read()
    for key in set(found) - {"schema"}:
        check(f"`{key}`" in described, f"docs/json.md describes {key}")
    with open(os.path.join(DOCS, "man", "xstate-bench.1.scd")) as f:
        manual = f.read()
    for option in re.findall(r"^ +(?:-[a-z], )?(--[a-z-]+)", run("--help").stdout, re.M):
        check(option in manual, f"{option} is in the manual page")


def beside(d):
    """A stand-in for will-it-scale: prints what it is told to, and its first line lies."""
    program = os.path.join(d, "program")
    with open(program, "w") as f:
        f.write("#!/bin/sh\necho testcase:none\necho 'min:1 max:1 total:7'\n"
                "while sleep 0.1; do echo 'min:1 max:1 total:100000'; done\n")
    os.chmod(program, 0o755)
    r = run("pipe/process/none", "--beside", program, "-t", "1s", "-j")
    check(r.returncode == 0, f"--beside: exit {r.returncode}: {r.stderr}")
    b = json.loads(r.stdout)["beside"]
    check(b["blocks"] == 20 and len(b["their_per_s"]) == 20, f"blocks {b['blocks']}")
    # 100000 in a tenth of a second, and the sleep's own overhead.
    check(3e5 < b["their_median_per_s"] < 1.01e6, f"their rate {b['their_median_per_s']}")
    want = statistics.mean(math.log(t / o) for t, o in zip(b["their_per_s"], b["our_per_s"]))
    check(abs(math.log1p(b["difference_percent"] / 100) - want) < 0.3, "the difference")
    r = run("pipe/process/none", "--beside", "echo nothing", "-t", "1s")
    check(r.returncode == 3 and "total:NUMBER" in r.stderr, f"silent program: {r.stderr}")
    documents(keys({"beside": b}))


with tempfile.TemporaryDirectory() as folder:
    if sys.argv[2:] == ["beside"]:
        beside(folder)
    else:
        usage_errors(folder)
        asked_in_vain(folder)
        listing()
        documents(against(relations(folder)))
        csv_and_claim()
        interrupt()
print("ok" if not failures else f"{failures} failures")
sys.exit(failures != 0)
