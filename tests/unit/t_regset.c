// SPDX-License-Identifier: BSD-2-Clause
/* ptrace's register sets of tasks on software CPUs; what loaders, runtimes and hypervisors got wrong
 * with saved registers, by the ids of the reports. */
#include "t.h"

#include "cases.h"
#include "frames_fill.h"

static struct xst_diag diag;
static uint8_t one[FRAMES_BYTES], two[FRAMES_BYTES];

static const enum xst_regset sets[] = {XST_REGSET_I387, XST_REGSET_FPX, XST_REGSET_XSTATE};

static int get(enum xst_regset set, uint8_t *out)
{
	return xst_regset_get(&frames.t, set, 0, out, FRAMES_BYTES, &diag);
}

static int set_whole(enum xst_regset set, const uint8_t *in)
{
	return xst_regset_set(&frames.t, set, 0, in,
			      (size_t)xst_regset_bytes(&frames.sys, 0, set, NULL), &diag);
}

/* Which machine has which set, and how large it is. */
static void sizes(void **state)
{
	static const int want[MACHINES][3] = {
		{108, -1, -1},	  {108, 512, -1},   {108, 512, 832},  {108, 512, 2696},
		{108, 512, 2696}, {108, 512, 2696}, {108, 512, 2696},
	};

	(void)state;
	for (size_t m = 0; m < MACHINES; m++) {
		up(m, 1);
		for (size_t s = 0; s < 3; s++)
			assert_int_equal(xst_regset_bytes(&frames.sys, 0, sets[s], NULL),
					 want[m][s]);
	}
}

/* Each set, read and written back, changes nothing; written into a fresh task it moves what it holds. */
static void round_trip(void **state)
{
	(void)state;
	for (size_t m = 0; m < MACHINES; m++)
		for (size_t s = 0; s < 3; s++) {
			up(m, 7);
			if (xst_regset_bytes(&frames.sys, 0, sets[s], NULL) < 0)
				continue;
			assert_true(get(sets[s], one) > 0);
			assert_int_equal(set_whole(sets[s], one), XST_OK);
			assert_true(get(sets[s], two) > 0);
			assert_memory_equal(one, two, 108);
			xst_sigframe_restore(&frames.t, XST_FRAME_32, NULL, NULL, NULL);
			get(sets[s], two);
			assert_memory_not_equal(one, two, 108);
			assert_int_equal(set_whole(sets[s], one), XST_OK);
			assert_int_equal(get(sets[s], two),
					 xst_regset_bytes(&frames.sys, 0, sets[s], NULL));
			assert_memory_equal(
				one, two, (size_t)xst_regset_bytes(&frames.sys, 0, sets[s], NULL));
			assert_true(frames_loads(&frames));
		}
}

