// SPDX-License-Identifier: BSD-2-Clause
/* The software CPU's frame: what it is, reset, control registers, and the registers' bytes. */
#include <string.h>

#include "mdl.h"

static const struct {
	uint16_t offset, bytes;
} place[64] = {
#define XST_COMP(id, SYM, ...)                                                                     \
	[id] = {(uint16_t)__builtin_offsetof(struct mdl_regs, SYM),                                \
		(uint16_t)sizeof(((struct mdl_regs *)0)->SYM)},
#include <xst/comp.def>
};

void mdl_caps_make(struct xst_caps *caps, uint64_t xcr0, uint64_t xss, enum xst_insn insn)
{
	static const uint16_t standard[64] = {
		[XST_COMP_AVX] = 576,        [XST_COMP_BNDREGS] = 960,   [XST_COMP_BNDCSR] = 1024,
		[XST_COMP_OPMASK] = 1088,    [XST_COMP_ZMM_HI256] = 1152, [XST_COMP_HI16_ZMM] = 1664,
		[XST_COMP_PKRU] = 2688,      [XST_COMP_TILECFG] = 2752,  [XST_COMP_TILEDATA] = 2816,
		[XST_COMP_APX] = 960,
	};
	unsigned i;

	memset(caps, 0, sizeof(*caps));
	memcpy(caps->vendor, "GenuineIntel", 13);
	caps->family = 6;
	caps->model = 0x6a;
	caps->max_leaf = 0x1f;
	caps->fpu = caps->mmx = true;
	caps->mxcsr_mask = 0xffff;
	caps->fxsr = caps->sse = caps->sse2 = insn >= XST_INSN_FXSAVE;
	caps->xsave = insn >= XST_INSN_XSAVE;
	caps->xsaveopt = insn >= XST_INSN_XSAVEOPT;
	caps->xsavec = caps->xgetbv1 = insn >= XST_INSN_XSAVEC;
	caps->xsaves = insn >= XST_INSN_XSAVES;
	if (!caps->xsave)
		return;
	caps->xcr0 = xcr0;
	caps->xss = caps->xsaves ? xss : 0;
	caps->avx = xcr0 & XST_MASK_AVX;
	caps->avx512f = xcr0 & XST_MASK_AVX512;
	caps->pku = xcr0 & XST_MASK_PKRU;
	caps->cet_ss = caps->xss & (XST_MASK_CET_U | XST_MASK_CET_S);
	caps->cet_ibt = caps->cet_ss;
	caps->amx_tile = caps->xfd = xcr0 & XST_MASK_AMX;
	for (i = 2; i < 63; i++) {
		const struct xst_comp_info *info = xst_comp_info(i);

		if (!((caps->xcr0 | caps->xss) & XST_MASK(i)) || !info)
			continue;
		caps->comp[i].bytes = info->bytes;
		caps->comp[i].offset = standard[i];
		caps->comp[i].supervisor = info->kind == XST_KIND_SUPER;
		caps->comp[i].align64 = XST_MASK(i) & XST_MASK_AMX;
		caps->comp[i].xfd = i == XST_COMP_TILEDATA;
	}
}

uint8_t *mdl_reg(struct mdl_cpu *c, unsigned i)
{
	return (uint8_t *)&c->regs + place[i].offset;
}

uint32_t mdl_reg_bytes(const struct mdl_cpu *c, unsigned i)
{
	uint32_t n = place[i].bytes;

	return i >= 2 && c->caps->comp[i].bytes < n ? c->caps->comp[i].bytes : n;
}

static void set_init(struct mdl_cpu *c, unsigned i)
{
	memset(mdl_reg(c, i), 0, place[i].bytes);
#ifndef MDL_TOKENS
	if (i == XST_COMP_X87) {
		c->regs.X87[0] = MDL_FCW_INIT & 0xff;
		c->regs.X87[1] = MDL_FCW_INIT >> 8;
	}
#endif
}

bool mdl_is_init(struct mdl_cpu *c, unsigned i)
{
	const uint8_t *reg = mdl_reg(c, i);
	uint32_t n;

	for (n = 0; n < place[i].bytes; n++) {
		uint8_t want = 0;

#ifndef MDL_TOKENS
		if (i == XST_COMP_X87 && n < 2)
			want = (uint8_t)(MDL_FCW_INIT >> (8 * n));
		/* AMD's XINUSE does not look at FOP, FIP and FDP, which such a state has none of. */
		if (i == XST_COMP_X87 && n == 6 && c->fip != MDL_FIP_ALWAYS)
			n = 24;
#endif
		if (reg[n] != want)
			return false;
	}
	return true;
}

void mdl_wrote(struct mdl_cpu *c, unsigned i)
{
	c->xinuse |= XST_MASK(i);
	c->xmodified |= XST_MASK(i);
}

void mdl_init(struct mdl_cpu *c, unsigned i)
{
	set_init(c, i);
	if (mdl_choose(c, MDL_INIT_IN_USE, i))
		c->xinuse |= XST_MASK(i);
	else
		c->xinuse &= ~XST_MASK(i);
	c->xmodified |= XST_MASK(i);
}

