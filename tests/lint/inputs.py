# SPDX-License-Identifier: BSD-2-Clause
"""What `xstate lint` is given: damaged files, archives, pipes, objects that call each other."""
import gzip
import lzma
import os
import shutil
import struct
import subprocess
import threading

from common import CC, SECTION, XSTATE, answer, assemble, check, fixtures_dir, function, lint

# Each case: objects by name, then the errors and notes (rule, function) that they have together.
TOGETHER = {
    'middle': ([function('g', 'addps %xmm1,%xmm0'), function('h', 'call g'), function('bad', 'call h')],
               {('call-fp-outside', 'h')}, set()),
    'long way': ([function('g', 'addps %xmm1,%xmm0'), *(function(f'h{i}', f'call {"h%d" % (i - 1) if i else "g"}')
                                                        for i in range(5)), function('bad', 'call h4')],
                 {('call-fp-outside', 'h0')}, set()),
    'one violation, one error': ([function('g', 'addps %xmm1,%xmm0'), function('f', 'call g')],
                                 {('call-fp-outside', 'f')}, set()),
    'sleeping wrapper': ([function('sl', 'call mutex_lock', 'nop'), function('f', *SECTION, 'call sl', 'call kernel_fpu_end')],
                         set(), {('may-sleep-via-call', 'f')}),
    'pointer wrapper': ([function('indirect', 'call *op(%rip)', 'nop'),
                         function('f', *SECTION[:2], 'call indirect', 'call kernel_fpu_end')],
                        set(), {('mask-unknown', 'f')}),
    'called in a section': ([function('g', 'addps %xmm1,%xmm0'), function('h', 'call g'),
                             function('f', *SECTION, 'call h', 'call kernel_fpu_end')],
                            set(), {('exported-requirement', 'g'), ('exported-requirement', 'h')}),
    'by another name': ([function('g', 'addps %xmm1,%xmm0') + '.globl also_g\n.set also_g, g\n',
                         function('f', 'call also_g')], {('call-fp-outside', 'f')}, set()),
    'asleep by another name': ([function('sl', 'call mutex_lock', 'nop') + '.globl a_sl\n.set a_sl, sl\n',
                                function('f', *SECTION, 'call a_sl', 'call kernel_fpu_end')],
                               set(), {('may-sleep-via-call', 'f')}),
    'strong over weak': ([function('f', 'call arch'), function('arch', 'addps %xmm1,%xmm0', bind='.weak'),
                          function('arch', 'nop')], set(), set()),
    'weak in front': ([function('arch', 'nop', bind='.weak') + function('f', 'call arch'),
                       function('arch', 'addps %xmm1,%xmm0')], {('call-fp-outside', 'f')}, set()),
}


def together(tmp):
    for name, (sources, errors, notes) in TOGETHER.items():
        folder = f'{tmp}/{name}'
        os.mkdir(folder)
        objs = []
        for i, source in enumerate(sources):
            with open(f'{folder}/{i}.S', 'w', encoding='ascii') as f:
                f.write('.text\n' + source + '.section .note.GNU-stack,"",@progbits\n')
            objs.append(f'{folder}/{i}.o')
            assemble(f'{folder}/{i}.S', objs[-1])
        subprocess.run(['ar', 'rc', f'{folder}/all.a', *objs], check=True)
        subprocess.run(['ld', '-r', '-o', f'{folder}/all.o', *objs], check=True)
        for how, args in (('apart', objs), ('turned round', objs[::-1] if 'weak' not in name else objs),
                          ('archive', [f'{folder}/all.a']), ('linked', [f'{folder}/all.o'])):
            doc, _ = answer(*args)
            for severity, want in (('error', errors), ('note', notes)):
                got = {(f['rule'], f['function']) for f in doc['findings'] if f['severity'] == severity}
                check(f'{name}, {how}', got == want, got ^ want)