/* Parts: reads end where the set does; I387 and FPX can be written in parts, XSTATE cannot. */
static void parts(void **state)
{
	const uint8_t st0[10] = {1, 2, 3, 4, 5, 6, 7, 0x88, 0xff, 0x3f};

	(void)state;
	up(5, 8);
	assert_int_equal(get(XST_REGSET_XSTATE, one), 2696);
	assert_int_equal(xst_regset_get(&frames.t, XST_REGSET_XSTATE, 576, two, 256, NULL), 256);
	assert_memory_equal(one + 576, two, 256);
	assert_int_equal(xst_regset_get(&frames.t, XST_REGSET_XSTATE, 2690, two, 100, NULL), 6);
	assert_int_equal(xst_regset_get(&frames.t, XST_REGSET_XSTATE, 2696, two, 1, NULL), 0);
	assert_int_equal(xst_regset_get(&frames.t, XST_REGSET_XSTATE, SIZE_MAX, two, 1, NULL), 0);
	frames_remember(&frames);
	for (size_t n = 0; n < 2696; n += 8)
		assert_int_equal(xst_regset_set(&frames.t, XST_REGSET_XSTATE, 0, one, n, NULL),
				 XST_ERR_INVALID);
	assert_int_equal(xst_regset_set(&frames.t, XST_REGSET_XSTATE, 8, one, 2688, NULL),
			 XST_ERR_INVALID);
	assert_int_equal(xst_regset_set(&frames.t, XST_REGSET_FPX, 505, one, 8, NULL),
			 XST_ERR_INVALID);
	assert_int_equal(xst_regset_set(&frames.t, XST_REGSET_FPX, SIZE_MAX, one, 8, NULL),
			 XST_ERR_INVALID);
	assert_true(frames_unchanged(&frames));
	/* ST0 alone. The other registers, and all behind x87, stay. */
	assert_int_equal(xst_regset_set(&frames.t, XST_REGSET_I387, 28, st0, 10, NULL), XST_OK);
	assert_int_equal(get(XST_REGSET_XSTATE, two), 2696);
	assert_memory_equal(two + XST_OFF_ST, st0, 10);
	assert_memory_equal(two + XST_OFF_ST + 16, one + XST_OFF_ST + 16, 2696 - XST_OFF_ST - 16);
	/* One XMM register, through FPX. */
	assert_int_equal(xst_regset_set(&frames.t, XST_REGSET_FPX, XST_OFF_XMM + 16, st0, 10, NULL),
			 0);
	get(XST_REGSET_XSTATE, two);
	assert_memory_equal(two + XST_OFF_XMM + 16, st0, 10);
	assert_memory_equal(two + 576, one + 576, 2696 - 576);
	/* MXCSR with reserved bits, alone in a part. */
	frames_remember(&frames);
	assert_int_equal(
		xst_regset_set(&frames.t, XST_REGSET_FPX, XST_OFF_MXCSR + 2, st0, 2, &diag),
		XST_ERR_FAULT);
	assert_true(frames_unchanged(&frames));
}

/* What ptrace refuses, with nothing changed. */
static void refused(void **state)
{
	static const struct {
		uint32_t offset;
		uint64_t value;
	} bad[] = {
		{XST_OFF_XSTATE_BV, 0x8000000000000007u},
		{XST_OFF_XSTATE_BV, 0x407},
		{XST_OFF_XSTATE_BV, 0x807},
		{XST_OFF_XSTATE_BV, 0x40000},
		{XST_OFF_XCOMP_BV, 0x8000000000000000u},
		{XST_OFF_XCOMP_BV, 0x80000000000002e7u},
		{XST_OFF_XCOMP_BV, 1},
		{528, 1},
		{536, 1},
		{568, 1ULL << 63},
		{XST_OFF_MXCSR, 0xffff00011f80u},
		{XST_OFF_MXCSR, 0xffff80001f80u},
	};

	(void)state;
	up(5, 2);
	get(XST_REGSET_XSTATE, one);
	frames_remember(&frames);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memcpy(two, one, 2696);
		xst_put64(two, bad[i].offset, bad[i].value);
		assert_int_equal(set_whole(XST_REGSET_XSTATE, two), XST_ERR_FAULT);
		assert_true(frames_unchanged(&frames));
		if (bad[i].offset == XST_OFF_MXCSR)
			assert_int_equal(set_whole(XST_REGSET_FPX, two), XST_ERR_FAULT);
		assert_true(frames_unchanged(&frames));
	}
	/* Reserved MXCSR bits do no harm where MXCSR does not count. */
	memcpy(two, one, 2696);
	xst_put32(two, XST_OFF_MXCSR, 0xffffffff);
	xst_put64(two, XST_OFF_XSTATE_BV, 0xe0);
	assert_int_equal(set_whole(XST_REGSET_XSTATE, two), XST_OK);
	get(XST_REGSET_XSTATE, two);
	assert_int_equal(xst_get32(two, XST_OFF_MXCSR), XST_MXCSR_INIT);
	/* A task that has not used a register yet can be read, but has nowhere to write to. */
	frames.ctx.area = NULL;
	frames.ctx.pkru = 0x54;
	assert_int_equal(get(XST_REGSET_XSTATE, two), 2696);
	assert_true(xst_get64(two, XST_OFF_XSTATE_BV) == XST_MASK_PKRU);
	assert_int_equal(xst_get32(two, XST_OFF_MXCSR), XST_MXCSR_INIT);
	assert_int_equal(set_whole(XST_REGSET_XSTATE, one), XST_ERR_NEED_BYTES);
}

