#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""lab-sum.py TITLE FILE: what `xstate lab run -j` wrote to FILE, as one line."""
import json
import sys


def main(title, path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if not text.strip():
        print(f"{title}: nothing could run")
        return 1
    results = json.loads(text)["results"]
    ran = [r for r in results if r["status"] in ("ok", "known-failure")]
    skipped = sum(r["status"] == "skipped" for r in results)
    failed = [r for r in results if r["status"] == "failed"]
    total = {name: sum(r.get(name) or 0 for r in results)
             for name in ("switches", "checks", "corruptions")}
    machines = len({r["machine"] for r in ran})
    print(f"{title}: {len(ran) + len(failed)} boots on {machines} machines, "
          f"{total['switches']:,} switches, {total['checks']:,} checks, "
          f"{total['corruptions']} corruptions, {len(failed)} failed, {skipped} skipped", flush=True)
    for r in failed:
        print(f"  FAILED {r['experiment']} {r['policy']} on {r['machine']}: {r['reason']}")
    return 0


sys.exit(main(*sys.argv[1:]))
