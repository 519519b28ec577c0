// SPDX-License-Identifier: BSD-2-Clause
/* Reading CPUID: each trap that real machines and hypervisors set, and the facts beside sizes. */
#include "t.h"

#include <string.h>

#include <xst/layout.h>

/* A sound AVX CPU to spoil, in fixed places of a table. */
enum { L0, L1, L7, D0, D1, D2, D9, D11, E0, E1, E8, LEAVES };

static struct xst_cpuid_leaf l[LEAVES];
static struct xst_caps caps;

static void sound(void)
{
	const struct xst_cpuid_leaf good[LEAVES] = {
		[L0] = { 0, 0, 0xd, 0x756e6547, 0x6c65746e, 0x49656e69 },
		[L1] = { 1, 0, 0x906ea, 0, 1u << 26 | 1u << 28, 1u | 1u << 23 | 7u << 24 },
		[L7] = { 7, 0, 0, 0, 1u << 3 | 1u << 7, 0 },
		[D0] = { 0xd, 0, 0x207, 2696, 2696, 0 },
		[D1] = { 0xd, 1, 0xf, 856, 0x800, 0 },
		[D2] = { 0xd, 2, 256, 576, 0, 0 },
		[D9] = { 0xd, 9, 8, 2688, 0, 0 },
		[D11] = { 0xd, 11, 16, 0, 1, 0 },
		[E0] = { 0x80000000u, 0, 0x80000008u, 0, 0, 0 },
		[E1] = { 0x80000001u, 0, 0, 0, 0, 0 },
		[E8] = { 0x80000008u, 0, 0, 0, 0, 0 },
	};

	memcpy(l, good, sizeof(l));
}

static void read_it(void)
{
	assert_int_equal(xst_caps_from_leaves(l, LEAVES, NULL, &caps, NULL), XST_OK);
}

/* What the CPU enumerates, without the defaults for what CPUID does not hold. */
static uint32_t odd(void)
{
	return caps.caveats &
	       ~(uint32_t)(XST_CAVEAT_MXCSR_MASK_ASSUMED | XST_CAVEAT_MICROCODE_UNKNOWN);
}

static int setup(void **state)
{
	(void)state;
	sound();
	return 0;
}

static void a_sound_cpu_has_no_caveat(void **state)
{
	(void)state;
	read_it();
	assert_int_equal(odd(), 0);
	assert_string_equal(caps.vendor, "GenuineIntel");
	assert_int_equal(caps.family, 6);
	assert_int_equal(caps.model, 0x9e);
	assert_int_equal(caps.stepping, 10);
	assert_true(caps.fxsr && caps.sse && caps.xsave && caps.xsaves && caps.xgetbv1 && caps.avx);
	assert_int_equal(caps.xcr0, 0x207);
	assert_int_equal(caps.xss, 0x800);
	assert_int_equal(xst_caps_placed(&caps), 0xa07);
}

/* One change to the table, one caveat, about the right components. */
static void only(uint32_t caveat, uint64_t components)
{
	read_it();
	assert_int_equal(odd(), caveat);
	assert_int_equal(xst_caveat_components(&caps, caveat), components);
	if (!(caveat & (caveat - 1)) && caveat)
		assert_non_null(xst_caveat_info(caveat));
}

static void xsave_with_maximum_leaf_1(void **state)
{
	(void)state;
	l[L0].eax = 1;
	/* Leaf 7 and 0DH are beyond the maximum as well, so they do not count. */
	l[D0].eax = l[D0].ebx = l[D0].ecx = 0;
	only(XST_CAVEAT_XSAVE_WITHOUT_LEAF, 0);
	assert_false(caps.xsave);
	assert_int_equal(caps.xcr0, 0);
}

static void junk_above_the_maximum_leaf(void **state)
{
	(void)state;
	l[L0].eax = 0xb;
	only(XST_CAVEAT_XSAVE_WITHOUT_LEAF | XST_CAVEAT_JUNK_LEAF, 0);
	assert_false(caps.xsave);
	l[L1].ecx &= ~(1u << 26);
	only(XST_CAVEAT_JUNK_LEAF, 0);
}