/* The legal image that looked wrong: 5 and 7 live, 6 INIT; what is INIT is written out as zeros. */
static void opmask_without_zmm(void **state)
{
	(void)state;
	up(5, 2);
	get(XST_REGSET_XSTATE, one);
	xst_put64(one, XST_OFF_XSTATE_BV, 0x2a7);
	assert_int_equal(set_whole(XST_REGSET_XSTATE, one), XST_OK);
	get(XST_REGSET_XSTATE, two);
	assert_true(xst_get64(two, XST_OFF_XSTATE_BV) == 0x2a7);
	for (int i = 1152; i < 1664; i++)
		assert_int_equal(two[i], 0);
	assert_memory_equal(one + 1664, two + 1664, 2696 - 1664);
}

/* A machine of the standard format keeps MXCSR though SSE is INIT; the set has to say SSE then, or the
 * value is lost on the way back. */
static void mxcsr_alone(void **state)
{
	struct xst_layout l;
	const struct xst_image image = {one, sizeof(one), &l};

	(void)state;
	up(3, 2);
	xst_uabi_layout(&frames.sys, 0, &l, NULL);
	fill(one, &l, 0, 2);
	xst_put32(one, XST_OFF_MXCSR, 0x3f85);
	assert_int_equal(xst_uabi_set(&frames.t, &image, XST_UABI_MXCSR_ALWAYS, NULL), XST_OK);
	assert_int_equal(get(XST_REGSET_XSTATE, one), 2696);
	assert_true(xst_get64(one, XST_OFF_XSTATE_BV) == XST_MASK_SSE);
	assert_int_equal(set_whole(XST_REGSET_XSTATE, one), XST_OK);
	get(XST_REGSET_XSTATE, two);
	assert_int_equal(xst_get32(two, XST_OFF_MXCSR), 0x3f85);
}

static void layout_note(void **state)
{
	static const uint32_t rows[][4] = {
		{2, 256, 576, 0}, {5, 64, 1088, 0},  {6, 512, 1152, 0},	  {7, 1024, 1664, 0},
		{9, 8, 2688, 0},  {17, 64, 2752, 2}, {18, 8192, 2816, 6},
	};
	struct xst_layout l;

	(void)state;
	frames_up(&frames, XST_INSN_XSAVES, 0x602e7, 0);
	assert_int_equal(xst_regset_put_layout(&frames.caps, 0x602e7, one, sizeof(rows), &diag),
			 (int)sizeof(rows));
	assert_memory_equal(one, rows, sizeof(rows));
	assert_int_equal(xst_regset_layout_note(one, sizeof(rows), 0x602e7, &l, &diag), XST_OK);
	assert_int_equal(l.bytes, 11008);
	memset(one, 0xcc, sizeof(one));
	assert_int_equal(xst_regset_put_layout(&frames.caps, 0x602e7, one, sizeof(rows) - 1, &diag),
			 XST_ERR_NEED_BYTES);
	assert_true(diag.want == sizeof(rows) && one[0] == 0xcc);
	assert_int_equal(xst_regset_put_layout(&frames.caps, 0x1000000007, one, sizeof(one), &diag),
			 XST_ERR_NOT_ENUMERATED);
	assert_int_equal(xst_regset_put_layout(&frames.caps, 0x3, one, sizeof(one), &diag), 0);
}

static void notes(void **state)
{
	const uint8_t contents[5] = {1, 2, 3, 4, 5};
	static const uint8_t want[28] = {6,   0,   0,	0, 5, 0, 0, 0, 2, 2, 0, 0, 'L', 'I',
					 'N', 'U', 'X', 0, 0, 0, 1, 2, 3, 4, 5, 0, 0,	0};

	(void)state;
	memset(one, 0xcc, sizeof(one));
	assert_int_equal(xst_regset_put_note(XST_NT_X86_XSTATE, contents, 5, one, 27, &diag),
			 XST_ERR_NEED_BYTES);
	assert_int_equal(one[0], 0xcc);
	assert_int_equal(xst_regset_put_note(XST_NT_X86_XSTATE, contents, 5, one, 28, NULL), 28);
	assert_memory_equal(one, want, 28);
	assert_int_equal(xst_regset_put_note(XST_NT_FPREGSET, contents, 4, one, 64, NULL), 24);
	assert_string_equal((char *)one + 12, "CORE");
	assert_int_equal(one[0], 5);
	assert_int_equal(xst_regset_put_note(2, contents, SIZE_MAX, one, 64, NULL),
			 XST_ERR_NEED_BYTES);
}

