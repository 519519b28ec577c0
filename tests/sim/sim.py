#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""xstate sim from outside: sim.py PART XSTATE SOURCE. Parts: traces (what was recorded is predicted, in
every format), monoid (results add up), synthetic (closed forms), manners (bad input)."""
import json
import lzma
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

from common import (DATA, SHARED, XSTATE, at, balanced, check, counts, documented, error, row, run, run_part, sim, tmp,
                    unpack)


def traces():
    # within: how far prediction may be off, in percent; excerpts are too short for percents
    known = [(os.path.join(DATA, "build.perf.txt.xz"), None), (os.path.join(DATA, "pingpong.ftrace.txt"), None)]
    for name, within in [("pipe-pingpong.ftrace.txt.xz", 1), ("zlib-build.ftrace.txt.xz", 2),
                         ("zlib-build.perf.txt.xz", 2)]:
        path = os.path.join(SHARED, "traces", name)
        if os.path.exists(path):
            known.append((path, within))
        else:
            print(f"not here: {path}")
    for path, within in known:
        text = unpack(path)
        [doc] = sim(path)
        c = doc["check"]
        off = c["predicted_restores"] - c["observed_restores"]
        print(f"{os.path.basename(path)}: predicted {c['predicted_restores']}, observed "
              f"{c['observed_restores']}, {100 * off / c['observed_restores']:+.2f} %")
        check(c["observed_restores"] == text.count(b"x86_fpu_regs_activated:"), "not all restores are seen")
        check(abs(off) <= (2 if within is None else c["observed_restores"] * within / 100), "prediction is off")
        balanced(doc, path)
        check(row(doc, "eager")["traps"] == 0 and row(doc, "lazy")["traps"] == row(doc, "lazy")["loads"],
              "eager traps or lazy does not")

        # The prediction never looks at the restores: without them all is the same.
        blind = b"".join(l for l in text.splitlines(True) if b"x86_fpu_regs_activated:" not in l)
        [other] = sim("-", data=blind)
        check(counts(other) == counts(doc), f"{path}: prediction reads the events it predicts")
        check(other["check"] is None, "a check without anything to check against")
        # ... nor is it made of those it does read: without the saves there is nothing to go by.
        bare = b"".join(l for l in blind.splitlines(True) if b"x86_fpu_" not in l)
        [assumed] = sim("-", data=bare)
        check(row(assumed, "eager")["loads"] > 0 and assumed["totals"]["traces_with_fpu"] == 0,
              "a trace without FPU events")
        check(counts(sim("-", "--use", "none", data=bare)[0])[("lazy", None)][4] == 0, "none used, and loads")

        # What the engine did before is remembered, and that is what it does.
        [direct] = sim(path, "--direct")
        check(counts(direct) == counts(doc) and direct["cpus"] == doc["cpus"],
              f"{path}: remembered and run anew differ")

        # As records, from standard input too, packed or not.
        r = run("sim", path, "-q", "-o", at("t.xst"))
        check(r.returncode == 0, f"--save: {r.stderr}")
        packed = open(at("t.xst"), "rb").read()
        for got in [sim(at("t.xst")), sim("-", data=packed), sim("-", data=lzma.compress(packed))]:
            check(counts(got[0]) == counts(doc) and got[0]["check"] == c, f"{path} differs as records")
        # What was assumed can be taken from records again.
        for args in ["--sections", "none"], ["--signals", "none"]:
            check(counts(sim(at("t.xst"), *args)[0]) == counts(sim(path, *args)[0]), f"{path}: {args} of records")
        many = row(doc, "laziest")["interrupts"]
        hypo = sim(path, "--hypothetical")[0]
        check(any(p["hypothesis"] for p in hypo["policies"]), "no hypothetical rows")
        marked = next(p for p in hypo["policies"] if p["hypothesis"] == "written when it is to migrate")
        check(marked["interrupts"] <= many, "marking for migration costs more interrupts")

    [doc] = sim(known[0][0], "--programs")
    check(sum(p["slots"] for p in doc["programs"]) == doc["totals"]["slots"], "slots by program")
    for k, p in enumerate(doc["policies"]):
        for what in ["saves", "loads", "traps"]:
            got = sum(t["policies"][k][what] for t in doc["programs"])
            check(got == p[what], f"{p['policy']}: {what} by program are {got}, all are {p[what]}")
        check(sum(c["policies"][k]["loads"] for c in doc["cpus"]) == p["loads"], "loads by CPU")
    check(counts(doc) == counts(sim(known[0][0])[0]), "counting by program changes the counts")
    # Two tasks that take turns: a load is charged to whose registers come, a save to whose go.
    made = b"".join(
        b" %s %d [000] %d.%06d: sched:sched_switch: prev_comm=%s prev_pid=%d prev_prio=120 prev_state=S ==> "
        b"next_comm=%s next_pid=%d next_prio=120\n" % (a, p, 1 + i // 1000, i % 1000 * 1000, a, p, b, q)
        for i in range(300) for a, p, b, q in [[(b"one", 11, b"two", 12), (b"two", 12, b"three", 13),
                                                (b"three", 13, b"one", 11)][i % 3]])
    [doc] = sim("-", "--programs", data=made)
    eager = [p["policy"] for p in doc["policies"]].index("eager")
    loads = {t["name"]: t["policies"][eager]["loads"] for t in doc["programs"]}
    saves = {t["name"]: t["policies"][eager]["saves"] for t in doc["programs"]}
    check(loads == {"one": 101, "two": 100, "three": 100} or loads == {"one": 100, "two": 100, "three": 100},
          f"loads of three that take turns: {loads}")
    check(saves == {"one": 100, "two": 100, "three": 100}, f"their saves: {saves}")
    # More restores in one slot than its record has room for; and a program that becomes another.
    many = b"".join(b" one 11 [000] 1.%06d: x86_fpu:x86_fpu_regs_activated: x86/fpu: 0xff load: 1 xfeatures: 2 "
                    b"xcomp_bv: 0\n" % i for i in range(700))
    later = made.replace(b"] 1.", b"] 2.").replace(b" one ", b" four ").replace(b"=one ", b"=four ")
    [doc] = sim("-", "--programs", data=many + made + later)
    check(doc["check"]["observed_restores"] == 700, f"observed of 700: {doc['check']}")
    n_of = {t["name"]: t["slots"] for t in doc["programs"]}
    check(abs(n_of["one"] - 100) <= 2 and abs(n_of["four"] - 100) <= 2 and n_of["two"] == 200, f"programs: {n_of}")
    random_pool()
    [doc] = sim("--synthetic", "tasks=8,cpus=4,slots=20000,use=0.7,idle=0.2", "--programs")
    for k, p in enumerate(doc["policies"]):
        for what in ["saves", "loads", "traps"]:
            check(sum(t["policies"][k][what] for t in doc["programs"]) == p[what],
                  f"{what} of {p['policy']} on four CPUs")


def random_pool():
    """Forks and ends of tasks fill the kernel's random pool, which is hashed in vector registers."""
    rng = random.Random(5)
    for cpus, children in (1, 100), (2, 61):
        lines, now, pool, want = [], 0, 0, 0

        def event(cpu, comm, pid, text):
            nonlocal now
            now += 1000
            lines.append(f" {comm} {pid} [{cpu:03}] {now / 1e9:.9f}: {text}\n")

        def switch(cpu, a, state, b, live=None):
            event(cpu, a[0], a[1], f"sched:sched_switch: prev_comm={a[0]} prev_pid={a[1]} prev_prio=120 "
                  f"prev_state={state} ==> next_comm={b[0]} next_pid={b[1]} next_prio=120")
            if live:
                event(cpu, a[0], a[1], "x86_fpu:x86_fpu_regs_deactivated: x86/fpu: 0xff load: 1 xfeatures: 2 "
                      "xcomp_bv: 0")

        parent, idle = ("cat", 100), ("swapper/0", 0)
        there = cpus - 1
        for i in range(children):
            child = ("cat", 101 + i)
            event(0, "cat", 100, f"sched:sched_process_fork: comm=cat pid=100 child_comm=cat child_pid={child[1]}")
            switch(0, parent, "S", idle if there else child, live=True)
            if there:
                switch(1, idle, "R", child)
            event(there, *child, f"sched:sched_process_exit: comm=cat pid={child[1]} prio=120")
            event(there, *child, "x86_fpu:x86_fpu_dropped: x86/fpu: 0xfe load: 0 xfeatures: 2 xcomp_bv: 0")
            switch(there, child, "Z", idle if there else parent)
            if there:
                switch(0, idle, "R", parent)
            # A block of 64 bytes is hashed when there is no room for what comes. After the fork the parent
            # has to restore; at the end of the child only where its registers were still in place.
            for bytes_more, costs in (8, 1), (16, there):
                pool += bytes_more
                if pool > 64:
                    pool -= 64
                    want += costs
        switch(0, parent, "S", idle, live=True)
        text = "".join(lines).encode()
        [none], [auto] = sim("-", "--sections", "none", data=text), sim("-", data=text)
        more = row(auto, "deferred")["loads"] - row(none, "deferred")["loads"]
        check(more == want, f"{cpus} CPUs: {more} loads by the pool, {want} by hand")
        check(auto["totals"]["sections"] == auto["totals"]["sections_assumed"] == (24 * children - 1) // 64 and
              none["totals"]["sections"] == 0, f"sections of the pool: {auto['totals']}")
        # Where the trace has the kernel's sections, none is assumed.
        first = b" cat 100 [000] 0.000000500: probe:kernel_fpu_begin_mask: (ffffffff8130d3d0)\n"
        [seen] = sim("-", data=first + text)
        check(seen["totals"]["sections"] == 1 and seen["totals"]["sections_assumed"] == 0, "sections that are seen")


    # A parent that calls wait() for a child that is over comes from user mode for it, and has to restore; one that
    # slept in it has not been there. Where wait() is not seen it is taken to sleep in it.
    def waits(lines_of):
        nonlocal lines
        lines = []
        for i in range(64):
            child = ("cat", 101 + i)
            event(0, "cat", 100, f"sched:sched_process_fork: comm=cat pid=100 child_comm=cat child_pid={child[1]}")
            lines_of("before")
            switch(0, parent, "S", child, live=True)
            event(0, *child, f"sched:sched_process_exit: comm=cat pid={child[1]} prio=120")
            event(0, *child, "x86_fpu:x86_fpu_dropped: x86/fpu: 0xfe load: 0 xfeatures: 2 xcomp_bv: 0")
            switch(0, child, "Z", parent)
            lines_of("after")
        switch(0, parent, "S", idle, live=True)
        return row(sim("-", data="".join(lines).encode())[0], "deferred")["loads"]

    wait = "sched:sched_process_wait: comm=cat pid=0 prio=120"
    unseen = waits(lambda when: None)
    asleep = waits(lambda when: event(0, "cat", 100, wait) if when == "before" else None)
    awake = waits(lambda when: event(0, "cat", 100, wait) if when == "after" else None)
    # 24 bytes for each child: of 24 blocks two in three are filled by a release.
    check(asleep == unseen and abs(awake - asleep - 16) <= 1, f"wait: {unseen} unseen, {asleep} asleep, {awake} awake")
    # A parent in vfork() sleeps right behind the fork: not live then, it has filled a block.
    lines, pool, want = [], 0, 0
    for i in range(40):
        filled, child = rng.random() < 0.2, ("cat", 101 + i)
        event(0, "cat", 100, f"sched:sched_process_fork: comm=cat pid=100 child_comm=cat child_pid={child[1]}")
        switch(0, parent, "D", child, live=not filled)
        pool = min(pool + 8, 64) if not filled else max(pool + 8 - 64, 8)
        want += filled
        event(0, *child, f"sched:sched_process_exit: comm=cat pid={child[1]} prio=120")
        switch(0, child, "Z", parent)
        pool += 16
        want += pool > 64
        pool -= 64 if pool > 64 else 0
    switch(0, parent, "S", idle, live=True)
    [doc] = sim("-", data="".join(lines).encode())
    check(doc["totals"]["sections_assumed"] == want, f"vfork: {doc['totals']['sections_assumed']} sections, not {want}")


