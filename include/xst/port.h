/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hooks an embedder may define, each with a default.
 *
 * Write one header with the macros you want and build the library's sources with
 * -DXST_PORT='"my_port.h"'; it is included before the defaults below. No struct depends on it.
 *
 *   XST_ASSERT(cond)   our own mistakes only, never bad input. Default: nothing.
 *
 *   XST_TRACE(cpu, event, ctx)
 *                      called at each engine event with its name (a string), for a ring of recent
 *                      events. Interrupts are off. Default: nothing.
 *
 *   XST_ASM_FIXUP(fault, resume)
 *                      assembler text placed behind a restore instruction that may fault on bad
 *                      memory contents; @fault and @resume are local label references ("1b", "2f").
 *                      Record the pair in your exception table so that #GP, #PF or #NM at @fault
 *                      continues at @resume with the vector number in (E)CX. Default: nothing, and
 *                      a restore then never reports a fault; it faults.
 *
 *   XST_FETCH(cpu, home, ctx)
 *                      @ctx's newest state is in the registers of the CPU with the number @home
 *                      (policies with save=displaced): make that CPU call xst_cpu_evict() - an
 *                      inter-processor interrupt - and return when it has. The caller has interrupts
 *                      off, so while waiting serve such requests of other CPUs, or two CPUs that
 *                      fetch from each other wait for ever. Default: none, and save=displaced is
 *                      then refused unless the caller promises to bind tasks (XST_BOUND).
 *
 *   XST_COPY_TO_USER(dst, src, bytes), XST_COPY_FROM_USER(dst, src, bytes)
 *                      copy to or from a task's memory (signal frames); 0, or anything else when
 *                      that memory cannot be accessed. Check that the range is user memory at all,
 *                      and let a fault within it end the copy (your exception table): what was
 *                      copied until then may stay. Default: memcpy, and nothing ever fails.
 *
 *   XST_IRQ_SAVE(flags), XST_IRQ_RESTORE(flags)
 *                      store the interrupt flag in @flags (unsigned long) and disable interrupts, and
 *                      put it back: while a section takes the registers from a user (kernel.h).
 *                      Default: PUSHF and CLI, POPF in ring 0; nothing in other worlds.
 *
 *   XST_CLOCK()        a clock of 64 bits; the longest section is counted in its units. Default: none,
 *                      and nothing is counted.
 *
 *   XST_SECTION_REPORT(cpu, report)
 *                      a section was misused: @report is a const struct xst_section_report *, valid
 *                      during the call (kernel.h). Default: nothing; the status still says no.
 */
#ifndef XST_PORT_H
#define XST_PORT_H

#ifdef XST_PORT
#include XST_PORT
#endif

#ifndef XST_ASSERT
#define XST_ASSERT(cond) ((void)0)
#endif
#ifndef XST_TRACE
#define XST_TRACE(cpu, event, ctx) ((void)0)
#endif
#ifdef XST_FETCH
#define XST_HAS_FETCH 1
#else
#define XST_HAS_FETCH 0
#define XST_FETCH(cpu, home, ctx) ((void)0)
#endif
#ifndef XST_COPY_TO_USER
#define XST_COPY_TO_USER(dst, src, bytes) (__builtin_memcpy(dst, src, bytes), 0)
#endif
#ifndef XST_COPY_FROM_USER
#define XST_COPY_FROM_USER(dst, src, bytes) (__builtin_memcpy(dst, src, bytes), 0)
#endif
#ifndef XST_SECTION_REPORT
#define XST_SECTION_REPORT(cpu, report) ((void)(report))
#endif
#ifdef XST_ASM_FIXUP
#define XST_HAS_FIXUP 1
#else
#define XST_HAS_FIXUP 0
#endif

#endif
