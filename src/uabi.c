// SPDX-License-Identifier: BSD-2-Clause
/* A task's state between the kernel's own images and the one that user space knows. */
#include <xst/uabi.h>

#include "twin.h"

static uint64_t user_mask(const struct xst_system *sys, uint64_t mask)
{
	return (mask ? mask : sys->user.mask) | XST_MASK_LEGACY;
}

static const struct xst_layout *inside(const struct xst_uabi *t)
{
	return t->inside ? t->inside : xst_ctx_layout(t->sys, t->ctx);
}

/* What a task has in an image of its own; a guest has it in the first one. */
static uint64_t apart(const struct xst_uabi *t)
{
	return t->inside ? 0 : t->sys->apart;
}

int xst_uabi_layout(const struct xst_system *sys, uint64_t mask, struct xst_layout *layout,
		    struct xst_diag *diag)
{
	mask = user_mask(sys, mask);
	if (sys->insn >= XST_INSN_XSAVE)
		return xst_layout_compute(&sys->caps, mask, XST_STANDARD, layout, diag);
	if (mask & ~XST_MASK_LEGACY)
		return xst_diag_set(diag, XST_ERR_NOT_ENUMERATED,
				    xst_mask_first(mask & ~XST_MASK_LEGACY), 0x100, XST_MASK_LEGACY,
				    mask, "this machine does not use XSAVE");
	xst_layout_legacy(layout, XST_MASK_LEGACY);
	return XST_OK;
}

int xst_uabi_bytes(const struct xst_system *sys, uint64_t mask, struct xst_diag *diag)
{
	struct xst_layout l;
	int err = xst_uabi_layout(sys, mask, &l, diag);

	return err ? err : (int)l.bytes;
}

/* Components whose image is apart go one by one: there are few, and seldom any. */
static void get_apart(const struct xst_uabi *t, const struct xst_image *to)
{
	const struct xst_system *sys = t->sys;
	const uint8_t *area = xst_ctx_apart(sys, t->ctx);
	uint64_t bv = xst_get64(to->area, XST_OFF_XSTATE_BV), rest;

	rest = sys->apart & to->layout->mask & xst_get64(area, XST_OFF_XSTATE_BV);
	bv |= rest;
	for (; rest; rest &= rest - 1) {
		unsigned i = xst_mask_first(rest);

		__builtin_memcpy((uint8_t *)to->area + to->layout->offset[i],
				 area + sys->apart_layout.offset[i],
				 xst_comp_used(i, sys->apart_layout.size[i]));
	}
	xst_put64(to->area, XST_OFF_XSTATE_BV, bv);
}

static void put_apart(const struct xst_uabi *t, const struct xst_image *from)
{
	const struct xst_system *sys = t->sys;
	uint8_t *area = xst_ctx_apart(sys, t->ctx);
	uint64_t bv = xst_get64(area, XST_OFF_XSTATE_BV), rest;

	rest = sys->apart & from->layout->mask & xst_get64(from->area, XST_OFF_XSTATE_BV);
	bv = (bv & ~XST_MASK_USER) | rest;
	for (; rest; rest &= rest - 1) {
		unsigned i = xst_mask_first(rest);

		__builtin_memset(area + sys->apart_layout.offset[i], 0, sys->apart_layout.size[i]);
		__builtin_memcpy(area + sys->apart_layout.offset[i],
				 (const uint8_t *)from->area + from->layout->offset[i],
				 xst_comp_used(i, sys->apart_layout.size[i]));
	}
	xst_put64(area, XST_OFF_XSTATE_BV, bv);
}

/* FXSAVE and FNSAVE images have no header: put one behind a copy of what they hold. */
static int get_old(const struct xst_uabi *t, const struct xst_image *to,
		   const struct xst_convert *how, struct xst_diag *diag)
{
	uint8_t copy[XST_EXT_OFFSET];
	struct xst_layout legacy;
	const struct xst_image from = {copy, sizeof(copy), &legacy};

	xst_layout_legacy(&legacy, XST_MASK_LEGACY);
	__builtin_memset(copy, 0, sizeof(copy));
	xst_put64(copy, XST_OFF_XSTATE_BV, t->sys->mask);
	if (t->sys->insn == XST_INSN_FXSAVE)
		__builtin_memcpy(copy, t->ctx->area, XST_OFF_RESERVED);
	else
		xst_fnsave_to_fxsave(t->ctx->area, false, copy);
	if (!(t->sys->mask & XST_MASK_SSE))
		xst_put32(copy, XST_OFF_MXCSR, XST_MXCSR_INIT);
	return xst_image_convert(&from, to, how, diag);
}

int xst_uabi_get(const struct xst_uabi *t, const struct xst_image *to, struct xst_diag *diag)
{
	const struct xst_system *sys = t->sys;
	const struct xst_convert how = {t->drop, sys->caps.mxcsr_mask, false};
	const struct xst_layout *layout = inside(t);
	const struct xst_image from = {t->ctx->area, layout->bytes, layout};
	uint64_t bv;
	int err;

	if (!t->ctx->area)
		err = xst_image_fresh(to, sys->caps.mxcsr_mask, diag);
	else if (sys->insn < XST_INSN_XSAVE)
		err = get_old(t, to, &how, diag);
	else
		err = xst_image_convert(&from, to, &how, diag);
	if (err)
		return err;
	if (t->ctx->area && apart(t))
		get_apart(t, to);
	bv = xst_get64(to->area, XST_OFF_XSTATE_BV);
	/* Standard images inside hold MXCSR whatever XSTATE_BV says; outside it goes with SSE. */
	if (xst_get32(to->area, XST_OFF_MXCSR) != XST_MXCSR_INIT)
		bv |= XST_MASK_SSE;
	if (sys->pkru && (to->layout->mask & XST_MASK_PKRU) && t->ctx->pkru) {
		xst_put32(to->area, to->layout->offset[XST_COMP_PKRU], t->ctx->pkru);
		bv |= XST_MASK_PKRU;
	}
	xst_put64(to->area, XST_OFF_XSTATE_BV, bv);
	return XST_OK;
}