def monoid():
    texts = [os.path.join(DATA, "build.perf.txt.xz"), os.path.join(DATA, "pingpong.ftrace.txt")]
    files = []
    for i, args in enumerate([[texts[0]], [texts[1]], ["--synthetic", "slots=5000,use=0.4"],
                              ["--synthetic", "slots=7000,use=0.9,cpus=4,idle=0.3"]]):
        r = run("sim", "-j", "--programs", *args)
        open(at(f"{i}.json"), "wb").write(r.stdout)
        files.append(at(f"{i}.json"))

    def merge(*names):
        r = run("sim", "--merge", "-j", *names)
        check(r.returncode == 0, f"merge: {r.stderr.decode()}")
        open(at("sum.json"), "wb").write(r.stdout)
        doc = json.loads(r.stdout)
        for key, by in ("programs", "name"), ("parts", "after"):
            doc[key] = sorted(doc[key] or [], key=lambda p: p[by])
        del doc["cpus"]
        return doc

    whole = merge(*files)
    check(merge(*reversed(files)) == whole, "the order matters")
    merge(files[0], files[1])
    shutil.copy(at("sum.json"), at("left.json"))
    merge(files[2], files[3])
    shutil.copy(at("sum.json"), at("right.json"))
    check(merge(at("left.json"), at("right.json")) == whole, "the grouping matters")
    # What would be wrong and look right.
    open(at("plain.json"), "wb").write(run("sim", "-j", texts[0]).stdout)
    error(run("sim", "--merge", files[1], at("plain.json")), 2, "--programs", "merge with programs and without")
    error(run("sim", "--merge", files[0], files[1], files[0]), 2, "counted twice", "a trace twice")
    error(run("sim", "--merge", at("left.json"), files[1]), 2, "counted twice", "a sum and a part of it")
    error(run("sim", texts[0], texts[0]), 2, "counted twice", "a trace twice in one run")
    check(any(v.startswith("Mixed") for v in whole["verdict"]), "made-up and recorded are mixed in silence")
    for args in [["--use", "all"], ["--signals", "none"], ["--sections", "none"], ["--seed", "2"], ["--programs"]]:
        error(run("sim", "--merge", files[0], *args), 2, "--merge takes", f"merge {args}")
    check(b"zen3" in run("sim", "--merge", files[0]).stderr and
          b"zen3" not in run("sim", "--merge", "-c", "k10", files[0]).stderr, "prices of a merge in silence")
    for name, text in [("u1", "cc1 1\n"), ("u2", "cc1 0.5\n")]:
        open(at("names"), "w").write(text)
        open(at(name), "wb").write(run("sim", "-j", "--use", "by-comm=" + at("names"), texts[name == "u1"]).stdout)
    error(run("sim", "--merge", at("u1"), at("u2")), 2, "different assumptions", "merge of two lists of names")
    for seed in "1", "2":
        open(at("s" + seed), "wb").write(run("sim", "-j", "--use", "p=0.5", "--seed", seed,
                                             texts[int(seed) - 1]).stdout)
    error(run("sim", "--merge", at("s1"), at("s2")), 2, "different seeds", "merge of two seeds")
    open(at("nothing.json"), "w").close()
    error(run("sim", "--merge", at("nothing.json")), 2, "is empty", "merge of an empty file")
    together(files, whole, merge)
    impossible(files)
    single = json.load(open(files[0]))
    one = merge(files[0])
    check(counts(one) == counts(single) and one["totals"] == single["totals"], "one result merged is another")
    both = sim(*texts)[0]
    check(counts(both) == counts(merge(files[0], files[1])), "two traces in one run are not their sum")
    # Pieces of one trace, each begun where the one before ended, add up to it exactly.
    for i, (args, cut) in enumerate([([texts[0]], 61), ([texts[1]], 7),
                                     (["--synthetic", "slots=3000,use=0.6,cpus=3,idle=0.2"], 500)]):
        base = at(f"cut{i}")
        r = run("sim", "-j", "--save", base, "--cut", str(cut), *args)
        check(r.returncode == 0, f"--cut: {r.stderr.decode()}")
        pieces = [f"{base}.{k}" for k in range(len([f for f in os.listdir(tmp.name)
                                                     if f.startswith(f"cut{i}.")]))]
        check(len(pieces) > 3, f"{len(pieces)} pieces")
        out = []
        for k, piece in enumerate(pieces):
            r = run("sim", "-j", "--programs", "--state", at(f"state{i}"), piece)
            check(r.returncode == 0, f"piece {k}: {r.stderr.decode()}")
            open(at(f"part{k}.json"), "wb").write(r.stdout)
            out.append(at(f"part{k}.json"))
        total, want = merge(*out), sim("--programs", *args)[0]
        check(not any("Incomplete" in v for v in total["verdict"]), "pieces are missing from all of them")
        for gone in 0, 1, len(out) - 1:
            part = merge(*(out[:gone] + out[gone + 1:]))
            check(any("a piece of a trace is missing" in v for v in part["verdict"]) and
                  part["holds"] == "events-lost", f"piece {gone} is missing in silence")
        open(at("whole.json"), "wb").write(run("sim", "-j", "--programs", *args).stdout)
        error(run("sim", "--merge", at("whole.json"), out[-1]), 2, "counted twice", "a whole and its last piece")
        check(counts(total) == counts(want), f"pieces of {args} are not the whole")
        for key, of_pieces in total["totals"].items():
            check(of_pieces == want["totals"][key], f"{key} of pieces: {of_pieces}, not {want['totals'][key]}")
        check(total["programs"] == sorted(want["programs"], key=lambda p: p["name"]), f"programs of {args} in pieces")
        # Each by itself they are not, but for a load for each task and CPU at each cut.
        error(run("sim", pieces[1]), 2, "--state goes on", "a piece alone")
        error(run("sim", "--state", at(f"state{i}"), pieces[1]), 2, "comes next", "a piece out of order")
    # The state of one trace does not go on in another, nor in the same cut otherwise.
    os.remove(at("state0"))
    check(run("sim", "--state", at("state0"), at("cut0.0")).returncode == 0, "the first piece again")
    error(run("sim", "--state", at("state0"), at("cut1.1")), 2, "of another trace", "a piece of another trace")
    r = run("sim", "-q", "--save", at("cut0"), "--cut", "100000", texts[0])
    check(r.returncode == 0 and not r.stderr, f"cut again: {r.stderr}")
    r = run("sim", "--save", at("cut0"), "--cut", "100000", texts[0])
    check(b"an earlier cut left it" in r.stderr, f"pieces of an earlier cut: {r.stderr}")
    error(run("sim", "--state", at("state0"), at("cut0.0")), 2, "comes next", "a piece again")
    error(run("sim", "--state", out[0], pieces[0]), 2, "not a state", "a state that is none")
    error(run("sim", "--state", at("state0"), "--policy", "eager", pieces[0]), 2, "not a state", "other policies")
    open(at("other.json"), "wb").write(run("sim", "-j", "--use", "all", texts[0]).stdout)
    error(run("sim", "--merge", files[0], at("other.json")), 2, "different assumptions", "merge of two uses")
    open(at("few.json"), "wb").write(run("sim", "-j", "--policy", "eager,lazy", texts[0]).stdout)
    error(run("sim", "--merge", files[0], at("few.json")), 2, "different policies", "merge of other policies")
    error(run("sim", "--merge", texts[1]), 2, "pingpong.ftrace.txt: ", "merge of a trace")
    error(run("sim", "--merge", "--policy", "eager", files[0]), 2, "--merge takes", "merge with policies")


