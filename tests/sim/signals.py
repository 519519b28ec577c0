#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What signals cost, and what is not known of them: signals.py PART XSTATE SOURCE. Parts: touched (by handlers),
returns (of handlers)."""
import json
import os

from common import at, check, counts, error, row, run, run_part, sim

PRICES = ["--costs", "zen3", "--trap", "400-1000", "--ts", "30-200"]


class Trace:
    """One CPU, two programs, as perf script prints it."""

    def __init__(self):
        self.lines, self.now, self.restores = [], 0, 0

    def event(self, who, text):
        self.now += 10
        self.lines.append(f"{who[0]:>16} {who[1]:5} [000] {self.now / 1e6 + 1:.6f}: {text}\n")

    def restore(self, who, load=0):
        self.restores += 1
        self.event(who, f"x86_fpu:x86_fpu_regs_activated: x86/fpu: 0xff load: {load} xfeatures: 2 xcomp_bv: 0")

    def switch(self, a, b, live=True):
        self.event(a, f"sched:sched_switch: prev_comm={a[0]} prev_pid={a[1]} prev_prio=120 prev_state=S ==> "
                   f"next_comm={b[0]} next_pid={b[1]} next_prio=120")
        if live:
            self.event(a, "x86_fpu:x86_fpu_regs_deactivated: x86/fpu: 0xff load: 1 xfeatures: 2 xcomp_bv: 0")

    def signal(self, who):
        self.event(who, "signal:signal_deliver: sig=10 errno=0 code=0 sa_handler=55d0 sa_flags=4000000")

    def sigreturn(self, who):
        self.event(who, "syscalls:sys_enter_rt_sigreturn: ")

    def text(self):
        return "".join(self.lines).encode()


A, B = ("one", 101), ("two", 102)


def turns(signals, shown=True, slots=30):
    """Two programs take turns; one of them handles so many signals in each of its slots."""
    t = Trace()
    for _ in range(slots):
        t.switch(B, A)
        for _ in range(signals):
            t.signal(A)
            if shown:
                t.sigreturn(A)
        t.switch(A, B)
    return t.text()


def cost(p, c, end, frames):
    """Counts times prices; @frames: handlers that touch the registers, as does the program behind each."""
    return ((p["saves"] + p["kernel_saves"] + frames) * c[f"save_{end}_cycles"] +
            (p["loads"] + p["clears"] + 2 * frames) * c[f"load_{end}_cycles"] +
            (p["traps"] + 2 * frames) * c[f"trap_{end}_cycles"] +
            (p["ts_writes"] + 4 * frames) * c[f"ts_{end}_cycles"] +
            p["interrupts"] * c[f"interrupt_{end}_cycles"] + p["init_reads"] * c[f"init_read_{end}_cycles"])


def touched():
    # A check that is off, and nothing was assumed for the events that are missing.
    t = Trace()
    for _ in range(30):
        t.switch(B, A)
        for _ in range(5):
            t.restore(A)
        t.switch(A, B)
    [off] = sim("-", data=t.text())
    said = [v for v in off["verdict"] if v.startswith("Check:")][0]
    check("% off" in said and off["totals"]["signals_assumed"] == 0 and "assumed instead (0)" not in said,
          f"nothing was assumed: {said}")
    [one] = sim("-", *PRICES, data=turns(1, slots=1))
    check(any("1 handler began" in v and "others 2 times" in v for v in one["verdict"]), f"one handler: {one['verdict']}")
    [none] = sim("-", *PRICES, data=turns(0))
    check(none["totals"]["signal_turns"] == 0 and not any(v.startswith("Signals:") for v in none["verdict"]),
          "signals where there are none")
    for signals in 1, 3, 40:
        frames = 30 * signals
        for shown in True, False:
            what, text = f"{signals} signals a slot, {shown}", turns(signals, shown)
            [doc] = sim("-", *PRICES, data=text)
            t, c = doc["totals"], doc["costs"]
            check((t["signals"], t["signal_frames"], t["signal_turns"]) == (frames, frames, 2 * frames), f"{what}: {t}")
            check(t["returns_assumed"] == (0 if shown else frames), f"{what}: {t['returns_assumed']} returns assumed")
            eager, lazy, before = row(doc, "eager"), row(doc, "lazy"), row(none, "lazy")
            # The least is as if there were no signals; the most moves what eager does, and traps each time.
            check([lazy[k] for k in ("saves", "loads", "traps")] == [before[k] for k in ("saves", "loads", "traps")] and
                  lazy["cycles_low"] == before["cycles_low"], f"{what}: the least is {lazy}")
            check(abs(lazy["saves"] + frames - eager["saves"]) <= 1 and
                  abs(lazy["loads"] + 2 * frames - eager["loads"]) <= 1, f"{what}: eager moves {eager}")
            for p in doc["policies"]:
                waits = p["policy"] in ("lazy", "lazy-preload", "lazy-keep", "laziest")
                low, high = (cost(p, c, end, frames if waits and end == "high" else 0) for end in ("low", "high"))
                check(abs(p["cycles_low"] / low - 1) < 1e-9 and abs(p["cycles_high"] / high - 1) < 1e-9,
                      f"{what}: {low} to {high}, {p}")
            said = [v for v in doc["verdict"] if v.startswith("Signals:")]
            check(len(said) == 1 and f" {frames} handlers began" in said[0] and f" {2 * frames} times" in said[0], f"{said}")
            # Nothing is used, so nothing is touched; and the same record by record, and in pieces.
            [idle] = sim("-", "--use", "none", *PRICES, data=text)
            check(idle["totals"]["signal_turns"] == 0 and idle["totals"]["signals"] == frames, f"{what}, --use none")
            check(row(idle, "lazy")["cycles_high"] == row(sim("-", "--use", "none", *PRICES, data=turns(0))[0],
                                                          "lazy")["cycles_high"], f"{what}, --use none costs")
            [direct] = sim("-", "--direct", *PRICES, data=text)
            check(direct["totals"] == t and counts(direct) == counts(doc), f"{what}: --direct differs")
            if signals == 3:
                pieces(text, doc, f"{shown}")
    # So many that lazy's least is far below eager, whatever the prices: that decides nothing.
    check(row(doc, "lazy")["cycles_low"] < row(doc, "eager")["cycles_low"] / 5, "not many signals")
    check(doc["holds"] == "depends-on-prices" and
          any(v.startswith("Verdict: eager or lazy depends on what handlers touch: ") for v in doc["verdict"]),
          f"many signals: {doc['verdict']}")
    # Above all slots there is no share.
    b = doc["break_even"]
    check(b["counted_low_per_million"] < 1e6 < b["counted_high_per_million"] and
          any(f"above {b['counted_low_per_million']:.0f} used slots of a million, or at no share of slots, by the counts"
              in v for v in doc["verdict"]), f"{b} {doc['verdict']}")
    check(any("The two differ since the formula" in v and "to 41 traps a used slot" in v for v in doc["verdict"]),
          f"why they differ: {doc['verdict']}")
    check(not any("The two differ" in v for v in none["verdict"]), f"they do not differ: {none['verdict']}")
    # Traps for nothing: lazy is never dearer.
    [free] = sim("-", "--costs", "zen3", "--trap", "0", "--ts", "0", "--use", "p=0.2", data=turns(0, slots=400))
    check(free["break_even"]["counted_low_per_million"] <= 1e6, f"traps for nothing: {free['break_even']}")
    some = [line for line in turns(3).splitlines(True)]
    [kernel] = sim("-", "--costs", "zen3", "--trap", "0", "--ts", "0",
                   data=b"".join(line.replace(b"signal:signal_deliver: sig", b"probe:kernel_fpu_begin_mask: ()")
                                 for line in some if b"sigreturn" not in line))
    check(kernel["break_even"]["counted_low_per_million"] > 1e6 and
          any("eager is cheaper than lazy at no share of slots by the counts" in v for v in kernel["verdict"]),
          f"sections: {kernel['break_even']} {kernel['verdict']}")
    # One slot of each pair has three of them: the first and what the others would cost is told apart.
    said = [v for v in kernel["verdict"] if v.startswith("Sections:")]
    check(kernel["totals"]["sections"] == kernel["totals"]["sections_inside"] == 90 and len(said) == 1 and
          said[0].startswith("Sections: 90 of ") and said[0].endswith(" at most 90 of each."), f"inside: {said} {kernel['totals']}")
    check(none["totals"]["sections_inside"] == 0 and not any(v.startswith("Sections:") for v in none["verdict"]), "sections where none are")


def pieces(text, whole, what):
    base = at("cut" + what)
    r = run("sim", "-q", "--save", base, "--cut", "7", "-", data=text)
    check(r.returncode == 0, f"--cut: {r.stderr}")
    parts = []
    while os.path.exists(f"{base}.{len(parts)}"):
        r = run("sim", "-j", "--state", base + ".state", f"{base}.{len(parts)}")
        check(r.returncode == 0, f"piece {len(parts)}: {r.stderr}")
        parts.append(f"{base}.{len(parts)}.json")
        open(parts[-1], "wb").write(r.stdout)
    r = run("sim", "--merge", "-j", *PRICES, *reversed(parts))
    check(r.returncode == 0 and len(parts) > 9, f"{len(parts)} pieces: {r.stderr}")
    doc = json.loads(r.stdout)
    check(doc["totals"] == whole["totals"] and counts(doc) == counts(whole), f"{what}: pieces are not the whole")
    for p, q in zip(doc["policies"], whole["policies"]):
        check(p["cycles_high"] == q["cycles_high"], f"{what}: {p['policy']} costs {p['cycles_high']} in pieces")
    doc["totals"]["signal_frames"] = doc["totals"]["signal_turns"] + 1
    open(at("wrong.json"), "w").write(json.dumps(doc))
    error(run("sim", "--merge", at("wrong.json")), 2, "more than signal_turns", "more handlers than there are turns")


def jumps(returned):
    """Handlers jump out of themselves, by siglongjmp(); one more returns: at the "front", the "end" or never."""
    t = Trace()
    t.switch(B, A)
    t.restore(A, 1)
    if returned == "front":
        t.signal(A)
        t.restore(A)
        t.sigreturn(A)
        t.restore(A)
    for _ in range(500):
        t.signal(A)
        t.restore(A)
    if returned == "end":
        t.signal(A)
        t.restore(A)
        t.sigreturn(A)
        t.restore(A)
    for _ in range(3):
        t.switch(A, B)
        t.restore(B, 1)
        t.switch(B, A)
        t.restore(A, 1)
    return t


HEAD = b"# event : name = sched:sched_switch, , id = { 1 }\n# event : name = syscalls:sys_enter_rt_sigreturn, , id = { 2 }\n"


def returns():
    told = "of 500 signals it does not tell whether their handlers returned (sys_enter_rt_sigreturn)"
    for returned, head in ("front", b""), ("end", b""), ("never", HEAD), ("end", HEAD), ("never", b""):
        trace, what = jumps(returned), f"{returned}{' with a head' if head else ''}"
        [doc] = sim("-", data=head + trace.text())
        c, t = doc["check"], doc["totals"]
        check(c["observed_restores"] == trace.restores, f"{what}: {c}")
        known = returned != "never" or head
        check(t["returns_assumed"] == (0 if known else 500), f"{what}: {t['returns_assumed']} returns assumed")
        off = c["predicted_restores"] - c["observed_restores"]
        check(abs(off) <= 2 if known else abs(off - 500) <= 2, f"{what}: {c}")
        check(any(told in v for v in doc["verdict"]) == (not known), f"{what}: {doc['verdict']}")
        blind = b"".join(line for line in trace.text().splitlines(True) if b"regs_activated" not in line)
        check(counts(sim("-", data=head + blind)[0]) == counts(doc), f"{what}: the restores are looked at")
    # So late that the records behind the first signal are on their way: from there on it is known.
    front, back = jumps("never"), jumps("end")
    for _ in range(140000):
        front.switch(A, B, live=False)
        front.switch(B, A, live=False)
    for line in back.lines[3:]: # A runs
        front.now += 10
        front.lines.append(line[:30] + f"{front.now / 1e6 + 1:.6f}" + line[line.index(": "):])
    [doc] = sim("-", data=front.text())
    check(doc["totals"]["returns_assumed"] == 1001 and doc["totals"]["signals"] == 1001 and
          doc["totals"]["gaps"] == 0, f"too late: {doc['totals']}")
    [doc] = sim("-", data=front.text() + back.text().replace(b" 1.", b" 99."))
    check(doc["totals"]["returns_assumed"] == 1001 and doc["totals"]["signals"] == 1502, f"later: {doc['totals']}")
    # Records have it from their making.
    r = run("sim", "-q", "-o", at("r.xst"), "-", data=jumps("end").text())
    check(r.returncode == 0 and counts(sim(at("r.xst"))[0]) == counts(sim("-", data=jumps("end").text())[0]), "as records")


run_part({"touched": touched, "returns": returns})
