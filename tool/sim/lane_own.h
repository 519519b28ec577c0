/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside a lane: for lane.c, which drives it, and lane_state.c, its state out and in. */
#ifndef SIM_LANE_OWN_H
#define SIM_LANE_OWN_H

#include "sim/lane_state.h"

/* All but one cache line of an area is never read or written, but for fork and exec. */
#define AREA_BYTES XST_EXT_OFFSET

struct lane {
	struct xst_ctx *ctx;        /* ctx_room of them */
	struct xst_cpu *cpus;       /* cpu_room */
	struct cnt_world *worlds;   /* the same */
	struct lane_task *tasks;    /* or NULL */
	/* Only skip_init looks into images. Else all tasks share one area. */
	uint8_t (*areas)[AREA_BYTES]; /* or NULL */
	XST_AREA(shared, AREA_BYTES);
	size_t ctx_room, cpu_room;
	struct xst_system sys;
	const struct xst_policy *policy;
	struct lane_extra extra;
};

/* lane_new() with room for so many tasks and CPUs. */
struct lane *lane_sized(const struct xst_policy *policy, const struct lane_extra *extra, bool tasks,
			size_t ctx_room, size_t cpu_room);

/* A CPU appears in the trace; a task gets its number. */
void lane_begin_cpu(struct lane *l, unsigned id);
void lane_begin_task(struct lane *l, unsigned task);

#endif
