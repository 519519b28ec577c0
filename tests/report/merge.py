#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""xstate bench merge: fleets of simulated hosts whose truth is known have to give it back, over and
over; runs of one host, files and SQLite are joined; and what is no result is refused."""
import csv
import io
import json
import math
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

import made

XSTATE = os.path.abspath(sys.argv[1])
FLEETS = int(sys.argv[2]) if len(sys.argv) > 2 else 120
SEED = 20240611
failures = 0

# Three CPU models: two with the same truth, a third with another; hosts of a model differ by TAU.
MODELS = [("GenuineIntel 6/207", 207, 0.100), ("GenuineIntel 6/143", 143, 0.100),
          ("GenuineIntel 6/85", 85, 0.080)]
TAU, SE, HOSTS = 0.004, 0.003, 8


def check(ok, what):
    global failures
    if not ok:
        failures += 1
        print("FAILED:", what)


def merge(*args, **kw):
    return subprocess.run([XSTATE, "bench", "merge", *args], capture_output=True, text=True,
                          timeout=60, **kw)


def host(rng, model, truth, se=SE, quiet=True):
    """A host: its own truth is drawn round its model's, its error is known but differs by host."""
    doc = made.switch(rng, {"avx512": rng.gauss(truth, TAU)}, "Simulated", model,
                      se * rng.uniform(0.5, 2))
    doc["pairs"] = doc["pairs"][:2]
    del doc["samples"]
    doc["controls"][0]["found"] = quiet
    return doc


def fleet(rng):
    return [host(rng, model, truth) for _, model, truth in MODELS for _ in range(HOSTS)]


def ask(docs, *args):
    r = merge("-", "-j", *args, input="\n".join(json.dumps(d) for d in docs))
    check(r.returncode == 0, f"exit {r.returncode}: {r.stderr}")
    return json.loads(r.stdout)


def truth_comes_back(rng):
    held = next_held = tau = found = false = 0
    for _ in range(FLEETS):
        doc = ask(fleet(rng))
        check(doc["hosts"] == len(MODELS) * HOSTS and doc["runs"] == doc["hosts"], "all hosts")
        row, = doc["rows"]
        groups = {g["cpu"]: g for g in row["groups"]}
        for name, _, truth in MODELS:
            g = groups[name]
            held += g["low_percent"] <= 100 * math.expm1(truth) <= g["high_percent"]
            another = 100 * math.expm1(rng.gauss(truth, TAU))
            next_held += g["next_low_percent"] <= another <= g["next_high_percent"]
            tau += g["tau_percent"]
        differ = {frozenset((d["a"], d["b"])) for d in row["differ"]}
        found += frozenset((MODELS[0][0], MODELS[2][0])) in differ
        false += frozenset((MODELS[0][0], MODELS[1][0])) in differ
    n = FLEETS * len(MODELS)
    print(f"{FLEETS} fleets of {len(MODELS) * HOSTS} hosts, seed {SEED}: intervals hold the truth "
          f"{held / n:.1%}, a further host {next_held / n:.1%}; mean spread {tau / n:.3f} % "
          f"(true {100 * TAU:.3f}); the model that differs is found {found / FLEETS:.1%}, one that "
          f"does not {false / FLEETS:.1%}")
    # 95 % +- 3.3 standard errors of the number of intervals looked at.
    slack = 3.3 * math.sqrt(0.95 * 0.05 / n)
    check(0.95 - slack <= held / n <= 0.99, "intervals hold the truth")
    check(0.95 - slack <= next_held / n, "intervals of a further host")
    check(0.6 * TAU < tau / n / 100 < 1.4 * TAU, "the spread of hosts")
    check(found / FLEETS > 0.9, "a difference of 2 % is found")
    check(false / FLEETS <= 0.05, "equal models agree")


def twin_is_caught(rng):
    """Hosts taken for copies of each other would be far too sure: the test must be able to tell."""
    held = n = 0
    for _ in range(FLEETS):
        for _, _, truth in MODELS:
            w = y = 0
            for _ in range(HOSTS):
                se = SE * rng.uniform(0.5, 2)
                w += 1 / se ** 2
                y += rng.gauss(rng.gauss(truth, TAU), se) / se ** 2
            held += abs(y / w - truth) < 1.96 / math.sqrt(w)
            n += 1
    check(held / n < 0.90, f"equal-hosts intervals hold the truth {held / n:.1%}: no test of anything")


