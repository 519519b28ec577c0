# SPDX-License-Identifier: BSD-2-Clause
"""Small valid inputs to start fuzzing from: seeds.py FOLDER makes FOLDER/image, core, ..."""
import json
import pathlib
import re
import struct
import sys

out = pathlib.Path(sys.argv[1])


def image(bv, size, xcomp=0, word464=0):
    area = bytearray((i * 7 + 1) % 256 for i in range(size))
    struct.pack_into("<HH", area, 0, 0x37f, 0)
    struct.pack_into("<II", area, 24, 0x1f80, 0xffff)
    area[416:576] = bytes(160)
    struct.pack_into("<Q", area, 464, word464)
    struct.pack_into("<QQ", area, 512, bv, xcomp)
    return bytes(area)


def put(kind, name, data):
    folder = out / kind
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def note(owner, kind, desc):
    owner = owner.encode() + b"\0"
    pad = lambda b: b + bytes(-len(b) % 4)
    return struct.pack("<III", len(owner), len(desc), kind) + pad(owner) + pad(desc)


def core(threads, layout=b"", bits=64):
    notes = b""
    for tid, xstate, fx in threads:
        status = bytearray(336 if bits == 64 else 144)
        struct.pack_into("<I", status, 32 if bits == 64 else 24, tid)
        notes += note("CORE", 1, bytes(status)) + note("CORE", 2, fx)
        if xstate:
            notes += note("LINUX", 0x202, xstate)
    if layout:
        notes += note("LINUX", 0x205, layout)
    if bits == 64:
        head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 4, 62, 1, 0, 64, 0, 0, 64, 56, 1,
                           0, 0, 0)
        head += struct.pack("<IIQQQQQQ", 4, 0, 120, 0, 0, len(notes), 0, 4)
    else:
        head = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\1\1\1", 4, 3, 1, 0, 52, 0, 0, 52, 32, 1,
                           0, 0, 0)
        head += struct.pack("<IIIIIIII", 4, 84, 0, 0, len(notes), 0, 0, 4)
    return head + notes


def varint(v):
    b = b""
    while v > 127:
        b, v = b + bytes([v & 127 | 128]), v >> 7
    return b + bytes([v])


def field(n, v):
    if isinstance(v, bytes):
        return varint(n << 3 | 2) + varint(len(v)) + v
    return varint(n << 3) + varint(v)


def criu(bv, avx512=False):
    xsave = field(1, bv) + b"".join(field(2, i) for i in range(64))
    if avx512:
        xsave += b"".join(field(5, i) for i in range(8)) + b"".join(field(6, i) for i in range(64))
        xsave += b"".join(field(7, i << 20) for i in range(128))
    fp = b"".join(field(i + 1, v) for i, v in enumerate((0x37f, 0, 0, 0, 0, 0, 0x1f80, 0xffff)))
    fp += b"".join(field(9, i) for i in range(32)) + b"".join(field(10, i) for i in range(64))
    info = field(1, 0) + field(3, fp + field(13, xsave))
    message = field(1, 1) + field(2, info)
    return struct.pack("<III", 0x54564319, 0x55053847, len(message)) + message


LAYOUT = b"".join(struct.pack("<IIII", *r) for r in
                  ((2, 256, 576, 0), (5, 64, 1088, 0), (6, 512, 1152, 0), (7, 1024, 1664, 0)))
put("image", "standard", b"\0\0" + image(0xe7, 2696))
put("image", "compacted", b"\x08\0" + image(0x207, 2440, (1 << 63) | 0x2e7))
put("image", "amd", b"\x10\5" + image(0x2e7, 2440))
put("image", "amx", b"\x02\0" + image(0x602e7, 11008))
put("core", "two-threads", core([(7, image(0xe7, 2688, 0, 0xe7), image(0, 576)[:512]),
                                 (8, image(0x7, 2688, 0, 0xe7), image(0, 576)[:512])], LAYOUT))
put("core", "no-layout", core([(7, image(0x2e7, 2440, 0, 0x2e7), image(0, 576)[:512])]))
put("core", "fpregset", core([(7, b"", image(0, 576)[:512])]))
put("core", "narrow", core([(7, b"", image(0, 576)[:108])], bits=32))
frame = bytearray(image(0x7, 836))
struct.pack_into("<IIQI", frame, 464, 0x46505853, 836, 7, 832)
struct.pack_into("<I", frame, 832, 0x46505845)
put("sigframe", "wide", bytes(frame))
put("sigframe", "narrow", bytes(112) + bytes(frame[:468]) + struct.pack("<I", 948) +
    bytes(frame[472:]))
