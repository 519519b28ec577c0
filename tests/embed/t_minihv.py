# SPDX-License-Identifier: BSD-2-Clause
"""examples/minihv as a stranger builds it, beside minikernel, whose boot code and task it uses. Its guests
keep their registers; it says how many loads and saves that took, and its README says the same; a library
that leaves loads out is noticed.

    t_minihv.py ROOT DIST COMPILER
"""
import pathlib
import re
import shutil
import tempfile

import build

TWIN = "SKIP_RESTORE"


def check_counts(lines, log, readme):
    n = dict(line.split() for line in lines if re.fullmatch(r"[a-z]+ \d+", line))
    n = {name: int(value) for name, value in n.items()}
    if not build.expect(n.keys() >= {"exits", "turns", "sections", "loads", "saves"},
                        "it counts what it did", log):
        return
    build.expect(n["exits"] > 100 * n["turns"] and n["sections"] > 100,
                 "most exits are answered while the guest's turn goes on", log)
    moves = n["turns"] + n["sections"]
    build.expect(n["loads"] == n["saves"] == moves,
                 "a load and a save for each turn and each section, none for any other exit", log)
    build.expect(all(f"    {line}\n" in readme for line in lines), "the README shows its output", log)


def main():
    root, dist, cc = build.example_arguments()
    with tempfile.TemporaryDirectory() as name:
        for example in "minikernel", "minihv":
            shutil.copytree(root / "examples" / example, pathlib.Path(name) / example)
        folder = pathlib.Path(name) / "minihv"
        made = build.make(folder, dist, cc)
        if build.expect(made.returncode == 0 and "warning" not in made.stderr,
                        f"{cc}: it builds, without a warning", made.stderr):
            status, lines, log = build.boot(folder, dist, cc)
            if build.expect(status == 0 and lines[-1:] == ["OK"],
                            "two guests keep their registers", log):
                check_counts(lines, log, (folder / "README.md").read_text())
            status, lines, log = build.boot(folder, dist, cc, "CPU=max,-svm")
            build.expect(status != 0 and lines == ["this CPU has no SVM"],
                         "a CPU without SVM is told so", log)
            (folder / "xst.o").unlink()
            build.make(folder, dist, cc, "OPT=-O1",
                       f"XSTFLAGS=-DXST_TWIN_{TWIN} -Wno-unused-parameter")
            status, lines, log = build.boot(folder, dist, cc)
            build.expect(status != 0 and lines[-1:] == ["a guest lost its registers"],
                         f"a library with {TWIN} is noticed", log)
    build.done()


main()