static void xsave_that_lists_nothing(void **state)
{
	(void)state;
	l[D0].eax = 0;
	only(XST_CAVEAT_EMPTY_LEAF, 0);
	assert_false(caps.xsave);
}

static void xsave_hidden_but_leaf_shown(void **state)
{
	(void)state;
	l[L1].ecx &= ~(1u << 26);
	only(XST_CAVEAT_HIDDEN_LEAF, 0);
	assert_int_equal(caps.xcr0 | caps.xss, 0);
}

static void subleaf_without_size(void **state)
{
	(void)state;
	l[D9].eax = 0;
	only(XST_CAVEAT_EMPTY_SUBLEAF, XST_MASK_PKRU);
	assert_int_equal(xst_caps_placed(&caps), 0x807);
}

static void subleaf_that_is_not_listed(void **state)
{
	(void)state;
	l[D0].eax = 0x7;
	l[D0].ebx = l[D0].ecx = 832;
	l[D1].ebx = 848;
	l[L7].ecx &= ~(1u << 3);
	only(XST_CAVEAT_HIDDEN_SUBLEAF, XST_MASK_PKRU);
	assert_int_equal(xst_caps_placed(&caps), 0x807);
}

static void sums_that_lie(void **state)
{
	(void)state;
	l[D0].ecx = 11008;
	only(XST_CAVEAT_SUM_STANDARD, 0);
	sound();
	l[D0].ebx = 700;
	only(XST_CAVEAT_SUM_NOW, 0);
	sound();
	l[D1].ebx = 11776;
	only(XST_CAVEAT_SUM_COMPACTED, 0);
	sound();
	l[D1].ebx = 0;
	only(XST_CAVEAT_SUM_MISSING, 0);
	sound();
	l[D1].eax = 1;
	l[D1].ecx = 0;
	l[D11].eax = l[D11].ecx = 0;
	only(XST_CAVEAT_SUM_WITHOUT_FORM, 0);
	/* What CPUID sums for the XCR0 in force may be any component's end. */
	sound();
	l[D0].ebx = 832;
	only(0, 0);
	l[D0].ebx = 576;
	read_it();
	assert_int_equal(odd(), 0);
}

static void wrong_places(void **state)
{
	(void)state;
	l[D9].ebx = 800; /* inside AVX */
	read_it();
	assert_int_not_equal(odd() & XST_CAVEAT_OVERLAP, 0);
	sound();
	l[D9].ebx = 100;
	read_it();
	assert_int_equal(xst_caveat_components(&caps, XST_CAVEAT_NO_OFFSET), XST_MASK_PKRU);
	assert_int_equal(xst_caps_placed(&caps), 0x807);
	sound();
	l[D11].ebx = 2700;
	only(XST_CAVEAT_SUPERVISOR_OFFSET, XST_MASK_CET_U);
	/* A size that would overflow a sum is no size. */
	sound();
	l[D9].eax = 0xfffffff0u;
	read_it();
	assert_int_equal(xst_caps_placed(&caps) & XST_MASK_PKRU, 0);
	assert_int_equal(
		xst_layout_compute(&caps, 0x207, XST_COMPACTED, &(struct xst_layout){0}, NULL),
		XST_ERR_NOT_ENUMERATED);
}

static void wrong_kinds(void **state)
{
	(void)state;
	l[D0].eax |= 1u << 11;
	read_it();
	assert_int_equal(xst_caveat_components(&caps, XST_CAVEAT_SUPERVISOR_IN_XCR0),
			 XST_MASK_CET_U);
	sound();
	l[D1].ecx |= 1u << 9;
	read_it();
	assert_int_equal(xst_caveat_components(&caps, XST_CAVEAT_USER_IN_XSS), XST_MASK_PKRU);
	sound();
	l[D1].eax &= ~8u;
	l[D11].eax = 0;
	l[D1].ebx = 840;
	only(XST_CAVEAT_XSS_WITHOUT_XSAVES, 0);
	assert_int_equal(caps.xss, 0);
}