# A machine, a task on it, and what is done to its frame or set: see fuzz_frames.h.
for kind in ("frame_write", "frame_return", "set_write", "set_read"):
    for machine in range(9):
        for flags in (0x00, 0x01, 0x08, 0x0a, 0x10, 0x20, 0x2c, 0x13):
            head = struct.pack("<BBQI", machine, flags, 0x802e7 if machine & 1 else 0x85, 0x300040)
            put(kind, f"{machine}-{flags:02x}", head + struct.pack(
                "<HBHBHB", 512, 7, 24, 0x9f, 576, machine) + bytes(range(machine, 40)))
        put(kind, f"{machine}-raw", head[:1] + b"\x2c" + head[2:] + image(0x7, 840))
# A virtual CPU, and what is copied in over what it gave: see fuzz_guest_copy.c.
for machine in range(7):
    for flags in (0x00, 0x03, 0x07, 0x0b, 0x10, 0x17):
        head = struct.pack("<BBQH", machine, flags, 0x602ff if machine & 1 else 0x40205, 4096)
        put("guest_copy", f"{machine}-{flags:02x}", head + struct.pack("<HBHBHB", 512, 7, 24, 0x9f, 160, 1))
        put("guest_copy", f"{machine}-{flags:02x}-raw", head + image(0x7, 840))
put("criu", "avx", criu(7))
put("criu", "avx512", criu(0xe7, True))

# Dumps: the same CPUs in each format.
DATA = pathlib.Path(__file__).parent / "../data/cpuid/dumps"
LINE = re.compile(r"0x(\w+) 0x(\w+): eax=0x(\w+) ebx=0x(\w+) ecx=0x(\w+) edx=0x(\w+)")
WANTED = {1, 6, 7, 0xd, 0x80000000, 0x80000001, 0x80000008}
for dump in ("amd-k17-840f70", "intel-emeraldrapids-03-c06f2", "intel-rj-i7-6600u-2p1c-vmware"):
    lines = [line for line in (DATA / (dump + ".txt")).read_text().splitlines()
             if LINE.search(line) and int(LINE.search(line)[1], 16) in WANTED]
    leaves = [LINE.search(line).groups() for line in lines]
    put("cpuid_r", dump, "\n".join(lines).encode())
    put("instlatx64", dump, "\n".join(
        f"CPUID {leaf.upper()}: {'-'.join(regs).upper()} [SL {int(sub, 16):02X}]"
        for leaf, sub, *regs in leaves).encode())
    put("libcpuid", dump, "\n".join(
        f"{'ext' if leaf[0] == '8' else 'basic'}_cpuid[{int(leaf, 16) & 0xffff}]={' '.join(regs)}"
        for leaf, sub, *regs in leaves if int(sub, 16) == 0).encode())
    put("firecracker", dump, (",".join(json.dumps(
        {"leaf": "0x" + leaf, "subleaf": "0x" + sub, "flags": 0, "modifiers": [
            {"register": r, "bitmap": f"0b{int(v, 16):032b}"}
            for r, v in zip(("eax", "ebx", "ecx", "edx"), regs)]})
        for leaf, sub, *regs in leaves) + "]}").encode())
    put("cpu_json", dump, ('"cpuid":' + json.dumps(
        ["0x00000000 0x00: eax=0x0000000d ebx=0x0 ecx=0x0 edx=0x0"] +
        [line.strip() for line in lines]) + "}").encode())
put("cpu_json", "by-hand", b'"xsave":true,"xsavec":true,"xcr0_supported":"0x207","components":'
    b'[{"id":2,"bytes":256,"standard_offset":576},{"id":9,"bytes":8,"standard_offset":832}]}')

