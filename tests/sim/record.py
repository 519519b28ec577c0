#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""xstate record, and recordings of others: record.py PART XSTATE SOURCE. Parts: record, used (by BPF), dat
(trace-cmd's)."""
import json
import lzma
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from common import (DATA, SHARED, XSTATE, at, check, counts, documented, error, row, run, run_part, sim, tmp, unpack)


def record():
    error(run("record"), 2, "name a command", "record of nothing")
    error(run("record", "--with", "perf", "--", "/no/such/command"), 2, "no such command", "record of nothing there")
    error(run("record", "--with", "perf", "-o", at("r.xst"), "--", "true", env={"XSTATE_PERF": "/no/such/perf"}), 3,
          "perf is needed", "record without perf")
    error(run("record", "--with", "perf", "-o", at("r.xst"), "--", "true", env={"XSTATE_PERF": "false"}), 3,
          "cannot record", "record where perf refuses")
    check(not os.path.exists(at("r.xst")), "a trace of nothing")
    unwritable()
    unstarted()
    no_room()
    r = run("record", "-j", "--with", "perf", "-o", at("r.xst"), "--keep", at("perf.data"), "--", "sh", "-c",
            "for i in 1 2 3 4 5 6 7 8; do ls / >/dev/null; done")
    if r.returncode == 3:
        print("not recorded by perf here:", r.stderr.decode().strip())
        return
    check(r.returncode == 0, f"record: exit {r.returncode}, {r.stderr.decode()}")
    [a] = sim(at("r.xst"))
    [b] = sim(at("perf.data"))
    check(counts(a) == counts(b), "perf.data and what was made of it differ")
    said = json.loads(r.stdout)
    documented(said)
    for key in "switches", "switches_assumed", "gaps", "lost_events", "user_slots":
        check(said[key] == a["totals"][key], f"{key}: record says {said[key]}, sim {a['totals'][key]}")
    check(f", {said['switches_assumed']} of them assumed," in r.stderr.decode() and
          re.search(rf" lost, {said['gaps']} gaps?\n", r.stderr.decode()), f"recorded: {r.stderr}")
    torn()
    once_more()
    check(a["totals"]["execs"] >= 8 and a["totals"]["forks"] >= 8, f"recorded: {a['totals']}")
    # That returns of handlers were recorded is known, though there be none.
    open(at("perf"), "w").write("#!/bin/sh\nperf \"$@\" | grep -v sigreturn\n")
    os.chmod(at("perf"), 0o755)
    r = run("sim", "-j", at("perf.data"), env={"XSTATE_PERF": at("perf")})
    check(r.returncode == 0, f"no returns: {r.stderr}")
    known, t = b"sys_enter_rt_sigreturn" in open(at("perf.data"), "rb").read(), json.loads(r.stdout)["totals"]
    print(f"{t['signals']} signals, returns recorded: {known}")
    check(t["returns_assumed"] == (0 if known else t["signals"]), f"no returns: {t}")
    error(run("sim", "-", data=open(at("perf.data"), "rb").read()), 2, "must be a file", "perf.data on stdin")
    # A buffer too small for the machine's events: what is lost is said.
    r = run("record", "--with", "perf", "--buffer", "4", "-o", at("lost.xst"), "--keep", at("lost.data"), "--",
            "perf", "bench", "sched", "messaging", "-l", "60")
    check(r.returncode == 0, f"record with a small buffer: {r.stderr}")
    lost = sim(at("lost.xst"))[0]["totals"]["lost_events"] if r.returncode == 0 else 0
    print("lost with a buffer of one page:", lost)
    data, by_type = open(at("lost.data"), "rb").read(), {2: 0, 13: 0}
    place, size = struct.unpack("<QQ", data[40:56])
    size += place
    while place < size:
        kind, _, length = struct.unpack("<IHH", data[place:place + 8])
        if kind in by_type:
            by_type[kind] += struct.unpack("<Q", data[place + (16 if kind == 2 else 8):][:8])[0]
        place += length
    check(lost == max(by_type.values()), f"lost by perf.data's records: {by_type}, said: {lost}")
    check(lost > 0 and f"{lost} events lost".encode() in r.stderr, f"nothing is lost: {r.stderr}")
    # The probe for kernel sections: made where there is none, and taken away again.
    open(at("perf"), "w").write(f"#!/bin/sh\n[ $1 = probe ] && echo \"$@\" >> {at('probes')} && exit 0\n"
                                "exec perf \"$@\"\n")
    os.chmod(at("perf"), 0o755)
    r = run("record", "--with", "perf", "-q", "-o", at("probe.xst"), "--", "true", env={"XSTATE_PERF": at("perf")})
    check(r.returncode == 0, f"record with a probe: {r.stderr}")
    name = "kernel_fpu_begin_mask"
    asked = open(at("probes")).read().splitlines() if os.path.exists(at("probes")) else []
    check(asked in ([], [f"probe -q --add {name}", f"probe -q --del probe:{name}"]), f"probes: {asked}")
    # A signal to the recorder alone ends all of it, and leaves the trace of what was until then.
    p = subprocess.Popen([XSTATE, "record", "--with", "perf", "-o", at("int.xst"), "--", "sleep", "60.25"],
                         stderr=subprocess.PIPE,
                         env={**os.environ, "TMPDIR": tmp.name})
    for _ in range(100):
        if any(f.startswith("xstate-record") and os.path.getsize(at(f)) for f in os.listdir(tmp.name)):
            break
        time.sleep(0.05)
    time.sleep(0.3)
    p.send_signal(signal.SIGINT)
    said = p.communicate(timeout=30)[1]
    check(p.returncode == 0 and b"stopped by signal 2" in said, f"a stopped record: {p.returncode} {said}")
    check(b"sleep\x0060.25" not in b"".join(open(f"/proc/{d}/cmdline", "rb").read() for d in os.listdir("/proc")
                                            if d.isdigit() and os.path.exists(f"/proc/{d}/cmdline")),
          "the command goes on")
    check(not [f for f in os.listdir(tmp.name) if f.startswith("xstate-record")], "a temporary file is left")
    sim(at("int.xst"))
    for to in at("no/x"), "/dev/full":
        error(run("record", "--with", "perf", "-o", to, "--", "true"), 2, "cannot write " + to, f"record to {to}")
    error(run("record", "--keep", "/dev/full", "-o", at("x"), "--", "true"), 2, "cannot write /dev/full", "kept nowhere")
    error(run("record", "-o", at("x"), "--keep", at("x"), "--", "true"), 2, "same file", "record twice to one file")
    open(at("cut.data"), "wb").write(open(at("perf.data"), "rb").read()[:5000])
    error(run("sim", at("cut.data")), 2, "perf script cannot read it: ", "perf.data cut off")
    # What is wrong with perf is not taken for the end of the trace.
    open(at("perf"), "w").write("#!/bin/sh\nperf \"$@\" | head -n 40\nkill -SEGV $$\n")
    error(run("sim", at("perf.data"), env={"XSTATE_PERF": at("perf")}), 2, "falls over it", "perf that crashes")


def unwritable():
    """Who may not record is told so, and not only that there is no place for perf's file."""
    if os.geteuid():
        return
    os.chmod(tmp.name, 0o711)
    shutil.copy(XSTATE, at("xs"))
    os.mkdir(at("locked"), 0o755)
    r = subprocess.run([at("xs"), "record", "--with", "perf", "-o", "/dev/null", "--", "true"], user=65534, group=65534,
                       extra_groups=[], capture_output=True, timeout=60, cwd="/", env={**os.environ, "TMPDIR": at("locked")})
    error(r, 3, "no temporary file can be made in " + at("locked"), "record by nobody")
    check(b"needs root" in r.stderr, f"record by nobody: {r.stderr}")


FAKE = """#!/bin/sh
# perf that does a thing when it is called for the Nth time, and has every tracepoint but the last
n=$(cat {0}/calls 2>/dev/null || echo 0)
echo $((n + 1)) > {0}/calls
echo "$@" >> {0}/asked
if [ $n = {1} ]; then
    mv {0}/asked {0}/here
    {2}
fi
case "$*" in *--dry-run*kernel_fpu*) exit 129;; esac
exit 0
"""


def fake(call, does):
    """perf in a folder of its own."""
    place = tempfile.mkdtemp(dir=tmp.name)
    open(os.path.join(place, "perf"), "w").write(FAKE.format(place, call, does))
    os.chmod(os.path.join(place, "perf"), 0o755)
    return place


def start(place, command=("sleep", "9")):
    """Popen, once its perf does that thing. Signals are what they are at a terminal."""
    def default():
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            signal.signal(number, signal.SIG_DFL)
    p = subprocess.Popen([XSTATE, "record", "--with", "perf", "-o", os.path.join(place, "x"), "--", *command],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=default, start_new_session=True,
                         env={**os.environ, "XSTATE_PERF": os.path.join(place, "perf"), "TMPDIR": place})
    for _ in range(200):
        if os.path.exists(os.path.join(place, "here")):
            break
        time.sleep(0.02)
    return p


def end(p, what):
    begun = time.monotonic()
    out, err = p.communicate(timeout=60)
    took = time.monotonic() - begun
    check(took < 5, f"{what}: {took:.1f} s after the signal")
    return subprocess.CompletedProcess(p.args, p.returncode, out, err)


def unstarted():
    """A signal before the command was started, and perf that was ended and so gave no answer."""
    # Calls: the scheduler's events, those of the probe, the probe, the others, and the recording.
    for call in range(8):
        number = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP][call % 3]
        for group in False, True:
            place, what = fake(call, "exec sleep 9"), f"signal {int(number)} at call {call}, {group}"
            p = start(place)
            (os.killpg if group else os.kill)(p.pid, number)
            error(end(p, what), 128 + number, f"stopped by signal {int(number)} before sleep was started: nothing is written",
                  what)
            left = os.listdir(place)
            check(sorted(left) in (["calls", "here", "perf"], ["asked", "calls", "here", "perf"]), f"{what} leaves {left}")
            after = open(os.path.join(place, "asked")).read().splitlines() if "asked" in left else []
            added = "probe -q --add" in open(os.path.join(place, "here")).read()
            check(after == ["probe -q --del probe:kernel_fpu_begin_mask"] * added, f"{what}, then: {after}")
    place = fake(3, "kill -SEGV $$")
    error(end(start(place), "broken"), 3, "perf was ended by signal 11", "perf that falls over a question")
    # Taking the probe away is not stopped.
    place = fake(8, "sleep 0.5; echo > $(dirname $0)/done")
    p = start(place)
    os.killpg(p.pid, signal.SIGINT)
    end(p, "a probe that is taken away")
    check(os.path.exists(os.path.join(place, "done")), "the probe stays")


