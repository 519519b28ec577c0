#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""embed.py OUTPUT PROFILE...: the built-in profiles in the command, so it needs no files.

As arrays: a compiler need not take strings of more than 4095 characters."""
import os
import sys

names, texts = [], []
for path in sys.argv[2:]:
    names.append(os.path.basename(path).removesuffix('.conf'))
    with open(path, encoding='utf-8') as f:
        texts.append(f.read())
with open(sys.argv[1], 'w', encoding='utf-8') as out:
    for k, text in enumerate(texts):
        data = [str(b) for b in text.encode()] + ['0']
        out.write(f'static const char lint_profile_{k}[] = {{\n')
        out.writelines('\t' + ', '.join(data[i:i + 20]) + ',\n' for i in range(0, len(data), 20))
        out.write('};\n')
    out.write('static const char *const lint_profile_names[] = {\n')
    out.writelines(f'\t"{name}",\n' for name in names)
    out.write('\tNULL\n};\nstatic const char *const lint_profile_texts[] = {\n')
    out.writelines(f'\tlint_profile_{k},\n' for k in range(len(texts)))
    out.write('\tNULL\n};\n')
