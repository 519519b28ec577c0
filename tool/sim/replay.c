// SPDX-License-Identifier: BSD-2-Clause
/* Records: are they consistent, what do they sum up to; then through all lanes. */
#include "sim/replay_own.h"

#include <stdlib.h>
#include <string.h>

#include <xst/comp.h>

#include "sim/memo_run.h"
#include "sim/quick.h"

void sim_totals_add(struct sim_totals *sum, const struct sim_totals *more)
{
#define X(name) sum->name += more->name;
	SIM_TOTALS(X)
	SIM_TOTALS_NEW(X)
#undef X
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->memo_count; i++)
		memo_free(r->memos[i]);
	free(r->memos);
	free(r->direct);
	machine_end(&r->machine);
	release(r->who, REC_TASKS_MAX * sizeof(*r->who));
	free(r);
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

float replay_share(const struct replay *r, const char *name)
{
	for (size_t i = 0; i < r->use.name_count; i++)
		if (!strcmp(r->use.names[i].name, name)) {
			r->use.names[i].seen = true;
			return (float)r->use.names[i].p;
		}
	return (float)r->use.p;
}

static bool is_used_assumed(const struct replay *r, uint32_t task)
{
	switch (r->use.kind) {
	case SIM_USE_ALL:
		return true;
	case SIM_USE_SHARE:
		return by_chance(r, r->use.p);
	case SIM_USE_NAMES:
		return by_chance(r, (double)r->who[task].p);
	default:
		return false;
	}
}

/* An exec or exit ends what the task was, as a switch ends a slot. */
static void mark_used(struct replay *r, struct rec *rec)
{
	rec->flags &= (uint8_t)~REC_USED;
	if (!(rec->flags & REC_USER))
		return;
	r->slot_number++;
	/* Nothing shows what was live then: a program that ran a while. */
	if (r->use.kind == SIM_USE_LIVE || is_used_assumed(r, rec->task))
		rec->flags |= REC_USED;
}

/* A slot is over in which the registers became others before its end. */
static __attribute__((noinline)) void end_turns(struct replay *r, struct machine_cpu *c,
						unsigned flags)
{
	if ((flags & REC_USER) && (flags & REC_USED)) {
		r->n.signal_frames += c->frames;
		r->n.signal_turns += c->turns - c->sections;
		r->n.sections_inside += c->sections;
	}
	c->frames = c->turns = c->sections = 0;
}

static __attribute__((noinline, cold)) int bad(struct replay *r, const char *why)
{
	if (!r->why)
		r->why = why;
	return -1;
}

/* Which lanes go together, and which alone. */
static bool begin_memos(struct replay *r, const struct memo_limits *limits)
{
	struct lane *group[MEMO_LANES];
	size_t count = 0;

	r->direct = calloc(r->lane_count + 1, sizeof(*r->direct));
	r->memos = calloc(r->lane_count + 1, sizeof(*r->memos));
	if (!r->direct || !r->memos)
		return false;
	for (size_t i = 0; i < r->lane_count; i++) {
		if (!limits || !lane_can_try(r->lanes[i]))
			r->direct[r->direct_count++] = r->lanes[i];
		else
			group[count++] = r->lanes[i];
		if (!count || (count < MEMO_LANES && i + 1 < r->lane_count))
			continue;
		r->memos[r->memo_count] = memo_new(group, count, limits,
						   r->memo_count ? NULL : &r->machine);
		if (!r->memos[r->memo_count++])
			return false;
		count = 0;
	}
	return true;
}

struct replay *replay_new(const struct sim_use *use, struct lane **lanes, size_t lane_count,
			  const struct memo_limits *limits)
{
	struct replay *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->use = *use;
	r->lanes = lanes;
	r->lane_count = lane_count;
	r->who = reserve(REC_TASKS_MAX * sizeof(*r->who));
	if (!machine_begin(&r->machine) || !r->who || !begin_memos(r, limits)) {
		replay_free(r);
		return NULL;
	}
	return r;
}

/* Which slots used the registers was asked otherwise than the file has it. */
static void assume_use(struct replay *r, struct rec *rec, uint32_t cur)
{
	rec->flags &= (uint8_t)~REC_USED;
	if (!cur || !(rec->flags & REC_USER))
		return;
	r->slot_number++;
	if (is_used_assumed(r, cur - 1))
		rec->flags |= REC_USED;
}

