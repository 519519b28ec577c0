// SPDX-License-Identifier: BSD-2-Clause
/* What the instructions themselves do, in user mode: cases by their ids, on this very CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <xst/x87.h>
#include <xst/insn.h>

#include "../unit/cases.h"

static uint8_t area[16384] __attribute__((aligned(64)));
static uint8_t other[16384] __attribute__((aligned(64)));
static struct xst_caps caps;
static uint64_t xcr0;

static void load(const void *image, uint64_t rfbm)
{
	assert_int_equal(xst_xrstor_try(image, rfbm), 0);
}

/* A standard image, all INIT. */
static void clean(uint8_t *image)
{
	memset(image, 0, sizeof(area));
	xst_put16(image, XST_OFF_FCW, XST_FCW_INIT);
	xst_put32(image, XST_OFF_MXCSR, XST_MXCSR_INIT);
}

static void set_avx(void)
{
	__asm__ volatile("vpcmpeqd %%xmm5, %%xmm5, %%xmm5\n\tvinsertf128 $1, %%xmm5, %%ymm5, %%ymm5"
			 : : : "xmm5");
}

static void hdr_07(void **state)
{
	uint32_t mxcsr, init = XST_MXCSR_INIT, odd = 0x1fa0;

	(void)state;
	memset(area, 0, sizeof(area));
	xst_ldmxcsr(&odd);
	load(area, 1);
	xst_stmxcsr(&mxcsr);
	assert_int_equal(mxcsr, odd);
	for (uint64_t rfbm = 2; rfbm <= 7; rfbm++) {
		if (!(rfbm & 6) || (rfbm & ~xcr0))
			continue;
		load(area, rfbm);
		xst_stmxcsr(&mxcsr);
		xst_ldmxcsr(&init);
		assert_int_equal(mxcsr, 0);
	}
	xst_fninit();
}

static void hdr_13(void **state)
{
	(void)state;
	if (!caps.xsavec || !(xcr0 & 4))
		skip();
	clean(other);
	memset(area, 0xaa, sizeof(area));
	load(other, xcr0);
	xst_xsave(area, 7);
	assert_true(xst_get64(area, XST_OFF_XSTATE_BV) == 0xaaaaaaaaaaaaaaa8u);
	assert_true(xst_get64(area, XST_OFF_XCOMP_BV) == 0xaaaaaaaaaaaaaaaau);
	memset(area, 0xaa, sizeof(area));
	load(other, xcr0);
	xst_xsavec(area, 7);
	assert_true(xst_get64(area, XST_OFF_XSTATE_BV) == 0);
	assert_true(xst_get64(area, XST_OFF_XCOMP_BV) == 0x8000000000000007u);
	for (unsigned i = XST_OFF_XCOMP_BV + 8; i < XST_EXT_OFFSET; i++)
		assert_int_equal(area[i], 0xaa);
}

static void hdr_14(void **state)
{
	(void)state;
	if (!(xcr0 & 4))
		skip();
	clean(other);
	memset(area, 0xff, sizeof(area));
	load(other, xcr0);
	xst_xsave(area, 4);
	assert_true(xst_get64(area, XST_OFF_XSTATE_BV) == 0xfffffffffffffffbu);
}

static void hdr_16(void **state)
{
	(void)state;
	if (!caps.xsavec || !(xcr0 & 4))
		skip();
	for (uint64_t rfbm = 3; rfbm <= 7; rfbm += 4) {
		clean(other);
		xst_put64(other, XST_OFF_XSTATE_BV, 3);
		xst_put64(other, XST_OFF_XCOMP_BV, XST_XCOMP_COMPACT | 3);
		memset(area, 0, sizeof(area));
		set_avx();
		load(other, rfbm);
		xst_xsave(area, 4);
		assert_int_equal(area[576 + 5 * 16], rfbm == 7 ? 0 : 0xff);
	}
}

static void hdr_17(void **state)
{
	uint16_t fcw, fsw;

	(void)state;
	__asm__ volatile("fldpi" : : : "st");
	xst_fnsave(area);
	xst_fnstcw(&fcw);
	xst_fnstsw(&fsw);
	assert_int_equal(fcw, 0x037f);
	assert_int_equal(fsw, 0);
}