def together(files, whole, merge):
    """Several documents in one file: as lines, as GNU parallel leaves them, indented, packed or not."""
    lines = b"".join(open(f, "rb").read() for f in files)
    open(at("lines.json"), "wb").write(lines)
    check(merge(at("lines.json")) == whole, "results behind each other in a file")
    r = run("sim", "--merge", "-j", "-", data=b"\n\n".join(
        json.dumps(json.loads(line), indent=2).encode() for line in lines.splitlines()))
    check(r.returncode == 0 and json.loads(r.stdout)["totals"] == whole["totals"], f"indented: {r.stderr}")
    open(at("half.json"), "wb").write(lines[:-300])
    error(run("sim", "--merge", at("half.json")), 2, "line 4: it ends in the middle", "the last one cut off")
    open(at("mixed.json"), "wb").write(lines + b'{"schema": "xstate.lab/1", "results": []}\n')
    error(run("sim", "--merge", at("mixed.json")), 2, "result 5: xstate.lab/1, not a result of xstate sim",
          "a result of another verb behind them")
    error(run("sim", "--merge", at("lines.json"), files[2]), 2, "2.json: one trace, or a piece of it, would be counted "
          "twice", "one of them again")


def impossible(files):
    """Sums that no trace has are refused, and what is wrong is named."""
    doc = json.load(open(files[0]))
    n, lazy = doc["totals"], [p["policy"] for p in doc["policies"]].index("lazy")

    def refused(words, *changes):
        bad = json.loads(json.dumps(doc))
        for *path, key, value in changes:
            place = bad
            for step in path:
                place = place[step]
            place[key] = value
        open(at("bad.json"), "w").write(json.dumps(bad))
        error(run("sim", "--merge", at("bad.json")), 2, words, f"{changes}")
        r = run("report", at("bad.json"), "-o", at("bad.html"))
        check(r.returncode == 2 and words in r.stderr.decode() and not os.path.exists(at("bad.html")),
              f"report of {changes}: {r.stderr}")

    t, p = "totals", "policies"
    refused("used_slots is", (t, "used_slots", n["slots"] + 1))
    refused("digest_slots is", (t, "digest_slots", n["user_slots"] + 1))
    refused("blocked_slots is", (t, "blocked_slots", n["user_slots"] + 1))
    refused("sum of live_", (t, "live_avx_slots", n["live_avx_slots"] + 1))
    refused("slots is", (t, "slots", n["switches"] + 1))
    refused("the slots there are", (t, "slots", n["user_slots"] - 1))
    refused("totals.records", (t, "forks", n["records"]))
    refused("signals_assumed is", (t, "signals_assumed", n["signals"] + 1))
    refused("sections_assumed is", (t, "sections_assumed", n["sections"] + 1))
    refused("traces_with_fpu is", (t, "traces_with_fpu", 2))
    refused("the parts that end a trace", (t, "traces", 2))
    refused("records have room for", (t, "observed_restores", 1 << 60))
    refused("cpu_ns is", (t, "cpu_ns", 4097 * n["span_ns"]))
    refused("not totals.switches", (p, lazy, "switches", n["switches"] - 1))
    refused("validations is", (p, lazy, "loads", doc[p][lazy]["loads"] + 1))
    traps = n["used_slots"] + n["execs"] + n["exits"] + 1
    refused("traps is", (p, lazy, "traps", traps))
    refused("saves is", (p, lazy, "saves", 8 * n["records"] + 1))
    refused("preloads + probes is", (p, lazy, "preloads", n["slots"] + 1))
    refused("kernel_sections is", (p, lazy, "kernel_sections", n["sections"] + 1))
    refused("cycles_low is more", (p, lazy, "cycles_low", 2 * doc[p][lazy]["cycles_high"]))
    refused("cycles_low is below", (p, lazy, "cycles_low", -1))
    refused("costs.save_low_cycles is more", ("costs", "save_low_cycles", 1e6))
    refused("counted_low_per_million is more", ("break_even", "counted_low_per_million", 1e9))
    refused("used_slots_per_million is", ("used_slots_per_million", doc["used_slots_per_million"] + 1))
    refused("predicted_restores is", ("check", "predicted_restores", doc["check"]["predicted_restores"] + 1))
    refused("slots of programs", ("programs", 0, "slots", n["slots"] + 1))
    refused("programs' loads is", ("programs", 0, p, lazy, "loads", doc[p][lazy]["loads"] + 1))
    for value in -1, 0.5, 1e300, None, "7", True:
        refused("totals.slots is not a count", (t, "slots", value))
    # What is no number at all, nor finite.
    text = open(files[0]).read()
    for value in "1e999", "NaN", "Infinity", "18446744073709551616":
        open(at("bad.json"), "w").write(text.replace(f'"slots":{n["slots"]}', f'"slots":{value}', 1))
        error(run("sim", "--merge", at("bad.json")), 2, "not JSON: line 1", f"slots of {value}")
    # Other programs may write 1000 as 1e3.
    open(at("real.json"), "w").write(text.replace(f'"slots":{n["slots"]}', f'"slots":{n["slots"]}.0', 1))
    check(run("sim", "--merge", at("real.json")).returncode == 0, "a count as a real number")
    # Two that fit, and a sum that does not.
    for i, path in enumerate([files[0], files[1]]):
        big = json.load(open(path))
        big["totals"]["lost_events"] = 1 << 62
        open(at(f"big{i}.json"), "w").write(json.dumps(big))
    error(run("sim", "--merge", at("big0.json"), at("big1.json")), 2, "63 bits", "sums that do not fit")


