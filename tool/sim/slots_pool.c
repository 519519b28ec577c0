// SPDX-License-Identifier: BSD-2-Clause
/* Who fills the kernel's random pool when, and so loses the registers: see pool.h. */
#include "sim/slots_own.h"

#include "sim/pool.h"

/* More for the kernel's random pool. */
static int stir_as(struct slots *s, unsigned id, unsigned bytes, bool fills, unsigned flags)
{
	if (s->sections == SLOTS_SECTIONS_NONE || (s->has & REC_HAS_SECTIONS))
		return 0;
	s->pool = pool_after(s->pool, bytes, fills);
	return fills ? slots_put(s, REC_SECTION, id, s->cpus[id].task, REC_ASSUMED | flags, 0)
		     : 0;
}

static int stir(struct slots *s, unsigned id, unsigned bytes)
{
	return stir_as(s, id, bytes, pool_fills(s->pool, bytes), 0);
}

/*
 * The fork that was last on this CPU. A parent that sleeps right behind it, in vfork(), never got to
 * user mode: its registers are still live, or a block was full. So the trace shows how full the pool is.
 */
int slots_settle_fork(struct slots *s, unsigned id)
{
	struct cpu *c = &s->cpus[id];

	if (!c->stirs)
		return 0;
	c->stirs = false;
	return c->ending && c->state == 'D' && (s->has & REC_HAS_FPU)
		       ? stir_as(s, id, POOL_FORK, !c->live_at_end, 0)
		       : stir(s, id, POOL_FORK);
}

/*
 * A parent releases a child that is over when it waits for it: at once, coming from user mode, or,
 * when it had to sleep, before it goes back there. Where the trace does not show calls of wait(), it is
 * taken to sleep in one.
 */
int slots_release_children(struct slots *s, unsigned id, struct task *t)
{
	const bool fills = pool_fills(s->pool, POOL_RELEASE);

	if (s->waits && t->waits && t->to_release) {
		t->waits = false;
		t->to_release--;
		return stir_as(s, id, POOL_RELEASE, fills, s->cpus[id].waited ? REC_USER : 0);
	}
	for (; !s->waits && t->to_release; t->to_release--)
		if (stir(s, id, POOL_RELEASE))
			return -1;
	return 0;
}

int slots_wait(struct slots *s, unsigned id)
{
	struct cpu *c = &s->cpus[id];
	struct task *t = &s->t.task[c->task];

	if (c->task == IDLE || t->kernel || t->gone)
		return 0;
	s->waits = t->waits = c->waited = true;
	return slots_release_children(s, id, t);
}

/* The parent is told at the very end, when memory is given back: long after sched_process_exit. */
int slots_tell_parent(struct slots *s, unsigned id, const struct task *t)
{
	struct task *parent;
	uint32_t n;

	/* Not the last thread of its process: it releases itself. */
	if (!t->last_thread)
		return stir(s, id, POOL_RELEASE);
	n = t->parent > 0 ? tasks_find(&s->t, t->parent) : NO_TASK;
	if (n == NO_TASK || n == IDLE)
		return 0;
	parent = &s->t.task[n];
	parent->child_exited = true;
	parent->to_release++;
	/* Woken by the end of it, and already running elsewhere. */
	if (parent->cpu && !s->cpus[parent->cpu - 1].ending)
		return slots_release_children(s, parent->cpu - 1u, parent);
	return 0;
}
