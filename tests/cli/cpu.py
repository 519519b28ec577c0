# SPDX-License-Identifier: BSD-2-Clause
"""`xstate cpu` as its users meet it: the JSON against expected.tsv, every question it answers, its
exit statuses, bad input of every kind, and that docs/json.md and the manual tell the truth.

    cpu.py XSTATE SOURCE_ROOT [CC]
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

XSTATE = os.path.abspath(sys.argv[1])
ROOT = pathlib.Path(sys.argv[2])
SHARED = pathlib.Path(os.environ.get("XST_SHARED", ROOT / ".." / "shared"))
DATA = SHARED / "cpuid" if (SHARED / "cpuid").exists() else ROOT / "tests/data/cpuid"
SMALL = ROOT / "tests/data/cpuid/dumps"
failures = []
counts = {"checks": 0}


def check(ok, what):
    counts["checks"] += 1
    if not ok:
        failures.append(what)
        print("FAILED:", what)


def run(*args, stdin=None, cwd=None):
    env = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    r = subprocess.run([XSTATE, "cpu", *map(str, args)], input=stdin, capture_output=True,
                       timeout=60, env=env, cwd=cwd)
    return r.returncode, r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")


def documents(*args, status=0):
    code, out, err = run("-j", *args)
    check(code == status, f"{args}: exit {code}, not {status}: {err}")
    return [json.loads(line) for line in out.splitlines()]


def dump(name):
    return str(SMALL / (name + ".txt"))


SAPPHIRE = str(ROOT / "tests/data/cpuid/formats/instlatx64-sapphire-rapids.txt")
SPR, MILAN, ZEN2 = dump("intel-emeraldrapids-03-c06f2"), dump("amd-k19-milan-1-a00f11"), dump(
    "amd-k17-matisse-01-870f10")
ADL, SKL, MENDOCINO = dump("intel-meteorlake-07-a06a4"), dump("intel-skylake-01-506e3"), dump(
    "intel-p2-mendocino-660")


def offsets(doc, key, supervisors):
    return ",".join(f"{c['id']}:{c[key]}+{c['bytes']}" for c in doc["components"]
                    if supervisors or not c["supervisor"]) or "-"


def expected():
    """Every column of expected.tsv that the JSON has, all files in one call."""
    head, *rows = [line.split("\t") for line in (DATA / "expected.tsv").read_text().splitlines()]
    docs = documents("--from", *[DATA / "dumps" / row[0] for row in rows])
    check(len(docs) == len(rows), "one line each")
    for row, doc in zip(rows, docs):
        want = dict(zip(head, row))
        num = lambda v: "-" if v is None else str(v)
        got = {name: str(int(doc[name])) for name in ("xsave", "fxsr")}
        if doc["xsave"]:
            got.update({name: str(int(doc[name])) for name in
                        ("xsaveopt", "xsavec", "xgetbv1", "xsaves", "xfd")})
            got.update(user_mask=doc["xcr0_supported"], sup_mask=doc["xss_supported"],
                       std_offsets_user=offsets(doc, "standard_offset", False))
            got["missing_comps"] = ",".join(map(str, doc["components_missing"])) or "-"
            got["aligned_comps"] = ",".join(str(c["id"]) for c in doc["components"]
                                            if c["align64"]) or "-"
            if doc["xsavec"] or doc["xsaves"]:
                got.update(comp_offsets_user=offsets(doc, "compacted_user_offset", False),
                           comp_offsets_user_sup=offsets(doc, "compacted_offset", True))
        else:
            check(doc["components"] == [] and doc["xcr0_supported"] == "0x0", f"{row[0]}: empty")
        got.update(std_size_user=num(doc["standard_bytes"]),
                   comp_size_user=num(doc["compacted_user_bytes"]),
                   comp_size_user_sup=num(doc["compacted_bytes"]))
        for name, value in got.items():
            check(value == want[name], f"{row[0]} {name}: {value}, not {want[name]}")
        for c in doc["components"]:
            check(not c["supervisor"] or c["standard_offset"] is None, f"{row[0]}: no offset")


def reread():
    """A document stands for its dump, also by standard input."""
    for name in (SPR, ZEN2, MENDOCINO, dump("amd-is-firecracker-t2a-guest-m6ametal"),
                 dump("intel-icx-04-606a6")):
        text = run("-j", name)[1]
        again = json.loads(run("-j", "-", stdin=text.encode())[1])
        first = json.loads(text)
        for doc in (first, again):
            del doc["source"], doc["format"]
        check(first == again, f"{name}: reading its JSON gives the same")
        del first["cpuid"]
        bare = json.loads(run("-j", "-", stdin=json.dumps({**first}).encode())[1])
        for key in ("xcr0_supported", "xss_supported", "components", "standard_bytes",
                    "compacted_bytes", "mxcsr_mask", "vendor", "family", "model", "brand"):
            check(bare[key] == first[key], f"{name}: {key} without CPUID lines: {bare[key]}")


def questions():
    diff = documents("--diff", MILAN, ADL)[0]
    check(diff["verdict"] == "convert" and diff["moved"] == "0x200", "PKRU moves")
    check(diff["mxcsr_bits_refused"] == "0x20000" and diff["cached_size_hazard"], "MXCSR, size")
    check(documents("--diff", MILAN, MILAN)[0]["verdict"] == "ok", "itself")
    check(documents("--diff", SPR, ADL, status=1)[0]["missing"] == "0x644e0", "AMX is missing")
    check("2432" in run("--diff", MILAN, ADL)[1], "both places are shown")

    base = documents("--baseline", MILAN, ADL, SPR)[0]
    check(base["xcr0"] == "0x207" and base["moving"] == "0x200", "baseline")
    base = documents("--baseline", MILAN, ADL, SPR, SKL)[0]
    cost = {m["source"]: m["costs_the_group"] for m in base["machines"]}
    check(base["xcr0"] == "0x7" and cost[SKL] == "0x1a00" and cost[SPR] == "0x0", "costs")

    leaves = {l["subleaf"]: l for l in documents("--leaves", "--xcr0", "0x602e7", "--xss", "0x1800",
                                                 SPR)[0]["leaves"]}
    check(leaves["0x0"]["ecx"] == "0x2b00" and leaves["0x1"]["ebx"] == "0x2a00", "leaf sizes")
    check(sorted(map(lambda s: int(s, 16), leaves)) == [0, 1, 2, 5, 6, 7, 9, 11, 12, 17, 18], "leaves")
    text = run("--leaves", "--xcr0", "7", SPR, "-q")[1]
    check(re.search(r"0x0000000d 0x00: eax=0x00000007 ebx=0x00000340 ecx=0x00000340", text), text)
    zero = documents("--leaves", "--xcr0", "0", SPR)[0]["leaves"]
    check(all(int(l[r], 16) == 0 for l in zero for r in ("eax", "ebx", "ecx", "edx")), "hidden")

    for mask, legal in (("0x2e7", True), ("0x602e7", True), ("0x202e7", False), ("0x5", False),
                        ("0x27", False), ("0x1f", False)):
        code, out, err = run("--xcr0", mask, SPR)
        check((code == 0) == legal and ("#GP" in err) != legal, f"XSETBV {mask}: {code} {err}")
    check(documents("--xcr0", "0x2e7", "--xss", "0", SPR)[0]["standard_bytes"] == 2696, "profile")


def audits():
    for name, status, ids in (
        (dump("amd-is-firecracker-t2a-guest-m6ametal"), 1, {"sum-standard", "sum-without-form"}),
        (ZEN2, 0, {"component-without-flag"}),
        (MILAN, 0, set()),
        (dump("centaur-winchipc6-2-541"), 1, {"xsave-without-leaf"}),
        (dump("intel-icx-04-606a6"), 1, {"empty-subleaf"}),
    ):
        doc = documents("--audit", name, status=status)[0]
        check({f["id"] for f in doc["findings"]} == ids, f"{name}: {doc['findings']}")
    text = pathlib.Path(SPR).read_text()
    spoilt = {
        "sum-compacted": ("ebx=0x00002a80 ecx=0x0000dd00", "ebx=0x000029c8 ecx=0x0000dd00"),
        "sum-standard": ("ecx=0x00002b00", "ecx=0x00002b40"),
        "sum-missing": ("ebx=0x00002a80 ecx=0x0000dd00", "ebx=0x00000000 ecx=0x0000dd00"),
        "supervisor-in-xcr0": ("eax=0x000602e7", "eax=0x000603e7"),
        "hidden-leaf": ("ecx=0x7ffefbff", "ecx=0x7bfefbff"),
        "unusable": ("eax=0x000602e7", "eax=0x000202e7"),
    }
    line = next(l for l in text.splitlines() if "0x0000000d 0x01:" in l)
    leaf1 = next(l for l in text.splitlines() if "0x00000001 0x00:" in l)
    for want, (old, new) in spoilt.items():
        if want in ("sum-compacted", "sum-missing"):
            # 10696: what a sum without alignment gives for all user components.
            bad = text.replace(line, re.sub(r"ebx=0x\w+", "ebx=0x000029c8" if want ==
                                            "sum-compacted" else "ebx=0x00000000", line))
            if want == "sum-compacted":
                bad = bad.replace("ebx=0x00000a80 ecx=0x00002b00", "ebx=0x00002b00 ecx=0x00002b00")
        elif want == "hidden-leaf":
            ecx = int(re.search(r"ecx=0x(\w+)", leaf1)[1], 16)
            bad = text.replace(leaf1, leaf1.replace(f"ecx=0x{ecx:08x}",
                                                    f"ecx=0x{ecx & ~(1 << 26):08x}"))
        else:
            bad = text.replace(old, new)
        check(bad != text, f"{want}: the dump was spoilt")
        code, out, err = run("-j", "--audit", "-", stdin=bad.encode())
        found = {f["id"]: f for f in json.loads(out)["findings"]}
        check(code == 1 and want in found, f"{want}: {sorted(found)}")
        if want == "sum-compacted":
            check("alignment" in found[want]["text"], found.get(want))


def header(cc):
    code, out, err = run("--c-header", "spr", SPR)
    check(code == 0 and "#define spr_STANDARD_BYTES" in out, err)
    check(run("--c-header", "1x", SPR)[0] == 2, "not an identifier")
    check(run("--c-header", "x", MENDOCINO)[0] == 1, "no XSAVE, no layout")
    if not cc:
        return
    with tempfile.TemporaryDirectory() as tmp:
        (pathlib.Path(tmp) / "spr.h").write_text(out)
        source = '#include "spr.h"\n' + "".join(
            f'_Static_assert(spr_{k} == {v}, "{k}");\n' for k, v in
            (("STANDARD_BYTES", 11008), ("COMPACTED_BYTES", 11776), ("PKRU_OFFSET", 2688),
             ("PKRU_COMPACTED_OFFSET", 2560), ("TILEDATA_BYTES", 8192), ("XCR0", 0x602e7)))
        r = subprocess.run([*cc.split(), "-std=c11", "-fsyntax-only", "-x", "c", "-"],
                           input=source.encode(), cwd=tmp, capture_output=True)
        check(r.returncode == 0, r.stderr.decode())


def footprint():
    args = ("--footprint", "--base", "10048", "--slab-order", "3", "--align", "64")
    doc = documents(*args, SPR)[0]
    now, more = doc["changes"][:2]
    check((now["objects_per_slab"], now["spare_bytes"], now["growth_bytes"]) == (3, 2624, 832),
          "the case on record")
    check(more["delta_bytes"] == 24 and more["objects_per_slab"] == 3 and
          more["bytes_per_task"] == now["bytes_per_task"], "24 bytes cost nothing")
    for c in doc["changes"]:
        check(c["objects_per_slab"] * c["stride_bytes"] + c["spare_bytes"] == doc["slab_bytes"], c)
        check(c["stride_bytes"] % 64 == 0 and 0 <= c["stride_bytes"] - c["object_bytes"] < 64, c)
    one_more = documents("--footprint", "--base", str(10048 + 832), *args[3:], SPR)[0]["changes"][0]
    too_much = documents("--footprint", "--base", str(10048 + 833), *args[3:], SPR)[0]["changes"][0]
    check((one_more["objects_per_slab"], too_much["objects_per_slab"]) == (3, 2), "832 and 833")
    amx = next(s for s in doc["state_apart"] if s["name"] == "and AMX")
    check(amx["area_bytes"] == 10688 and amx["kmalloc_bytes"] == 16384 and
          amx["vmalloc_bytes"] == 12288, amx)
    code, out, err = run(*args, SPR)
    check("2624 bytes to spare" in out and "832 bytes before" in out, out)
    check(run("--footprint", "--base", "10048", "--slab-order", "3", "--align", "63")[0] == 2, "63")


def guest_state():
    """CET_S in no task, in guests only, in every task; sizes by hand."""
    def ask(cpu, *more, base="10048"):
        doc = documents("--guest-state", "--base", base, "--slab-order", "3", "--align", "64",
                        *more, cpu)[0]
        return doc, doc["cases"]

    def column(cases, key):
        return [c[key] for c in cases]

    # 576, AVX 256, opmask 64, ZMM_Hi256 512, Hi16_ZMM 1024, PKRU 8, CET_U 16: 2456; 24 more end at 2480.
    # TILECFG's 64 begin at 2496 either way.
    doc, cases = ask(SAPPHIRE)
    check(doc["supported"] and doc["component_bytes"] == 24, doc)
    check(column(cases, "image_bytes") == [2560, 2560, 2560], cases)
    check(column(cases, "bytes_per_task") == [10923] * 3, "nothing per task")
    # PKRU is no part of the library's first image: 2432 + 64; the second, apart: 576 + 16 + 24.
    check(column(cases, "library_area_bytes") == [2496 + 592, 2496 + 592, 2496 + 616], cases)
    check(column(cases, "guest_image_bytes") == [2560, 2560, 2560], cases)
    # Without AMX nothing is behind it.
    doc, cases = ask(SAPPHIRE, "--xcr0", "0x2e7")
    check(column(cases, "image_bytes") == [2456, 2456, 2480], cases)
    check(column(cases, "stride_bytes") == [10048, 10048, 10112], "24 bytes are 64")
    # 576, AVX 256, PKRU 8, CET_U 16, CET_S 24.
    doc, cases = ask(MILAN)
    none, guests, tasks = cases
    check(column(cases, "image_bytes") == [856, 856, 880], cases)
    check(column(cases, "image_lines_bytes") == [896, 896, 896], "and none where whole lines are kept")
    check(column(cases, "library_area_bytes") == [832 + 592, 832 + 592, 832 + 616], cases)
    check(column(cases, "guest_image_bytes") == [848, 872, 872], cases)
    check([int(c["task_mask"], 16) >> 11 & 3 for c in cases] == [1, 1, 3] and
          [int(c["guest_mask"], 16) >> 11 & 3 for c in cases] == [1, 3, 3], "who has CET_S")
    check(column(cases, "guest_swap_bytes") == [24, 0, 0] and
          column(cases, "guest_swap_reads_per_exit") == [3, 0, 0], "software's part")
    # Header 16, x87 152, MXCSR and its mask 8, XMM 256, AVX 256, PKRU 8, CET_U 16; the whole header read,
    # of MXCSR 4.
    check([(s["written_bytes"], s["read_bytes"]) for s in none["switch"]] == [(712, 756)], none)
    check(none["switch"] == guests["switch"] and none["switch"][0]["cet_s"] is None, guests)
    moved = {s["cet_s"]: s for s in tasks["switch"]}
    check({k: (v["written_bytes"] - 712, v["read_bytes"] - 756) for k, v in moved.items()} ==
          {"INIT": (0, 0), "live, unchanged": (0, 24), "live, changed": (24, 24)}, moved)
    # Two images and so two headers; CR0.TS does not guard PKRU, which WRPKRU switches. The second image is
    # not the one that was restored from last: what is live is written.
    check((none["switch"][0]["library_written_bytes"], none["switch"][0]["library_read_bytes"]) ==
          (712 + 16 - 8, 756 + 64 - 8), none)
    check({k: (v["library_written_bytes"] - 720, v["library_read_bytes"] - 812)
           for k, v in moved.items()} ==
          {"INIT": (0, 0), "live, unchanged": (24, 24), "live, changed": (24, 24)}, moved)
    # When the slab is full, 24 bytes are a third of it: two objects fit where three did.
    doc, cases = ask(MILAN, base=str(10048 + 832))
    check(column(cases, "objects_per_slab") == [3, 3, 2] and
          column(cases, "bytes_per_task") == [10923, 10923, 16384], cases)
    check(cases[2]["bytes_for_all_tasks"] == 10000 * 16384, cases)
    # A CPU without it, and tasks that have no CET_U: as if it had. Nothing is apart otherwise.
    doc, cases = ask(SKL, "--xcr0", "7")
    check(not doc["supported"] and column(cases, "image_bytes") == [832, 832, 856], doc)
    check(column(cases, "library_area_bytes") == [832, 832, 832 + 600], cases)
    # Prices: a range never is less than nothing, and other tables can be given.
    for name in ("zen3", "emerald-rapids"):
        doc, cases = ask(MILAN, "--costs", name)
        c, none, tasks = doc["cycles"], cases[0], cases[2]
        more = {"cycles": c["one_more_in_init"], "live_cycles": c["one_more_live"]}
        check(name in c["source"] and c["measured"] == (name == "emerald-rapids"), c)
        check(none["cycles"] == cases[1]["cycles"] and none["live_cycles"] is None, cases)
        check(0 < more["cycles"]["high_cycles"] <= more["live_cycles"]["high_cycles"], more)
        for key, extra in more.items():
            check(all(abs(tasks[key][end] - none["cycles"][end] - extra[end]) < 1e-9 and extra[end] >= 0
                      for end in ("low_cycles", "high_cycles")), (key, tasks))
        check(cases[0]["library_cycles"]["low_cycles"] > cases[0]["cycles"]["low_cycles"], "a second image")
        check(c["swap_at_exit"] == c["swap_at_change"] and c["swap_at_exit"]["low_cycles"] > 0, c)
    # And a result of xstate bench insn, with its pairs or without.
    with tempfile.TemporaryDirectory() as tmp:
        path = pathlib.Path(tmp) / "costs.json"
        bench = {"schema": "xstate.bench/1", "kind": "insn", "machine": {"cpu": "made up", "tsc_hz": 2e9}, "cycles_per_tick": 1,
                 "costs": [{"instruction": insn, "format": "compacted", "live": live,
                            "low_quartile_cycles": at, "high_quartile_cycles": at + 5}
                           for insn in ("XSAVEC", "XRSTOR")
                           for live, at in (("INIT", 60), ("SSE", 100), ("AVX", 130), ("AVX-512", 170))],
                 "effects": [{"base": "xsavec+xrstor/0x7/avx", "then": "xsavec+xrstor/0xe7/avx",
                              "unit": "cycles", "low": -1, "high": 3},
                             {"base": "xsavec+xrstor/0xe7/sse", "then": "xsavec+xrstor/0xe7/avx",
                              "unit": "cycles", "low": 50, "high": 54}]}
        for effects, init, live in ((bench["effects"], 3, 54), ([], 70, 70), (bench["effects"][:1], 70, 70)):
            path.write_text(json.dumps({**bench, "effects": effects}))
            doc, cases = ask(MILAN, "--costs", str(path))
            c = doc["cycles"]
            check((c["one_more_in_init"], c["one_more_live"]) ==
                  ({"low_cycles": 0, "high_cycles": init}, {"low_cycles": 0, "high_cycles": live}), c)
            check(cases[0]["cycles"] == {"low_cycles": 260, "high_cycles": 270} and
                  cases[2]["live_cycles"] == {"low_cycles": 260, "high_cycles": 270 + live}, cases)
    code, out, err = run("--guest-state", "--base", "10048", "--slab-order", "3", "--align", "64", SAPPHIRE)
    words = " ".join(out.split())
    check(code == 0 and "24 bytes make an image 0 longer, since a component behind begins" in words and
          "takes no more memory" in words, out)
    for args, status in ((("--costs", "/nonexistent"), 2), (("--xcr0", "0x5"), 1), (("--xss", "0x1000"), 1)):
        code, out, err = run("--guest-state", *("--base", "10048", "--slab-order", "3", "--align", "64"),
                             *args, SAPPHIRE)
        check(code == status and out == "" and err.count("\n") == 1, f"{args}: {code} {err}")
    code, out, err = run("--guest-state", "--base", "10048", "--slab-order", "3", "--align", "64", ZEN2)
    check(code == 1 and "XSAVES" in err, f"{code} {err}")


def bad_input():
    with tempfile.TemporaryDirectory() as tmp:
        files = {
            "binary": bytes((i * 7 + i // 251) % 256 for i in range(100000)),
            "cut": pathlib.Path(SPR).read_bytes()[:3000],
            "text": b"hello\n", "empty": b"", "json": b'{"schema":"xstate.image/1"}',
            "open": b"{", "numbers": b'{"schema":"xstate.cpu/1","xsave":true,"xcr0_supported":1e400}',
            "huge": b"CPU:\n   0x00000000 0x00: eax=0x100000000000 ebx=0x0 ecx=0x0 edx=0x0\n",
        }
        for name, data in files.items():
            path = pathlib.Path(tmp) / name
            path.write_bytes(data)
            code, out, err = run(path)
            check(code == 2 and out == "" and err.count("\n") == 1, f"{name}: {code} {err}")
            code, out, err = run("-j", path)
            check(code == 2 and json.loads(out)["schema"] == "xstate.error/1", f"{name}: JSON")
        big = pathlib.Path(tmp) / "big"
        with open(big, "wb") as f:
            f.truncate(100 << 20)
        for path in (tmp, "/dev/null", "/nonexistent", big):
            code, out, err = run(path)
            check(code == 2 and err.count("\n") == 1, f"{path}: {code} {err}")
        # One bad file among many.
        docs = documents(SPR, pathlib.Path(tmp) / "cut", MILAN, status=2)
        check([d["schema"] for d in docs] == ["xstate.cpu/1", "xstate.error/1", "xstate.cpu/1"],
              "the others are answered")
        code, out, err = run(SPR, "/nonexistent", MILAN)
        check(code == 2 and "emeraldrapids" in out and "milan" in out and "No such" in err, out)
        # But not where the answer would be about something else.
        code, out, err = run("--baseline", SPR, MILAN, "/nonexistent")
        check(code == 2 and out == "", "no baseline of the rest")
        # CR LF and no last line end.
        text = pathlib.Path(SPR).read_bytes().replace(b"\n", b"\r\n").rstrip()
        check(json.loads(run("-j", "-", stdin=text)[1])["standard_bytes"] == 11008, "CR LF")
        # A name from outside must not reach the terminal as an escape sequence.
        evil = pathlib.Path(tmp) / "a\x1b[31mb"
        evil.write_bytes(pathlib.Path(SPR).read_bytes())
        check("\x1b" not in run(evil)[1] + run(evil, SPR)[1] + run("--audit", evil)[1] +
              run("--diff", evil, SPR)[1] + run("--baseline", evil, SPR)[1], "escapes")
        check("\x1b" not in run(str(evil) + "x")[2], "escapes in errors")
    for args in (["--diff", SPR], ["--baseline", SPR], ["--xcr0", "7x"], ["--xcr0"], ["--nosuch"],
                 ["--diff", "--audit", SPR], ["--tasks", "0"], ["--slab-order", "11"]):
        code, out, err = run(*args)
        check(code == 2 and out == "" and err.count("\n") == 1, f"{args}: {code} {err}")


def documented():
    """Every key that is printed stands in docs/json.md, in the section of its schema."""
    sections = re.split(r"^## ", (ROOT / "docs/json.md").read_text(), flags=re.M)
    for args in ((SPR,), ("--diff", MILAN, ADL), ("--baseline", MILAN, ADL), ("--leaves", SPR),
                 ("--audit", ZEN2),
                 ("--footprint", "--base", "10048", "--slab-order", "3", "--align", "64", SPR),
                 ("--guest-state", "--base", "10048", "--slab-order", "3", "--align", "64", SPR)):
        doc = documents(*args)[0]
        section = next((s for s in sections if s.startswith(doc["schema"])), "")
        known = set(re.findall(r"`(\w+)`", section)) | {"schema"}
        # "`fxsr` to `xfd`" stands for the row above.
        known |= {"fxsr", "xsave", "xsaveopt", "xsavec", "xgetbv1", "xsaves", "xfd"}

        def walk(o):
            if isinstance(o, dict):
                for k, v in o.items():
                    check(k in known, f"{doc['schema']}: {k} is not documented")
                    walk(v)
            elif isinstance(o, list):
                for v in o[:1]:
                    walk(v)
        walk(doc)


def manual():
    """Examples of the manual page run."""
    page = (ROOT / "docs/man/xstate-cpu.1.scd").read_text()
    examples = re.findall(r"^\txstate (cpu.*)$", page[page.index("# EXAMPLES"):], flags=re.M)
    check(len(examples) >= 4, "there are examples")
    for line in examples:
        code, out, err = run(*line.split()[1:], cwd=ROOT)
        check(code == 0 and out, f"{line}: {code} {err}")


def widths():
    """Nothing is wider than the terminal, but for rows of long words."""
    for args in ((SPR,), (ZEN2,), ("--diff", MILAN, ADL)):
        for line in run(*args)[1].splitlines():
            check(len(line) <= 80 or line[:3] in ("A: ", "B: "), f"{args}: {line}")


def main():
    cc = sys.argv[3] if len(sys.argv) > 3 else shutil.which("cc")
    expected()
    reread()
    questions()
    audits()
    header(cc)
    footprint()
    guest_state()
    bad_input()
    documented()
    manual()
    widths()
    print(f"{counts['checks']} checks, {len(failures)} failed")
    return 1 if failures else 0


sys.exit(main())