def elf(code, funcs, relocs=(), tables=(), etype=1):
    """A relocatable object: one text, functions (name, offset, size), undefined names, tables."""
    names, strings = ["", ".text", ".rela.text", ".symtab", ".strtab"], b"\0"
    undefined = sorted({name for _, name in relocs})
    symbols = [bytes(24)]
    for name, off, size in funcs:
        symbols.append(struct.pack("<IBBHQQ", len(strings), 0x12, 0, 1, off, size))
        strings += name.encode() + b"\0"
    for name in undefined:
        symbols.append(struct.pack("<IBBHQQ", len(strings), 0x10, 0, 0, 0, 0))
        strings += name.encode() + b"\0"
    text_symbol = len(symbols)
    symbols.append(struct.pack("<IBBHQQ", 0, 3, 0, 1, 0, 0))
    rela = b"".join(struct.pack("<QQq", off, (len(funcs) + 1 + undefined.index(name)) << 32 | 4, -4)
                    for off, name in relocs)
    bodies = [b"", code, rela, b"".join(symbols), strings]
    heads = [(0,) * 6, (1, 6, 0, 0, 16, 0), (4, 0x40, 3, 1, 8, 24), (2, 0, 4, 1, 8, 24),
             (3, 0, 0, 0, 1, 0)]
    for name, body, fields in tables:
        names += [name, ".rela" + name]
        bodies += [body, b"".join(struct.pack("<QQq", at, text_symbol << 32 | 2, to)
                                  for at, to in fields)]
        heads += [(1, 2, 0, 0, 8, 0), (4, 0x40, 3, len(heads), 8, 24)]
    names.append(".shstrtab")
    table = b"\0".join(n.encode() for n in names) + b"\0"
    bodies.append(table)
    heads.append((3, 0, 0, 0, 1, 0))
    out, places = b"", []
    for body in bodies:
        out += bytes(-len(out) % 16)
        places.append(64 + len(out))
        out += body
    out += bytes(-len(out) % 8)
    sections = b"".join(
        struct.pack("<IIQQQQIIQQ", table.index(b"\0" + n.encode() + b"\0") + 1 if n else 0, kind,
                    flags, 0, at if kind else 0, len(body), link, info, align, entry)
        for n, (kind, flags, link, info, align, entry), at, body in
        zip(names, heads, places, bodies))
    head = struct.pack("<HHIQQQIHHHHHH", etype, 62, 1, 0, 0, 64 + len(out), 0, 64, 0, 0, 64,
                       len(names), len(names) - 1)
    return b"\x7fELF\2\1\1" + bytes(9) + head + out + sections


BEGIN = b"\xbf\2\0\0\0\xe8\0\0\0\0"  # mov $2,%edi; call
SECTION = BEGIN + b"\x0f\x58\xc1" + b"\xe8\0\0\0\0\xc3"  # addps; call; ret
put("elf", "section", elf(SECTION, [("f", 0, len(SECTION))],
                          [(6, "kernel_fpu_begin_mask"), (14, "kernel_fpu_end")]))
BRANCHY = (b"\x53\x89\xf3\x83\xfb\x7f\x76\x0d" + BEGIN +
           b"\x66\x0f\xef\xc0\x83\xfb\x7f\x76\5\xe8\0\0\0\0\x5b\xc3")
put("elf", "branches", elf(BRANCHY, [("f", 0, len(BRANCHY)), ("g", 4, 0)],
                           [(14, "kernel_fpu_begin_mask"), (28, "kernel_fpu_end")]))
KEYS = b"\x0f\x1f\x44\0\0\xc3\x66\x0f\xef\xc0\xc3\x0f\x0b\xc3"
put("elf", "tables", elf(KEYS, [("f", 0, len(KEYS))], [], [
    ("__jump_table", bytes(16), [(0, 0), (4, 6)]), ("__bug_table", bytes(10) + b"\1\0", [(0, 11)]),
    ("__ex_table", bytes(12), [(0, 6), (4, 13)]),
    (".altinstructions", bytes(10) + b"\5\5", [(0, 0), (4, 6)])]))
WEIRD = (b"\xc4\xe2\x7f\xcc\xc1\x62\xf1\x7c\x48\x58\xc1\x06\xff\xe0"
         b"\x48\x8d\x05\0\0\0\0\xe9\xfb\xff\xff\xff")
put("elf", "odd-code", elf(WEIRD, [("f", 0, 12), ("f.cold", 12, 0)]))
put("elf", "thin-archive", b"!<thin>\n" +
    b"//                                              %-10d`\n" % 14 + b"sub/name.o/\nx\n" +
    b"/0              0           0     0     644     123       `\n")
