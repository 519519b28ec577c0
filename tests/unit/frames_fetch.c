// SPDX-License-Identifier: BSD-2-Clause
/* The engine's port wants a way to other CPUs; tests of frames have one CPU. */
#include "port_frames.h"

void mdl_fetch(struct xst_cpu *cpu, uint32_t home, struct xst_ctx *ctx)
{
	(void)cpu;
	(void)home;
	(void)ctx;
	abort();
}
