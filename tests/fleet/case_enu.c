// SPDX-License-Identifier: BSD-2-Clause
/* What programs got wrong when they read leaf 0DH. */
#include "cases.h"

#include <string.h>

#include <xst/image.h>

static void intel_spr(struct xst_caps *caps)
{
	const struct cpu_spec spec = { .xcr0 = 0x602e7, .xss = 0xdd00, .d1_eax = 0x1f,
				       .components = INTEL_SPR SUPERVISORS };

	make_cpu(&spec, caps);
}

/* LWP in bit 62: a size of 0x3fec83c0 was once computed from it. */
CASE(ENU_01)
{
	const struct cpu_spec spec = { .xcr0 = 0x4000000000000007, .d1_eax = 1,
				       .components = "2:256@576 62:128@832" };
	struct xst_caps caps;

	(void)state;
	make_cpu(&spec, &caps);
	assert_int_equal(size_of(&caps, caps.xcr0, XST_STANDARD), 960);
	assert_int_equal(caps.caveats & XST_CAVEAT_SUM_STANDARD, 0);
}

/* A sum that forgets the alignment of tiles is 56 bytes short. */
CASE(ENU_04)
{
	struct xst_caps caps;
	uint64_t rest;
	uint32_t packed = XST_EXT_OFFSET;

	(void)state;
	intel_spr(&caps);
	assert_int_equal(size_of(&caps, 0x602e7, XST_COMPACTED), 10752);
	for (rest = 0x602e7 & ~XST_MASK_LEGACY; rest; rest &= rest - 1)
		packed += caps.comp[__builtin_ctzll(rest)].bytes;
	assert_int_equal(packed, 10696);
}

/* XSAVEC without XSAVES has a compacted size too, and a CPU that shows 0 is found out. */
CASE(ENU_05)
{
	struct cpu_spec spec = { .xcr0 = 0x7, .components = "2:256@576", .d1_eax = 0x3 };
	struct xst_cpuid_leaf leaf;
	struct xst_caps caps;

	(void)state;
	make_cpu(&spec, &caps);
	assert_int_equal(size_of(&caps, 0x7, XST_COMPACTED), 832);
	assert_int_equal(xst_caps_leaf_d(&caps, 0x7, 0, 0x7, 0, 1, &leaf, NULL), XST_OK);
	assert_int_equal(leaf.ebx, 832);
	assert_int_equal(caps.caveats & XST_CAVEAT_SUM_MISSING, 0);

	spec.raw_sums = true;
	spec.d0_ebx = spec.d0_ecx = 832;
	make_cpu(&spec, &caps);
	assert_int_not_equal(caps.caveats & XST_CAVEAT_SUM_MISSING, 0);
}

/* Without XSAVE the whole leaf is zero, whatever is asked of it. */
CASE(ENU_06)
{
	const struct cpu_spec hidden = { .xcr0 = 0x207, .components = "2:256@576 9:8@2688",
					 .d1_eax = FORMS_ALL, .no_xsave = true };
	struct xst_cpuid_leaf leaf;
	struct xst_caps caps;

	(void)state;
	intel_spr(&caps);
	for (unsigned i = 0; i < 64; i++) {
		assert_int_equal(xst_caps_leaf_d(&caps, 0, 0, 0, 0, i, &leaf, NULL), XST_OK);
		assert_int_equal(leaf.eax | leaf.ebx | leaf.ecx | leaf.edx, 0);
	}
	make_cpu(&hidden, &caps);
	assert_false(caps.xsave);
	assert_int_equal(caps.xcr0, 0);
	assert_int_not_equal(caps.caveats & XST_CAVEAT_HIDDEN_LEAF, 0);
}

/* Where the offsets have holes, a sum of sizes is not the size. */
CASE(ENU_07)
{
	struct xst_caps caps;

	(void)state;
	intel_spr(&caps);
	assert_int_equal(size_of(&caps, 0x2e7, XST_STANDARD), 2696);
	assert_int_equal(size_of(&caps, 0x2e7, XST_COMPACTED), 2440);
}

/* XSAVEOPT only: the buffer is sub-leaf 0 EBX, not sub-leaf 1's 0. */
CASE(ENU_08)
{
	const struct cpu_spec spec = { .xcr0 = 0x7, .components = "2:256@576", .d1_eax = 1,
				       .raw_sums = true, .d0_ebx = 832, .d0_ecx = 832 };
	struct xst_caps caps;

	(void)state;
	make_cpu(&spec, &caps);
	assert_int_equal(size_of(&caps, 0x7, XST_STANDARD), 832);
	assert_int_equal(size_of(&caps, 0x3, XST_STANDARD), 576);
	assert_int_equal(size_of(&caps, 0x7, XST_COMPACTED), 0);
	assert_int_equal(caps.caveats & (XST_CAVEAT_SUM_STANDARD | XST_CAVEAT_SUM_NOW), 0);
}