static void unknown_and_unusable(void **state)
{
	(void)state;
	l[D0].eax |= 1u << 25;
	l[D9] = (struct xst_cpuid_leaf){ 0xd, 25, 8, 2688, 0, 0 };
	l[D0].eax &= ~(1u << 9);
	l[L7].ecx &= ~(1u << 3);
	only(XST_CAVEAT_UNKNOWN_COMPONENT, 1u << 25);
	sound();
	l[D0].eax = 0x7 | 1u << 17;
	l[D9] = (struct xst_cpuid_leaf){ 0xd, 17, 64, 2688, 2, 0 };
	l[D0].ebx = l[D0].ecx = 2752;
	l[L7].ecx &= ~(1u << 3);
	l[L7].edx = 1u << 24;
	read_it();
	assert_int_equal(xst_caveat_components(&caps, XST_CAVEAT_UNUSABLE), XST_MASK_TILECFG);
	sound();
	l[D9].eax = 12;
	l[D0].ebx = l[D0].ecx = 2700;
	read_it();
	assert_int_equal(xst_caveat_components(&caps, XST_CAVEAT_ODD_BYTES), XST_MASK_PKRU);
}

static void flags_and_components(void **state)
{
	(void)state;
	/* Zen 2: 64 bytes of PKRU, but no PKU. */
	l[D9].eax = 64;
	l[D0].ebx = l[D0].ecx = 2752;
	l[D1].ebx = 912;
	l[L7].ecx &= ~(1u << 3);
	only(XST_CAVEAT_COMPONENT_NO_FLAG, XST_MASK_PKRU);
	sound();
	l[L7].ebx = 1u << 16;
	only(XST_CAVEAT_FLAG_NO_COMPONENT, XST_MASK_AVX512);
	/* CET by either of its flags. */
	sound();
	l[L7].ecx &= ~(1u << 7);
	l[L7].edx = 1u << 20;
	only(0, 0);
}

static void forms_that_do_not_fit(void **state)
{
	(void)state;
	l[D1].eax |= 1u << 4;
	only(XST_CAVEAT_XFD_NO_COMPONENT, 0);
	sound();
	l[D9].ecx = 4;
	only(XST_CAVEAT_COMPONENT_NO_XFD, XST_MASK_PKRU);
	sound();
	l[D1].eax &= ~4u;
	only(XST_CAVEAT_XSAVES_NO_XGETBV1, 0);
}

static void what_a_dump_does_not_hold(void **state)
{
	const struct xst_caps_extra known = { .mxcsr_mask = 0xffbf, .microcode = 0x0830107a };

	(void)state;
	read_it();
	assert_int_equal(caps.mxcsr_mask, 0xffff);
	assert_int_not_equal(caps.caveats & XST_CAVEAT_MXCSR_MASK_ASSUMED, 0);
	assert_int_not_equal(caps.caveats & XST_CAVEAT_MICROCODE_UNKNOWN, 0);
	l[E1].ecx = 1u << 7; /* misaligned SSE */
	read_it();
	assert_int_equal(caps.mxcsr_mask, 0x2ffff);
	assert_int_equal(xst_caps_from_leaves(l, LEAVES, &known, &caps, NULL), XST_OK);
	assert_int_equal(caps.mxcsr_mask, 0xffbf);
	assert_int_equal(caps.microcode, 0x0830107a);
	assert_int_equal(caps.caveats, 0);
}

