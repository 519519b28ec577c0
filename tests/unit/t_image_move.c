// SPDX-License-Identifier: BSD-2-Clause
/* Images between CPUs, layouts of unknown origin, frames and notes: cases by their ids. */
#include "t.h"

#include <stdlib.h>
#include <xst/compat.h>
#include <xst/reg.h>
#include <xst/sigframe.h>
#include <xst/x87.h>

#include "cases.h"
#include "cpus.h"

static uint8_t area[16384] __attribute__((aligned(64)));
static uint8_t out[16384] __attribute__((aligned(64)));
static struct xst_compat_report report;
static struct xst_diag diag;

/* Judge an image with @bv live from one CPU on another; fills report and diag. */
static int move(const struct xst_caps *from, const struct xst_caps *to, uint64_t bv)
{
	struct xst_layout l;
	struct xst_image image = {area, sizeof(area), &l};
	struct xst_restore on = {to, XST_BY_XRSTOR, to->xcr0, 0, 0, ~0ULL, 0, 0};

	assert_int_equal(xst_layout_compute(from, from->xcr0, XST_STANDARD, &l, NULL), XST_OK);
	memset(area, 0, sizeof(area));
	xst_put32(area, XST_OFF_MXCSR, XST_MXCSR_INIT);
	xst_put64(area, XST_OFF_XSTATE_BV, bv);
	return xst_compat_image(&image, &on, &report, NULL, &diag);
}

static void mig_02(void **state)
{
	struct xst_caps a = cpu_intel(0xff), b = cpu_intel(0x2ff);

	(void)state;
	assert_int_equal(move(&a, &b, 0xff), XST_VERDICT_OK);
	assert_true(report.extra == XST_MASK_PKRU);
	assert_int_equal(report.to_bytes - report.from_bytes, 8);
	assert_int_equal(move(&b, &a, 0x2ff), XST_VERDICT_REFUSE);
	assert_int_equal(report.comp[9], XST_COMPAT_MISSING_LIVE);
	assert_int_equal(move(&b, &a, 0xff), XST_VERDICT_OK);
	assert_int_equal(report.comp[9], XST_COMPAT_MISSING_INIT);
}

static void mig_03(void **state)
{
	struct xst_layout l;

	(void)state;
	assert_string_equal(xst_regset_candidate(0x207, 2696, 0, &l), "Intel");
	assert_true(l.mask == 0x207);
	assert_int_equal(l.offset[9], 2688);
	assert_null(xst_regset_candidate(0x207, 2696, 1, &l));
}

static void mig_04(void **state)
{
	struct xst_caps skylake = cpu_intel(0x1f), comet = cpu_intel(0x21f);

	(void)state;
	assert_int_equal(move(&skylake, &comet, 0x1f), XST_VERDICT_OK);
	assert_int_equal(report.from_bytes, 1088);
	assert_int_equal(report.to_bytes, 2696);
	assert_true(report.size_only);
}

static void mig_05(void **state)
{
	struct xst_caps zen3 = cpu_zen3(), adl = cpu_intel(0x207);
	struct xst_layout from, to;
	struct xst_image image = {area, sizeof(area), &from}, target = {out, sizeof(out), &to};

	(void)state;
	assert_int_equal(move(&zen3, &adl, 0x207), XST_VERDICT_CONVERT);
	assert_int_equal(report.comp[9], XST_COMPAT_MOVED);
	assert_true(diag.want == 2688 && diag.got == 2432);
	assert_int_equal(move(&zen3, &adl, 0x7), XST_VERDICT_OK); /* INIT needs no place */
	xst_layout_compute(&zen3, 0x207, XST_STANDARD, &from, NULL);
	xst_layout_compute(&adl, 0x207, XST_STANDARD, &to, NULL);
	xst_put64(area, XST_OFF_XSTATE_BV, 0x207);
	xst_put32(area, 2432, 0x55555554);
	assert_int_equal(xst_image_convert(&image, &target, NULL, NULL), XST_OK);
	assert_int_equal(xst_get32(out, 2688), 0x55555554);
	assert_int_equal(xst_get32(out, 2432), 0);
}

