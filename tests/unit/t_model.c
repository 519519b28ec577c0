// SPDX-License-Identifier: BSD-2-Clause
/*
 * The software CPU by the manual: what the machine at hand cannot show - control bits, XFD and AMX,
 * XSAVES, AMD's pointers - and the measured cases, each by its id.
 */
#include "t.h"

#include "cases.h"
#include "rig.h"

static struct xst_caps caps;
static struct mdl_cpu cpu;
static uint8_t area[12288] __attribute__((aligned(64)));

static void cpu_up(uint64_t xcr0, uint64_t xss)
{
	mdl_caps_make(&caps, xcr0, xss, XST_INSN_XSAVES);
	mdl_reset(&cpu, &caps);
	cpu.cr4 = MDL_CR4_OSFXSR | MDL_CR4_OSXSAVE | MDL_CR4_PKE;
	assert_int_equal(mdl_xsetbv(&cpu, xcr0), 0);
	cpu.xss = xss;
	memset(area, 0, sizeof(area));
}

static uint64_t word(unsigned offset)
{
	uint64_t v;

	memcpy(&v, area + offset, 8);
	return v;
}

static void set_word(unsigned offset, uint64_t v)
{
	memcpy(area + offset, &v, 8);
}

static void fill(unsigned i, uint8_t value)
{
	memset(mdl_reg(&cpu, i), value, mdl_reg_bytes(&cpu, i));
	mdl_wrote(&cpu, i);
}

static void ts_and_em(void **state)
{
	static const uint8_t value[32] = {1};

	(void)state;
	cpu_up(7, 0);
	cpu.cr0 = MDL_CR0_TS;
	assert_int_equal(mdl_movdqu(&cpu, 0, value), MDL_NM);
	assert_int_equal(mdl_vmovdqu(&cpu, 0, value), MDL_NM);
	assert_int_equal(mdl_fld(&cpu, value), MDL_NM);
	assert_int_equal(mdl_save(&cpu, XST_INSN_XSAVE, area, 7), MDL_NM);
	assert_int_equal(mdl_load(&cpu, XST_INSN_XSAVES, area, 7), MDL_NM);
	assert_int_equal(mdl_access(&cpu, XST_COMP_CET_U, false), 0);
	cpu.cr0 = MDL_CR0_EM;
	assert_int_equal(mdl_fld(&cpu, value), MDL_NM);
	assert_int_equal(mdl_movdqu(&cpu, 0, value), MDL_UD);
	assert_int_equal(mdl_vmovdqu(&cpu, 0, value), 0);
	assert_int_equal(mdl_save(&cpu, XST_INSN_FXSAVE, area, 0), MDL_UD);
	cpu.cr0 = 0;
	cpu.cr4 = 0;
	assert_int_equal(mdl_movdqu(&cpu, 0, value), MDL_UD);
	assert_int_equal(mdl_save(&cpu, XST_INSN_XSAVE, area, 7), MDL_UD);
	assert_int_equal(mdl_xsetbv(&cpu, 7), MDL_UD);
}

/* HDR-01, HDR-03, HDR-06 */
static void headers(void **state)
{
	static const struct {
		uint64_t bv, xcomp;
		unsigned odd; /* a reserved byte that is 1 */
		int vector;
	} cases[] = {
		{7, 0, 0, 0},       {0xf, 0, 0, MDL_GP}, {7 | 1ULL << 62, 0, 0, MDL_GP},
		{7, 4, 0, MDL_GP},  {7, 0, 16, MDL_GP},  {7, 0, 24, 0},
		{7, 0, 56, 0},      {7, 0x80000000, 0, MDL_GP},
		{7, XST_XCOMP_COMPACT | 7, 0, 0},        {7, XST_XCOMP_COMPACT | 7, 24, MDL_GP},
		{7, XST_XCOMP_COMPACT | 3, 0, MDL_GP},   {3, XST_XCOMP_COMPACT | 0xf, 0, MDL_GP},
	};
	unsigned i;

	(void)state;
	cpu_up(0x207, 0);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(area, 0, sizeof(area));
		set_word(512, cases[i].bv);
		set_word(520, cases[i].xcomp);
		if (cases[i].odd)
			area[512 + cases[i].odd] = 1;
		assert_int_equal(mdl_load(&cpu, XST_INSN_XSAVE, area, 7), cases[i].vector);
	}
	for (i = 8; i < 64; i *= 2)
		assert_int_equal(mdl_load(&cpu, XST_INSN_XSAVE, area + i, 7), MDL_GP);
}

