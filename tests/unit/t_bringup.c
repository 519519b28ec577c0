// SPDX-License-Identifier: BSD-2-Clause
/* Bring-up believes nobody: emulators that misplace components, sums that lie, CPUs that differ. */
#include "t.h"

#include "rig.h"

static struct rig rig;

static void one_cpu(enum xst_insn insn, uint64_t xcr0)
{
	memset(&rig, 0, sizeof(rig));
	mdl_caps_make(&rig.caps, xcr0, 0, insn);
	mdl_reset(&rig.hw[0], &rig.caps);
	mdl_reset(&rig.hw[1], &rig.caps);
	mdl_current = &rig.hw[0];
}

static void honest_cpu(void **state)
{
	enum xst_insn insn;

	(void)state;
	for (insn = XST_INSN_FNSAVE; insn <= XST_INSN_XSAVES; insn++) {
		one_cpu(insn, 0x2e7);
		assert_int_equal(xst_system_init(&rig.sys, XST_WANT_ALL_USER), XST_OK);
		assert_int_equal(rig.sys.insn, insn);
		assert_int_equal(rig.sys.avoided, 0);
		rig.cpu[0].world = &rig.hw[0];
		assert_int_equal(xst_cpu_init(&rig.sys, &rig.cpu[0], 0), XST_OK);
		assert_int_equal(rig.hw[0].surprise, 0);
		assert_int_equal(rig.hw[0].cr0 & (MDL_CR0_TS | MDL_CR0_EM), 0);
	}
}

/* ERRATA(bochs-2.7-xsavec): every component behind the header is written 160 bytes too low. */
static void misplacing_emulator(void **state)
{
	(void)state;
	one_cpu(XST_INSN_XSAVES, 0x207);
	rig.hw[0].misplace = 160;
	assert_int_equal(xst_system_init(&rig.sys, XST_WANT_ALL_USER), XST_OK);
	assert_int_equal(rig.sys.avoided, XST_AVOID_SELFTEST);
	assert_int_equal(rig.sys.insn, XST_INSN_XSAVEOPT);

	/* One component that is behind the header suffices, and an older newest instruction too. */
	one_cpu(XST_INSN_XSAVEC, 0x7);
	rig.hw[0].misplace = 64;
	assert_int_equal(xst_system_init(&rig.sys, XST_WANT_ALL_USER), XST_OK);
	assert_int_equal(rig.sys.avoided, XST_AVOID_SELFTEST);
}

static void lying_sums(void **state)
{
	(void)state;
	one_cpu(XST_INSN_XSAVES, 0xe7);
	rig.hw[0].sum_compacted = 2432 + 64;
	assert_int_equal(xst_system_init(&rig.sys, XST_WANT_ALL_USER), XST_OK);
	assert_int_equal(rig.sys.avoided, XST_AVOID_SUMS);
	assert_int_equal(rig.sys.insn, XST_INSN_XSAVEOPT);
	assert_int_equal(rig.sys.ctx_bytes, 2688);
}

/* A machine on which the first CPU came up; the second one is then changed by the test. */
static void second_cpu(struct xst_caps *caps)
{
	one_cpu(XST_INSN_XSAVES, 0x2e7);
	assert_int_equal(xst_system_init(&rig.sys, XST_WANT_ALL_USER), XST_OK);
	*caps = rig.caps;
	mdl_reset(&rig.hw[1], caps);
	rig.cpu[1].world = &rig.hw[1];
}

static void bring_second(int want, uint32_t component)
{
	struct xst_diag d = {0};

	/* The first call fills the struct; the second one says why. */
	assert_int_equal(xst_cpu_init(&rig.sys, &rig.cpu[1], 1), want);
	assert_int_equal(xst_cpu_online(&rig.cpu[1], &d), want);
	assert_int_equal(d.component, component);
	if (want)
		assert_non_null(d.rule);
}