static void mig_06(void **state)
{
	struct xst_caps zen4 = cpu_like("AMD Zen 3 and later", 0x2e7, 0), icx = cpu_intel(0x2e7);

	(void)state;
	assert_int_equal(move(&zen4, &icx, 0x2e7), XST_VERDICT_CONVERT);
	assert_true(report.moved == 0x2e0);
	assert_int_equal(report.from_bytes, 2440);
	assert_int_equal(report.to_bytes, 2696);
}

static void mig_07(void **state)
{
	struct xst_caps spr = cpu_intel(0x602e7);
	struct xst_layout l;
	struct xst_image image = {area, 8192, &l};

	(void)state;
	assert_int_equal(xst_layout_compute(&spr, 0x602e7, XST_STANDARD, &l, NULL), XST_OK);
	assert_int_equal(l.bytes, 11008);
	assert_int_equal(xst_image_fresh(&image, 0, &diag), XST_ERR_NEED_BYTES);
	assert_true(diag.want == 11008);
}

static void mig_08(void **state)
{
	struct xst_caps intel = cpu_intel(0x2e7);
	struct xst_layout c, s;
	struct xst_image image = {area, sizeof(area), &c}, target = {out, sizeof(out), &s};

	(void)state;
	xst_layout_compute(&intel, 0x2e7, XST_COMPACTED, &c, NULL);
	xst_layout_compute(&intel, 0x2e7, XST_STANDARD, &s, NULL);
	memset(area, 0, sizeof(area));
	xst_put64(area, XST_OFF_XSTATE_BV, 0x2e7);
	xst_put64(area, XST_OFF_XCOMP_BV, XST_XCOMP_COMPACT | 0x2e7);
	xst_put32(area, c.offset[9], 0x40);
	assert_int_equal(xst_image_convert(&image, &target, NULL, NULL), XST_OK);
	assert_true(xst_get64(out, XST_OFF_XCOMP_BV) == 0);
	assert_int_equal(xst_get32(out, 2688), 0x40);
}

static void mig_09(void **state)
{
	struct xst_caps a = cpu_intel(0x7), b = cpu_intel(0x2e7);

	(void)state;
	assert_int_equal(move(&a, &b, 0x7), XST_VERDICT_OK);
	assert_true(report.cached_size);
	assert_int_equal(move(&b, &a, 0x7), XST_VERDICT_OK);
	assert_false(report.cached_size);
}

static void mig_12(void **state)
{
	struct xst_caps a = cpu_intel(0x602e7), b = cpu_intel(0x207);

	(void)state;
	assert_int_equal(move(&a, &b, 0x602e7), XST_VERDICT_REFUSE);
	assert_true(report.missing == (0x602e7 & ~0x207));
	assert_int_equal(diag.component, 5);
	assert_int_equal(diag.code, XST_ERR_LIVE);
}

static void mig_13(void **state)
{
	struct xst_caps spr = cpu_intel(0x602e7), old = cpu_intel(0x2e7);
	struct xst_layout from, to;
	struct xst_image image = {area, sizeof(area), &from}, target = {out, sizeof(out), &to};
	struct xst_convert how = {XST_MASK_TILEDATA, 0, false};

	(void)state;
	xst_layout_compute(&spr, 0x602e7, XST_STANDARD, &from, NULL);
	xst_layout_compute(&old, 0x2e7, XST_STANDARD, &to, NULL);
	memset(area, 1, sizeof(area));
	memset(area + XST_HEADER_OFFSET, 0, XST_HEADER_BYTES);
	xst_put64(area, XST_OFF_XSTATE_BV, 0x602e7);
	memset(out, 0x55, sizeof(out));
	assert_int_equal(xst_image_convert(&image, &target, NULL, &diag), XST_ERR_LIVE);
	assert_int_equal(diag.component, 17);
	how.drop = XST_MASK_AMX;
	assert_int_equal(xst_image_convert(&image, &target, &how, &diag), XST_OK);
	assert_true(xst_get64(out, XST_OFF_XSTATE_BV) == 0x2e7);
	/* Memory that ends before a live component is an error, not a shorter image. */
	image.bytes = 4096;
	target.layout = &from;
	assert_int_equal(xst_image_convert(&image, &target, NULL, &diag), XST_ERR_NEED_BYTES);
	assert_int_equal(diag.component, 18);
}

