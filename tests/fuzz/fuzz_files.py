#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Files that another program reads for us, changed at random.

    fuzz_files.py XSTATE SECONDS FILE... [--seed N]

For perf.data, which perf script reads, and any other trace as a file. Whatever it says, xstate sim ends with
0, or with 2 and one sentence, in time, and leaves nothing half written. What does not is kept as crash-SEED-N."""
import os
import random
import subprocess
import sys
import tempfile
import time

args = sys.argv[1:]
seed = int(args.pop(args.index("--seed") + 1)) if "--seed" in args else random.randrange(1 << 32)
args = [a for a in args if a != "--seed"]
xstate, end, files = args[0], time.time() + float(args[1]), args[2:]
rng = random.Random(seed)
print("seed", seed)


def changed(data):
    data = bytearray(data)
    kind = rng.randrange(4)
    if kind == 0:
        return data[:rng.randrange(len(data))]
    if kind == 1:
        at, size = rng.randrange(len(data)), rng.randrange(1, 400)
        del data[at:at + size]
        return data
    # The head says where everything is: half of the changes go there.
    for _ in range(rng.randrange(1, 8)):
        at = rng.randrange(min(len(data), 4096) if kind == 2 else len(data))
        data[at] = rng.choice([0, 0xff, 0x80, rng.randrange(256), data[at] ^ 1 << rng.randrange(8)])
    return data


count, refused, bad = 0, 0, 0
with tempfile.TemporaryDirectory() as folder:
    trace, out = os.path.join(folder, "trace"), os.path.join(folder, "out.xst")
    while time.time() < end:
        with open(rng.choice(files), "rb") as f:
            data = changed(f.read())
        with open(trace, "wb") as f:
            f.write(data)
        try:
            r = subprocess.run([xstate, "sim", "-q", trace, "-o", out], capture_output=True, timeout=60)
            ok = r.returncode == 0 and not r.stderr or r.returncode == 2 and r.stderr.count(b"\n") == 1
            left = [n for n in os.listdir(folder) if n.startswith("out.xst") and r.returncode]
            why = f"exit {r.returncode}, {r.stderr[:300]}, left {left}"
            ok = ok and not left
        except subprocess.TimeoutExpired:
            ok, why = False, "no end in a minute"
        count += 1
        refused += ok and r.returncode == 2
        if not ok:
            bad += 1
            keep = f"crash-{seed}-{count}"
            with open(keep, "wb") as f:
                f.write(data)
            print(f"{keep}: {why}")
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
print(f"{count} inputs, {refused} refused, {bad} bad")
sys.exit(1 if bad else 0)
