# SPDX-License-Identifier: BSD-2-Clause
"""Every block of C in README.md and docs/*.md compiles by itself, with gcc and clang, 64- and 32-bit,
as C11 and as C++17, against include/ and against the two files of `make dist`. The page on embedding
names the flags that the tests build with, and links with nothing but itself and the library; what it
says of memory, policies and the port is true.

    t_docs.py ROOT DIST FACTS
"""
import pathlib
import re
import tempfile

import build

# What a page may leave to the reader's project: declared, not defined.
SHORT = ["-Wno-missing-prototypes"]


def blocks(root):
    for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        for i, m in enumerate(re.finditer(r"^```c\n(.*?)^```$", page.read_text(), re.M | re.S), 1):
            yield f"{page.relative_to(root)}, block {i}", m[1]


def check(name, text, root, dist, tmp):
    """All ways at once: a block is short."""
    two_files = re.sub(r"#include <xst/[a-z_]+\.h>", '#include "xst.h"', text)
    for cc in build.compilers():
        for lang, std, suffix, strict in (("c", "c11", "c", build.STRICT_C + SHORT),
                                          ("c++", "c++17", "cc", build.STRICT_CXX)):
            tool = cc if lang == "c" else build.CPLUSPLUS[cc]
            if not build.shutil.which(tool):
                continue
            for where, body, include in (("headers", text, root / "include"),
                                         ("dist", two_files, dist)):
                file = tmp / f"block.{suffix}"
                file.write_text(body)
                for mode in "64", "32":
                    # The two files are the same headers again: one mode is enough.
                    if where == "dist" and mode == "32":
                        continue
                    build.compiles(tool, [f"-std={std}", "-O1", *build.MODES[mode], *build.KERNEL,
                                          *strict, f"-I{include}", "-c", file, "-o",
                                          tmp / f"{cc}-{mode}.o"],
                                   f"{name}: {tool} {mode} {where}")


def links(text, dist, tmp):
    """The ten lines and the library are all there is: linked, only the three functions are missing."""
    cc = build.compilers()[0]
    (tmp / "ten.c").write_text(re.sub(r"#include <xst/[a-z_]+\.h>", '#include "xst.h"', text))
    if build.compiles(cc, ["-std=c11", "-O1", *build.KERNEL, f"-I{dist}", "-r", "-nostdlib",
                           tmp / "ten.c", dist / "xst.c", "-o", tmp / "ten.o"], "the ten lines"):
        needs = build.symbols(tmp / "ten.o", True)
        build.expect(needs <= build.MAY_NEED, "they and the library link with nothing else",
                     " ".join(sorted(needs)))


def sizes(page, dist, tmp):
    """The table of memory: every struct of it is as small as the page says."""
    rows = re.findall(r"^\| `(struct \w+)` \|[^|]*\| under (\d+) \|", page, re.M)
    (tmp / "sizes.c").write_text('#include "xst.h"\n' + "".join(
        f'_Static_assert(sizeof({name}) < {limit}, "{name}");\n' for name, limit in rows))
    build.expect(len(rows) == 3, "the page tells the size of three structs")
    for cc in build.compilers():
        build.compiles(cc, ["-std=c11", f"-I{dist}", "-fsyntax-only", tmp / "sizes.c"],
                       f"{cc}: none is larger than the page says")


def areas(page, facts):
    """What the page says about the size of an area: every figure is what some CPU needs, and no CPU
    needs more than the largest."""
    text = page[page.index("`sys.ctx_bytes` is known"):]
    text = text[:text.index("\n\n")]
    need = dict(line.split("\t") for line in build.run([facts]).stdout.splitlines())
    need = {what: int(n) for what, n in need.items()}
    if not build.expect(len(need) > 10, "the library was asked for the size of areas"):
        return
    compacted = max(need[what + ", compacted"] for what in ("AVX, MPX and CET_U",
                                                            "AVX, APX and CET_U"))
    stated = {"a second image, compacted": compacted - need["AVX"],
              "a second image, standard": need["AVX and MPX"] - need["AVX"]}
    for what in "no FXSAVE", "XSAVE", "AVX", "AVX-512", "AVX-512, compacted", "AVX and MPX":
        stated[what] = need[what]
    # The one with a namesake: AVX-512.
    figures = {int(n) for n in re.findall(r"\b\d{3,4}\b", text)} - {512}
    for what, n in stated.items():
        build.expect(n in figures, f"{what}: the page says {n}")
    build.expect(need["FXSAVE"] == 512 and "512 with it" in text, "FXSAVE: the page says 512")
    build.expect(figures - set(stated.values()) == {4096} and max(need.values()) <= 4096,
                 f"no area is larger than the page says: the largest is {max(need.values())}",
                 f"the page's figures: {figures}")


def policies(page, facts):
    rows = re.findall(r"^\| `([a-z-]+)` \| `([^`]+)` \|", page, re.M)
    result = build.run([facts, *(word for row in rows for word in row)])
    build.expect(rows and result.returncode == 0,
                 f"the {len(rows)} policies of the page are the library's", result.stderr)


def port(blocks_, dist, tmp):
    """The page's port, as the page builds it, is in the object."""
    (text,) = [b for b in blocks_ if "/* my_port.h */" in b]
    (tmp / "my_port.h").write_text(text)
    obj, cc = tmp / "port.o", build.compilers()[0]
    if build.compiles(cc, ["-std=c11", "-Os", *build.KERNEL, f"-I{tmp}", '-DXST_PORT="my_port.h"',
                           "-c", dist / "xst.c", "-o", obj], "xst.c with the page's port"):
        build.expect("my_panic" in build.symbols(obj, True), "nm names what its hooks call")
        build.expect(".extable" in build.run(["objdump", "-h", obj]).stdout,
                     "objdump names its exception table")


def main():
    root, dist, facts = (p.resolve() for p in build.arguments(3))
    page = (root / "docs/embedding.md").read_text()
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        found = list(blocks(root))
        ours = [text for name, text in found if name.startswith("docs/embedding.md")]
        build.expect(len(ours) >= 5, f"{len(found)} blocks were found")
        for name, text in found:
            check(name, text, root, dist, tmp)
        links(ours[0], dist, tmp)
        sizes(page, dist, tmp)
        areas(page, facts)
        policies(page, facts)
        port(ours, dist, tmp)
        lines = [line for line in ours[0].splitlines() if line.strip()]
        build.expect(len(lines) <= 12, f"the ten lines are {len(lines)}, with #include and braces")
    lost = [flag for flag in build.KERNEL if flag not in page]
    build.expect(not lost, "the page names every flag", " ".join(lost))
    build.done()


main()
