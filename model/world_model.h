/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The world of the software CPU: the contract is in xst/world.h. Build the engine with
 * -DXST_WORLD='"world_model.h"'; with MDL_TOKENS too for the small variant.
 *
 * The engine must never make the save and control functions fault; if it does, the first vector
 * stays in the CPU's member surprise, which tests look at.
 */
#ifndef WORLD_MODEL_H
#define WORLD_MODEL_H

#include <string.h>

#include "mdl.h"

#define XST_WORLD_HAS_TS     1
#define XST_WORLD_HAS_XSAVES 1

/* The CPU we are on: set by the test before it calls what needs xst_w_this(). */
extern struct mdl_cpu *mdl_current;

static inline void mdl_surprise(struct mdl_cpu *c, int vector)
{
	if (vector && !c->surprise)
		c->surprise = vector;
}

static inline void *xst_w_this(void)
{
	return mdl_current;
}

static inline int xst_w_caps(void *world, struct xst_caps *caps)
{
	*caps = *((struct mdl_cpu *)world)->caps;
	return XST_OK;
}

static inline int xst_w_enable(void *world, const struct xst_system *sys, struct xst_diag *diag)
{
	struct mdl_cpu *c = world;

	(void)diag;
	c->cr0 = MDL_CR0_MP;
	if (sys->caps.fxsr)
		c->cr4 |= MDL_CR4_OSFXSR;
	if (sys->pkru)
		c->cr4 |= MDL_CR4_PKE;
	if (sys->insn >= XST_INSN_XSAVE) {
		c->cr4 |= MDL_CR4_OSXSAVE;
		mdl_surprise(c, mdl_xsetbv(c, sys->xcr0));
	}
	c->xss = sys->xss;
	return XST_OK;
}

static inline void xst_w_sums(void *world, uint32_t *standard, uint32_t *compacted)
{
	mdl_sums(world, standard, compacted);
}

static inline void xst_w_clts(void *world)
{
	((struct mdl_cpu *)world)->cr0 &= ~MDL_CR0_TS;
}

static inline void xst_w_stts(void *world)
{
	((struct mdl_cpu *)world)->cr0 |= MDL_CR0_TS;
}

static inline uint64_t xst_w_take_xfd_err(void *world)
{
	struct mdl_cpu *c = world;
	const uint64_t err = c->xfd_err;

	c->xfd_err = 0;
	return err;
}

static inline uint32_t xst_w_rdpkru(void *world)
{
	struct mdl_cpu *c = world;
	uint32_t pkru = 0;

	mdl_surprise(c, mdl_access(c, XST_COMP_PKRU, false));
	memcpy(&pkru, c->regs.PKRU, sizeof(c->regs.PKRU) < 4 ? 1 : 4);
	return pkru;
}

static inline void xst_w_wrpkru(void *world, uint32_t pkru)
{
	struct mdl_cpu *c = world;

	mdl_surprise(c, mdl_access(c, XST_COMP_PKRU, false));
	memcpy(c->regs.PKRU, &pkru, sizeof(c->regs.PKRU) < 4 ? 1 : 4);
	mdl_wrote(c, XST_COMP_PKRU);
}

static inline uint64_t xst_w_xinuse(void *world)
{
	return mdl_xgetbv1(world);
}

static inline uint32_t xst_w_mxcsr(void *world)
{
	mdl_surprise(world, mdl_access(world, XST_COMP_SSE, false));
	return ((struct mdl_cpu *)world)->mxcsr;
}

static inline unsigned long xst_w_irq_save(void *world)
{
	(void)world;
	return 0;
}

static inline void xst_w_irq_restore(void *world, unsigned long flags)
{
	(void)world;
	(void)flags;
}

static inline bool xst_w_x87_ready(void *world)
{
	return !mdl_access(world, XST_COMP_X87, false);
}

static inline void xst_w_fninit(void *world)
{
	mdl_surprise(world, mdl_fninit(world));
}

static inline void xst_w_ldmxcsr(void *world, uint32_t v)
{
	mdl_surprise(world, mdl_ldmxcsr(world, v));
}

static inline void xst_w_vldmxcsr(void *world, uint32_t v)
{
	mdl_surprise(world, mdl_vldmxcsr(world, v));
}

static inline void xst_w_vzeroupper(void *world)
{
	mdl_surprise(world, mdl_vzeroupper(world));
}

static inline void xst_w_tilerelease(void *world)
{
	mdl_surprise(world, mdl_tilerelease(world));
}

static inline uint64_t xst_w_xcr0(void *world)
{
	return ((struct mdl_cpu *)world)->xcr0;
}

static inline uint64_t xst_w_xfd(void *world)
{
	return ((struct mdl_cpu *)world)->xfd;
}

/* #GP for a component that cannot be disabled. Ref: SDM vol. 1, "Extended Feature Disable (XFD)" */
static inline void xst_w_set_xfd(void *world, uint64_t v)
{
	struct mdl_cpu *c = world;

	if (!c->caps->xfd || (v & ~(c->xcr0 & XST_MASK_TILEDATA)))
		mdl_surprise(c, MDL_GP);
	c->xfd = v;
	c->xfd_writes++;
}

static inline void xst_w_set_xcr0(void *world, uint64_t v)
{
	struct mdl_cpu *c = world;

	mdl_surprise(c, mdl_xsetbv(c, v));
	c->guest_writes++;
}

static inline uint64_t xst_w_xss(void *world)
{
	return ((struct mdl_cpu *)world)->xss;
}

static inline void xst_w_set_xss(void *world, uint64_t v)
{
	struct mdl_cpu *c = world;

	mdl_surprise(c, mdl_wrmsr_xss(c, v));
	c->guest_writes++;
}

static inline void xst_w_set_xfd_err(void *world, uint64_t v)
{
	struct mdl_cpu *c = world;

	if (!c->caps->xfd || (v & ~(c->xcr0 & XST_MASK_TILEDATA)))
		mdl_surprise(c, MDL_GP);
	c->xfd_err = v;
	c->guest_writes++;
}

static inline uint64_t xst_w_ssp(void *world, unsigned n)
{
	uint64_t v = 0;

	mdl_surprise(world, mdl_rdmsr_ssp(world, n, &v));
	return v;
}

static inline void xst_w_set_ssp(void *world, unsigned n, uint64_t v)
{
	mdl_surprise(world, mdl_wrmsr_ssp(world, n, v));
	((struct mdl_cpu *)world)->guest_writes++;
}

#ifndef MDL_TOKENS
static inline void xst_w_fnstenv(void *world, uint32_t env[7])
{
	mdl_surprise(world, mdl_fnstenv(world, env));
}

static inline void xst_w_fldenv(void *world, const uint32_t env[7])
{
	mdl_surprise(world, mdl_fldenv(world, env));
}
#endif

static inline void xst_w_scrub_fip(void *world)
{
	mdl_surprise(world, mdl_scrub_fip(world));
}

static inline void xst_w_save(void *world, unsigned insn, void *area, uint64_t mask)
{
	mdl_surprise(world, mdl_save(world, (enum xst_insn)insn, area, mask));
}

static inline int xst_w_load_at(void *world, unsigned insn, const void *area, uint64_t mask,
				uint8_t *at)
{
	(void)at;
	return mdl_load(world, (enum xst_insn)insn, area, mask);
}

#endif