member = elf(SECTION, [("f", 0, len(SECTION))],
             [(6, "kernel_fpu_begin_mask"), (14, "kernel_fpu_end")])
put("elf", "archive", b"!<arch>\n" +
    b"m.o/            0           0     0     644     %-10d`\n" % len(member) + member)
put("lint_text", "configuration", b"""cprofile linux-6.1
pair my_begin my_end mask=arg0 nestable # a comment
owner f* g? [ab]c object=kernel,*.ko "it # is"
sleep s1 s2 gfp=arg1
severity XL001 off
gfp-sleep 0x400
forbid mutex_lock "why"
""")
put("lint_text", "none", b"cfp forbidden\ninline-sections yes\nstate lib* \"why\"\nnoreturn a b\n")
put("lint_text", "baseline", b"""b# xstate lint baseline 2
XL001 lib.ko f -
XL001 lib.ko f -
XL009 lib.ko g -
XL009 other.ko g mutex_lock
""")

# Results, as merge and report read them; the same made ones as in their tests, made short.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "report"))
import made  # noqa: E402


def short(doc):
    for arm in doc.get("samples", {}).get("arms", []):
        arm["ticks"] = arm["ticks"][:9]
    doc.get("samples", {})["cycles_per_tick"] = [1.3] * 9
    for name in ("pairs", "costs", "results"):
        if isinstance(doc.get(name), list):
            doc[name] = doc[name][:4]
    return json.dumps(doc).encode()


for name, doc in (("lab", made.lab()), ("switch", made.switch(made.rng(1))), ("insn", made.insn(made.rng(1))),
                  ("fiber", made.fiber(made.rng(1))), ("merged", made.merged()), ("sim", made.sim()),
                  ("kernel", made.kernel(made.rng(1)))):
    put("results", name, short(doc))
slots = made.lab()
slots["results"] = slots["results"][-3:]
for run in slots["results"]:
    run["points"] = run["points"][:3]
put("results", "slots", json.dumps(slots).encode())
put("results", "several", short(made.fiber(made.rng(1))) + b"\n" + short(made.lab()))