static void erratum_1386(void **state)
{
	struct xst_caps_extra extra = { 0xffff, 0 };
	static const struct {
		uint32_t eax, microcode;
		bool affected;
	} t[] = {
		{ 0x00830f10, 0, true },	  /* Rome, unknown microcode */
		{ 0x00830f10, 0x08301051, true },
		{ 0x00830f10, 0x08301052, false },
		{ 0x00800f12, 0x0800126e, false },
		{ 0x00870f10, 0x08701030, true }, /* Matisse got no fix */
		{ 0x00a00f11, 0, false },	  /* Zen 3 */
	};

	(void)state;
	l[L0] = (struct xst_cpuid_leaf){ 0, 0, 0xd, 0x68747541, 0x444d4163, 0x69746e65 };
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		l[L1].eax = t[i].eax;
		extra.microcode = t[i].microcode;
		assert_int_equal(xst_caps_from_leaves(l, LEAVES, &extra, &caps, NULL), XST_OK);
		assert_int_equal(xst_caps_erratum_1386(&caps), t[i].affected);
	}
	/* The same CPU without XSAVES has nothing to lose. */
	l[L1].eax = t[0].eax;
	l[D1].eax = 7;
	l[D1].ecx = 0;
	read_it();
	assert_false(xst_caps_erratum_1386(&caps));
}

static void leaky_cpus(void **state)
{
	static const struct {
		uint32_t eax;
		bool leaky;
	} t[] = {
		{ 0x506e3, true },  /* Skylake */
		{ 0x206a7, true },  /* Sandy Bridge */
		{ 0x106c2, false }, /* Atom Diamondville */
		{ 0xf24, false },   /* Pentium 4 is not family 6 */
		{ 0xff06ff, true }, /* a family 6 model nobody knows */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		l[L1].eax = t[i].eax;
		read_it();
		assert_int_equal(xst_caps_leaky(&caps), t[i].leaky);
	}
	l[L1].eax = 0x506e3;
	l[L0] = (struct xst_cpuid_leaf){ 0, 0, 0xd, 0x68747541, 0x444d4163, 0x69746e65 };
	read_it();
	assert_false(xst_caps_leaky(&caps));
}

/* The pointers leak on AMD and Hygon without the bit, and never on Intel. */
static void fip_leak(void **state)
{
	(void)state;
	read_it();
	assert_false(caps.fip_leak);
	l[L0] = (struct xst_cpuid_leaf){ 0, 0, 0xd, 0x68747541, 0x444d4163, 0x69746e65 };
	read_it();
	assert_true(caps.fip_leak);
	l[E8].ebx = 1u << 2;
	read_it();
	assert_false(caps.fip_leak);
}

static void cpus_that_disagree(void **state)
{
	struct xst_caps boot;
	struct xst_diag d;

	(void)state;
	read_it();
	boot = caps;
	assert_int_equal(xst_caps_agree(&boot, &caps, &d), XST_OK);
	/* What depends on the XCR0 in force may differ. */
	l[D0].ebx = 576;
	l[D1].ebx = 576;
	read_it();
	assert_int_equal(xst_caps_agree(&boot, &caps, &d), XST_OK);

	sound();
	l[D0].eax &= ~(1u << 9);
	read_it();
	assert_int_equal(xst_caps_agree(&boot, &caps, &d), XST_ERR_MISMATCH);
	assert_int_equal(d.component, XST_COMP_PKRU);
	sound();
	l[D9].ebx = 2432;
	read_it();
	assert_int_equal(xst_caps_agree(&boot, &caps, &d), XST_ERR_MISMATCH);
	assert_int_equal(d.component, XST_COMP_PKRU);
	assert_int_equal(d.want, 2688);
	assert_int_equal(d.got, 2432);
	assert_int_equal(d.offset, 0xd09);
	sound();
	l[D11].ecx |= 2;
	read_it();
	assert_int_equal(xst_caps_agree(&boot, &caps, &d), XST_ERR_MISMATCH);
	assert_int_equal(d.component, XST_COMP_CET_U);
	sound();
	l[D1].eax &= ~1u;
	read_it();
	assert_int_equal(xst_caps_agree(&boot, &caps, &d), XST_ERR_MISMATCH);
	sound();
	l[E1].ecx = 1u << 7;
	read_it();
	assert_int_equal(xst_caps_agree(&boot, &caps, &d), XST_ERR_MISMATCH);
	assert_int_equal(d.component, XST_COMP_SSE);
}