/* APX lies at 960, so the highest component does not end last. */
CASE(ENU_10)
{
	const struct cpu_spec spec = { .xcr0 = 0xe02e7, .d1_eax = 0x1f,
				       .components = INTEL_SPR " 19:128@960" };
	struct xst_caps caps;

	(void)state;
	make_cpu(&spec, &caps);
	assert_int_equal(size_of(&caps, 0x80007, XST_STANDARD), 1088);
	assert_int_equal(size_of(&caps, 0x80207, XST_STANDARD), 2696);
	assert_int_equal(size_of(&caps, 0xe02e7, XST_STANDARD), 11008);
	assert_int_equal(caps.caveats & XST_CAVEAT_OVERLAP, 0);
}

CASE(ENU_15)
{
	static const struct {
		uint64_t xcr0;
		bool legal;
	} t[] = {
		{ 0x0f, false }, { 0x17, false }, { 0x1f, true },  { 0x27, false },
		{ 0x67, false }, { 0xe3, false }, { 0xe7, true },  { 0x200e7, false },
		{ 0x400e7, false }, { 0x600e7, true }, { 0x5, false },
	};
	struct xst_diag d;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(xst_xcr0_check(t[i].xcr0, XST_MASK_USER, &d) == XST_OK,
				 t[i].legal);
		if (!t[i].legal)
			assert_true(strlen(d.rule) > 10);
	}
}

/* A captured EBX is for the XCR0 of that moment. */
CASE(ENU_16)
{
	const struct cpu_spec spec = { .xcr0 = 0x207, .components = "2:256@576 9:8@2432",
				       .d1_eax = FORMS_ALL, .d0_ebx = 576 };
	struct xst_caps caps;

	(void)state;
	make_cpu(&spec, &caps);
	assert_int_equal(caps.d0_ebx, 576);
	assert_int_equal(size_of(&caps, 0x207, XST_STANDARD), 2440);
}

CASE(ENU_17)
{
	const struct cpu_spec spec = { .xcr0 = 0xe7, .d1_eax = FORMS_ALL, .d0_ebx = 576,
				       .components = "2:256@576 5:64@1088 6:512@1152 7:1024@1664" };
	struct xst_caps caps;

	(void)state;
	make_cpu(&spec, &caps);
	assert_int_equal(size_of(&caps, 0xe7, XST_STANDARD), 2688);
	assert_int_equal(caps.caveats & XST_CAVEAT_SUM_NOW, 0);
}

/* The size includes the legacy region and the header: nothing is added to it. */
CASE(ENU_18)
{
	const struct cpu_spec spec = { .xcr0 = 0x7, .components = "2:256@576", .d1_eax = 1 };
	struct xst_caps caps;

	(void)state;
	make_cpu(&spec, &caps);
	assert_int_equal(size_of(&caps, 0x7, XST_STANDARD), caps.d0_ebx);
	assert_int_equal(size_of(&caps, 0x7, XST_STANDARD), 832);
}

/* XSAVEOPT is a bit of sub-leaf 1, not bit 0 of leaf 7 EBX (FSGSBASE). */
CASE(ENU_19)
{
	struct cpu_spec spec = { .xcr0 = 0x7, .components = "2:256@576", .d1_eax = 1 };
	struct xst_cpuid_leaf l[72];
	struct xst_caps caps;
	size_t n;

	(void)state;
	n = make_leaves(&spec, l);
	assert_int_equal(xst_caps_from_leaves(l, n, NULL, &caps, NULL), XST_OK);
	assert_true(caps.xsaveopt);
	spec.d1_eax = 0;
	n = make_leaves(&spec, l);
	l[n++] = (struct xst_cpuid_leaf){ 7, 0, 0, 1, 0, 0 };
	assert_int_equal(xst_caps_from_leaves(l, n, NULL, &caps, NULL), XST_OK);
	assert_false(caps.xsaveopt);
}

