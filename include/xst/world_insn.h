/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of a world that is the same in ring 0 and in user mode: the instructions that any ring
 * may execute. Included by world_ring0.h and world_user.h; see world.h for the contract.
 */
#ifndef XST_WORLD_INSN_H
#define XST_WORLD_INSN_H

#include <xst/insn.h>
#include <xst/system.h>

static inline void *xst_w_this(void)
{
	return (void *)0;
}

static inline uint32_t xst_w_rdpkru(void *world)
{
	(void)world;
	return xst_rdpkru();
}

static inline void xst_w_wrpkru(void *world, uint32_t pkru)
{
	(void)world;
	xst_wrpkru(pkru);
}

static inline uint64_t xst_w_xinuse(void *world)
{
	(void)world;
	return xst_xgetbv(1);
}

static inline uint32_t xst_w_mxcsr(void *world)
{
	uint32_t v;

	(void)world;
	xst_stmxcsr(&v);
	return v;
}

static inline void xst_w_scrub_fip(void *world)
{
	(void)world;
	xst_scrub_fip();
}

static inline void xst_w_fninit(void *world)
{
	(void)world;
	xst_fninit();
}

static inline void xst_w_ldmxcsr(void *world, uint32_t v)
{
	(void)world;
	xst_ldmxcsr(&v);
}

static inline void xst_w_vldmxcsr(void *world, uint32_t v)
{
	(void)world;
	xst_vldmxcsr(&v);
}

static inline void xst_w_vzeroupper(void *world)
{
	(void)world;
	xst_vzeroupper();
}

static inline void xst_w_tilerelease(void *world)
{
	(void)world;
	xst_tilerelease();
}

static inline uint64_t xst_w_xcr0(void *world)
{
	(void)world;
	return xst_xgetbv(0);
}

#ifdef XST_CHECK_SECTIONS
static inline void xst_w_fnstenv(void *world, uint32_t env[7])
{
	(void)world;
	xst_fnstenv(env);
}

static inline void xst_w_fldenv(void *world, const uint32_t env[7])
{
	(void)world;
	xst_fldenv(env);
}
#endif

/* Comparisons by halves instead of a switch: a jump table would cost a retpoline on this path. */
static inline void xst_w_save(void *world, unsigned insn, void *area, uint64_t mask)
{
	(void)world;
	if (insn > XST_INSN_XSAVEOPT) {
		if (insn == XST_INSN_XSAVES)
			xst_xsaves(area, mask);
		else
			xst_xsavec(area, mask);
	} else if (insn > XST_INSN_FXSAVE) {
		if (insn == XST_INSN_XSAVEOPT)
			xst_xsaveopt(area, mask);
		else
			xst_xsave(area, mask);
	} else if (insn == XST_INSN_FXSAVE) {
		xst_fxsave(area);
	} else {
		xst_fnsave(area);
	}
}

static inline int xst_w_load_at(void *world, unsigned insn, const void *area, uint64_t mask,
				uint8_t *at)
{
	(void)world;
	if (insn == XST_INSN_XSAVES)
		return xst_xrstors_at(area, mask, at);
	if (insn >= XST_INSN_XSAVE)
		return xst_xrstor_at(area, mask, at);
	if (insn == XST_INSN_FXSAVE)
		return xst_fxrstor_at(area, at);
	return xst_frstor_at(area, at);
}

#endif