static void hybrid_cpus(void **state)
{
	static struct xst_caps caps;

	(void)state;
	/* The small core has no AVX-512. */
	second_cpu(&caps);
	caps.xcr0 &= ~XST_MASK_AVX512;
	bring_second(XST_ERR_MISMATCH, XST_COMP_OPMASK);
	/* The same component elsewhere. */
	second_cpu(&caps);
	caps.comp[XST_COMP_OPMASK].offset = 832;
	bring_second(XST_ERR_MISMATCH, XST_COMP_OPMASK);
	second_cpu(&caps);
	caps.comp[XST_COMP_PKRU].bytes = 64;
	bring_second(XST_ERR_MISMATCH, XST_COMP_PKRU);
	/* An instruction is missing. */
	second_cpu(&caps);
	caps.xsaves = false;
	bring_second(XST_ERR_MISMATCH, XST_DIAG_NO_COMPONENT);
	second_cpu(&caps);
	caps.xgetbv1 = false;
	bring_second(XST_ERR_MISMATCH, XST_DIAG_NO_COMPONENT);
	/* MXCSR bits are missing, which only FXSAVE says. */
	second_cpu(&caps);
	caps.mxcsr_mask = 0xffbf;
	bring_second(XST_ERR_MISMATCH, XST_COMP_SSE);
	/* More than the first one has is fine. */
	second_cpu(&caps);
	caps.xcr0 |= XST_MASK_AMX;
	caps.mxcsr_mask |= 1u << 17;
	bring_second(XST_OK, 0);
}

/* MXCSR_MASK comes from the CPU's FXSAVE, not from CPUID. */
static void mxcsr_mask(void **state)
{
	static const uint32_t said[] = {0xffff, 0x2ffff, 0xffbf};
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++) {
		one_cpu(XST_INSN_FXSAVE, 0);
		rig.caps.mxcsr_mask = said[i];
		rig.caps.caveats |= XST_CAVEAT_MXCSR_MASK_ASSUMED;
		assert_int_equal(xst_system_init(&rig.sys, XST_WANT_ALL_USER), XST_OK);
		assert_int_equal(rig.sys.caps.mxcsr_mask, said[i]);
		assert_false(rig.sys.caps.caveats & XST_CAVEAT_MXCSR_MASK_ASSUMED);
	}
}

/* The self-test runs on every CPU, not on the first one only. */
static void misplacing_second_cpu(void **state)
{
	static struct xst_caps caps;

	(void)state;
	second_cpu(&caps);
	rig.hw[1].misplace = 160;
	bring_second(XST_ERR_MISMATCH, XST_COMP_AVX);
}

static void bad_id(void **state)
{
	(void)state;
	one_cpu(XST_INSN_XSAVE, 7);
	assert_int_equal(xst_system_init(&rig.sys, XST_WANT_ALL_USER), XST_OK);
	rig.cpu[0].world = &rig.hw[0];
	assert_int_equal(xst_cpu_init(&rig.sys, &rig.cpu[0], XST_NO_CPU), XST_ERR_INVALID);
}

/* After the self-test nothing of its pattern is left: registers are INIT. */
static void registers_are_init(void **state)
{
	unsigned i;

	(void)state;
	for (i = XST_INSN_FNSAVE; i <= XST_INSN_XSAVES; i++) {
		unsigned comp;

		assert_int_equal(rig_up(&rig, (enum xst_insn)i, 0xe7, "eager"), XST_OK);
		for (comp = 0; comp < 8; comp++)
			if (rig.sys.mask & XST_MASK(comp))
				assert_true(mdl_is_init(&rig.hw[0], comp));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(honest_cpu),
		cmocka_unit_test(misplacing_emulator),
		cmocka_unit_test(lying_sums),
		cmocka_unit_test(hybrid_cpus),
		cmocka_unit_test(mxcsr_mask),
		cmocka_unit_test(misplacing_second_cpu),
		cmocka_unit_test(bad_id),
		cmocka_unit_test(registers_are_init),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