/* XINUSE as XGETBV(1) shows it. That SSE reads as in use because of MXCSR is AMD's freedom. */
static void hdr_20(void **state)
{
	uint64_t inuse;

	(void)state;
	if (!caps.xgetbv1 || !(xcr0 & 4))
		skip();
	clean(other);
	load(other, xcr0);
	inuse = xst_xgetbv(1);
	assert_true(!(inuse & XST_MASK_AVX));
	set_avx();
	inuse = xst_xgetbv(1);
	load(other, xcr0);
	assert_true(inuse & XST_MASK_AVX);
	__asm__ volatile("fld1\n\tfstp %%st(0)\n\tfninit" : : : "st");
	inuse = xst_xgetbv(1);
	printf("XINUSE[0] after FLD1; FSTP; FNINIT: %d\n", (int)(inuse & 1));
	assert_true(!(inuse & ~xcr0));
}

static void sec_08(void **state)
{
	(void)state;
	memset(area, 0, sizeof(area));
	memset(other, 0, sizeof(other));
	__asm__ volatile("fldpi\n\tfninit" : : : "st");
	xst_fxsave(area);
	assert_int_equal(area[XST_OFF_FTW], 0);
	/* FNINIT leaves the register where it was: TOP is 0 now, so it is ST7. */
	assert_int_equal(xst_get16(area, XST_OFF_ST + 7 * 16 + 8), 0x4000);
	clean(other);
	load(other, 1);
	xst_fxsave(area);
	for (unsigned i = XST_OFF_ST; i < XST_OFF_XMM; i++)
		assert_int_equal(area[i], 0);
}

static void sec_14(void **state)
{
	(void)state;
	clean(other);
	for (int form = 0; form < 3; form++) {
		memset(area, 0xaa, sizeof(area));
		memset(area + XST_HEADER_OFFSET, 0, 16);
		load(other, xcr0);
		if (form == 0)
			xst_xsave(area, xcr0);
		else if (form == 1 && caps.xsaveopt)
			xst_xsaveopt(area, xcr0);
		else if (form == 2 && caps.xsavec)
			xst_xsavec(area, xcr0);
		for (unsigned i = XST_OFF_RESERVED; i < XST_HEADER_OFFSET; i++)
			assert_int_equal(area[i], 0xaa);
		for (unsigned i = XST_OFF_XCOMP_BV + 8; i < XST_EXT_OFFSET; i++)
			assert_int_equal(area[i], 0xaa);
	}
}

/* FNSAVE by the CPU and by us from its FXSAVE image: the same bytes. */
static void fnsave_as_hardware(void **state)
{
	uint8_t fn[XST_FNSAVE_BYTES], ours[XST_FNSAVE_BYTES];

	const bool is_amd = !memcmp(caps.vendor, "AuthenticAMD", 12) ||
			    !memcmp(caps.vendor, "HygonGenuine", 12);

	(void)state;
	for (int n = 0; n < 4; n++) {
		__asm__ volatile("fninit\n\tfldz\n\tfld1\n\tfldl2e\n\tfld1" : : : "st");
		if (n & 1)
			__asm__ volatile("fdiv %%st(3), %%st" : : : "st"); /* infinity: special */
		if (n & 2)
			__asm__ volatile("ffree %%st(1)\n\tfincstp" : : : "st");
		xst_fxsave(area);
		xst_fnsave(fn);
		/* Selectors are in neither form of FXSAVE64; where they still exist, take them. */
		struct xst_x87_selectors sel = {xst_get16(fn, 16), xst_get16(fn, 24)};

		/* Where FXSAVE leaves out pointers that belong to no exception, FNSAVE still has them. */
		if (is_amd && !xst_x87_pending(area)) {
			xst_put16(area, XST_OFF_FOP, xst_get16(fn, 18));
			xst_put32(area, XST_OFF_FIP, xst_get32(fn, 12));
			xst_put32(area, XST_OFF_FDP, xst_get32(fn, 20));
		}
		xst_fxsave_to_fnsave(area, true, &sel, ours);
		assert_memory_equal(ours, fn, sizeof(fn));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE("HDR-07", hdr_07), CASE("HDR-13", hdr_13), CASE("HDR-14", hdr_14),
		CASE("HDR-16", hdr_16), CASE("HDR-17", hdr_17), CASE("HDR-20", hdr_20),
		CASE("SEC-08", sec_08), CASE("SEC-14", sec_14),
		cmocka_unit_test(fnsave_as_hardware),
	};

	if (xst_caps_native(&caps) < 0 || !caps.xsave || !caps.osxsave) {
		printf("skipped: this CPU or kernel has no XSAVE\n");
		return 77;
	}
	xcr0 = xst_xgetbv(0) & XST_MASK_USER & ~(XST_MASK_AMX | XST_MASK_PKRU);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
