// SPDX-License-Identifier: BSD-2-Clause
/* What one machine enables: the instruction by generation, the mask, the sizes, what is avoided. */
#include <xst/system.h>

#include "mdl.h"
#include "t.h"

static struct xst_system compute(uint64_t xcr0, uint64_t xss, enum xst_insn insn, uint32_t avoid)
{
	struct xst_caps caps;
	struct xst_system sys;

	mdl_caps_make(&caps, xcr0, xss, insn);
	assert_int_equal(xst_system_compute(&caps, XST_WANT_ALL_USER, avoid, &sys, NULL), XST_OK);
	return sys;
}

static void generations(void **state)
{
	static const struct {
		enum xst_insn insn;
		uint32_t bytes;
		uint64_t mask;
	} want[] = {
		{XST_INSN_FNSAVE, 108, 0x1}, {XST_INSN_FXSAVE, 512, 0x3},
		/* Standard format: Hi16_ZMM ends at 1664 + 1024. */
		{XST_INSN_XSAVE, 2688, 0xe7}, {XST_INSN_XSAVEOPT, 2688, 0xe7},
		/* Compacted: 576 + 256 + 64 + 512 + 1024. */
		{XST_INSN_XSAVEC, 2432, 0xe7}, {XST_INSN_XSAVES, 2432, 0xe7},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct xst_system sys = compute(0xe7, 0, want[i].insn, 0);

		assert_int_equal(sys.insn, want[i].insn);
		assert_int_equal(sys.mask, want[i].mask);
		assert_int_equal(sys.ctx_bytes, want[i].bytes);
		assert_int_equal(sys.xcr0, want[i].insn >= XST_INSN_XSAVE ? 0xe7 : 0);
		assert_int_equal(sys.avoided, 0);
	}
}

static void avoided(void **state)
{
	(void)state;
	assert_int_equal(compute(7, 0, XST_INSN_XSAVES, XST_AVOID_WORLD).insn, XST_INSN_XSAVEC);
	assert_int_equal(compute(7, 0, XST_INSN_XSAVES, XST_AVOID_SUMS).insn, XST_INSN_XSAVEOPT);
	assert_int_equal(compute(7, 0, XST_INSN_XSAVES, XST_AVOID_SELFTEST).insn,
			 XST_INSN_XSAVEOPT);
	assert_int_equal(compute(7, 0, XST_INSN_XSAVE, XST_AVOID_SELFTEST).insn, XST_INSN_XSAVE);
	assert_int_equal(compute(7, 0, XST_INSN_XSAVES, XST_AVOID_SUMS).layout.format,
			 XST_STANDARD);
}

static void erratum_1386(void **state)
{
	struct xst_caps caps;
	struct xst_system sys;

	(void)state;
	mdl_caps_make(&caps, 7, 0, XST_INSN_XSAVES);
	caps.family = 0x17;
	caps.model = 0x31;
	caps.stepping = 0;
	caps.microcode = 0x08301051;
	assert_int_equal(xst_system_compute(&caps, XST_WANT_ALL_USER, 0, &sys, NULL), XST_OK);
	assert_int_equal(sys.insn, XST_INSN_XSAVEC);
	assert_int_equal(sys.avoided, XST_AVOID_ERRATUM_1386);
	caps.microcode = 0x08301052;
	assert_int_equal(xst_system_compute(&caps, XST_WANT_ALL_USER, 0, &sys, NULL), XST_OK);
	assert_int_equal(sys.insn, XST_INSN_XSAVES);
	assert_int_equal(sys.avoided, 0);
}

static void mask_obeys_the_rules(void **state)
{
	struct xst_system sys;
	struct xst_caps caps;

	(void)state;
	/* ZMM_Hi256 without its two companions cannot be enabled. */
	assert_int_equal(compute(0x47, 0, XST_INSN_XSAVE, 0).mask, 0x7);
	/* A wish is a wish: what is not wanted is left out, x87 never. */
	mdl_caps_make(&caps, 0x2e7, 0, XST_INSN_XSAVE);
	assert_int_equal(xst_system_compute(&caps, 0x4, 0, &sys, NULL), XST_OK);
	assert_int_equal(sys.mask, 0x1);
	assert_int_equal(xst_system_compute(&caps, 0x7, 0, &sys, NULL), XST_OK);
	assert_int_equal(sys.mask, 0x7);
	assert_false(sys.pkru);
}

static void pkru_apart(void **state)
{
	struct xst_system sys = compute(0x207, 0, XST_INSN_XSAVEC, 0);

	(void)state;
	assert_true(sys.pkru);
	assert_int_equal(sys.mask, 0x7);
	assert_int_equal(sys.xcr0, 0x207);
	assert_int_equal(sys.init_pkru, XST_PKRU_DEFAULT);
}

static void no_fpu(void **state)
{
	struct xst_caps caps;
	struct xst_system sys;
	struct xst_diag d;

	(void)state;
	mdl_caps_make(&caps, 7, 0, XST_INSN_FNSAVE);
	caps.fpu = false;
	assert_int_equal(xst_system_compute(&caps, XST_WANT_ALL_USER, 0, &sys, &d),
			 XST_ERR_UNSUPPORTED);
	assert_int_equal(d.component, XST_COMP_X87);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generations),
		cmocka_unit_test(avoided),
		cmocka_unit_test(erratum_1386),
		cmocka_unit_test(mask_obeys_the_rules),
		cmocka_unit_test(pkru_apart),
		cmocka_unit_test(no_fpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