static void no_leaf_0(void **state)
{
	struct xst_diag d;

	(void)state;
	memset(&caps, 0x5a, sizeof(caps));
	assert_int_equal(xst_caps_from_leaves(l + 1, LEAVES - 1, NULL, &caps, &d), XST_ERR_INVALID);
	assert_false(caps.xsave);
	assert_int_equal(xst_caps_from_leaves(l, 0, NULL, &caps, NULL), XST_ERR_INVALID);
}

static void every_caveat_has_words(void **state)
{
	uint32_t bit, known = 0;

	(void)state;
	for (bit = 1; bit; bit <<= 1) {
		const struct xst_caveat_info *info = xst_caveat_info(bit);

		if (!info)
			continue;
		known |= bit;
		assert_int_equal(info->caveat, bit);
		assert_true(strlen(info->id) > 3 && strlen(info->words) > 10);
		/* A short name is one word, so that programs can split it off. */
		assert_null(strpbrk(info->id, " :"));
	}
	assert_int_equal(__builtin_popcount(known), 27);
	assert_null(xst_caveat_info(3));
}

/* comp.def itself: what its columns promise about each other. */
static void components(void **state)
{
	unsigned id;

	(void)state;
	for (id = 0; id < 64; id++) {
		const struct xst_comp_info *c = xst_comp_info(id);
		unsigned other;

		assert_int_equal(c != NULL, id <= 19 || id == 62);
		if (!c)
			continue;
		assert_int_equal(c->id, id);
		assert_true(c->flag != XST_FLAG_NONE);
		assert_int_equal(c->needs & XST_MASK(id), 0);
		assert_int_equal(c->excludes & XST_MASK(id), 0);
		assert_int_equal(c->kind == XST_KIND_USER, (XST_MASK_USER >> id) & 1);
		/* Supervisor state is not guarded by TS and obeys no rule of XCR0. */
		if (c->kind == XST_KIND_SUPER)
			assert_true(!c->ts_guarded && !c->needs && !c->together && !c->excludes);
		if (c->together)
			assert_int_not_equal(c->together & XST_MASK(id), 0);
		for (other = 0; other < 20; other++) {
			const struct xst_comp_info *o = xst_comp_info(other);

			if (c->together & XST_MASK(other))
				assert_int_equal(o->together, c->together);
			assert_int_equal(c->excludes >> other & 1, o->excludes >> id & 1);
		}
	}
	assert_int_equal(XST_MASK_USER, 0x40000000000e02ffULL);
	assert_int_equal(XST_MASK_SUPER, 0x1fd00);
	assert_int_equal(XST_MASK_TS_GUARDED, 0x600e7);
}

static void xss_rules(void **state)
{
	struct xst_diag d;

	(void)state;
	assert_int_equal(xst_xss_check(0, 0, &d), XST_OK);
	assert_int_equal(xst_xss_check(0x1800, 0x1900, &d), XST_OK);
	/* Either half of CET may be enabled alone. */
	assert_int_equal(xst_xss_check(0x800, 0x1800, &d), XST_OK);
	assert_int_equal(xst_xss_check(0x1000, 0x1800, &d), XST_OK);
	assert_int_equal(xst_xss_check(0x100, 0x1800, &d), XST_ERR_ILLEGAL_MASK);
	assert_int_equal(d.component, XST_COMP_PT);
	assert_int_equal(xst_xss_check(0x204, ~0ULL, &d), XST_ERR_ILLEGAL_MASK);
	assert_int_equal(d.component, XST_COMP_AVX);
	assert_int_equal(xst_xss_check(1ULL << 63, 0x1800, &d), XST_ERR_ILLEGAL_MASK);
}

