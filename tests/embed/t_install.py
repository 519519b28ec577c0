# SPDX-License-Identifier: BSD-2-Clause
"""What `make install` puts where, and that a stranger's programs build against it with pkg-config: one
with libxst.a, one with the engine in user mode, which then runs.

    t_install.py BUILD MESON
"""
import os
import pathlib
import shutil
import tempfile

import build

WANTED = ["bin/xstate", "include/xst/bringup.h", "include/xst/comp.def", "include/xst/version.h",
          "share/doc/xstate/embedding.md", "share/doc/xstate/guests.md", "share/doc/xstate/CHANGELOG.md",
          "share/doc/xstate/examples/minikernel/kernel.c",
          "share/doc/xstate/examples/minikernel/Makefile",
          "share/doc/xstate/examples/minihv/hv.c",
          "share/doc/xstate/examples/fibers/live.S"]

PURE = """#include <xst/layout.h>
#include <xst/version.h>
#include <stdio.h>
int main(void)
{
	struct xst_caps caps;
	struct xst_layout l;

	if (xst_version() != XST_VERSION || xst_caps_native(&caps) != XST_OK)
		return 1;
	if (caps.xsave && xst_layout_compute(&caps, XST_MASK_LEGACY, XST_STANDARD, &l, NULL) != XST_OK)
		return 2;
	printf("%s\\n", XST_VERSION_STRING);
	return 0;
}
"""
ENGINE = """#include <xst/bringup.h>
static struct xst_system sys;
static struct xst_cpu cpu;
static XST_AREA(a, 12288);
static XST_AREA(b, 12288);
int main(void)
{
	struct xst_ctx x, y;

	if (xst_system_init(&sys, XST_WANT_ALL_USER) || xst_cpu_init(&sys, &cpu, 0) ||
	    xst_ctx_init(&sys, &x, a, sizeof(a)) || xst_ctx_init(&sys, &y, b, sizeof(b)))
		return 1;
	xst_switch(&cpu, NULL, &x);
	xst_return_to_user(&cpu);
	xst_switch(&cpu, &x, &y);
	xst_return_to_user(&cpu);
	return cpu.n.switches == 2 && cpu.cur == &y ? 0 : 2;
}
"""


def program(name, text, package, flags, env, tmp):
    (tmp / f"{name}.c").write_text(text)
    found = build.run(["pkg-config", "--cflags", "--libs", package], env=env)
    if not build.expect(found.returncode == 0, f"pkg-config knows {package}", found.stderr):
        return
    for cc in build.compilers():
        exe = tmp / name
        made = build.run([cc, "-std=c11", "-Wall", "-Wextra", "-Werror", *flags, tmp / f"{name}.c",
                          "-o", exe, *found.stdout.split()])
        if build.expect(made.returncode == 0, f"{cc}: a program with {package}", made.stderr):
            ran = build.run([exe])
            build.expect(ran.returncode == 0, f"{cc}: it runs {ran.stdout.strip()}",
                         f"exit status {ran.returncode}")


def main():
    folder, meson = build.arguments(2)
    if not shutil.which("pkg-config"):
        build.skip("no pkg-config here")
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        dest = tmp / "dest"
        done = build.run([meson, "install", "-C", folder.resolve(), "--no-rebuild", "--quiet"],
                         env=dict(os.environ, DESTDIR=str(dest)))
        build.expect(done.returncode == 0, "it installs below DESTDIR", done.stdout + done.stderr)
        files = {str(p.relative_to(dest)): p for p in dest.rglob("*") if p.is_file()}
        for wanted in WANTED:
            build.expect(any(f.endswith("/" + wanted) for f in files), f"there is {wanted}")
        if shutil.which("scdoc"):
            build.expect(any(f.endswith("man1/xstate.1") for f in files), "there is xstate.1")
        pcs = {p.parent for f, p in files.items() if f.endswith("/libxst.pc")}
        archives = [p for f, p in files.items() if f.endswith("/libxst.a")]
        if build.expect(len(pcs) == 1 and len(archives) == 1, "there are libxst.pc and libxst.a"):
            env = dict(os.environ, PKG_CONFIG_PATH=str(pcs.pop()), PKG_CONFIG_SYSROOT_DIR=str(dest))
            build.check_symbols(archives[0], "the installed libxst.a")
            program("pure", PURE, "libxst", ["-fno-pie", "-no-pie"], env, tmp)
            program("engine", ENGINE, "libxst-user", [], env, tmp)
    build.done()


main()
