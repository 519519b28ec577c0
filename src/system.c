// SPDX-License-Identifier: BSD-2-Clause
/* Decide what one machine enables. */
#include <xst/system.h>

#define FNSAVE_BYTES 108u

/* Drop components until the rest obeys every XCR0 rule. Each round removes at least one bit, and
 * x87 alone is always legal, so it ends. */
static uint64_t legal_subset(uint64_t mask, uint64_t supported)
{
	struct xst_diag d;

	while (xst_xcr0_check(mask, supported, &d) != XST_OK && d.component != XST_COMP_X87)
		mask &= ~XST_MASK(d.component);
	return mask;
}

/* The newest instruction that is there and not to be avoided. */
static enum xst_insn choose(const struct xst_caps *caps, uint32_t *avoid)
{
	const uint32_t no_compact = XST_AVOID_SUMS | XST_AVOID_SELFTEST;

	if (!caps->fxsr)
		return XST_INSN_FNSAVE;
	if (!caps->xsave)
		return XST_INSN_FXSAVE;
	if (caps->xsaves && xst_caps_erratum_1386(caps))
		*avoid |= XST_AVOID_ERRATUM_1386;
	if (caps->xsaves && !*avoid)
		return XST_INSN_XSAVES;
	if (caps->xsavec && !(*avoid & no_compact))
		return XST_INSN_XSAVEC;
	return caps->xsaveopt ? XST_INSN_XSAVEOPT : XST_INSN_XSAVE;
}

void xst_fresh_image(enum xst_insn insn, uint64_t mask, uint8_t *area, uint32_t bytes)
{
	const uint16_t fcw = 0x037f;
	const uint32_t mxcsr = 0x1f80;
	const uint64_t xcomp_bv = XST_XCOMP_COMPACT | mask;

	__builtin_memset(area, 0, bytes);
	__builtin_memcpy(area, &fcw, sizeof(fcw));
	if (insn == XST_INSN_FNSAVE) {
		/* Tag word: all empty, in the 32-bit protected-mode format. */
		area[8] = area[9] = 0xff;
		return;
	}
	/* The standard form loads MXCSR whatever XSTATE_BV says: zero would unmask everything. */
	__builtin_memcpy(area + 24, &mxcsr, sizeof(mxcsr));
	if (insn >= XST_INSN_XSAVEC)
		__builtin_memcpy(area + XST_HEADER_OFFSET + 8, &xcomp_bv, sizeof(xcomp_bv));
}

/* What CR0.TS does not guard, but for PKRU. LWP is not ours: the CPUs that had it lost it. */
static uint64_t apart_mask(const struct xst_caps *caps, uint64_t want, enum xst_insn insn,
			   uint64_t user)
{
	const uint64_t not_ours = XST_MASK_TS_GUARDED | XST_MASK_PKRU | XST_MASK_LWP;
	uint64_t mask = legal_subset(user | (want & caps->xcr0 & XST_MASK_USER & ~not_ours),
				     caps->xcr0) & ~user;

	if (insn == XST_INSN_XSAVES)
		mask |= want & caps->xss & XST_MASK_TASK_SUPER;
	return mask;
}

/* The supervisor components that guests are to have. Some CPUs list CET_S and give it no size. */
static uint64_t guest_super(const struct xst_system *sys, uint64_t want)
{
	if (sys->insn != XST_INSN_XSAVES)
		return 0;
	if (want & XST_MASK_GUEST_ONLY)
		want |= XST_MASK_TASK_SUPER;
	return want & sys->caps.xss & xst_caps_placed(&sys->caps) &
	       (XST_MASK_TASK_SUPER | XST_MASK_GUEST_ONLY);
}

/* Does a restore of @image, one of @sys's own, stay in @sys? */
static int check_fresh(const struct xst_system *sys, const uint8_t *image, uint32_t bytes,
		       struct xst_diag *diag)
{
	const uint32_t behind = (uint32_t)((const uint8_t *)(sys + 1) - image);

