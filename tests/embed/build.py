# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of embedding share: compilers, modes, and the flags an embedder is told to use."""
import pathlib
import re
import shutil
import subprocess
import sys

MODES = {"64": ["-m64"], "32": ["-m32"], "i486": ["-m32", "-march=i486"]}
# docs/embedding.md names these; t_docs.py looks that it does.
KERNEL = ["-ffreestanding", "-mgeneral-regs-only", "-mno-red-zone", "-fno-stack-protector",
          "-fcf-protection=none", "-fno-asynchronous-unwind-tables", "-fno-pic"]
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
STRICT_C = STRICT + ["-Wstrict-prototypes", "-Wmissing-prototypes"]
# Clang finds GNU C in what GCC takes as C11 with extensions marked.
CLANG = ["-Wno-gnu-statement-expression", "-Wno-language-extension-token",
         "-Wno-gnu-zero-variadic-macro-arguments"]
# All that the library may ask of the program around it.
MAY_NEED = {"memcpy", "memset", "memcmp"}
CPLUSPLUS = {"gcc": "g++", "clang": "clang++"}
# In C++ a function may not be called like a struct without -Wshadow minding, in C it may.
STRICT_CXX = [flag for flag in STRICT if flag != "-Wshadow"]

failed = []


def expect(ok, what, why=""):
    print(f"{'PASS' if ok else 'FAIL'}: {what}", flush=True)
    if why and not ok:
        print(why, flush=True)
    if not ok:
        failed.append(what)
    return ok


def done():
    sys.exit(1 if failed else 0)


def skip(why):
    print(f"SKIP: {why}")
    sys.exit(77)


def compilers():
    """Those that are here; the test is of no use without any."""
    here = [cc for cc in ("gcc", "clang") if shutil.which(cc)]
    for cc in ("gcc", "clang"):
        if cc not in here:
            print(f"SKIP: no {cc} here")
    return here or skip("no compiler here")


def run(command, **more):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False,
                          **more)


def compiles(cc, args, what):
    """Compile; the exit status is the test."""
    done_ = run([cc, *(CLANG if "clang" in cc else []), *args])
    return expect(done_.returncode == 0, what, done_.stderr[:2000])


def example_arguments():
    """ROOT DIST COMPILER, and all that an example needs is here."""
    root, dist, cc = arguments(3)
    for tool in "qemu-system-x86_64", "objcopy", "make", str(cc):
        if not shutil.which(tool):
            skip(f"no {tool} here")
    return root.resolve(), dist.resolve(), str(cc)


def make(folder, dist, cc, *more):
    """An example's own Makefile, with the two files of `make dist`."""
    return run(["make", "-C", folder, f"XST={dist}", f"CC={cc}", *more], timeout=100)


def boot(folder, dist, cc, *more):
    """What it says when it runs: the exit status, its lines, and all that was said."""
    result = make(folder, dist, cc, "-s", "run", *more)
    lines = [line for line in result.stdout.splitlines() if not line.startswith("make")]
    return result.returncode, lines, result.stdout + result.stderr


def symbols(path, undefined):
    """The external names that an object or archive needs, or defines."""
    text = run(["nm", "-u" if undefined else "-g", path]).stdout
    kinds = "U" if undefined else "TDBRVW"
    names = set(re.findall(rf"^\s*[0-9a-f]*\s+[{kinds}] (\S+)$", text, re.M))
    if undefined:
        # What another member of the archive has.
        names -= symbols(path, False)
    return names


def check_symbols(path, what):
    needs, has = symbols(path, True), symbols(path, False)
    expect(needs <= MAY_NEED, f"{what} needs nothing but memcpy, memset, memcmp",
           " ".join(sorted(needs)))
    stray = {name for name in has if not name.startswith("xst_")}
    expect(has and not stray, f"{what}: every external name begins with xst_",
           " ".join(sorted(stray)))


def arguments(count):
    if len(sys.argv) != count + 1:
        sys.exit(f"usage: {pathlib.Path(sys.argv[0]).name}: {count} arguments")
    return [pathlib.Path(a) for a in sys.argv[1:]]
