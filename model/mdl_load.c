// SPDX-License-Identifier: BSD-2-Clause
/* The restore instructions and what they refuse. */
#include "mdl_image.h"

static bool is_aligned(const void *area, unsigned to)
{
	return !((uintptr_t)area % to);
}

/* A component was loaded. It may be INIT all the same, and be tracked as such. */
static void loaded(struct mdl_cpu *c, unsigned i)
{
	if (mdl_is_init(c, i) && !mdl_choose(c, MDL_INIT_IN_USE, i))
		c->xinuse &= ~XST_MASK(i);
	else
		c->xinuse |= XST_MASK(i);
}

#ifndef MDL_TOKENS

/* FRSTOR reads the full tag word, of which hardware keeps one bit per register. */
static void read_fnsave(struct mdl_cpu *c, const uint8_t *area)
{
	const uint32_t tags = mdl_get16(area + 8);
	uint8_t image[160] = {0};
	uint32_t i;

	memcpy(image, area, 2);
	memcpy(image + 2, area + 4, 2);
	for (i = 0; i < 8; i++)
		if ((tags >> (2 * i) & 3u) != 3u)
			image[4] = (uint8_t)(image[4] | 1u << i);
	memcpy(image + 8, area + 12, 4);
	memcpy(image + 6, area + 18, 2);
	memcpy(image + 16, area + 20, 4);
	for (i = 0; i < 8; i++)
		memcpy(image + 32 + 16 * i, area + 28 + 10 * i, 10);
	mdl_x87_in(c, image);
}

static bool bad_mxcsr(const struct mdl_cpu *c, const uint8_t *area)
{
	return mdl_get32(area + 24) & ~c->caps->mxcsr_mask;
}

static void read_mxcsr(struct mdl_cpu *c, const uint8_t *area)
{
	c->mxcsr = mdl_get32(area + 24);
	mdl_count(c, 4, 0);
}

#else

static void read_fnsave(struct mdl_cpu *c, const uint8_t *area)
{
	mdl_x87_in(c, area);
}

static bool bad_mxcsr(const struct mdl_cpu *c, const uint8_t *area)
{
	(void)c;
	(void)area;
	return false;
}

static void read_mxcsr(struct mdl_cpu *c, const uint8_t *area)
{
	(void)c;
	(void)area;
}

#endif

static int frstor(struct mdl_cpu *c, const uint8_t *area)
{
	if (c->cr0 & (MDL_CR0_EM | MDL_CR0_TS))
		return MDL_NM;
	read_fnsave(c, area);
	loaded(c, XST_COMP_X87);
	c->xmodified |= XST_MASK_X87;
	return MDL_OK;
}

static int fxrstor(struct mdl_cpu *c, const uint8_t *area)
{
	const bool sse = c->cr4 & MDL_CR4_OSFXSR;

	if (!c->caps->fxsr || (c->cr0 & MDL_CR0_EM))
		return MDL_UD;
	if (c->cr0 & MDL_CR0_TS)
		return MDL_NM;
	if (!is_aligned(area, 16) || (sse && bad_mxcsr(c, area)))
		return MDL_GP;
	mdl_x87_in(c, area);
	loaded(c, XST_COMP_X87);
	if (sse) {
		read_mxcsr(c, area);
		mdl_in(c, XST_COMP_SSE, area, 160);
		loaded(c, XST_COMP_SSE);
	}
	c->xmodified |= XST_MASK_LEGACY;
	return MDL_OK;
}

/* Are header words @from..7 zero? */
static bool header_zero(const uint8_t *area, unsigned from)
{
	unsigned i;

	for (i = from; i < 8; i++)
		if (mdl_get64(area + XST_HEADER_OFFSET + 8 * i))
			return false;
	return true;
}

/* Does the header make the instruction raise #GP?
 * Ref: SDM vol. 1, "Standard Form of XRSTOR"; "Compacted Form of XRSTOR"; "Operation of XRSTORS" */