def damaged(data):
    """Copies of an object, each with one field wrong."""
    shoff, = struct.unpack_from('<Q', data, 40)
    count, strings = struct.unpack_from('<HH', data, 60)
    names, = struct.unpack_from('<Q', data, shoff + 64 * strings + 24)
    index = {}
    for i in range(count):
        name, = struct.unpack_from('<I', data, shoff + 64 * i)
        index[data[names + name:data.index(b'\0', names + name)].decode()] = shoff + 64 * i
    far = 1 << 28
    for what, at, form, value in (
            ('text offset', index['.text'] + 24, '<Q', far), ('text size', index['.text'] + 32, '<Q', far),
            ('huge text', index['.text'] + 32, '<Q', 3 << 29), ('symbol link', index['.symtab'] + 40, '<I', 9999),
            ('symbol offset', index['.symtab'] + 24, '<Q', far), ('symbol size', index['.symtab'] + 32, '<Q', 25),
            ('string offset', index['.strtab'] + 24, '<Q', far),
            ('relocation offset', index['.rela.text'] + 24, '<Q', far),
            ('relocation target', index['.rela.text'] + 44, '<I', 9999),
            ('relocation symbols', index['.rela.text'] + 40, '<I', 0),
            ('relocation size', index['.rela.text'] + 56, '<Q', 7),
            ('relocation kind', index['.rela.text'] + 4, '<I', 9),
            ('headers offset', 40, '<Q', far), ('no headers', 40, '<Q', 0), ('no sections', 60, '<H', 0),
            ('sections without names', 62, '<H', 0xff00), ('header size', 58, '<H', 10), ('a core', 16, '<H', 4)):
        copy = bytearray(data)
        struct.pack_into(form, copy, at, value)
        yield what, copy


def separate_lines(tmp):
    """A linked file whose debug information is apart, found by the build id among its notes."""
    with open(f'{tmp}/s.c', 'w', encoding='ascii') as f:
        f.write('void lines(double *);\nvoid lines(double *p)\n{\n\t*p += 2;\n}\n')
    subprocess.run([*CC, '-g', '-O2', '-fpic', '-shared', '-nostdlib', '-Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567',
                    '-o', f'{tmp}/s.so', f'{tmp}/s.c'], check=True)
    os.makedirs(f'{tmp}/debug/.build-id/01')
    subprocess.run(['objcopy', '--only-keep-debug', f'{tmp}/s.so',
                    f'{tmp}/debug/.build-id/01/23456789abcdef0123456789abcdef01234567.debug'], check=True)
    subprocess.run(['objcopy', '--strip-debug', '--rename-section', '.note.gnu.build-id=.notes', f'{tmp}/s.so'],
                   check=True)
    doc, _ = answer('--debug-dir', f'{tmp}/debug', f'{tmp}/s.so')
    check('lines from a separate file', any('s.c:4' in (f['source'] or '') for f in doc['findings']), doc['findings'])
    doc, _ = answer('--debug-dir', f'{tmp}', f'{tmp}/s.so')
    check('none without it', all(f['source'] is None for f in doc['findings']), doc['findings'])


