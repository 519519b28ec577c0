#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""style.css and script.js as C. Usage: embed.py STYLE SCRIPT > assets.c"""
import sys

print('#include "report/assets.h"')
for name, path in zip(("style", "script"), sys.argv[1:3]):
    with open(path, "rb") as f:
        data = f.read()
    print(f"const char report_{name}[] = {{")
    for i in range(0, len(data), 24):
        print("\t" + ",".join(str(b) for b in data[i:i + 24]) + ",")
    print("0};")
    print(f"const size_t report_{name}_bytes = {len(data)};")
