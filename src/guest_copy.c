// SPDX-License-Identifier: BSD-2-Clause
/*
 * Guests: state that is copied out and in, in KVM's form; and the shadow-stack registers, which are
 * no part of that. The conversion is the one of frames and register sets (uabi.h).
 */
#include <xst/guest.h>
#include <xst/uabi.h>

#include "twin.h"

uint32_t xst_guest_copy_bytes(const struct xst_system *sys, const struct xst_guest *guest)
{
	const int bytes = xst_uabi_bytes(sys, guest->mask & XST_MASK_USER, NULL);

	return bytes > (int)XST_KVM_XSAVE_BYTES ? (uint32_t)bytes : XST_KVM_XSAVE_BYTES;
}

static void flush(struct xst_cpu *cpu, struct xst_guest *guest)
{
	XST_ASSERT(!guest->running);
	xst_ctx_flush(cpu, &guest->ctx);
}

/*
 * The guest as a task that has its own PKRU: @ctx is a copy, the image is the guest's. Supervisor
 * components stay where they are, and what IA32_XFD disables counts as INIT: hardware neither saves
 * nor restores it.
 */
static struct xst_uabi as_task(const struct xst_system *sys, const struct xst_guest *guest,
			       struct xst_ctx *ctx)
{
	const struct xst_uabi t = {.sys = sys,
				   .ctx = ctx,
				   .mask = guest->mask & XST_MASK_USER,
				   .inside = &guest->layout,
				   .drop = XST_MASK_SUPER | (XST_TWIN(GUEST_XFD) ? 0 : guest->xfd)};

	*ctx = guest->ctx;
	ctx->pkru = guest->pkru;
	return t;
}

int xst_guest_copy_out(struct xst_cpu *cpu, struct xst_guest *guest, void *to, size_t bytes,
		       struct xst_diag *diag)
{
	const struct xst_system *sys = cpu->sys;
	struct xst_layout layout;
	const struct xst_image image = {to, bytes, &layout};
	struct xst_ctx ctx;
	struct xst_uabi t;
	int err;

	if (bytes < xst_guest_copy_bytes(sys, guest))
		return xst_diag_set(diag, XST_ERR_NEED_BYTES, XST_DIAG_NO_COMPONENT, 0,
				    xst_guest_copy_bytes(sys, guest), bytes,
				    "the guest's state is larger than that");
	flush(cpu, guest);
	t = as_task(sys, guest, &ctx);
	err = xst_uabi_layout(sys, t.mask, &layout, diag);
	if (!err)
		err = xst_uabi_get(&t, &image, diag);
	if (err)
		return err;
	__builtin_memset((uint8_t *)to + layout.bytes, 0, bytes - layout.bytes);
	/* What XSTATE_BV does not name is left alone when it is copied in: 0 is a value too. */
	if (layout.mask & XST_MASK_PKRU)
		xst_put64(to, XST_OFF_XSTATE_BV,
			  xst_get64(to, XST_OFF_XSTATE_BV) | XST_MASK_PKRU);
	return XST_OK;
}

/* Where supervisor components lie in the guest's image, and whether they are live in it. */
static uint8_t *cet_at(const struct xst_guest *guest, unsigned component)
{
	return guest->ctx.area + guest->layout.offset[component];
}

static bool has_cet(const struct xst_guest *guest, unsigned component)
{
	return guest->layout.format == XST_COMPACTED &&
	       (guest->layout.mask & XST_MASK(component));
}

static bool is_live(const struct xst_guest *guest, unsigned component)
{
	return has_cet(guest, component) &&
	       (xst_get64(guest->ctx.area, XST_OFF_XSTATE_BV) & XST_MASK(component));
}

/* CET_U is IA32_U_CET and PL3_SSP, CET_S is PL0_SSP to PL2_SSP.
 * Ref: SDM vol. 1, "Control-flow Enforcement Technology (CET) State" */
static void read_cet(const struct xst_system *sys, const struct xst_guest *guest,
		     struct xst_cet *cet)
{
	unsigned n;

	__builtin_memset(cet, 0, sizeof(*cet));
	if (is_live(guest, XST_COMP_CET_U)) {
		cet->u_cet = xst_get64(cet_at(guest, XST_COMP_CET_U), 0);
		cet->ssp[3] = xst_get64(cet_at(guest, XST_COMP_CET_U), 8);
	}
	for (n = 0; n < 3; n++) {
		if (is_live(guest, XST_COMP_CET_S))
			cet->ssp[n] = xst_get64(cet_at(guest, XST_COMP_CET_S), 8 * n);
		else if (sys->guest_cet_s)
			cet->ssp[n] = guest->ssp[n];
	}
}

static void write_cet(const struct xst_system *sys, struct xst_guest *guest,
		      const struct xst_cet *cet)
{
	uint64_t live = 0, ours = 0;
	unsigned n;

	if (has_cet(guest, XST_COMP_CET_U)) {
		ours |= XST_MASK_CET_U;
		if (cet->u_cet | cet->ssp[3])
			live |= XST_MASK_CET_U;
		xst_put64(cet_at(guest, XST_COMP_CET_U), 0, cet->u_cet);
		xst_put64(cet_at(guest, XST_COMP_CET_U), 8, cet->ssp[3]);
	}
	if (has_cet(guest, XST_COMP_CET_S)) {
		ours |= XST_MASK_CET_S;
		if (cet->ssp[0] | cet->ssp[1] | cet->ssp[2])
			live |= XST_MASK_CET_S;
		for (n = 0; n < 3; n++)
			xst_put64(cet_at(guest, XST_COMP_CET_S), 8 * n, cet->ssp[n]);
	} else if (sys->guest_cet_s) {
		for (n = 0; n < 3; n++)
			guest->ssp[n] = cet->ssp[n];
		guest->ssp_cpu = XST_NO_CPU;
	}
	if (ours)
		xst_put64(guest->ctx.area, XST_OFF_XSTATE_BV,
			  (xst_get64(guest->ctx.area, XST_OFF_XSTATE_BV) & ~ours) | live);
}

