#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""lint.py PART XSTATE SOURCE CC...: the checker as its users meet it.

fixtures  small assembler objects, each with the findings it must and must not have
manners   arguments, files that are none, configuration, baselines, JSON and SARIF
files     damaged files, archives, pipes: what cannot be read must never pass as clean
together  objects that call each other, apart, as an archive and linked: the same findings
self      libxst and the lab's kernels, which must hold no FP code but what is named
kernel    real kernels of a Debian package, against shared/lint/expected.tsv
"""
import bz2
import gzip
import json
import lzma
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from common import (CC, PART, SECTION, SKIP, SOURCE, XSTATE, answer, assemble, check, failures, fixtures_dir,
                    function, lint)
from inputs import files, together

# What each fixture is found to hold: errors, then the notes that matter, then the verdicts of
# its sections.
EXPECTED = {
    '01_ok_int': ('', '', 'exact'),
    '02_outside': ('fp-outside', '', ''),
    '03_after_end': ('fp-after-end', '', 'over'),
    '05_missing_end_err': ('return-in-section', '', 'over'),
    '06_nested': ('end-without-begin nested-begin', '', 'over'),
    '07_x87_mask2': ('mask-under', 'mask-over', 'under'),
    '08_x87_selfinit': ('', 'mask-over', 'over'),
    '10_over': ('', 'mask-over', 'over'),
    '11_fallback': ('', '', 'over'),
    '12_correlated': ('', '', 'over'),
    '13_correlated_bad': ('return-in-section', '', 'over'),
    '14_sleep': ('may-sleep-in-section', '', 'over'),
    '17_tailcall_bad': ('call-fp-after-end', 'section-without-fp', 'empty'),
    '19_nosize': ('', 'exported-requirement', 'over'),
    '20_gpr_only': ('', '', ''),
    '21_cvtpi2ps': ('mask-under', '', 'under'),
    '22_mmx': ('mask-under', 'mask-over', 'under'),
    '24_end_only': ('end-without-begin', '', ''),
    '25_begin_only': ('return-in-section', 'section-without-fp', 'empty'),
    '26_loop_release': ('', '', 'over'),
    '27_kmask': ('fp-outside', '', ''),
    '29_recip': ('', '', 'exact'),
    '40_constant_argument': ('', '', ''),
    '41_constant_argument_bad': ('call-fp-outside', '', ''),
    '42_nestable': ('', '', 'exact'),
    '43_nestable_bad': ('end-without-begin fp-outside', '', 'exact'),
    '44_pointer_inside': ('', '', 'over'),
    '45_pointer_outside': ('', 'unresolved-pointer', ''),
    '46_unknown_vector': ('', 'mask-unknown', 'unknown'),
    '47_undecodable': ('undecodable', '', ''),
    '48_data_outside': ('', '', ''),
    '49_gfp': ('may-sleep-in-section', '', 'over'),
    '50_cold': ('', '', 'exact'),
    '51_static_key': ('fp-outside', '', ''),
    '52_runs_on': ('call-fp-after-end', 'section-without-fp', 'empty'),
    '53_two_begins': ('mask-under', '', 'exact under'),
    '54_begin_again': ('mask-under', '', 'exact under'),
    '55_nestable_release': ('', '', 'exact'),
    '56_alternative': ('fp-outside', '', ''),
    '57_alternative_call': ('call-fp-outside', '', ''),
    '58_linker_table': ('', '', 'exact'),
    '59_export_chain': ('', 'exported-requirement', 'exact'),
    '60_state_in_section': ('state-insn-outside-allowlist', '', 'exact'),
    '61_owner_name': ('fp-outside', '', ''),
    '62_not_inlined': ('', '', 'exact'),
    '63_sleep_lists': ('may-sleep-in-section', '', 'exact'),
}


def fixtures(tmp):
    names = sorted(n[:-2] for n in os.listdir(fixtures_dir()) if n.endswith('.S'))
    check('every fixture is expected', names == sorted(EXPECTED), set(names) ^ set(EXPECTED))
    for name in names:
        obj = f'{tmp}/{name}.o'
        assemble(f'{fixtures_dir()}/{name}.S', obj)
        doc, status = answer(obj)
        rules = {s: sorted({f['rule'] for f in doc['findings'] if f['severity'] == s})
                 for s in ('error', 'note')}
        errors, notes, verdicts = (e.split() for e in EXPECTED[name])
        check(f'{name} errors', rules['error'] == errors, rules)
        check(f'{name} notes', set(notes) <= set(rules['note']), rules)
        check(f'{name} other notes', set(rules['note']) <= set(notes) | {'mask-over'}, rules)
        got = [s['verdict'] for m in doc['modules'] for s in m['sections']]
        check(f'{name} verdicts', got == verdicts, got)
        check(f'{name} status', status == (1 if errors else 0), status)
    doc, _ = answer(f'{tmp}/13_correlated_bad.o')
    check('13 names the range', 'esi is in 0x80..0xff' in doc['findings'][0]['message'])
    doc, _ = answer(f'{tmp}/05_missing_end_err.o')
    check('05 names the condition', 'rsi is 0x0' in doc['findings'][0]['message'])
    doc, _ = answer(f'{tmp}/41_constant_argument_bad.o')
    check('41 names the callee', doc['findings'][0]['about'] == 'g')
    # Callers in another object: what was unknown alone is a boundary together.
    with open(f'{tmp}/caller.S', 'w', encoding='ascii') as f:
        f.write('.text\n.globl h\n.type h,@function\nh:\ncall f\nret\n.size h,.-h\n'
                '.section .note.GNU-stack,"",@progbits\n')
    assemble(f'{tmp}/caller.S', f'{tmp}/caller.o')
    doc, status = answer(f'{tmp}/02_outside.o', f'{tmp}/caller.o')
    check("KFP-11" ' calls across objects', any(f['rule'] == 'call-fp-outside' and f['function'] == 'h'
                                      for f in doc['findings']), doc['findings'])
    # -msse at work: symbol and offset of what the compiler vectorised (cases KFP-10, KFP-12).
    with open(f'{tmp}/copy.c', 'w', encoding='ascii') as f:
        f.write('struct s { long a[8]; };\nvoid copy(struct s *, const struct s *);\n'
                'void copy(struct s *d, const struct s *s) { *d = *s; }\n')
    for flag, want in (('-msse2', 1), ('-mgeneral-regs-only', 0)):
        subprocess.run([*CC, '-O3', flag, '-c', '-o', f'{tmp}/copy.o', f'{tmp}/copy.c'], check=True)
        doc, status = answer(f'{tmp}/copy.o')
        check("KFP-10" f' compiled with {flag}', status == want, status)
        if want:
            check("KFP-10" ' symbol and offset', doc['findings'][0]['function'] == 'copy')
    insns = ['sha256rnds2 %xmm0,%xmm1,%xmm2', 'aesenc %xmm1,%xmm2', 'pclmulqdq $1,%xmm1,%xmm2',
             'gf2p8mulb %xmm1,%xmm2', 'vaesenc %ymm1,%ymm2,%ymm3', 'kmovq %k1,%k2',
             'tilezero %tmm0',
             'fld1', 'movq %mm1,%mm2', 'vmovdqu64 %zmm16,(%rdi)', 'fwait', 'emms', 'vzeroupper']
    for insn in insns:
        with open(f'{tmp}/i.S', 'w', encoding='ascii') as f:
            f.write(f'.text\n.globl f\n.type f,@function\nf:\n{insn}\nret\n.size f,.-f\n'
                    '.section .note.GNU-stack,"",@progbits\n')
        assemble(f'{tmp}/i.S', f'{tmp}/i.o')
        doc, status = answer(f'{tmp}/i.o')
        check("KFP-12" f' {insn} is FP', status == 1 and doc['fp_insns'] == 1, status)


def manners(tmp):
    def said(what, args, status, words, **kw):
        r = lint(*args, **kw)
        text = (r.stdout + r.stderr).decode()
        check(what, r.returncode == status and words in text, f'{r.returncode}: {text}')
        check(f'{what}: no crash', 'Sanitizer' not in text and 'runtime error' not in text, text)
        return r

    bad = f'{tmp}/bad.o'
    assemble(f'{fixtures_dir()}/02_outside.S', bad)
    ok = f'{tmp}/ok.o'
    assemble(f'{fixtures_dir()}/01_ok_int.S', ok)
    said('no files', [], 2, 'name the files')
    said('missing file', ['/nonexistent'], 2, 'cannot be read')
    said('a folder', [tmp], 2, 'is a directory')
    said('bad format', ['--format', 'xml', ok], 2, 'text, json or sarif')
    said('bad profile', ['--profile', 'minix', ok], 2, 'no profile minix')
    said('bad rule', ['--explain', 'nothing'], 2, 'no rule')
    said('every rule', ['--explain', 'all'], 0, 'XL020')
    said('a profile', ['--show-profile', 'linux-6.1'], 0, 'kernel_fpu_begin_mask')
    empty, text = f'{tmp}/empty', f'{tmp}/text'
    open(empty, 'wb').close()
    with open(text, 'w', encoding='ascii') as f:
        f.write('not an object\n')
    said('empty file', [empty], 2, 'is empty')
    said('a text', [text], 2, 'is not an ELF object')
    said('good and unreadable', [bad, text], 2, 'fp-outside')
    with open(bad, 'rb') as f:
        data = f.read()
    for cut in (16, 64, 200, len(data) - 8):
        with open(f'{tmp}/cut.o', 'wb') as f:
            f.write(data[:cut])
        r = lint(f'{tmp}/cut.o')
        check(f'cut at {cut}', r.returncode in (0, 1, 2), r.stderr.decode())
    small = bytearray(data)
    small[4] = 1
    with open(f'{tmp}/32.o', 'wb') as f:
        f.write(small)
    r = lint(f'{tmp}/32.o')
    check('32-bit is refused', r.returncode == 2, r.stderr.decode())
    for name, pack in (('xz', lzma.compress), ('gz', gzip.compress)):
        with open(f'{tmp}/bad.ko.{name}', 'wb') as f:
            f.write(pack(data))
        said(f'packed with {name}', [f'{tmp}/bad.ko.{name}'], 1, 'fp-outside')
    if shutil.which('zstd'):
        subprocess.run(['zstd', '-qf', bad, '-o', f'{tmp}/bad.ko.zst'], check=True)
        said('packed with zstd', [f'{tmp}/bad.ko.zst'], 1, 'fp-outside')
    with open(f'{tmp}/bad.bz2', 'wb') as f:
        f.write(bz2.compress(data))
    said('packed with bzip2', [f'{tmp}/bad.bz2'], 2, 'bzip2')
    with open(f'{tmp}/half.xz', 'wb') as f:
        f.write(lzma.compress(data)[:-20])
    said('damaged xz', [f'{tmp}/half.xz'], 2, 'cannot be unpacked')
    with open(bad, 'rb') as f:
        said('stdin', ['-'], 1, 'fp-outside', stdin=f)
    subprocess.run(['ar', 'rc', f'{tmp}/lib.a', ok, bad], check=True)
    said('an archive', [f'{tmp}/lib.a'], 1, 'lib.a(bad.o)')

    # Configuration.
    conf = f'{tmp}/my.conf'
    for line, status, words in (
            ('owner f "the test says so"', 0, 'owner f: the test says so'),
            ('severity fp-outside note', 0, '1 fp-outside'),
            ('severity fp-outside off', 0, '0 errors'),
            ('owner f', 2, 'say why'),
            ('pair begin', 2, 'pair wants'),
            ('pair a b mask=9', 2, 'mask= wants'),
            ('nonsense', 2, 'line 1: unknown word'),
            ('owner f "a # in quotes"', 0, 'owner f: a # in quotes'),
            ('owner f "why" g', 2, 'the reason in quotes comes last'),
            ('owner f "why', 2, 'a quote is not closed'),
            ('owner [ "why"', 2, 'a [ without a ]'),
            ('owner nosuch "why"', 1, '1 annotation of the configuration fits no function'),
            ('owner f object=other* "why"', 1, 'fits no function'),
            ('owner f object=other*,bad.o "why"', 0, 'owner f: why'),
            ('pair a a', 2, 'cannot be the same function'),
            ('fp allowed', 2, 'only be `fp forbidden`'),
            ('inline-sections no', 2, 'only be `inline-sections yes`'),
            ('\ufeffowner f "after a mark"', 0, 'owner f: after a mark'),
            ('owner f "one"\nowner f "two"', 0, 'owner f: two'),
            ('owner * "all"\nforbid f "but this"', 1, 'forbidden-root'),
            ('profile none\nprofile zfs', 2, 'a profile was named already'),
            ('severity XL001 note', 0, '1 fp-outside'),
            ('severity Fp-Outside note', 0, '1 fp-outside'),
            ('severity nothing error', 2, 'no such rule')):
        with open(conf, 'w', encoding='utf-8') as f:
            f.write(line + '\n')
        said(f'config {line}', ['-c', conf, bad], status, words)
    with open(conf, 'w', encoding='ascii') as f:
        f.write('pair my_begin my_end mask=0\nforbid f "called by NMI"\n')
    with open(f'{tmp}/own.S', 'w', encoding='ascii') as f:
        f.write('.text\n.globl f\n.type f,@function\nf:\ncall my_begin\npxor %xmm0,%xmm0\n'
                'call my_end\nret\n.size f,.-f\n.section .note.GNU-stack,"",@progbits\n')
    assemble(f'{tmp}/own.S', f'{tmp}/own.o')
    said('a pair of its own, and a forbidden root', ['-c', conf, f'{tmp}/own.o'], 1,
         'forbidden-root')
    said('without it', [f'{tmp}/own.o'], 1, 'fp-outside')
    said('profile none', ['--profile', 'none', ok], 1, 'where no FP instruction may be')

    # The last line counts, a file before the profile, the command line before the file.
    with open(f'{tmp}/sleep.S', 'w', encoding='ascii') as f:
        f.write('.text\n' + function('f', *SECTION, 'call mutex_lock', 'call kernel_fpu_end') +
                '.section .note.GNU-stack,"",@progbits\n')
    assemble(f'{tmp}/sleep.S', f'{tmp}/sleep.o')
    for lines, status in (('', 1), ('nothing mutex_lock\n', 0), ('nothing mutex_lock\nsleep mutex_lock\n', 1),
                         ('sleep mutex_lock\nnothing mutex_lock\n', 0), ('nothing mutex_*\n', 0)):
        with open(conf, 'w', encoding='ascii') as f:
            f.write(lines)
        said(f'last line of {lines!r}', ['-c', conf, f'{tmp}/sleep.o'], status, '1 object')
    with open(conf, 'w', encoding='ascii') as f:
        f.write('pair kernel_fpu_begin_mask other_end mask=1\n')
    said('a pair of the profile replaced', ['-c', conf, f'{tmp}/sleep.o'], 1, 'mask-under')
    with open(conf, 'w', encoding='ascii') as f:
        f.write('profile none\n')
    said('the file names a profile', ['-c', conf, ok], 1, 'where no FP instruction may be')
    said('the command line too', ['-P', 'linux-6.1', '-c', conf, ok], 0, 'profile linux-6.1')
    said('explained in any case', ['--explain', 'xl011'], 0, 'mask-under')

    # Without --profile the first kernel named decides, wherever it stands; others are told of.
    for version in ('6.1.0', '6.12.3'):
        with open(f'{tmp}/{version}.S', 'w', encoding='ascii') as f:
            f.write(f'.section .modinfo,"a"\n.asciz "name=x"\n.asciz "vermagic={version} SMP"\n.text\n' +
                    function('f', *SECTION, 'call kernel_fpu_end') + '.section .note.GNU-stack,"",@progbits\n')
        assemble(f'{tmp}/{version}.S', f'{tmp}/{version}.o')
    with open(f'{tmp}/6.12.3.o', 'rb') as f:
        said('the kernel of stdin', ['-'], 0, 'profile linux-6.12', stdin=f)
    for i in range(6):
        shutil.copy(ok, f'{tmp}/plain{i}.o')
    said('behind others', [*(f'{tmp}/plain{i}.o' for i in range(6)), f'{tmp}/6.12.3.o'], 0, 'profile linux-6.12')
    said('two kernels', [f'{tmp}/6.1.0.o', f'{tmp}/6.12.3.o'], 0, '1 of the files is for kernels of another')
    doc, _ = answer('-P', 'linux-6.1', f'{tmp}/6.1.0.o', f'{tmp}/6.12.3.o')
    check('two kernels, on purpose', doc['other_kernels'] == 0)

    # Baselines: what is known is not reported; what is new is; a rebuild changes nothing.
    base = f'{tmp}/known'
    said('write a baseline', ['--write-baseline', base, bad], 0, 'fp-outside')
    said('all known', ['--baseline', base, bad], 0, '1 known finding')
    with open(f'{tmp}/moved.S', 'w', encoding='ascii') as f:
        f.write('.text\n.globl a\n.type a,@function\na:\nnop\nret\n.size a,.-a\n'
                '.globl f\n.type f,@function\nf:\nxor %eax,%eax\nmovdqu (%rsi),%xmm0\nret\n'
                '.size f,.-f\n.section .note.GNU-stack,"",@progbits\n')
    os.mkdir(f'{tmp}/again')
    assemble(f'{tmp}/moved.S', f'{tmp}/again/bad.o')
    said('moved code is known', ['--baseline', base, f'{tmp}/again/bad.o'], 0, '1 known finding')
    with open(f'{tmp}/moved.S', 'a', encoding='ascii') as f:
        f.write('.text\n.globl g\n.type g,@function\ng:\nfld1\nret\n.size g,.-g\n')
    assemble(f'{tmp}/moved.S', f'{tmp}/again/bad.o')
    said('a new one is reported', ['--baseline', base, f'{tmp}/again/bad.o'], 1, 'fld1')
    said('gone entries', ['--baseline', base, ok], 0, '1 of its entries no longer occur')
    with open(f'{tmp}/sleep.S', encoding='ascii') as f:
        source = f.read()
    said('one sleeping call', ['--write-baseline', base, f'{tmp}/sleep.o'], 0, '1 error')
    said('is known', ['--baseline', base, f'{tmp}/sleep.o'], 0, '1 known finding')
    with open(f'{tmp}/again/sleep.S', 'w', encoding='ascii') as f:
        f.write(source.replace('call mutex_lock', 'call mutex_lock\nnop\ncall mutex_lock'))
    assemble(f'{tmp}/again/sleep.S', f'{tmp}/again/sleep.o')
    said('a second one is new', ['--baseline', base, f'{tmp}/again/sleep.o'], 1, '1 known finding')
    with open(f'{tmp}/again/sleep.o', 'rb') as f, open(f'{tmp}/again/sleep.o.gz', 'wb') as g:
        g.write(gzip.compress(f.read()))
    said('packed it is the same object', ['--baseline', base, f'{tmp}/again/sleep.o.gz'], 1, '1 known finding')
    said('two objects of one name', ['--write-baseline', base, f'{tmp}/sleep.o', f'{tmp}/again/sleep.o'], 0, '3 errors')
    said('are told apart', ['--baseline', base, f'{tmp}/sleep.o', f'{tmp}/again/sleep.o'], 0, '3 known findings')
    for name in ('sleep.S', 'again/sleep.S'):
        with open(f'{tmp}/{name}', 'a', encoding='ascii') as f:
            f.write('.text\n' + function('g', *SECTION, 'call mutex_lock', 'call kernel_fpu_end'))
    assemble(f'{tmp}/sleep.S', f'{tmp}/sleep.o')
    said('and what is new in one', ['--baseline', base, f'{tmp}/sleep.o', f'{tmp}/again/sleep.o'], 1, '3 known findings')
    with open(base, encoding='ascii') as f:
        old = f.read()
    with open(base, 'w', encoding='ascii') as f:
        f.write(old.replace('baseline 2', 'baseline 1'))
    said('an older baseline', ['--baseline', base, bad], 2, 'another version')
    said('a place that cannot be', ['--write-baseline', f'{tmp}/no/such', bad], 2, 'cannot be written')
    said('no baseline', ['--baseline', text, bad], 2, 'is not a baseline')

    # JSON and SARIF.
    doc, _ = answer(bad)
    check('schema', doc['schema'] == 'xstate.lint/1')
    keys = {'id', 'rule', 'severity', 'object', 'function', 'offset_bytes', 'about', 'message',
            'chain', 'source', 'key', 'known', 'why', 'mend'}
    check('keys of a finding', set(doc['findings'][0]) == keys, set(doc['findings'][0]) ^ keys)
    with open(os.path.join(SOURCE, 'docs/json.md'), encoding='utf-8') as f:
        documented = f.read().partition('## xstate.lint/1')[2].partition('\n## ')[0]
    for key in set(doc) - {'schema'} | keys | set(doc['modules'][0]):
        check(f'docs/json.md has {key}', f'`{key}`' in documented)
    r = lint('--format', 'sarif', bad)
    sarif = json.loads(r.stdout)
    check('SARIF', sarif['version'] == '2.1.0' and
          sarif['runs'][0]['results'][0]['ruleId'] == 'XL001', sarif['runs'][0]['results'])
    check('no state without a baseline', 'baselineState' not in sarif['runs'][0]['results'][0])
    check('why in SARIF', sarif['runs'][0]['results'][0]['properties']['why'])
    check('SARIF invocation', sarif['runs'][0]['invocations'][0]['executionSuccessful'] is True)
    shutil.copy(bad, f'{tmp}/a b%20#?.o')
    run = json.loads(lint('--format', 'sarif', f'{tmp}/a b%20#?.o', text).stdout)['runs'][0]
    uri = run['results'][0]['locations'][0]['physicalLocation']['artifactLocation']['uri']
    check('SARIF names are encoded', uri.endswith('/a%20b%2520%23%3F.o'), uri)
    check('SARIF tells what was unreadable', run['invocations'][0]['executionSuccessful'] is False and
          'is not an ELF' in run['invocations'][0]['toolExecutionNotifications'][0]['message']['text'])
    r = lint('--format', 'sarif', text)
    check('SARIF of nothing', r.returncode == 2 and json.loads(r.stdout)['runs'][0]['results'] == [])
    lint('--write-baseline', base, bad)
    run = json.loads(lint('--format', 'sarif', '--baseline', base, bad).stdout)['runs'][0]
    check('state with a baseline', run['results'][0]['baselineState'] == 'unchanged')
    r = lint(bad)
    check('why and mend once', r.stdout.count(b'    why: ') == 1 and r.stdout.count(b'    mend: ') == 1, r.stdout)
    with open(f'{tmp}/esc.S', 'w', encoding='ascii') as f:
        f.write('.text\n.globl "f\033[31m"\n.type "f\033[31m",@function\n"f\033[31m":\npxor %xmm0,%xmm0\nret\n'
                '.size "f\033[31m",.-"f\033[31m"\n')
    if not subprocess.run([*CC, '-c', '-o', f'{tmp}/esc.o', f'{tmp}/esc.S'], check=False,
                          capture_output=True).returncode:
        check('names are harmless', b'\033' not in lint(f'{tmp}/esc.o').stdout)
    r = lint('-j', '/nonexistent')
    check('errors are JSON', json.loads(r.stdout)['schema'] == 'xstate.error/1')

    # Lines.
    with open(f'{tmp}/lines.c', 'w', encoding='ascii') as f:
        f.write('static inline double twice(double *p)\n{\n\treturn *p + *p;\n}\n'
                'void lines(double *);\nvoid lines(double *p)\n{\n\t*p = twice(p);\n}\n')
    subprocess.run([*CC, '-g', '-O2', '-c', '-o', f'{tmp}/lines.o', 'lines.c'], cwd=tmp, check=True)
    doc, _ = answer(f'{tmp}/lines.o')
    source = doc['findings'][0]['source'] or ''
    check('source line', 'lines.c:' in source, source)
    doc, _ = answer('--no-lines', f'{tmp}/lines.o')
    check('no lines when not wanted', doc['findings'][0]['source'] is None)


def own(_tmp):
    """What we ship obeys what we preach."""
    found = 0
    conf = os.path.join(SOURCE, 'xstate-lint.conf')
    build = os.path.dirname(XSTATE)
    candidates = [os.path.join(build, 'src', 'libxst.a')]
    lab = os.path.join(build, 'lab')
    if os.path.isdir(lab):
        candidates += [os.path.join(lab, n) for n in sorted(os.listdir(lab)) if n.endswith('.elf')]
    for path in candidates:
        if not os.path.exists(path):
            continue
        with open(path, 'rb') as f:
            head = f.read(20)
        if head[:4] == b'\x7fELF' and head[4] != 2:
            print(f'skipped {os.path.basename(path)}: 32-bit code')
            continue
        r = lint('--profile', 'none', '-c', conf, path)
        check(f'{path} is clean', r.returncode == 0, (r.stdout + r.stderr).decode())
        print(f'{os.path.basename(path)}: {r.stdout.decode().strip().splitlines()[-1]}')
        found += 1
    if not found:
        print('neither libxst.a nor a lab kernel is here')
        sys.exit(SKIP)


def modules_below(root):
    return sorted(os.path.join(d, f) for d, _, files in os.walk(root) for f in files
                  if re.search(r'\.ko(\.xz|\.zst)?$', f))


def expected_rows():
    places = [os.path.join(SOURCE, p) for p in ('../shared', 'tests/data')]
    for base in [os.environ.get('XST_SHARED'), *places]:
        path = os.path.join(base, 'lint/expected.tsv') if base else ''
        if path and os.path.exists(path):
            with open(path, encoding='utf-8') as f:
                lines = [line.rstrip('\n').split('\t') for line in f]
            return [dict(zip(lines[0], line)) for line in lines[1:]]
    return []


def plain(path):
    """xor.ko for .../xor.ko.xz"""
    return os.path.basename(path).split('.ko')[0] + '.ko'


def row_check(row, doc):
    name = row['object']
    module = next((m for m in doc['modules'] if plain(m['object']) == name), None)
    if row['fp_insns'] == '0' and row['begin_calls'] == '0':
        check(f'{name} holds no FP', module is None or module['fp_insns'] == 0)
        return
    check(f'{name} is there', module)
    if not module:
        return
    check(f'{name} FP instructions', module['fp_insns'] == int(row['fp_insns']), module['fp_insns'])
    for key in ('begin_calls', 'end_calls'):
        check(f'{name} {key}', module[key] == int(row[key]), module[key])
    check(f'{name} x87_mmx', module['x87_mmx'] == (row['x87_mmx'] == 'yes'))
    check(f'{name} MXCSR', module['mxcsr_dependent'] == (row['mxcsr_dependent'] == 'yes'))
    families = set(row['families'].split(',')) - {'state'}
    check(f'{name} families', set(module['families'].split(',')) == families, module['families'])
    if row['mask_verdict'].startswith('OVER'):
        verdicts = [s['verdict'] for s in module['sections']]
        check(f'{name} verdicts', verdicts == ['over'] * int(row['begin_calls']), verdicts)
        masks = [(s['declared'], s['needed']) for s in module['sections']]
        check(f'{name} declares', all(m == (['mxcsr'], []) for m in masks), masks)
    for text in row['resolution(functions/insns)'].split():
        key, counts = text.split('=') if '=' in text else (None, None)
        if key:
            functions, insns = counts.split('/')
            got = module['resolution'][key]
            check(f'{name} {key}',
                  got == {'functions': int(functions), 'fp_insns': int(insns)}, got)
    check(f'{name} findings', module['errors'] == 0, module['errors'])


def kernel(_tmp, fetch):
    script = os.path.join(SOURCE, 'scripts/kernel.sh')
    r = subprocess.run([script, *([] if fetch else ['--cached'])], capture_output=True, text=True,
                       check=False)
    if r.returncode:
        print(f'skipped: {r.stderr.strip()}')
        sys.exit(SKIP)
    root = r.stdout.strip()
    print(f'kernel {os.path.basename(root)}')
    modules = modules_below(root)
    rows = expected_rows()
    same = [row for row in rows if row['kernel'].split()[0] == os.path.basename(root)]
    names = {row['object'] for row in rows}
    chosen = modules if fetch else [m for m in modules if plain(m) in names]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    r = lint('-j', '--no-lines', *chosen)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    doc = json.loads(r.stdout)
    print(f'{len(chosen)} modules, {doc["code_bytes"]} bytes of code, {seconds:.2f} s of CPU, '
          f'{after.ru_maxrss // 1024} MiB')
    check('under 1 GiB', after.ru_maxrss < 1 << 20, after.ru_maxrss)
    for row in same:
        row_check(row, doc)
    print(f'{len(same)} of {len(rows)} rows of expected.tsv are of this kernel')
    if not fetch:
        return
    outside = [f for f in doc['findings']
               if f['severity'] == 'error' and 'amdgpu' not in f['object']]
    check('at most 6 errors outside amdgpu', len(outside) <= 6, [f['key'] for f in outside])
    check('nothing undecodable', not any(f['rule'] == 'undecodable' for f in doc['findings']))
    boot = os.path.join(root, 'boot')
    vmlinuz = [os.path.join(boot, n) for n in os.listdir(boot) if n.startswith('vmlinuz')]
    for path in vmlinuz:
        r = lint('-j', '--no-lines', path)
        doc = json.loads(r.stdout)
        errors = [f for f in doc['findings'] if f['severity'] == 'error']
        print(f'{os.path.basename(path)}: {doc["fp_insns"]} FP instructions, {len(errors)} errors')
        check('vmlinuz is read', doc['fp_insns'] > 100)
        check('at most 6 errors with the modules', len(errors) + len(outside) <= 6,
              [f['key'] for f in errors])


with tempfile.TemporaryDirectory() as folder:
    {'fixtures': fixtures, 'manners': manners, 'files': files, 'together': together,
     'self': own,
     'kernel': lambda t: kernel(t, False), 'kernel-full': lambda t: kernel(t, True)}[PART](folder)
print(f'{len(failures)} failures')
sys.exit(1 if failures else 0)
