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

	if (sys->insn <= XST_INSN_FXSAVE) {
		sys->layout.mask = sys->mask;
		sys->layout.bytes =
			sys->insn == XST_INSN_FXSAVE ? XST_LEGACY_BYTES : FNSAVE_BYTES;
	} else {
		enum xst_format format =
			sys->insn >= XST_INSN_XSAVEC ? XST_COMPACTED : XST_STANDARD;
		uint64_t mask = want & caps->xcr0 & XST_MASK_TS_GUARDED & ~XST_MASK_AMX;
		int err;

		sys->mask = legal_subset(mask | XST_MASK_X87, caps->xcr0);
		sys->pkru = (want & caps->xcr0 & XST_MASK_PKRU) && caps->pku;
		sys->xcr0 = sys->mask | (sys->pkru ? XST_MASK_PKRU : 0);
		err = xst_layout_compute(caps, sys->mask, format, &sys->layout, diag);
		if (err)
			return err;
	}
	sys->ctx_bytes = sys->layout.bytes;
	return XST_OK;
}

const char *xst_insn_name(enum xst_insn insn)
{
	static const char *const names[] = {"fnsave",   "fxsave", "xsave",
					    "xsaveopt", "xsavec", "xsaves"};

	return (unsigned)insn < sizeof(names) / sizeof(names[0]) ? names[insn] : "?";
}