/* All that can be wrong with what is to be set. */
static int judge(const struct xst_uabi *t, const struct xst_image *from, enum xst_uabi_mxcsr mxcsr,
		 struct xst_diag *diag)
{
	const struct xst_system *sys = t->sys;
	/* Without SSE in the machine it goes nowhere and is never live. */
	const uint64_t room = sys->mask | t->ctx->dynamic | apart(t) |
			      (sys->pkru ? XST_MASK_PKRU : 0) | XST_MASK_SSE | t->drop;
	/* One function in Linux judges all that is copied in: KVM's rules are ptrace's. */
	struct xst_restore how = {
		.caps = &sys->caps, .by = XST_BY_KVM, .xcr0 = from->layout->mask, .xfd = t->drop,
		.rfbm = ~0ULL};
	uint64_t bv;
	int err;

	if (!t->ctx->area)
		return xst_diag_set(diag, XST_ERR_NEED_BYTES, XST_DIAG_NO_COMPONENT, 0,
				    sys->ctx_bytes, 0, "the task has no area yet");
	err = xst_image_check(&how, from->area, from->bytes, NULL, diag);
	if (err)
		return err;
	bv = xst_get64(from->area, XST_OFF_XSTATE_BV);
	if (mxcsr == XST_UABI_MXCSR_ALWAYS && sys->caps.sse &&
	    (xst_get32(from->area, XST_OFF_MXCSR) & ~sys->caps.mxcsr_mask))
		return xst_diag_set(diag, XST_ERR_FAULT, XST_COMP_SSE, XST_OFF_MXCSR,
				    sys->caps.mxcsr_mask, xst_get32(from->area, XST_OFF_MXCSR),
				    xst_rule_text(XST_RULE_MXCSR));
	if (bv & ~room)
		return xst_diag_set(diag, XST_ERR_LIVE, xst_mask_first(bv & ~room),
				    XST_OFF_XSTATE_BV, room, bv,
				    "the task has no room for a live component");
	return XST_OK;
}

/* Machines without XSAVE: both components are in the registers, live or not. */
static int set_old(const struct xst_uabi *t, const struct xst_image *from,
		   const struct xst_convert *how, struct xst_diag *diag)
{
	uint8_t copy[XST_EXT_OFFSET], *area = t->ctx->area;
	struct xst_layout legacy;
	const struct xst_image to = {copy, sizeof(copy), &legacy};
	int err;

	xst_layout_legacy(&legacy, XST_MASK_LEGACY);
	err = xst_image_convert(from, &to, how, diag);
	if (err)
		return err;
	if (t->sys->insn == XST_INSN_FXSAVE) {
		__builtin_memcpy(area, copy, XST_LEGACY_BYTES);
		return XST_OK;
	}
	/* A pointer of more than 32 bits cannot come from a machine that old. */
	(void)xst_fxsave_to_fnsave(copy, false, NULL, area);
	return XST_OK;
}

int xst_uabi_set(const struct xst_uabi *t, const struct xst_image *from, enum xst_uabi_mxcsr mxcsr,
		 struct xst_diag *diag)
{
	const struct xst_system *sys = t->sys;
	const struct xst_layout *layout = inside(t);
	const struct xst_image to = {t->ctx->area, layout->bytes, layout};
	struct xst_convert how = {t->drop | (from->layout->mask & ~layout->mask & ~XST_MASK_LEGACY),
				  sys->caps.mxcsr_mask, false};
	uint64_t bv;
	int err;

	if (XST_TWIN(FRAME_HALF) && (from->layout->mask & XST_MASK_PKRU))
		t->ctx->pkru = xst_get32(from->area, from->layout->offset[XST_COMP_PKRU]);
	err = judge(t, from, mxcsr, diag);
	if (err)
		return err;
	bv = xst_get64(from->area, XST_OFF_XSTATE_BV);
	/* To drop SSE, which is not live, is to drop MXCSR. */
	if ((mxcsr == XST_UABI_MXCSR_BY_BV && !(bv & XST_MASK_SSE)) || !(sys->mask & XST_MASK_SSE))
		how.drop |= XST_MASK_SSE;
	if (sys->insn < XST_INSN_XSAVE)
		err = set_old(t, from, &how, diag);
	else
		err = xst_image_convert(from, &to, &how, diag);
	if (err)
		return err;
	/* From here on nothing can fail. */
	if (apart(t))
		put_apart(t, from);
	if (sys->pkru && !XST_TWIN(FRAME_PKRU))
		t->ctx->pkru = bv & XST_MASK_PKRU & from->layout->mask
				       ? xst_get32(from->area, from->layout->offset[XST_COMP_PKRU])
				       : 0;
	return XST_OK;
}