/* HDR-07 and the compacted rules */
static void mxcsr_by_form(void **state)
{
	static const struct {
		uint64_t rfbm;
		uint32_t mxcsr;
	} cases[] = {{7, 0}, {1, 0x5f80}, {4, 0}, {2, 0}};
	unsigned i;

	(void)state;
	cpu_up(7, 0);
	for (i = 0; i < 4; i++) {
		cpu.mxcsr = 0x5f80;
		assert_int_equal(mdl_load(&cpu, XST_INSN_XSAVE, area, cases[i].rfbm), 0);
		assert_int_equal(cpu.mxcsr, cases[i].mxcsr);
	}
	set_word(520, XST_XCOMP_COMPACT | 7);
	cpu.mxcsr = 0x5f80;
	assert_int_equal(mdl_load(&cpu, XST_INSN_XSAVE, area, 4), 0);
	assert_int_equal(cpu.mxcsr, 0x5f80);
	assert_int_equal(mdl_load(&cpu, XST_INSN_XSAVE, area, 2), 0);
	assert_int_equal(cpu.mxcsr, MDL_MXCSR_INIT);
	cpu.mxcsr = 0x5f80;
	assert_int_equal(mdl_save(&cpu, XST_INSN_XSAVEC, area, 7), 0);
	assert_int_equal(word(512), XST_MASK_SSE);
}

/* HDR-13, HDR-14, SEC-14 */
static void what_a_save_leaves(void **state)
{
	(void)state;
	cpu_up(7, 0);
	memset(area, 0xaa, sizeof(area));
	assert_int_equal(mdl_save(&cpu, XST_INSN_XSAVE, area, 7), 0);
	assert_int_equal(word(512), 0xaaaaaaaaaaaaaaa8ULL);
	assert_int_equal(word(520), 0xaaaaaaaaaaaaaaaaULL);
	assert_int_equal(area[416], 0xaa);
	assert_int_equal(area[576], 0);
	memset(area, 0xaa, sizeof(area));
	assert_int_equal(mdl_save(&cpu, XST_INSN_XSAVEC, area, 7), 0);
	assert_int_equal(word(512), 0);
	assert_int_equal(word(520), XST_XCOMP_COMPACT | 7);
	assert_int_equal(word(528), 0xaaaaaaaaaaaaaaaaULL);
	assert_int_equal(area[576], 0xaa);
	set_word(512, ~0ULL);
	assert_int_equal(mdl_save(&cpu, XST_INSN_XSAVE, area, 4), 0);
	assert_int_equal(word(512), 0xfffffffffffffffbULL);
}

/* Another mask moves the components: what the first save wrote is lost. */
static void another_mask(void **state)
{
	(void)state;
	cpu_up(0x2e7, 0);
	fill(XST_COMP_OPMASK, 0x55);
	fill(XST_COMP_PKRU, 0x99);
	assert_int_equal(mdl_save(&cpu, XST_INSN_XSAVES, area, 0x2e7), 0);
	assert_int_equal(area[832], 0x55);
	assert_int_equal(mdl_save(&cpu, XST_INSN_XSAVES, area, 0x207), 0);
	assert_int_equal(word(520), XST_XCOMP_COMPACT | 0x207);
	assert_int_equal(area[832], 0x99);
	assert_int_equal(mdl_load(&cpu, XST_INSN_XSAVES, area, 0x2e7), 0);
	assert_true(mdl_is_init(&cpu, XST_COMP_OPMASK));
}

static void modified_optimisation(void **state)
{
	static const enum xst_insn insns[] = {XST_INSN_XSAVEOPT, XST_INSN_XSAVES};
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		cpu_up(7, 0);
		fill(XST_COMP_AVX, 0x11);
		assert_int_equal(mdl_save(&cpu, insns[i], area, 7), 0);
		assert_int_equal(mdl_load(&cpu, insns[i], area, 7), 0);
		area[576] = 0x22; /* not seen by the CPU */
		assert_int_equal(mdl_save(&cpu, insns[i], area, 7), 0);
		assert_int_equal(area[576], 0x22);
		/* Another privilege level, another mask (XSAVES), a write: all save again. */
		cpu.cpl = 3;
		if (insns[i] == XST_INSN_XSAVEOPT) {
			assert_int_equal(mdl_save(&cpu, insns[i], area, 7), 0);
			assert_int_equal(area[576], 0x11);
			area[576] = 0x22;
		}
		cpu.cpl = 0;
		cpu.nonroot = true;
		assert_int_equal(mdl_save(&cpu, insns[i], area, 7), 0);
		assert_int_equal(area[576], 0x11);
		area[576] = 0x22;
		cpu.nonroot = false;
		assert_int_equal(mdl_save(&cpu, insns[i], area, 6), 0);
		assert_int_equal(area[576], insns[i] == XST_INSN_XSAVES ? 0x11 : 0x22);
		mdl_wrote(&cpu, XST_COMP_AVX);
		assert_int_equal(mdl_save(&cpu, insns[i], area, 7), 0);
		assert_int_equal(area[576], 0x11);
	}
}

