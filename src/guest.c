// SPDX-License-Identifier: BSD-2-Clause
/*
 * Guests: a virtual CPU's registers are a context of the engine, with a mask of its own. Here is
 * what goes beyond a switch: the control registers that a guest sees, and whose values they are
 * when.
 */
#include <xst/guest.h>
#include <xst/uabi.h>

#include "registers.h"

/* --- memory --- */

static int check_area(const struct xst_layout *layout, const void *area, size_t bytes,
		      struct xst_diag *diag)
{
	if (!area || bytes < layout->bytes)
		return xst_diag_set(diag, XST_ERR_NEED_BYTES, XST_DIAG_NO_COMPONENT, 0,
				    layout->bytes, bytes,
				    "the area has no room for a guest's image");
	if ((uintptr_t)area % XST_AREA_ALIGN)
		return xst_diag_set(diag, XST_ERR_ALIGN, XST_DIAG_NO_COMPONENT, 0, XST_AREA_ALIGN,
				    (uintptr_t)area, "the area is not aligned");
	return XST_OK;
}

/* One image with all that a switch moves; PKRU is moved by WRPKRU. */
static int compute_layout(const struct xst_system *sys, uint64_t mask, struct xst_layout *layout,
			  struct xst_diag *diag)
{
	if (sys->insn < XST_INSN_XSAVE) {
		*layout = sys->layout;
		return XST_OK;
	}
	if (XST_TWIN(GUEST_NO_CET_S))
		mask &= ~XST_MASK_CET_S;
	return xst_layout_compute(&sys->caps, sys->mask | (mask & ~XST_MASK_PKRU),
				  sys->layout.format, layout, diag);
}

/* The state after #RESET, in memory alone: an image of x87 and SSE, all else INIT. */
static void write_reset(const struct xst_system *sys, struct xst_guest *guest)
{
	uint8_t image[XST_EXT_OFFSET];
	struct xst_layout legacy;
	const struct xst_image from = {image, sizeof(image), &legacy};
	const struct xst_uabi t = {.sys = sys, .ctx = &guest->ctx, .inside = &guest->layout};
	int err;

	xst_layout_legacy(&legacy, XST_MASK_LEGACY);
	err = xst_image_reset(&from, sys->caps.mxcsr_mask, NULL);
	if (!err) {
		const uint32_t pkru = guest->ctx.pkru;

		err = xst_uabi_set(&t, &from, XST_UABI_MXCSR_BY_BV, NULL);
		guest->ctx.pkru = pkru;
	}
	XST_ASSERT(!err);
	(void)err;
	guest->xcr0 = XST_MASK_X87;
	guest->xss = 0;
	guest->xfd = 0;
	guest->xfd_err = 0;
	guest->pkru = 0;
	guest->ctx.fault = 0;
	__builtin_memset(guest->ssp, 0, sizeof(guest->ssp));
	guest->ssp_cpu = XST_NO_CPU;
}

int xst_guest_init(const struct xst_system *sys, struct xst_perm *perm, struct xst_guest *guest,
		   void *area, size_t bytes, struct xst_diag *diag)
{
	const uint64_t mask = perm->guest | XST_MASK_X87;
	struct xst_layout layout;
	int err;

	if (!XST_WORLD_HAS_TS)
		return xst_diag_set(diag, XST_ERR_UNSUPPORTED, XST_DIAG_NO_COMPONENT, 0, 1, 0,
				    "this world has no guests");
	err = xst_profile_check(sys, &sys->host, perm->host, diag);
	if (!err)
		err = xst_profile_check(sys, &sys->guest, mask, diag);
	if (!err)
		err = compute_layout(sys, mask, &layout, diag);
	if (!err)
		err = check_area(&layout, area, bytes, diag);
	if (err)
		return err;
	if (!XST_TWIN(GUEST_UNLOCKED))
		xst_perm_lock_guest(perm);
	__builtin_memset(guest, 0, sizeof(*guest));
	/* Half of AMX is no XCR0 that hardware takes; its image has room for it all the same. */
	guest->mask = mask & XST_MASK_TILEDATA ? mask : mask & ~XST_MASK_TILECFG;
	guest->layout = layout;
	guest->ctx.area = area;
	guest->ctx.last_cpu = XST_NO_CPU;
	guest->ctx.dynamic = layout.mask & ~sys->mask;
	guest->ctx.pkru = sys->init_pkru;
	guest->ctx.kind = XST_CTX_GUEST;
	set_homeless(&guest->ctx);
	write_reset(sys, guest);
	return XST_OK;
}