static void mig_15(void **state)
{
	struct xst_caps a = cpu_zen3(), b = cpu_intel(0x207), c = cpu_intel(0x7);

	(void)state;
	assert_int_equal(move(&a, &a, 0x207), XST_VERDICT_OK);
	assert_int_equal(move(&a, &b, 0x207), XST_VERDICT_CONVERT);
	assert_int_equal(move(&a, &c, 0x207), XST_VERDICT_REFUSE);
	assert_string_equal(xst_compat_name((enum xst_compat)report.comp[9]), "missing and live");
}

static void abi_17(void **state)
{
	struct xst_caps c = cpu_intel(0x7);
	struct xst_restore how = {&c, XST_BY_KVM, 0x7, 0, 0, ~0ULL, 0, 0};
	struct xst_verdict v;

	(void)state;
	/* XSTATE_BV of a producer that knows FXSAVE only: with 0 nothing would be loaded. */
	memset(area, 0, sizeof(area));
	xst_put32(area, XST_OFF_MXCSR, XST_MXCSR_INIT);
	assert_int_equal(xst_image_check(&how, area, 4096, &v, NULL), XST_OK);
	assert_true(v.loads == 0 && v.inits == 7);
	xst_put64(area, XST_OFF_XSTATE_BV, 0x3);
	assert_int_equal(xst_image_check(&how, area, 4096, &v, NULL), XST_OK);
	assert_true(v.loads == 3);
}

static void abi_20(void **state)
{
	struct xst_layout l;

	(void)state;
	assert_non_null(xst_regset_compacted(0xe7 | 1 << 9 | 1 << 11 | 1 << 17, 0, &l));
	assert_int_equal(l.offset[11], 2440);
	assert_int_equal(l.offset[17], 2496);
	assert_non_null(xst_regset_compacted(0xe7 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 17, 0, &l));
	assert_int_equal(l.offset[11], 2448);
	assert_int_equal(l.offset[17], 2496);
	assert_null(xst_regset_compacted(0xe7 | 1 << 9 | 1 << 11, 1, &l));
}

static void abi_22(void **state)
{
	static const uint32_t rows[][4] = {
		{2, 256, 576, 0},  {5, 64, 1088, 0},	{6, 512, 1152, 0},   {7, 1024, 1664, 0},
		{9, 8, 2688, 0},   {17, 64, 2752, 2},	{18, 8192, 2816, 6},
	};
	uint32_t bad[7][4];
	struct xst_layout l, guess;

	(void)state;
	assert_int_equal(xst_regset_layout_note(rows, sizeof(rows), 0x602e7, &l, &diag), XST_OK);
	assert_int_equal(l.bytes, 11008);
	assert_string_equal(xst_regset_candidate(0x602e7, 11008, 0, &guess), "Intel");
	for (unsigned i = 2; i < 19; i++)
		assert_int_equal(l.offset[i], guess.offset[i]);
	/* What was not enabled for the process is no part of its set. */
	assert_int_equal(xst_regset_layout_note(rows, sizeof(rows), 0x2e7, &l, NULL), XST_OK);
	assert_int_equal(l.bytes, 2696);
	assert_int_equal(xst_regset_layout_note(rows, 17, 0x602e7, &l, NULL), XST_ERR_INVALID);
	assert_int_equal(xst_regset_layout_note(rows, 0, 0x602e7, &l, NULL), XST_ERR_INVALID);
	for (unsigned n = 0; n < 6; n++) {
		memcpy(bad, rows, sizeof(bad));
		bad[3][0] = n == 0 ? 6 : n == 1 ? 63 : bad[3][0];
		bad[3][1] = n == 2 ? 0 : n == 3 ? 0xffffffff : bad[3][1];
		bad[3][2] = n == 4 ? 0 : n == 5 ? 1200 : bad[3][2];
		assert_true(xst_regset_layout_note(bad, sizeof(bad), 0x602e7, &l, NULL) < 0);
	}
}

