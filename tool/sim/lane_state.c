// SPDX-License-Identifier: BSD-2-Clause
/* A lane's state, out and in: for the next piece of a trace, for one event on a small machine. */
#include "sim/lane_own.h"

#include <string.h>

#include <xst/kernel.h>
#include <xst/world.h>

void lane_get_task(const struct lane *l, uint32_t task, struct lane_task_state *out)
{
	const struct xst_ctx *c = &l->ctx[task];

	*out = (struct lane_task_state){ .begun = c->area != NULL, .last_cpu = c->last_cpu,
					 .home = c->home, .use_row = c->use_row, .blind = c->blind,
					 .fault = c->fault, .pkru = c->pkru };
	if (l->areas && c->area)
		memcpy(&out->xstate_bv, c->area + XST_HEADER_OFFSET, sizeof(out->xstate_bv));
}

void lane_set_task(struct lane *l, uint32_t task, const struct lane_task_state *in)
{
	struct xst_ctx *c = &l->ctx[task];

	if (!in->begun) {
		memset(c, 0, sizeof(*c));
		return;
	}
	if (!c->area)
		lane_begin_task(l, task);
	if (l->areas)
		memcpy(c->area + XST_HEADER_OFFSET, &in->xstate_bv, sizeof(in->xstate_bv));
	c->last_cpu = in->last_cpu;
	c->home = in->home;
	c->use_row = in->use_row;
	c->blind = in->blind;
	c->fault = in->fault;
	c->pkru = in->pkru;
}

void lane_get_cpu(const struct lane *l, unsigned cpu, struct lane_cpu_state *out)
{
	const struct xst_cpu *c = &l->cpus[cpu];
	const bool kernel = c->sys && (const void *)c->owner == (const void *)c;

	*out = (struct lane_cpu_state){ .begun = c->sys != NULL, .bits = c->bits, .slot = c->slot,
					.kernel_owns = kernel,
					.xinuse = l->areas ? l->worlds[cpu].xinuse : 0,
					.in_place = c->sections.in_place };
	out->cur = c->cur ? (uint32_t)(c->cur - l->ctx) + 1 : 0;
	out->owner = c->owner && !kernel ? (uint32_t)(c->owner - l->ctx) + 1 : 0;
}

/* Where the state is, in a CPU and in its world. */
static void put_cpu(const struct lane *l, struct xst_cpu *c, const struct lane_cpu_state *in,
		    const struct xst_cpu *self)
{
	c->cur = in->cur ? &l->ctx[in->cur - 1] : NULL;
	c->owner = in->kernel_owns ? (struct xst_ctx *)(uintptr_t)self
				   : in->owner ? &l->ctx[in->owner - 1] : NULL;
	c->bits = in->bits;
	c->slot = in->slot;
	c->sections.in_place = in->in_place;
}

void lane_set_cpu(struct lane *l, unsigned cpu, const struct lane_cpu_state *in)
{
	struct xst_cpu *c = &l->cpus[cpu];

	if (!in->begun) {
		memset(c, 0, sizeof(*c));
		memset(&l->worlds[cpu], 0, sizeof(l->worlds[cpu]));
		return;
	}
	if (!c->sys)
		lane_begin_cpu(l, cpu);
	put_cpu(l, c, in, c);
	l->worlds[cpu].xinuse = in->xinuse;
}

void lane_add_counts(struct lane *l, unsigned cpu, const struct lane_counts *more)
{
	struct lane_counts sum = { .n = l->cpus[cpu].n };

	lane_counts_add(&sum, more);
	l->cpus[cpu].n = sum.n;
	l->worlds[cpu].ts_writes += more->ts_writes;
	l->worlds[cpu].init_reads += more->init_reads;
	l->worlds[cpu].interrupts += more->interrupts;
}

bool lane_can_try(const struct lane *l)
{
	/* Who is displaced may be anybody, and his image then says what was saved. */
	return !l->tasks && !(l->areas && l->policy->save == XST_SAVE_DISPLACED);
}

