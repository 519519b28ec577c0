#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""xstate sim from outside: sim.py PART XSTATE SOURCE. Parts: traces (what was recorded is predicted, in
every format), monoid (results add up), synthetic (closed forms)."""
import json
import lzma
import os
import random
import shutil

from common import DATA, SHARED, at, balanced, check, counts, error, row, run, run_part, sim, tmp, unpack


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
        bound = next(p for p in hypo["policies"] if p["hypothesis"] == "bound to its CPU while dirty")
        check(bound["interrupts"] == 0 and not any(
            c["policies"][hypo["policies"].index(bound)]["interrupts"] for c in hypo["cpus"]),
              f"bound, and {bound['interrupts']} interrupts")
        free = row(sim(path, "--ipi", "0")[0], "laziest")
        check((bound["cycles_low"], bound["cycles_high"]) == (free["cycles_low"], free["cycles_high"]),
              "a bound task costs more than one that interrupts for nothing")
        check(marked["interrupts"] <= many, "marking for migration costs more interrupts")

    [doc] = sim(known[0][0], "--programs")
    check(sum(p["slots"] for p in doc["programs"]) == doc["totals"]["slots"], "slots by program")
    for k, p in enumerate(doc["policies"]):
        for what in ["saves", "loads", "traps"]:
            got = sum(t["policies"][k][what] for t in doc["programs"])
            check(got == p[what], f"{p['policy']}: {what} by program are {got}, all are {p[what]}")
        check(sum(c["policies"][k]["loads"] for c in doc["cpus"]) == p["loads"], "loads by CPU")
    check(counts(doc) == counts(sim(known[0][0])[0]), "counting by program changes the counts")
    # Which programs there are, and their tasks, is the trace's and not the policies'.
    def who(doc):
        return sorted((p["name"], p["tasks"], p["slots"], p["used_slots"]) for p in doc["programs"])

    brief = b"".join(
        b" sh %d [000] %d.000100: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> "
        b"next_comm=sh next_pid=%d next_prio=120\n mv %d [000] %d.000200: sched:sched_process_exec: filename=/bin/mv "
        b"pid=%d old_pid=%d\n mv %d [000] %d.000300: sched:sched_process_exit: comm=mv pid=%d prio=120\n"
        b" mv %d [000] %d.000350: x86_fpu:x86_fpu_dropped: x86/fpu: 0xfe load: 0 xfeatures: 2 xcomp_bv: 0\n"
        b" mv %d [000] %d.000400: sched:sched_switch: prev_comm=mv prev_pid=%d prev_prio=120 prev_state=Z ==> "
        b"next_comm=swapper/0 next_pid=0 next_prio=120\n" % (0, i, p, p, i, p, p, p, i, p, p, i, p, i, p)
        for i, p in enumerate(range(100, 115), 1))
    [short] = sim("-", "--programs", data=brief)
    n_of = {p["name"]: p["tasks"] for p in short["programs"]}
    check(n_of == {"sh": 15, "mv": 15, "idle": 0}, f"15 that become another program and end at once: {n_of}")
    for policies in "eager", "lazy", "laziest,deferred":
        for use in "live", "none":
            for data, want in (None, doc), (brief, short):
                [few] = sim("-" if data else known[0][0], "--programs", "--policy", policies, "--use", use, data=data)
                check([p[:3] for p in who(few)] == [p[:3] for p in who(want)],
                      f"programs under {policies}, {use} used: {who(few)}, and not {who(want)}")
    # Two tasks that take turns: a load is charged to whose registers come, a save to whose go.
    made = b"".join(
        b" %s %d [000] %d.%06d: sched:sched_switch: prev_comm=%s prev_pid=%d prev_prio=120 prev_state=S ==> "
        b"next_comm=%s next_pid=%d next_prio=120\n" % (a, p, 1 + i // 1000, i % 1000 * 1000, a, p, b, q)
        for i in range(300) for a, p, b, q in [[(b"one", 11, b"two", 12), (b"two", 12, b"three", 13),
                                                (b"three", 13, b"one", 11)][i % 3]])
    [doc] = sim("-", "--programs", data=made)
    eager = [p["policy"] for p in doc["policies"]].index("eager")
    loads = {t["name"]: t["policies"][eager]["loads"] for t in doc["programs"] if t["name"] != "idle"}
    saves = {t["name"]: t["policies"][eager]["saves"] for t in doc["programs"] if t["name"] != "idle"}
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
    check(any("by the counts of these traces" in v for v in both["verdict"]) and
          any("by the counts of this trace" in v for v in single["verdict"]), "whose counts")
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
                  part["holds"] == "pieces-missing", f"piece {gone} is missing in silence")
        open(at("whole.json"), "wb").write(run("sim", "-j", "--programs", *args).stdout)
        error(run("sim", "--merge", at("whole.json"), out[-1]), 2, "counted twice", "a whole and its last piece")
        check(counts(total) == counts(want), f"pieces of {args} are not the whole")
        for key, of_pieces in total["totals"].items():
            check(of_pieces == want["totals"][key], f"{key} of pieces: {of_pieces}, not {want['totals'][key]}")
        check(total["programs"] == sorted(want["programs"], key=lambda p: p["name"]), f"programs of {args} in pieces")
        # Each by itself they are not, but for a load for each task and CPU at each cut.
        error(run("sim", pieces[1]), 2, "--state goes on", "a piece alone")
        error(run("sim", "--programs", "--state", at(f"state{i}"), pieces[1]), 2, "comes next",
              "a piece out of order")
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
    refused("switches_assumed is", (t, "switches_assumed", n["switches"] + 1))
    # Behind signals and sections; a piece may end a slot whose handlers began in the one before.
    refused("signal_frames is", (t, "signal_frames", n["signals"] + 1), (t, "signal_turns", 2 * n["signals"] + 2))
    refused("signal_turns is", (t, "signal_turns", 2 * n["records"] + 1))
    refused("signal_turns is", (t, "signal_turns", 10**15))
    refused("sections_inside is", (t, "sections_inside", n["sections"] + 1))
    refused("tasks of programs is", ("programs", 0, "tasks", n["records"] + 1))
    refused("day_pauses is", (t, "day_pauses", n["records"] + 1))
    for ghz in 0, -1, 100, 1e300, None, "3":
        refused("costs.ghz is no clock", ("costs", "ghz", ghz))
    share = doc[p][lazy]["cpu_share_high"]
    refused("beyond all that can be", (p, lazy, "cpu_share_high", 1e300))
    refused("cpu_share_high is", (p, lazy, "cpu_share_high", 2 * share))
    refused("cpu_share_low is", (p, lazy, "cpu_share_low", doc[p][lazy]["cpu_share_low"] / 2))
    refused("policy is none that this version knows", (p, lazy, "policy", "hasty"))
    refused("costs.rough is not a list", ("costs", "rough", True))
    refused("holds is no word", ("holds", "perhaps"))
    refused("holds is no word", ("holds", ""))
    # What stands in the way of a verdict, and what is said of it.
    many = (t, "gaps", n["switches"] // 100 + 1)
    refused("holds is ", (t, "lost_events", 1))
    refused("holds is ", many)
    refused("holds is contradictions", ("holds", "contradictions"))
    refused("holds is pieces-missing", ("holds", "pieces-missing"))
    refused("holds is contradictions", many, (t, "lost_events", 1), ("holds", "contradictions"))
    refused("holds is events-lost", (t, "gaps", 0), ("holds", "events-lost"))
    # An earlier version wrote "events-lost" for one gap, and had not all keys.
    old = json.loads(json.dumps(doc))
    check(n["gaps"] == 1, f"{n['gaps']} gaps in {files[0]}")
    del old[t]["switches_assumed"], old[t]["day_pauses"], old["costs"]["rough"], old["costs"]["fallback"]
    old["holds"] = "events-lost"
    open(at("old.json"), "w").write(json.dumps(old))
    r = run("report", at("old.json"), "-o", at("old.html"))
    check(r.returncode == 0, f"report of an earlier version's result: {r.stderr}")
    check(counts(json.loads(run("sim", "-j", "--merge", at("old.json")).stdout)) == counts(doc),
          "an earlier version's result merged")
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
        big["holds"] = "events-lost"
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
    # A row of a sweep has the share asked for, and what came of it.
    out = run("sim", "--synthetic", "slots=3000", "--sweep", "4").stdout.decode().splitlines()
    check(out[1].split()[:3] == ["use", "asked", "used"] and [l.split()[:2] for l in out[2:]] == [
        [f"{i / 4:.3f}", f"{d['totals']['used_slots'] / d['totals']['slots']:.3f}"] for i, d in enumerate(docs)],
        f"a sweep's table: {out}")
    # Above the break-even eager is cheaper, below it lazy is; in between it depends.
    for use, words in [(0.02, "lazy beats eager"), (0.9, "eager beats lazy"), (0.3, "depends on the price")]:
        [doc] = sim("--synthetic", f"use={use},slots=20000")
        check(any(words in v for v in doc["verdict"]), f"{use}: {doc['verdict']}")
        check(doc["holds"] == ("depends-on-prices" if "depends" in words else "over-all-prices"), "holds")


run_part({"traces": traces, "monoid": monoid, "synthetic": synthetic})
