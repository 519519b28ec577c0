# SPDX-License-Identifier: BSD-2-Clause
"""scripts/guest-cost.py from outside: its tables of CPUs are those of docs/guests.md, word for word; that of
the engine has what the sources and the library say; and what cannot be had is said, not made up.

    guest_cost.py XSTATE SOURCE_ROOT ARCHIVE
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

XSTATE, ROOT, ARCHIVE = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
SCRIPT = ROOT / "scripts/guest-cost.py"
CPUS = {"Sapphire Rapids, Xeon w9-3475X": "tests/data/cpuid/formats/instlatx64-sapphire-rapids.txt",
        "Zen 3, EPYC 7713": "tests/data/cpuid/dumps/amd-k19-milan-1-a00f11.txt"}
failures = []


def check(ok, what):
    print("PASS:" if ok else "FAIL:", what)
    if not ok:
        failures.append(what)


def build_folder(tmp, archive):
    """A build folder as the script wants it, with this command and this library."""
    folder = pathlib.Path(tmp)
    (folder / "src").mkdir()
    (folder / "xstate").symlink_to(XSTATE)
    if archive:
        (folder / "src/libxst.a").symlink_to(archive)
    return folder


def run(*args, status=0):
    env = {**os.environ, "XSTATE_BOCHS": "/nonexistent"}
    r = subprocess.run([sys.executable, SCRIPT, *map(str, args)], capture_output=True, text=True,
                       timeout=120, env=env, check=False)
    check(r.returncode == status, f"exit {status}: {' '.join(map(str, args[-2:]))} {r.stderr.strip()}")
    return r.stdout, r.stderr


def tables(text):
    """{first cell of the head: rows}"""
    found = {}
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.M):
        rows = [[c.strip() for c in line.strip().strip("|").split("|")] for line in block.splitlines()]
        found[rows[0][0]] = rows[2:]
    return found


def documented(folder):
    page = tables((ROOT / "docs/guests.md").read_text())
    said = tables(run("--build", folder, "--cpus-only", *(ROOT / p for p in CPUS.values()))[0])
    for name, path in CPUS.items():
        rows = said[pathlib.Path(path).stem]
        check(len(rows) > 15 and page.get(name) == rows, f"docs/guests.md has the table of {name}")
    return page


def engine(folder, page):
    out, _ = run("--build", folder, ROOT / CPUS["Zen 3, EPYC 7713"])
    rows = tables(out)["the engine"]
    check([r[0] for r in rows] == [r[0] for r in page["the engine"]], "and the rows of the engine's")
    check(all(r[1:] == ["-"] * 3 for r in rows if not r[0].startswith("lines of") and "of a component"
              not in r[0] and "by software" not in r[0]), "no Bochs, no instructions")
    check("Instructions: " in out and "bochs" in out.lower(), "and it says why")
    code = {r[0]: [tuple(c.split(", ")) for c in r[1:] if c] for r in rows[-3:]}
    guests, component, software = (tuple(map(int, v[0])) for v in code.values())
    check(guests[0] > component[0] > 10 and guests[0] > software[0] > 10, f"lines: {code}")
    sizes = subprocess.run(["size", ARCHIVE], capture_output=True, text=True, check=True).stdout
    text = {m[2]: int(m[1]) for m in re.finditer(r"^ *(\d+).*\b(\w+\.c)\.o", sizes, flags=re.M)}
    largest = text["guest.c"] + text["guest_copy.c"]
    check(largest / 2 < guests[1] <= largest, f"text of guests: {guests[1]} of {largest}")
    check(0 < component[1] < guests[1] and 0 < software[1] < guests[1], f"text: {code}")


def without_numbers(tmp):
    """A library without line numbers, or none at all: lines still count, bytes do not."""
    stripped = pathlib.Path(tmp) / "stripped.a"
    shutil.copy(ARCHIVE, stripped)
    subprocess.run(["strip", "-g", stripped], check=True)
    for i, archive in enumerate((stripped, None)):
        folder = pathlib.Path(tmp) / str(i)
        folder.mkdir()
        out, _ = run("--build", build_folder(folder, archive), ROOT / CPUS["Zen 3, EPYC 7713"])
        cells = [c for r in tables(out)["the engine"][-3:] for c in r[1:] if c]
        check(cells and all(re.fullmatch(r"\d+, -", c) for c in cells), f"no line numbers: {cells}")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = build_folder(tmp, ARCHIVE)
        page = documented(folder)
        has_numbers = b" x" in subprocess.run(["objdump", "--dwarf=decodedline", ARCHIVE],
                                              capture_output=True, check=True).stdout
        if has_numbers:
            engine(folder, page)
            without_numbers(tmp)
        else:
            print("SKIP: the engine's table: this build has no line numbers")
        _, err = run("--build", folder, "--cpus-only", "/nonexistent", status=2)
        check(err.count("\n") == 1 and "/nonexistent" in err, "one sentence on a CPU that is not there")
        _, err = run("--build", folder, "--cpus-only", ROOT / CPUS["Zen 3, EPYC 7713"], "--", "--align", "63",
                     status=2)
        check(err.count("\n") == 1, "and on a bad option")
    return 1 if failures else 0


sys.exit(main())
