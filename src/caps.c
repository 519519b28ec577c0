// SPDX-License-Identifier: BSD-2-Clause
/* Read one CPU's CPUID, from the CPU itself or from a table, and note what is odd about it. */
#include <xst/caps.h>
#include <xst/layout.h>
#include <xst/insn.h>

#include "caveat.h"

#define BIT(reg, n) (((reg) >> (n)) & 1u)
/* A larger "maximum extended leaf" is junk of a CPU that has none. */
#define EXT_MAX     0x8000ffffu

typedef struct xst_cpuid_leaf leaf_t;

/* Where the leaves come from: a table, or the instruction. */
struct source {
	const leaf_t *table; /* NULL: execute CPUID */
	size_t count;
};

static leaf_t get(const struct source *src, uint32_t leaf, uint32_t subleaf)
{
	leaf_t l = {leaf, subleaf, 0, 0, 0, 0};
	size_t i;

	if (!src->table) {
		xst_cpuid(leaf, subleaf, &l.eax, &l.ebx, &l.ecx, &l.edx);
		return l;
	}
	for (i = 0; i < src->count; i++)
		if (src->table[i].leaf == leaf && src->table[i].subleaf == subleaf)
			return src->table[i];
	return l;
}

static void put4(char *dst, uint32_t v)
{
	unsigned i;

	for (i = 0; i < 4; i++)
		dst[i] = (char)(v >> (8 * i));
}

static bool vendor_is(const struct xst_caps *caps, const char *name)
{
	unsigned i;

	for (i = 0; i < 12; i++)
		if (caps->vendor[i] != name[i])
			return false;
	return true;
}

static void read_identity(const struct source *src, struct xst_caps *caps)
{
	leaf_t l0 = get(src, 0, 0), l1 = get(src, 1, 0);
	uint32_t max_ext = get(src, 0x80000000u, 0).eax;
	uint32_t base_family = (l1.eax >> 8) & 0xf, i;

	put4(caps->vendor, l0.ebx);
	put4(caps->vendor + 4, l0.edx);
	put4(caps->vendor + 8, l0.ecx);
	caps->max_leaf = l0.eax;
	caps->family = (uint16_t)(base_family + (base_family == 0xf ? (l1.eax >> 20) & 0xff : 0));
	caps->model = (uint16_t)((l1.eax >> 4) & 0xf);
	if (base_family == 0xf || base_family == 6)
		caps->model = (uint16_t)(caps->model | ((l1.eax >> 12) & 0xf0));
	caps->stepping = (uint16_t)(l1.eax & 0xf);
	if (max_ext >= 0x80000004u && max_ext <= EXT_MAX)
		for (i = 0; i < 3; i++) {
			leaf_t b = get(src, 0x80000002u + i, 0);

			put4(caps->brand + 16 * i, b.eax);
			put4(caps->brand + 16 * i + 4, b.ebx);
			put4(caps->brand + 16 * i + 8, b.ecx);
			put4(caps->brand + 16 * i + 12, b.edx);
		}
}

static void read_features(const struct source *src, const struct xst_caps_extra *extra,
			  struct xst_caps *caps)
{
	leaf_t l1 = get(src, 1, 0);
	leaf_t l7 = caps->max_leaf >= 7 ? get(src, 7, 0) : (leaf_t){0, 0, 0, 0, 0, 0};
	uint32_t max_ext = get(src, 0x80000000u, 0).eax;
	leaf_t e1 = {0, 0, 0, 0, 0, 0}, e8 = {0, 0, 0, 0, 0, 0};

