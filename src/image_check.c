// SPDX-License-Identifier: BSD-2-Clause
/* The predictor: what FXRSTOR, XRSTOR, XRSTORS or KVM will do with an image. */
#include <xst/x87.h>

static const struct {
	uint32_t vector;
	const char *text;
} rules[] = {
#define XST_RULE(SYM, vector, text) {vector, text},
#include <xst/rule.def>
};

const char *xst_rule_text(enum xst_rule rule)
{
	return (unsigned)rule < XST_RULE_COUNT ? rules[rule].text : "unknown rule";
}

static int broken(struct xst_verdict *v, struct xst_diag *diag, enum xst_rule rule,
		  uint32_t component, uint32_t offset, uint64_t want, uint64_t got)
{
	v->rule = rule;
	v->vector = rules[rule].vector;
	v->loads = 0;
	v->inits = 0;
	v->mxcsr = XST_MXCSR_KEPT;
	v->warnings = 0;
	return xst_diag_set(diag, XST_ERR_FAULT, component, offset, want, got, rules[rule].text);
}

/* A mask at @offset has bits it may not have. */
static int broken_mask(struct xst_verdict *v, struct xst_diag *diag, enum xst_rule rule,
		       uint32_t offset, uint64_t allowed, uint64_t got)
{
	return broken(v, diag, rule, xst_mask_first(got & ~allowed), offset, allowed, got);
}

static int broken_header(struct xst_verdict *v, struct xst_diag *diag, enum xst_rule rule,
			 const void *area)
{
	uint32_t offset = XST_OFF_XCOMP_BV + 8;

	while (offset < XST_EXT_OFFSET - 8 && !xst_get64(area, offset))
		offset += 8;
	return broken(v, diag, rule, XST_DIAG_NO_COMPONENT, offset, 0, xst_get64(area, offset));
}

static uint64_t header_rest(const void *area)
{
	uint64_t any = 0;
	uint32_t i;

	for (i = XST_OFF_XCOMP_BV + 8; i < XST_EXT_OFFSET; i += 8)
		any |= xst_get64(area, i);
	return any;
}

/* Every component asked for must be there: Intel CPUs probe the memory of all of RFBM (measured on
 * Sapphire Rapids), of a compacted image those in XCOMP_BV, whether XSTATE_BV names them or not. */
static int check_ends(const struct xst_restore *how, uint64_t wanted, uint64_t xcomp_bv,
		      size_t bytes, struct xst_verdict *v, struct xst_diag *diag)
{
	const struct xst_comp_caps *comp = how->caps->comp;
	uint32_t next = XST_EXT_OFFSET;
	uint64_t rest;

	rest = (v->format == XST_COMPACTED ? xcomp_bv & ~XST_XCOMP_COMPACT : wanted) &
	       ~XST_MASK_LEGACY;
	for (; rest; rest &= rest - 1) {
		unsigned i = xst_mask_first(rest);
		uint32_t start = comp[i].offset;

		if (v->format == XST_COMPACTED) {
			start = comp[i].align64 ? (next + 63u) & ~63u : next;
			next = start + comp[i].bytes;
		}
		if ((wanted & XST_MASK(i)) && (uint64_t)start + comp[i].bytes > bytes)
			return broken(v, diag, XST_RULE_SHORT, i, start,
				      (uint64_t)start + comp[i].bytes, bytes);
	}
	return XST_OK;
}

/* Remarks on an x87 and MXCSR state that will be in the registers. */
static void warn(const struct xst_restore *how, const void *area, struct xst_verdict *v)
{
	uint32_t mxcsr = xst_get32(area, XST_OFF_MXCSR);

	if (v->mxcsr == XST_MXCSR_LOADED && !(mxcsr & 0x1fbfu))
		v->warnings |= XST_WARN_MXCSR_UNMASKED;
	if (v->loads & XST_MASK_X87) {
		if (xst_x87_pending(area))
			v->warnings |= XST_WARN_X87_PENDING;
		else if (how->caps->fip_leak)
			v->warnings |= XST_WARN_FIP_KEPT;
	}
}

static int check_mxcsr(const struct xst_restore *how, const void *area, enum xst_rule rule,
		       struct xst_verdict *v, struct xst_diag *diag)
{
	uint32_t mask = how->mxcsr_mask ? how->mxcsr_mask : how->caps->mxcsr_mask;
	uint32_t mxcsr = xst_get32(area, XST_OFF_MXCSR);

	if (mxcsr & ~mask)
		return broken(v, diag, rule, XST_COMP_SSE, XST_OFF_MXCSR, mask, mxcsr);
	return XST_OK;
}

