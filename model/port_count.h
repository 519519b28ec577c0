/* SPDX-License-Identifier: BSD-2-Clause */
/* The port that goes with world_count.h: the inter-processor interrupt of save=displaced. */
#ifndef PORT_COUNT_H
#define PORT_COUNT_H

#include <stdint.h>

struct xst_cpu;
struct xst_ctx;

/* Make the CPU with number @home write what its registers alone hold, and count the interrupt. */
void cnt_fetch(struct xst_cpu *cpu, uint32_t home, struct xst_ctx *ctx);

#define XST_FETCH(cpu, home, ctx) cnt_fetch(cpu, home, ctx)

#endif
