#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What perf script and ftrace print besides lines of events, and events in other forms: text.py text XSTATE SOURCE."""
from common import check, counts, error, run, run_part, sim

STACK = (b"\tffffffff82265908 __schedule+0x628 ([kernel.kallsyms])\n"
         b"\tffffffff82266273 std::sort(int [3], LOST)+0x23 (/usr/lib/LOST 12/libc.so.6)\n"
         b"\t           cf503 inner (inlined)\n"
         b"\t         5f5e100 [unknown] ([unknown])\n"
         b"\t               0\n\n")


def turns(n=30, handler=True):
    """perf script: two programs take turns, and one has a handler."""
    lines = []

    def event(name, pid, what):
        lines.append(f"{name:>16} {pid:5} [000] {len(lines) / 1e5 + 1:.6f}: {what}\n")

    def switch(a, b):
        event(*a, f"sched:sched_switch: prev_comm={a[0]} prev_pid={a[1]} prev_prio=120 prev_state=S ==> "
              f"next_comm={b[0]} next_pid={b[1]} next_prio=120")

    one, two = ("one", 101), ("two", 102)
    for _ in range(n):
        switch(two, one)
        if handler:
            event(*one, "signal:signal_deliver: sig=10 errno=0 code=0 sa_handler=55d0 sa_flags=4000000")
            event(*one, "syscalls:sys_enter_rt_sigreturn: ")
        switch(one, two)
    return "".join(lines).encode()


def ftrace(text, flags=b" d..2."):
    """The same as tracefs prints it: no systems, and system calls in a form of their own."""
    out = []
    for line in text.splitlines(True):
        name, pid, cpu, rest = line.split(None, 3)
        when, event = rest.split(b": ", 1)
        event = event.split(b":", 1)[1]
        if event.startswith(b"sys_enter_"):
            event = event[:-1].replace(b"sys_enter_", b"sys_").split(b":")[0] + b"()\n"
        out.append(b"%16s-%-7s %s%s %s: %s" % (name, pid, cpu, flags, when, event))
    return b"".join(out)


def same(data, whole, what):
    [doc] = sim("-", data=data)
    if doc:
        check(doc["totals"] == whole["totals"] and counts(doc) == counts(whole), f"{what}: {doc['totals']}")


def odd(data, lines, what):
    [doc] = sim("-", data=data)
    if doc:
        check(doc["totals"]["odd_lines"] == lines, f"{what}: {doc['totals']['odd_lines']} odd lines, not {lines}")


def behind(text, more):
    return b"".join(line + more for line in text.splitlines(True))


def calls(text, whole):
    """tracefs: system calls, of which one kind is looked at."""
    kernel = ftrace(text)
    same(kernel, whole, "tracefs")
    check(whole["totals"]["signals"] == 30 and whole["totals"]["returns_assumed"] == 0, f"handlers: {whole['totals']}")
    same(ftrace(text, b""), whole, "tracefs without flags")
    [doc] = sim("-", data=kernel.replace(b" one-101 ", b" <...>-101 ").replace(b"sigreturn()", b"sigreturn() "))
    check(counts(doc) == counts(whole) and doc["totals"]["signal_turns"] == 60, f"no name: {doc['totals']}")
    head = b"             one-101     [000] .....  1.000001: "
    for call in b"sys_geteuid()", b"sys_geteuid -> 0x0", b"sys_rt_sigreturn -> 0xfffffffffffffffc", \
            b"sys_openat(dfd: 0xffffff9c, filename: 0x55e0 \"a b\", flags: 0)", b"sys_dup2(oldfd: 0xb)", \
            b"do_sigaction <-__x64_sys_rt_sigaction":
        same(behind(kernel, head + call + b"\n"), whole, call)
    for call in b"sys_rt_sigret", b"sys_rt_sigreturn(", b"sys_rt_sigreturn -> 0", b"sys_()", b"sys_ -> 0x0", \
            b"x:sys_rt_sigreturn(", b"sys_rt_sigreturn", b"geteuid()":
        odd(kernel + head + call + b"\n", 1, call)
    error(run("sim", "-", data=kernel + 80 * (head.replace(b"[000]", b"[4099]") + b"sys_rt_sigreturn()\n")), 2,
          "sys_enter_rt_sigreturn without a CPU below 4096", "a call on no CPU")
    # So many of them before the first event.
    same(3000 * (head + b"sys_geteuid()\n") + kernel, whole, "calls first")
    callers = head + b"<stack trace>\n => __schedule\n => schedule\n"
    same(behind(kernel, callers), whole, "ftrace's stacks")
    same(behind(kernel, callers.replace(b"<stack trace>\n =>", b"kernel_stack:  <stack trace >\n=>")), whole, "trace-cmd's")
    odd(kernel + b" => schedule\n", 1, "a caller behind no stack")


def stacks(text, whole):
    """perf record -g: as many lines as there are callers, of any length, wherever the buffer ends."""
    same(behind(text, STACK), whole, "stacks")
    same(behind(text, STACK.expandtabs()), whole, "stacks without tabs")
    lines = STACK.count(b"\n") - 1
    first = text.splitlines(True)[0]
    same(behind(text, STACK[:-1] * 120 + b"\n"), whole, "deep ones")
    same(first + STACK[:-1] * 9000 + b"\n" + text[len(first):], whole, "a very deep one")
    more = 30 * behind(text, b"make 7 [001] 1.0: irq:irq_handler_entry: x\n")
    odd(STACK + text + more, lines, "a stack before the first event")
    odd(text + more + b"\n" + STACK, lines, "a stack behind a blank line")
    odd(ftrace(text + more) + b"".join(l + b"\n" for l in STACK.splitlines() if l), lines, "a stack in tracefs")
    odd(text + more + b"prose\n" + STACK, lines + 1, "a stack behind a line that is odd")
    for line in b"\tffffffff82265908x schedule\n", b"  ffffffff82265908 schedule\n", b"ffffffff82265908 schedule\n", \
            b"\t0ffffffff82265908 schedule\n", b"\tschedule\n", b"\t\n", b"\t\t[0/net: 4/0xeffffff9, \n":
        odd(first + line + text[len(first):] + more, 1, line)
    # Lines of stacks are none that odd ones may hide among.
    error(run("sim", "-", data=behind(text, STACK) + 30 * b"prose\n"), 2, "lines are broken; the first is", "prose")