int xst_guest_destroy(struct xst_cpu *cpu, struct xst_guest *guest)
{
	if (guest->loaded)
		return XST_ERR_INVALID;
	if (!XST_TWIN(GUEST_OWNER_KEPT))
		xst_ctx_exit(cpu, &guest->ctx);
	guest->ssp_cpu = XST_NO_CPU;
	return XST_OK;
}

/* The components that such writes are about: all that hardware would let through. */
static uint64_t within_reach(const struct xst_system *sys, uint32_t direct)
{
	uint64_t mask = 0;

	if (direct & XST_DIRECT_XCR0)
		mask |= sys->caps.xcr0;
	if (direct & XST_DIRECT_XSS)
		mask |= sys->caps.xss;
	if ((direct & XST_DIRECT_XFD) && sys->caps.xfd)
		mask |= sys->caps.xcr0 & XST_MASK_DYNAMIC;
	if ((direct & XST_DIRECT_SSP) && sys->caps.cet_ss && !sys->guest_cet_s)
		mask |= XST_MASK_CET_S;
	return mask;
}

int xst_guest_set_direct(const struct xst_system *sys, struct xst_guest *guest, uint32_t direct,
			 struct xst_diag *diag)
{
	const uint64_t seen = within_reach(sys, direct);

	if (direct & ~(XST_DIRECT_XCR0 | XST_DIRECT_XSS | XST_DIRECT_XFD | XST_DIRECT_SSP))
		return xst_diag_set(diag, XST_ERR_INVALID, XST_DIAG_NO_COMPONENT, 0, 0, direct,
				    "no such register");
	if (seen & ~guest->mask)
		return xst_diag_set(diag, XST_ERR_DENIED, xst_mask_first(seen & ~guest->mask), 0,
				    guest->mask, seen,
				    "the guest could reach a component that it may not have");
	guest->direct = direct;
	return XST_OK;
}

/* --- the life of a thread that runs one --- */

int xst_guest_load(struct xst_cpu *cpu, struct xst_guest *guest)
{
	if (guest->loaded)
		return XST_ERR_INVALID;
	XST_TRACE(cpu, "guest-load", &guest->ctx);
	guest->user = cpu->cur;
	guest->loaded = true;
	/* The kernel's own accesses to user memory obey PKRU: the thread's stays in force. */
	if (cpu->bits & XST_B_PKRU)
		guest->ctx.pkru = xst_w_rdpkru(cpu->world);
	if (XST_TWIN(GUEST_KEEPS_USER))
		cpu->bits &= ~XST_B_LIVE;
	xst_switch(cpu, cpu->cur, &guest->ctx);
	return XST_OK;
}

int xst_guest_put(struct xst_cpu *cpu, struct xst_guest *guest)
{
	if (!guest->loaded || guest->running || cpu->cur != &guest->ctx)
		return XST_ERR_INVALID;
	XST_TRACE(cpu, "guest-put", &guest->ctx);
	guest->loaded = false;
	xst_switch(cpu, &guest->ctx, guest->user);
	guest->user = NULL;
	return XST_OK;
}

/* Has this guest anything to do with IA32_XFD? If not, the host's keeps it from tiles. */
static inline bool has_xfd(const struct xst_cpu *cpu, const struct xst_guest *guest)
{
	return guest->mask & cpu->sys->dynamic;
}

/* May it have protection keys? If not, its CR4.PKE is 0 and nothing there looks at PKRU. */
static inline bool has_pkru(const struct xst_cpu *cpu, const struct xst_guest *guest)
{
	return (cpu->bits & XST_B_PKRU) && (guest->mask & XST_MASK_PKRU);
}

/* Does this CPU hold the guest's shadow-stack pointers, and does none other hold newer ones? */
static inline bool has_ssp(const struct xst_cpu *cpu, const struct xst_guest *guest)
{
	return cpu->ssp_of == guest && (guest->ssp_cpu == cpu->id || XST_TWIN(GUEST_SSP_STALE));
}

/* Nobody knows what the last guest left, or what is there after a resume: all three are written. */
static XST_COLD void load_ssp(struct xst_cpu *cpu, struct xst_guest *guest)
{
	unsigned n;

	for (n = 0; n < 3; n++)
		xst_w_set_ssp(cpu->world, n, guest->ssp[n]);
	guest->n.ssp_writes += 3;
	guest->ssp_cpu = cpu->id;
	cpu->ssp_of = guest;
}

