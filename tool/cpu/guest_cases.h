/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The same kernel three times: CET_S in no task's state, in guests' only, in every task's. What each
 * case stores and moves is computed by the library (system.h; every_task.h for what it refuses) and
 * counted on the software CPU.
 */
#ifndef CPU_GUEST_CASES_H
#define CPU_GUEST_CASES_H

#include <xst/system.h>

#include "cpu/cpu.h"
#include "cpu/slab.h"
#include "sim/costs.h"

enum guest_case_id { CASE_NONE, CASE_GUESTS, CASE_TASKS, GUEST_CASES };

/* What CET_S holds in a task that has it, when it is switched. */
enum cet_s_is { CET_S_INIT, CET_S_UNCHANGED, CET_S_CHANGED, CET_S_WAYS };

/* One save and one load of all that a task has. */
struct guest_moved {
	uint64_t written_bytes, read_bytes;
	unsigned lines; /* of 64 bytes, that hold what is live */
};

struct guest_case {
	const char *id, *name;
	struct xst_system sys;
	uint32_t image_bytes; /* a task's, with all its state in one, as most kernels keep it */
	uint32_t image_lines_bytes; /* the lines of 64 bytes that it is in: it begins on one */
	uint64_t image_mask;
	uint32_t area_bytes;  /* a task's in this library: what CR0.TS does not guard is apart */
	uint32_t guest_bytes; /* a virtual CPU's image, in both */
	uint32_t swap_bytes;  /* of a virtual CPU, for what software switches */
	uint32_t swap_reads, swap_writes; /* of MSRs: at an exit; at the entry of another guest */
	struct slab slab;     /* the structure that holds the image */
	struct slab_use use;
	struct guest_moved image[CET_S_WAYS], area[CET_S_WAYS];
	/* Of a save and a load: CET_S in INIT; live, where a task has it. */
	struct sim_range image_cycles, image_live_cycles;
	struct sim_range area_cycles; /* INIT or live */
	/* Only the way CET_S_INIT where a task does not have it. */
	unsigned ways;
};

struct guest_cases {
	const struct cpu_source *src;
	struct xst_caps caps;
	bool as_if;         /* the CPU's XSAVES does not have CET_S: sizes are what they would be */
	uint64_t task_super; /* supervisor state that tasks have in every case */
	uint64_t tasks;
	struct sim_costs costs;
	/* Cycles. What CET_S in every task may cost at a switch, and whether anything like it was measured. */
	struct sim_range extra_init, extra_live;
	bool extra_measured;
	struct sim_range swap_exit, swap_enter;
	struct guest_case at[GUEST_CASES];
};

/**
 * guest_cases_compute() - all three.
 * @src:   the CPU.
 * @req:   --xcr0 and --xss (what tasks have), the structure, tasks, costs.
 * @g:     out.
 *
 * Return: exit status; an error was reported.
 */
int guest_cases_compute(const struct cpu_source *src, const struct cpu_request *req,
			struct guest_cases *g);

#endif
