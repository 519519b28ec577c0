// SPDX-License-Identifier: BSD-2-Clause
/* Instructions of in-kernel sections; both sizes of the model have them. */
#include "mdl_image.h"

#ifdef MDL_TOKENS
/* The contents are whoever's they were: not INIT, and in use. */
int mdl_fninit(struct mdl_cpu *c)
{
	if (mdl_access(c, XST_COMP_X87, false))
		return MDL_NM;
	c->regs.X87[0] = MDL_TOKEN_FNINIT;
	mdl_wrote(c, XST_COMP_X87);
	return MDL_OK;
}
#else
/* Turn the stack so that register 0 of the image is physical register @top. */
void mdl_set_top(uint8_t *r, uint32_t top)
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
	mdl_set_top(r, 0);
	memset(r, 0, 24);
	mdl_put16(r, MDL_FCW_INIT);
	if (mdl_is_init(c, XST_COMP_X87) && !mdl_choose(c, MDL_INIT_IN_USE, XST_COMP_X87))
		c->xinuse &= ~XST_MASK_X87;
	else
		c->xinuse |= XST_MASK_X87;
	c->xmodified |= XST_MASK_X87;
	return MDL_OK;
}
#endif

int mdl_ldmxcsr(struct mdl_cpu *c, uint32_t mxcsr)
{
	const int vector = mdl_access(c, XST_COMP_SSE, false);

	if (vector)
		return vector;
	if (mxcsr & ~c->caps->mxcsr_mask)
		return MDL_GP;
	if (mdl_xgetbv1(c) & XST_MASK_AVX)
		c->transitions++;
	c->mxcsr = mxcsr;
	c->xmodified |= XST_MASK_SSE;
	return MDL_OK;
}

int mdl_vldmxcsr(struct mdl_cpu *c, uint32_t mxcsr)
{
	const int vector = mdl_access(c, XST_COMP_AVX, true);

	if (vector)
		return vector;
	if (mxcsr & ~c->caps->mxcsr_mask)
		return MDL_GP;
	c->mxcsr = mxcsr;
	c->xmodified |= XST_MASK_SSE;
	return MDL_OK;
}

/* Only the registers below 16 are touched. */
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

int mdl_tilerelease(struct mdl_cpu *c)
{
	/* XFD does not guard it. */
	if (!(c->cr4 & MDL_CR4_OSXSAVE) || (c->xcr0 & XST_MASK_AMX) != XST_MASK_AMX)
		return MDL_UD;
	mdl_init(c, XST_COMP_TILECFG);
	mdl_init(c, XST_COMP_TILEDATA);
	return MDL_OK;
}