def runs_and_files(rng, d):
    docs = fleet(rng)
    again = json.loads(json.dumps(docs[0]))
    again["seed"] += 1
    doc = ask(docs + [again])
    check(doc["runs"] == 25 and doc["hosts"] == 24, "two runs of one boot are one host")
    copies = [json.loads(json.dumps(docs[0])) for _ in range(3)]
    for c in copies:
        del c["boot"]
    doc = ask(copies)
    check(doc["runs"] == 1 and doc["hosts"] == 1 and doc["copies"] == 2, "copies of a run count once")
    check(doc["rows"] == ask(copies[:1])["rows"], "and make nothing surer")
    doc = ask([docs[0]] + copies)
    check(doc["runs"] == 1 and doc["copies"] == 3, "a copy without its boot is a copy")
    paths = []
    for i, c in enumerate(copies):
        paths.append(os.path.join(d, f"copy{i}.json"))
        with open(paths[-1], "w") as f:
            json.dump(c, f)
    r = merge(*paths)
    check("1 runs on 1 hosts" in r.stdout and "count once: 2" in r.stderr, f"told: {r.stderr!r}")
    copies[1]["seed"] += 1
    check(ask(copies)["runs"] == 2, "another seed is another run")
    before = os.path.getsize(paths[0])
    r = merge(paths[0], "-o", paths[0])
    check(r.returncode == 2 and "would replace it" in r.stderr and os.path.getsize(paths[0]) == before,
          f"-o an input: {r.stderr!r}")
    one = ask([docs[0], docs[8]])
    for g in one["rows"][0]["groups"]:
        check(g["hosts"] == 1 and g["equal_p"] is None, "single hosts")
    path = os.path.join(d, "a.json")
    with open(path, "w") as f:
        json.dump(docs[0], f)
    db = os.path.join(d, "fleet.db")
    connection = sqlite3.connect(db)
    connection.execute("CREATE TABLE run (id INTEGER PRIMARY KEY, schema TEXT NOT NULL, kind TEXT, date "
                       "TEXT, cpu TEXT, kernel TEXT, document TEXT NOT NULL)")
    connection.executemany("INSERT INTO run (schema, document) VALUES ('xstate.bench/1', ?)",
                           [(json.dumps(x),) for x in docs[1:]])
    connection.commit()
    connection.close()
    r = merge(path, db, "-j")
    if "without SQLite" not in r.stderr:
        check(r.returncode == 0 and json.loads(r.stdout)["rows"] == ask(docs)["rows"], f"SQLite: {r.stderr}")
        rows = list(csv.DictReader(io.StringIO(merge(path, db, "--csv").stdout)))
        check(len(rows) == 24 and rows[0]["id"] == "yield/process/avx512/both", "CSV")
        # Written by a benchmark, read by the merge and by SQL.
        new = os.path.join(d, "new.db")
        for _ in range(2):
            r = subprocess.run([XSTATE, "bench", "switch", "yield/thread", "-t", "1s", "--db", new],
                               capture_output=True, text=True, timeout=60)
            check(r.returncode == 0, f"--db: {r.stderr}")
        connection = sqlite3.connect(new)
        check(connection.execute("SELECT count(*) FROM run").fetchone() == (2,), "two runs")
        check(connection.execute("SELECT count(*) FROM pairs WHERE id = 'yield/thread/none'").fetchone()
              == (2,), "the view")
        connection.close()
        r = merge(new, "-j")
        check(r.returncode == 2 or json.loads(r.stdout)["hosts"] == 1, f"own database: {r.stderr}")
    out = os.path.join(d, "m.json")
    check(merge(path, "-o", out).returncode == 0, "-o")
    with open(out) as f:
        check(json.load(f)["schema"] == "xstate.merge/1", "-o is JSON")
    loud = [host(rng, 207, 0.1, quiet=False) for _ in range(3)] + docs[:3]
    check(ask(loud)["runs_not_quiet"] == 3 and ask(loud, "--strict")["hosts"] == 3, "--strict")


def refusals(d):
    text = os.path.join(d, "text")
    with open(text, "w") as f:
        f.write("SQLite format 3\0 but not really" + "\0" * 200)
    for args, stdin, says in [([], "", "nothing to join"), (["-"], "", "is empty"),
                              (["-"], '{"schema":"xstate.lab/1","results":[]}', "none of these is a run"),
                              (["-"], '{"schema":"xstate.bench/1"}', "kind is not text"),
                              (["-"], '{"schema":"xstate.bench/1","kind":"switch"}', "machine is not"),
                              (["-", "--csv", "-j"], '{"schema":"xstate.lab/1","results":[]}',
                               "--csv and --json"),
                              (["-"], '{"schema":', "not JSON"), ([text], "", "text: "),
                              (["/nonexistent"], "", "/nonexistent")]:
        r = merge(*args, input=stdin)
        stdout = "" if "-j" in args else r.stdout  # with -j it is there as well
        check(r.returncode == 2 and says in r.stderr and r.stderr.count("\n") == 1 and not stdout,
              f"{args} {stdin!r}: exit {r.returncode}, {r.stderr!r}")


def documented():
    doc = ask(fleet(random.Random(1)))
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "..", "..", "docs", "json.md")) as f:
        described = f.read()

    def keys(x):
        for k, v in x.items() if isinstance(x, dict) else enumerate(x):
            if isinstance(k, str):
                yield k
            if isinstance(v, (dict, list)):
                yield from keys(v)
    for key in set(keys(doc)) - {"schema"}:
        check(f"`{key}`" in described, f"docs/json.md describes {key}")


with tempfile.TemporaryDirectory() as folder:
    truth_comes_back(random.Random(SEED))
    twin_is_caught(random.Random(SEED))
    runs_and_files(random.Random(SEED), folder)
    refusals(folder)
    documented()
print("ok" if not failures else f"{failures} failures")
sys.exit(failures != 0)