static void gdb_01(void **state)
{
	struct xst_layout l;

	(void)state;
	assert_string_equal(xst_regset_candidate(0x207, 896, 0, &l), "AMD Zen 2");
	assert_int_equal(l.offset[9], 832);
	assert_int_equal(l.size[9], 64);
	assert_null(xst_regset_candidate(0x207, 896, 1, &l));
	/* Without a size three CPUs are possible, and none may be picked silently. */
	assert_non_null(xst_regset_candidate(0x207, 0, 2, &l));
	assert_null(xst_regset_candidate(0x207, 0, 3, &l));
}

static void gdb_02(void **state)
{
	struct xst_layout l;

	(void)state;
	assert_string_equal(xst_regset_candidate(0x602e7, 11008, 0, &l), "Intel");
	assert_int_equal(l.offset[17], 2752);
	assert_int_equal(l.offset[18], 2816);
}

static void gdb_04(void **state)
{
	struct xst_layout l;

	(void)state;
	assert_string_equal(xst_regset_candidate(0x2e7, 2440, 0, &l), "AMD Zen 3 and later");
	assert_int_equal(l.offset[6], 896);
	assert_null(xst_regset_candidate(0x2e7, 2440, 1, &l));
}

static void gdb_06(void **state)
{
	struct xst_layout l;

	(void)state;
	assert_non_null(xst_regset_candidate(0x7, 832, 0, &l));
	assert_int_equal(l.offset[2], 576);
	assert_null(xst_regset_candidate(0x7, 832, 1, &l)); /* everybody agrees */
	assert_non_null(xst_regset_candidate(0x1f, 1088, 0, &l));
	assert_true(l.offset[3] == 960 && l.offset[4] == 1024);
	assert_non_null(xst_regset_candidate(0x1b, 1088, 0, &l));
	assert_true(l.offset[3] == 960 && !(l.mask & 4));
	assert_null(xst_regset_candidate(0x1f | 1ULL << 30, 1088, 0, &l));
}

static void gdb_07(void **state)
{
	(void)state;
	assert_int_equal(XST_NT_X86_XSTATE, 0x202);
	assert_int_equal(XST_NT_X86_SHSTK, 0x204);
	assert_int_equal(XST_NT_X86_XSAVE_LAYOUT, 0x205);
}

static struct xst_frame frame;

/* A 64-bit frame for XCR0 0x7, or its 32-bit form. */
static size_t make_frame(enum xst_frame_kind kind)
{
	uint32_t fx = kind == XST_FRAME_32 ? 112 : 0, sw = fx + 464;

	memset(area, 0, sizeof(area));
	xst_put32(area, sw, XST_FRAME_MAGIC1);
	xst_put32(area, sw + 4, fx + 832 + 4);
	xst_put64(area, sw + 8, 0x7);
	xst_put32(area, sw + 16, 832);
	xst_put32(area, fx + 832, XST_FRAME_MAGIC2);
	return fx + 836;
}

static void abi_03(void **state)
{
	size_t n = make_frame(XST_FRAME_64);

	(void)state;
	assert_int_equal(xst_sigframe_read(area, n, XST_FRAME_64, 832, &frame, NULL), XST_OK);
	assert_true(frame.extended);
	area[832] ^= 1;
	assert_int_equal(xst_sigframe_read(area, n, XST_FRAME_64, 832, &frame, &diag), XST_OK);
	assert_false(frame.extended);
	assert_int_equal(diag.offset, 832);
}