def records(text, whole):
    """perf script --show-task-events and others of that kind."""
    head = b"make 1234 [000] 0.000000: "
    for record in b"PERF_RECORD_COMM: make:1234/1234", b"PERF_RECORD_COMM exec: make:1234/1234", \
            b"PERF_RECORD_FORK(3:3):(2:2)", b"PERF_RECORD_EXIT(8036:8036):(7989:7989)", \
            b"PERF_RECORD_MMAP2 1223/1223: [0x7f(0x2000) @ 0 00:00 0 0]: r-xp [vdso]", \
            b"PERF_RECORD_SWITCH OUT preempt", b"PERF_RECORD_SWITCH_CPU_WIDE IN           prev pid/tid:  7/7 ", \
            b"PERF_RECORD_KSYMBOL addr ffffffffc0 len 7 type 1 flags 0x0 name bpf_prog", \
            b"PERF_RECORD_NAMESPACES 1/1 - nr_namespaces: 7\n\t\t[0/net: 0/0, 1/uts: 4/0xeffffffe, 3/pid: 0/0, \n" \
            b"\t\t 4/user: 4/0xeffffffd, 5/mnt: 0/0, 6/cgroup: 0/0]":
        same(behind(text, head + record + b"\n"), whole, record)
        # What runs already is told first.
        same(2100 * (head + record + b"\n") + text, whole, record + b", often")
    same(behind(text, b"PERF_RECORD_FINISHED_ROUND\n"), whole, "rounds")
    for record, n in (b"PERF_RECORD_LOST lost 75", 75), (b"PERF_RECORD_LOST_SAMPLES lost 8", 8):
        [doc] = sim("-", data=text + head.replace(b"0.000000", b"9.000000") + record + b"\n")
        check(doc["totals"]["lost_events"] == n and doc["totals"]["odd_lines"] == 0, f"{record}: {doc['totals']}")


def fields(text):
    """perf script -F: what is missing, and what to type."""
    def printed(*left):
        for line in text.splitlines(True):
            name, pid, cpu, when, event = line.split(None, 4)
            yield b"%16s" % b" ".join({"comm": name, "tid": pid, "cpu": cpu, "time": when}[x] for x in left) + b"  " + event

    for left, what in [(("comm", "tid", "time"), "a CPU: type perf script, or perf script -F +cpu,+time"),
                       (("comm", "tid", "cpu"), "a time: type perf script, or perf script -F +cpu,+time"),
                       (("comm", "tid"), "a CPU and a time: type perf script, or perf script -F +cpu,+time"),
                       (("time",), "a CPU: type"), ((), "a CPU and a time: type"),
                       (("comm", "cpu", "time"), "a thread id: type perf script, or perf script -F +tid")]:
        lines = list(printed(*left))
        for n in 1, 15, len(lines):
            error(run("sim", "-", data=b"# a head\n" + b"".join(lines[:n])), 2,
                  "line 2 of perf script is without " + what, f"-F {left}, {n} lines")
    error(run("sim", "-", data=text.replace(b"sched:sched_switch: ", b"")), 2, "without its event's name: type", "no names")
    # Others are of no trace, and the first is told.
    for line in b"prose\n", b"Makefile:12: foo\n", b"host kernel: [12.5] foo:bar: x\n", b"std::sort: 7\n", b"a:b: c\n":
        error(run("sim", "-", data=b"# a head\n" + 50 * line), 2, "line 2 is of no trace: ", line)


def nothing(text):
    """Events, but none of a switch; and damage."""
    wakeup = b"make 1234 [000] 10.0: sched:sched_wakeup: comm=cc1 pid=7 prio=120 target_cpu=000\n"
    error(run("sim", "-", data=wakeup), 2, "no sched_switch event in its 1 line\n", "one wakeup")
    error(run("sim", "-", data=20 * wakeup), 2, "no sched_switch event in its 20 lines\n", "wakeups")
    error(run("sim", "-", data=200000 * wakeup), 2, "no sched_switch event in the first 100001 lines\n", "many")
    error(run("sim", "-", data=b"prose\n" + 3000 * wakeup), 2, "no sched_switch event in the first 2001 lines\n", "prose")
    cut = text.splitlines(True)[0].split(b" next_pid")[0] + b"\n"
    error(run("sim", "-", data=3 * cut), 2, "3 of 3 lines are broken; the first is line 1, sched_switch without next_pid=",
          "only damage")
    error(run("sim", "-", data=cut), 2, "1 of 1 line is broken; the first is line 1, ", "one damaged line")
    for n, says in (1, "Odd: 1 line is damaged, or no event of any kind, and was passed over."), \
            (2, "Odd: 2 lines are damaged, or no event of any kind, and were passed over."):
        [doc] = sim("-", data=text + n * cut)
        check(says in doc["verdict"], f"damage: {doc['verdict']}")


def text():
    perf = turns()
    [whole] = sim("-", data=perf)
    calls(perf, whole)
    stacks(perf, whole)
    records(perf, whole)
    fields(turns(handler=False))
    nothing(perf)


run_part({"text": text})