static void enter_xfd(struct xst_cpu *cpu, struct xst_guest *guest)
{
	if (guest->xfd != cpu->xfd) {
		guest->n.xfd_writes++;
		xst_w_set_xfd(cpu->world, guest->xfd);
	}
	if (guest->xfd_err) {
		guest->n.xfd_err_writes++;
		xst_w_set_xfd_err(cpu->world, guest->xfd_err);
	}
}

void xst_guest_enter(struct xst_cpu *cpu, struct xst_guest *guest)
{
	const struct xst_system *sys = cpu->sys;

	XST_ASSERT(cpu->cur == &guest->ctx && !guest->running);
	XST_TRACE(cpu, "guest-enter", &guest->ctx);
	guest->n.enters++;
	guest->running = true;
	/* Under the host's XCR0, IA32_XSS and IA32_XFD: the image may have more than the guest
	 * enabled. */
	if (!(cpu->bits & XST_B_LIVE)) {
		if (cpu->bits & XST_B_SLOT)
			cpu->slot = XST_SLOT_USED;
		xst_validate(cpu, &guest->ctx);
	}
	if (sys->guest_cet_s && !has_ssp(cpu, guest))
		load_ssp(cpu, guest);
	if (has_xfd(cpu, guest))
		enter_xfd(cpu, guest);
	if (has_pkru(cpu, guest) && guest->pkru != guest->ctx.pkru) {
		guest->n.pkru_writes++;
		xst_w_wrpkru(cpu->world, guest->pkru);
	}
	if (insn_of(cpu->bits) < XST_INSN_XSAVE)
		return;
	if (guest->xss != sys->xss && sys->caps.xsaves) {
		guest->n.xss_writes++;
		xst_w_set_xss(cpu->world, guest->xss);
	}
	if (guest->xcr0 != sys->xcr0) {
		guest->n.xcr0_writes++;
		xst_w_set_xcr0(cpu->world, guest->xcr0);
	}
}

/* IA32_XFD_ERR is 0 in the host, or its own #NM would find the guest's. */
static void exit_xfd(struct xst_cpu *cpu, struct xst_guest *guest)
{
	const bool direct = guest->direct & XST_DIRECT_XFD;

	if (direct)
		guest->xfd = xst_w_xfd(cpu->world);
	if ((direct || guest->xfd || guest->xfd_err) && !XST_TWIN(GUEST_XFD_ERR)) {
		guest->xfd_err = xst_w_take_xfd_err(cpu->world);
		guest->n.xfd_err_writes += guest->xfd_err != 0;
	}
	if (guest->xfd != cpu->xfd) {
		guest->n.xfd_writes++;
		xst_w_set_xfd(cpu->world, cpu->xfd);
	}
}

void xst_guest_exit(struct xst_cpu *cpu, struct xst_guest *guest)
{
	const struct xst_system *sys = cpu->sys;
	unsigned n;

	XST_ASSERT(guest->running);
	guest->running = false;
	/* The host's XCR0 comes first: an XRSTORS of an image of the host's would fault under
	 * another. */
	if (insn_of(cpu->bits) >= XST_INSN_XSAVE) {
		if (guest->direct & XST_DIRECT_XCR0)
			guest->xcr0 = xst_w_xcr0(cpu->world);
		if (guest->xcr0 != sys->xcr0 && !XST_TWIN(GUEST_XCR0)) {
			guest->n.xcr0_writes++;
			xst_w_set_xcr0(cpu->world, sys->xcr0);
		}
		if (sys->caps.xsaves && (guest->direct & XST_DIRECT_XSS))
			guest->xss = xst_w_xss(cpu->world);
		if (guest->xss != sys->xss && sys->caps.xsaves && !XST_TWIN(GUEST_XSS)) {
			guest->n.xss_writes++;
			xst_w_set_xss(cpu->world, sys->xss);
		}
	}
	if (has_pkru(cpu, guest)) {
		guest->pkru = xst_w_rdpkru(cpu->world);
		if (guest->pkru != guest->ctx.pkru && !XST_TWIN(GUEST_PKRU)) {
			guest->n.pkru_writes++;
			xst_w_wrpkru(cpu->world, guest->ctx.pkru);
		}
	}
	if (has_xfd(cpu, guest))
		exit_xfd(cpu, guest);
	if (sys->guest_cet_s && (guest->direct & XST_DIRECT_SSP))
		for (n = 0; n < 3; n++)
			guest->ssp[n] = xst_w_ssp(cpu->world, n);
	if (XST_TWIN(GUEST_EXIT_SAVES))
		xst_ctx_flush(cpu, &guest->ctx);
	XST_TRACE(cpu, "guest-exit", &guest->ctx);
}