void mdl_reset(struct mdl_cpu *c, const struct xst_caps *caps)
{
	unsigned i;

	memset(c, 0, sizeof(*c));
	c->caps = caps;
	c->xcr0 = 1;
	c->mxcsr = MDL_MXCSR_INIT;
	c->xmodified = ~0ULL;
	if (caps->fip_leak)
		c->fip = MDL_FIP_LEAK;
	else if (!memcmp(caps->vendor, "AuthenticAMD", 12) || !memcmp(caps->vendor, "HygonGenuine", 12))
		c->fip = MDL_FIP_ZERO;
	for (i = 0; i < 63; i++)
		set_init(c, i);
}

int mdl_xsetbv(struct mdl_cpu *c, uint64_t xcr0)
{
	if (!(c->cr4 & MDL_CR4_OSXSAVE))
		return MDL_UD;
	if (c->cpl || xst_xcr0_check(xcr0, c->caps->xcr0, NULL) != XST_OK)
		return MDL_GP;
	c->xcr0 = xcr0;
	return MDL_OK;
}

int mdl_wrmsr_xss(struct mdl_cpu *c, uint64_t xss)
{
	if (c->cpl || !c->caps->xsaves || xst_xss_check(xss, c->caps->xss, NULL) != XST_OK)
		return MDL_GP;
	c->xss = xss;
	return MDL_OK;
}

int mdl_rdmsr_ssp(struct mdl_cpu *c, unsigned n, uint64_t *ssp)
{
	if (c->cpl || !c->caps->cet_ss || n > 2)
		return MDL_GP;
#ifdef MDL_TOKENS
	*ssp = (uint64_t)c->regs.CET_S[0] << 2;
#else
	memcpy(ssp, c->regs.CET_S + 8 * n, 8);
#endif
	return MDL_OK;
}

/* Aligned to four bytes, and canonical. Ref: SDM vol. 4, "IA32_PL0_SSP" */
int mdl_wrmsr_ssp(struct mdl_cpu *c, unsigned n, uint64_t ssp)
{
	const uint64_t high = ssp >> 47;

	if (c->cpl || !c->caps->cet_ss || n > 2 || (ssp & 3) || (high && high != 0x1ffff))
		return MDL_GP;
#ifdef MDL_TOKENS
	c->regs.CET_S[0] = (uint8_t)(ssp >> 2);
#else
	memcpy(c->regs.CET_S + 8 * n, &ssp, 8);
#endif
	mdl_wrote(c, XST_COMP_CET_S);
	return MDL_OK;
}

uint64_t mdl_in_use(const struct mdl_cpu *c)
{
	const bool mxcsr = c->mxcsr_counts && c->mxcsr != MDL_MXCSR_INIT;

	return c->xinuse | c->always_in_use | (mxcsr ? XST_MASK_SSE : 0);
}

uint64_t mdl_xgetbv1(const struct mdl_cpu *c)
{
	return c->xcr0 & mdl_in_use(c);
}

void mdl_sums(const struct mdl_cpu *c, uint32_t *standard, uint32_t *compacted)
{
	struct xst_layout l;

	*standard = *compacted = 0;
	if (xst_layout_compute(c->caps, c->xcr0, XST_STANDARD, &l, NULL) == XST_OK)
		*standard = l.bytes;
	if (xst_layout_compute(c->caps, c->xcr0 | c->xss, XST_COMPACTED, &l, NULL) == XST_OK)
		*compacted = l.bytes;
	if (c->sum_standard)
		*standard = c->sum_standard;
	if (c->sum_compacted)
		*compacted = c->sum_compacted;
}

int mdl_access(struct mdl_cpu *c, unsigned i, bool vex)
{
	const struct xst_comp_info *info = xst_comp_info(i);

	if (i == XST_COMP_PKRU && !(c->cr4 & MDL_CR4_PKE))
		return MDL_UD;
	if (!info || !info->ts_guarded)
		return MDL_OK;
	if (i == XST_COMP_X87)
		return c->cr0 & (MDL_CR0_EM | MDL_CR0_TS) ? MDL_NM : MDL_OK;
	if (i == XST_COMP_SSE && !vex) {
		if ((c->cr0 & MDL_CR0_EM) || !(c->cr4 & MDL_CR4_OSFXSR))
			return MDL_UD;
	} else if (!(c->cr4 & MDL_CR4_OSXSAVE) || !(c->xcr0 & XST_MASK(i))) {
		return MDL_UD;
	}
	if (c->cr0 & MDL_CR0_TS)
		return MDL_NM;
	if (c->xfd & c->xcr0 & XST_MASK(i)) {
		c->xfd_err |= XST_MASK(i);
		return MDL_NM;
	}
	return MDL_OK;
}

int mdl_scrub_fip(struct mdl_cpu *c)
{
	if (c->cr0 & (MDL_CR0_EM | MDL_CR0_TS))
		return MDL_NM;
#ifndef MDL_TOKENS
	memset(c->regs.X87 + 6, 0, 18);
#endif
	mdl_wrote(c, XST_COMP_X87);
	return MDL_OK;
}