/* A lazy binding saves what may hold arguments: APX and the tile configuration are among it, and it
 * may leave out the 8 KiB of tiles. With APX the area grows by 128 bytes. */
static void rtl_01(void **state)
{
	const uint64_t without = 0x202e7, with = without | XST_MASK_APX;
	struct xst_layout l, m;

	(void)state;
	mdl_caps_make(&frames.caps, 0xe02e7, 0, XST_INSN_XSAVEC);
	assert_int_equal(xst_layout_compute(&frames.caps, without, XST_COMPACTED, &l, NULL), 0);
	assert_int_equal(xst_layout_compute(&frames.caps, with, XST_COMPACTED, &m, NULL), 0);
	assert_int_equal(m.bytes - l.bytes, 128);
	assert_true((m.mask & XST_MASK_APX) && (m.mask & XST_MASK(XST_COMP_TILECFG)) &&
		    !(m.mask & XST_MASK_TILEDATA));
	/* In the standard format they lie where MPX was, before the tiles. */
	assert_int_equal(xst_layout_compute(&frames.caps, with, XST_STANDARD, &m, NULL), 0);
	assert_int_equal(m.offset[XST_COMP_APX], 960);
	assert_int_equal(m.bytes, 2816);
}

/* A resolver's area on the stack: @garbage in the header behind XSTATE_BV, XCOMP_BV. */
static int resolver_restores(uint32_t misalign, uint32_t from, uint32_t to)
{
	struct xst_restore how = {.caps = &frames.caps,
				  .by = XST_BY_XRSTOR,
				  .xcr0 = 0xe7,
				  .rfbm = 0xee,
				  .misalign = misalign};
	struct mdl_cpu cpu;
	static uint8_t area[4096] __attribute__((aligned(64)));
	int err;

	mdl_caps_make(&frames.caps, 0xe7, 0, XST_INSN_XSAVEC);
	mdl_reset(&cpu, &frames.caps);
	cpu.cr4 |= MDL_CR4_OSFXSR | MDL_CR4_OSXSAVE;
	assert_int_equal(mdl_xsetbv(&cpu, 0xe7), 0);
	memset(area, 0, sizeof(area));
	memset(area + from, 0xa5, to - from);
	if (!misalign)
		assert_int_equal(mdl_save(&cpu, XST_INSN_XSAVEC, area, 0xee), 0);
	err = xst_image_check(&how, area, sizeof(area), NULL, &diag);
	if (!misalign)
		assert_int_equal(mdl_load(&cpu, XST_INSN_XSAVEC, area, 0xee) != 0, err != 0);
	return err;
}

static void rtl_02(void **state)
{
	(void)state;
	assert_int_equal(resolver_restores(0, 0, 512), XST_OK);
	assert_int_equal(resolver_restores(8, 512, 512), XST_ERR_FAULT);
	assert_int_equal(resolver_restores(16, 512, 512), XST_ERR_FAULT);
	/* XSAVEC overwrites the first two words of the header; the third is the program's to clear. */
	assert_int_equal(resolver_restores(0, 512, 528), XST_OK);
	assert_int_equal(resolver_restores(0, 512, 536), XST_ERR_FAULT);
	assert_int_equal(diag.offset, 528);
}

static void rtl_03(void **state)
{
	(void)state;
	for (uint32_t i = 528; i < 576; i++)
		assert_int_equal(resolver_restores(0, i, i + 1), XST_ERR_FAULT);
	assert_int_equal(resolver_restores(0, 576, 2000), XST_OK);
}

