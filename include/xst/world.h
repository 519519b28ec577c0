/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A world is what the engine runs on: ring 0 of a real (or emulated) CPU, user mode, or the software
 * CPU in model/. It is one header with the functions below, static inline, chosen at compile time
 * with -DXST_WORLD='"that.h"'; the default is ring 0, -DXST_USER_MODE is user mode.
 *
 *   XST_WORLD_HAS_TS, XST_WORLD_HAS_XSAVES      0 or 1
 *   xst_w_this()                                the CPU we are on, before there is a struct xst_cpu
 *   xst_w_caps(world, caps)                     read this CPU
 *   xst_w_enable(world, sys, diag)              set CR0, CR4, XCR0, IA32_XSS as sys says; status
 *   xst_w_sums(world, standard, compacted)      what CPUID now sums up for XCR0 and IA32_XSS
 *   xst_w_clts(world), xst_w_stts(world)
 *   xst_w_rdpkru(world), xst_w_wrpkru(world, v)
 *   xst_w_xinuse(world)                         XGETBV with ECX = 1
 *   xst_w_mxcsr(world)                          STMXCSR
 *   xst_w_scrub_fip(world)                      put the kernel's own values into FOP, FIP and FDP
 *   xst_w_save(world, insn, area, mask)         one instruction
 *   xst_w_load_at(world, insn, area, mask, at)  one instruction; 0 or the vector it faulted with,
 *                                               which it may leave in the byte *at too
 *
 * For in-kernel sections:
 *   xst_w_irq_save(world), xst_w_irq_restore(world, flags)
 *   xst_w_x87_ready(world)                      before bring-up: would FNINIT execute?
 *   xst_w_fninit(world), xst_w_vzeroupper(world), xst_w_tilerelease(world)
 *   xst_w_ldmxcsr(world, v), xst_w_vldmxcsr(world, v)
 *   xst_w_xcr0(world)                           XGETBV with ECX = 0
 *   xst_w_xfd(world), xst_w_set_xfd(world, v)   IA32_XFD
 *   xst_w_take_xfd_err(world)                   read IA32_XFD_ERR and clear it
 *   xst_w_fnstenv(world, env), xst_w_fldenv(world, env)    checking builds
 *
 * For guests (a world with CR0.TS):
 *   xst_w_set_xcr0(world, v)                    XSETBV with ECX = 0
 *   xst_w_xss(world), xst_w_set_xss(world, v)   IA32_XSS
 *   xst_w_set_xfd_err(world, v)                 IA32_XFD_ERR
 *   xst_w_ssp(world, n), xst_w_set_ssp(world, n, v)        PLn_SSP, n = 0, 1, 2
 *
 * @world is struct xst_cpu's member of that name; only software CPUs need it.
 */
#ifndef XST_WORLD_H
#define XST_WORLD_H

#include <xst/port.h>
#include <xst/system.h>

#if defined(XST_WORLD)
#include XST_WORLD
#elif defined(XST_USER_MODE)
#include <xst/world_user.h>
#else
#include <xst/world_ring0.h>
#endif

/* A load of no task's image. */
static inline int xst_w_load(void *world, unsigned insn, const void *area, uint64_t mask)
{
	uint8_t at = 0;

	return xst_w_load_at(world, insn, area, mask, &at);
}

#endif