def synthetic():
    seed = random.randrange(1 << 32)
    print("seed", seed)
    n, tasks = 200000, 10
    for use in [0, 0.25, 1]:
        [doc] = sim("--synthetic", f"tasks={tasks},cpus=1,slots={n},use={use},seed={seed}")
        used = doc["totals"]["used_slots"]
        done = n - 1  # the last slot does not end
        check(abs(used - use * n) <= 5 * (n * use * (1 - use)) ** 0.5 + 1, f"use {use}: {used} of {n}")
        for p in doc["policies"]:
            check(p["switches"] == n, f"{p['policy']}: {p['switches']} switches")
        balanced(doc, f"synthetic {use}")
        e, k, l, d = (row(doc, x) for x in ["eager", "eager-keep", "lazy", "deferred"])
        check((e["loads"], e["saves"], e["traps"]) == (n, done, 0), f"eager: {e}")
        check(l["traps"] == l["loads"] == l["saves"] == used, f"lazy: {l}, {used} used")
        # a trap clears TS, the next switch sets it again
        check(2 * used <= l["ts_writes"] <= 2 * used + 1, f"lazy writes TS {l['ts_writes']} times")
        # the same task comes again with probability 1 / tasks
        mean, dev = n / tasks, (n / tasks) ** 0.5
        check(abs(k["loads_skipped_owner"] - mean) < 6 * dev, f"eager-keep kept {k['loads_skipped_owner']}")
        check(abs(d["loads_skipped_owner"] - mean) < 6 * dev, f"deferred kept {d['loads_skipped_owner']}")
    # With idle in between, a single task keeps its registers under every policy that keeps.
    [doc] = sim("--synthetic", f"tasks=1,cpus=1,slots=1000,use=1,idle=1,seed={seed}")
    check(row(doc, "deferred")["loads"] == 1 and row(doc, "eager")["loads"] == 1000, "idle in between")
    # More CPUs: what laziest fetches from elsewhere it fetches by interrupt.
    [doc] = sim("--synthetic", f"tasks=8,cpus=4,slots=20000,use=1,seed={seed}")
    check(row(doc, "laziest")["interrupts"] > 0 and row(doc, "eager")["interrupts"] == 0, "interrupts")
    # The break-even that is counted is that of the formula: nothing is kept under eager or lazy.
    [doc] = sim("--synthetic", f"tasks=9,cpus=1,slots={n},use=0.3,seed={seed}", "--trap", "600", "--ts", "0",
                "--costs", "zen3")
    b = doc["break_even"]
    for end in ["low", "high"]:
        check(abs(b[f"formula_{end}_per_million"] - b[f"counted_{end}_per_million"]) < 200, f"break-even {b}")
    # Idle takes time: half of the switches go there, for as long as a slot takes.
    a, b = (sim("--synthetic", f"tasks=4,cpus=2,slots=100000,idle={i},mean-us=50,seed={seed}")[0]["totals"]
            for i in ("0", "1"))
    check(abs(b["span_ns"] / a["span_ns"] - 2) < 0.05, f"idle takes no time: {a['span_ns']}, {b['span_ns']}")
    check(abs(a["span_ns"] / (100000 * 50e3 / 2) - 1) < 0.05, f"slots of 50 us: {a['span_ns']}")
    # Without time there is no share of a CPU.
    [doc] = sim("--synthetic", "mean-us=0,slots=2000,use=1")
    check(row(doc, "eager")["cpu_share_low"] is None and any("cycles a slot" in v for v in doc["verdict"]) and
          not any("% of one CPU" in v for v in doc["verdict"]), f"no time: {doc['verdict']}")
    docs = sim("--synthetic", "slots=3000", "--sweep", "4")
    check([round(d["used_slots_per_million"], -5) for d in docs] == [0, 300000, 500000, 700000, 1000000] or
          [round(d["used_slots_per_million"] / 250000) for d in docs] == [0, 1, 2, 3, 4], "sweep")
    # Above the break-even eager is cheaper, below it lazy is; in between it depends.
    for use, words in [(0.02, "lazy beats eager"), (0.9, "eager beats lazy"), (0.3, "depends on the price")]:
        [doc] = sim("--synthetic", f"use={use},slots=20000")
        check(any(words in v for v in doc["verdict"]), f"{use}: {doc['verdict']}")
        check(doc["holds"] == ("depends-on-prices" if "depends" in words else "over-all-prices"), "holds")