static __attribute__((noinline)) bool new_cpu(struct replay *r, unsigned cpu)
{
	if (cpu >= REC_CPUS_MAX)
		return false;
	r->machine.cpu_count = cpu + 1;
	return true;
}

#define DAY 86400u /* seconds */

/* Two sums in one register. */
_Static_assert(PART <= 1u << (SUMS_SEEN_SHIFT - 32), "time stays below what was seen");

/* How a batch goes on from the check: what is not known at compile time is decided once for it. */
struct way {
	bool as_asked, programs;
	enum { CHECK_ONLY, QUICK, WIDE } memo; /* QUICK: what quick_run() leaves */
	bool steps; /* others want them */
};

static const char nobody[] = "nobody is in user mode";

static enum done refuse(struct replay *r, const char *why)
{
	(void)bad(r, why);
	return REFUSED;
}

/* The memo has nothing of user mode without a task: with one it is asked later, sort_out(). */
static __attribute__((noinline, cold)) enum done refuse_switch(struct replay *r,
							       const struct machine_task *o)
{
	return refuse(r, o->is == IS_DEAD ? "a task runs that is not there"
		       : o->is == IS_RUNNING ? "a task runs on two CPUs" : nobody);
}

/* @m: the first memo, if there is one. */
ALWAYS_INLINE enum done take_switch(struct replay *r, struct memo *m, struct rec *rec,
				    memo_step *step, struct way way)
{
	struct machine_task *const tasks = r->machine.tasks;
	struct machine_task *t, *o;
	struct machine_cpu *c;
	const uint64_t wait_ns = rec->wait_ns, next = (uint64_t)rec->task + 1;
	uint64_t second, n;
	uint32_t cpu, flags;
	unsigned event, lost;

	memcpy(&second, &rec->cpu, sizeof(second));
	cpu = second & 0xffff;
	if (UNLIKELY(cpu >= r->machine.cpu_count) && !new_cpu(r, cpu))
		return refuse(r, "a CPU's number is out of range");
	c = &r->machine.cpus[cpu];
	if (way.as_asked) {
		assume_use(r, rec, c->cur);
		memcpy(&second, &rec->cpu, sizeof(second));
	}
	flags = second >> 24 & 0xff;
	if (UNLIKELY(c->turns))
		end_turns(r, c, flags);
	n = next & ((uint64_t)(flags & REC_KERNEL) - 1);
	if (UNLIKELY(n > r->machine.task_count))
		return refuse(r, "a task runs that is not there");
	t = &tasks[c->cur];
	o = &tasks[n];
	t->is = IS_WAITING;
	lost = way.memo == CHECK_ONLY ? (c->cur == 0) & (flags / REC_USER) : 0;
	if (UNLIKELY((~o->is & 1u) | lost))
		return refuse_switch(r, o);
	o->is = n ? IS_RUNNING : IS_WAITING;
	r->machine.switches[flags][REC_LIVE_OF(second >> 32)]++;
	r->sums += wait_ns + ((uint64_t)REC_SEEN_OF(second >> 32) << SUMS_SEEN_SHIFT);
	if (way.programs) {
		if (c->cur)
			r->who[c->cur - 1].t.used += flags & REC_USER ? flags / REC_USED & 1 : 0;
		if (n)
			r->who[n - 1].t.slots++;
	}
	if (way.steps)
		*step = memo_step_of((uint32_t)n, second, c->cur == n);
	if (way.memo == CHECK_ONLY) {
		c->cur = (uint32_t)n;
		return DONE;
	}
	event = (flags & m->flag_mask) | (c->cur == n ? MEMO_SAME : 0) |
		(REC_IS_LIVE(second >> 32) ? m->live_mask : 0);
	return memo_run_switch(m, c, t, o, cpu, (uint32_t)n, event);
}

/* The memo wants more than the short path. False: this batch ends here. */
static __attribute__((noinline)) bool sort_out(struct replay *r, struct memo *m,
					       const struct rec *rec, enum done done)
{
	const uint32_t n = rec->flags & REC_KERNEL ? 0 : rec->task + 1;
	uint64_t second;
	uint32_t cur;

	if (done == REFUSED)
		return false;
	memcpy(&second, &rec->cpu, sizeof(second));
	if (rec->kind != REC_SWITCH)
		return memo_again(m, rec, (uint64_t)rec->kind << 48, done);
	cur = r->machine.cpus[rec->cpu].cur;
	if (done == NOT_DONE && !cur && (rec->flags & REC_USER)) {
		(void)bad(r, nobody);
		return false;
	}
	return memo_again(m, rec, memo_step_of(n, second, cur == n), done);
}

