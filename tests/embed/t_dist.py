# SPDX-License-Identifier: BSD-2-Clause
"""The amalgamation: whole, the same every time, and good for a freestanding build with either
compiler in 64- and 32-bit mode, down to the i486.

    t_dist.py ROOT DIST
"""
import os
import re
import tempfile
import pathlib
import sys

import build

PROGRAM = """#include "xst.h"
static struct xst_system sys;
static struct xst_cpu cpu;
int embed(struct xst_ctx *a, struct xst_ctx *b);
int embed(struct xst_ctx *a, struct xst_ctx *b)
{
	struct xst_diag diag = {};

	if (xst_version() != XST_VERSION || xst_system_init(&sys, XST_WANT_ALL_USER) < 0 ||
	    xst_cpu_init(&sys, &cpu, 0) < 0)
		return diag.code;
	xst_switch(&cpu, a, b);
	return 0;
}
"""


def sources(dist):
    """The files that xst.c was made of."""
    return re.findall(r"^/\* ---- (src/\S+\.[cS]) ---- \*/$", (dist / "xst.c").read_text(), re.M)


def amalgamate(root, out, paths, seed):
    out.mkdir(exist_ok=True)
    return build.run([sys.executable, root / "scripts/amalgamate.py", root, out / "xst.h",
                      out / "xst.c", *(root / p for p in paths)],
                     env=dict(os.environ, PYTHONHASHSEED=seed))


def whole(root, dist, tmp):
    names = sources(dist)
    for seed in "1", "2":
        amalgamate(root, tmp / seed, names, seed)
    build.expect(all((tmp / s / f).read_bytes() == (dist / f).read_bytes()
                     for s in "12" for f in ("xst.h", "xst.c")), "it is the same every time")
    for lost in names[0], names[-1]:
        result = amalgamate(root, tmp / "less", [n for n in names if n != lost], "1")
        build.expect(result.returncode != 0 and lost in result.stderr,
                     f"{lost} cannot be forgotten", result.stderr)
    text = (dist / "xst.h").read_text()
    lost = [p.name for p in (root / "include/xst").glob("*.h")
            if not p.name.startswith("world") and f"include/xst/{p.name} ----" not in text]
    build.expect(not lost, "every public header is in xst.h", " ".join(lost))


def compiled(dist, tmp):
    (tmp / "use.cc").write_text(PROGRAM)
    for cc in build.compilers():
        for mode, flags in build.MODES.items():
            what, obj = f"{cc} {mode}", tmp / f"{cc}-{mode}.o"
            if build.compiles(cc, ["-std=c11", "-Os", *flags, *build.KERNEL, *build.STRICT_C, "-c",
                                   dist / "xst.c", "-o", obj], f"{what}: xst.c as C11"):
                build.check_symbols(obj, what)
        cxx = build.CPLUSPLUS[cc]
        if not build.shutil.which(cxx):
            print(f"SKIP: no {cxx} here")
            continue
        for mode in "64", "32":
            build.compiles(cxx, ["-std=c++17", *build.MODES[mode], *build.KERNEL,
                                 *build.STRICT_CXX, "-I", dist, "-fsyntax-only", tmp / "use.cc"],
                           f"{cxx} {mode}: xst.h from C++17")


def main():
    root, dist = (p.resolve() for p in build.arguments(2))
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        whole(root, dist, tmp)
        compiled(dist, tmp)
    build.done()


main()