def no_room():
    """perf says nothing when its file finds no room."""
    if not shutil.which("perf"):
        return
    os.mkdir(at("room"))
    busy = "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do ls / >/dev/null; done"
    record = [XSTATE, "record", "--with", "perf", "-o", at("room.xst"), "--", "sh", "-c", busy]
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
    r = subprocess.run(record, capture_output=True, timeout=60, preexec_fn=limit, env={**os.environ, "TMPDIR": at("room")})
    if r.returncode == 3:
        print("no room:", r.stderr.decode().strip())
        return
    error(r, 2, f"perf's file cannot be written in {at('room')}: File too large", "a file that may not be larger")
    for size in "64k", "1k":
        r = subprocess.run(["unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size={size} none $TMPDIR || exit 77; exec \"$@\"",
                            "sh", *record], capture_output=True, timeout=60, env={**os.environ, "TMPDIR": at("room")})
        if r.returncode in (1, 77) and not b"xstate" in r.stderr:
            print("no file system to be had that is small:", r.stderr.decode().strip())
            return
        error(r, 2, f"perf's file cannot be written in {at('room')}: No space left on device", f"{size} for perf's file")
    check(not os.path.exists(at("room.xst")), "a trace of what found no room")


def once_more():
    """A second signal, when the recording is over, does not shorten the trace."""
    place = tempfile.mkdtemp(dir=tmp.name)
    open(os.path.join(place, "perf"), "w").write(f"#!/bin/sh\n[ $1 = script ] && echo > {place}/here && sleep 0.5\nexec perf \"$@\"\n")
    os.chmod(os.path.join(place, "perf"), 0o755)
    p = start(place, command=["true"])
    os.killpg(p.pid, signal.SIGINT)
    r = end(p, "a signal while records are made")
    check(r.returncode == 0 and b" switches" in r.stderr, f"a signal while records are made: {r}")
    sim(os.path.join(place, "x"))