static void abi_04(void **state)
{
	size_t n = make_frame(XST_FRAME_64);

	(void)state;
	/* #5079: extended_size larger than needed is right, smaller is not. */
	xst_put32(area, 468, 2804);
	assert_int_equal(xst_sigframe_read(area, n, XST_FRAME_64, 0, &frame, NULL), XST_OK);
	assert_true(frame.extended);
	xst_put32(area, 468, 835);
	assert_int_equal(xst_sigframe_read(area, n, XST_FRAME_64, 0, &frame, NULL), XST_OK);
	assert_false(frame.extended);
	make_frame(XST_FRAME_64);
	assert_int_equal(xst_sigframe_read(area, n, XST_FRAME_64, 831, &frame, NULL), XST_OK);
	assert_false(frame.extended); /* larger than the kernel's own */
	assert_int_equal(xst_sigframe_read(area, n - 1, XST_FRAME_64, 0, &frame, NULL), XST_OK);
	assert_false(frame.extended);
	assert_int_equal(xst_sigframe_read(area, 511, XST_FRAME_64, 0, &frame, NULL),
			 XST_ERR_NEED_BYTES);
	for (uint32_t v = 0xffffffff; v > 0xfffffff0; v--) {
		xst_put32(area, 480, v);
		assert_int_equal(xst_sigframe_read(area, n, XST_FRAME_64, 0, &frame, NULL), XST_OK);
		assert_false(frame.extended);
	}
}

static void abi_05(void **state)
{
	size_t n = make_frame(XST_FRAME_32);

	(void)state;
	assert_int_equal(xst_sigframe_read(area, n, XST_FRAME_32, 832, &frame, NULL), XST_OK);
	assert_true(frame.extended);
	assert_int_equal(frame.fx_offset, 112);
	assert_int_equal(frame.extended_size, 948);
	/* The bug: sw_reserved of a 32-bit frame left zero. */
	memset(area + 112 + 464, 0, 48);
	assert_int_equal(xst_sigframe_read(area, n, XST_FRAME_32, 832, &frame, NULL), XST_OK);
	assert_false(frame.extended);
}

static void hdr_19(void **state)
{
	(void)state;
	assert_int_equal(xst_x87_abridge(0xffff), 0x00);
	assert_int_equal(xst_x87_abridge(0x5555), 0xff);
	assert_int_equal(xst_x87_abridge(0x0000), 0xff);
	assert_int_equal(xst_x87_abridge(0x3fff), 0x80);
	/* And back: R7 valid with TOP = 7 is ST0. */
	memset(area, 0, 512);
	xst_put16(area, XST_OFF_FSW, 7 << 11);
	area[XST_OFF_FTW] = 0x80;
	xst_put64(area, XST_OFF_ST, 0x8000000000000000u);
	xst_put16(area, XST_OFF_ST + 8, 0x3fff);
	assert_int_equal(xst_x87_tag_word(area), 0x3fff);
}

static void fnsave_round_trip(void **state)
{
	uint8_t fn[XST_FNSAVE_BYTES], fx[512], back[512];
	struct xst_x87_selectors sel = {0x23, 0x2b};

	(void)state;
	for (unsigned i = 0; i < sizeof(fx); i++)
		fx[i] = (uint8_t)(i * 7 + 3);
	fx[XST_OFF_FTW + 1] = 0;
	xst_put16(fx, XST_OFF_FOP, 0x155);
	xst_put16(fx, XST_OFF_FCS + 2, 0);
	xst_put16(fx, XST_OFF_FDS + 2, 0);
	for (unsigned i = 0; i < 8; i++)
		memset(fx + XST_OFF_ST + 16 * i + 10, 0, 6);
	memcpy(back, fx, sizeof(fx));
	assert_int_equal(xst_fxsave_to_fnsave(fx, false, NULL, fn), XST_OK);
	memset(back, 0xee, XST_OFF_MXCSR);
	memset(back + XST_OFF_ST, 0xee, 128);
	xst_fnsave_to_fxsave(fn, false, back);
	assert_memory_equal(fx, back, sizeof(fx));
	/* The 64-bit form has no selectors, and pointers that may not fit. */
	assert_int_equal(xst_fxsave_to_fnsave(fx, true, &sel, fn), XST_ERR_LIVE);
	assert_int_equal(xst_get16(fn, 16), 0x23);
	xst_put32(fx, XST_OFF_FIP + 4, 0);
	xst_put32(fx, XST_OFF_FDP + 4, 0);
	assert_int_equal(xst_fxsave_to_fnsave(fx, true, &sel, fn), XST_OK);
}

