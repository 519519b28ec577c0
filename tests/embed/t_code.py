# SPDX-License-Identifier: BSD-2-Clause
"""The library's machine code: what it needs and defines, that no instruction in it touches a vector
or x87 register but those of insn.h (and the MMX helpers), and that it stays small.

    t_code.py ROOT ARCHIVE DIST
"""
import pathlib
import re
import tempfile

import build

TEXT_LIMIT = 40 * 1024
REGISTER = re.compile(r"%(?:[xyzt]?mm\d|st\b|k[0-7]\b)")
# Prefixes and names of instructions that touch extended state without naming a register.
STATE = re.compile(r"f(?!s\b)[a-z0-9]+|v[a-z0-9]+|emms|femms|ldmxcsr|stmxcsr|fx\w+|"
                   r"x(?:save|rstor)\w*|ldtilecfg|sttilecfg|tile\w+")
NOT_VECTOR = {"verr", "verw", "vmcall", "vmxoff", "vmrun", "vmload", "vmsave"}
# Members whose idea is to use such registers, having saved them.
OWNERS = {"mmx.S.o", "mmx.o"}


def allowed(root):
    """The mnemonics of insn.h, as the disassembler spells them."""
    text = (root / "include/xst/insn.h").read_text()
    names = set(re.findall(r"XST_INSN_SAVE\((\w+)\)", text))
    for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', text):
        names |= {m[1] for m in re.finditer(r"(?:^|\\[nt]|\\t)\s*([a-z]+)", literal)}
    # Bytes have the mnemonic beside them.
    names |= set(re.findall(r'"\.byte [^"]*" /\* (\w+)', text))
    names |= {n + "64" for n in names}
    return {n for n in names if STATE.fullmatch(n)}


def code(path):
    """(member, function, mnemonic, operands) of every instruction."""
    member = function = ""
    for line in build.run(["objdump", "-d", "--no-show-raw-insn", path]).stdout.splitlines():
        if m := re.match(r"(\S+):\s+file format", line):
            member = m[1]
        elif m := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            function = m[1]
        elif m := re.match(r"\s+[0-9a-f]+:\s+(?:(?:lock|rep\w*|data16|[c-g]s)\s+)*(\S+)\s*(.*)$", line):
            yield member, function, m[1], m[2]


def strays(path, may):
    count, found = 0, []
    for member, function, name, operands in code(path):
        count += 1
        state = STATE.fullmatch(name) and name not in NOT_VECTOR
        if member in OWNERS or (not state and not REGISTER.search(operands)):
            continue
        # Of the x87 stack only the scrub of FIP names a register, and none is a vector.
        if name not in may or REGISTER.search(operands):
            found.append(f"{member}: {function}: {name} {operands}")
    return count, found


def no_vectors(root, archive, tmp):
    may = allowed(root)
    print("insn.h has:", " ".join(sorted(may)))
    build.expect({"xsaves", "fxsave64", "fnclex", "stmxcsr"} <= may, "insn.h was understood")
    count, found = strays(archive, may)
    build.expect(count > 5000 and not found, f"none of {count} instructions of the library touches "
                 "a vector register, nor extended state but by insn.h", "\n".join(found[:20]))
    # The twin: what a forgotten flag would do.
    (tmp / "twin.c").write_text("#include <string.h>\ndouble d; struct { long a[8]; } x, y;\n"
                                "void f(void) { d *= 3; x = y; }\n")
    cc = build.compilers()[0]
    if build.compiles(cc, ["-O2", "-c", tmp / "twin.c", "-o", tmp / "twin.o"], "the twin"):
        _, found = strays(tmp / "twin.o", may)
        build.expect(len(found) >= 3, "a vector instruction is found where one is")


def text_bytes(path):
    """Machine code, and constants: tables and words."""
    sizes = {}
    for m in re.finditer(r"^\.(text|rodata)\S*\s+(\d+)", build.run(["size", "-A", path]).stdout, re.M):
        sizes[m[1]] = sizes.get(m[1], 0) + int(m[2])
    return sizes.get("text", 0), sizes.get("rodata", 0)


def small(dist, tmp):
    """With the flags that docs/embedding.md names; its figures are these."""
    for cc, level in ("gcc", "-Os"), ("gcc", "-O2"), ("clang", "-Os"):
        obj = tmp / "xst.o"
        if cc not in build.compilers() or not build.compiles(
                cc, ["-std=c11", level, "-m64", *build.KERNEL, "-c", dist / "xst.c", "-o", obj],
                f"{cc} {level}"):
            continue
        text, rodata = text_bytes(obj)
        figures = f"{text} bytes of code and {rodata} of constants"
        if (cc, level) == ("gcc", "-Os"):
            build.expect(text < TEXT_LIMIT, f"the whole library is {figures}, under "
                         f"{TEXT_LIMIT} bytes of code")
        else:
            print(f"{cc} {level}: {figures}")


def main():
    root, archive, dist = (p.resolve() for p in build.arguments(3))
    if not build.shutil.which("objdump"):
        build.skip("no objdump here")
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        build.check_symbols(archive, archive.name)
        no_vectors(root, archive, tmp)
        small(dist, tmp)
    build.done()


main()
