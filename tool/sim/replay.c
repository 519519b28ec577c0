// SPDX-License-Identifier: BSD-2-Clause
/* Records: are they consistent, what do they sum up to; then through all lanes. */
#include "sim/replay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xst/comp.h>

/* All of a task in one cache line. */
struct who {
	struct replay_task t;
	float p;          /* of using the registers, in a slot */
	uint16_t running; /* CPU plus 1 */
	bool alive;
} __attribute__((aligned(64)));

struct replay {
	struct sim_use use;
	struct lane **lanes;
	size_t lane_count;
	struct who *who;         /* REC_TASKS_MAX, as far as used */
	uint32_t cur[REC_CPUS_MAX]; /* task plus 1, kernel threads 0 */
	uint32_t tasks;          /* highest number so far, plus 1 */
	unsigned cpus;
	uint64_t slot_number;
	uint32_t named;          /* the TASK a NAME belongs to, plus 1 */
	bool ended;
	const char *why;
	void (*on_exit)(void *arg, uint32_t number);
	void *on_exit_arg;
	struct sim_totals n;
};

void sim_totals_add(struct sim_totals *sum, const struct sim_totals *more)
{
#define X(name) sum->name += more->name;
	SIM_TOTALS(X)
#undef X
}

struct replay *replay_new(const struct sim_use *use, struct lane **lanes, size_t lane_count)
{
	struct replay *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->use = *use;
	r->lanes = lanes;
	r->lane_count = lane_count;
	r->who = mmap(NULL, REC_TASKS_MAX * sizeof(*r->who), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->who == MAP_FAILED) {
		free(r);
		return NULL;
	}
	return r;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	munmap(r->who, REC_TASKS_MAX * sizeof(*r->who));
	free(r);
}

static enum sim_live live_class(uint32_t live)
{
	if (live & (uint32_t)XST_MASK_AMX)
		return SIM_AMX;
	if (live & (uint32_t)XST_MASK_AVX512)
		return SIM_AVX512;
	if (live & (uint32_t)XST_MASK(XST_COMP_AVX))
		return SIM_AVX;
	return live ? SIM_SSE : SIM_INIT;
}

