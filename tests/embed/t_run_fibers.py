# SPDX-License-Identifier: BSD-2-Clause
"""examples/fibers as a program: no register is wrong after many preemptions of either kind, a library
that never restores is noticed, and wrong usage is refused.

    t_run_fibers.py FIBERS TWIN PREEMPTIONS
"""
import re
import sys

import build


def fibers(program, *args):
    return build.run([program, *args], timeout=1200)


def main():
    program, twin, count = build.arguments(3)
    count = int(str(count))
    for how in [], ["--inside"]:
        for policy in "eager", "auto":
            result = fibers(program, "--preemptions", count, "--policy", policy, *how)
            if result.returncode == 3:
                build.skip(result.stderr.strip())
            text = result.stdout
            print(text)
            made = re.search(r"^(\d+) preemptions .*\((\d+) by the timer, (\d+) raised\)", text, re.M)
            build.expect(result.returncode == 0 and " 0 wrong registers" in text and made and
                         int(made[1]) >= count and int(made[2]) and int(made[3]),
                         f"{count} preemptions, {policy} {' '.join(how)}", text + result.stderr)
        result = fibers(twin, "--preemptions", 1000, *how)
        build.expect(result.returncode == 1 and "is not what it was" in result.stderr,
                     f"a library that never restores is noticed {' '.join(how)}",
                     result.stdout + result.stderr)
    for wrong in ["--preemptions", "0"], ["--fibers", "1"], ["--policy"], ["--nonesuch"], ["x"]:
        result = fibers(program, *wrong)
        build.expect(result.returncode == 2 and result.stderr.startswith("usage: "),
                     f"refused: {' '.join(wrong)}", result.stderr)
    result = fibers(program, "--policy", "lazy")
    build.expect(result.returncode == 3 and result.stderr.count("\n") == 1,
                 "user mode has no CR0.TS", result.stderr)
    build.done()


sys.exit(main())
