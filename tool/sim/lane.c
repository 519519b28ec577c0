// SPDX-License-Identifier: BSD-2-Clause
/*
 * One policy, driven by records. Compiled with the counting world, like the engine beside it.
 */
#include "sim/lane_own.h"

#include <stdlib.h>
#include <string.h>

#include <xst/bringup.h>
#include <xst/kernel.h>
#include <xst/world.h>

#include "sim/reserve.h"

void cnt_fetch(struct xst_cpu *cpu, uint32_t home, struct xst_ctx *ctx)
{
	struct cnt_world *w = cpu->world;
	const uint64_t saves = w->cpus[home].n.saves;

	(void)ctx;
	w->interrupts++;
	xst_cpu_evict(&w->cpus[home]);
	w->fetched += w->cpus[home].n.saves - saves;
}

void lane_free(struct lane *l)
{
	if (!l)
		return;
	release(l->ctx, l->ctx_room * sizeof(*l->ctx));
	release(l->cpus, l->cpu_room * sizeof(*l->cpus));
	release(l->worlds, l->cpu_room * sizeof(*l->worlds));
	release(l->tasks, l->ctx_room * sizeof(*l->tasks));
	release(l->areas, l->ctx_room * AREA_BYTES);
	free(l);
}

struct lane *lane_sized(const struct xst_policy *policy, const struct lane_extra *extra, bool tasks,
			size_t ctx_room, size_t cpu_room)
{
	struct lane *l = aligned_alloc(_Alignof(struct lane), sizeof(*l));

	if (!l)
		return NULL;
	memset(l, 0, sizeof(*l));
	l->policy = policy;
	l->extra = *extra;
	l->ctx_room = ctx_room;
	l->cpu_room = cpu_room;
	l->ctx = reserve(ctx_room * sizeof(*l->ctx));
	l->cpus = reserve(cpu_room * sizeof(*l->cpus));
	l->worlds = reserve(cpu_room * sizeof(*l->worlds));
	if (tasks)
		l->tasks = reserve(ctx_room * sizeof(*l->tasks));
	if (policy->skip_init)
		l->areas = reserve(ctx_room * AREA_BYTES);
	if (!l->ctx || !l->cpus || !l->worlds || (tasks && !l->tasks) ||
	    (policy->skip_init && !l->areas) || xst_system_init(&l->sys, XST_WANT_ALL_USER)) {
		lane_free(l);
		return NULL;
	}
	return l;
}

struct lane *lane_new(const struct xst_policy *policy, const struct lane_extra *extra, bool tasks)
{
	return lane_sized(policy, extra, tasks, REC_TASKS_MAX, REC_CPUS_MAX);
}

/* The bring-up of a machine without registers cannot fail. */
void lane_begin_cpu(struct lane *l, unsigned id)
{
	struct xst_cpu *cpu = &l->cpus[id];

	l->worlds[id].cpus = l->cpus;
	l->worlds[id].tracked = l->areas;
	cpu->world = &l->worlds[id];
	if (xst_cpu_init(&l->sys, cpu, id) || xst_cpu_set_policy(cpu, l->policy, XST_FORCE, NULL))
		abort();
	/* What the bring-up does is no work of a policy. */
	xst_cpu_reset_counters(cpu);
	l->worlds[id].ts_writes = l->worlds[id].init_reads = l->worlds[id].interrupts = 0;
}

void lane_begin_task(struct lane *l, unsigned task)
{
	uint8_t *area = l->areas ? l->areas[task] : l->shared;

	if (xst_ctx_init(&l->sys, &l->ctx[task], area, AREA_BYTES))
		abort();
}

/* The running task is in user mode, and uses the registers there or not. */
static inline void user_mode(struct xst_cpu *cpu, bool used)
{
	xst_return_to_user(cpu);
	/* In this order: use is as random as programs are, TS is as regular as the policy. */
	if ((cpu->bits & XST_B_TS) && used)
		(void)xst_device_not_available(cpu);
}

/* The kernel edits the running task's state, which goes back to user mode with it. */
static void edit(struct lane *l, struct xst_cpu *cpu, struct xst_ctx *cur, uint64_t xstate_bv)
{
	const uint32_t home = xst_ctx_home(cur);

	/* Or the CPU that has its only copy would write it later, over what is there by then. */
	if (home != XST_NO_CPU && home != cpu->id)
		xst_ctx_flush(cpu, cur);
	if (l->areas)
		memcpy(cur->area + XST_HEADER_OFFSET, &xstate_bv, sizeof(xstate_bv));
	xst_ctx_changed(cpu, cur);
	user_mode(cpu, false);
}