	return bytes <= behind ? XST_OK
			       : xst_diag_set(diag, XST_ERR_NEED_BYTES, XST_DIAG_NO_COMPONENT, 0,
					      behind, bytes, "no CPU's image is that large");
}

static uint32_t after(const struct xst_layout *layout)
{
	return (layout->bytes + XST_AREA_ALIGN - 1) & ~(XST_AREA_ALIGN - 1);
}

/* The second image, behind the first one. */
static int compute_apart(const struct xst_caps *caps, struct xst_system *sys,
			 struct xst_diag *diag)
{
	int err = xst_layout_compute(caps, sys->apart, sys->layout.format, &sys->apart_layout, diag);

	if (!err)
		err = check_fresh(sys, sys->fresh_apart, sys->apart_layout.bytes, diag);
	if (err)
		return err;
	sys->apart_offset = after(&sys->layout);
	sys->ctx_bytes = sys->apart_offset + sys->apart_layout.bytes;
	xst_fresh_image(sys->insn, sys->apart, sys->fresh_apart, sizeof(sys->fresh_apart));
	return XST_OK;
}

/* The area of a task that uses what is dynamic. */
static int compute_grown(const struct xst_caps *caps, struct xst_system *sys,
			 struct xst_diag *diag)
{
	int err = xst_layout_compute(caps, sys->mask | sys->dynamic, sys->layout.format,
				     &sys->grown, diag);

	sys->grown_apart_offset = sys->apart ? after(&sys->grown) : 0;
	sys->grown_bytes = sys->apart ? sys->grown_apart_offset + sys->apart_layout.bytes
				      : sys->grown.bytes;
	return err;
}

static int compute_xsave(const struct xst_caps *caps, uint64_t want, struct xst_system *sys,
			 struct xst_diag *diag)
{
	enum xst_format format = sys->insn >= XST_INSN_XSAVEC ? XST_COMPACTED : XST_STANDARD;
	const bool xfd = caps->xfd && caps->comp[XST_COMP_TILEDATA].xfd;
	uint64_t mask = want & caps->xcr0 & XST_MASK_TS_GUARDED & ~(xfd ? 0 : XST_MASK_AMX);
	int err;

	mask = legal_subset(mask | XST_MASK_X87, caps->xcr0);
	sys->dynamic = mask & XST_MASK_DYNAMIC;
	sys->mask = mask & ~XST_MASK_DYNAMIC;
	sys->apart = apart_mask(caps, want, sys->insn, mask);
	sys->pkru = (want & caps->xcr0 & XST_MASK_PKRU) && caps->pku;
	sys->xcr0 = mask | (sys->apart & XST_MASK_USER) | (sys->pkru ? XST_MASK_PKRU : 0);
	sys->xss = (sys->apart & XST_MASK_SUPER) | guest_super(sys, want);
	sys->xgetbv1 = caps->xgetbv1;
	err = xst_layout_compute(caps, sys->mask, format, &sys->layout, diag);
	if (err)
		return err;
	sys->ctx_bytes = sys->layout.bytes;
	err = check_fresh(sys, sys->fresh, sys->layout.bytes, diag);
	/* Without components it makes INIT what guests have beside. */
	xst_fresh_image(sys->insn, 0, sys->fresh_apart, sizeof(sys->fresh_apart));
	if (!err && sys->apart)
		err = compute_apart(caps, sys, diag);
	return err || !sys->dynamic ? err : compute_grown(caps, sys, diag);
}

/* Bytes of an image of @mask; 0 where this CPU has no place for one of them. */
static uint32_t image_bytes(const struct xst_system *sys, uint64_t mask, enum xst_format format)
{
	struct xst_layout l;

	if (sys->insn < XST_INSN_XSAVE)
		return XST_EXT_OFFSET;
	return xst_layout_compute(&sys->caps, mask, format, &l, NULL) ? 0 : l.bytes;
}