	if (max_ext >= 0x80000001u && max_ext <= EXT_MAX)
		e1 = get(src, 0x80000001u, 0);
	if (max_ext >= 0x80000008u && max_ext <= EXT_MAX)
		e8 = get(src, 0x80000008u, 0);
	caps->fpu = BIT(l1.edx, 0);
	caps->mmx = BIT(l1.edx, 23);
	caps->fxsr = BIT(l1.edx, 24);
	caps->sse = BIT(l1.edx, 25);
	caps->sse2 = BIT(l1.edx, 26);
	caps->xsave = BIT(l1.ecx, 26);
	caps->osxsave = BIT(l1.ecx, 27);
	caps->avx = BIT(l1.ecx, 28);
	caps->vmx = BIT(l1.ecx, 5);
	caps->hypervisor = BIT(l1.ecx, 31);
	caps->avx512f = BIT(l7.ebx, 16);
	caps->fdp_excptn_only = BIT(l7.ebx, 6);
	caps->fcs_fds_zero = BIT(l7.ebx, 13);
	caps->pku = BIT(l7.ecx, 3);
	caps->ospke = BIT(l7.ecx, 4);
	caps->cet_ss = BIT(l7.ecx, 7);
	caps->cet_ibt = BIT(l7.edx, 20);
	caps->amx_tile = BIT(l7.edx, 24);
	caps->svm = BIT(e1.ecx, 2);
	/* The bit is clear on Intel too, where it means nothing. */
	caps->fip_leak = (vendor_is(caps, "AuthenticAMD") || vendor_is(caps, "HygonGenuine")) &&
			 !BIT(e8.ebx, 2);
	caps->microcode = extra ? extra->microcode : 0;
	caps->mxcsr_mask = extra ? extra->mxcsr_mask : 0;
	if (!caps->microcode)
		caps->caveats |= XST_CAVEAT_MICROCODE_UNKNOWN;
	if (!caps->mxcsr_mask) {
		/* Misaligned-SSE mode is MXCSR bit 17 (AMD). */
		caps->mxcsr_mask = 0xffffu | (BIT(e1.ecx, 7) << 17);
		caps->caveats |= XST_CAVEAT_MXCSR_MASK_ASSUMED;
	}
}

/* Which components have a use, by the flags that comp.def names. */
static uint64_t read_flagged(const struct source *src, uint32_t max_leaf, uint32_t max_ext)
{
	uint64_t flagged = 0;
	unsigned id, k;

	for (id = 0; id < 63; id++) {
		const struct xst_comp_info *c = xst_comp_info(id);

		for (k = 0; c && k < 2; k++) {
			uint64_t flag = k ? c->flag2 : c->flag;
			uint32_t leaf = XST_FLAG_LEAF(flag), reg;
			leaf_t l;

			if (!flag || leaf > (leaf >> 31 ? max_ext : max_leaf))
				continue;
			l = get(src, leaf, XST_FLAG_SUBLEAF(flag));
			reg = XST_FLAG_REG(flag) == XST_REG_EAX	  ? l.eax
			      : XST_FLAG_REG(flag) == XST_REG_EBX ? l.ebx
			      : XST_FLAG_REG(flag) == XST_REG_ECX ? l.ecx
								  : l.edx;
			if (BIT(reg, XST_FLAG_BIT(flag)))
				flagged |= XST_MASK(id);
		}
	}
	return flagged;
}

static void read_component(const struct source *src, struct xst_caps *caps, unsigned i)
{
	leaf_t l = get(src, 0xd, i);
	struct xst_comp_caps *c = &caps->comp[i];

	c->bytes = l.eax;
	c->offset = l.ebx;
	c->supervisor = BIT(l.ecx, 0);
	c->align64 = BIT(l.ecx, 1);
	c->xfd = BIT(l.ecx, 2);
}

