# SPDX-License-Identifier: BSD-2-Clause
"""`xstate image` as its users meet it: cores of the kernel and of gdb compared with gdb's own
registers, conversions there and back, and every kind of bad input.

    image.py XSTATE CRASH SOURCE_ROOT
"""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

XSTATE, CRASH = map(os.path.abspath, sys.argv[1:3])
ROOT = pathlib.Path(sys.argv[3])
SHARED = pathlib.Path(os.environ.get("XST_SHARED", ROOT / ".." / "shared"))
failures = []
counts = {"checks": 0}


def check(ok, what):
    counts["checks"] += 1
    if not ok:
        failures.append(what)
        print("FAILED:", what)


def run(*args, stdin=None):
    # Wide, for paths of any length are in what is looked for.
    r = subprocess.run([XSTATE, *map(str, args)], input=stdin, capture_output=True, timeout=60,
                       env={**os.environ, "COLUMNS": "1000"})
    return r.returncode, r.stdout, r.stderr.decode(errors="replace")


def show(path, *args):
    code, out, err = run("-j", "image", "show", path, *args)
    check(code == 0, f"show {path}: {err}")
    return json.loads(out) if code == 0 else {"threads": []}


def dump(name):
    for place in (SHARED / "cpuid/dumps", ROOT / "tests/data/cpuid/dumps"):
        if (place / name).exists():
            return str(place / name)
    return None


def image(bv=0x7, size=832, xcomp=0, mxcsr=0x1f80, word464=0):
    """A standard image with every byte of it set."""
    area = bytearray((i * 7 + 1) % 256 for i in range(size))
    area[0:2], area[2:4], area[4:8] = struct.pack("<H", 0x37f), bytes(2), b"\xff\0\x55\1"
    struct.pack_into("<II", area, 24, mxcsr, 0xffff)
    area[416:576] = bytes(160)
    struct.pack_into("<Q", area, 464, word464)
    struct.pack_into("<QQ", area, 512, bv, xcomp)
    return bytes(area)


def gdb_registers(core):
    """The vector registers and ST as gdb reads them."""
    names = [f"$zmm{i}" for i in range(32)] + [f"$ymm{i}" for i in range(16)] + \
            [f"$k{i}" for i in range(8)]
    args = ["gdb", "-nx", "-q", "-batch", CRASH, str(core)]
    for n in names:
        form = f"{n}.v8_int64" if "zmm" in n else f"{n}.v4_int64" if "ymm" in n else n
        args += ["-ex", f"printf \"{n} \"", "-ex", f"output/x {form}", "-ex", "echo \\n"]
    for n in ("fctrl", "fstat", "ftag", "mxcsr"):
        args += ["-ex", f"printf \"${n} %x\\n\", ${n}"]
    text = subprocess.run(args, capture_output=True, timeout=60).stdout.decode(errors="replace")
    found = {}
    for line in text.splitlines():
        m = re.match(r"\$(\w+) (.*)$", line)
        if not m:
            continue
        value = []
        for item, times in re.findall(r"(0x[0-9a-f]+)(?: <repeats (\d+) times>)?", m[2]):
            value += [int(item, 16)] * (int(times) if times else 1)
        if not value and re.fullmatch(r"[0-9a-f]+", m[2]):
            value = [int(m[2], 16)]
        if value:
            found[m[1]] = sum(v << (64 * i) for i, v in enumerate(value))
    return found


def gdb_misplaces():
    """gdb-avx512-amd: before 14 it knows Intel's places of AVX-512 only; then what it says of vectors does not count."""
    text = subprocess.run(["gdb", "--version"], capture_output=True).stdout.decode()
    version = re.search(r" (\d+)\.\d", text)
    host = json.loads(run("-j", "cpu")[1])
    at = {c["id"]: c["standard_offset"] for c in host["components"]}
    return at.get(5) not in (None, 1088) and version and int(version[1]) < 14


