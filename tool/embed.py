#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Files as C, with a zero behind each. Usage: embed.py HEADER NAME FILE [NAME FILE]... > assets.c"""
import sys

print(f'#include "{sys.argv[1]}"')
for name, path in zip(sys.argv[2::2], sys.argv[3::2]):
    with open(path, "rb") as f:
        data = f.read()
    print(f"const char {name}[] __attribute__((aligned(8))) = {{")
    for i in range(0, len(data), 24):
        # A char may be signed.
        print("\t" + ",".join(str(b if b < 128 else b - 256) for b in data[i:i + 24]) + ",")
    print("0};")
    print(f"const size_t {name}_bytes = {len(data)};")