static void registers(void **state)
{
	struct xst_caps intel = cpu_intel(0x2e7);
	struct xst_layout l;
	struct xst_image image = {area, sizeof(area), &l};
	static const char *const names[] = {"st7", "fcw", "mxcsr", "xmm15", "xmm31", "ymm0", "ymm16",
					    "zmm0", "zmm15", "zmm31", "k7", "pkru"};
	uint8_t value[XST_REG_MAX_BYTES], got[XST_REG_MAX_BYTES];
	struct xst_reg_place place;
	size_t room;

	(void)state;
	for (int f = 0; f < 2; f++) {
		xst_layout_compute(&intel, 0x2e7, f ? XST_COMPACTED : XST_STANDARD, &l, NULL);
		for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			assert_int_equal(xst_image_fresh(&image, 0xffff, NULL), XST_OK);
			assert_int_equal(xst_reg_find(names[i], &place), XST_OK);
			for (unsigned b = 0; b < sizeof(value); b++)
				value[b] = (uint8_t)(b + i + 1);
			assert_int_equal(xst_image_set(&image, names[i], value, place.bytes), XST_OK);
			room = sizeof(got);
			assert_int_equal(xst_image_get(&image, names[i], got, &room), XST_OK);
			assert_int_equal(room, place.bytes);
			assert_memory_equal(got, value, room);
			/* Neighbours in a component that has just become live are INIT. */
			room = 2;
			assert_int_equal(xst_image_get(&image, "fcw", got, &room), XST_OK);
			if (strcmp(names[i], "fcw"))
				assert_int_equal(xst_get16(got, 0), XST_FCW_INIT);
		}
	}
	room = sizeof(got);
	assert_int_equal(xst_image_get(&image, "tmm0", got, &room), XST_ERR_NOT_ENUMERATED);
	static const char *const none[] = {"zmm32", "xmm00", "xmm", "k8", "st8", "", "mxcsrx", "r15",
					   "ymm-1", "zmm001"};
	for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(xst_reg_find(none[i], &place), XST_ERR_INVALID);
	room = 3;
	assert_int_equal(xst_image_get(&image, "mxcsr", got, &room), XST_ERR_NEED_BYTES);
	assert_int_equal(xst_image_set(&image, "mxcsr", value, 3), XST_ERR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE("MIG-02", mig_02), CASE("MIG-03", mig_03), CASE("MIG-04", mig_04),
		CASE("MIG-05", mig_05), CASE("MIG-06", mig_06), CASE("MIG-07", mig_07),
		CASE("MIG-08", mig_08), CASE("MIG-09", mig_09), CASE("MIG-12", mig_12),
		CASE("MIG-13", mig_13), CASE("MIG-15", mig_15), CASE("ABI-03", abi_03),
		CASE("ABI-04", abi_04), CASE("ABI-05", abi_05), CASE("ABI-17", abi_17),
		CASE("ABI-20", abi_20), CASE("ABI-22", abi_22), CASE("GDB-01", gdb_01),
		CASE("GDB-02", gdb_02), CASE("GDB-04", gdb_04), CASE("GDB-06", gdb_06),
		CASE("GDB-07", gdb_07), CASE("HDR-19", hdr_19),
		cmocka_unit_test(fnsave_round_trip),
		cmocka_unit_test(registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
