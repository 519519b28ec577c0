# SPDX-License-Identifier: BSD-2-Clause
"""examples/minikernel as a stranger builds it: a copy of its folder, the two files of `make dist`,
its own Makefile. It boots on a CPU with XSAVE and on one without, and its twins do not end well.

    t_minikernel.py ROOT DIST COMPILER
"""
import pathlib
import shutil
import tempfile

import build

POLICIES = ["eager", "eager-keep", "lazy", "lazy-preload", "lazy-keep", "deferred", "laziest", "auto"]
# Newest save form XSAVEOPT; FXSAVE; and one that leaks what first use leaves behind CR0.TS.
CPUS = {"max": POLICIES, "qemu64": POLICIES,
        "Nehalem": ["eager", "eager-keep", "deferred", "auto"]}
TWINS = {"gcc": "SKIP_RESTORE", "clang": "SKIP_SAVE"}


def main():
    root, dist, cc = build.example_arguments()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "minikernel"
        shutil.copytree(root / "examples/minikernel", folder)
        made = build.make(folder, dist, cc)
        if build.expect(made.returncode == 0 and "warning" not in made.stderr,
                        f"{cc}: it builds, without a warning", made.stderr):
            for cpu, policies in CPUS.items():
                status, lines, log = build.boot(folder, dist, cc, f"CPU={cpu}")
                build.expect(status == 0 and lines == policies + ["OK"],
                             f"{cc}: {cpu}: two tasks keep their registers under "
                             f"{len(policies)} policies", log)
            (folder / "xst.o").unlink()
            build.make(folder, dist, cc, "OPT=-O1",
                       f"XSTFLAGS=-DXST_TWIN_{TWINS[cc]} -Wno-unused-parameter")
            status, lines, log = build.boot(folder, dist, cc, "CPU=max")
            build.expect(status != 0 and lines[-1:] == ["a task lost its registers"],
                         f"{cc}: a library with {TWINS[cc]} is noticed", log)
    build.done()


main()