struct lane *lane_trial(const struct lane *l)
{
	return lane_sized(l->policy, &l->extra, false, SCENE_TASKS, SCENE_CPUS);
}

struct lane_traits lane_traits(const struct lane *l)
{
	const struct xst_policy *p = l->policy;
	const uint8_t after = p->preload_after;

	return (struct lane_traits){
		.row_most = (uint8_t)(after + (after > 0 && after < 255)),
		.blind = p->load == XST_LOAD_FIRST_USE,
		.displaced = p->save == XST_SAVE_DISPLACED,
	};
}

struct rec lane_event(const struct lane *l, const struct rec *r)
{
	unsigned flags = r->flags & REC_USER ? REC_USER | (r->flags & REC_USED) : 0;
	struct rec e = { .kind = r->kind };

	switch (r->kind) {
	case REC_SWITCH:
		if (l->areas && (flags & REC_USER)) {
			e.arg = rec_arg(REC_IS_LIVE(r->arg) ? XST_MASK_SSE : 0, 0);
			flags |= l->extra.clear_on_block ? r->flags & REC_BLOCKED : 0;
		}
		flags |= r->flags & REC_KERNEL;
		break;
	case REC_FORK:
	case REC_SECTION:
		flags &= REC_USER;
		break;
	case REC_EXEC:
	case REC_EXIT:
		break;
	case REC_SIGNAL:
		flags = r->flags & REC_OPEN;
		break;
	default:
		flags = 0;
		break;
	}
	e.flags = (uint8_t)flags;
	return e;
}

/* Everything else in the structs is as it was? */
static bool is_all(const struct lane *l, const struct xst_cpu *was_cpu,
		   const struct xst_ctx was_task[SCENE_TASKS], const struct lane_scene *now)
{
	struct xst_cpu cpu;

	memcpy(&cpu, was_cpu, sizeof(cpu));
	put_cpu(l, &cpu, &now->cpu[0], &l->cpus[0]);
	memcpy(&cpu.n, &l->cpus[0].n, sizeof(cpu.n));
	if (was_cpu->sys && memcmp(&cpu, &l->cpus[0], sizeof(cpu)))
		return false;
	for (unsigned i = 0; i < SCENE_TASKS; i++) {
		const struct lane_task_state *s = &now->task[i];
		struct xst_ctx task;

		memcpy(&task, &was_task[i], sizeof(task));
		task.last_cpu = s->last_cpu;
		task.home = s->home;
		task.use_row = s->use_row;
		task.blind = s->blind;
		task.fault = s->fault;
		task.pkru = s->pkru;
		if (memcmp(&task, &l->ctx[i], sizeof(task)))
			return false;
	}
	return true;
}

bool lane_try(struct lane *l, struct lane_scene *scene, const struct rec *event,
	      struct lane_counts *n)
{
	struct xst_ctx task[SCENE_TASKS];
	struct xst_cpu cpu;

	for (unsigned i = 0; i < SCENE_CPUS; i++)
		lane_set_cpu(l, i, &scene->cpu[i]);
	for (unsigned i = 0; i < SCENE_TASKS; i++)
		lane_set_task(l, i, &scene->task[i]);
	if (l->cpus[0].sys)
		xst_cpu_reset_counters(&l->cpus[0]);
	l->worlds[0].ts_writes = l->worlds[0].init_reads = l->worlds[0].interrupts = 0;
	memcpy(&cpu, &l->cpus[0], sizeof(cpu));
	memcpy(task, l->ctx, sizeof(task));
	if (event)
		lane_run(l, event, 1);
	else
		xst_cpu_evict(&l->cpus[0]);
	for (unsigned i = 0; i < SCENE_CPUS; i++)
		lane_get_cpu(l, i, &scene->cpu[i]);
	for (unsigned i = 0; i < SCENE_TASKS; i++)
		lane_get_task(l, i, &scene->task[i]);
	lane_counts(l, 0, n);
	return is_all(l, &cpu, task, scene);
}