/*
 * A handler: the kernel writes the registers into the frame, begins anew for the handler, and takes
 * them from the frame again at the end. Both are edits of the task's state. What the handler itself
 * uses is not known: its first instructions that move data do.
 */
static void run_signal(struct lane *l, struct xst_cpu *cpu, struct xst_ctx *cur, bool open)
{
	uint64_t frame = 0;

	user_mode(cpu, false);
	xst_ctx_flush(cpu, cur);
	if (l->areas)
		memcpy(&frame, cur->area + XST_HEADER_OFFSET, sizeof(frame));
	edit(l, cpu, cur, 0);
	if (!open)
		edit(l, cpu, cur, frame);
}

static void run_fork(struct lane *l, struct xst_cpu *cpu, struct xst_ctx *cur, const struct rec *r)
{
	struct xst_ctx *child = &l->ctx[r->arg];

	if (r->flags & REC_USER) {
		user_mode(cpu, false);
		cnt_touch(cpu->world, true);
	}
	/* It has just begun: its image is the fresh one. */
	xst_ctx_fork(cpu, cur, child);
}

static void run_migrate(struct lane *l, struct xst_ctx *ctx)
{
	const uint32_t home = xst_ctx_home(ctx);

	if (l->extra.move == LANE_MARK && home != XST_NO_CPU)
		xst_ctx_migrate(&l->cpus[home], ctx);
}

/* Everything that is not a switch. */
static __attribute__((noinline)) void run_rare(struct lane *l, const struct rec *r)
{
	struct xst_cpu *cpu;
	struct xst_ctx *ctx;

	if (r->kind == REC_TASK)
		lane_begin_task(l, r->task);
	/* The others have neither a CPU nor a task. */
	if (r->kind < REC_FORK || r->kind > REC_MIGRATE)
		return;
	cpu = &l->cpus[r->cpu];
	ctx = &l->ctx[r->task];
	if (!cpu->sys)
		lane_begin_cpu(l, r->cpu);
	switch (r->kind) {
	case REC_FORK:
		run_fork(l, cpu, ctx, r);
		return;
	case REC_EXEC:
		if (r->flags & REC_USER)
			user_mode(cpu, r->flags & REC_USED);
		xst_ctx_exec(cpu, ctx);
		return;
	case REC_EXIT:
		if (r->flags & REC_USER)
			user_mode(cpu, r->flags & REC_USED);
		xst_ctx_exit(cpu, ctx);
		return;
	case REC_SIGNAL:
		run_signal(l, cpu, ctx, r->flags & REC_OPEN);
		return;
	case REC_SIGRETURN:
		/* What was in the frame is not kept: live, as nearly always. */
		edit(l, cpu, ctx, XST_MASK_SSE);
		return;
	case REC_SECTION:
		if (r->flags & REC_USER)
			user_mode(cpu, false);
		if (xst_kernel_begin(cpu, 0) == XST_OK)
			xst_kernel_end(cpu);
		return;
	case REC_MIGRATE:
		run_migrate(l, ctx);
		return;
	default:
		return;
	}
}

/* The slot that ends here was in user mode, or not. */
static inline __attribute__((always_inline)) void
slot_ends(struct lane *l, struct xst_cpu *cpu, const struct rec *r, bool looks_at_init)
{
	const uint32_t flags = r->flags;

	if (!(flags & REC_USER))
		return;
	user_mode(cpu, flags & REC_USED);
	if (looks_at_init)
		cnt_touch(cpu->world, REC_IS_LIVE(r->arg) && !(l->extra.clear_on_block &&
							    (flags & REC_BLOCKED)));
}

static inline __attribute__((always_inline)) void
run_switch(struct lane *l, struct xst_cpu *cpus, struct xst_ctx *tasks, const struct rec *r,
	   bool looks_at_init)
{
	struct xst_cpu *cpu = &cpus[r->cpu];
	struct xst_ctx *next = &tasks[r->task];

	if (__builtin_expect(!cpu->sys, 0))
		lane_begin_cpu(l, r->cpu);
	next = r->flags & REC_KERNEL ? NULL : next;
	slot_ends(l, cpu, r, looks_at_init);
	xst_switch(cpu, cpu->cur, next);
}