/* Who may have what, of all that was decided. */
static void compute_profiles(struct xst_system *sys, uint64_t want)
{
	const uint64_t user = sys->insn >= XST_INSN_XSAVE ? sys->xcr0 : sys->mask;
	const uint64_t super = guest_super(sys, want), beside = sys->pkru ? XST_MASK_PKRU : 0;
	struct xst_profile *host = &sys->host, *guest = &sys->guest;

	host->max = user | (sys->apart & XST_MASK_SUPER);
	host->mask = host->max & ~sys->dynamic;
	host->bytes = sys->ctx_bytes;
	host->max_bytes = sys->dynamic ? sys->grown_bytes : sys->ctx_bytes;

	sys->user.max = user;
	sys->user.mask = user & ~sys->dynamic;
	sys->user.bytes = image_bytes(sys, sys->user.mask, XST_STANDARD);
	sys->user.max_bytes = image_bytes(sys, user, XST_STANDARD);

	guest->max = user | super;
	guest->mask = guest->max & ~sys->dynamic;
	guest->bytes = guest->max_bytes = sys->layout.bytes;
	if (sys->insn >= XST_INSN_XSAVE) {
		guest->bytes = image_bytes(sys, guest->mask & ~beside, sys->layout.format);
		guest->max_bytes = image_bytes(sys, guest->max & ~beside, sys->layout.format);
	}
	sys->guest_cet_s = sys->caps.cet_ss && (want & XST_MASK_CET_S) && !(super & XST_MASK_CET_S);
}

int xst_profile_check(const struct xst_system *sys, const struct xst_profile *profile,
		      uint64_t mask, struct xst_diag *diag)
{
	const uint64_t odd = mask & ~profile->max, alien = odd & XST_MASK_GUEST_ONLY;

	if (alien && profile != &sys->guest)
		return xst_diag_set(diag, XST_ERR_GUEST_ONLY, xst_mask_first(alien), 0,
				    profile->max,
				    mask, "only guests have this component");
	if (odd)
		return xst_diag_set(diag, XST_ERR_ILLEGAL_MASK, xst_mask_first(odd), 0,
				    profile->max,
				    mask, "not a component that this may have here");
	return XST_OK;
}

int xst_system_compute(const struct xst_caps *caps, uint64_t want, uint32_t avoid,
		       struct xst_system *sys, struct xst_diag *diag)
{
	__builtin_memset(sys, 0, sizeof(*sys));
	if (!caps->fpu)
		return xst_diag_set(diag, XST_ERR_UNSUPPORTED, XST_COMP_X87, 1, 1, 0,
				    "the CPU has no x87 unit");
	sys->caps = *caps;
	sys->insn = choose(caps, &avoid);
	sys->avoided = avoid;
	sys->leaky_cpu = xst_caps_leaky(caps);
	sys->init_pkru = XST_PKRU_DEFAULT;
	sys->mask = XST_MASK_X87 | (caps->fxsr && caps->sse ? XST_MASK_SSE : 0);

	sys->fip_leak = caps->fip_leak && sys->insn != XST_INSN_FNSAVE;
	if (sys->insn >= XST_INSN_XSAVE) {
		int err = compute_xsave(caps, want, sys, diag);

		if (err)
			return err;
	} else {
		sys->layout.mask = sys->mask;
		sys->layout.bytes =
			sys->insn == XST_INSN_FXSAVE ? XST_LEGACY_BYTES : FNSAVE_BYTES;
		sys->ctx_bytes = sys->layout.bytes;
	}
	xst_fresh_image(sys->insn, sys->mask, sys->fresh, sizeof(sys->fresh));
	compute_profiles(sys, want);
	return XST_OK;
}

const char *xst_insn_name(enum xst_insn insn)
{
	static const char *const names[] = {"fnsave",   "fxsave", "xsave",
					    "xsaveopt", "xsavec", "xsaves"};

	return (unsigned)insn < sizeof(names) / sizeof(names[0]) ? names[insn] : "?";
}