# Traces: text of both kinds, and records made by hand.
import lzma
TRACES = DATA / "../../traces"
perf = lzma.open(TRACES / "build.perf.txt.xz").read().splitlines(True)
ftrace = (TRACES / "pingpong.ftrace.txt").read_bytes().splitlines(True)
busy = [l for l in perf if b"wakeup" not in l]
put("trace_text", "perf", b"".join(busy[:25]))
put("trace_text", "forks", b"".join(l for l in busy if b"process_" in l or b"copy_dst" in l)[:4000])
put("trace_text", "ftrace", b"".join(ftrace[:30]))
put("trace_text", "flags", b"# tracer: nop\n" + b"".join(
    b"            sh-%d     [00%d] d..2. %d.%06d: %s\n" % (7 + i % 3, i % 2, 1 + i // 4, i * 1000, e)
    for i, e in enumerate([
        b"sched_switch: prev_comm=sh prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=cc next_pid=9 next_prio=120",
        b"x86_fpu_regs_deactivated: x86/fpu: 0xffff888100983f00 load: 1 xfeatures: a02 xcomp_bv: 8000000000000a07",
        b"sched_process_fork: comm=sh pid=9 child_comm=sh child_pid=10",
        b"sched_process_exit: comm=sh pid=10 prio=120 group_dead=true",
        b"signal_deliver: sig=17 errno=0 code=1 sa_handler=5589e3d89dc0 sa_flags=4000000",
        b"kernel_fpu_begin_mask: (ffffffff81012345)",
        b"sched_migrate_task: comm=sh pid=7 prio=120 orig_cpu=0 dest_cpu=1",
        b"sched_process_exec: filename=/bin/sh pid=9 old_pid=9"])) + b"CPU:1 [LOST 12 EVENTS]\n")
put("trace_text", "parts", b"make 7 [000] 0.0: PERF_RECORD_NAMESPACES 1/1 - nr_namespaces: 7\n\t\t[0/net: 0/0, \n" + b"".join(
    l + b"\tffffffff82265908 __schedule+0x628 ([kernel.kallsyms])\n\t           cf503 [unknown] ([unknown])\n\n"
    for l in busy[:5]) + b"make 7 [000] 9.0: PERF_RECORD_FORK(3:3):(2:2)\n")
put("trace_text", "calls", b"".join(ftrace[:9]) + b"".join(b"    sh-7 [000] ..... 9999.000001: " + l for l in [
    b"sys_rt_sigreturn()\n", b"sys_geteuid -> 0x0\n", b"<stack trace>\n => __schedule\n => schedule\n"]))
put("trace_text", "fields", b"".join(l.replace(b"[00", b"") for l in busy[:25]))

sys.path.insert(0, str(TRACES / "../../sim"))
sys.dont_write_bytecode = True
import trace_dat
put("trace_dat", "ftrace", trace_dat.convert(b"".join(ftrace[:60]).decode()))
put("trace_dat", "perf", trace_dat.convert(b"".join(perf[:60]).decode()))


def rec(kind, task=0, cpu=0, flags=0, arg=0, wait=1000):
    return struct.pack("<IIHBBI", wait, task, cpu, kind, flags, arg)


def task(n):
    return rec(9, n, arg=100 + n) + b"0123456789\x0aabcde"


SWITCH, FORK, EXEC, EXIT, SIGNAL, SIGRETURN, SECTION, MIGRATE, PAUSE, LOST = 1, 2, 3, 4, 5, 6, 7, 8, 11, 12
LIVE = 0x0010_0002
life = task(1) + task(2) + rec(SWITCH, 1) + rec(SWITCH, 2, 1) + rec(SECTION, 1) + rec(SWITCH, 1, 0, 0x2a, LIVE)
life += task(3) + rec(FORK, 1, 0, 2, 3) + rec(SIGNAL, 1) + rec(SIGNAL, 1, 0, 0x40) + rec(SIGRETURN, 1) + rec(SWITCH, 3, 0, 0x2a, LIVE) + rec(EXEC, 3, 0, 2)
life += rec(PAUSE, arg=7) + rec(LOST, arg=3) + rec(MIGRATE, 1, 0, 0, 1) + rec(SWITCH, 1, 1, 0x2a, LIVE)
life += rec(EXIT, 3, 0, 2) + rec(SWITCH, 0, 0, 1) + rec(SWITCH, 2, 0, 0x3a, LIVE) + rec(SECTION, 0, 0) * 2
put("trace_compact", "life", b"\1" + life)
put("trace_compact", "renamed", b"\1" + life + rec(14, 1) + task(0)[16:] + rec(SWITCH, 1, 1, 0x2a, LIVE))
put("trace_compact", "nobody", b"\1" + life + rec(SWITCH, 0, 256) + rec(SWITCH, 0, 257) * 2)
put("trace_compact", "elsewhere", b"\1" + life + rec(SECTION, 0, 900))
put("trace_compact", "turns", b"\1" + task(1) + task(2) + rec(SWITCH, 1) + b"".join(
    rec(SWITCH, 1 + (i + 1) % 2, 0, 0x22 | i % 3 * 4, LIVE if i % 5 else 0) for i in range(30)) +
    rec(SWITCH, 2, 0, 0x2a, LIVE) * 3 + rec(SWITCH, 0, 0, 0x2b, LIVE) + rec(SWITCH, 0, 0, 1) * 3)
put("trace_compact", "twice", b"\1" + life + rec(SWITCH, 0, 0, 1) + rec(SWITCH, 0, 1, 3, 2))
head = b"XSTTRACE" + struct.pack("<II", 4, 0) + bytes(48)
end = rec(13, 0, 0, 1, len(life) // 16)


def add(total, data):
    halves = struct.unpack(f"<{len(data) // 8}Q", data)
    return (total + sum(halves[::2]) * 0x9e3779b97f4a7c15 + sum(halves[1::2]) * 0xbf58476d1ce4e5b9) % 2**64


total = add(0, life)
for at in range(0, 80, 16):
    total = add(total, (head + end)[at:at + 16])
    total = (total ^ total >> 32) * 0xd6e8feb86659fd93 % 2**64
check = (total >> 48 ^ total >> 32 ^ total >> 16 ^ total) & 0xffff
put("trace_compact", "file", b"\0" + head + life + rec(13, 0, check, 1, len(life) // 16))
