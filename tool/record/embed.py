#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The object of events.bpf.c as C. Usage: embed.py OBJECT > assets.c"""
import sys

with open(sys.argv[1], "rb") as f:
    data = f.read()
print('#include "record/assets.h"')
print("const unsigned char record_events[] __attribute__((aligned(8))) = {")
for i in range(0, len(data), 24):
    print("\t" + ",".join(str(b) for b in data[i:i + 24]) + ",")
print("};")
print(f"const size_t record_events_bytes = {len(data)};")