def manners():
    text = unpack(os.path.join(DATA, "build.perf.txt.xz"))
    run("sim", "-", "-q", "-o", at("t.xst"), data=text)
    good = open(at("t.xst"), "rb").read()
    error(run("sim", "-", data=b""), 2, "empty", "nothing")
    error(run("sim", "-", data=b"hello world\n" * 50), 2, "of no trace", "prose")
    error(run("sim", "-", data=os.urandom(40000)), 2, "standard input: ", "noise")
    error(run("sim", at("nowhere")), 2, "No such file", "no file")
    error(run("sim", tmp.name), 2, "is a directory", "a folder")
    error(run("sim", "-", data=text[:20000]), 2, "cut off in the middle of line", "text cut off")
    error(run("sim", "-", data=lzma.compress(text)[:3000]), 2, "xz stream", "xz cut off")
    for cut in [5, 63, 64, 70, 1000, len(good) - 1, len(good) - 16]:
        error(run("sim", "-", data=good[:cut]), 2, "standard input: ", f"records cut at {cut}")
        # From a file or through a pipe: they are refused in the same words.
        open(at("cut.xst"), "wb").write(good[:cut])
        piped, filed = run("sim", "-", data=good[:cut]).stderr, run("sim", at("cut.xst")).stderr
        check(filed.split(b"cut.xst: ")[-1] == piped.split(b"standard input: ")[-1],
              f"cut at {cut}: {filed} from a file, {piped} from a pipe")
    records = (len(good) - 64) // 16
    error(run("sim", "-", data=good + good[64:80]), 2, f"record {records + 1}: records behind the end",
          "records behind the end")
    error(run("sim", "-", data=good[:8] + b"\x63" + good[9:]), 2, "version 99", "another version")
    for magic, words in (b"\x1f\x8b\x08\0", "zcat"), (b"\x28\xb5\x2f\xfd", "zstdcat"), (b"BZh9", "bzcat"):
        error(run("sim", "-", data=magic + text[:5000]), 2, words, f"packed for {words}")
    # A bit turned over is an error or another result, and never a crash.
    rng = random.Random(7)
    for _ in range(60):
        bad = bytearray(good)
        bad[rng.randrange(64, len(bad))] ^= 1 << rng.randrange(8)
        r = run("sim", "-j", "-", data=bytes(bad))
        check(r.returncode in (0, 2), f"a turned bit: exit {r.returncode}")
    # Text of one kind that is broken in places, and events that were lost.
    lines = text.splitlines(True)
    r = run("sim", "-", data=b"".join(l if i % 7 else l[:60] + b"\n" for i, l in enumerate(lines)))
    check(r.returncode == 2 and b"broken" in r.stderr, f"broken lines: {r.stderr}")
    broken_lines(lines)
    # A pause of more than 32 bits of nanoseconds just before the end.
    late = [l for l in lines if b"sched_wakeup" in l][-1].replace(b"sched_wakeup", b"x86_fpu_dropped").split(b":")
    late[0] = late[0].replace(b"1449.", b"9449.").replace(b"1450.", b"9450.")
    late = b":".join(late[:3]) + b": x86/fpu: 0xffff88814900ae40 load: 0 xfeatures: a02 xcomp_bv: 0\n"
    [doc] = sim("-", data=text + late)
    check(doc["totals"]["span_ns"] > 7999 * 10**9, f"a long pause: {doc['totals']['span_ns']}")
    lines.insert(300, b"CPU:1 [LOST 12 EVENTS]\n")
    [doc] = sim("-", data=b"".join(lines))
    check(doc["totals"]["lost_events"] == 12 and doc["holds"] == "events-lost" and
          any("12 events were lost" in v for v in doc["verdict"]), f"lost: {doc['verdict']}")
    # perf's way to say it; what each event counted at the end comes beside, and the larger is true.
    lines[300] = b"make  2345 [001]  1449.800000: PERF_RECORD_LOST lost 75\n"
    for end, want in (b"", 75), (b"make  2345 [001]  1450.0: PERF_RECORD_LOST_SAMPLES lost 90\n", 90), \
            (b"make  2345 [001]  1450.0: PERF_RECORD_LOST_SAMPLES lost 60\n", 75):
        [doc] = sim("-", data=b"".join(lines) + end)
        check(doc["totals"]["lost_events"] == want and doc["holds"] == "events-lost", f"perf lost {want}: "
              f"{doc['totals']['lost_events']}")
        check(doc["totals"]["odd_lines"] == 0, "lost is odd")
    del lines[300]
    # A trace that contradicts itself does so as records, too.
    torn = b"".join(l for i, l in enumerate(lines) if b"sched_switch" not in l or i % 9)
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "torn.xst")
        [doc] = sim("-", "--save", path, data=torn)
        [again] = sim(path)
    check(doc["totals"]["gaps"] == again["totals"]["gaps"] > 0 and
          doc["holds"] == again["holds"] == "events-lost", f"gaps: {doc['totals']['gaps']}")
    # What is no event is counted; what cannot be a text at all is refused.
    [doc] = sim("-", data=b"".join(lines[:500] + [b"garbage\n"] * 3 + lines[500:]))
    check(doc["totals"]["odd_lines"] == 3 and any("3 lines are no event" in v for v in doc["verdict"]), "odd lines")
    error(run("sim", "-", data=b"".join(lines[:400] + [b"# x\0y\n"] + lines[400:])), 2, "zero byte in line 401", "NUL")
    error(run("sim", "-", data=b"".join(l for l in lines if b"sched_switch" not in l)), 2, "not one sched_switch",
          "a trace without switches")
    error(run("sim", "-", data=text + text), 2, "time runs backwards", "two traces put together")
    named = b"a b [1] 1.2: x: 77 [000] 1449.9: sched:sched_switch: prev_comm=a b [1] 1.2: x: prev_pid=77 " \
            b"prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120\n"
    [doc] = sim("-", data=named)
    check(doc["totals"]["switches"] > 0, "a name that looks like a CPU and a time")
    places(text, good)
    sentences(text, lines)
    # Every key is in docs/json.md.
    open(at("names"), "w").write("cc1 1\n")
    [doc] = sim(at("t.xst"), "--programs", "--hypothetical", "--use", "by-comm=" + at("names"))
    check(doc["programs"] and doc["cpus"] and doc["check"] and doc["use_content"], "a document with all there is")
    documented(doc)
    documented(json.loads(run("sim", "-j", at("nowhere")).stdout))
    documented(json.loads(run("report", "-j", "-", "-o", at("x.html"), data=json.dumps(doc).encode()).stdout))
    open(at("no-names"), "w").write("# nobody\n")
    open(at("twice"), "w").write("sh 0.1\nsh 0.2\n")
    for args, words in [
        ([], "name a trace"),
        (["--policy", "nosuch", "x"], "nosuch"),
        (["--sections", "some", "x"], "--sections"),
        (["--use", "p=2", "x"], "--use"),
        (["--use", "by-comm=" + at("nowhere"), "x"], "No such file"),
        (["--use", "by-comm=" + tmp.name, "x"], "is no file of programs' names"),
        (["--use", "by-comm=/dev/zero", "x"], "is no file of programs' names"),
        (["--use", "by-comm=" + at("no-names"), "x"], "no program's name in it"),
        (["--use", "by-comm=" + at("twice"), "x"], "each name once"),
        (["--trap", "9-3", "x"], "--trap"),
        (["--costs", at("nowhere"), "x"], "nowhere"),
        (["--costs", at("t.xst"), "x"], "not a result of xstate bench insn -o"),
        (["--costs", tmp.name, "x"], "Is a directory"),
        (["--synthetic", "tasks=1,cpus=2"], "--synthetic wants"),
        (["--synthetic", "use=1", "x"], "takes no trace"),
        (["--synthetic", "use=1,,tasks=3"], "not ',tasks=3'"),
        (["--synthetic", "use=1,"], "not nothing"),
        (["--synthetic", ""], "--synthetic wants"),
        (["--synthetic", "use=1,use=0"], "each once"),
        (["--synthetic", "use=1,slots=2,use=0"], "not 'use' twice"),
        (["--synthetic", "tasks=1000000"], "65536 tasks"),
        (["--synthetic", "slots=10,use=1.5,idle=0"], "not 'use=1.5'"),
        (["--synthetic", "slots=10,tea=1"], "not 'tea=1'"),
        (["--synthetic", "slots"], "not 'slots'"),
        (["--synthetic", "tasks=3,cpus=4"], "not 3 tasks for 4 CPUs"),
        (["--synthetic", "use=" + 70 * "1"], "not 'use=1111"),
        (["--seed", "9223372036854775808", "--use", "p=0.5", "x"], "--seed"),
        (["--synthetic", "slots=10", "--sweep", "2", "-o", at("sweep.xst")], "--sweep writes no records"),
        (["--policy", "eager,lazy,eager", "x"], "asked for twice"),
        (["--guest", "--bare-metal", "x"], "exclude each other"),
        (["--costs", "zen9", "x"], "zen3-fxsr"),
        (["--sweep", "3", "x"], "--sweep goes with"),
        (["--save", at("nodir/x"), at("t.xst")], "cannot write"),
    ]:
        error(run("sim", *args), 2, words, f"sim {args}")
    check(not os.path.exists(at("nodir")), "a folder appeared")
    run("sim", "-", "-o", at("half.xst"), data=text[:20000])
    check(not [f for f in os.listdir(tmp.name) if f.startswith("half")], "a half-written file")
    open(at("names"), "w").write("# who uses the registers\ncc1 1\n* 0\n")
    [doc] = sim("--use", "by-comm=" + at("names"), "--programs", at("t.xst"))
    for p in doc["programs"]:
        check(p["used_slots"] == 0 or p["name"] == "cc1", f"by-comm: {p['name']}")
    [a] = sim("--use", "p=0.5", at("t.xst"))
    [b] = sim("--use", "p=0.5", at("t.xst"))
    [c] = sim("--use", "p=0.5", "--seed", "2", at("t.xst"))
    check(counts(sim("--use", "p=0.5", "-", data=open(at("t.xst"), "rb").read())[0]) == counts(a) and
          open(at("t.xst"), "rb").read() == good, "what is assumed of records is in their file")
    check(counts(a) == counts(b) != counts(c), "the seed does not decide")
    text = run("sim", at("t.xst")).stdout.decode()
    for words in ["eager-keep", "Break-even", "Verdict", "Check: deferred predicts"]:
        check(words in text, f"no {words} in the table")
    open(at("costs.json"), "w").write(json.dumps({
        "schema": "xstate.bench/1", "cycles_per_tick": 1.5,
        "machine": {"cpu": "test CPU", "tsc_hz": 2e9, "hypervisor": None},
        "costs": [{"instruction": i, "format": f, "live": "SSE", "low_quartile_cycles": x,
                   "high_quartile_cycles": x} for i, f, x in
                  [("XSAVEC", "compacted", 100), ("XRSTOR", "compacted", 200), ("XRSTOR", "standard", 999)]]}))
    open(at("costs2.json"), "w").write(2 * open(at("costs.json")).read())
    error(run("sim", "--costs", at("costs2.json"), at("t.xst")), 2, "more than one document", "prices from many")
    [doc] = sim("--costs", at("costs.json"), at("t.xst"))
    e = row(doc, "eager")
    check(doc["costs"]["ghz"] == 3 and not doc["costs"]["guest"] and
          e["cycles_low"] == e["cycles_high"] == 100 * (e["saves"] + e["kernel_saves"]) + 200 * e["loads"],
          f"costs: {doc['costs']}")


