#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Tasks that go from CPU to CPU, and end: moves.py moves XSTATE SOURCE."""
import random

from common import balanced, check, counts, run_part, sim

ASSUME = ["--use", "all", "--signals", "none", "--sections", "none"]


class Machine:
    """Some CPUs, some tasks; what is printed is consistent. Without x86_fpu events nothing comes behind a switch."""

    def __init__(self, cpus, seed, fpu):
        self.random, self.clock, self.fpu = random.Random(seed), random.Random(seed), fpu
        self.lines, self.now = [], 1000
        self.cur, self.pid = [None] * cpus, 100
        self.ready, self.slots, self.ended = [], 0, 0

    def event(self, cpu, who, text):
        self.now += self.clock.randrange(1, 50)
        name, pid = who or (f"swapper/{cpu}", 0)
        self.lines.append(f"{name:>16} {pid:5} [{cpu:03}] {self.now / 1e6:.6f}: {text}\n")

    def begin(self, name):
        self.pid += 1
        self.ready.append((name, self.pid))

    def switch(self, cpu, who, state="S"):
        """@who is None or comes from the tasks that wait. Who ran is one of these, or over."""
        old = self.cur[cpu]
        if who:
            self.ready.remove(who)
        p, n = old or (f"swapper/{cpu}", 0), who or (f"swapper/{cpu}", 0)
        self.event(cpu, old, f"sched:sched_switch: prev_comm={p[0]} prev_pid={p[1]} prev_prio=120 prev_state={state} ==> "
                   f"next_comm={n[0]} next_pid={n[1]} next_prio=120")
        if old:
            self.slots += 1
            if self.fpu:
                self.event(cpu, old, "x86_fpu:x86_fpu_regs_deactivated: x86/fpu: 0xff load: 1 xfeatures: 2 xcomp_bv: 0")
            if state in "XZ":
                self.ended += 1
            else:
                self.ready.append(old)
        self.cur[cpu] = who

    def rest(self):
        for cpu, who in enumerate(self.cur):
            if who:
                self.switch(cpu, None)

    def text(self):
        return "".join(self.lines).encode()


def hop(cpus, tasks, seed, fpu):
    """CPUs that were left are quiet until something comes: whoever runs next may have been there last."""
    m = Machine(cpus, seed, fpu)
    for i in range(tasks):
        m.begin(f"task-{i}")
    for _ in range(600):
        cpu = m.random.randrange(cpus)
        others = m.ready if m.random.random() < 0.8 else []
        if others:
            m.switch(cpu, m.random.choice(others))
        elif m.cur[cpu]:
            m.switch(cpu, None)
    m.rest()
    return m


def moves():
    for cpus, tasks in (1, 3), (2, 1), (2, 2), (3, 2), (8, 1), (8, 12), (40, 7):
        for seed in 1, 2, 3:
            what = f"{tasks} tasks on {cpus} CPUs, seed {seed}"
            m, with_fpu = (hop(cpus, tasks, seed, fpu) for fpu in (False, True))
            [doc], [seen] = (sim("-", *ASSUME, data=t.text()) for t in (m, with_fpu))
            t = doc["totals"]
            check(t["gaps"] == 0 and doc["holds"] != "contradictions", f"{what}: {t['gaps']} gaps")
            # Who ran on a CPU is not known before its first event.
            check(t["switches_assumed"] <= cpus, f"{what}: {t['switches_assumed']} switches assumed")
            check(t["slots"] == t["user_slots"] == t["used_slots"] == m.slots, f"{what}: {m.slots} slots, {t}")
            # But for laziest: whom it has to ask depends on whose slot ended first, and here that is known late.
            differ = {k: (v, counts(seen)[k]) for k, v in counts(doc).items() if v != counts(seen)[k] and k[0] != "laziest"}
            check(not differ, f"{what}: with events of the registers {differ}")
            balanced(doc, what)
            lazy = next(p for p in doc["policies"] if p["policy"] == "lazy")
            check(lazy["traps"] == m.slots, f"{what}: {lazy['traps']} traps")
    ends()


def ends():
    """Without events of exits: the state they were left in says that they are over, and their numbers are free again."""
    for state in "XZ":
        m = Machine(2, 5, False)
        for i in range(2000):
            m.begin("short")
            m.switch(i % 2, m.ready[0])
            m.switch(i % 2, None, state)
        [doc] = sim("-", "--programs", *ASSUME, data=m.text())
        t = doc["totals"]
        # What is over is no slot that ends in user mode, and nothing of it is saved.
        check(m.ended == 2000 == t["exits"] == t["slots"] and not t["user_slots"] and not t["gaps"], f"{state}: {t}")
        [short] = [p for p in doc["programs"] if p["name"] == "short"]
        check(short["tasks"] == 2000, f"{state}: {short}")


run_part({"moves": moves})