static void read_xsave(const struct source *src, struct xst_caps *caps)
{
	leaf_t d0 = get(src, 0xd, 0), d1;
	bool filled = (d0.eax | d0.ebx | d0.ecx | d0.edx) != 0;
	unsigned i;

	if (!caps->xsave) {
		if (filled)
			caps->caveats |= caps->max_leaf < 0xd ? XST_CAVEAT_JUNK_LEAF
							      : XST_CAVEAT_HIDDEN_LEAF;
		return;
	}
	caps->xsave = false;
	if (caps->max_leaf < 0xd) {
		/* Above the maximum leaf Intel CPUs repeat the highest one: never believe it. */
		caps->caveats |=
			XST_CAVEAT_XSAVE_WITHOUT_LEAF | (filled ? XST_CAVEAT_JUNK_LEAF : 0);
		return;
	}
	if (!d0.eax && !d0.edx) {
		caps->caveats |= XST_CAVEAT_EMPTY_LEAF;
		return;
	}
	caps->xsave = true;
	d1 = get(src, 0xd, 1);
	caps->xcr0 = (uint64_t)d0.edx << 32 | d0.eax;
	caps->d0_ebx = d0.ebx;
	caps->d0_ecx = d0.ecx;
	caps->d1_ebx = d1.ebx;
	caps->xsaveopt = BIT(d1.eax, 0);
	caps->xsavec = BIT(d1.eax, 1);
	caps->xgetbv1 = BIT(d1.eax, 2);
	caps->xsaves = BIT(d1.eax, 3);
	caps->xfd = BIT(d1.eax, 4);
	if (caps->xsaves)
		caps->xss = (uint64_t)d1.edx << 32 | d1.ecx;
	else if (d1.ecx | d1.edx)
		caps->caveats |= XST_CAVEAT_XSS_WITHOUT_XSAVES;
	for (i = 2; i < 63; i++)
		read_component(src, caps, i);
	xst_caveats_judge(caps);
}

static int read_all(const struct source *src, const struct xst_caps_extra *extra,
		    struct xst_caps *caps)
{
	uint32_t max_ext;

	__builtin_memset(caps, 0, sizeof(*caps));
	read_identity(src, caps);
	read_features(src, extra, caps);
	max_ext = get(src, 0x80000000u, 0).eax;
	caps->flagged = read_flagged(src, caps->max_leaf,
				     max_ext <= EXT_MAX ? max_ext : 0);
	read_xsave(src, caps);
	return XST_OK;
}

int xst_caps_from_leaves(const struct xst_cpuid_leaf *leaves, size_t count,
			 const struct xst_caps_extra *extra, struct xst_caps *caps,
			 struct xst_diag *diag)
{
	const struct source src = {leaves, count};
	size_t i;

	for (i = 0; i < count; i++)
		if (leaves[i].leaf == 0)
			return read_all(&src, extra, caps);
	__builtin_memset(caps, 0, sizeof(*caps));
	return xst_diag_set(diag, XST_ERR_INVALID, XST_DIAG_NO_COMPONENT, 0, 1, 0,
			    "no CPUID leaf 0");
}

int xst_caps_native(struct xst_caps *caps)
{
	const struct source src = {NULL, 0};

	if (!xst_has_cpuid()) {
		__builtin_memset(caps, 0, sizeof(*caps));
		return XST_ERR_UNSUPPORTED;
	}
	return read_all(&src, NULL, caps);
}

/* Intel family 6 models whose out-of-order core forwards registers past a pending #NM, and those
 * which do not. Facts of the vendor's advisory; a row each. */
enum leaky { LEAKS, SAFE };
static const struct {
	uint8_t model;
	uint8_t leaky;
} intel6[] = {
#define XST_LEAKY(model, verdict, name) {model, verdict},
#include "leaky.def"
};

uint64_t xst_caps_placed(const struct xst_caps *caps)
{
	uint64_t placed = (caps->xcr0 | caps->xss) & XST_MASK_LEGACY, rest;

	for (rest = (caps->xcr0 | caps->xss) & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
		unsigned i = xst_mask_first(rest);
		const struct xst_comp_caps *c = &caps->comp[i];
		bool user = caps->xcr0 & XST_MASK(i);

		if (xst_comp_place_ok(c, user))
			placed |= XST_MASK(i);
	}
	return placed;
}