def places(text, good):
    """Where records and states go: all or nothing, devices and links stay what they are."""
    def save(to, **more):
        return subprocess.run([XSTATE, "sim", "-q", "-", "-o", to], input=text, capture_output=True, timeout=60, **more)
    # Where they cannot: the same status whether it shows at once, in the middle or at the end.
    for source in [at("t.xst")], ["--synthetic", "slots=100"], ["--synthetic", "slots=100000"]:
        for to in at("nodir/x"), "/dev/full":
            error(run("sim", "-q", *source, "-o", to), 2, "cannot write " + to, f"{source} to {to}")
        error(run("sim", "-q", *source, "-o", at("nodir/x"), "--cut", "50"), 2, "cannot write ", f"{source} in pieces")
    check(save("/dev/null").returncode == 0 and not os.path.isfile("/dev/null"), "/dev/null is gone")
    os.symlink("real.xst", at("link.xst"))
    open(at("real.xst"), "w").close()
    check(save(at("link.xst")).returncode == 0 and os.path.islink(at("link.xst")) and
          open(at("real.xst"), "rb").read() == good, "a link is not followed")
    check(save(at("mask.xst"), umask=0o077).returncode == 0 and os.stat(at("mask.xst")).st_mode & 0o777 == 0o600,
          "the umask is not heeded: names of programs are in it")
    os.chmod(at("mask.xst"), 0o640)
    check(save(at("mask.xst")).returncode == 0 and os.stat(at("mask.xst")).st_mode & 0o777 == 0o640, "the mode is lost")
    shutil.copy(at("t.xst"), at("same.xst"))
    os.link(at("same.xst"), at("same2.xst"))
    for to in "same.xst", "same2.xst":
        error(run("sim", at("same.xst"), "-o", at(to)), 2, "trace that is read", f"-o {to} over the input")
    error(run("sim", at("same.xst"), "--state", at("same2.xst")), 2, "not a state", "--state over the input")
    check(open(at("same.xst"), "rb").read() == good, "the input was changed")
    # A state: none at first, and only then.
    for to, words in (tmp.name, "Is a directory"), (at("t.xst") + "/x", "Not a directory"), (at("no/x"), "No such file"):
        r = run("sim", "--state", to, at("t.xst"))
        check(r.returncode == 2 and words in r.stderr.decode(), f"--state {to}: {r.stderr}")
    os.symlink("state-real", at("state-link"))
    os.symlink(at("victim"), at("state-link.new"))
    open(at("victim"), "w").write("victim")
    check(run("sim", "-q", "--state", at("state-real"), at("t.xst")).returncode == 0, "a state")
    os.remove(at("state-link"))
    check(open(at("victim")).read() == "victim" and os.path.isfile(at("state-real")), "a planted link was followed")
    # Ctrl-C in the middle leaves nothing.
    p = subprocess.Popen([XSTATE, "sim", "-", "-o", at("int.xst")], stdin=subprocess.PIPE)
    p.stdin.write(text[:100000])
    p.stdin.flush()
    for _ in range(100):
        if [f for f in os.listdir(tmp.name) if f.startswith("int.xst.")]:
            break
        time.sleep(0.05)
    else:
        check(False, "no part was begun")
    p.send_signal(signal.SIGINT)
    check(p.wait(10) == -signal.SIGINT, "Ctrl-C does not end it")
    p.stdin.close()
    # Records on standard output are records and nothing else.
    made = run("sim", "-q", "--synthetic", "slots=500,tasks=3", "-o", "-")
    check(made.returncode == 0 and sim("-", data=made.stdout)[0]["totals"]["slots"] == 500, "synthetic | sim -")
    # What was made up is so in every copy, also packed, in pieces and saved again; what was recorded is not.
    made_up(made.stdout)
    check(not [f for f in os.listdir(tmp.name) if "xst." in f], f"parts are left: {os.listdir(tmp.name)}")


