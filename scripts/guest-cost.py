#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""guest-cost.py [--build DIR] [--machine NAME | --cpus-only] CPU... [-- OPTION...]

24 bytes that only guests need (CET_S): no task has them, guests only have them, every task has them. What
each case costs, in Markdown: a table for each CPU, and one for the engine. Nothing in them is typed:

  memory, bytes of a switch, cycles   xstate cpu --guest-state CPU OPTION...
  instructions                        xstate lab run cet-s
  lines and bytes of code             the sources, and libxst.a by its line numbers (objdump)

OPTION... are those of xstate cpu --guest-state; by default the structure on record, --base 10048
--slab-order 3 --align 64. What cannot be had here (no Bochs, a library without line numbers) is "-".
"one image" is how most kernels keep a task's state; this library keeps apart what CR0.TS does not guard.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = ("none", "guests", "tasks")
ON_RECORD = ["--base", "10048", "--slab-order", "3", "--align", "64"]

# What the sources have because of something: whole files, functions, and lines elsewhere that name it.
FOR_GUESTS = {"files": ("src/guest.c", "src/guest_copy.c")}
FOR_GUEST_ONLY = {
    "functions": ("guest_super", "xst_profile_check", "guests_own", "disown_guest"),
    "lines": r"XST_MASK_GUEST_ONLY|XST_OWNER_GUEST|guest_super\(|guests_own\(|disown_guest\(|"
             r"XST_COMP_SUPER\(CET_S, GUEST\)",
}
FOR_SOFTWARE = {
    "functions": ("load_ssp",),
    "lines": r"guest_cet_s|ssp_of|ssp_cpu|xst_w_ssp\(|xst_w_set_ssp\(|load_ssp\(|guest->ssp\b",
}


def fail(why, status=2):
    print(f"guest-cost.py: {why}", file=sys.stderr)
    sys.exit(status)


def command(*args):
    try:
        r = subprocess.run([str(a) for a in args], capture_output=True, text=True, check=False)
    except OSError as e:
        fail(f"{args[0]}: {e.strerror}")
    return r.returncode, r.stdout, r.stderr


def guest_state(xstate, cpu, options):
    code, out, err = command(xstate, "-j", "cpu", "--guest-state", *options, cpu)
    if code:
        fail(err.strip() or out.strip(), code)
    return json.loads(out)


def lab(xstate, machine):
    """The points of cet-s by (case, tasks have CET_U), and why there are none."""
    code, out, err = command(xstate, "-j", "lab", "run", "cet-s", "--machine", machine)
    try:
        result = json.loads(out)["results"][0]
    except (ValueError, KeyError, IndexError):
        return None, err.strip().splitlines()[-1] if err.strip() else f"exit {code}"
    if result["status"] != "ok" or not result.get("counted"):
        return None, result.get("reason") or "instructions are not counted on this machine"
    return {(p["case"], p["tasks_have_cet_u"]): p for p in result["points"]}, None


# --- code ---

def code_lines(path):
    """Numbers of the lines that hold code: no comments, nothing blank."""
    text = path.read_text()
    blank = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
    return {n for n, line in enumerate(blank.splitlines(), 1) if line.strip()}


def body_of(lines, name):
    """The lines of function @name: from the one that begins its definition to its brace."""
    for i, line in enumerate(lines):
        if not re.match(rf"[a-zA-Z].*\b{name}\(", line):
            continue
        for k in range(i, min(i + 6, len(lines))):
            if lines[k] == "{":
                end = lines.index("}", k)
                return set(range(i + 1, end + 2))
            if lines[k].endswith(";"):
                break
    return set()


def source_lines(what):
    """{file: numbers of its lines that are there because of @what}; every name must be found."""
    found, missing = {}, set(what.get("functions", ()))
    for path in sorted([*ROOT.glob("src/*.[ch]"), *ROOT.glob("include/xst/*")]):
        name = str(path.relative_to(ROOT))
        lines = path.read_text().splitlines()
        numbers = set()
        if name in what.get("files", ()):
            numbers = set(range(1, len(lines) + 1))
        for function in what.get("functions", ()):
            body = body_of(lines, function)
            missing -= {function} if body else set()
            numbers |= body
        if "lines" in what:
            numbers |= {n for n, line in enumerate(lines, 1) if re.search(what["lines"], line)}
        numbers &= code_lines(path)
        if numbers:
            found[name] = numbers
    if missing:
        fail(f"no function {', '.join(sorted(missing))} in src")
    return found


def text_by_line(archive):
    """Bytes of machine code of each (file, line), by the line numbers that the compiler left."""
    code, out, err = command("objdump", "--dwarf=decodedline", archive)
    sizes, at = {}, None
    if code or " x" not in out:
        return None
    for line in out.splitlines():
        m = re.match(r"\S+\s+(\d+|-)\s+(0x[0-9a-f]+|0)\b", line)
        if not m:
            if line.endswith(":"):
                path = line[:-1].split("/")
                folder = "include/xst/" if "xst" in path[:-1] else "src/"
                name = folder + path[-1]
            continue
        address = int(m[2], 16)
        # Of several rows at one address the last one counts.
        if at and address > at[1]:
            sizes[at[0]] = sizes.get(at[0], 0) + address - at[1]
        at = None if m[1] == "-" else ((name, int(m[1])), address)
    return sizes


def code_of(what, sizes):
    lines = source_lines(what)
    count = sum(len(v) for v in lines.values())
    if sizes is None:
        return count, None
    return count, sum(n for (name, line), n in sizes.items() if line in lines.get(name, ()))


