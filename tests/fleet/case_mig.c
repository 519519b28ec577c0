// SPDX-License-Identifier: BSD-2-Clause
/* Moving state from one CPU to another: what mask or size alone get wrong. */
#include "cases.h"

static struct xst_compat_report r;
static struct xst_diag d;

static int compare(uint64_t xcr0_a, const char *a, uint64_t xcr0_b, const char *b)
{
	const struct cpu_spec sa = { .xcr0 = xcr0_a, .components = a, .d1_eax = FORMS_ALL };
	const struct cpu_spec sb = { .xcr0 = xcr0_b, .components = b, .d1_eax = FORMS_ALL };
	struct xst_caps from, to;

	make_cpu(&sa, &from);
	make_cpu(&sb, &to);
	return xst_compat_cpus(&from, &to, ~0ULL, &r, &d);
}

#define SKX  "2:256@576 3:64@960 4:64@1024 5:64@1088 6:512@1152 7:1024@1664"
#define ZEN3 "2:256@576 9:8@2432"
#define ADL  "2:256@576 9:8@2688"

/* The target has more: what it has beyond the image is INIT. */
CASE(MIG_02)
{
	(void)state;
	assert_int_equal(compare(0xff, SKX, 0x2ff, SKX " 9:8@2688"), XST_VERDICT_OK);
	assert_int_equal(r.to_bytes - r.from_bytes, 8);
	assert_int_equal(r.extra, XST_MASK_PKRU);
}

/* Alder Lake: 2696 bytes without any AVX-512, since PKRU's place is past it. */
CASE(MIG_03)
{
	const struct cpu_spec spec = { .xcr0 = 0x207, .components = ADL, .d1_eax = FORMS_ALL };
	struct xst_caps caps;

	(void)state;
	make_cpu(&spec, &caps);
	assert_int_equal(size_of(&caps, 0x207, XST_STANDARD), 2696);
	assert_int_equal(caps.xcr0 & XST_MASK_AVX512, 0);
}

/* A check by size would refuse: nothing moves although 1088 became 2696. */
CASE(MIG_04)
{
	(void)state;
	assert_int_equal(compare(0x1f, INTEL_MPX, 0x21f, INTEL_MPX " 9:8@2688"), XST_VERDICT_OK);
	assert_int_equal(r.from_bytes, 1088);
	assert_int_equal(r.to_bytes, 2696);
	assert_true(r.size_only);
	assert_int_equal(r.same, 0x1f);
}

/* A check by mask would accept: PKRU moves. */
CASE(MIG_05)
{
	(void)state;
	assert_int_equal(compare(0x207, ZEN3, 0x207, ADL), XST_VERDICT_CONVERT);
	assert_int_equal(r.moved, XST_MASK_PKRU);
	assert_int_equal(d.component, XST_COMP_PKRU);
	assert_int_equal(d.got, 2432);
	assert_int_equal(d.want, 2688);
}

CASE(MIG_06)
{
	(void)state;
	assert_int_equal(compare(0x2e7, ZEN4, 0x2e7, INTEL_AVX512), XST_VERDICT_CONVERT);
	assert_int_equal(r.moved, 0x2e0);
	assert_int_equal(r.from_bytes, 2440);
	assert_int_equal(r.to_bytes, 2696);
}

/* A fixed buffer of 4096 bytes was too small for AMX. */
CASE(MIG_07)
{
	const struct cpu_spec spec = { .xcr0 = 0x602e7, .components = INTEL_SPR, .d1_eax = 0x1f };
	struct xst_caps caps;

	(void)state;
	make_cpu(&spec, &caps);
	assert_int_equal(size_of(&caps, 0x602e7, XST_STANDARD), 11008);
}

/* A process that cached the size on A has too small a buffer on B, and only in that direction. */
CASE(MIG_09)
{
	(void)state;
	compare(0x1f, INTEL_MPX, 0x21f, INTEL_MPX " 9:8@2688");
	assert_true(r.cached_size);
	compare(0x21f, INTEL_MPX " 9:8@2688", 0x1f, INTEL_MPX);
	assert_false(r.cached_size);
}

/* The refusal lists what is missing. */
CASE(MIG_12)
{
	(void)state;
	assert_int_equal(compare(0x2e7, INTEL_AVX512, 0x7, "2:256@576"), XST_VERDICT_REFUSE);
	assert_int_equal(r.missing, 0x2e0);
	assert_int_equal(d.code, XST_ERR_NOT_ENUMERATED);
	assert_int_equal(d.component, XST_COMP_OPMASK);
}

/* ok, convertible or refused, from two layouts alone. */
CASE(MIG_15)
{
	const struct cpu_spec sa = { .xcr0 = 0x2e7, .components = ZEN4, .d1_eax = FORMS_ALL };
	const struct cpu_spec sb = {.xcr0 = 0x2e7, .components = INTEL_AVX512, .d1_eax = FORMS_ALL};
	struct xst_layout zen, intel, small;
	struct xst_caps a, b;

	(void)state;
	make_cpu(&sa, &a);
	make_cpu(&sb, &b);
	assert_int_equal(xst_layout_compute(&a, 0x2e7, XST_STANDARD, &zen, NULL), XST_OK);
	assert_int_equal(xst_layout_compute(&b, 0x2e7, XST_STANDARD, &intel, NULL), XST_OK);
	assert_int_equal(xst_layout_compute(&b, 0x7, XST_STANDARD, &small, NULL), XST_OK);
	assert_int_equal(xst_compat_layouts(&zen, &zen, &r, &d), XST_VERDICT_OK);
	assert_int_equal(xst_compat_layouts(&zen, &intel, &r, &d), XST_VERDICT_CONVERT);
	assert_int_equal(d.code, XST_ERR_MISMATCH);
	assert_int_equal(xst_compat_layouts(&zen, &small, &r, &d), XST_VERDICT_REFUSE);
	assert_int_equal(r.missing, 0x2e0);
}