int xst_guest_copy_in(struct xst_cpu *cpu, struct xst_guest *guest, const void *from, size_t bytes,
		      struct xst_diag *diag)
{
	const struct xst_system *sys = cpu->sys;
	struct xst_layout layout;
	/* Not written to: xst_uabi_set() takes it const. */
	const struct xst_image image = {(void *)(uintptr_t)from, bytes, &layout};
	struct xst_ctx ctx;
	struct xst_uabi t;
	struct xst_cet cet;
	int err;

	flush(cpu, guest);
	t = as_task(sys, guest, &ctx);
	err = xst_uabi_layout(sys, t.mask, &layout, diag);
	if (err)
		return err;
	/* All of the image is written: what is not the user's is put back. */
	read_cet(sys, guest, &cet);
	err = xst_uabi_set(&t, &image, XST_UABI_MXCSR_BY_BV, diag);
	if (err && XST_TWIN(GUEST_COPY_HALF))
		guest->pkru = 0;
	if (err)
		return err;
	write_cet(sys, guest, &cet);
	if (xst_get64(from, XST_OFF_XSTATE_BV) & XST_MASK_PKRU)
		guest->pkru = ctx.pkru;
	xst_ctx_changed(cpu, &guest->ctx);
	return XST_OK;
}

/* Is any of it in the guest's image? */
static bool in_image(const struct xst_guest *guest)
{
	return has_cet(guest, XST_COMP_CET_U) || has_cet(guest, XST_COMP_CET_S);
}

void xst_guest_get_cet(struct xst_cpu *cpu, struct xst_guest *guest, struct xst_cet *cet)
{
	if (in_image(guest))
		flush(cpu, guest);
	read_cet(cpu->sys, guest, cet);
}

/* As WRMSR judges, with linear addresses of 48 bits. Ref: SDM vol. 4, "IA32_U_CET",
 * "IA32_PL0_SSP" */
static bool is_canonical(uint64_t v)
{
	return (uint64_t)((int64_t)(v << 16) >> 16) == v;
}

#define U_CET_RESERVED 0x3c0ULL
#define U_CET_SUPPRESS 0x400ULL
#define U_CET_TRACKER  0x800ULL
/* Reserved without shadow stacks, and without indirect branch tracking. */
#define U_CET_SHSTK    0x3ULL
#define U_CET_IBT      0xfffffffffffffc3cULL

static int check_cet(const struct xst_system *sys, const struct xst_guest *guest,
		     const struct xst_cet *cet, struct xst_diag *diag)
{
	const uint64_t super = cet->ssp[0] | cet->ssp[1] | cet->ssp[2];
	const uint64_t reserved = U_CET_RESERVED | (sys->caps.cet_ss ? 0 : U_CET_SHSTK) |
				  (sys->caps.cet_ibt ? 0 : U_CET_IBT);
	unsigned n;

	if ((cet->u_cet | cet->ssp[3]) && !has_cet(guest, XST_COMP_CET_U))
		return xst_diag_set(diag, XST_ERR_DENIED, XST_COMP_CET_U, 0, guest->mask,
				    XST_MASK_CET_U, "the guest may not have the component");
	if (super && !has_cet(guest, XST_COMP_CET_S) && !sys->guest_cet_s)
		return xst_diag_set(diag, XST_ERR_DENIED, XST_COMP_CET_S, 0, guest->mask,
				    XST_MASK_CET_S, "the guest may not have the component");
	if ((cet->u_cet & reserved) || !is_canonical(cet->u_cet) ||
	    ((cet->u_cet & U_CET_SUPPRESS) && (cet->u_cet & U_CET_TRACKER)))
		return xst_diag_set(diag, XST_ERR_INVALID, XST_COMP_CET_U, 0, 0, cet->u_cet,
				    "WRMSR of IA32_U_CET refuses this");
	for (n = 0; n < 4; n++)
		if ((cet->ssp[n] & 3) || !is_canonical(cet->ssp[n]))
			return xst_diag_set(diag, XST_ERR_INVALID,
					    n == 3 ? XST_COMP_CET_U : XST_COMP_CET_S, 0, 0,
					    cet->ssp[n],
					    "WRMSR of a shadow-stack pointer refuses this");
	return XST_OK;
}

static bool is_equal(const struct xst_cet *a, const struct xst_cet *b)
{
	unsigned n;

	for (n = 0; n < 4; n++)
		if (a->ssp[n] != b->ssp[n])
			return false;
	return a->u_cet == b->u_cet;
}

int xst_guest_set_cet(struct xst_cpu *cpu, struct xst_guest *guest, const struct xst_cet *cet,
		      struct xst_diag *diag)
{
	int err = check_cet(cpu->sys, guest, cet, diag);
	struct xst_cet now;

	if (err)
		return err;
	xst_guest_get_cet(cpu, guest, &now);
	if (is_equal(&now, cet))
		return XST_OK;
	write_cet(cpu->sys, guest, cet);
	if (in_image(guest))
		xst_ctx_changed(cpu, &guest->ctx);
	return XST_OK;
}
