/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hooks an embedder may define, each with a default.
 *
 * Write one header with the macros you want and build with -DXST_PORT='"my_port.h"'; it is included
 * before the defaults below.
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
#ifndef XST_ASM_FIXUP
#define XST_ASM_FIXUP(fault, resume) ""
#endif

#endif
