/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The world of user mode: fibers, runtimes, benchmarks. No CR0.TS and no XSAVES, so first-use
 * policies are refused; the operating system has enabled what can be used. See world.h for the
 * contract; build the engine with -DXST_USER_MODE.
 */
#ifndef XST_WORLD_USER_H
#define XST_WORLD_USER_H

#include <xst/world_insn.h>
#include <xst/world_no_guests.h>

#define XST_WORLD_HAS_TS     0
#define XST_WORLD_HAS_XSAVES 0

/* What the operating system enabled is all there is. */
static inline int xst_w_caps(void *world, struct xst_caps *caps)
{
	int err = xst_caps_native(caps);

	(void)world;
	if (err)
		return err;
	if (caps->xsave && caps->osxsave)
		caps->xcr0 &= xst_xgetbv(0);
	else
		caps->xsave = false;
	caps->pku = caps->pku && caps->ospke;
	/* Supervisor components cannot be reached from here, nor IA32_XFD. */
	caps->xss = 0;
	caps->xfd = false;
	return XST_OK;
}

static inline int xst_w_enable(void *world, const struct xst_system *sys, struct xst_diag *diag)
{
	(void)world;
	(void)sys;
	(void)diag;
	return XST_OK;
}

/* CPUID sums up what the operating system enabled, supervisor components and all, which is not what
 * we asked for: no statement. */
static inline void xst_w_sums(void *world, uint32_t *standard, uint32_t *compacted)
{
	(void)world;
	*standard = 0;
	*compacted = 0;
}

/* Signals do not come into sections of a program that has none. */
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
	(void)world;
	return true;
}

/* The operating system's, and out of reach: it clears what it grants. */
static inline uint64_t xst_w_xfd(void *world)
{
	(void)world;
	return 0;
}

static inline void xst_w_set_xfd(void *world, uint64_t v)
{
	(void)world;
	(void)v;
}

static inline void xst_w_clts(void *world)
{
	(void)world;
}

static inline void xst_w_stts(void *world)
{
	(void)world;
}

static inline uint64_t xst_w_take_xfd_err(void *world)
{
	(void)world;
	return 0;
}

#endif