# --- the table ---

def spread(cycles):
    return f"{cycles['low_cycles']:.0f} to {cycles['high_cycles']:.0f}" if cycles["high_cycles"] else "0"


def rows_of_memory(doc):
    def row(name, key):
        return [name, *(f"{c[key]}" for c in doc["cases"])]

    return [
        row("a task's state in one image, bytes", "image_bytes"),
        row("in lines of 64", "image_lines_bytes"),
        row(f"the structure of {doc['base_bytes']} with it, aligned", "stride_bytes"),
        row("such structures in a slab", "objects_per_slab"),
        row("memory per task", "bytes_per_task"),
        [f"memory of {doc['tasks']} tasks, MiB",
         *(f"{c['bytes_for_all_tasks'] / 2**20:.1f}" for c in doc["cases"])],
        row("a task's area in this library", "library_area_bytes"),
        row("a guest's image", "guest_image_bytes"),
        row("and beside it, for software", "guest_swap_bytes"),
    ]


def rows_of_switch(doc):
    rows = []
    for images, prefix in (("one image", ""), ("this library", "library_")):
        for way in ("INIT", "live, unchanged", "live, changed"):
            cells = []
            for c in doc["cases"]:
                moved = {s["cet_s"] or "INIT": s for s in c["switch"]}.get(way)
                cells.append(f"{moved[prefix + 'written_bytes']} + {moved[prefix + 'read_bytes']}"
                             if moved else "")
            rows.append([f"switch, bytes written + read, {images}, CET_S {way}", *cells])
    return rows


def rows_of_cycles(doc):
    c = doc["cycles"]

    def ranges(name, key):
        return [name, *(spread(k[key]) for k in doc["cases"])]

    return [
        ranges("cycles of a save and a load, one image, CET_S INIT", "cycles"),
        ["of them for CET_S", "0", "0", spread(c["one_more_in_init"])],
        ["the same, CET_S live", "", "", spread(doc["cases"][2]["live_cycles"])],
        ["of them for CET_S", "", "", spread(c["one_more_live"])],
        ranges("cycles of saves and loads, this library", "library_cycles"),
        ["cycles for CET_S of a guest's exit", spread(c["swap_at_exit"]), "0", "0"],
        ["cycles for CET_S of another guest's entry", spread(c["swap_at_change"]), "0", "0"],
    ]


def rows_of_lab(points):
    rows = []
    for step, name in (("eager", "instructions, saves and loads of an eager switch"),
                       ("deferred", "of a deferred switch and the return to user mode"),
                       ("stay", "of a guest's exit and entry"),
                       ("visit", "of a visit to another guest, from user mode and back")):
        for cet_u in (1, 0):
            cells = ["-"] * 3
            if points:
                cells = []
                for case in CASES:
                    p = points[case, cet_u]
                    n = p[step + "_events"]
                    cells.append(f"{p[step + '_instructions'] / n:.0f}, {p[step + '_moves'] / n:.0f}")
            rows.append([f"{name}, {'tasks have CET_U' if cet_u else 'without CET_U'}", *cells])
    return rows


def rows_of_code(sizes):
    def cell(what):
        lines, size = code_of(what, sizes)
        return f"{lines}, {'-' if size is None else size}"

    guests = cell(FOR_GUESTS)
    return [
        ["lines of code and bytes of text: guests at all", guests, guests, guests],
        ["of a component that only guests have", "", cell(FOR_GUEST_ONLY), ""],
        ["of switching it by software", cell(FOR_SOFTWARE), "", ""],
    ]


def table(head, rows):
    print(f"| {head} | no CET_S | guests only | every task |")
    print("|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def built_with(archive):
    """The compiler, and how it optimised, as it left word."""
    out = command("readelf", "--debug-dump=info", "--dwarf-depth=1", archive)[1]
    m = re.search(r"DW_AT_producer\s.*: (\w.*)", out)
    if not m:
        return "by a compiler that is not known"
    level = re.search(r" (-O\w+)", m[1])
    return m[1].split(" -")[0] + (f" {level[1]}" if level else "")


def print_cpu(xstate, cpu, options):
    doc = guest_state(xstate, cpu, options)
    table(pathlib.Path(cpu).stem, [*rows_of_memory(doc), *rows_of_switch(doc), *rows_of_cycles(doc)])
    if not doc["supported"]:
        print("Its XSAVES does not have CET_S: as if it had.\n")
    print(f"Cycles: {doc['cycles']['source']}.\n")


def print_engine(a):
    points, why = lab(a.build / "xstate", a.machine)
    archive = a.build / "src/libxst.a"
    sizes = text_by_line(archive)
    table("the engine", [*rows_of_lab(points), *rows_of_code(sizes)])
    print(f"Instructions: {a.machine}, the lab's engine (-O2, with its assertions)." if points
          else f"Instructions: {why}.")
    print(f"Text: libxst.a, {built_with(archive)}.")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    p.add_argument("--machine", default="bochs:tigerlake")
    p.add_argument("--cpus-only", action="store_true")
    p.add_argument("cpus", nargs="+", metavar="CPU")
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    a = p.parse_args(words[:cut])
    for cpu in a.cpus:
        print_cpu(a.build / "xstate", cpu, words[cut + 1:] or ON_RECORD)
    if not a.cpus_only:
        print_engine(a)
    return 0


sys.exit(main())