def against_gdb(core, who):
    ours = show(core, "-v", "hex")["threads"][0]["registers"]
    theirs = gdb_registers(core)
    if not theirs:
        print("skipped: gdb reads nothing from the core of", who)
        return
    compared = 0
    for name, value in theirs.items():
        name = {"fctrl": "fcw", "fstat": "fsw", "ftag": "tag_word"}.get(name, name)
        if name[0] in "zyk" and gdb_misplaces():
            continue
        mine = ours.get(name) or ours.get(name.replace("ymm", "zmm"))
        if mine is None:
            continue
        mine = int(mine, 16) & ((1 << 256) - 1 if name.startswith("ymm") else -1)
        compared += 1
        check(mine == value, f"{who}: {name} is {mine:x}, gdb has {value:x}")
    check(compared >= 4, f"{who}: only {compared} registers compared")
    print(f"{who}: {compared} registers agree with gdb's")


def cores(tmp):
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip()
    where = tmp / "kernel"
    where.mkdir()
    made = []
    if "/" not in pattern and "|" not in pattern:
        def unlimit():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
        try:
            subprocess.run([CRASH], cwd=where, preexec_fn=unlimit, timeout=30,
                           stderr=subprocess.DEVNULL)
        except (ValueError, subprocess.SubprocessError) as e:
            print("skipped: no core limit to be had:", e)
        made = list(where.iterdir())
    if made:
        against_gdb(made[0], "kernel's core")
    else:
        print("skipped: the kernel writes no core files here (core_pattern", pattern + ")")
    child = subprocess.Popen([CRASH, "wait"], cwd=where)
    time.sleep(0.3)
    subprocess.run(["gdb", "-nx", "-q", "-batch", "-p", str(child.pid), "-ex",
                    f"gcore {where}/by-gdb"], capture_output=True, timeout=60)
    child.send_signal(signal.SIGKILL)
    child.wait()
    if (where / "by-gdb").exists():
        against_gdb(where / "by-gdb", "gdb's core")
        made.append(where / "by-gdb")
    else:
        print("skipped: gdb may not attach here")
    for core in made:
        code, out, err = run("image", "check", core, "--on", "host")
        if core.name == "by-gdb" and gdb_misplaces():
            check(code == 1 and b"convert --to moves it" in out, f"{core}: gdb's places are not seen: {out}")
            print("gdb-avx512-amd: gdb's core has AVX-512 where Intel has it, and that is told")
        else:
            check(code == 0, f"{core} does not restore on the host: {out}")
    return made


def damaged(tmp, made):
    """Truncated and bit-flipped files: an answer or one sentence, never a crash."""
    sources = [image(), image(size=4096, word464=7), image(bv=3, xcomp=(1 << 63) | 7)]
    for core in made[:1]:
        sources.append(core.read_bytes()[:65536])
    f = tmp / "damaged"
    for data in sources:
        for n in (1, 3, 4, 8, 12, 63, 64, 511, 512, 513, 575, 576, 577, 831, len(data) - 1):
            f.write_bytes(data[:n])
            for verb in (("show",), ("check", "--on", "host"),
                         ("convert", "--compacted", "-o", tmp / "never")):
                code, out, err = run("image", verb[0], f, *verb[1:])
                check(code in (0, 1, 2), f"{verb[0]} of {n} bytes: {code} {err}")
                if code == 2:
                    check(err.count("\n") == 1 and not out, f"{verb[0]} of {n} bytes: {err}")
                if code:
                    check(not (tmp / "never").exists(), f"{verb[0]} of {n} bytes wrote a file")
                (tmp / "never").unlink(missing_ok=True)


def usage(tmp):
    f = tmp / "ok"
    f.write_bytes(image())
    for args in (["show"], ["show", tmp / "nothing"], ["show", tmp], ["show", "/dev/null"],
                 ["show", f, f], ["show", f, "--as", "x"], ["show", f, "-v", "x"],
                 ["show", f, "--xcr0", "seven"], ["show", f, "--from", tmp / "nothing"],
                 ["show", f, "--thread", "4"], ["check", f, "--on", f], ["check", f, "--with", "x"],
                 ["convert", f], ["convert", f, "--standard"],
                 ["convert", f, "--standard", "--compacted", "-o", tmp / "o"],
                 ["convert", f, "--standard", "-o", tmp / "no" / "where"],
                 ["convert", f, "--standard", "-o", tmp], ["convert", f, "--drop", "x"],
                 ["show", f, "--as", "core"], ["show", f, "--as", "criu"],
                 ["show", f, "--as", "kvm"], ["convert", f, "-o", tmp / "o"]):
        code, out, err = run("image", *args)
        check(code == 2 and err and not out, f"{args}: {code} {err}")
    check(not (tmp / "o").exists(), "bad usage wrote a file")


