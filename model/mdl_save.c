// SPDX-License-Identifier: BSD-2-Clause
/*
 * The save instructions, oldest to newest.
 *
 * The model stands for hardware, so it shares nothing with the library's own converters and
 * predictor, which are judged by it.
 */
#include "mdl_image.h"

static bool is_aligned(const void *area, unsigned to)
{
	return !((uintptr_t)area % to);
}

/* FNSAVE ends with FNINIT: control, status and tags, not the registers' contents. */
static void after_fnsave(struct mdl_cpu *c)
{
#ifdef MDL_TOKENS
	mdl_init(c, XST_COMP_X87);
#else
	(void)mdl_fninit(c);
#endif
}

#ifndef MDL_TOKENS

/* The tag of one 80-bit register: 0 valid, 1 zero, 2 special. */
static uint32_t tag_of(const uint8_t *st)
{
	const uint32_t exponent = mdl_get16(st + 8) & 0x7fffu;
	const uint64_t mantissa = mdl_get64(st);

	if (!exponent && !mantissa)
		return 1;
	return !exponent || exponent == 0x7fffu || !(mantissa >> 63) ? 2 : 0;
}

/* 28 bytes of environment in the 32-bit protected-mode format, then eight 10-byte registers. The model
 * keeps 64-bit pointers and no selectors: FCS and FDS are 0, as on CPUs that deprecate them.
 * Ref: SDM vol. 1, "Saving the x87 FPU's State with FSTENV/FNSTENV and FSAVE/FNSAVE" */
static void write_fnsave(struct mdl_cpu *c, uint8_t *area)
{
	const uint8_t *r = c->regs.X87;
	const uint32_t top = mdl_get16(r + 2) >> 11 & 7;
	uint32_t i, tags = 0;

	for (i = 0; i < 8; i++) {
		const uint8_t *st = r + 32 + 16 * ((i - top) & 7);

		tags |= (r[4] >> i & 1u ? tag_of(st) : 3u) << (2 * i);
	}
	mdl_put32(area, 0xffff0000u | mdl_get16(r));
	mdl_put32(area + 4, 0xffff0000u | mdl_get16(r + 2));
	mdl_put32(area + 8, 0xffff0000u | tags);
	mdl_put32(area + 12, mdl_get32(r + 8));
	mdl_put32(area + 16, mdl_get16(r + 6) << 16);
	mdl_put32(area + 20, mdl_get32(r + 16));
	mdl_put32(area + 24, 0xffff0000u);
	for (i = 0; i < 8; i++)
		memcpy(area + 28 + 10 * i, r + 32 + 16 * i, 10);
}

#else

static void write_fnsave(struct mdl_cpu *c, uint8_t *area)
{
	mdl_x87_out(c, area);
}

#endif

static void write_mxcsr(struct mdl_cpu *c, uint8_t *area)
{
#ifdef MDL_TOKENS
	(void)c;
	(void)area;
#else
	mdl_put32(area + 24, c->mxcsr);
	mdl_put32(area + 28, c->caps->mxcsr_mask);
	mdl_count(c, 0, 8);
#endif
}

static int fnsave(struct mdl_cpu *c, uint8_t *area)
{
	if (c->cr0 & (MDL_CR0_EM | MDL_CR0_TS))
		return MDL_NM;
	write_fnsave(c, area);
	after_fnsave(c);
	return MDL_OK;
}

static int fxsave(struct mdl_cpu *c, uint8_t *area)
{
	if (!c->caps->fxsr || (c->cr0 & MDL_CR0_EM))
		return MDL_UD;
	if (c->cr0 & MDL_CR0_TS)
		return MDL_NM;
	if (!is_aligned(area, 16))
		return MDL_GP;
	mdl_x87_out(c, area);
	if (c->cr4 & MDL_CR4_OSFXSR) {
		write_mxcsr(c, area);
		mdl_out(c, XST_COMP_SSE, area, 160);
	}
	return MDL_OK;
}

static bool has(const struct xst_caps *caps, enum xst_insn insn)
{
	switch (insn) {
	case XST_INSN_XSAVES:
		return caps->xsaves;
	case XST_INSN_XSAVEC:
		return caps->xsavec;
	case XST_INSN_XSAVEOPT:
		return caps->xsaveopt;
	default:
		return caps->xsave;
	}
}

