/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a lane, taken out and put back: all that decides what its engine does next. It is
 * what a trace's next piece goes on from, and what memo.h remembers transitions between.
 */
#ifndef SIM_LANE_STATE_H
#define SIM_LANE_STATE_H

#include "sim/lane.h"

/* Of a task. */
struct lane_task_state {
	uint64_t xstate_bv;      /* of its image, where somebody looks */
	uint32_t last_cpu, home; /* as in struct xst_ctx */
	uint32_t pkru;
	uint8_t begun, use_row, blind, fault;
};

/* Of a CPU. Pointers are numbers. */
struct lane_cpu_state {
	uint64_t xinuse;
	uint32_t cur, owner; /* task plus 1 */
	uint32_t bits;       /* XST_B_* */
	uint8_t begun, kernel_owns, slot, in_place;
};

void lane_get_task(const struct lane *l, uint32_t task, struct lane_task_state *out);
void lane_set_task(struct lane *l, uint32_t task, const struct lane_task_state *in);
void lane_get_cpu(const struct lane *l, unsigned cpu, struct lane_cpu_state *out);
void lane_set_cpu(struct lane *l, unsigned cpu, const struct lane_cpu_state *in);

/**
 * lane_add_counts() - as if @more had happened on CPU @cpu, which has begun.
 */
void lane_add_counts(struct lane *l, unsigned cpu, const struct lane_counts *more);

/*
 * A small machine to try one event on: it happens on CPU 0; tasks 0 and 1 take part in it, task 2
 * does not; CPU 1 or 2 may hold the only copy of task 0's or 1's registers.
 */
#define SCENE_CPUS  3
#define SCENE_TASKS 3

struct lane_scene {
	struct lane_cpu_state cpu[SCENE_CPUS];
	struct lane_task_state task[SCENE_TASKS];
};

/**
 * lane_try() - what does the engine do with @scene?
 * @l:     a lane for nothing but this, of the policy in question.
 * @scene: changed as the event changes it.
 * @event: a record; NULL: CPU 0 is asked to write what only its registers hold.
 * @n:     out, what was counted on CPU 0.
 *
 * Return: false when the engine changed something that the states do not tell.
 */
bool lane_try(struct lane *l, struct lane_scene *scene, const struct rec *event,
	      struct lane_counts *n);

/**
 * lane_event() - @r without all that @l never looks at: what is left may be compared. Who it is
 * about is left out, too.
 */
struct rec lane_event(const struct lane *l, const struct rec *r);

/**
 * lane_can_try() - do the events of this lane change nothing but the tasks and CPUs of a scene, and
 * is nothing counted but for CPUs?
 */
bool lane_can_try(const struct lane *l);

/**
 * lane_trial() - a lane to try events on, of the policy and the hypothesis of @l.
 */
struct lane *lane_trial(const struct lane *l);

/* What of the states can matter under a lane's policy. */
struct lane_traits {
	uint8_t row_most; /* use_row counts up to this; beyond, every number decides alike */
	bool blind;       /* does blind count? */
	bool displaced;   /* may a CPU hold the only copy of a task that runs elsewhere? */
};

struct lane_traits lane_traits(const struct lane *l);

#endif