def moving(tmp):
    zen4, icl = dump("amd-fc-genoa-5.10host.txt"), dump("intel-icelakey-706e5.txt")
    old, knl = dump("amd-k10-deneb-100f42.txt"), dump("intel-486-480.txt")
    f, g, h = tmp / "a", tmp / "b", tmp / "c"
    f.write_bytes(image())
    code, out, err = run("image", "convert", f, "--compacted", "-o", g)
    check(code == 0, f"to compacted: {err}")
    code, out, err = run("image", "convert", g, "--standard", "-o", h)
    check(code == 0, f"to standard: {err}")
    check(h.read_bytes()[:24] == f.read_bytes()[:24], "there and back changed x87")
    check(h.read_bytes()[576:] == f.read_bytes()[576:], "there and back changed AVX")
    check(not any(h.read_bytes()[416:512]), "undefined bytes reached the output")
    # In place.
    code, out, err = run("image", "convert", h, "--standard", "-o", h)
    check(code == 0 and len(h.read_bytes()) == 832, f"in place: {err}")
    # An FXSAVE image (ABI-17): XSTATE_BV of its XSAVE form is 0x3.
    f.write_bytes(image()[:512])
    check(show(f)["threads"][0]["xstate_bv"] == "0x3", '"ABI-17"')
    if not (zen4 and icl and old):
        print("skipped: the collection of CPUID dumps is not here")
        return
    # A foreign image is read with its own CPU's layout, never with this one's ("GDB-04").
    f.write_bytes(image(bv=0xe7, size=2440, word464=0x2e7))
    zmm = show(f, "-v", "hex")["threads"][0]
    at = {c["id"]: c["offset"] for c in zmm["components"]}
    check(at[6] == 896 and at[9] == 2432, '"GDB-04"')
    # Ambiguous: AVX-512 live, a size that fits both vendors.
    g.write_bytes(image(bv=0xe7, size=4096, word464=0xe7))
    code, out, err = run("image", "show", g)
    check(code == 2 and "Intel" in err and "AMD" in err and "--from" in err, f"ambiguous: {err}")
    code, out, err = run("image", "show", g, "--from", zen4)
    check(code == 0, f"with --from: {err}")
    code, out, err = run("image", "check", f, "--on", icl)
    check(code == 1 and b"convert --to" in out, f"zen4 on icelake: {out} {err}")
    code, out, err = run("image", "convert", f, "--to", icl, "-o", h)
    check(code == 0, f"zen4 to icelake: {err}")
    code, out, err = run("image", "check", h, "--from", icl, "--on", icl)
    check(code == 0, f"converted: {out} {err}")
    h.unlink()
    code, out, err = run("image", "convert", f, "--to", old, "-o", h)
    check(code == 1 and "--drop" in err and not h.exists(), f"live AVX lost: {err}")
    code, out, err = run("image", "convert", f, "--to", old, "-o", h, "--drop",
                         "avx,opmask,6,hi16_zmm")
    check(code == 0 and len(h.read_bytes()) == 512, f"dropped: {err}")
    if knl:
        g.write_bytes(image(bv=1))
        data = bytearray(g.read_bytes())
        data[12:16] = data[20:24] = bytes(4)  # pointers that fit 32 bits
        g.write_bytes(data)
        code, out, err = run("image", "convert", g, "--to", knl, "-o", h)
        check(code == 0 and len(h.read_bytes()) == 108, f"to FNSAVE: {err}")
    # XCR0 that the target does not have ("ABI-19").
    seven = dump("intel-sandybridge-206a7.txt") or old
    g.write_bytes(image(bv=0x7, size=4096, word464=0x7))
    code, out, err = run("image", "check", g, "--on", seven, "--with", "kvm", "--xcr0", "0xe7")
    check(code == 1 and b"0xe" in out, f'"ABI-19": {out}')


def main():
    with tempfile.TemporaryDirectory() as d:
        tmp = pathlib.Path(d)
        made = cores(tmp) if shutil.which("gdb") else []
        usage(tmp)
        moving(tmp)
        damaged(tmp, made)
    print(counts["checks"], "checks,", len(failures), "failed")
    return 1 if failures else 0


sys.exit(main())
