/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The world of ring 0: every function is the instruction. See world.h for the contract.
 */
#ifndef XST_WORLD_RING0_H
#define XST_WORLD_RING0_H

#include <xst/world_insn.h>

#define XST_WORLD_HAS_TS 1
/* -DXST_WORLD_HAS_XSAVES=0: a kernel that does without. */
#ifndef XST_WORLD_HAS_XSAVES
#define XST_WORLD_HAS_XSAVES 1
#endif

static inline int xst_w_caps(void *world, struct xst_caps *caps)
{
	(void)world;
	return xst_caps_native(caps);
}

/* CR0: MP so that WAIT traps under TS, NE so that x87 exceptions are #MF; EM and TS off.
 * Ref: SDM vol. 3, "Control Registers"; "Configuring the x87 FPU Environment" */
static inline int xst_w_enable(void *world, const struct xst_system *sys, struct xst_diag *diag)
{
	const struct xst_caps *caps = &sys->caps;
	unsigned long cr4 = 0;

	(void)world;
	(void)diag;
	xst_write_cr0((xst_read_cr0() & ~(XST_CR0_EM | XST_CR0_TS)) | XST_CR0_MP | XST_CR0_NE);
	if (caps->fxsr)
		cr4 |= XST_CR4_OSFXSR | (caps->sse ? XST_CR4_OSXMMEXCPT : 0);
	if (sys->insn >= XST_INSN_XSAVE)
		cr4 |= XST_CR4_OSXSAVE;
	if (sys->pkru)
		cr4 |= XST_CR4_PKE;
	/* CPUs without any of these may have no CR4 at all. */
	if (cr4)
		xst_write_cr4(xst_read_cr4() | cr4);
	if (sys->insn >= XST_INSN_XSAVE)
		xst_xsetbv(0, sys->xcr0);
	if (caps->xsaves)
		xst_wrmsr(XST_MSR_XSS, sys->xss);
	return XST_OK;
}

static inline void xst_w_sums(void *world, uint32_t *standard, uint32_t *compacted)
{
	uint32_t a, c, d;

	(void)world;
	xst_cpuid(0xd, 0, &a, standard, &c, &d);
	xst_cpuid(0xd, 1, &a, compacted, &c, &d);
}

#ifndef XST_IRQ_SAVE
#define XST_IRQ_SAVE(flags)    __asm__ volatile("pushf\n\tpop %0\n\tcli" : "=r"(flags) : : "memory")
#define XST_IRQ_RESTORE(flags) __asm__ volatile("push %0\n\tpopf" : : "r"(flags) : "memory", "cc")
#endif

static inline unsigned long xst_w_irq_save(void *world)
{
	unsigned long flags;

	(void)world;
	XST_IRQ_SAVE(flags);
	return flags;
}

static inline void xst_w_irq_restore(void *world, unsigned long flags)
{
	(void)world;
	XST_IRQ_RESTORE(flags);
}

/* Neither emulated nor left to first use. */
static inline bool xst_w_x87_ready(void *world)
{
	(void)world;
	return !(xst_read_cr0() & (XST_CR0_EM | XST_CR0_TS));
}

static inline uint64_t xst_w_xfd(void *world)
{
	(void)world;
	return xst_rdmsr(XST_MSR_XFD);
}

static inline void xst_w_set_xfd(void *world, uint64_t v)
{
	(void)world;
	xst_wrmsr(XST_MSR_XFD, v);
}

static inline void xst_w_set_xcr0(void *world, uint64_t v)
{
	(void)world;
	xst_xsetbv(0, v);
}

static inline uint64_t xst_w_xss(void *world)
{
	(void)world;
	return xst_rdmsr(XST_MSR_XSS);
}

static inline void xst_w_set_xss(void *world, uint64_t v)
{
	(void)world;
	xst_wrmsr(XST_MSR_XSS, v);
}

static inline void xst_w_set_xfd_err(void *world, uint64_t v)
{
	(void)world;
	xst_wrmsr(XST_MSR_XFD_ERR, v);
}

static inline uint64_t xst_w_ssp(void *world, unsigned n)
{
	(void)world;
	return xst_rdmsr(XST_MSR_PL_SSP + n);
}

static inline void xst_w_set_ssp(void *world, unsigned n, uint64_t v)
{
	(void)world;
	xst_wrmsr(XST_MSR_PL_SSP + n, v);
}

static inline void xst_w_clts(void *world)
{
	(void)world;
	xst_clts();
}

static inline void xst_w_stts(void *world)
{
	(void)world;
	xst_write_cr0(xst_read_cr0() | XST_CR0_TS);
}

static inline uint64_t xst_w_take_xfd_err(void *world)
{
	const uint64_t err = xst_rdmsr(XST_MSR_XFD_ERR);

	(void)world;
	if (err)
		xst_wrmsr(XST_MSR_XFD_ERR, 0);
	return err;
}

#endif
