// SPDX-License-Identifier: BSD-2-Clause
/* Instructions of user programmes that change the state: the ones tests need, exactly. */
#include "mdl_image.h"

/* Turn the stack so that register 0 of the image is physical register @top. */
static void set_top(uint8_t *r, uint32_t top)
{
	const uint32_t fsw = mdl_get16(r + 2), old = fsw >> 11 & 7;
	uint8_t copy[128];
	uint32_t i;

	memcpy(copy, r + 32, sizeof(copy));
	for (i = 0; i < 8; i++)
		memcpy(r + 32 + 16 * i, copy + 16 * ((i + top - old) & 7), 16);
	mdl_put16(r + 2, (fsw & ~0x3800u) | top << 11);
}

/* Control, status, tags and pointers; the registers keep their contents. */
int mdl_fninit(struct mdl_cpu *c)
{
	uint8_t *r = c->regs.X87;

	if (mdl_access(c, XST_COMP_X87, false))
		return MDL_NM;
	set_top(r, 0);
	memset(r, 0, 24);
	mdl_put16(r, MDL_FCW_INIT);
	if (mdl_is_init(c, XST_COMP_X87) && !mdl_choose(c, MDL_INIT_IN_USE, XST_COMP_X87))
		c->xinuse &= ~XST_MASK_X87;
	else
		c->xinuse |= XST_MASK_X87;
	c->xmodified |= XST_MASK_X87;
	return MDL_OK;
}

int mdl_fnclex(struct mdl_cpu *c)
{
	uint8_t *r = c->regs.X87;

	if (mdl_access(c, XST_COMP_X87, false))
		return MDL_NM;
	mdl_put16(r + 2, mdl_get16(r + 2) & 0x7f00u);
	mdl_wrote(c, XST_COMP_X87);
	return MDL_OK;
}

int mdl_fldcw(struct mdl_cpu *c, uint16_t fcw)
{
	uint8_t *r = c->regs.X87;
	uint32_t fsw;

	if (mdl_access(c, XST_COMP_X87, false))
		return MDL_NM;
	mdl_put16(r, (fcw & 0x1f7fu) | 0x40u);
	/* Unmasking a flag that is set makes the exception pending, and the other way round. */
	fsw = mdl_get16(r + 2) & 0x7f7fu;
	if (fsw & ~mdl_get16(r) & 0x3fu)
		fsw |= 0x8080u;
	mdl_put16(r + 2, fsw);
	mdl_wrote(c, XST_COMP_X87);
	return MDL_OK;
}

/* An empty destination is assumed: a stack overflow would depend on masks. FIP and FDP are the
 * instruction's and operand's addresses, which the model does not know: they are left alone. */
int mdl_fld(struct mdl_cpu *c, const uint8_t value[10])
{
	uint8_t *r = c->regs.X87;
	uint32_t top;

	if (mdl_access(c, XST_COMP_X87, false))
		return MDL_NM;
	top = ((mdl_get16(r + 2) >> 11) - 1) & 7;
	set_top(r, top);
	memcpy(r + 32, value, 10);
	memset(r + 42, 0, 6);
	r[4] = (uint8_t)(r[4] | 1u << top);
	mdl_put16(r + 2, mdl_get16(r + 2) & ~0x200u); /* C1 */
	mdl_wrote(c, XST_COMP_X87);
	return MDL_OK;
}

/* All tags empty, and TOP becomes 0 as with every MMX instruction (the real CPU says so). */
int mdl_emms(struct mdl_cpu *c)
{
	if (c->cr0 & MDL_CR0_EM)
		return MDL_UD;
	if (c->cr0 & MDL_CR0_TS)
		return MDL_NM;
	c->regs.X87[4] = 0;
	set_top(c->regs.X87, 0);
	mdl_wrote(c, XST_COMP_X87);
	return MDL_OK;
}

int mdl_ldmxcsr(struct mdl_cpu *c, uint32_t mxcsr)
{
	const int vector = mdl_access(c, XST_COMP_SSE, false);

	if (vector)
		return vector;
	if (mxcsr & ~c->caps->mxcsr_mask)
		return MDL_GP;
	c->mxcsr = mxcsr;
	c->xmodified |= XST_MASK_SSE;
	return MDL_OK;
}

int mdl_movdqu(struct mdl_cpu *c, unsigned xmm, const uint8_t value[16])
{
	const int vector = mdl_access(c, XST_COMP_SSE, false);

	if (vector)
		return vector;
	memcpy(c->regs.SSE + 16 * xmm, value, 16);
	mdl_wrote(c, XST_COMP_SSE);
	return MDL_OK;
}

/* A VEX write clears the register above what it writes. */
static void clear_above(struct mdl_cpu *c, unsigned reg, bool ymm_too)
{
	if (ymm_too)
		memset(c->regs.AVX + 16 * reg, 0, 16);
	if (c->xcr0 & XST_MASK_ZMM_HI256)
		memset(c->regs.ZMM_HI256 + 32 * reg, 0, 32);
}

int mdl_vmovdqu(struct mdl_cpu *c, unsigned ymm, const uint8_t value[32])
{
	const int vector = mdl_access(c, XST_COMP_AVX, true);

	if (vector)
		return vector;
	memcpy(c->regs.SSE + 16 * ymm, value, 16);
	memcpy(c->regs.AVX + 16 * ymm, value + 16, 16);
	clear_above(c, ymm, false);
	mdl_wrote(c, XST_COMP_SSE);
	mdl_wrote(c, XST_COMP_AVX);
	c->xmodified |= XST_MASK_ZMM_HI256;
	return MDL_OK;
}

int mdl_vmovdqu64(struct mdl_cpu *c, unsigned zmm, const uint8_t value[64])
{
	const int vector = mdl_access(c, XST_COMP_ZMM_HI256, true);

	if (vector)
		return vector;
	if (zmm >= 16) {
		memcpy(c->regs.HI16_ZMM + 64 * (zmm - 16), value, 64);
		mdl_wrote(c, XST_COMP_HI16_ZMM);
		return MDL_OK;
	}
	memcpy(c->regs.SSE + 16 * zmm, value, 16);
	memcpy(c->regs.AVX + 16 * zmm, value + 16, 16);
	memcpy(c->regs.ZMM_HI256 + 32 * zmm, value + 32, 32);
	mdl_wrote(c, XST_COMP_SSE);
	mdl_wrote(c, XST_COMP_AVX);
	mdl_wrote(c, XST_COMP_ZMM_HI256);
	return MDL_OK;
}

int mdl_kmovq(struct mdl_cpu *c, unsigned k, uint64_t value)
{
	const int vector = mdl_access(c, XST_COMP_OPMASK, true);

	if (vector)
		return vector;
	mdl_put64(c->regs.OPMASK + 8 * k, value);
	mdl_wrote(c, XST_COMP_OPMASK);
	return MDL_OK;
}

/* Clear what both VZERO instructions clear. Only the registers below 16 are touched. */
int mdl_vzeroupper(struct mdl_cpu *c)
{
	const int vector = mdl_access(c, XST_COMP_AVX, true);

	if (vector)
		return vector;
	mdl_init(c, XST_COMP_AVX);
	if (c->xcr0 & XST_MASK_ZMM_HI256)
		mdl_init(c, XST_COMP_ZMM_HI256);
	return MDL_OK;
}

int mdl_vzeroall(struct mdl_cpu *c)
{
	const int vector = mdl_vzeroupper(c);

	if (vector)
		return vector;
	mdl_init(c, XST_COMP_SSE);
	return MDL_OK;
}
