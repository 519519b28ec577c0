# SPDX-License-Identifier: BSD-2-Clause
"""Every row of tests/cases.tsv names a test that is there and carries the id; and no id of the
areas that the CPU, image and section parts answer for is missing, where the collection is at hand.

    cases.py SOURCE_ROOT
"""
import os
import pathlib
import sys

AREAS = ("HDR", "SEC", "GDB", "MIG", "ABI", "ENU", "LAY", "CMP", "RTL", "KFP")


def main():
    root = pathlib.Path(sys.argv[1])
    rows = [line.split("\t") for line in (root / "tests/cases.tsv").read_text().splitlines()
            if line and not line.startswith("#")]
    bad = [f"{case}: {name} does not carry it" for case, name in rows
           if f'"{case}"' not in (root / name).read_text()]
    shared = pathlib.Path(os.environ.get("XST_SHARED", root / ".." / "shared"))
    collection = shared / "cases/cases.tsv"
    have = {case for case, _ in rows}
    if collection.exists():
        ids = [line.split("\t")[0] for line in collection.read_text().splitlines()[1:]]
        bad += [f"{case}: no test" for case in ids
                if case.split("-")[0] in AREAS and case not in have]
    else:
        print("the collection of cases is not here: only the table was checked")
    print(f"{len(have)} cases have a test")
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())