/* Random, but the same for every run: SplitMix64 of the slot's number. */
static bool by_chance(const struct replay *r, double p)
{
	uint64_t z = r->use.seed + (r->slot_number + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	return (double)(z >> 11) * 0x1p-53 < p;
}

static float share_of(const struct replay *r, const char *name)
{
	for (size_t i = 0; i < r->use.name_count; i++)
		if (!strcmp(r->use.names[i].name, name))
			return (float)r->use.names[i].p;
	return (float)r->use.p;
}

static bool is_used(const struct replay *r, const struct rec *rec, uint32_t task)
{
	if (rec->kind == REC_SWITCH && (rec->flags & REC_DIGEST) && r->use.kind == SIM_USE_LIVE)
		return rec->flags & REC_USED;
	switch (r->use.kind) {
	case SIM_USE_ALL:
		return true;
	case SIM_USE_NONE:
		return false;
	case SIM_USE_SHARE:
		return by_chance(r, r->use.p);
	case SIM_USE_NAMES:
		return by_chance(r, (double)r->who[task].p);
	default:
		/* Before an exec or exit nothing shows what was live: a program that ran a while. */
		return rec->kind != REC_SWITCH || REC_LIVE(rec->arg);
	}
}

/* An exec or exit ends what the task was, as a switch ends a slot. */
static void mark_used(struct replay *r, struct rec *rec)
{
	rec->flags &= (uint8_t)~REC_USED;
	if (!(rec->flags & REC_USER))
		return;
	r->slot_number++;
	rec->flags |= is_used(r, rec, rec->task) ? REC_USED : 0;
}

static int bad(struct replay *r, const char *why)
{
	if (!r->why)
		r->why = why;
	return -1;
}

/* The slot that ends on the record's CPU. */
static inline void end_slot(struct replay *r, struct rec *rec)
{
	const uint32_t cur = r->cur[rec->cpu];
	struct sim_totals *n = &r->n;

	n->observed_restores += REC_SEEN(rec->arg);
	if (!cur || !(rec->flags & REC_USER)) {
		rec->flags &= (uint8_t)~(REC_USER | REC_USED);
		return;
	}
	n->user_slots++;
	n->digest_slots += rec->flags & REC_DIGEST ? 1 : 0;
	n->blocked_slots += rec->flags & REC_BLOCKED ? 1 : 0;
	r->slot_number++;
	if (is_used(r, rec, cur - 1)) {
		rec->flags |= REC_USED;
		n->used_slots++;
		r->who[cur - 1].t.used++;
	} else {
		rec->flags &= (uint8_t)~REC_USED;
	}
	(&n->live_init_slots)[live_class(REC_LIVE(rec->arg))]++;
}

static inline int check_switch(struct replay *r, struct rec *rec)
{
	const uint32_t cpu = rec->cpu, task = rec->task;
	uint32_t cur;

	if (cpu >= REC_CPUS_MAX)
		return bad(r, "a CPU's number is out of range");
	end_slot(r, rec);
	cur = r->cur[cpu];
	if (cur)
		r->who[cur - 1].running = 0;
	if (cpu >= r->cpus)
		r->cpus = cpu + 1;
	r->n.switches++;
	r->cur[cpu] = 0;
	if (rec->flags & REC_KERNEL)
		return 0;
	if (task >= r->tasks || !r->who[task].alive)
		return bad(r, "a task runs that is not there");
	if (r->who[task].running)
		return bad(r, "a task runs on two CPUs");
	r->who[task].running = (uint16_t)(cpu + 1);
	r->cur[cpu] = task + 1;
	r->n.slots++;
	r->who[task].t.slots++;
	return 0;
}

static int check_task(struct replay *r, const struct rec *rec)
{
	struct who *w;

	if (rec->task >= REC_TASKS_MAX || rec->arg > INT32_MAX)
		return bad(r, "a task's number is out of range");
	if (rec->task < r->tasks && r->who[rec->task].alive)
		return bad(r, "two tasks have one number");
	/* In order, but for numbers that are free again. */
	if (rec->task > r->tasks + 1)
		return bad(r, "a task's number is out of order");
	if (rec->task >= r->tasks)
		r->tasks = rec->task + 1;
	w = &r->who[rec->task];
	memset(w, 0, sizeof(*w));
	w->t.pid = (int32_t)rec->arg;
	w->p = (float)r->use.p;
	r->who[rec->task].alive = 1;
	r->named = rec->task + 1;
	return 0;
}

static int check_exit(struct replay *r, const struct rec *rec)
{
	const uint32_t task = rec->task;

	if (!r->who[task].alive || (r->who[task].running && r->who[task].running != rec->cpu + 1))
		return bad(r, "a task exits that is not there");
	if (r->who[task].running)
		r->cur[rec->cpu] = 0;
	r->who[task].running = 0;
	r->who[task].alive = 0;
	r->n.exits++;
	return 0;
}

static int check_rare(struct replay *r, struct rec *rec)
{
	const uint32_t task = rec->task;
	const bool runs = rec->cpu < REC_CPUS_MAX && r->cur[rec->cpu] == task + 1;

	if (rec->cpu >= REC_CPUS_MAX && rec->kind != REC_NAME)
		return bad(r, "a CPU's number is out of range");
	if (task >= r->tasks && rec->kind >= REC_FORK && rec->kind <= REC_MIGRATE &&
	    rec->kind != REC_SECTION)
		return bad(r, "a task acts that is not there");
	switch (rec->kind) {
	case REC_FORK:
		r->n.forks++;
		return runs && rec->arg < r->tasks && r->who[rec->arg].alive && !r->who[rec->arg].running
			       ? 0 : bad(r, "a fork without parent or child");
	case REC_EXEC:
		r->n.execs++;
		mark_used(r, rec);
		return runs ? 0 : bad(r, "an exec of a task that does not run");
	case REC_EXIT:
		mark_used(r, rec);
		return check_exit(r, rec);
	case REC_SIGNAL:
		r->n.signals++;
		r->n.signals_assumed += rec->flags & REC_ASSUMED ? 1 : 0;
		return runs ? 0 : bad(r, "a signal of a task that does not run");
	case REC_SECTION:
		r->n.sections++;
		return 0;
	case REC_MIGRATE:
		r->n.migrations++;
		return !r->who[task].running ? 0 : bad(r, "a task migrates while it runs");
	case REC_TASK:
		return check_task(r, rec);
	case REC_NAME:
		if (!r->named)
			return bad(r, "a name without a task");
		rec_name_get(rec, r->who[r->named - 1].t.name);
		r->who[r->named - 1].p = share_of(r, r->who[r->named - 1].t.name);
		r->named = 0;
		return 0;
	case REC_PAUSE:
		r->n.span_ns += rec->arg * 1000000000ull;
		return 0;
	case REC_LOST:
		r->n.lost_events += rec->arg;
		return 0;
	case REC_END:
		if ((uint32_t)(r->n.records - 1) != rec->arg)
			return bad(r, "records are missing");
		r->ended = true;
		r->n.observed_restores += rec->task;
		r->n.traces_with_fpu = !!(rec->flags & REC_HAS_FPU);
		r->n.traces_with_restores = !!(rec->flags & REC_HAS_RESTORES);
		r->n.traces_with_signals = !!(rec->flags & REC_HAS_SIGNALS);
		r->n.traces_with_sections = !!(rec->flags & REC_HAS_SECTIONS);
		return 0;
	default:
		return bad(r, "a record of no kind");
	}
}

int replay_batch(struct replay *r, struct rec *recs, size_t count)
{
	size_t done = 0;

	for (size_t i = 0; i < count; i++) {
		struct rec *rec = &recs[i];
		int err;

		r->n.records++;
		if (rec->kind != REC_NAME)
			r->n.span_ns += rec->wait_ns;
		if (r->ended)
			return bad(r, "records behind the end");
		err = rec->kind == REC_SWITCH ? check_switch(r, rec) : check_rare(r, rec);
		if (err)
			return err;
		if (rec->kind != REC_EXIT || !r->on_exit)
			continue;
		/* The lanes must be up to date before a task's counts are taken. */
		for (size_t k = 0; k < r->lane_count; k++)
			lane_run(r->lanes[k], recs + done, i + 1 - done);
		done = i + 1;
		r->on_exit(r->on_exit_arg, rec->task);
	}
	for (size_t k = 0; k < r->lane_count; k++)
		lane_run(r->lanes[k], recs + done, count - done);
	return 0;
}

const char *replay_why(const struct replay *r)
{
	return r->why;
}

int replay_end(struct replay *r, struct sim_totals *out)
{
	if (r->on_exit)
		for (uint32_t i = 0; i < r->tasks; i++)
			if (r->who[i].alive)
				r->on_exit(r->on_exit_arg, i);
	r->n.traces = 1;
	r->n.cpu_ns = r->n.span_ns * r->cpus;
	*out = r->n;
	return r->ended ? 0 : bad(r, "cut off");
}

unsigned replay_cpus(const struct replay *r)
{
	return r->cpus;
}

const struct replay_task *replay_task(const struct replay *r, uint32_t number)
{
	return number < r->tasks ? &r->who[number].t : NULL;
}

void replay_on_exit(struct replay *r, void (*fn)(void *arg, uint32_t number), void *arg)
{
	r->on_exit = fn;
	r->on_exit_arg = arg;
}