static int check_fxrstor(const struct xst_restore *how, const void *area, size_t bytes,
			 struct xst_verdict *v, struct xst_diag *diag)
{
	int err;

	if (!how->caps->fxsr)
		return broken(v, diag, XST_RULE_NO_INSTRUCTION, XST_DIAG_NO_COMPONENT, 0x100, 1, 0);
	if (how->misalign & 15u)
		return broken(v, diag, XST_RULE_ALIGN, XST_DIAG_NO_COMPONENT, 0, 16,
			      how->misalign & 15u);
	if (bytes < XST_LEGACY_BYTES)
		return broken(v, diag, XST_RULE_SHORT, XST_DIAG_NO_COMPONENT, 0, XST_LEGACY_BYTES,
			      bytes);
	v->loads = XST_MASK_X87;
	if (!how->caps->sse) {
		warn(how, area, v);
		return XST_OK;
	}
	v->loads = XST_MASK_LEGACY;
	v->mxcsr = XST_MXCSR_LOADED;
	err = check_mxcsr(how, area, XST_RULE_MXCSR, v, diag);
	if (!err)
		warn(how, area, v);
	return err;
}

/* KVM_SET_XSAVE copies into the guest's state in memory; PKRU alone stays when XSTATE_BV lacks it.
 * MXCSR is judged when XSTATE_BV has x87, SSE or AVX, and kept (as KVM_GET_XSAVE shows) with the
 * latter two; a guest whose XSTATE_BV[1] is 0 nevertheless starts with 1F80H where the host uses
 * the compacted format. */
static int check_kvm(const struct xst_restore *how, const void *area, size_t bytes,
		     struct xst_verdict *v, struct xst_diag *diag)
{
	const uint64_t uses_mxcsr = XST_MASK_LEGACY | XST_MASK_AVX;
	uint64_t bv, xcomp_bv;
	int err;

	if (bytes < XST_EXT_OFFSET)
		return broken(v, diag, XST_RULE_SHORT, XST_DIAG_NO_COMPONENT, 0, XST_EXT_OFFSET,
			      bytes);
	bv = xst_get64(area, XST_OFF_XSTATE_BV);
	xcomp_bv = xst_get64(area, XST_OFF_XCOMP_BV);
	if (bv & ~how->xcr0)
		return broken_mask(v, diag, XST_RULE_KVM_BV, XST_OFF_XSTATE_BV, how->xcr0, bv);
	if (xcomp_bv)
		return broken(v, diag, XST_RULE_KVM_XCOMP, XST_DIAG_NO_COMPONENT, XST_OFF_XCOMP_BV,
			      0, xcomp_bv);
	if (header_rest(area))
		return broken_header(v, diag, XST_RULE_KVM_HEADER, area);
	v->loads = bv & ~how->xfd;
	v->inits = how->xcr0 & ~v->loads & ~XST_MASK_PKRU;
	v->mxcsr = bv & uses_mxcsr & ~XST_MASK_X87 ? XST_MXCSR_LOADED : XST_MXCSR_TO_INIT;
	if (bv & uses_mxcsr) {
		err = check_mxcsr(how, area, XST_RULE_KVM_MXCSR, v, diag);
		if (err)
			return err;
	}
	err = check_ends(how, v->loads, 0, bytes, v, diag);
	if (!err)
		warn(how, area, v);
	return err;
}

/* The standard form, XRSTOR only. */
static int judge_standard(const struct xst_restore *how, const void *area, uint64_t bv,
			  uint64_t xcomp_bv, struct xst_verdict *v, struct xst_diag *diag)
{
	if (how->by == XST_BY_XRSTORS)
		return broken(v, diag, XST_RULE_NOT_COMPACTED, XST_DIAG_NO_COMPONENT,
			      XST_OFF_XCOMP_BV, XST_XCOMP_COMPACT, xcomp_bv);
	if (xcomp_bv)
		return broken(v, diag, XST_RULE_XCOMP_STANDARD, XST_DIAG_NO_COMPONENT,
			      XST_OFF_XCOMP_BV, 0, xcomp_bv);
	/* Bytes 24-63 are not looked at in this form. */
	if (xst_get64(area, XST_OFF_XCOMP_BV + 8))
		return broken_header(v, diag, XST_RULE_HEADER_STANDARD, area);
	if (bv & ~how->xcr0)
		return broken_mask(v, diag, XST_RULE_BV_ENABLED, XST_OFF_XSTATE_BV, how->xcr0, bv);
	return XST_OK;
}

static int judge_compacted(const struct xst_restore *how, const void *area, uint64_t enabled,
			   uint64_t bv, uint64_t xcomp_bv, struct xst_verdict *v,
			   struct xst_diag *diag)
{
	const uint64_t listed = xcomp_bv & ~XST_XCOMP_COMPACT;