/* The first component in which two masks differ, as a mismatch. */
static int differ(struct xst_diag *diag, uint32_t leaf, uint64_t want, uint64_t got,
		  const char *rule)
{
	return xst_diag_set(diag, XST_ERR_MISMATCH, xst_mask_first(want ^ got), leaf, want,
			    got, rule);
}

/* What an instruction or a register of the machine needs; each newer form has its own flag. */
static uint32_t forms(const struct xst_caps *c)
{
	return (uint32_t)(c->fxsr | c->xsave << 1 | c->xsaveopt << 2 | c->xsavec << 3 |
			  c->xgetbv1 << 4 | c->xsaves << 5 | c->xfd << 6 | c->pku << 7);
}

static uint32_t properties(const struct xst_comp_caps *c)
{
	return (uint32_t)(c->supervisor | c->align64 << 1 | c->xfd << 2);
}

int xst_caps_cover(const struct xst_caps *boot, const struct xst_caps *ap, uint64_t mask,
		   struct xst_diag *diag)
{
	const uint64_t missing = mask & ~(ap->xcr0 | ap->xss);
	uint64_t rest;

	if (missing)
		return differ(diag, missing & boot->xss ? 0xd01 : 0xd00, mask, mask & ~missing,
			      "this CPU lacks a component of the first one");
	for (rest = mask & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
		unsigned i = xst_mask_first(rest);
		const struct xst_comp_caps *a = &boot->comp[i], *b = &ap->comp[i];

		if (a->bytes != b->bytes)
			return xst_diag_set(diag, XST_ERR_MISMATCH, i, 0xd00 | i, a->bytes,
					    b->bytes, "the component has another size");
		if (a->offset != b->offset)
			return xst_diag_set(diag, XST_ERR_MISMATCH, i, 0xd00 | i, a->offset,
					    b->offset, "the component has another offset");
		if (properties(a) != properties(b))
			return xst_diag_set(diag, XST_ERR_MISMATCH, i, 0xd00 | i, properties(a),
					    properties(b), "the component has other properties");
	}
	if (forms(boot) & ~forms(ap))
		return xst_diag_set(diag, XST_ERR_MISMATCH, XST_DIAG_NO_COMPONENT, 0xd01,
				    forms(boot), forms(ap),
				    "the CPUs have different save instructions");
	if (boot->mxcsr_mask & ~ap->mxcsr_mask)
		return xst_diag_set(diag, XST_ERR_MISMATCH, XST_COMP_SSE, 0, boot->mxcsr_mask,
				    ap->mxcsr_mask, "the CPUs accept different MXCSR bits");
	return XST_OK;
}

int xst_caps_agree(const struct xst_caps *boot, const struct xst_caps *ap, struct xst_diag *diag)
{
	const uint64_t all = boot->xcr0 | boot->xss;
	int err;

	if (boot->xcr0 != ap->xcr0)
		return differ(diag, 0xd00, boot->xcr0, ap->xcr0,
			      "the CPUs list different user components");
	if (boot->xss != ap->xss)
		return differ(diag, 0xd01, boot->xss, ap->xss,
			      "the CPUs list different supervisor components");
	err = xst_caps_cover(boot, ap, all, diag);
	return err ? err : xst_caps_cover(ap, boot, all, diag);
}

/* Sub-leaf 1: the forms that the profile leaves, the compacted size, the supervisor mask. */
static int leaf_d1(const struct xst_caps *caps, uint64_t xss, uint64_t now, leaf_t *l,
		   struct xst_diag *diag)
{
	struct xst_layout layout;
	int err;

	l->eax = (uint32_t)(caps->xsaveopt | caps->xsavec << 1 | caps->xgetbv1 << 2 |
			    caps->xsaves << 3 | caps->xfd << 4);
	l->ecx = (uint32_t)xss;
	l->edx = (uint32_t)(xss >> 32);
	if (!caps->xsavec && !caps->xsaves)
		return XST_OK;
	err = xst_layout_compute(caps, now, XST_COMPACTED, &layout, diag);
	if (!err)
		l->ebx = layout.bytes;
	return err;
}

