# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of xstate sim and xstate record share: PART XSTATE SOURCE on the command line."""
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile

part, XSTATE, SOURCE = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3]
SHARED = os.environ.get("XST_SHARED") or os.path.join(SOURCE, "..", "shared")
DATA = os.path.join(SOURCE, "tests", "data", "traces")
POLICIES = ["eager", "eager-keep", "lazy", "lazy-preload", "lazy-keep", "deferred", "laziest", "auto"]
failures = 0
tmp = tempfile.TemporaryDirectory()


def at(name):
    return os.path.join(tmp.name, name)


def run(*args, data=None, env=None):
    return subprocess.run([XSTATE, *args], input=data, capture_output=True, timeout=120,
                          env={**os.environ, **(env or {})})


def check(ok, what):
    global failures
    if not ok:
        failures += 1
        print("FAILED:", what)
    return ok


def sim(*args, data=None):
    r = run("sim", "-j", *args, data=data)
    check(r.returncode == 0, f"{args}: exit {r.returncode}, {r.stderr.decode()}")
    return [json.loads(line) for line in r.stdout.decode().splitlines()] if r.returncode == 0 else [None]


COUNTERS = ["switches", "validations", "saves", "saves_elided", "loads", "loads_skipped_owner",
            "loads_elided_init", "loads_failed", "preloads", "probes", "traps", "ts_writes", "init_reads",
            "interrupts"]


def counts(doc):
    return {(p["policy"], p["hypothesis"]): [p[c] for c in COUNTERS] for p in doc["policies"]}


def row(doc, policy):
    return next(p for p in doc["policies"] if p["policy"] == policy and p["hypothesis"] is None)


def balanced(doc, what):
    for p in doc["policies"]:
        check(p["validations"] == p["loads"] + p["loads_skipped_owner"] + p["loads_elided_init"] +
              p["loads_failed"], f"{what}, {p['policy']}: validations do not add up")


def error(r, status, words, what):
    text = r.stderr.decode()
    check(r.returncode == status, f"{what}: exit {r.returncode}, want {status}: {text}")
    check(words in text and text.count("\n") == 1 and len(text) < 400, f"{what} says {text!r}")
    check(r.stdout == b"", f"{what} prints {r.stdout[:80]!r}")


def documented(doc):
    """Every key of a document is named in its schema's section of docs/json.md, in the row of what it is in."""
    with open(os.path.join(SOURCE, "docs", "json.md")) as f:
        section = f.read().split(f"\n## {doc['schema']}\n")[1].split("\n## ")[0]
    rows = {}
    for line in section.splitlines():
        if line.startswith("| `"):
            of, about = line[2:].split(" | ", 1)
            for key in re.findall(r"`(\w+)`", of):
                rows[key] = set(re.findall(r"`(\w+)`", about))
    prose = set(re.findall(r"`(\w+)`", section.split("\n|")[0]))

    def keys(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key
                yield from keys(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from keys(inner)

    for key, value in doc.items():
        check(key == "schema" or key in rows or key in prose, f"docs/json.md: {doc['schema']} has no key {key}")
        known = rows.get(key, set()) | (rows["policies"] if key == "cpus" else set())
        for inner in set(keys(value)):
            check(inner in known, f"docs/json.md: {doc['schema']}: nothing of {inner} in {key}")
    check(not rows or set(rows) <= set(doc), f"docs/json.md: {doc['schema']}: {set(rows) - set(doc)} is never there")


def unpack(path):
    return lzma.open(path).read() if path.endswith(".xz") else open(path, "rb").read()


def run_part(parts):
    parts[part]()
    print("failures:", failures)
    sys.exit(1 if failures else 0)