int xst_guest_device_not_available(struct xst_guest *guest)
{
	if (!guest->xfd_err)
		return XST_ERR_NOT_OURS;
	guest->n.traps++;
	return XST_ERR_DYNAMIC;
}

/* --- what a guest writes to its control registers --- */

/* Some of its components become INIT, wherever they are. */
static void make_init(struct xst_cpu *cpu, struct xst_guest *guest, uint64_t mask)
{
	uint64_t bv;

	if (!mask || insn_of(cpu->bits) < XST_INSN_XSAVE)
		return;
	/* In the registers, and known to be INIT there: nothing need be saved to find out. */
	if (cpu->cur == &guest->ctx && (cpu->bits & XST_B_LIVE) && cpu->sys->xgetbv1 &&
	    !(mask & ~XST_MASK_USER) && !(xst_w_xinuse(cpu->world) & mask))
		return;
	XST_ASSERT(!guest->running);
	xst_ctx_flush(cpu, &guest->ctx);
	bv = xst_get64(guest->ctx.area, XST_OFF_XSTATE_BV);
	if (!(bv & mask))
		return;
	xst_put64(guest->ctx.area, XST_OFF_XSTATE_BV, bv & ~mask);
	xst_ctx_changed(cpu, &guest->ctx);
}

int xst_guest_set_xcr0(struct xst_cpu *cpu, struct xst_guest *guest, uint64_t xcr0,
		       struct xst_diag *diag)
{
	int err = xst_xcr0_check(xcr0, guest->mask & XST_MASK_USER, diag);

	if (err)
		return err;
	/* x87, SSE and PKRU were usable before: XCR0 does not guard them. */
	if (!XST_TWIN(GUEST_GROWN))
		make_init(cpu, guest, xcr0 & ~guest->xcr0 & ~(XST_MASK_LEGACY | XST_MASK_PKRU));
	guest->xcr0 = xcr0;
	return XST_OK;
}

int xst_guest_set_xss(struct xst_guest *guest, uint64_t xss, struct xst_diag *diag)
{
	int err = xst_xss_check(xss, guest->mask & XST_MASK_SUPER, diag);

	if (!err)
		guest->xss = xss;
	return err;
}

/* Bits of IA32_XFD and IA32_XFD_ERR that it may set. */
static int check_xfd(const struct xst_guest *guest, uint64_t xfd, struct xst_diag *diag)
{
	const uint64_t may = guest->mask & XST_MASK_DYNAMIC;

	if (xfd & ~may)
		return xst_diag_set(diag, XST_ERR_ILLEGAL_MASK, xst_mask_first(xfd & ~may), 0, may,
				    xfd, "not a component that IA32_XFD can disable");
	return XST_OK;
}

int xst_guest_set_xfd(struct xst_cpu *cpu, struct xst_guest *guest, uint64_t xfd,
		      struct xst_diag *diag)
{
	int err = check_xfd(guest, xfd, diag);

	if (err)
		return err;
	make_init(cpu, guest, xfd & ~guest->xfd);
	guest->xfd = xfd;
	return XST_OK;
}

int xst_guest_set_xfd_err(struct xst_guest *guest, uint64_t xfd_err, struct xst_diag *diag)
{
	int err = check_xfd(guest, xfd_err, diag);

	if (!err)
		guest->xfd_err = xfd_err;
	return err;
}

void xst_guest_reset(struct xst_cpu *cpu, struct xst_guest *guest, enum xst_guest_event event)
{
	XST_TRACE(cpu, "guest-reset", &guest->ctx);
	if (event == XST_GUEST_INIT) {
		make_init(cpu, guest, XST_MASK_BNDREGS | XST_MASK_BNDCSR | XST_MASK_CET_U |
					      XST_MASK_CET_S);
		__builtin_memset(guest->ssp, 0, sizeof(guest->ssp));
		guest->ssp_cpu = XST_NO_CPU;
		return;
	}
	/* Its registers elsewhere are forgotten: nothing of them is wanted. */
	xst_ctx_flush(cpu, &guest->ctx);
	write_reset(cpu->sys, guest);
	xst_ctx_changed(cpu, &guest->ctx);
}