/* The leaf a guest is shown: sizes of its profile, flags of the CPU, and refusals. */
static void guest_leaf(void **state)
{
	struct xst_cpuid_leaf g = { 0, 0, 0, 0, 0, 0 };
	struct xst_diag d;

	(void)state;
	read_it();
	assert_int_equal(xst_caps_leaf_d(&caps, 0x7, 0, 0x3, 0, 0, &g, &d), XST_OK);
	assert_int_equal(g.eax, 0x7);
	assert_int_equal(g.ebx, 576);
	assert_int_equal(g.ecx, 832);
	assert_int_equal(xst_caps_leaf_d(&caps, 0x207, 0x800, 0x207, 0x800, 1, &g, &d), XST_OK);
	assert_int_equal(g.eax, 0xf);
	assert_int_equal(g.ebx, 856);
	assert_int_equal(g.ecx, 0x800);
	assert_int_equal(xst_caps_leaf_d(&caps, 0x207, 0x800, 1, 0, 11, &g, &d), XST_OK);
	assert_int_equal(g.eax, 16);
	assert_int_equal(g.ecx, 1);
	/* A component outside the profile shows nothing. */
	assert_int_equal(xst_caps_leaf_d(&caps, 0x7, 0, 1, 0, 9, &g, &d), XST_OK);
	assert_int_equal(g.eax | g.ebx | g.ecx | g.edx, 0);
	g.eax = 0x5a5a5a5a;
	assert_int_equal(xst_caps_leaf_d(&caps, 0x5, 0, 1, 0, 0, &g, &d), XST_ERR_ILLEGAL_MASK);
	assert_int_equal(xst_caps_leaf_d(&caps, 0xe7, 0, 1, 0, 0, &g, &d), XST_ERR_ILLEGAL_MASK);
	assert_int_equal(xst_caps_leaf_d(&caps, 0x7, 0x100, 1, 0, 0, &g, &d), XST_ERR_ILLEGAL_MASK);
	assert_int_equal(xst_caps_leaf_d(&caps, 0x7, 0, 0x207, 0, 0, &g, &d), XST_ERR_ILLEGAL_MASK);
	assert_int_equal(g.eax, 0x5a5a5a5a);
}

static void layout_refusals(void **state)
{
	struct xst_layout lay;
	struct xst_diag d;

	(void)state;
	read_it();
	assert_int_equal(xst_layout_compute(&caps, 0xe7, XST_STANDARD, &lay, &d),
			 XST_ERR_NOT_ENUMERATED);
	assert_int_equal(d.component, XST_COMP_OPMASK);
	assert_int_equal(xst_layout_compute(&caps, 0xa07, XST_STANDARD, &lay, &d),
			 XST_ERR_NOT_ENUMERATED);
	assert_int_equal(d.component, XST_COMP_CET_U);
	caps.xsavec = caps.xsaves = false;
	assert_int_equal(xst_layout_compute(&caps, 0x7, XST_COMPACTED, &lay, &d),
			 XST_ERR_UNSUPPORTED);
	caps.xsave = false;
	assert_int_equal(xst_layout_compute(&caps, 0x7, XST_STANDARD, &lay, &d),
			 XST_ERR_UNSUPPORTED);
	sound();
	l[D9].ebx = 700;
	read_it();
	assert_int_equal(xst_layout_compute(&caps, 0x207, XST_STANDARD, &lay, &d), XST_ERR_OVERLAP);
	/* Compacted places cannot collide. */
	assert_int_equal(xst_layout_compute(&caps, 0x207, XST_COMPACTED, &lay, &d), XST_OK);
}

#define T(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_sound_cpu_has_no_caveat), T(xsave_with_maximum_leaf_1),
		T(junk_above_the_maximum_leaf), T(xsave_that_lists_nothing),
		T(xsave_hidden_but_leaf_shown), T(subleaf_without_size),
		T(subleaf_that_is_not_listed), T(sums_that_lie), T(wrong_places), T(wrong_kinds),
		T(unknown_and_unusable), T(flags_and_components), T(forms_that_do_not_fit),
		T(what_a_dump_does_not_hold), T(erratum_1386), T(leaky_cpus), T(fip_leak),
		T(cpus_that_disagree), T(no_leaf_0), T(every_caveat_has_words), T(components),
		T(xss_rules), T(guest_leaf), T(layout_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
