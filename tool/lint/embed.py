#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""embed.py OUTPUT PROFILE...: the built-in profiles as C strings, so the command needs no files."""
import os
import sys

names, texts = [], []
for path in sys.argv[2:]:
    names.append(os.path.basename(path).removesuffix('.conf'))
    with open(path, encoding='utf-8') as f:
        texts.append(f.read())
quote = lambda s: '"' + s.replace('\\', '\\\\').replace('"', '\\"') + '\\n"'
with open(sys.argv[1], 'w', encoding='utf-8') as out:
    out.write('static const char *const lint_profile_names[] = {\n')
    out.writelines(f'\t"{name}",\n' for name in names)
    out.write('\tNULL\n};\nstatic const char *const lint_profile_texts[] = {\n')
    for text in texts:
        out.write('\n'.join('\t' + quote(line) for line in text.splitlines()) + ',\n')
    out.write('\tNULL\n};\n')