def broken_lines(lines):
    """The first line that is broken is named, and the field."""
    for event, old, new, says in [
            ("sched_switch", rb" prev_pid=\d+", b" prev_pid=x", "prev_pid= and a thread id"),
            ("sched_switch", rb" prev_state=\w+", b"", "prev_state="),
            ("sched_switch", rb" next_comm=", b" then=", "==> next_comm="),
            ("sched_switch", rb" next_pid=", b" next=", "next_pid= and a thread id"),
            ("sched_switch", rb"prev_comm=.*==>.*", b"x", "prev_comm= or ' ==> ' between"),
            ("sched_switch", rb"^ *\S+ +\d+ \[\d+\]", b"sh 7 [4097]", "a CPU below 4096 in []"),
            ("x86_fpu_regs_deactivated", rb" xfeatures: \w+", b" xfeatures: q", "a hexadecimal mask behind xfeatures:"),
            ("x86_fpu_regs_deactivated", rb" load: \d", b"", "load: and 0 or 1"),
            ("sched_process_fork", rb" child_pid=", b" child=", "child_pid= and a thread id"),
            ("sched_process_exec", rb" old_pid=", b" old=", "old_pid= and a thread id"),
            ("sched_migrate_task", rb" dest_cpu=", b" to=", "dest_cpu= and a CPU")]:
        at_line = next((i for i, l in enumerate(lines) if event.encode() + b":" in l), None)
        if at_line is None:
            check(event == "sched_migrate_task", f"the trace has no {event}")
            continue
        bad = re.sub(old, new, lines[at_line])
        check(bad != lines[at_line], f"{event}: nothing was broken by {old}")
        error(run("sim", "-", data=b"".join(lines[:at_line] + 80 * [bad])), 2,
              f"lines are broken; the first is line {at_line + 1}, {event} without {says}", f"{event}, {old}")
    error(run("sim", "-", data=b"".join(lines[:9] + 80 * [b"prose\n"])), 2,
          "the first is line 10, no event of perf script or ftrace", "prose in the middle")


