/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counting world: no register exists and no byte moves, so that the engine alone is run, as
 * often as a recorded workload has switches. Contract: xst/world.h. Build the engine with
 * -DXST_WORLD='"world_count.h"' -DXST_PORT='"port_count.h"' -DXST_PREFIX=xstc_.
 *
 * What is left of the registers is one bit: are they INIT? One component (SSE) stands for all that
 * CR0.TS guards. It goes into XSTATE_BV of an image at a save and comes back at a load, so that
 * skip_init decides as on hardware; the driver says what the task made of it (cnt_touch()).
 */
#ifndef WORLD_COUNT_H
#define WORLD_COUNT_H

#include <xst/system.h>
#include <xst/world_no_guests.h>

#define XST_WORLD_HAS_TS     1
#define XST_WORLD_HAS_XSAVES 1

/* One CPU's. Beside the engine's counters: what only the hardware would notice. */
struct cnt_world {
	bool tracked;           /* somebody asks xinuse, so it is carried through images */
	uint64_t xinuse;        /* 0, or XST_MASK_SSE */
	uint64_t ts_writes;     /* CLTS and writes of CR0 that set TS */
	uint64_t init_reads;    /* XGETBV with ECX = 1 */
	uint64_t interrupts;    /* sent to the CPU that has a task's only copy */
	uint64_t fetched;       /* saves that they were sent for */
	struct xst_cpu *cpus;   /* all CPUs of this machine, by number */
};

/* No CPU is read before there is a struct xst_cpu: a machine is computed, not probed. */
static inline void *xst_w_this(void)
{
	return NULL;
}

/* A CPU with all of the family's newest instructions and x87 and SSE: the smallest area. */
static inline int xst_w_caps(void *world, struct xst_caps *caps)
{
	(void)world;
	__builtin_memset(caps, 0, sizeof(*caps));
	caps->fpu = caps->fxsr = caps->sse = caps->sse2 = true;
	caps->xsave = caps->xsaveopt = caps->xsavec = caps->xgetbv1 = caps->xsaves = true;
	caps->xcr0 = XST_MASK_LEGACY;
	caps->mxcsr_mask = 0xffff;
	return XST_OK;
}

static inline int xst_w_enable(void *world, const struct xst_system *sys, struct xst_diag *diag)
{
	(void)world;
	(void)sys;
	(void)diag;
	return XST_OK;
}

static inline void xst_w_sums(void *world, uint32_t *standard, uint32_t *compacted)
{
	(void)world;
	*standard = 0;
	*compacted = 0;
}

static inline void xst_w_clts(void *world)
{
	((struct cnt_world *)world)->ts_writes++;
}

static inline void xst_w_stts(void *world)
{
	((struct cnt_world *)world)->ts_writes++;
}

/* Protection keys are off here: every policy writes PKRU at the same switches. */
static inline uint32_t xst_w_rdpkru(void *world)
{
	(void)world;
	return 0;
}

static inline void xst_w_wrpkru(void *world, uint32_t pkru)
{
	(void)world;
	(void)pkru;
}

static inline uint64_t xst_w_xinuse(void *world)
{
	struct cnt_world *w = world;

	w->init_reads++;
	return w->xinuse;
}

static inline uint32_t xst_w_mxcsr(void *world)
{
	(void)world;
	return 0x1f80;
}

/* Sections: what the kernel did with the registers leaves no trace in a later image. */
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

static inline void xst_w_fninit(void *world)
{
	(void)world;
}

static inline void xst_w_vzeroupper(void *world)
{
	(void)world;
}

static inline void xst_w_tilerelease(void *world)
{
	(void)world;
}

static inline void xst_w_ldmxcsr(void *world, uint32_t v)
{
	(void)world;
	(void)v;
}

static inline void xst_w_vldmxcsr(void *world, uint32_t v)
{
	(void)world;
	(void)v;
}

static inline uint64_t xst_w_xcr0(void *world)
{
	(void)world;
	return XST_MASK_LEGACY;
}

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

static inline uint64_t xst_w_take_xfd_err(void *world)
{
	(void)world;
	return 0;
}

static inline void xst_w_scrub_fip(void *world)
{
	(void)world;
}

/* Bring-up comes before there is a world, and tries forms that have no header. */
static inline bool cnt_moves(const struct cnt_world *w, unsigned insn)
{
	return insn >= XST_INSN_XSAVE && w && w->tracked;
}

static inline void xst_w_save(void *world, unsigned insn, void *area, uint64_t mask)
{
	const struct cnt_world *w = world;
	uint64_t xstate_bv;

	if (!cnt_moves(w, insn))
		return;
	xstate_bv = w->xinuse & mask;
	__builtin_memcpy((uint8_t *)area + XST_HEADER_OFFSET, &xstate_bv, sizeof(xstate_bv));
}

static inline int xst_w_load_at(void *world, unsigned insn, const void *area, uint64_t mask,
				uint8_t *at)
{
	struct cnt_world *w = world;
	uint64_t xstate_bv;

	(void)at;
	if (!cnt_moves(w, insn))
		return 0;
	__builtin_memcpy(&xstate_bv, (const uint8_t *)area + XST_HEADER_OFFSET, sizeof(xstate_bv));
	w->xinuse = xstate_bv & mask;
	return 0;
}

/* The running task made its registers live, or all INIT. */
static inline void cnt_touch(struct cnt_world *world, bool live)
{
	world->xinuse = live ? XST_MASK_SSE : 0;
}

#endif
