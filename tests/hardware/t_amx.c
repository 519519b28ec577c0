// SPDX-License-Identifier: BSD-2-Clause
/*
 * What perm.h and the model say of AMX, asked of this machine's Linux and CPU: a permission is refused
 * while an alternate stack is too small, room comes at the first use, tiles that are released are
 * INIT, a restore brings them back, and a child does not inherit them.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <xst/insn.h>
#include <xst/layout.h>
#include <xst/switch.h>

#define SKIP 77

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

#define GET_PERM 0x1022
#define REQ_PERM 0x1023

static unsigned failed;

static void expect(int ok, const char *what)
{
	printf("%s: %s\n", ok ? "ok" : "FAILED", what);
	failed += !ok;
}

static long prctl_x86(long what, unsigned long argument)
{
	return syscall(SYS_arch_prctl, what, argument);
}

static int set_stack(size_t bytes)
{
	static char stack[65536];
	const stack_t s = {.ss_sp = stack, .ss_size = bytes, .ss_flags = bytes ? 0 : SS_DISABLE};

	return sigaltstack(&s, NULL);
}

static uint64_t tiles_in_use(void)
{
	return xst_xgetbv(1) & XST_MASK_AMX;
}

/* ABI-08, by the kernel itself. */
static int ask(void)
{
	uint64_t before = 0, after = 0;

	if (prctl_x86(GET_PERM, (unsigned long)&before)) {
		puts("skipped: this kernel knows no permissions for components");
		return SKIP;
	}
	expect(!set_stack(8192), "without a permission any alternate stack will do");
	expect(prctl_x86(REQ_PERM, XST_COMP_TILEDATA) && errno == ENOSPC,
	       "a permission is refused while the alternate stack is too small");
	expect(!set_stack(0), "the stack is taken away");
	if (prctl_x86(REQ_PERM, XST_COMP_TILEDATA)) {
		printf("skipped: this kernel does not grant tiles: %s\n", strerror(errno));
		return SKIP;
	}
	expect(!prctl_x86(GET_PERM, (unsigned long)&after) &&
	       after == (before | XST_MASK_TILEDATA), "a request adds, and nothing else changes");
	expect(set_stack(8192) && errno == ENOMEM, "8192 bytes are too few now");
	expect(!set_stack(getauxval(AT_MINSIGSTKSZ) + 1), "AT_MINSIGSTKSZ is enough");
	return 0;
}

static void use(const struct xst_layout *l)
{
	static XST_AREA(image, 12288);
	static XST_AREA(saved, 12288);
	uint8_t *data = image + l->offset[XST_COMP_TILEDATA];
	uint8_t *cfg = image + l->offset[XST_COMP_TILECFG];
	uint64_t bv = XST_MASK_AMX;
	int status = -1;
	uint32_t i;
	pid_t child;

	cfg[0] = 1; /* palette 1: eight tiles of 16 rows of 64 bytes */
	for (i = 0; i < 8; i++) {
		cfg[16 + 2 * i] = 64;
		cfg[48 + i] = 16;
	}
	for (i = 0; i < 8192; i++)
		data[i] = (uint8_t)(i % 251 + 1);
	memcpy(image + XST_HEADER_OFFSET, &bv, sizeof(bv));
	expect(!tiles_in_use(), "nobody used tiles yet");
	/* The first use: #NM, and the kernel makes room. */
	(void)xst_xrstor_try(image, XST_MASK_AMX);
	expect(tiles_in_use() == XST_MASK_AMX, "a restore loads tiles");
	child = fork();
	if (!child)
		_exit(tiles_in_use() & XST_MASK_TILEDATA ? 1 : 0);
	expect(child > 0 && waitpid(child, &status, 0) == child && !status,
	       "a child does not inherit tiles");
	xst_xsave(saved, XST_MASK_AMX);
	expect(!memcmp(saved + l->offset[XST_COMP_TILEDATA], data, 8192) &&
	       !memcmp(saved + l->offset[XST_COMP_TILECFG], cfg, 64), "a save brings them back whole");
	xst_tilerelease();
	expect(!tiles_in_use(), "released tiles are INIT");
}

int main(void)
{
	struct xst_caps caps;
	struct xst_layout layout;
	int skip;

	if (xst_caps_native(&caps) || !caps.amx_tile || !caps.osxsave ||
	    (xst_xgetbv(0) & XST_MASK_AMX) != XST_MASK_AMX ||
	    xst_layout_compute(&caps, XST_MASK_AMX, XST_STANDARD, &layout, NULL)) {
		puts("skipped: this CPU, or this kernel, has no AMX");
		return SKIP;
	}
	skip = ask();
	if (skip)
		return failed ? 1 : skip;
	use(&layout);
	return failed ? 1 : 0;
}
