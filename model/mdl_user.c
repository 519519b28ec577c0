// SPDX-License-Identifier: BSD-2-Clause
/* Instructions of user programmes that change the state: the ones tests need, exactly. */
#include "mdl_image.h"

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
	mdl_set_top(r, top);
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
	mdl_set_top(c->regs.X87, 0);
	mdl_wrote(c, XST_COMP_X87);
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

/* Zeros over zeros need not count as a modification: seen on a real CPU. */
static bool has_above(const struct mdl_cpu *c, unsigned ymm)
{
	unsigned i;

	for (i = 0; i < 32; i++)
		if (c->regs.ZMM_HI256[32 * ymm + i])
			return true;
	return false;
}

int mdl_vmovdqu(struct mdl_cpu *c, unsigned ymm, const uint8_t value[32])
{
	const int vector = mdl_access(c, XST_COMP_AVX, true);
	const bool above = has_above(c, ymm);

	if (vector)
		return vector;
	memcpy(c->regs.SSE + 16 * ymm, value, 16);
	memcpy(c->regs.AVX + 16 * ymm, value + 16, 16);
	clear_above(c, ymm, false);
	mdl_wrote(c, XST_COMP_SSE);
	mdl_wrote(c, XST_COMP_AVX);
	if (above)
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

/* What both VZERO instructions clear, and the XMM registers. */
int mdl_vzeroall(struct mdl_cpu *c)
{
	const int vector = mdl_vzeroupper(c);

	if (vector)
		return vector;
	mdl_init(c, XST_COMP_SSE);
	return MDL_OK;
}

/* The tag word has two bits a register: 3 is empty. */
int mdl_fldenv(struct mdl_cpu *c, const uint32_t env[7])
{
	uint8_t *r = c->regs.X87;
	uint32_t i, valid = 0;

	if (mdl_access(c, XST_COMP_X87, false))
		return MDL_NM;
	for (i = 0; i < 8; i++)
		valid |= (env[2] >> (2 * i) & 3u) != 3u ? 1u << i : 0u;
	mdl_set_top(r, env[1] >> 11 & 7);
	mdl_put16(r, (env[0] & 0x1f7fu) | 0x40u);
	mdl_put16(r + 2, env[1] & 0xffffu);
	r[4] = (uint8_t)valid;
	mdl_wrote(c, XST_COMP_X87);
	return MDL_OK;
}

/* Full tags are not computed: a register in use is 0, "valid". Exceptions are masked afterwards. */
int mdl_fnstenv(struct mdl_cpu *c, uint32_t env[7])
{
	uint8_t *r = c->regs.X87;
	uint32_t i;

	if (mdl_access(c, XST_COMP_X87, false))
		return MDL_NM;
	memset(env, 0, 7 * sizeof(env[0]));
	env[0] = mdl_get16(r) | 0xffff0000u;
	env[1] = mdl_get16(r + 2) | 0xffff0000u;
	env[2] = 0xffff0000u;
	for (i = 0; i < 8; i++)
		env[2] |= ((uint32_t)r[4] >> i & 1u ? 0u : 3u) << (2 * i);
	mdl_put16(r, mdl_get16(r) | 0x3fu);
	mdl_wrote(c, XST_COMP_X87);
	return MDL_OK;
}
