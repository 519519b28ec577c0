#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A trace.dat of trace-cmd, version 6, made of text of ftrace or perf script: trace_dat.py TEXT > trace.dat; or of a
made-up workload of N switches, trace_dat.py --made N

tracefs is not everywhere to be had, where tests run, and what trace-cmd records is of one machine. Ref:
trace-cmd.dat.v6(5); the kernel's events/header_page and header_event for the ring buffer's pages. Whether a file is
one, trace-cmd report says itself: the test asks it where it is installed."""
import re
import struct
import sys

PAGE = 4096
# Name: system, and fields with their C type, size and sign; __data_loc is text behind the fixed part.
CHAR16, PID, INT = ("char {}[16]", 16, 0), ("pid_t {}", 4, 1), ("int {}", 4, 1)
TEXT, BOOL, U64 = ("__data_loc char[] {}", 4, 0), ("bool {}", 1, 0), ("u64 {}", 8, 0)
FPU = [("fpu", ("struct fpu * {}", 8, 0)), ("load_fpu", BOOL), ("xfeatures", U64), ("xcomp_bv", U64)]
EVENTS = {
    "sched_switch": ("sched", [("prev_comm", CHAR16), ("prev_pid", PID), ("prev_prio", INT),
                               ("prev_state", ("long {}", 8, 1)), ("next_comm", CHAR16), ("next_pid", PID),
                               ("next_prio", INT)]),
    "sched_waking": ("sched", [("comm", CHAR16), ("pid", PID), ("prio", INT), ("target_cpu", INT)]),
    "sched_wakeup": ("sched", [("comm", CHAR16), ("pid", PID), ("prio", INT), ("target_cpu", INT)]),
    "sched_migrate_task": ("sched", [("comm", CHAR16), ("pid", PID), ("prio", INT), ("orig_cpu", INT),
                                     ("dest_cpu", INT)]),
    "sched_process_fork": ("sched", [("parent_comm", TEXT), ("parent_pid", PID), ("child_comm", TEXT),
                                     ("child_pid", PID)]),
    "sched_process_exec": ("sched", [("filename", TEXT), ("pid", PID), ("old_pid", PID)]),
    "sched_process_exit": ("sched", [("comm", CHAR16), ("pid", PID), ("prio", INT), ("group_dead", BOOL)]),
    "x86_fpu_regs_activated": ("x86_fpu", FPU),
    "x86_fpu_regs_deactivated": ("x86_fpu", FPU),
    "x86_fpu_dropped": ("x86_fpu", FPU),
    "x86_fpu_copy_dst": ("x86_fpu", FPU),
}
IDS = {name: 300 + i for i, name in enumerate(EVENTS)}
STATES = {c: 1 << i for i, c in enumerate("SDTtZXxW")} | {"R": 0, "I": 128} # as trace-cmd spells them
COMMON = [("unsigned short common_type", 0, 2, 0), ("unsigned char common_flags", 2, 1, 0),
          ("unsigned char common_preempt_count", 3, 1, 0), ("int common_pid", 4, 4, 1)]


def layout(name):
    """Fields with their offsets; where the fixed part ends."""
    at, out = 8, []
    for field, (kind, size, signed) in EVENTS[name][1]:
        align = 1 if size == 16 else size
        at = -(-at // align) * align
        out.append((field, kind.format(field), at, size, signed))
        at += size
    return out, -(-at // 4) * 4


def format_file(name):
    lines = [f"name: {name}", f"ID: {IDS[name]}", "format:"]
    for text, offset, size, signed in COMMON:
        lines.append(f"\tfield:{text};\toffset:{offset};\tsize:{size};\tsigned:{signed};")
    lines.append("")
    fields = layout(name)[0]
    for _, text, offset, size, signed in fields:
        lines.append(f"\tfield:{text};\toffset:{offset};\tsize:{size};\tsigned:{signed};")
    # How trace-cmd prints it: in the words that tracefs uses.
    def arg(field, kind):
        return f"__get_str({field})" if kind.startswith("__data_loc") else f"REC->{field}"
    def form(field, kind):
        return ("%s" if "char" in kind else "0x%Lx" if field == "fpu" else "%llx" if "u64" in kind else "%ld"
                if "long" in kind else "%d")
    if EVENTS[name][0] == "x86_fpu":
        text = ('"x86/fpu: %p load: %d xfeatures: %llx xcomp_bv: %llx", REC->fpu, REC->load_fpu, '
                'REC->xfeatures, REC->xcomp_bv')
    else:
        names = {"parent_comm": "comm", "parent_pid": "pid"} if name == "sched_process_fork" else {}
        text = '"' + " ".join(f"{names.get(f, f)}={form(f, k)}" for f, k, *_ in fields) + '", ' + ", ".join(
            arg(f, k) for f, k, *_ in fields)
    return ("\n".join(lines) + f"\n\nprint fmt: {text}\n").encode()


def encode(name, pid, values):
    fields, size = layout(name)
    data, tail = bytearray(size), b""
    struct.pack_into("<HBBi", data, 0, IDS[name], 0, 0, pid)
    for field, kind, offset, length, _ in fields:
        value = values.get(field, 0)
        if kind.startswith("__data_loc"):
            text = (value or "").encode() + b"\0"
            struct.pack_into("<I", data, offset, size + len(tail) | len(text) << 16)
            tail += text
        elif length == 16:
            data[offset:offset + 16] = (value or "").encode()[:15].ljust(16, b"\0")
        else:
            data[offset:offset + length] = struct.pack("<Q", value & (1 << 64) - 1)[:length]
    data += tail
    return bytes(data) + bytes(-len(data) % 4)


class Ring:
    """One CPU's pages."""
    def __init__(self):
        self.pages, self.data, self.begun, self.last = [], bytearray(), 0, 0

    def add(self, ns, payload):
        if not self.data:
            self.begun = self.last = ns
        delta = ns - self.last
        head = b""
        if delta >> 27:
            head, delta = struct.pack("<II", 30 | (delta & (1 << 27) - 1) << 5, delta >> 27), 0
        head += (struct.pack("<I", len(payload) // 4 | delta << 5) if len(payload) <= 112
                 else struct.pack("<II", delta << 5, len(payload) + 4))
        if len(self.data) + len(head) + len(payload) > PAGE - 16:
            self.close()
            self.add(ns, payload)
            return
        self.data += head + payload
        self.last = ns

    def close(self):
        if self.data:
            self.pages.append(struct.pack("<QQ", self.begun, len(self.data)) + self.data.ljust(PAGE - 16, b"\0"))
        self.data = bytearray()


LINE = re.compile(r"^ *(.+)[- ](\d+) +(?:\(.{1,8}\) +)?\[(\d+)\] (?:[^ ]{4,5} )? *(\d+)\.(\d+): +"
                  r"(?:\w+:)?(\w+): +(.*)$")
SWITCH = re.compile(r"(.*?)(?::(\d+))? \[(\d+)\] (\S)\S* ==> (.*?)(?::(\d+))? \[(\d+)\]$")
WAKEUP = re.compile(r"(.*):(\d+) \[(\d+)\].* CPU:(\d+)$")


def values_of(name, text, pid):
    """Where names were made anonymous their ":pid" may be gone: prev's is the line's, next's is not known."""
    if name == "sched_switch" and (m := SWITCH.match(text)):
        return dict(prev_comm=m[1], prev_pid=int(m[2] or pid), prev_prio=int(m[3]),
                    prev_state=STATES.get(m[4], 0), next_comm=m[5] if m[6] else "", next_pid=int(m[6] or -1),
                    next_prio=int(m[7]))
    if name == "sched_wakeup" and (m := WAKEUP.match(text)):
        return dict(comm=m[1], pid=int(m[2]), prio=int(m[3]), target_cpu=int(m[4]))
    if name.startswith("x86_fpu"):
        m = re.match(r"x86/fpu: (\S+) load: (\d) xfeatures: (\w+) xcomp_bv: (\w+)", text)
        return dict(fpu=int(m[1], 16), load_fpu=int(m[2]), xfeatures=int(m[3], 16), xcomp_bv=int(m[4], 16))
    out = {}
    for key, value in re.findall(r"(\w+)=(.*?)(?= \w+=|$)", text):
        out[key] = (int(value) if key.endswith(("pid", "prio", "cpu")) else STATES.get(value[0], 0)
                    if key == "prev_state" else value.removesuffix(" ==>"))
    if name == "sched_process_fork":
        out |= {"parent_comm": out.get("comm"), "parent_pid": out.get("pid")}
    if name == "sched_process_exit":
        out["group_dead"] = out.get("group_dead") != "false"
    return out


def convert(text, instances=(), top=True):
    """The bytes of a trace.dat. The events are in the top buffer, or not, and in each of the instances."""
    rings, names, last = {}, {}, 0
    for line in text.splitlines():
        m = LINE.match(line)
        if not m or m[6] not in EVENTS:
            continue
        pid, cpu = int(m[2]), int(m[3])
        names.setdefault(pid, m[1].strip())
        # Text has microseconds; in the same one, the order of its lines is kept.
        last = ns = max(int(m[4]) * 10**9 + int(m[5].ljust(9, "0")), last + 1)
        rings.setdefault(cpu, Ring()).add(ns, encode(m[6], pid, values_of(m[6], m[7], pid)))
    cpus = max(rings) + 1
    for ring in rings.values():
        ring.close()
    page = ("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
            "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
            "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
            f"\tfield: char data;\toffset:16;\tsize:{PAGE - 16};\tsigned:0;\n").encode()
    event = (b"# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n"
             b"\tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n"
             b"\ttime_stamp : type == 31\n\tdata max type_len  == 28\n")
    out = b"\x17\x08\x44tracing6\0\0\x08" + struct.pack("<I", PAGE)
    for title, data in (b"header_page\0", page), (b"header_event\0", event):
        out += title + struct.pack("<Q", len(data)) + data
    systems = sorted({system for system, _ in EVENTS.values()})
    out += struct.pack("<II", 0, len(systems))
    for system in systems:
        mine = [format_file(name) for name, (of, _) in EVENTS.items() if of == system]
        out += system.encode() + b"\0" + struct.pack("<I", len(mine))
        out += b"".join(struct.pack("<Q", len(f)) + f for f in mine)
    commands = "".join(f"{pid} {name}\n" for pid, name in names.items()).encode()
    out += struct.pack("<II", 0, 0) + struct.pack("<Q", len(commands)) + commands
    out += struct.pack("<I", cpus) + b"options  \0"
    # An instance has a table of its own, behind the top one's; an option says where: BUFFER, the third.
    table = b"flyrecord\0" + bytes(16 * cpus)
    options = [struct.pack("<HIQ", 3, 8 + len(name) + 1, 0) + name.encode() + b"\0" for name in instances]
    begin = len(out) + sum(map(len, options)) + 2
    options = [o[:6] + struct.pack("<Q", begin + len(table) * (i + 1)) + o[14:] for i, o in enumerate(options)]
    out += b"".join(options) + struct.pack("<H", 0)
    place = -(-(len(out) + len(table) * (1 + len(instances))) // PAGE) * PAGE
    body = b""
    for full in [top] + [True] * len(instances):
        out += b"flyrecord\0"
        for cpu in range(cpus):
            data = b"".join(rings[cpu].pages) if cpu in rings and full else b""
            out += struct.pack("<QQ", place + len(body), len(data))
            body += data
    return out.ljust(place, b"\0") + body


def made(switches):
    """Seven tasks that take turns on two CPUs: four events for each switch."""
    lines = []
    for i in range(switches):
        a, b, cpu, us = 1000 + 10 * (i % 2) + i // 2 % 7, 1000 + 10 * (i % 2) + (i // 2 + 1) % 7, i % 2, i * 50
        fpu = "x86/fpu: 0xffff88814900ae40 load: 1 xfeatures: a02 xcomp_bv: 8000000000000a07"
        for pid, more, text in [
                (a, 0, f"sched_switch: make:{a} [120] S ==> cc1:{b} [120]"), (a, 2, f"x86_fpu_regs_deactivated: {fpu}"),
                (b, 6, f"x86_fpu_regs_activated: {fpu}"), (b, 20, f"sched_wakeup: make:{a} [120] CPU:{cpu}")]:
            lines.append(f" make-{pid} [{cpu:03}] {100 + (us + more) // 10**6}.{(us + more) % 10**6:06}: {text}")
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1] == "--made":
        whole = made(int(sys.argv[2]))
    else:
        with open(sys.argv[1], encoding="utf-8", errors="replace") as f:
            whole = f.read()
    sys.stdout.buffer.write(convert(whole))
