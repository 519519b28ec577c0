#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""summary.py SETUP FOLDER...: sum up what `meson test` logged in these build folders.

Counts the cases inside a test where it reports them (cmocka's lines, or lines
"PASS: name", "FAIL: name", "SKIP: name: reason"), else the test as one. Lists what
failed and what was skipped with the reason, and ends with the one line

    N passed, N failed, N skipped

Exit 0 only when nothing failed and something passed.
"""

import json
import re
import sys

CASE = re.compile(
    r"^(?:\[ *(OK|FAILED|SKIPPED) *\] (?!\d)(?:\w+: )?(\S[^\n]*)|(PASS|FAIL|SKIP): ([^\n]*))$",
    re.MULTILINE,
)
WORD = {"OK": "pass", "PASS": "pass", "FAILED": "fail", "FAIL": "fail", "SKIPPED": "skip",
        "SKIP": "skip"}
BAD = ("FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS")


def cases_in(output):
    """The cases a test reports, each once: cmocka repeats failures in its summary."""
    seen = {}
    for match in CASE.finditer(output):
        word, name = match.group(1) or match.group(3), match.group(2) or match.group(4)
        seen.setdefault(name.strip(), WORD[word])
    return seen


def skip_reason(output):
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if "skip" in line.lower()]
    return (telling or lines or ["no reason given"])[-1]


def read(setup, folder):
    try:
        with open(f"{folder}/meson-logs/testlog-{setup}.json", encoding="utf-8") as log:
            return [json.loads(line) for line in log if line.strip()]
    except (OSError, ValueError) as error:
        print(f"FAILED  {folder}: no test log: {error}")
        return None


def main(setup, folders):
    count = {"pass": 0, "fail": 0, "skip": 0}
    for folder in folders:
        tests = read(setup, folder)
        if tests is None:
            count["fail"] += 1
            continue
        for test in tests:
            name, result = f"{folder}: {test['name']}", test["result"]
            output = (test.get("stdout") or "") + "\n" + (test.get("stderr") or "")
            cases = cases_in(output)
            for case, word in cases.items():
                count[word] += 1
                if word == "fail":
                    print(f"FAILED  {name}: {case}")
                elif word == "skip":
                    print(f"SKIPPED {name}: {case}")
            if result in BAD:
                # A crash or a time-out is a failure that no case reported.
                if "fail" not in cases.values():
                    count["fail"] += 1
                    print(f"FAILED  {name} ({result.lower()})")
            elif result == "SKIP":
                if "skip" not in cases.values():
                    count["skip"] += 1
                    print(f"SKIPPED {name}: {skip_reason(output)}")
            elif not cases:
                count["pass"] += 1
    if not count["pass"]:
        print("nothing passed: that is not a pass")
    print(f"{count['pass']} passed, {count['fail']} failed, {count['skip']} skipped")
    return 0 if count["pass"] and not count["fail"] else 1


sys.exit(main(sys.argv[1], sys.argv[2:]))
