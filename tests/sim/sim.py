#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""xstate sim from outside: sim.py PART XSTATE SOURCE. Parts: traces (what was recorded is predicted, in
every format), monoid (results add up), synthetic (closed forms), manners (bad input), record."""
import json
import lzma
import os
import random
import shutil
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


def unpack(path):
    return lzma.open(path).read() if path.endswith(".xz") else open(path, "rb").read()


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

        # As records, from standard input too, packed or not.
        r = run("sim", path, "-q", "-o", at("t.xst"))
        check(r.returncode == 0, f"--save: {r.stderr}")
        packed = open(at("t.xst"), "rb").read()
        for got in [sim(at("t.xst")), sim("-", data=packed), sim("-", data=lzma.compress(packed))]:
            check(counts(got[0]) == counts(doc) and got[0]["check"] == c, f"{path} differs as records")
        many = row(doc, "laziest")["interrupts"]
        hypo = sim(path, "--hypothetical")[0]
        check(any(p["hypothesis"] for p in hypo["policies"]), "no hypothetical rows")
        marked = next(p for p in hypo["policies"] if p["hypothesis"] == "written when it is to migrate")
        check(marked["interrupts"] <= many, "marking for migration costs more interrupts")

    [doc] = sim(known[0][0], "--programs")
    check(sum(p["slots"] for p in doc["programs"]) == doc["totals"]["slots"], "slots by program")
    for k, p in enumerate(doc["policies"]):
        check(sum(t["policies"][k]["loads"] for t in doc["programs"]) <= p["loads"], "loads by program")
        check(sum(c["policies"][k]["loads"] for c in doc["cpus"]) == p["loads"], "loads by CPU")
    check(counts(doc) == counts(sim(known[0][0])[0]), "counting by program changes the counts")


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
        doc["programs"].sort(key=lambda p: p["name"])
        del doc["cpus"]
        return doc

    whole = merge(*files)
    check(merge(*reversed(files)) == whole, "the order matters")
    merge(files[0], files[1])
    shutil.copy(at("sum.json"), at("left.json"))
    merge(files[2], files[3])
    shutil.copy(at("sum.json"), at("right.json"))
    check(merge(at("left.json"), at("right.json")) == whole, "the grouping matters")
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
            r = run("sim", "-j", "--state", at(f"state{i}"), piece)
            check(r.returncode == 0, f"piece {k}: {r.stderr.decode()}")
            open(at(f"part{k}.json"), "wb").write(r.stdout)
            out.append(at(f"part{k}.json"))
        total, want = merge(*out), sim(*args)[0]
        check(counts(total) == counts(want), f"pieces of {args} are not the whole")
        for key in ["slots", "user_slots", "used_slots", "switches", "forks", "observed_restores", "span_ns"]:
            check(total["totals"][key] == want["totals"][key], f"{key} of pieces")
        # Each by itself they are not, but for a load for each task and CPU at each cut.
        error(run("sim", pieces[1]), 2, "--state goes on", "a piece alone")
        error(run("sim", "--state", at(f"state{i}"), pieces[1]), 2, "comes next", "a piece out of order")
    error(run("sim", "--state", out[0], pieces[0]), 2, "not a state", "a state that is none")
    error(run("sim", "--state", at("state0"), "--policy", "eager", pieces[0]), 2, "not a state", "other policies")
    open(at("other.json"), "wb").write(run("sim", "-j", "--use", "all", texts[0]).stdout)
    error(run("sim", "--merge", files[0], at("other.json")), 2, "different assumptions", "merge of two uses")
    open(at("few.json"), "wb").write(run("sim", "-j", "--policy", "eager,lazy", texts[0]).stdout)
    error(run("sim", "--merge", files[0], at("few.json")), 2, "different policies", "merge of other policies")
    error(run("sim", "--merge", texts[1]), 2, "pingpong.ftrace.txt: ", "merge of a trace")
    error(run("sim", "--merge", "--policy", "eager", files[0]), 2, "--merge takes", "merge with policies")


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
    error(run("sim", "-", data=good + good[64:80]), 2, "behind the end", "records behind the end")
    error(run("sim", "-", data=good[:8] + b"\x63" + good[9:]), 2, "version 99", "another version")
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
    for args, words in [
        ([], "name a trace"),
        (["--policy", "nosuch", "x"], "nosuch"),
        (["--use", "p=2", "x"], "--use"),
        (["--use", "by-comm=" + at("nowhere"), "x"], "cannot be read"),
        (["--trap", "9-3", "x"], "--trap"),
        (["--costs", at("nowhere"), "x"], "nowhere"),
        (["--costs", at("t.xst"), "x"], "t.xst"),
        (["--synthetic", "tasks=1,cpus=2"], "--synthetic wants"),
        (["--synthetic", "use=1", "x"], "takes no trace"),
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
    [doc] = sim("--costs", at("costs.json"), at("t.xst"))
    e = row(doc, "eager")
    check(doc["costs"]["ghz"] == 3 and not doc["costs"]["guest"] and
          e["cycles_low"] == e["cycles_high"] == 100 * e["saves"] + 200 * e["loads"], f"costs: {doc['costs']}")


def record():
    error(run("record"), 2, "name a command", "record of nothing")
    error(run("record", "--", "/no/such/command"), 2, "no such command", "record of nothing there")
    error(run("record", "-o", at("r.xst"), "--", "true", env={"XSTATE_PERF": "/no/such/perf"}), 3,
          "perf is needed", "record without perf")
    error(run("record", "-o", at("r.xst"), "--", "true", env={"XSTATE_PERF": "false"}), 3,
          "cannot record", "record where perf refuses")
    check(not os.path.exists(at("r.xst")), "a trace of nothing")
    r = run("record", "-o", at("r.xst"), "--keep", at("perf.data"), "--", "sh", "-c",
            "for i in 1 2 3 4 5 6 7 8; do ls / >/dev/null; done")
    if r.returncode == 3:
        print("not recorded here:", r.stderr.decode().strip())
        return
    check(r.returncode == 0, f"record: exit {r.returncode}, {r.stderr.decode()}")
    [a] = sim(at("r.xst"))
    [b] = sim(at("perf.data"))
    check(counts(a) == counts(b), "perf.data and what was made of it differ")
    check(a["totals"]["execs"] >= 8 and a["totals"]["forks"] >= 8, f"recorded: {a['totals']}")
    error(run("sim", "-", data=open(at("perf.data"), "rb").read()), 2, "must be a file", "perf.data on stdin")
    open(at("cut.data"), "wb").write(open(at("perf.data"), "rb").read()[:5000])
    r = run("sim", at("cut.data"))
    check(r.returncode == 2 and r.stderr.count(b"\n") == 1, f"perf.data cut off: {r.returncode} {r.stderr}")


{"traces": traces, "monoid": monoid, "synthetic": synthetic, "manners": manners, "record": record}[part]()
print("failures:", failures)
sys.exit(1 if failures else 0)