def sentences(text, lines):
    """What people read of a result: every sentence from the data, and numbers that can be told apart."""
    def says(doc, what):
        return any(what in v for v in doc["verdict"])

    # A range whose ends print alike, or two ways to write a number in one.
    for args in [at("t.xst")], [at("t.xst"), "-c", "emerald-rapids", "--trap", "600"], \
            ["--synthetic", "use=0.9,slots=20000", "--trap", "900.1-900.2"], ["--synthetic", "slots=500,mean-us=0"]:
        out = run("sim", *args, "--hypothetical").stdout.decode()
        check(not re.search(r"\de[+-]?\d", out), f"an exponent: {out}")
        for low, high in re.findall(r"(?<![\d.])([\d.]*\d)(?:-| to )([\d.]*\d)(?![\d.])", out):
            check(float(low) < float(high), f"a range from {low} to {high}: {args}")
    # Without one of the two there is nothing to compare, and what to add is said.
    for policies, what in [("deferred", "list eager and lazy as well"), ("eager,deferred", "must list lazy as well"),
                           ("lazy,laziest", "must list eager as well")]:
        [doc] = sim("--policy", policies, at("t.xst"))
        check(says(doc, what), f"--policy {policies}: {doc['verdict']}")
    check(says(sim("--use", "none", at("t.xst"))[0], "no slot used the registers"), "break-even of nothing used")
    check(not says(sim("--policy", "eager", at("t.xst"))[0], "Least work"), "the best of one")
    # What a table has no price for.
    [doc] = sim(at("t.xst"), "-c", "zen3")
    check(doc["costs"]["unpriced_live"] == [] and not says(doc, "Prices:"), f"priced: {doc['costs']}")
    wide = re.sub(rb"xfeatures: a02|xfeatures: 2\b", b"xfeatures: e6", text)
    [doc] = sim("-", "-c", "zen3", data=wide)
    n = doc["totals"]["live_avx512_slots"]
    check(n > 0 and doc["costs"]["unpriced_live"] == ["AVX-512"] and doc["costs"]["unpriced_slots"] == n and
          says(doc, "AVX-512 was live at the end of") and says(doc, "that of AVX stands in, which is too low"),
          f"AVX-512 on zen3: {doc['costs']} {doc['verdict']}")
    [doc] = sim("-", "-c", "emerald-rapids", data=wide)
    check(doc["costs"]["unpriced_slots"] == 0 and not says(doc, "Prices:"), "AVX-512 on emerald-rapids")
    [doc] = sim("-", "-c", "zen3-fxsr", data=wide)
    check(doc["costs"]["unpriced_live"] == ["AVX", "AVX-512"] and
          says(doc, "that of SSE stands in"), f"FXSAVE: {doc['costs']}")
    # A check that is far off, with the reasons that the trace has, and no others.
    off = b"".join(l for i, l in enumerate(lines) if b"x86_fpu_regs_activated" not in l or i % 3)
    [doc] = sim("-", data=off)
    check(says(doc, "more than 2 % off") and not says(doc, "events were lost"), f"too few restores: {doc['verdict']}")
    [doc] = sim("-", data=b"CPU:1 [LOST 12 EVENTS]\n" + off)
    check(says(doc, "why: restores are so few that each is 0.") and says(doc, "; events were lost (12); "),
          f"lost: {doc['verdict']}")
    [doc] = sim("-", "--signals", "none", "--sections", "none", data=off + b"".join(
        l for l in late_restores(lines)))
    check(says(doc, "no signal events, and handlers were not assumed either") and
          says(doc, "use of the registers, and uses were not assumed either"), f"too many restores: {doc['verdict']}")
    [doc] = sim(at("t.xst"))
    check(not says(doc, "% off"), f"a good check: {doc['verdict']}")


def late_restores(lines):
    last = [l for l in lines if b"x86_fpu_regs_activated" in l][-1].replace(b"1449.", b"9449.").replace(b"1450.", b"9450.")
    return [last] * 300


def made_up(made):
    def is_so(doc):
        return [p["synthetic"] for p in doc["parts"]] == [True] and any(v.startswith("Made up") for v in doc["verdict"])

    open(at("made.xst"), "wb").write(made)
    check(is_so(sim(at("made.xst"))[0]) and is_so(sim("-", data=lzma.compress(made))[0]), "synthetic, read as recorded")
    check(run("sim", "-q", at("made.xst"), "-o", at("again.xst")).returncode == 0 and
          is_so(sim(at("again.xst"))[0]), "synthetic, saved again")
    check(run("sim", "-q", "--synthetic", "slots=500,tasks=3", "-o", at("m"), "--cut", "200").returncode == 0, "--cut")
    for k in range(3):
        check(is_so(sim("--state", at("m.state"), at(f"m.{k}"))[0]), f"synthetic, piece {k}")
    check(b", made up: " in run("sim", at("made.xst")).stdout, "and people are not told")
    check(not any(p["synthetic"] for p in sim(at("t.xst"))[0]["parts"]), "recorded, read as synthetic")
    # A file from before there were flags has a 0 there; one that has a flag nobody knows is still read.
    check(made[63] == 1 and not is_so(sim("-", data=made[:63] + b"\0" + made[64:])[0]), "the flag is elsewhere")


run_part({"traces": traces, "monoid": monoid, "synthetic": synthetic, "manners": manners})
