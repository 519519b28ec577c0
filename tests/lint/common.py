# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of `xstate lint` share: running it, making objects, keeping count."""
import json
import os
import subprocess
import sys

PART, XSTATE, SOURCE, CC = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3], sys.argv[4:]
SKIP = 77
failures = []


def check(what, ok, detail=''):
    if not ok:
        failures.append(what)
        print(f'FAIL {what} {detail}')


def lint(*args, env=None, stdin=subprocess.DEVNULL, cwd=None):
    return subprocess.run([XSTATE, 'lint', *args], capture_output=True, stdin=stdin, cwd=cwd,
                          env={**os.environ, 'COLUMNS': '200', **(env or {})}, check=False)


def answer(*args):
    """The JSON document and the exit status."""
    r = lint('-j', *args)
    check(f'JSON of {args}', r.returncode in (0, 1, 2) and r.stdout, r.stderr.decode())
    return json.loads(r.stdout), r.returncode


def assemble(source, obj):
    subprocess.run([*CC, '-c', '-o', obj, source], check=True)


def fixtures_dir():
    return os.path.join(SOURCE, 'tests/data/lint/fixtures')


def function(name, *lines, bind='.globl'):
    return f'{bind} {name}\n.type {name},@function\n{name}:\n' + '\n'.join(lines) + \
        f'\nret\n.size {name},.-{name}\n'


SECTION = ('mov $2,%edi', 'call kernel_fpu_begin_mask', 'addps %xmm1,%xmm0')
