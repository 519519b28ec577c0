# SPDX-License-Identifier: BSD-2-Clause
"""How much machine code a switch is: the text that remains of the library, built for one save family
(-DXST_ONLY_INSN), with all ways of its own, when the linker keeps nothing but what the three events of
the switch path reach.

    t_path.py ROOT DIST
"""
import pathlib
import re
import tempfile

import build

LIMIT = 6 * 1024
PATH = ["xst_switch", "xst_return_to_user", "xst_device_not_available"]
FAMILIES = ["FNSAVE", "FXSAVE", "XSAVE", "XSAVEOPT", "XSAVEC", "XSAVES"]
LINK = {"64": "elf_x86_64", "i486": "elf_i386"}
# For size (-Os) and in 32-bit code the engine has no code of its own for any policy unless it is told
# to, and then all families fit.
BUILDS = [("64", "-O2", "0"), ("64", "-Os", "0"), ("i486", "-Os", "0"), ("i486", "-O2", "1")]


def compile_as(cc, mode, level, small, args, what):
    return build.compiles(cc, ["-std=c11", level, *build.MODES[mode], *build.KERNEL,
                               f"-DXST_SMALL={small}", "-ffunction-sections", *args], f"{cc} {level} {mode} {what}")


def text_bytes(mode, objects, path):
    """What is left of the objects; of functions that two of them have the first counts."""
    roots = [arg for name in PATH[1:] for arg in ("-u", name)]
    link = build.run(["ld", "-m", LINK[mode], "-r", "--gc-sections", "--allow-multiple-definition",
                      "-e", PATH[0], *roots, *objects, "-o", path])
    if not build.expect(link.returncode == 0, "the switch path alone links", link.stderr):
        return 0
    has = build.symbols(path, False)
    build.expect(set(PATH) <= has and "xst_ctx_fork" not in has, "all of it is there, and no more")
    sizes = build.run(["size", "-A", path]).stdout
    return sum(int(n) for n in re.findall(r"^\.text\S*\s+(\d+)", sizes, re.M))


def measure(cc, mode, level, small, root, dist, tmp):
    """Bytes by family; with the ways of every family last."""
    whole, one, path = tmp / "xst.o", tmp / "switch.o", tmp / "path.o"
    if not compile_as(cc, mode, level, small, ["-c", dist / "xst.c", "-o", whole], "the library"):
        return {}, 0
    sizes = {}
    for family in FAMILIES:
        args = [f"-DXST_ONLY_INSN=XST_INSN_{family}", "-I", root / "include", "-c",
                root / "src/switch.c", "-o", one]
        sizes[family] = (text_bytes(mode, [one, whole], path)
                         if compile_as(cc, mode, level, small, args, family) else 0)
    return sizes, text_bytes(mode, [whole], path)


def main():
    root, dist = (p.resolve() for p in build.arguments(2))
    if not build.shutil.which("ld"):
        build.skip("no ld here")
    cc = build.compilers()[0]
    with tempfile.TemporaryDirectory() as name:
        for mode, level, small in BUILDS:
            sizes, every = measure(cc, mode, level, small, root, dist, pathlib.Path(name))
            build.expect(sizes and all(0 < size < LIMIT for size in sizes.values()),
                         f"{cc} {level}, {mode}: the switch path of one family is under {LIMIT} bytes: "
                         + ", ".join(f"{f} {size}" for f, size in sizes.items()))
            build.expect(every > LIMIT or level == "-Os" or small == "1",
                         f"all families together are {every} bytes: one was counted")
    build.done()


main()