/* An image with a supervisor component where IA32_XSS is 0: the restore faults. */
CASE(ENU_22)
{
	_Alignas(64) static unsigned char area[1024];
	struct xst_caps caps;
	struct xst_restore how;
	struct xst_diag d;

	(void)state;
	intel_spr(&caps);
	memset(area, 0, sizeof(area));
	xst_put32(area, XST_OFF_MXCSR, XST_MXCSR_INIT);
	xst_put64(area, XST_OFF_XCOMP_BV, 0x8000000000000107);
	memset(&how, 0, sizeof(how));
	how.caps = &caps;
	how.by = XST_BY_XRSTORS;
	how.xcr0 = how.rfbm = 0x7;
	how.xss = 0;
	assert_int_equal(xst_image_check(&how, area, sizeof(area), NULL, &d), XST_ERR_FAULT);
	xst_put64(area, XST_OFF_XCOMP_BV, 0x8000000000000007);
	assert_int_equal(xst_image_check(&how, area, sizeof(area), NULL, &d), XST_OK);
	assert_int_equal(xst_xss_check(0x100, 0x1800, &d), XST_ERR_ILLEGAL_MASK);
	assert_int_equal(d.component, XST_COMP_PT);
}

CASE(ENU_24)
{
	struct xst_diag d;

	(void)state;
	assert_int_equal(xst_xcr0_check(0x202e7, 0x602e7, &d), XST_ERR_ILLEGAL_MASK);
	assert_int_equal(d.component, XST_COMP_TILECFG);
	assert_int_equal(d.want, 0x60000);
	assert_int_equal(d.got, 0x20000);
	assert_int_equal(xst_xcr0_check(0x2e7, 0x602e7, &d), XST_OK);
	assert_int_equal(xst_xcr0_check(0x602e7, 0x602e7, &d), XST_OK);
	assert_int_equal(xst_xcr0_usable(0x202e7), 0x2e7);
}

/* SSE that is INIT is sixteen registers of zeros for whoever reads the image. */
CASE(ENU_25)
{
	_Alignas(64) static unsigned char from[832], to[832];
	const struct cpu_spec spec = { .xcr0 = 0x7, .components = "2:256@576", .d1_eax = 1 };
	struct xst_layout l;
	struct xst_image a = { from, sizeof(from), &l }, b = { to, sizeof(to), &l };
	struct xst_caps caps;

	(void)state;
	make_cpu(&spec, &caps);
	assert_int_equal(xst_layout_compute(&caps, 0x7, XST_STANDARD, &l, NULL), XST_OK);
	memset(from, 0xaa, sizeof(from));
	memset(to, 0x55, sizeof(to));
	memset(from + XST_HEADER_OFFSET, 0, XST_HEADER_BYTES);
	xst_put32(from, XST_OFF_MXCSR, XST_MXCSR_INIT);
	xst_put64(from, XST_OFF_XSTATE_BV, 0x1);
	assert_int_equal(xst_image_convert(&a, &b, NULL, NULL), XST_OK);
	for (unsigned i = 160; i < 416; i++)
		assert_int_equal(to[i], 0);
}

/* Bits 11 and 12 of sub-leaf 1 ECX belong to IA32_XSS, never to the user's image. */
CASE(ENU_26)
{
	const struct cpu_spec spec = { .xcr0 = 0x207, .xss = 0x1800, .d1_eax = FORMS_ALL,
				       .components = "2:256@576 9:8@2432 11:16s 12:24s" };
	struct xst_caps caps;

	(void)state;
	make_cpu(&spec, &caps);
	assert_int_equal(caps.xcr0, 0x207);
	assert_int_equal(caps.xss, 0x1800);
	assert_int_equal(size_of(&caps, 0x207, XST_STANDARD), 2440);
	assert_int_equal(size_of(&caps, 0x1a07, XST_STANDARD), 0);
	assert_int_equal(xst_xcr0_check(0x1a07, caps.xcr0 | caps.xss, NULL), XST_ERR_ILLEGAL_MASK);
}

CASE(ENU_27)
{
	struct xst_caps caps;

	(void)state;
	intel_spr(&caps);
	assert_int_equal(size_of(&caps, 0x2e7, XST_STANDARD), 2696);
	assert_int_equal(size_of(&caps, 0x602e7, XST_STANDARD), 11008);
}

/* A buffer for one mask is too small for another. */
CASE(ENU_28)
{
	struct xst_caps caps;

	(void)state;
	intel_spr(&caps);
	assert_int_equal(size_of(&caps, 0x2e7, XST_COMPACTED), 2440);
	assert_int_equal(size_of(&caps, 0x602e7, XST_COMPACTED), 10752);
}