static int leaf_d0(const struct xst_caps *caps, uint64_t xcr0, uint64_t now, leaf_t *l,
		   struct xst_diag *diag)
{
	struct xst_layout layout;
	int err = xst_layout_compute(caps, xcr0, XST_STANDARD, &layout, diag);

	if (err)
		return err;
	l->eax = (uint32_t)xcr0;
	l->edx = (uint32_t)(xcr0 >> 32);
	l->ecx = layout.bytes;
	err = xst_layout_compute(caps, now, XST_STANDARD, &layout, diag);
	if (!err)
		l->ebx = layout.bytes;
	return err;
}

int xst_caps_leaf_d(const struct xst_caps *caps, uint64_t xcr0, uint64_t xss, uint64_t xcr0_now,
		    uint64_t xss_now, uint32_t subleaf, struct xst_cpuid_leaf *leaf,
		    struct xst_diag *diag)
{
	leaf_t l = {0xd, subleaf, 0, 0, 0, 0};
	int err = XST_OK;

	if (!xcr0 && !xss) {
		*leaf = l;
		return XST_OK;
	}
	if ((err = xst_xcr0_check(xcr0, caps->xcr0, diag)) ||
	    (err = xst_xss_check(xss, caps->xss, diag)) ||
	    (err = xst_xcr0_check(xcr0_now, xcr0, diag)) ||
	    (err = xst_xss_check(xss_now, xss, diag)))
		return err;
	if (subleaf == 0) {
		err = leaf_d0(caps, xcr0, xcr0_now, &l, diag);
	} else if (subleaf == 1) {
		err = leaf_d1(caps, xss, xcr0_now | xss_now, &l, diag);
	} else if (subleaf < 63 && ((xcr0 | xss) & XST_MASK(subleaf))) {
		const struct xst_comp_caps *c = &caps->comp[subleaf];

		l.eax = c->bytes;
		l.ebx = c->offset;
		l.ecx = (uint32_t)(c->supervisor | c->align64 << 1 | c->xfd << 2);
	}
	if (!err)
		*leaf = l;
	return err;
}

bool xst_caps_leaky(const struct xst_caps *caps)
{
	size_t i;

	if (caps->family != 6 || !vendor_is(caps, "GenuineIntel"))
		return false;
	for (i = 0; i < sizeof(intel6) / sizeof(intel6[0]); i++)
		if (intel6[i].model == caps->model)
			return intel6[i].leaky == LEAKS;
	return true;
}

enum xst_mxcsr_form xst_mxcsr_form(const struct xst_caps *caps, uint64_t mask)
{
	const bool phi = caps->model == 0x57 || caps->model == 0x85;

	if (!caps->sse || !caps->fxsr)
		return XST_MXCSR_NONE;
	if (!(mask & XST_MASK_AVX))
		return XST_MXCSR_LEGACY;
	return vendor_is(caps, "GenuineIntel") && !phi ? XST_MXCSR_CLEAN : XST_MXCSR_VEX;
}

bool xst_caps_erratum_1386(const struct xst_caps *caps)
{
	/* The first patch level with the fix, by model: Zen 1, Zen+ and Zen 2 server parts got one;
	 * what is not listed here was never fixed. */
	static const struct {
		uint8_t model, stepping;
		uint32_t fixed;
	} fix[] = {
#define XST_ERRATUM_1386(model, stepping, microcode) {model, stepping, microcode},
#include "erratum1386.def"
	};
	size_t i;

	if (caps->family != 0x17 || !caps->xsaves)
		return false;
	for (i = 0; i < sizeof(fix) / sizeof(fix[0]); i++)
		if (fix[i].model == caps->model && fix[i].stepping == caps->stepping)
			return caps->microcode < fix[i].fixed;
	return true;
}
