#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The whole library as two files, for those who copy instead of link.

    amalgamate.py ROOT OUT.h OUT.c [--depfile FILE] SOURCE...

OUT.h is every header of ROOT/include/xst in the order in which they need each other; OUT.c is the
SOURCEs (what src/meson.build lists) and the headers that only they use. The tables (.def) are written
out where they are included. Every file of ROOT/src must be among the SOURCEs or be included by one, so
nothing is forgotten. The output depends on the input alone.

What a source keeps for itself may have a name that another source uses as well: in one file that
would clash or shadow, so it gets its file's name behind it.
"""
import pathlib
import re
import sys

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|[A-Za-z_]\w*|.',
                   re.S)
WORD = re.compile(r"[A-Za-z_]\w*$")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+([<"])([^>"]+)[>"][ \t]*$', re.M)
TYPE = re.compile(r"\b(?:struct|enum|union)(?:\s+(\w+))?\s*$")
FREESTANDING = {"stdbool.h", "stddef.h", "stdint.h"}
LICENSE = "SPDX-License-Identifier: BSD-2-Clause"


def fail(text):
    sys.exit(f"amalgamate.py: {text}")


def strip_comments(text):
    return "".join(" " if t.startswith(("/*", "//")) else t for t in TOKEN.findall(text))


def words(text):
    """The identifiers of @text with what stands before them, comments and strings left out."""
    before = ""
    for t in TOKEN.findall(text):
        if t.startswith(("/*", "//")) or t.isspace():
            continue
        if WORD.match(t):
            yield t, before
        before = t


def drop_head(text, path):
    """Without the licence line, which the output has once."""
    first, rest = text.split("\n", 1)
    if LICENSE not in first:
        fail(f"{path}: the first line is not the licence")
    return rest


def read_def(path):
    """A table, without its comments and blank lines."""
    lines = strip_comments(path.read_text()).splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip())


def outer_parts(text):
    """What stands outside of all braces: (head, body in braces or "")."""
    text = re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", "", strip_comments(text), flags=re.M)
    head, depth, start = "", 0, 0
    for i, c in enumerate(text):
        if c == "{":
            if not depth:
                start = i + 1
            depth += 1
        elif c == "}":
            depth -= 1
            if not depth:
                yield head, text[start:i]
                # What follows a type's members are objects of it.
                head = head + " type " if TYPE.search(head) else ""
        elif not depth and c == ";":
            yield head, ""
            head = ""
        elif not depth:
            head += c


def own_names(text):
    """What a source defines at file scope for itself; tags are "struct name"."""
    names = set()
    for head, body in outer_parts(text):
        head = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", head).strip()
        made = body and TYPE.search(head)
        if made:
            names |= {"struct " + made[1]} if made[1] else set()
            if re.search(r"\benum\b[^{]*$", head):
                names |= {m[1] for m in re.finditer(r"(?:^|,)\s*([A-Za-z_]\w*)", body)}
        elif re.match(r"(?:static|typedef|ALWAYS_INLINE)\b", head):
            head = re.sub(r"=\s*$", "", head).strip()
            found = (re.search(r"(\w+)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)$", head) or
                     re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", head) if "=" not in head else
                     re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*=", head))
            if found and not found[1].startswith("xst_"):
                names.add(found[1])
    return names


def spelled(word, before):
    """Tags have names of their own, members too."""
    return "struct " + word if before in ("struct", "enum", "union") else word


def rename(text, names, stem):
    out, before = [], ""
    for t in TOKEN.findall(text):
        own = before not in (".", ">") and spelled(t, before) in names
        out.append(f"{t}_in_{stem}" if own else t)
        if not t.isspace():
            before = t
    return "".join(out)


class Amalgam:
    def __init__(self, root):
        self.root, self.src, self.inc = root, root / "src", root / "include"
        self.system, self.done, self.used = set(), set(), set()

    def find(self, quote, name, user):
        for folder in (self.src, self.inc) if quote == '"' else (self.inc,):
            if (folder / name).is_file():
                return folder / name
        if name in FREESTANDING:
            return None
        fail(f"{user}: no {name}, or not a header of a freestanding compiler")

    def expand(self, path, private, clash=frozenset()):
        """The text of @path with its includes resolved. @private: may it bring headers along?
        @clash: names to change in it and in its tables."""
        def own(text):
            return rename(text, clash, path.stem) if clash else text

        def one(match):
            target = self.find(match[1], match[2], path)
            if target is None:
                self.system.add(match[2])
                return ""
            self.used.add(target)
            if target.suffix == ".def":
                return own(read_def(target))
            world = target.name.startswith("world")
            if target in self.done and not world:
                return ""
            if not private:
                fail(f"{path}: {match[2]} comes too late")
            self.done.add(target)
            return self.section(target, self.expand(target, True))
        text = own(drop_head(path.read_text(), path))
        return INCLUDE.sub(one, text)

    def section(self, path, text):
        name = path.relative_to(self.root)
        text = re.sub(r"\n{3,}", "\n\n", text).strip("\n")
        return f"\n/* ---- {name} ---- */\n{text}\n"

    def headers(self):
        out = []

        def visit(path):
            if path in self.done:
                return
            for match in INCLUDE.finditer(path.read_text()):
                target = self.find(match[1], match[2], path)
                if target and target.suffix == ".h":
                    visit(target)
            self.done.add(path)
            self.used.add(path)
            out.append(self.section(path, self.expand(path, False)))

        for path in sorted((self.inc / "xst").glob("*.h")):
            if not path.name.startswith("world"):
                visit(path)
        return "".join(out)

    def source(self, path, others):
        raw = path.read_text()
        text = self.expand(path, True, own_names(raw) & others)
        macros = sorted(set(re.findall(r"^#[ \t]*define[ \t]+(\w+)", raw, re.M)) -
                        set(re.findall(r"^#[ \t]*undef[ \t]+(\w+)", raw, re.M)))
        undef = "".join(f"#undef {m}\n" for m in macros)
        return self.section(path, text) + undef

    def assembly(self, path):
        """Assembler text goes into the C file as such: it needs no file, and no flag, of its own."""
        lines = []
        for line in strip_comments(drop_head(path.read_text(), path)).splitlines():
            if re.match(r"\s*#\s*(?:if|ifdef|ifndef|elif|else|endif)\b", line):
                lines.append(line)
            elif re.match(r"\s*#", line):
                fail(f"{path}: only conditions can be carried over: {line.strip()}")
            elif ".note.GNU-stack" in line:
                continue  # the C file says so itself
            elif line.strip():
                text = line.rstrip().replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
                lines.append(f'\t"{text}\\n"')
        return self.section(path, "__asm__(\n" + "\n".join(lines) + "\n);")

    def sources(self, paths):
        """Each with what it must not be called: the words that the others use."""
        raw = {p: p.read_text() for p in list(paths) + sorted(self.src.glob("*.h"))
               if p.suffix != ".S"}
        used = {p: {spelled(w, before) for w, before in words(t) if before not in (".", ">")}
                for p, t in raw.items()}
        out = []
        for path in paths:
            if path.suffix == ".S":
                out.append(self.assembly(path))
                continue
            others = set().union(*(w for p, w in used.items() if p != path))
            out.append(self.source(path, others))
        return "".join(out)

    def complain_about_rest(self, paths):
        everything = set(self.src.glob("*.[chS]")) | set(self.src.glob("*.def")) | \
            set((self.inc / "xst").glob("*"))
        rest = everything - self.used - set(paths)
        if rest:
            fail("not in the amalgamation: " + ", ".join(sorted(str(p.relative_to(self.root))
                                                               for p in rest)))


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    rest, depfile = sys.argv[4:], None
    if rest[:1] == ["--depfile"]:
        depfile, rest = rest[1], rest[2:]
    paths = [pathlib.Path(p).resolve() for p in rest]
    a = Amalgam(root)
    version = re.search(r'XST_VERSION_STRING\s+"([^"]+)"',
                        (a.inc / "xst/version.h").read_text())[1]
    header, body = a.headers(), a.sources(paths)
    a.complain_about_rest(paths)
    system = "".join(f"#include <{name}>\n" for name in sorted(a.system))
    licence = (root / "LICENSE").read_text().rstrip()
    pathlib.Path(sys.argv[2]).write_text(
        f"/* {LICENSE} */\n/*\n * libxst {version} in two files: xst.h and xst.c, made by "
        "\"make dist\". docs/embedding.md of\n * the project says how to use them.\n */\n"
        f"#ifndef XST_H\n#define XST_H\n\n{system}{header}\n#endif\n")
    pathlib.Path(sys.argv[3]).write_text(
        f"// {LICENSE}\n/*\n * libxst {version}; see xst.h.\n *\n" +
        "".join(f" * {line}".rstrip() + "\n" for line in licence.splitlines()) +
        f" */\n#include \"xst.h\"\n{body}")
    if depfile:
        read = sorted(str(p) for p in a.used | set(paths) | {pathlib.Path(__file__).resolve()})
        pathlib.Path(depfile).write_text(f"{sys.argv[2]}: " + " ".join(read) + "\n")


main()