static inline __attribute__((always_inline)) void run_all(struct lane *l, const struct rec *r,
							   size_t count, bool looks_at_init)
{
	/* The compiler cannot know that these stay what they are. */
	struct xst_cpu *const cpus = l->cpus;
	struct xst_ctx *const tasks = l->ctx;
	const struct rec *const end = r + count;

	for (; r < end; r++)
		if (__builtin_expect(r->kind == REC_SWITCH, 1))
			run_switch(l, cpus, tasks, r, looks_at_init);
		else
			run_rare(l, r);
}

/* What happened on a CPU since @before is task @number's. */
static void charge(struct lane *l, const struct xst_cpu *cpu, struct xst_counters *before,
		   uint64_t *fetched, size_t number)
{
	const uint64_t remote = l->worlds[cpu - l->cpus].fetched;
	struct lane_task *t = &l->tasks[number];

	t->saves += cpu->n.saves - before->saves + remote - *fetched;
	t->loads += cpu->n.loads - before->loads;
	t->traps += cpu->n.traps - before->traps;
	*before = cpu->n;
	*fetched = remote;
}

/* A switch: user mode is the old task's, as is a save; a load is for the new one. */
static void switch_tasks(struct lane *l, struct xst_cpu *cpu, const struct rec *r)
{
	struct xst_ctx *old = cpu->cur, *next = r->flags & REC_KERNEL ? NULL : &l->ctx[r->task];
	struct xst_counters before = cpu->n;
	uint64_t fetched = l->worlds[r->cpu].fetched, loads;
	const size_t from = old ? (size_t)(old - l->ctx) : 0, to = next ? r->task : from;

	if (!cpu->sys)
		lane_begin_cpu(l, r->cpu);
	slot_ends(l, cpu, r, l->areas);
	charge(l, cpu, &before, &fetched, from);
	xst_switch(cpu, old, next);
	loads = cpu->n.loads - before.loads;
	before.loads = cpu->n.loads;
	charge(l, cpu, &before, &fetched, old ? from : to);
	l->tasks[to].loads += loads;
}

/*
 * The same record by record, to see who caused what. What no task caused is number 0's, so that
 * the tasks' counts add up to the CPUs'.
 */
static void run_tasks(struct lane *l, const struct rec *r, size_t count)
{
	for (; count; r++, count--) {
		const bool acts = r->kind >= REC_FORK && r->kind <= REC_MIGRATE;
		const uint32_t home = r->kind == REC_MIGRATE ? xst_ctx_home(&l->ctx[r->task])
							     : XST_NO_CPU;
		/* What is written when a task is to migrate is written where it ran. */
		struct xst_cpu *cpu = &l->cpus[home != XST_NO_CPU ? home : acts ? r->cpu : 0];
		const size_t cur = cpu->cur ? (size_t)(cpu->cur - l->ctx) : 0;
		struct xst_counters before = cpu->n;
		uint64_t fetched = l->worlds[cpu - l->cpus].fetched;

		if (r->kind == REC_SWITCH) {
			switch_tasks(l, &l->cpus[r->cpu], r);
			continue;
		}
		run_rare(l, r);
		if (acts)
			charge(l, cpu, &before, &fetched, r->kind == REC_SECTION ? cur : r->task);
	}
}

void lane_run(struct lane *l, const struct rec *r, size_t count)
{
	if (l->tasks)
		run_tasks(l, r, count);
	else if (l->areas)
		run_all(l, r, count, true);
	else
		run_all(l, r, count, false);
}

void lane_counts(const struct lane *l, unsigned cpu, struct lane_counts *out)
{
	struct xst_reading reading;

	memset(out, 0, sizeof(*out));
	if (!l->cpus[cpu].sys)
		return;
	xst_cpu_read_counters(&l->cpus[cpu], &reading);
	out->n = reading.n;
	out->ts_writes = l->worlds[cpu].ts_writes;
	out->init_reads = l->worlds[cpu].init_reads;
	out->interrupts = l->worlds[cpu].interrupts;
}

void lane_counts_add(struct lane_counts *sum, const struct lane_counts *more)
{
	/* Nothing but 64-bit counters in all of it; sections last no time where there is no clock. */
	uint64_t *a = (uint64_t *)sum;
	const uint64_t *b = (const uint64_t *)more;

	_Static_assert(sizeof(*sum) % sizeof(*a) == 0, "counters only");
	for (size_t i = 0; i < sizeof(*sum) / sizeof(*a); i++)
		a[i] += b[i];
}

struct lane_task lane_take_task(struct lane *l, unsigned task)
{
	const struct lane_task t = l->tasks ? l->tasks[task] : (struct lane_task){ 0 };

	if (l->tasks)
		l->tasks[task] = (struct lane_task){ 0 };
	return t;
}
