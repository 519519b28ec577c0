// SPDX-License-Identifier: BSD-2-Clause
/* A checking build: each kind of undeclared use is reported, and a correct section never is. */
#include "t.h"

#include <xst/kernel.h>

#include "rig.h"

#define CPU (&rig.cpu[0])
#define HW  (&rig.hw[0])

static struct rig rig;
static struct xst_section_report seen;
static unsigned reports;

static void on_misuse(const struct xst_cpu *cpu, const struct xst_section_report *report)
{
	assert_ptr_equal(cpu, CPU);
	seen = *report;
	reports++;
}

static void up(enum xst_insn insn)
{
	assert_int_equal(rig_up(&rig, insn, 0x602e7, "deferred"), XST_OK);
	if (insn >= XST_INSN_XSAVE)
		assert_int_equal(mdl_xsetbv(HW, rig.sys.xcr0 | XST_MASK_AMX), 0);
	mdl_misuse = on_misuse;
	reports = 0;
	rig_go(&rig, 0, &rig.task[0]);
	rig_put(&rig, 0, XST_COMP_X87, 0x11);
}

/* What sections do. Bits of @need below: what each needs. */
static void integer_simd(void)
{
	memset(HW->regs.SSE, 0x77, sizeof(HW->regs.SSE));
	mdl_wrote(HW, XST_COMP_SSE);
}

static void push_and_pop(void)
{
	static const uint8_t one[10] = {0, 0, 0, 0, 0, 0, 0, 0x80, 0xff, 0x3f};

	assert_int_equal(mdl_fld(HW, one), 0);
	/* FSTP: the stack is as before. */
	HW->regs.X87[4] = 0;
	HW->regs.X87[3] = (uint8_t)((HW->regs.X87[3] & ~0x38) | (((HW->regs.X87[3] >> 3) + 1) & 7) << 3);
}

static void inexact_x87(void)
{
	HW->regs.X87[2] |= 0x20;
}

static void mmx_and_emms(void)
{
	assert_int_equal(mdl_emms(HW), 0);
}

static void forgotten_emms(void)
{
	HW->regs.X87[4] = 0xff;
	HW->regs.X87[3] &= (uint8_t)~0x38;
}

static void changed_fcw(void)
{
	assert_int_equal(mdl_fldcw(HW, 0x027f), 0);
}

static void fninit(void)
{
	assert_int_equal(mdl_fninit(HW), 0);
}

static void inexact_sse(void)
{
	HW->mxcsr |= 0x20;
}

static void changed_mxcsr(void)
{
	assert_int_equal(mdl_vldmxcsr(HW, 0x9f80), 0);
}

static void loaded_tile(void)
{
	memset(HW->regs.TILEDATA, 0x55, sizeof(HW->regs.TILEDATA));
	mdl_wrote(HW, XST_COMP_TILEDATA);
}

static const struct {
	const char *name;
	void (*use)(void);
	unsigned need;
} uses[] = {
	{"integer SIMD", integer_simd, 0},
	{"x87, balanced", push_and_pop, XST_NEED_X87},
	{"x87, inexact", inexact_x87, XST_NEED_X87},
	{"MMX with EMMS", mmx_and_emms, XST_NEED_X87},
	{"MMX without EMMS", forgotten_emms, XST_NEED_X87},
	{"FLDCW", changed_fcw, XST_NEED_X87},
	{"FNINIT", fninit, XST_NEED_X87},
	{"SSE, inexact", inexact_sse, XST_NEED_MXCSR},
	{"LDMXCSR", changed_mxcsr, XST_NEED_MXCSR},
	{"tiles", loaded_tile, XST_NEED_TILES},
};

static uint8_t tiles[XST_TILES_BYTES] __attribute__((aligned(64)));

static __attribute__((noinline)) void one_section(unsigned declared, void (*use)(void))
{
	assert_int_equal(xst_kernel_begin(CPU, declared), XST_OK);
	use();
	xst_kernel_end(CPU);
}

/* Every use under every declaration: a report if and only if something was not declared. */
static void every_misuse_is_caught(void **state)
{
	unsigned i, declared, caught = 0, clean = 0;

	(void)state;
	for (i = 0; i < sizeof(uses) / sizeof(uses[0]); i++)
		for (declared = 0; declared < 8; declared++) {
			up(XST_INSN_XSAVES);
			assert_int_equal(xst_kernel_give_tiles(CPU, tiles, sizeof(tiles)), XST_OK);
			one_section(declared, uses[i].use);
			if (!(uses[i].need & ~declared)) {
				assert_int_equal(reports, 0);
				clean++;
				continue;
			}
			caught++;
			if (reports != 1)
				fail_msg("%s declared as %u: %u reports", uses[i].name, declared, reports);
			assert_int_equal(seen.misuse, XST_MISUSE_UNDECLARED);
			assert_int_equal(seen.declared, declared);
			assert_int_equal(seen.used & ~declared, uses[i].need);
			assert_true((uintptr_t)seen.caller - (uintptr_t)one_section < 512);
			assert_int_equal(HW->surprise, 0);
		}
	printf("%u misuses caught, %u correct sections not reported\n", caught, clean);
}

/* Correct sections, one after the other, in any order, on every kind of CPU: never a report. */
static void correct_sections(void **state)
{
	enum xst_insn insn;
	unsigned i;

	(void)state;
	for (insn = XST_INSN_FNSAVE; insn <= XST_INSN_XSAVES; insn++) {
		up(insn);
		for (i = 0; i < 64; i++) {
			const unsigned need = i * 2654435761u >> 13 & XST_NEED_EFI;

			assert_int_equal(xst_kernel_begin(CPU, need), XST_OK);
			if (insn != XST_INSN_FNSAVE)
				integer_simd();
			if ((need & XST_NEED_MXCSR) && insn != XST_INSN_FNSAVE) {
				assert_int_equal(HW->mxcsr, 0x1f80);
				inexact_sse();
			}
			if (need & XST_NEED_X87) {
				assert_int_equal(HW->regs.X87[0], 0x7f);
				assert_int_equal(HW->regs.X87[1], 0x03);
				mmx_and_emms();
				inexact_x87();
			}
			xst_kernel_end(CPU);
			if (i % 5 == 0)
				assert_int_equal(rig_see(&rig, 0, XST_COMP_X87), 0x11);
		}
		assert_int_equal(reports, 0);
		assert_int_equal(HW->surprise, 0);
	}
}

/* What leaves no trace: an exact operation, and tiles over tiles that were in use. */
static void no_trace(void **state)
{
	(void)state;
	up(XST_INSN_XSAVES);
	one_section(0, integer_simd); /* an exact addition of SSE looks the same */
	loaded_tile();
	one_section(0, loaded_tile);
	assert_int_equal(reports, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_misuse_is_caught),
		cmocka_unit_test(correct_sections),
		cmocka_unit_test(no_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
