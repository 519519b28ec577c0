// SPDX-License-Identifier: BSD-2-Clause
/* Reading the engine's counters. Plain data: the same for every world. */
#include <xst/switch.h>

void xst_cpu_read_counters(const struct xst_cpu *cpu, struct xst_reading *reading)
{
	reading->n = cpu->n;
	reading->bytes_nominal = (cpu->n.saves + cpu->n.kernel_saves) * cpu->sys->layout.bytes +
				 cpu->n.apart_saves * cpu->sys->apart_layout.bytes;
	reading->epoch = cpu->epoch;
}

void xst_cpu_reset_counters(struct xst_cpu *cpu)
{
	__builtin_memset(&cpu->n, 0, sizeof(cpu->n));
}

bool xst_counters_balanced(const struct xst_counters *n)
{
	return n->validations == n->loads + n->loads_skipped_owner + n->loads_elided_init +
					 n->loads_failed &&
	       n->preloads <= n->validations && n->traps <= n->validations &&
	       n->apart_failed <= n->apart_loads && n->kernel_init_x87 <= n->kernel_sections &&
	       n->kernel_init_mxcsr <= n->kernel_sections;
}
