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

/* Make the CPU with number @home write what its registers alone hold. */
void mdl_fetch(struct xst_cpu *cpu, uint32_t home, struct xst_ctx *ctx);

#define XST_FETCH(cpu, home, ctx) mdl_fetch(cpu, home, ctx)
#define XST_ASSERT(cond)          ((cond) ? (void)0 : abort())

#endif
