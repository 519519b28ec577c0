// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is odd about a CPU's enumeration. Hypervisors hide bits and leave the host's sums, dumps
 * lack sub-leaves, real silicon lists components it has no instruction for: each is found here,
 * once, from the plain data that caps.c read.
 */
#include "caveat.h"

static const struct xst_caveat_info table[] = {
#define XST_CAVEAT_DEF(SYM, bit, severity, id, words)                                              \
	{ XST_CAVEAT_##SYM, XST_SEVERITY_##severity, id, words },
#include <xst/caveat.def>
};

const struct xst_caveat_info *xst_caveat_info(uint32_t caveat)
{
	unsigned i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].caveat == caveat)
			return &table[i];
	return NULL;
}

/* Is @caveat true of component @i? */
static bool applies(const struct xst_caps *caps, uint32_t caveat, unsigned i)
{
	const struct xst_comp_caps *c = &caps->comp[i];
	const struct xst_comp_info *info = xst_comp_info(i);
	bool user = caps->xcr0 & XST_MASK(i), super = caps->xss & XST_MASK(i);

	switch (caveat) {
	case XST_CAVEAT_EMPTY_SUBLEAF:
		return (user || super) && !c->bytes;
	case XST_CAVEAT_HIDDEN_SUBLEAF:
		return !user && !super && c->bytes;
	case XST_CAVEAT_ODD_BYTES:
		return (user || super) && info && c->bytes && c->bytes != info->bytes &&
		       c->bytes != info->bytes_alt;
	case XST_CAVEAT_UNKNOWN_COMPONENT:
		return (user || super) && !info;
	case XST_CAVEAT_SUPERVISOR_IN_XCR0:
		return user && (c->supervisor || (info && info->kind == XST_KIND_SUPER));
	case XST_CAVEAT_USER_IN_XSS:
		return super && ((c->bytes && !c->supervisor) ||
				 (info && info->kind == XST_KIND_USER));
	case XST_CAVEAT_SUPERVISOR_OFFSET:
		return super && c->supervisor && c->offset;
	case XST_CAVEAT_NO_OFFSET:
		return user && c->bytes && !c->supervisor && !xst_comp_place_ok(c, true);
	case XST_CAVEAT_COMPONENT_NO_XFD:
		return (user || super) && c->xfd && !caps->xfd;
	case XST_CAVEAT_COMPONENT_NO_FLAG:
		return (user || super) && info && info->flag && !(caps->flagged & XST_MASK(i));
	case XST_CAVEAT_FLAG_NO_COMPONENT:
		return !user && info && info->kind == XST_KIND_USER &&
		       (caps->flagged & XST_MASK(i));
	case XST_CAVEAT_UNUSABLE:
		return user && info && info->kind == XST_KIND_USER &&
		       !(xst_xcr0_usable(caps->xcr0) & XST_MASK(i));
	default:
		return false;
	}
}

static const uint32_t per_component =
	XST_CAVEAT_EMPTY_SUBLEAF | XST_CAVEAT_HIDDEN_SUBLEAF | XST_CAVEAT_ODD_BYTES |
	XST_CAVEAT_UNKNOWN_COMPONENT | XST_CAVEAT_SUPERVISOR_IN_XCR0 | XST_CAVEAT_USER_IN_XSS |
	XST_CAVEAT_SUPERVISOR_OFFSET | XST_CAVEAT_NO_OFFSET | XST_CAVEAT_COMPONENT_NO_XFD |
	XST_CAVEAT_COMPONENT_NO_FLAG | XST_CAVEAT_FLAG_NO_COMPONENT | XST_CAVEAT_UNUSABLE;

uint64_t xst_caveat_components(const struct xst_caps *caps, uint32_t caveat)
{
	uint64_t mask = 0;
	unsigned i;

	if (!(caveat & per_component))
		return 0;
	/* x87 and SSE have no sub-leaf; only their flags can be odd. */
	for (i = caveat & (XST_CAVEAT_COMPONENT_NO_FLAG | XST_CAVEAT_FLAG_NO_COMPONENT |
			   XST_CAVEAT_UNUSABLE) ? 0 : 2; i < 63; i++)
		if (applies(caps, caveat, i))
			mask |= XST_MASK(i);
	return mask;
}

/* An end of a listed user component, or of the header: what a standard size in force can be. */
static bool is_some_end(const struct xst_caps *caps, uint32_t bytes)
{
	uint64_t rest;

	if (bytes == XST_EXT_OFFSET)
		return true;
	for (rest = caps->xcr0 & xst_caps_placed(caps) & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
		const struct xst_comp_caps *c = &caps->comp[xst_mask_first(rest)];

		if (c->offset + c->bytes == bytes)
			return true;
	}
	return false;
}

/* CPUID sums the sizes up itself; compare, where the dump is complete enough to tell. */
static void judge_sums(struct xst_caps *caps)
{
	uint64_t placed = xst_caps_placed(caps);
	bool compacted = caps->xsavec || caps->xsaves;
	struct xst_layout l;
	int err = xst_layout_compute(caps, placed & caps->xcr0, XST_STANDARD, &l, NULL);

	if (err == XST_ERR_OVERLAP)
		caps->caveats |= XST_CAVEAT_OVERLAP;
	if (!compacted && caps->d1_ebx)
		caps->caveats |= XST_CAVEAT_SUM_WITHOUT_FORM;
	if (compacted && !caps->d1_ebx)
		caps->caveats |= XST_CAVEAT_SUM_MISSING;
	if (caps->caveats & XST_CAVEAT_EMPTY_SUBLEAF)
		return;
	if (!err && caps->d0_ecx != l.bytes)
		caps->caveats |= XST_CAVEAT_SUM_STANDARD;
	if (!is_some_end(caps, caps->d0_ebx))
		caps->caveats |= XST_CAVEAT_SUM_NOW;
	if (compacted && caps->d1_ebx &&
	    !xst_layout_compute(caps, placed, XST_COMPACTED, &l, NULL) &&
	    (caps->d1_ebx < XST_EXT_OFFSET || caps->d1_ebx > l.bytes))
		caps->caveats |= XST_CAVEAT_SUM_COMPACTED;
}

static bool any_xfd(const struct xst_caps *caps)
{
	uint64_t rest;

	for (rest = caps->xcr0 | caps->xss; rest; rest &= rest - 1)
		if (caps->comp[xst_mask_first(rest)].xfd)
			return true;
	return false;
}

void xst_caveats_judge(struct xst_caps *caps)
{
	uint32_t rest, bit;

	for (rest = per_component; rest; rest &= rest - 1) {
		uint64_t mask;

		bit = rest & -rest;
		mask = xst_caveat_components(caps, bit);
		if (mask) {
			caps->caveats |= bit;
			caps->caveat_mask |= mask;
		}
	}
	if (caps->xfd && !any_xfd(caps))
		caps->caveats |= XST_CAVEAT_XFD_NO_COMPONENT;
	if (caps->xsaves && !caps->xgetbv1)
		caps->caveats |= XST_CAVEAT_XSAVES_NO_XGETBV1;
	judge_sums(caps);
}
