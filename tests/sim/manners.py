#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What is said of bad input, and in which words: manners.py manners XSTATE SOURCE."""
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

from common import DATA, XSTATE, at, check, counts, documented, error, row, run, run_part, sim, tmp, unpack


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
    windows()
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
    # Nor is one in the head or the end another answer: what a trace was made from, and what it could see.
    for where in [*range(64), *range(len(good) - 16, len(good))]:
        bad = bytearray(good)
        bad[where] ^= 1 << rng.randrange(8)
        r = run("sim", "-j", "-", data=bytes(bad))
        check(r.returncode == 2 and r.stderr.count(b"\n") == 1, f"byte {where} turned: exit {r.returncode}, {r.stderr}")
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
    check(doc["totals"]["span_ns"] > 7999 * 10**9 and not any("Pause:" in v for v in doc["verdict"]),
          f"a long pause: {doc['totals']['span_ns']}")
    [doc] = sim("-", data=text + late.replace(b" 9449.", b" 99449.").replace(b" 9450.", b" 99450."))
    check(doc["totals"]["day_pauses"] == 1 and any(v.startswith("Pause: for more than a day") for v in doc["verdict"]),
          f"more than a day: {doc['totals']} {doc['verdict']}")
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
          doc["holds"] == again["holds"] == "contradictions" and doc["totals"] == again["totals"] and
          any(v.startswith("Gaps:") and "more than 1 %" in v for v in doc["verdict"]) and
          not any("were lost" in v for v in doc["verdict"]), f"gaps: {doc['totals']['gaps']}, {doc['holds']}")
    few_gaps(lines)
    # What is no event is counted; what cannot be a text at all is refused.
    [doc] = sim("-", data=b"".join(lines[:500] + [b"garbage\n"] * 3 + lines[500:]))
    check(doc["totals"]["odd_lines"] == 3 and any("3 lines are damaged, or no event" in v for v in doc["verdict"]), "odd lines")
    error(run("sim", "-", data=b"".join(lines[:400] + [b"# x\0y\n"] + lines[400:])), 2, "zero byte in line 401", "NUL")
    error(run("sim", "-", data=b"".join(l for l in lines if b"sched_switch" not in l)), 2, "not one sched_switch",
          "a trace without switches")
    error(run("sim", "-", data=text + text), 2, "time runs backwards", "two traces put together")
    named = b"a b [1] 1.2: x: 77 [000] 1449.9: sched:sched_switch: prev_comm=a b [1] 1.2: x: prev_pid=77 " \
            b"prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120\n"
    [doc] = sim("-", data=named)
    check(doc["totals"]["switches"] > 0, "a name that looks like a CPU and a time")
    places(text, good)
    prices(text)
    sentences(text, lines)
    # Every key is in docs/json.md.
    open(at("names"), "w").write("cc1 1\n")
    [doc] = sim(at("t.xst"), "--programs", "--hypothetical", "--use", "by-comm=" + at("names"))
    check(doc["programs"] and doc["cpus"] and doc["check"] and doc["use_content"], "a document with all there is")
    documented(doc)
    documented(json.loads(run("sim", "-j", at("nowhere")).stdout))
    documented(json.loads(run("report", "-j", "-", "-o", at("x.html"), data=json.dumps(doc).encode()).stdout))
    names()
    open(at("no-names"), "w").write("# nobody\n")
    open(at("twice"), "w").write("sh 0.1\nsh 0.2\n")
    for args, words in [
        ([], "name a trace"),
        (["--merge"], "--merge wants results"),
        (["x", "--cut", "9"], "--cut makes the pieces"),
        (["--policy", "nosuch", "x"], "nosuch"),
        (["--sections", "some", "x"], "--sections"),
        (["--use", "p=2", "x"], "--use"),
        (["--use", "by-comm=" + at("nowhere"), "x"], "No such file"),
        (["--use", "by-comm=" + tmp.name, "x"], "is no file of programs' names"),
        (["--use", "by-comm=/dev/zero", "x"], "is no file of programs' names"),
        (["--use", "by-comm=" + at("no-names"), "x"], "no program's name in it"),
        (["--use", "by-comm=" + at("twice"), "x"], "line 2 has a name that is there already; each name once"),
        (["--trap", "9-3", "x"], "--trap"),
        (["--costs", at("nowhere"), "x"], "nowhere"),
        (["--costs", at("t.xst"), "x"], "not a result of xstate bench insn -o"),
        (["--costs", tmp.name, "x"], "Is a directory"),
        (["--synthetic", "tasks=1,cpus=2"], "tasks must be as many as cpus at least, not 1 for 2"),
        (["--synthetic", "use=1", "x"], "takes no trace"),
        (["--synthetic", "use=1,,tasks=3"], "',tasks=3' does not begin with one of tasks=N"),
        (["--synthetic", "use=1,"], "nothing stands where one of tasks=N"),
        (["--synthetic", ""], "nothing stands where one of tasks=N"),
        (["--synthetic", "use=1,use=0"], "'use' is there twice"),
        (["--synthetic", "use=1,slots=2,use=0"], "'use' is there twice"),
        (["--synthetic", "tasks=1000000"], "tasks wants a whole number from 1 to 65536, not '1000000'"),
        (["--synthetic", "cpus=4097"], "cpus wants a whole number from 1 to 4096, not '4097'"),
        (["--synthetic", "slots=0"], "slots wants a whole number from 1 to 2^40, not '0'"),
        (["--synthetic", "idle=-1"], "idle wants a share from 0 to 1, as 0.5 or 50%, not '-1'"),
        (["--synthetic", "mean-us=1e9"], "mean-us wants microseconds from 0 to 1000000, not '1e9'"),
        (["--synthetic", "seed=18446744073709551616"], "seed wants a whole number below 2^64, not"),
        (["--synthetic", "slots=10,use=1.5,idle=0"], "use wants a share from 0 to 1, as 0.5 or 50%, not '1.5'"),
        (["--synthetic", "slots=10,tea=1"], "there is no 'tea'; there are tasks, cpus"),
        (["--synthetic", "slots"], "slots wants a whole number from 1 to 2^40, as in slots=1"),
        (["--synthetic", "tasks=3,cpus=4"], "not 3 for 4"),
        (["--synthetic", "use=" + 70 * "1"], "'use=1111"),
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
        "schema": "xstate.bench/1", "kind": "insn", "cycles_per_tick": 1.5,
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


def windows():
    """A file of many megabytes is partly mapped: the same as through a pipe, also where it is cut or broken."""
    run("sim", "-q", "--synthetic", "slots=800000,tasks=9,cpus=3", "-o", at("long.xst"))
    long = open(at("long.xst"), "rb").read()
    check(len(long) > 3 * (4 << 20), "a trace of no three windows")
    check(sim(at("long.xst"), "--use", "p=0.4")[0]["policies"] == sim("-", "--use", "p=0.4", data=long)[0]["policies"],
          "a file and a pipe differ")
    for what, data in [("cut", long[:(6 << 20) + 5]), ("at a window", long[:64 + (4 << 20)]), ("bare", long[:64]),
                       ("flipped", long[:5 << 20] + bytes([long[5 << 20] ^ 4]) + long[(5 << 20) + 1:])]:
        open(at("w.xst"), "wb").write(data)
        piped, filed = run("sim", "-", data=data), run("sim", at("w.xst"))
        check(filed.returncode == piped.returncode == 2 and filed.stderr.split(b"w.xst: ")[-1] ==
              piped.stderr.split(b"standard input: ")[-1], f"{what}: {filed.stderr} from a file, {piped.stderr}")


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


def names():
    """A list of programs: how a share may be written, what is wrong with a line, and that none of them is there."""
    def asked(text):
        open(at("list"), "w").write(text)
        return run("sim", "-j", at("t.xst"), "--use", "by-comm=" + at("list"))

    want = json.loads(asked("cc1 0.5\n").stdout)
    for text in "cc1 .5\n", "cc1\t0.5", "cc1 50%\n", "cc1  \t .5 \t\r\n", "# the compiler\n\n \t\ncc1 0.50\n", \
            "#" + 500 * "x 1 " + "\ncc1 .5\n":
        r = asked(text)
        check(r.returncode == 0 and not r.stderr and json.loads(r.stdout)["totals"] == want["totals"],
              f"names {text!r}: {r.stderr}")
    share, name = "does not end with a blank and a share from 0 to 1", "has no program's name of 1 to 15 characters"
    for line, what in [("cc1", share), ("cc1 .", share), ("cc1 1.5", share), ("cc1 -.5", share), ("cc1 nan", share),
                       ("cc1 0.5x", share), ("0.5", share), (" 0.5", name), ("a-name-too-long- 0.5", name),
                       (500 * "x" + " 0.5", name), ("cc1 " + 500 * "0", share)]:
        r = asked("sh 0.1\n" + line + "\n")
        check(r.returncode == 2 and f"line 2 {what}" in r.stderr.decode(), f"names {line!r}: {r.stderr}")
    # None of them is there: up to three are named.
    for text, said in [("cc1 1\nnobody 1\n", None), ("* 0.5\n", None), ("nobody 1\n", "trace: nobody\n"),
                       ("* 1\na 1\nb b 1\nc 1\nd 1\n", "trace: a, b b, c, ...\n")]:
        r = asked(text)
        check(r.returncode == 0 and r.stderr.decode().endswith(said or "") and bool(r.stderr) == bool(said),
              f"none of {text!r} is there: {r.stderr}")
    # Who came in an earlier piece is there.
    check(run("sim", "-q", at("t.xst"), "-o", at("n"), "--cut", "100").returncode == 0, "--cut")
    open(at("list"), "w").write("make 1\n")
    for k in range(3):
        r = run("sim", "-j", at(f"n.{k}"), "--state", at("n.st"), "--use", "by-comm=" + at("list"))
        check(r.returncode == 0 and not r.stderr, f"a name of the first piece, in piece {k}: {r.stderr}")


def few_gaps(lines):
    """A contradiction or two are a remark; and what is assumed in place of what is missing is told."""
    switches = [i for i, l in enumerate(lines) if b"sched_switch" in l]
    [whole] = sim("-", data=b"".join(lines))
    seen = whole["totals"]["switches"] - whole["totals"]["switches_assumed"]
    check(seen == len(switches), f"{seen} switches are not assumed, of {len(switches)} events")
    for gone in switches[len(switches) // 2:]:
        [doc] = sim("-", data=b"".join(lines[:gone] + lines[gone + 1:]))
        if doc["totals"]["gaps"]:
            break
    n = doc["totals"]
    check(0 < n["gaps"] <= n["switches"] // 100, f"one switch taken out: {n['gaps']} gaps of {n['switches']}")
    check(doc["holds"] in ("over-all-prices", "depends-on-prices") and
          any(v.startswith("Verdict: ") for v in doc["verdict"]) and
          any(v.startswith("Gaps:") and "Up to 1 %" in v for v in doc["verdict"]), f"few gaps: {doc['verdict']}")
    check(n["switches_assumed"] > whole["totals"]["switches_assumed"] and
          n["switches"] - n["switches_assumed"] == len(switches) - 1, f"assumed: {n['switches_assumed']}")
    r = run("sim", "-", data=b"".join(lines[:gone] + lines[gone + 1:])).stdout.decode()
    check(f"{n['switches']} switches, {n['switches_assumed']} of them assumed," in r, f"and not told: {r[:300]}")


def prices(text):
    """What a table of prices is worth is in the answer; one of another kind is refused."""
    machine = {"cpu": "test CPU      ", "tsc_hz": 2e9, "hypervisor": None}
    doc = {"schema": "xstate.bench/1", "kind": "insn", "cycles_per_tick": 1.5, "machine": machine,
           "blocks_done": 170, "blocks_planned": 170, "complete": True,
           "noise": {"others_cpus": 0.1}, "noise_limits": {"others_cpus": 0.25}}

    def table(*names, **change):
        rows = [{"instruction": i, "format": f, "live": "SSE", "low_quartile_cycles": 100,
                 "high_quartile_cycles": 120} for i, f in names]
        open(at("prices.json"), "w").write(json.dumps(doc | {"costs": rows} | change))
        [answer] = sim("-c", at("prices.json"), at("t.xst"))
        documented(answer)
        return answer

    def says(answer, what):
        return any(what in v for v in answer["verdict"])

    best = [("XSAVEC", "compacted"), ("XRSTOR", "compacted")]
    old = [("FNSAVE", None), ("FRSTOR", None)]
    good = table(*best)
    check(good["costs"]["rough"] == [] and good["costs"]["fallback"] is None and not says(good, "Rough:") and
          good["costs"]["source"].endswith("on test CPU"), f"good prices: {good['costs']}")
    for change, reasons, what in [
            ({"complete": False, "blocks_done": 5}, ["stopped-early"], "stopped after 5 of 170 blocks"),
            ({"noise": {"others_cpus": 1}}, ["not-quiet"], "the machine was not quiet"),
            ({"noise_limits": {}}, ["quiet-not-known"], "nothing says how quiet")]:
        answer = table(*best, **change)
        check(answer["costs"]["rough"] == reasons and says(answer, what), f"rough: {answer['costs']}")
        r = run("sim", "-c", at("prices.json"), at("t.xst"))
        check(b"Rough: " in r.stdout and b"rough" not in r.stderr, f"rough, for people: {r.stderr}")
    for names, what in [(best[:1] + old, "of the better XSAVEC and XRSTOR the file has no XRSTOR"),
                        (best[1:] + old, "of the better XSAVEC and XRSTOR the file has no XSAVEC"),
                        (old, "they move nothing but x87")]:
        answer = table(*names)
        check("FNSAVE and FRSTOR" in answer["costs"]["source"] and what in answer["costs"]["fallback"] and
              says(answer, what), f"{names}: {answer['costs']}")
    answer = table(("XSAVE", "standard"), ("XRSTOR", "standard"))
    check(answer["costs"]["fallback"] is None, f"XSAVE is all there is: {answer['costs']}")
    open(at("prices.json"), "w").write(json.dumps(doc | {"kind": "switch", "costs": []}))
    error(run("sim", "-c", at("prices.json"), at("t.xst")), 2, "of xstate bench switch", "prices of another kind")
    # Lines for people are no longer than is asked for, but for tables.
    table(*best, complete=False)
    for columns in 40, 60, 100:
        out = subprocess.run([XSTATE, "sim", "t.xst", "-c", "prices.json"], cwd=tmp.name, capture_output=True,
                             text=True, timeout=60, env={**os.environ, "COLUMNS": str(columns)}).stdout
        paragraphs = re.sub(r"\npolicy .*?\n\n", "\n\n", out, flags=re.S).splitlines()
        check(len(paragraphs) > 20 and all(len(l) <= columns for l in paragraphs),
              f"{columns} columns: {[l for l in paragraphs if len(l) > columns]}")


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
    for policies in "eager,lazy", "eager":
        [doc] = sim("--policy", policies, at("t.xst"))
        check(doc["check"] is None and says(doc, "Check: none; to have the ") and
              says(doc, "--policy must list deferred as well"), f"no deferred: {doc['verdict']}")
    # One of a thing is one.
    [doc] = sim("-", data=b"CPU:1 [LOST 1 EVENTS]\n" + text)
    check(says(doc, "1 event was lost"), f"one event lost: {doc['verdict']}")
    check(b" 1 slot of tasks" in run("sim", "--synthetic", "slots=1,tasks=1,cpus=1").stdout, "1 slots of tasks")
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
    check(not any("(0)" in v for v in doc["verdict"]), f"a reason that is none: {doc['verdict']}")
    [doc] = sim("-", data=b"CPU:1 [LOST 12 EVENTS]\n" + text)
    check(says(doc, "That is within 2 %, but events were lost") and not says(doc, "to be trusted"),
          f"trusted, and events were lost: {doc['verdict']}")
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
    # It cannot be taken away.
    check(made[63] == 1, "the flag is elsewhere")
    error(run("sim", "-", data=made[:63] + b"\0" + made[64:]), 2, "do not add up", "a made-up trace without its mark")


run_part({"manners": manners})