def files(tmp):
    def refused(what, path, words, status=2, **kw):
        r = lint(path, **kw)
        text = r.stderr.decode()
        check(what, r.returncode == status and words in text and 'Sanitizer' not in text,
              f'{r.returncode}: {r.stdout.decode()} {text}')
        return r

    def put(name, data):
        with open(f'{tmp}/{name}', 'wb') as f:
            f.write(data)
        return f'{tmp}/{name}'

    objs = {}
    for name in ('01_ok_int', '02_outside'):
        objs[name] = f'{tmp}/{name}.o'
        assemble(f'{fixtures_dir()}/{name}.S', objs[name])
    ok, bad = objs['01_ok_int'], objs['02_outside']
    with open(ok, 'rb') as f:
        data = f.read()
    for what, copy in damaged(data):
        r = refused(what, put('damaged.o', copy), 'damaged.o ')
        check(f'{what}: one sentence', len(r.stderr.splitlines()) == 1, r.stderr.decode())
        check(f'{what}: nothing is said of it', b'0 errors' not in r.stdout, r.stdout.decode())
    shoff, = struct.unpack_from('<Q', data, 40)
    for cut in (*range(4, 64, 13), *range(64, len(data), 61), shoff - 1, shoff + 70, len(data) - 1):
        refused(f'cut at {cut}', put('cut.o', data[:cut]), 'cut short')
    for name, args in (('stripped', ['-s']), ('only debug', ['--only-keep-debug'])):
        subprocess.run(['objcopy', *({'stripped': ['-S', '-R', '.rela.text', '--strip-all']}.get(name, args)),
                        bad, f'{tmp}/less.o'], check=True)
        refused(name, f'{tmp}/less.o', 'holds')
    with open(f'{tmp}/half.S', 'w', encoding='ascii') as f:
        f.write('.text\n.Lf:\npxor %xmm0,%xmm0\nret\n.section .init.text,"ax",@progbits\n' +
                function('start', 'jmp .Lf') + '.section .note.GNU-stack,"",@progbits\n')
    assemble(f'{tmp}/half.S', f'{tmp}/half.o')
    refused('a section without names', f'{tmp}/half.o', 'holds a section of code without symbols')
    with open(f'{tmp}/lto.c', 'w', encoding='ascii') as f:
        f.write('void f(double *); void f(double *p) { *p += 1; }\n')
    if not subprocess.run([*CC, '-flto', '-O2', '-c', '-o', f'{tmp}/lto.o', f'{tmp}/lto.c'], check=False,
                          capture_output=True).returncode:
        refused('LTO', f'{tmp}/lto.o', 'holds what' if 'gcc' in ' '.join(CC) else 'lto.o ')

    # Archives: each member is told by its own name, the others are checked.
    text = put('text.o', b'not an object at all\n')
    subprocess.run(['ar', 'rc', f'{tmp}/mixed.a', ok, text, bad], check=True)
    r = refused('an archive with a text', f'{tmp}/mixed.a', 'mixed.a(text.o) is not an ELF object')
    check('its other members', b'fp-outside' in r.stdout, r.stdout)
    with open(f'{tmp}/mixed.a', 'rb') as f:
        whole = f.read()
    for cut in (40, len(whole) // 2, len(whole) - 50):
        refused(f'archive cut at {cut}', put('cut.a', whole[:cut]), 'archive')
    subprocess.run(['ar', 'rcT', f'{tmp}/thin.a', ok, bad], check=True)
    refused('a thin archive', f'{tmp}/thin.a', '', 1)
    os.mkdir(f'{tmp}/sub')
    shutil.copy(bad, f'{tmp}/sub/gone.o')
    subprocess.run(['ar', 'rcT', 'thin2.a', 'sub/gone.o'], check=True, cwd=tmp)
    r = refused('a thin archive below', f'{tmp}/thin2.a', '', 1)
    check('its member', b'thin2.a(sub/gone.o)' in r.stdout, r.stdout)
    os.unlink(f'{tmp}/sub/gone.o')
    refused('a member that is gone', f'{tmp}/thin2.a', 'thin2.a(sub/gone.o) cannot be read')

    # Packed in several parts, as parallel packers do; a part that is missing is not overlooked.
    half = len(data) // 2
    for name, pack in (('xz', lzma.compress), ('gz', gzip.compress)):
        with open(bad, 'rb') as f:
            parts = [f.read(half), f.read()]
        refused(f'{name} in two parts', put(f'two.{name}', b''.join(pack(p) for p in parts)), '', 1)
        refused(f'{name}, the second damaged', put(f'half.{name}', pack(parts[0]) + pack(parts[1])[:-9]), 'damaged')
        refused(f'{name} and what does not belong', put(f'more.{name}', pack(parts[0] + parts[1]) + b'more'), 'damaged')

    # What can be read only once: pipes, alone and among others.
    with open(bad, 'rb') as f:
        r = subprocess.run([XSTATE, 'lint', '-'], input=f.read(), capture_output=True, check=False)
    check('a pipe', r.returncode == 1 and b'fp-outside' in r.stdout, r.stderr)
    os.mkfifo(f'{tmp}/fifo')
    with open(bad, 'rb') as f:
        content = f.read()

    def feed():
        with open(f'{tmp}/fifo', 'wb') as f:
            f.write(content)
    feeder = threading.Thread(target=feed)
    feeder.start()
    r = lint(ok, f'{tmp}/fifo')
    feeder.join()
    check('a FIFO', r.returncode == 1 and b'fp-outside' in r.stdout, r.stderr)
    doc, _ = answer(bad, bad, f'{tmp}/../{os.path.basename(tmp)}/02_outside.o')
    check('a file given thrice', doc['objects'] == 1 and len(doc['findings']) == 1, doc['objects'])

    separate_lines(tmp)
    # Lines of what is no plain file, and of a program that may be loaded anywhere.
    with open(f'{tmp}/l.c', 'w', encoding='ascii') as f:
        f.write('void lines(double *);\nvoid lines(double *p)\n{\n\t*p += 2;\n}\n')
    subprocess.run([*CC, '-g', '-O2', '-fpic', '-c', '-o', f'{tmp}/l.o', f'{tmp}/l.c'], check=True)
    subprocess.run(['ar', 'rc', f'{tmp}/l.a', f'{tmp}/l.o'], check=True)
    subprocess.run([*CC, '-shared', '-nostdlib', '-o', f'{tmp}/l.so', f'{tmp}/l.o'], check=True)
    with open(f'{tmp}/l.o', 'rb') as f:
        put('l.o.xz', lzma.compress(f.read()))
    for name in ('l.o', 'l.a', 'l.so', 'l.o.xz'):
        doc, _ = answer(f'{tmp}/{name}')
        check(f'lines of {name}', any('l.c:4' in (f['source'] or '') for f in doc['findings']),
              doc['findings'])