static int check_task(struct replay *r, const struct rec *rec)
{
	struct who *w;

	if (rec->task >= REC_TASKS_MAX || rec->arg > INT32_MAX)
		return bad(r, "a task's number is out of range");
	if (rec->task < r->machine.task_count && r->machine.tasks[rec->task + 1].is != IS_DEAD)
		return bad(r, "two tasks have one number");
	/* In order, but for numbers that are free again. */
	if (rec->task > r->machine.task_count + 1)
		return bad(r, "a task's number is out of order");
	/* A number that is passed over is nobody's. */
	for (uint64_t n = r->machine.task_count; n < rec->task; n++)
		r->machine.tasks[n + 1].is = IS_DEAD;
	if (rec->task >= r->machine.task_count)
		r->machine.task_count = rec->task + 1;
	r->machine.tasks[rec->task + 1].is = IS_NEW;
	w = &r->who[rec->task];
	memset(w, 0, sizeof(*w));
	w->t.pid = (int32_t)rec->arg;
	w->p = (float)r->use.p;
	r->named = rec->task + 1;
	return 0;
}

static __attribute__((noinline)) int check_rare(struct replay *r, struct rec *rec)
{
	const uint32_t task = rec->task, tasks = (uint32_t)r->machine.task_count;
	const bool here = rec->cpu < REC_CPUS_MAX && task < tasks &&
			  r->machine.cpus[rec->cpu].cur == task + 1;
	uint8_t *is = &r->machine.tasks[task < tasks ? task + 1 : 0].is;

	if (rec->cpu >= REC_CPUS_MAX && rec->kind != REC_NAME && rec->kind != REC_END)
		return bad(r, "a CPU's number is out of range");
	if (rec->kind >= REC_FORK && rec->kind <= REC_MIGRATE) {
		if (task >= tasks && rec->kind != REC_SECTION)
			return bad(r, "a task acts that is not there");
		/* It is one of the machine's, though it may never switch. */
		if (rec->cpu >= r->machine.cpu_count)
			(void)new_cpu(r, rec->cpu);
	}
	switch (rec->kind) {
	case REC_FORK:
		r->n.forks++;
		return here && rec->arg < tasks && r->machine.tasks[rec->arg + 1].is == IS_NEW
			       ? 0 : bad(r, "a fork without parent or child");
	case REC_EXEC:
		r->n.execs++;
		mark_used(r, rec);
		if (here)
			end_turns(r, &r->machine.cpus[rec->cpu], rec->flags);
		return here ? 0 : bad(r, "an exec of a task that does not run");
	case REC_EXIT:
		mark_used(r, rec);
		if (here)
			end_turns(r, &r->machine.cpus[rec->cpu], rec->flags);
		r->n.exits++;
		if (*is == IS_DEAD || (*is == IS_RUNNING && !here))
			return bad(r, "a task exits that is not there");
		*is = IS_DEAD;
		return 0;
	case REC_SIGNAL:
		r->n.signals++;
		r->n.signals_assumed += rec->flags & REC_ASSUMED ? 1 : 0;
		r->n.returns_assumed += rec->flags & (REC_ASSUMED | REC_OPEN) ? 0 : 1;
		if (!here)
			return bad(r, "a signal of a task that does not run");
		r->machine.cpus[rec->cpu].frames++;
		r->machine.cpus[rec->cpu].turns += rec->flags & REC_OPEN ? 1 : 2;
		return 0;
	case REC_SIGRETURN:
		if (!here)
			return bad(r, "a handler returns in a task that does not run");
		r->machine.cpus[rec->cpu].turns++;
		return 0;
	case REC_SECTION:
		r->n.sections++;
		r->n.sections_assumed += rec->flags & REC_ASSUMED ? 1 : 0;
		if (rec->flags & REC_USER)
			return here ? 0 : bad(r, "a section of a task that does not run");
		if (here) {
			r->machine.cpus[rec->cpu].turns++;
			r->machine.cpus[rec->cpu].sections++;
		}
		return 0;
	case REC_MIGRATE:
		r->n.migrations++;
		return *is != IS_RUNNING ? 0 : bad(r, "a task migrates while it runs");
	case REC_TASK:
		return check_task(r, rec);
	case REC_NAME:
		if (!r->named)
			return bad(r, "a name without a task");
		rec_name_get(rec, r->who[r->named - 1].t.name);
		r->who[r->named - 1].p = replay_share(r, r->who[r->named - 1].t.name);
		r->who[r->named - 1].t.ran = r->machine.tasks[r->named].is == IS_RUNNING;
		r->named = 0;
		return 0;
	case REC_RENAME:
		r->named = task + 1;
		return task < tasks && *is != IS_DEAD ? 0
			: bad(r, "a name for a task that is not there");
	case REC_PAUSE:
		r->n.span_ns += rec->arg * 1000000000ull;
		r->n.day_pauses += rec->arg >= DAY ? 1 : 0;
		return 0;
	case REC_LOST:
		if (rec->flags & REC_ASSUMED)
			r->n.gaps += rec->arg;
		else
			r->n.lost_events += rec->arg;
		return 0;
	case REC_END:
		if ((uint32_t)r->records_before != rec->arg)
			return bad(r, "records are missing");
		if (rec->flags & ~(REC_HAS_FPU | REC_HAS_RESTORES | REC_HAS_SIGNALS | REC_HAS_SECTIONS |
				   REC_HAS_MORE))
			return bad(r, "an end of no kind");
		r->ended = true;
		r->more = rec->flags & REC_HAS_MORE;
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

/* What a task was is over, by its exit or as another program. */
static void end_program(struct replay *r, uint32_t task)
{
	r->on_exit(r->on_exit_arg, task);
	r->who[task].t.slots = r->who[task].t.used = 0;
	r->who[task].t.ran = r->who[task].t.counted = false;
}

/* Everything that is not a switch. */
static __attribute__((noinline)) enum done take_rare(struct replay *r, struct memo *m,
						     struct rec *rec, size_t i)
{
	struct machine_cpu *c = &r->machine.cpus[rec->cpu < REC_CPUS_MAX ? rec->cpu : 0];

	r->steps[i] = (uint64_t)rec->kind << 48;
	r->n.span_ns += rec->kind == REC_NAME ? 0 : rec->wait_ns;
	r->records_before = r->n.records + i;
	if (check_rare(r, rec))
		return REFUSED;
	if (m)
		return memo_run_rare(m, rec);
	if (rec->kind == REC_EXIT && c->cur == rec->task + 1)
		c->cur = 0;
	return DONE;
}

/*
 * The records of one batch, as far as they go one way; how many were good is the return. @exit_at:
 * the last of them, and the lanes are wanted as of there.
 */
ALWAYS_INLINE size_t take_batch(struct replay *r, struct rec *recs, size_t count, size_t *exit_at,
				struct way way)
{
	struct memo *const m = way.memo == CHECK_ONLY ? NULL : r->memos[0];
	struct rec *rec = recs, *end = recs + count;
	size_t i;

	r->sums = 0;
	for (; rec < end; rec++) {
		enum done done;

		if (way.memo == QUICK) {
			rec = quick_run(m, rec, end, &r->sums);
			if (rec == end)
				break;
			quick_stop(m, rec);
		}
		__builtin_prefetch(rec + REC_AT_ONCE);
		if (LIKELY(rec->kind == REC_SWITCH)) {
			done = take_switch(r, m, rec, &r->steps[rec - recs], way);
		} else {
			done = take_rare(r, m, rec, (size_t)(rec - recs));
			if (rec->kind == REC_END || (way.programs && (rec->kind == REC_EXIT ||
								      rec->kind == REC_RENAME))) {
				*exit_at = (size_t)(rec - recs);
				end = rec + 1;
			}
		}
		if (UNLIKELY(done != DONE || (way.memo == QUICK && !quick_is_small(m))) &&
		    !sort_out(r, m, rec, done)) {
			rec += !r->why;
			break;
		}
	}
	i = (size_t)(rec - recs);
	r->n.span_ns += r->sums & ((1ull << SUMS_SEEN_SHIFT) - 1);
	r->n.observed_restores += r->sums >> SUMS_SEEN_SHIFT;
	r->n.records += i;
	return i;
}

static size_t take_part(struct replay *r, struct rec *recs, size_t count, size_t *exit_at)
{
	const struct memo *m = r->memo_count && !r->memos[0]->direct ? r->memos[0] : NULL;
	const bool as_asked = r->use.kind != SIM_USE_LIVE, alone = r->memo_count == 1;
	/* What is rare is looked at for each record. */
	const struct way check = { as_asked, r->on_exit, CHECK_ONLY, true };
	const struct way wide = { as_asked, false, WIDE, !alone };
	const struct way wide_alone = { .memo = WIDE }, quick = { .memo = QUICK };

	if (!m)
		return take_batch(r, recs, count, exit_at, check);
	if (as_asked || !alone)
		return take_batch(r, recs, count, exit_at, wide);
	return m->quick ? take_batch(r, recs, count, exit_at, quick)
			: take_batch(r, recs, count, exit_at, wide_alone);
}

/* The totals that are sums over switches. */
static void add_switches(struct replay *r)
{
	struct sim_totals *n = &r->n;
	uint64_t *lives = &n->live_init_slots;

	for (unsigned flags = 0; flags < SWITCHES_FLAGS; flags++)
		for (unsigned live = 0; live < SWITCHES_LIVES; live++) {
			const uint64_t count = r->machine.switches[flags][live];
			const uint64_t user = flags & REC_USER ? count : 0;

			n->switches += count;
			n->switches_assumed += flags & REC_ASSUMED ? count : 0;
			n->slots += flags & REC_KERNEL ? 0 : count;
			n->user_slots += user;
			n->used_slots += flags & REC_USED ? user : 0;
			n->digest_slots += flags & REC_DIGEST ? user : 0;
			n->blocked_slots += flags & REC_BLOCKED ? user : 0;
			lives[live < REC_LIVES ? live : REC_INIT] += user;
		}
	memset(r->machine.switches, 0, sizeof(r->machine.switches));
}

int replay_batch(struct replay *r, struct rec *recs, size_t count)
{
	while (count) {
		const size_t part = count < PART ? count : PART;
		const bool shared = r->memo_count && !r->memos[0]->direct;
		size_t stop = SIZE_MAX, good;

		good = r->ended ? 0 : take_part(r, recs, part, &stop);
		if (r->ended && !good)
			(void)bad(r, "records behind the end");
		if (r->why) {
			/* Counted were those before it. */
			r->bad_record = r->n.records + 1;
			return -1;
		}
		for (size_t k = shared; k < r->memo_count; k++)
			memo_run(r->memos[k], recs, r->steps, good);
		for (size_t k = 0; k < r->direct_count; k++)
			lane_run(r->direct[k], recs, good);
		/* The lanes are up to date: a task's counts can be taken. */
		if (stop != SIZE_MAX && r->on_exit && recs[stop].kind != REC_END)
			end_program(r, recs[stop].task);
		recs += good;
		count -= good;
	}
	return 0;
}

const char *replay_why(const struct replay *r, uint64_t *number)
{
	*number = r->bad_record;
	return r->why;
}

int replay_end(struct replay *r, struct sim_totals *out, bool *more)
{
	for (size_t i = 0; i < r->memo_count; i++)
		memo_settle(r->memos[i]);
	if (r->on_exit)
		for (uint32_t i = 0; i < r->machine.task_count; i++)
			if (r->machine.tasks[i + 1].is != IS_DEAD)
				r->on_exit(r->on_exit_arg, i);
	add_switches(r);
	*more = r->more;
	r->n.traces = !r->more;
	/* The END of a piece is not in the trace; nor is known there how many CPUs that will have. */
	r->n.records -= r->more;
	r->n.cpu_ns = (r->span_before + r->n.span_ns) * r->machine.cpu_count - r->cpu_ns_before;
	*out = r->n;
	return r->ended ? 0 : bad(r, "cut off");
}

unsigned replay_cpus(const struct replay *r)
{
	return (unsigned)r->machine.cpu_count;
}

const struct memo *replay_memo(const struct replay *r, size_t i)
{
	return i < r->memo_count ? r->memos[i] : NULL;
}

const struct replay_task *replay_task(const struct replay *r, uint32_t number)
{
	return number < r->machine.task_count ? &r->who[number].t : NULL;
}

void replay_on_exit(struct replay *r, void (*fn)(void *arg, uint32_t number), void *arg)
{
	r->on_exit = fn;
	r->on_exit_arg = arg;
}