/* May unmodified components be left unwritten at @area? z of XRSTOR_INFO must be 0 for XSAVEOPT, so a
 * compacted restore in between rules it out.
 * Ref: SDM vol. 1, "Operation of XSAVEOPT"; "Operation of XSAVES" */
static bool may_skip(const struct mdl_cpu *c, enum xst_insn insn, const void *area, uint64_t rfbm)
{
	const struct mdl_xrstor_info *info = &c->info;

	if (info->area != (uintptr_t)area || info->cpl != c->cpl || info->nonroot != c->nonroot)
		return false;
	if (insn == XST_INSN_XSAVEOPT)
		return info->xcomp_bv == 0;
	return insn == XST_INSN_XSAVES && info->xcomp_bv == (XST_XCOMP_COMPACT | rfbm);
}

static int xsave(struct mdl_cpu *c, enum xst_insn insn, uint8_t *area, uint64_t mask)
{
	const bool compact = insn >= XST_INSN_XSAVEC;
	uint64_t rfbm, bv, write, rest, xcomp_bv;
	bool skip;

	if (!has(c->caps, insn) || !(c->cr4 & MDL_CR4_OSXSAVE))
		return MDL_UD;
	if (insn == XST_INSN_XSAVES && c->cpl)
		return MDL_GP;
	if (c->cr0 & MDL_CR0_TS)
		return MDL_NM;
	if (!is_aligned(area, XST_AREA_ALIGN))
		return MDL_GP;

	rfbm = mask & (c->xcr0 | (insn == XST_INSN_XSAVES ? c->xss : 0));
	/* A disabled component is saved as if it were INIT.
	 * Ref: SDM vol. 1, "Extended Feature Disable (XFD)" */
	bv = mdl_in_use(c) & rfbm & ~c->xfd;
	if (compact && (rfbm & XST_MASK_SSE) && c->mxcsr != MDL_MXCSR_INIT)
		bv |= XST_MASK_SSE;
	write = insn == XST_INSN_XSAVE ? rfbm : bv;
	xcomp_bv = compact ? XST_XCOMP_COMPACT | rfbm : 0;
	skip = may_skip(c, insn, area, rfbm);

	for (rest = write; rest; rest &= rest - 1) {
		const unsigned i = (unsigned)__builtin_ctzll(rest);
		uint32_t offset = mdl_offset(c, i, xcomp_bv);

		if (skip && !(c->xmodified & XST_MASK(i)) && (c->xinuse & XST_MASK(i)) &&
		    mdl_choose(c, MDL_SKIP, i)) {
			c->skipped++;
			continue;
		}
		if (compact && i >= 2)
			offset -= c->misplace;
		if (i == XST_COMP_SSE && compact)
			write_mxcsr(c, area);
		if (c->xfd & XST_MASK(i)) {
			memset(area + offset, 0, mdl_reg_bytes(c, i));
			mdl_count(c, 0, mdl_reg_bytes(c, i));
		} else {
			mdl_out(c, i, area, offset);
		}
	}
	if (!compact && (rfbm & (XST_MASK_SSE | XST_MASK_AVX)))
		write_mxcsr(c, area);

	if (compact) {
		mdl_put64(area + XST_HEADER_OFFSET, bv);
		mdl_put64(area + XST_HEADER_OFFSET + 8, xcomp_bv);
		mdl_count(c, 0, 16);
	} else {
		mdl_put64(area + XST_HEADER_OFFSET,
			  (mdl_get64(area + XST_HEADER_OFFSET) & ~rfbm) | bv);
		mdl_count(c, 8, 8);
	}
	return MDL_OK;
}

int mdl_save(struct mdl_cpu *c, enum xst_insn insn, void *area, uint64_t mask)
{
	int vector;

	if (insn == XST_INSN_FNSAVE)
		vector = fnsave(c, area);
	else if (insn == XST_INSN_FXSAVE)
		vector = fxsave(c, area);
	else
		vector = xsave(c, insn, area, mask);
	if (!vector)
		c->saves++;
	return vector;
}