static bool refuses(const struct mdl_cpu *c, bool xrstors, const uint8_t *area, uint64_t rfbm)
{
	const uint64_t bv = mdl_get64(area + XST_HEADER_OFFSET);
	const uint64_t xcomp_bv = mdl_get64(area + XST_HEADER_OFFSET + 8);
	const uint64_t enabled = c->xcr0 | (xrstors ? c->xss : 0);

	if (!(xcomp_bv & XST_XCOMP_COMPACT)) {
		/* Of the reserved bytes the standard form looks at 16-23 only. */
		return xrstors || xcomp_bv || mdl_get64(area + XST_HEADER_OFFSET + 16) ||
		       (bv & ~c->xcr0) ||
		       ((rfbm & (XST_MASK_SSE | XST_MASK_AVX)) && bad_mxcsr(c, area));
	}
	return (!c->caps->xsavec && !c->caps->xsaves) ||
	       (xcomp_bv & ~XST_XCOMP_COMPACT & ~enabled) || (bv & ~xcomp_bv) ||
	       (bv & XST_XCOMP_COMPACT) || !header_zero(area, 2) ||
	       ((bv & rfbm & XST_MASK_SSE) && bad_mxcsr(c, area));
}

/* A fault in the middle: nobody knows what the registers hold now.
 * Ref: SDM vol. 1, "Operation of XRSTORS"; the real CPU does so when MXCSR is what it refuses */
static void scramble(struct mdl_cpu *c, uint64_t rfbm)
{
	uint64_t rest;

	for (rest = rfbm; rest; rest &= rest - 1) {
		const unsigned i = (unsigned)__builtin_ctzll(rest);

		memset(mdl_reg(c, i), 0x0f, mdl_reg_bytes(c, i));
		mdl_wrote(c, i);
	}
	c->info.area = 0;
}

static int xrstor(struct mdl_cpu *c, bool xrstors, const uint8_t *area, uint64_t mask)
{
	const struct xst_caps *caps = c->caps;
	uint64_t rfbm, bv, xcomp_bv, rest;

	if (!(xrstors ? caps->xsaves : caps->xsave) || !(c->cr4 & MDL_CR4_OSXSAVE))
		return MDL_UD;
	if (xrstors && c->cpl)
		return MDL_GP;
	if (c->cr0 & MDL_CR0_TS)
		return MDL_NM;
	if (!is_aligned(area, XST_AREA_ALIGN))
		return MDL_GP;
	rfbm = mask & (c->xcr0 | (xrstors ? c->xss : 0));
	if (refuses(c, xrstors, area, rfbm)) {
		if (mdl_choose(c, MDL_FAULT_CHANGES, XST_COMP_SSE))
			scramble(c, rfbm);
		return MDL_GP;
	}
	bv = mdl_get64(area + XST_HEADER_OFFSET);
	xcomp_bv = mdl_get64(area + XST_HEADER_OFFSET + 8);
	/* The compacted form looks at the whole header, the standard one at its first 24 bytes. */
	mdl_count(c, xcomp_bv ? 64 : 24, 0);
	if (bv & rfbm & c->xfd) {
		c->xfd_err |= bv & rfbm & c->xfd;
		return MDL_NM;
	}

	/* A component that is made INIT but tracked as in use counts as modified: memory need not hold
	 * it, so a save must not skip it. */
	c->xmodified = ~rfbm;
	for (rest = rfbm; rest; rest &= rest - 1) {
		const unsigned i = (unsigned)__builtin_ctzll(rest);

		if (bv & XST_MASK(i)) {
			mdl_in(c, i, area, mdl_offset(c, i, xcomp_bv));
			loaded(c, i);
		} else {
			mdl_init(c, i);
			if (!(c->xinuse & XST_MASK(i)))
				c->xmodified &= ~XST_MASK(i);
		}
	}
	if (!xcomp_bv && (rfbm & (XST_MASK_SSE | XST_MASK_AVX)))
		read_mxcsr(c, area);
	else if (xcomp_bv && (rfbm & bv & XST_MASK_SSE))
		read_mxcsr(c, area);
	else if (xcomp_bv && (rfbm & XST_MASK_SSE))
		c->mxcsr = MDL_MXCSR_INIT;

	c->info.area = (uintptr_t)area;
	c->info.xcomp_bv = xcomp_bv;
	c->info.cpl = c->cpl;
	c->info.nonroot = c->nonroot;
	return MDL_OK;
}

int mdl_load(struct mdl_cpu *c, enum xst_insn insn, const void *area, uint64_t mask)
{
	int vector;

	if (insn == XST_INSN_FNSAVE)
		vector = frstor(c, area);
	else if (insn == XST_INSN_FXSAVE)
		vector = fxrstor(c, area);
	else
		vector = xrstor(c, insn == XST_INSN_XSAVES, area, mask);
	if (!vector)
		c->loads++;
	return vector;
}