/* A runtime preempts by signals: what is live must be in the frame, and said to be. */
static void rtl_06(void **state)
{
	struct xst_frame frame;

	(void)state;
	up(5, 3);
	assert_int_equal(xst_sigframe_write(&frames.t, XST_FRAME_64, frames.user, NULL), XST_OK);
	assert_true((xst_get64(frames.user, XST_OFF_XSTATE_BV) & 0xe7) == 0xe7);
	assert_int_equal(xst_sigframe_read(frames.user, 2700, XST_FRAME_64, 0, &frame, NULL),
			 XST_OK);
	assert_true(frame.extended && (frame.xfeatures & 0xe7) == 0xe7);
	/* The same, cut down to FXSAVE: AVX would be lost, and the reader can tell. */
	xst_put32(frames.user, 464, 0);
	assert_int_equal(xst_sigframe_read(frames.user, 2700, XST_FRAME_64, 0, &frame, NULL),
			 XST_OK);
	assert_true(!frame.extended && frame.why);
}

static void rtl_09(void **state)
{
	const uint64_t mantissa = 0x8000000000000000u;

	(void)state;
	up(1, 1);
	memset(one, 0, 512);
	xst_put16(one, XST_OFF_FCW, 0x37f);
	xst_put32(one, XST_OFF_MXCSR, 0x1f80);
	xst_put16(one, XST_OFF_FSW, 5 << 11);
	one[XST_OFF_FTW] = 1 << 5;
	xst_put64(one, XST_OFF_ST, mantissa);
	xst_put16(one, XST_OFF_ST + 8, 0x3fff);
	assert_int_equal(set_whole(XST_REGSET_FPX, one), XST_OK);
	/* In FNSAVE form: physical register 5 is the one in use, and ST0 comes first all the same. */
	assert_int_equal(get(XST_REGSET_I387, two), 108);
	assert_int_equal(xst_get16(two, 8), 0xf3ff);
	assert_true(xst_get64(two, 28) == mantissa && xst_get16(two, 36) == 0x3fff);
	assert_int_equal(set_whole(XST_REGSET_I387, two), XST_OK);
	get(XST_REGSET_FPX, one);
	assert_int_equal(one[XST_OFF_FTW], 1 << 5);
}

static void rtl_10(void **state)
{
	static const struct {
		uint64_t mantissa;
		uint16_t exponent, tags;
	} rows[] = {{0, 0, 0x7fff}, {1ULL << 63, 0x3fff, 0x3fff}, {1ULL << 63, 0x7fff, 0xbfff}};

	(void)state;
	for (int i = 0; i < 3; i++) {
		up(1, 1);
		memset(one, 0, 512);
		xst_put32(one, XST_OFF_MXCSR, 0x1f80);
		xst_put16(one, XST_OFF_FSW, 7 << 11);
		one[XST_OFF_FTW] = 0x80;
		xst_put64(one, XST_OFF_ST, rows[i].mantissa);
		xst_put16(one, XST_OFF_ST + 8, rows[i].exponent);
		assert_int_equal(set_whole(XST_REGSET_FPX, one), XST_OK);
		assert_int_equal(get(XST_REGSET_I387, two), 108);
		assert_int_equal(xst_get16(two, 8), rows[i].tags);
		/* And NetBSD's way back: whatever tag but "empty" is one bit. */
		assert_int_equal(set_whole(XST_REGSET_I387, two), XST_OK);
		get(XST_REGSET_FPX, one);
		assert_int_equal(one[XST_OFF_FTW], 0x80);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(round_trip),
		cmocka_unit_test(parts),
		cmocka_unit_test(mxcsr_alone),
		CASE("SEC-10", refused),
		CASE("ABI-22", layout_note),
		CASE("ABI-23", opmask_without_zmm),
		cmocka_unit_test(notes),
		CASE("RTL-01", rtl_01),
		CASE("RTL-02", rtl_02),
		CASE("RTL-03", rtl_03),
		CASE("RTL-06", rtl_06),
		CASE("RTL-09", rtl_09),
		CASE("RTL-10", rtl_10),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