	if (!how->caps->xsavec && !how->caps->xsaves)
		return broken(v, diag, XST_RULE_NO_COMPACTION, XST_DIAG_NO_COMPONENT,
			      XST_OFF_XCOMP_BV, 0, xcomp_bv);
	if (header_rest(area))
		return broken_header(v, diag, XST_RULE_HEADER_COMPACT, area);
	if (listed & ~enabled)
		return broken_mask(v, diag, XST_RULE_XCOMP_ENABLED, XST_OFF_XCOMP_BV, enabled,
				   listed);
	if (bv & ~listed)
		return broken_mask(v, diag, XST_RULE_BV_XCOMP, XST_OFF_XSTATE_BV, listed, bv);
	return XST_OK;
}

static int check_xrstor(const struct xst_restore *how, const void *area, size_t bytes,
			struct xst_verdict *v, struct xst_diag *diag)
{
	const struct xst_caps *caps = how->caps;
	uint64_t enabled = how->xcr0, rfbm, bv, xcomp_bv;
	int err;

	if (!caps->xsave || (how->by == XST_BY_XRSTORS && !caps->xsaves))
		return broken(v, diag, XST_RULE_NO_INSTRUCTION, XST_DIAG_NO_COMPONENT,
			      caps->xsave ? 0xd01 : 0x100, 1, 0);
	if (how->misalign & (XST_AREA_ALIGN - 1))
		return broken(v, diag, XST_RULE_ALIGN, XST_DIAG_NO_COMPONENT, 0, XST_AREA_ALIGN,
			      how->misalign & (XST_AREA_ALIGN - 1));
	if (bytes < XST_EXT_OFFSET)
		return broken(v, diag, XST_RULE_SHORT, XST_DIAG_NO_COMPONENT, 0, XST_EXT_OFFSET,
			      bytes);

	bv = xst_get64(area, XST_OFF_XSTATE_BV);
	xcomp_bv = xst_get64(area, XST_OFF_XCOMP_BV);
	if (how->by == XST_BY_XRSTORS)
		enabled |= how->xss;
	rfbm = how->rfbm & enabled;
	v->format = xcomp_bv & XST_XCOMP_COMPACT ? XST_COMPACTED : XST_STANDARD;
	if (v->format == XST_STANDARD) {
		err = judge_standard(how, area, bv, xcomp_bv, v, diag);
		/* MXCSR goes with SSE and with AVX, whatever XSTATE_BV says. */
		if (rfbm & (XST_MASK_SSE | XST_MASK_AVX))
			v->mxcsr = XST_MXCSR_LOADED;
	} else {
		err = judge_compacted(how, area, enabled, bv, xcomp_bv, v, diag);
		if (rfbm & XST_MASK_SSE)
			v->mxcsr = bv & XST_MASK_SSE ? XST_MXCSR_LOADED : XST_MXCSR_TO_INIT;
	}
	if (err) {
		v->mxcsr = XST_MXCSR_KEPT;
		return err;
	}
	if (v->mxcsr == XST_MXCSR_LOADED) {
		err = check_mxcsr(how, area, XST_RULE_MXCSR, v, diag);
		if (err)
			return err;
	}
	v->loads = rfbm & bv;
	v->inits = rfbm & ~bv;
	if (v->loads & how->xfd)
		return broken(v, diag, XST_RULE_XFD, xst_mask_first(v->loads & how->xfd),
			      XST_OFF_XSTATE_BV, 0, v->loads & how->xfd);
	err = check_ends(how, rfbm, xcomp_bv, bytes, v, diag);
	if (!err)
		warn(how, area, v);
	return err;
}

int xst_image_check(const struct xst_restore *how, const void *area, size_t bytes,
		    struct xst_verdict *verdict, struct xst_diag *diag)
{
	struct xst_verdict scratch, *v = verdict ? verdict : &scratch;

	*v = (struct xst_verdict){XST_RULE_NONE, 0, XST_STANDARD, 0, 0, XST_MXCSR_KEPT, 0};
	switch (how->by) {
	case XST_BY_FXRSTOR:
		return check_fxrstor(how, area, bytes, v, diag);
	case XST_BY_KVM:
		return check_kvm(how, area, bytes, v, diag);
	case XST_BY_XRSTOR:
	case XST_BY_XRSTORS:
		return check_xrstor(how, area, bytes, v, diag);
	}
	return broken(v, diag, XST_RULE_NO_INSTRUCTION, XST_DIAG_NO_COMPONENT, 0, 0, how->by);
}
