/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The port of programs that run the engine on software CPUs: build with -DXST_PORT='"port_model.h"'.
 * Such a program defines mdl_fetch(), its inter-processor interrupt.
 */
#ifndef PORT_MODEL_H
#define PORT_MODEL_H

#include <stdint.h>
#include <stdlib.h>

struct xst_cpu;
struct xst_ctx;
struct xst_section_report;

/* Make the CPU with number @home write what its registers alone hold. */
void mdl_fetch(struct xst_cpu *cpu, uint32_t home, struct xst_ctx *ctx);

/* Tests look at misused sections, and turn the clock. */
extern void (*mdl_misuse)(const struct xst_cpu *cpu, const struct xst_section_report *report);
extern uint64_t mdl_clock;

/* Without a clock sections take the short path of kernel.h. */
#ifndef MDL_NO_CLOCK
#define XST_CLOCK() mdl_clock
#endif
#define XST_SECTION_REPORT(cpu, report) (mdl_misuse ? mdl_misuse(cpu, report) : (void)0)

#define XST_FETCH(cpu, home, ctx) mdl_fetch(cpu, home, ctx)
#define XST_ASSERT(cond)          ((cond) ? (void)0 : abort())

#endif