static void xfd_and_tiles(void **state)
{
	const uint64_t tiledata = XST_MASK_TILEDATA;

	(void)state;
	cpu_up(0x602e7, 0);
	assert_int_equal(mdl_xsetbv(&cpu, 0x402e7), MDL_GP);
	fill(XST_COMP_TILEDATA, 0x77);
	assert_int_equal(mdl_save(&cpu, XST_INSN_XSAVES, area, ~0ULL), 0);
	assert_int_equal(word(512) & tiledata, tiledata);
	cpu.xfd = tiledata;
	assert_int_equal(mdl_access(&cpu, XST_COMP_TILEDATA, true), MDL_NM);
	assert_int_equal(cpu.xfd_err, tiledata);
	assert_int_equal(mdl_access(&cpu, XST_COMP_TILECFG, true), 0);
	/* A restore of a live image traps, one of an INIT image does not. */
	cpu.xfd_err = 0;
	assert_int_equal(mdl_load(&cpu, XST_INSN_XSAVES, area, ~0ULL), MDL_NM);
	assert_int_equal(cpu.xfd_err, tiledata);
	assert_int_equal(mdl_reg(&cpu, XST_COMP_TILEDATA)[0], 0x77);
	set_word(512, word(512) & ~tiledata);
	assert_int_equal(mdl_load(&cpu, XST_INSN_XSAVES, area, ~0ULL), 0);
	assert_true(mdl_is_init(&cpu, XST_COMP_TILEDATA));
	/* Saved as INIT while disabled. */
	fill(XST_COMP_TILEDATA, 0x77);
	assert_int_equal(mdl_save(&cpu, XST_INSN_XSAVES, area, ~0ULL), 0);
	assert_int_equal(word(512) & tiledata, 0);
}

static void supervisor_only_by_xsaves(void **state)
{
	(void)state;
	cpu_up(7, XST_MASK_CET_U);
	fill(XST_COMP_CET_U, 0x33);
	assert_int_equal(mdl_save(&cpu, XST_INSN_XSAVEC, area, ~0ULL), 0);
	assert_int_equal(word(520), XST_XCOMP_COMPACT | 7);
	assert_int_equal(mdl_save(&cpu, XST_INSN_XSAVES, area, ~0ULL), 0);
	assert_int_equal(word(520), XST_XCOMP_COMPACT | 7 | XST_MASK_CET_U);
	assert_int_equal(mdl_load(&cpu, XST_INSN_XSAVE, area, ~0ULL), MDL_GP);
	cpu.cpl = 3;
	assert_int_equal(mdl_save(&cpu, XST_INSN_XSAVES, area, ~0ULL), MDL_GP);
	assert_int_equal(mdl_load(&cpu, XST_INSN_XSAVES, area, ~0ULL), MDL_GP);
}

/* SEC-04: pending as FSW and FCW say, whatever ES in the image says. */
static void amd_pointers(void **state)
{
	static const struct {
		uint16_t fcw, fsw;
		bool travel;
	} cases[] = {{0x37e, 0x0001, true}, {0x37f, 0x8081, false}};
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		cpu_up(7, 0);
		cpu.fip = MDL_FIP_LEAK;
		memset(cpu.regs.X87 + 6, 0x11, 18);
		memset(area + 6, 0x22, 18);
		area[7] = 0x02;
		memcpy(area, &cases[i].fcw, 2);
		memcpy(area + 2, &cases[i].fsw, 2);
		set_word(24, MDL_MXCSR_INIT);
		assert_int_equal(mdl_load(&cpu, XST_INSN_FXSAVE, area, 0), 0);
		assert_int_equal(cpu.regs.X87[8], cases[i].travel ? 0x22 : 0x11);
		memset(area + 6, 0x33, 18);
		assert_int_equal(mdl_save(&cpu, XST_INSN_FXSAVE, area, 0), 0);
		assert_int_equal(area[8], cases[i].travel ? 0x22 : 0x33);
		cpu.fip = MDL_FIP_ZERO;
		assert_int_equal(mdl_save(&cpu, XST_INSN_FXSAVE, area, 0), 0);
		assert_int_equal(area[8], cases[i].travel ? 0x22 : 0);
	}
}