def torn():
    """Events that are missing though none was reported lost: record tells the gaps, and what to do."""
    open(at("perf"), "w").write("#!/bin/sh\n[ $1 = script ] || exec perf \"$@\"\n"
                                "perf \"$@\" | awk '!/sched_switch:/ || ++n % 5'\n")
    os.chmod(at("perf"), 0o755)
    r = run("record", "-j", "--with", "perf", "-o", at("torn.xst"), "--", "sh", "-c",
            "for i in 1 2 3 4 5 6 7 8; do ls / >/dev/null; done", env={"XSTATE_PERF": at("perf")})
    check(r.returncode == 0, f"record with gaps: {r.stderr}")
    said, [doc] = json.loads(r.stdout), sim(at("torn.xst"))
    check(said["gaps"] == doc["totals"]["gaps"] > said["switches"] / 100 and not said["lost_events"] and
          doc["holds"] == "contradictions" and b"though nobody reported" in r.stderr and b"--buffer" in r.stderr,
          f"gaps: {said} {r.stderr}")


def dat():
    """trace-cmd's files: the same as their text, and no crash of ours whatever becomes of its library."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.dont_write_bytecode = True
    import trace_dat
    texts = [os.path.join(DATA, "pingpong.ftrace.txt"), os.path.join(DATA, "build.perf.txt.xz")]
    shared = os.path.join(SHARED, "traces", "zlib-build.ftrace.txt.xz")
    texts += [shared] if os.path.exists(shared) else []
    keys = ["records", "switches", "slots", "user_slots", "used_slots", "forks", "execs", "exits", "migrations",
            "signals", "gaps", "observed_restores"]
    for path in texts:
        lines = unpack(path).splitlines(True)[:12000]
        made = trace_dat.convert(b"".join(lines).decode(errors="replace"))
        open(at("t.dat"), "wb").write(made)
        r = run("sim", "-j", at("t.dat"))
        if r.returncode == 3:
            error(r, 3, "made without libtracecmd", "no libtracecmd")
            print(r.stderr.decode().strip())
            sys.exit(1 if failures else 77)
        check(r.returncode == 0, f"{path}: {r.stderr}")
        doc, [want] = json.loads(r.stdout), sim("-", data=b"".join(lines))
        check(counts(doc) == counts(want) and all(doc["totals"][k] == want["totals"][k] for k in keys),
              f"{path} differs as trace.dat: {[(k, doc['totals'][k], want['totals'][k]) for k in keys]}")
        if shutil.which("trace-cmd"):
            # The file is one by trace-cmd's own word.
            report = subprocess.run(["trace-cmd", "report", "-i", at("t.dat")], capture_output=True, timeout=60)
            check(report.returncode == 0, f"trace-cmd report: {report.stderr[-200:]}")
            [said] = sim("-", data=report.stdout.replace(b"group_dead=0", b"group_dead=false"))
            check(counts(said) == counts(doc), f"{path}: trace-cmd reports another trace")
            # Version 7, packed: what trace-cmd writes today.
            subprocess.run(["trace-cmd", "convert", "--file-version", "7", "-i", at("t.dat"), "-o", at("t7.dat")],
                           capture_output=True, timeout=60)
            [packed] = sim(at("t7.dat"))
            check(counts(packed) == counts(doc), f"{path}: version 7 is another trace")
            whole = open(at("t7.dat"), "rb").read()
            for cut in 4000, len(whole) - 100:
                open(at("t7.dat"), "wb").write(whole[:cut])
                r = run("sim", at("t7.dat"))
                check(r.returncode in (0, 2), f"version 7 cut at {cut}: {r.returncode} {r.stderr}")
        else:
            print("no trace-cmd here to ask")
    with lzma.open(at("t.dat.xz"), "wb") as f:
        f.write(made)
    error(run("sim", at("t.dat.xz")), 2, "must be a file of its own, unpacked", "a trace.dat that is packed")
    # What was recorded in an instance is read where the top buffer has no switch; that of several is not mixed.
    text = b"".join(lines).decode(errors="replace")
    open(at("one.dat"), "wb").write(trace_dat.convert(text, ["other"], False))
    [one] = sim(at("one.dat"))
    check(one and counts(one) == counts(doc), "an instance's events are other ones")
    open(at("both.dat"), "wb").write(trace_dat.convert(text, ["other"]))
    [both] = sim(at("both.dat"))
    check(both and counts(both) == counts(doc), "an instance beside the top buffer")
    open(at("two.dat"), "wb").write(trace_dat.convert(text, ["other", "more"], False))
    r = run("sim", at("two.dat"))
    error(r, 2, "scheduler events in several instances, other, more; ", "two instances")
    typed = re.search(r"(trace-cmd report FILE \| sed -n '.*' \|) xstate sim -", r.stderr.decode())
    if check(typed, f"what to type for one of two instances: {r.stderr}") and shutil.which("trace-cmd"):
        report = subprocess.run(typed[1][:-1].replace("FILE", at("two.dat")), shell=True, capture_output=True, timeout=60)
        [said] = sim("-", data=report.stdout.replace(b"group_dead=0", b"group_dead=false"))
        check(said and counts(said) == counts(doc), "one of two instances, by what is to be typed, is another trace")
    for what, cut in ("one.dat", 3), ("two.dat", 5):
        whole = open(at(what), "rb").read()
        open(at(what), "wb").write(whole[:len(whole) * cut // 6])
        error(run("sim", at(what)), 2, what + ": ", f"{what} cut off")
    page = trace_dat.PAGE
    start = len(made) - page * (len(made) // page - made.index(b"flyrecord") // page - 1)
    lost = bytearray(made)
    lost[start + page + 11] |= 0x80  # RB_MISSED_EVENTS in the second page's commit
    open(at("lost.dat"), "wb").write(lost)
    [doc] = sim(at("lost.dat"))
    check(doc["totals"]["lost_events"] == 1 and doc["holds"] == "events-lost", f"lost: {doc['totals']['lost_events']}")
    error(run("sim", "-", data=made), 2, "must be a file", "trace.dat on stdin")
    rng = random.Random(3)

    def broken(data, what, must=False):
        open(at("bad.dat"), "wb").write(data)
        r = run("sim", "-o", at("bad.xst"), at("bad.dat"))
        check(r.returncode == 2 or (r.returncode == 0 and not must), f"{what}: exit {r.returncode}")
        if r.returncode:
            error(r, 2, "bad.dat: ", what)
            check(not [f for f in os.listdir(tmp.name) if f.startswith("bad.xst")], f"{what}: a file is left")
        elif os.path.exists(at("bad.xst")):
            os.remove(at("bad.xst"))
    for cut in [10, 20, 100, 1000, start - 1, start, start + 9, len(made) // 2]:
        broken(made[:cut], f"trace.dat cut at {cut}", must=True)
    for i in range(40):
        data = bytearray(made)
        for _ in range(3):
            data[rng.randrange(start if i % 2 else len(data))] = rng.choice([0, 255, rng.randrange(256)])
        broken(data, f"trace.dat changed, {i}")


def used():
    """Programs in the kernel tell a slot that used the registers from one that had them live."""
    for args, words in [(["--with", "bf"], "--with"), (["--with", "bpf", "--keep", at("x")], "--keep is perf's"),
                        (["--buffer", "5"], "a power of two"), (["--buffer", "1"], "--buffer")]:
        error(run("record", *args, "--", "true"), 2, words, f"record {args}")
    turns, n = os.path.abspath(sys.argv[4]), 150
    hows = ["keep", "x87", "sse", "avx", "opmask", "zmm", "hi16"]
    script = "".join(f"'{turns}' t-{how} {how} {n} & " for how in hows) + "wait"
    r = run("record", "--with", "bpf", "-o", at("u.xst"), "--", "sh", "-c", script)
    if r.returncode == 3:
        error(r, 3, "BPF programs cannot record here: ", "record without BPF")
        check(not os.path.exists(at("u.xst")), "a trace of nothing")
        print(r.stderr.decode().strip())
        sys.exit(1 if failures else 77)
    check(r.returncode == 0 and b"of them used the registers" in r.stderr, f"{r.returncode} {r.stderr}")
    [doc] = sim(at("u.xst"), "--programs")
    n_of = {p["name"]: p for p in doc["programs"]}
    for how in hows:
        p = n_of.get("t-" + how, {"slots": 0, "used_slots": 0})
        print(f"{how}: {p['slots']} slots, {p['used_slots']} used")
        if how in hows[3:] and not p["slots"]:
            continue # not on this CPU
        check(p["slots"] >= n - 1, f"{how}: {p}")
        # The first slot that is saved cannot be compared; signals and the loader come before the turns.
        check(p["used_slots"] <= 8 if how == "keep" else p["used_slots"] >= n - 8, f"used by {how}: {p}")
    t, c = doc["totals"], doc["check"]
    check(t["digest_slots"] > 0.95 * t["user_slots"], f"compared: {t}")
    # A machine where programs that live of faults run beside is another matter.
    off = abs(c["predicted_restores"] - c["observed_restores"])
    check(t["signals"] > 100 or off <= 0.02 * c["observed_restores"] + 3, f"check: {c}")
    check(t["lost_events"] == 0 and t["traces_with_fpu"] == t["traces_with_restores"] == 1, f"events: {t}")
    check(any("Used: " in v and "mage" in v for v in doc["verdict"]), doc["verdict"][0])
    # What is not used costs lazy nothing.
    check(row(doc, "lazy")["traps"] < 0.9 * row(doc, "eager")["loads"], "lazy traps where nothing is used")
    r = run("record", "--with", "bpf", "--buffer", "4", "-o", at("l.xst"), "--", "sh", "-c",
            "for i in 1 2 3 4 5 6 7 8 9; do (:); (:); (:); (:); done")
    lost = sim(at("l.xst"))[0]["totals"]["lost_events"]
    check(r.returncode == 0 and lost > 0 and f"{lost} events lost".encode() in r.stderr, f"lost {lost}: {r.stderr}")
    documented(json.loads(run("record", "-j", "-q", "--with", "bpf", "-o", at("j.xst"), "--", "true").stdout))
    # The command's end, and a signal to the recorder.
    r = run("record", "--with", "bpf", "-o", at("f.xst"), "--", "false")
    check(r.returncode == 0 and b"false ended with status 1" in r.stderr, f"false: {r.returncode} {r.stderr}")
    for to in at("no/x"), "/dev/full":
        error(run("record", "--with", "bpf", "-o", to, "--", "true"), 2, "cannot write " + to, f"record to {to}")
    open(at("none"), "w").write("#!/no/such/interpreter\n")
    os.chmod(at("none"), 0o755)
    error(run("record", "--with", "bpf", "-o", at("g.xst"), "--", at("none")), 3, "cannot be run", "no program")
    check(not os.path.exists(at("g.xst")), "a trace of no program")
    p = subprocess.Popen([XSTATE, "record", "--with", "bpf", "-o", at("i.xst"), "--", "sh", "-c",
                          "trap '' TERM; sleep 8"], stderr=subprocess.PIPE)
    time.sleep(1)
    p.send_signal(signal.SIGINT)
    p.wait(7)  # though the command does not listen
    said = p.stderr.read1()
    check(p.returncode == 0 and b"stopped by signal 2" in said, f"a stopped record: {p.returncode} {said}")
    sim(at("i.xst"))


run_part({"record": record, "used": used, "dat": dat})