bool lane_keep(const struct lane *l, struct kept *out, uint32_t tasks, uint32_t cpus)
{
	struct lane_task_state t;
	struct lane_cpu_state c;

	for (uint32_t i = 0; i < tasks; i++) {
		lane_get_task(l, i, &t);
		if (!kept_put(out, &t, sizeof(t)))
			return false;
	}
	for (uint32_t i = 0; i < cpus; i++) {
		lane_get_cpu(l, i, &c);
		if (!kept_put(out, &c, sizeof(c)))
			return false;
	}
	return true;
}

#define STATE   (XST_B_LIVE | XST_B_DIRTY | XST_B_INIT | XST_B_READY | XST_B_TS | XST_B_SLOT)
#define INITIAL (XST_NEED_X87 | XST_NEED_MXCSR)

/* Can a task be like this, by itself? */
static bool task_can_be(const struct lane_task_state *t, uint32_t cpus)
{
	if (!t->begun)
		return true;
	return t->begun == 1 && (t->last_cpu < cpus || t->last_cpu == XST_NO_CPU) &&
	       (t->home < cpus || t->home == XST_NO_CPU) && t->pkru == XST_PKRU_DEFAULT &&
	       !t->fault && !(t->xstate_bv & ~XST_MASK_SSE);
}

/* Can a CPU, of which @fresh are the bits where it has just begun? */
static bool cpu_can_be(const struct lane_cpu_state *c, uint32_t fresh, uint32_t tasks)
{
	if (!c->begun)
		return !c->cur;
	return c->begun == 1 && c->kernel_owns <= !c->owner && c->cur <= tasks && c->owner <= tasks &&
	       !((c->bits ^ fresh) & ~STATE) && c->slot <= XST_SLOT_BLIND &&
	       !(c->bits & XST_B_SLOT) == (c->slot == XST_SLOT_UNKNOWN) &&
	       !(c->xinuse & ~XST_MASK_SSE) && !(c->in_place & ~INITIAL);
}

/* Does all that it says of tasks agree with what these say? */
static bool cpu_agrees(const struct lane *l, uint32_t cpu)
{
	struct lane_cpu_state c;
	struct lane_task_state t;

	lane_get_cpu(l, cpu, &c);
	if (!c.cur && (c.bits & (XST_B_LIVE | XST_B_SLOT)))
		return false;
	if (c.cur && !l->ctx[c.cur - 1].area)
		return false;
	if (c.bits & XST_B_LIVE)
		return c.owner == c.cur && !(c.bits & XST_B_DIRTY);
	if (!(c.bits & XST_B_DIRTY))
		return true;
	if (!c.owner)
		return false;
	lane_get_task(l, c.owner - 1, &t);
	return t.begun && t.home == cpu && t.last_cpu == cpu;
}

/* Where its only copy is said to be, it is. */
static bool home_agrees(const struct lane *l, uint32_t task)
{
	struct lane_task_state t;
	struct lane_cpu_state c;

	lane_get_task(l, task, &t);
	if (!t.begun || t.home == XST_NO_CPU)
		return true;
	lane_get_cpu(l, t.home, &c);
	return c.begun && (c.bits & XST_B_DIRTY) && c.owner == task + 1;
}

bool lane_go_on(struct lane *l, struct kept *in, uint32_t tasks, uint32_t cpus)
{
	struct lane_task_state t;
	struct lane_cpu_state c;

	for (uint32_t i = 0; i < tasks; i++) {
		if (!kept_get(in, &t, sizeof(t)) || !task_can_be(&t, cpus))
			return false;
		lane_set_task(l, i, &t);
	}
	for (uint32_t i = 0; i < cpus; i++) {
		lane_begin_cpu(l, i);
		if (!kept_get(in, &c, sizeof(c)) || !cpu_can_be(&c, l->cpus[i].bits, tasks))
			return false;
		lane_set_cpu(l, i, &c);
	}
	for (uint32_t i = 0; i < cpus; i++)
		if (!cpu_agrees(l, i))
			return false;
	for (uint32_t i = 0; i < tasks; i++)
		if (!home_agrees(l, i))
			return false;
	return true;
}