/* SEC-08, HDR-17: FNINIT and FNSAVE leave the registers' contents. */
static void fninit_is_not_init(void **state)
{
	static const uint8_t pi[10] = {0x35, 0xc2, 0x68, 0x21, 0xa2, 0xda, 0x0f, 0xc9, 0x00, 0x40};

	(void)state;
	cpu_up(7, 0);
	assert_int_equal(mdl_fld(&cpu, pi), 0);
	assert_int_equal(mdl_save(&cpu, XST_INSN_FNSAVE, area, 0), 0);
	assert_int_equal(cpu.regs.X87[0] | cpu.regs.X87[1] << 8, 0x037f);
	assert_int_equal(cpu.regs.X87[2] | cpu.regs.X87[3] << 8, 0);
	assert_int_equal(mdl_xgetbv1(&cpu) & 1, 1);
	assert_int_equal(mdl_save(&cpu, XST_INSN_FXSAVE, area, 0), 0);
	assert_int_equal(area[4], 0);
	/* TOP is 0 again, so the register is ST7. */
	assert_memory_equal(area + 32 + 7 * 16, pi, 10);
}

/* Written is what comes out the same over two backgrounds. */
static uint64_t seen_written(enum xst_insn insn, uint64_t mask)
{
	static uint8_t other[sizeof(area)] __attribute__((aligned(64)));
	uint64_t n = 0;
	unsigned i;

	memset(area, 0xa5, sizeof(area));
	memset(other, 0x5a, sizeof(other));
	/* The standard form keeps the bits of XSTATE_BV that it is not asked for. */
	if (insn != XST_INSN_FXSAVE && insn < XST_INSN_XSAVEC) {
		memset(area + 512, 0, 8);
		memset(other + 512, 0, 8);
	}
	assert_int_equal(mdl_save(&cpu, insn, other, mask), 0);
	cpu.written_bytes = 0;
	assert_int_equal(mdl_save(&cpu, insn, area, mask), 0);
	for (i = 0; i < sizeof(area); i++)
		n += area[i] == other[i];
	return n;
}

/* Read is what changes the outcome. x87 has bits in memory that no register holds, and is left out. */
static uint64_t seen_read(enum xst_insn insn, uint64_t mask)
{
	static struct mdl_cpu start, want;
	uint64_t n = 0;
	unsigned i;

	memset(area + 528, 0, 48);
	start = cpu;
	assert_int_equal(mdl_load(&cpu, insn, area, mask), 0);
	want = cpu;
	for (i = 0; i < 2560; i++) {
		bool differs = false;
		unsigned bit;

		for (bit = 1; bit < 0x100 && !differs; bit <<= 1) {
			cpu = start;
			area[i] = (uint8_t)(area[i] ^ bit);
			differs = mdl_load(&cpu, insn, area, mask) || cpu.mxcsr != want.mxcsr ||
				  memcmp(&cpu.regs, &want.regs, sizeof(cpu.regs));
			area[i] = (uint8_t)(area[i] ^ bit);
		}
		n += differs;
	}
	cpu = start;
	cpu.read_bytes = 0;
	assert_int_equal(mdl_load(&cpu, insn, area, mask), 0);
	return n;
}

static void bytes_that_move(void **state)
{
	static const enum xst_insn insns[] = {XST_INSN_FXSAVE, XST_INSN_XSAVE, XST_INSN_XSAVEOPT,
					      XST_INSN_XSAVEC, XST_INSN_XSAVES};
	const uint64_t all = 0x2e7, super = XST_MASK_CET_U | XST_MASK_CET_S;
	unsigned i, live;

	(void)state;
	for (i = 0; i < sizeof(insns) / sizeof(insns[0]); i++) {
		for (live = 0; live < 0x400; live += 0x21) {
			const uint64_t mask = insns[i] == XST_INSN_XSAVES ? all | super : all;
			const uint64_t in_use = (live & all) | (live & 1 ? super : 0);
			uint64_t rest, seen;

			cpu_up(all, super);
			cpu.mxcsr = live & 2 ? 0x1fa0 : MDL_MXCSR_INIT;
			for (rest = in_use & ~XST_MASK_X87; rest; rest &= rest - 1)
				fill(xst_mask_first(rest), 0x10);
			if (in_use & XST_MASK_X87)
				assert_int_equal(mdl_fld(&cpu, (const uint8_t[10]){0x10, 9, 8, 7, 6}), 0);
			seen = seen_written(insns[i], mask);
			assert_int_equal(seen, cpu.written_bytes);
			if (insns[i] < XST_INSN_XSAVEC || (in_use & XST_MASK_X87) || live % 5)
				continue;
			seen = seen_read(insns[i], mask);
			assert_int_equal(seen, cpu.read_bytes);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_that_move),
		CASE("SEC-09", ts_and_em),
		cmocka_unit_test(headers),
		cmocka_unit_test(mxcsr_by_form),
		cmocka_unit_test(what_a_save_leaves),
		CASE("HDR-21", another_mask),
		cmocka_unit_test(modified_optimisation),
		cmocka_unit_test(xfd_and_tiles),
		cmocka_unit_test(supervisor_only_by_xsaves),
		cmocka_unit_test(amd_pointers),
		cmocka_unit_test(fninit_is_not_init),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
