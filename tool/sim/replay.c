// SPDX-License-Identifier: BSD-2-Clause
/* Records: are they consistent, what do they sum up to; then through all lanes. */
#include "sim/replay.h"

#include <stdlib.h>
#include <string.h>

#include <xst/comp.h>

#include "sim/memo_run.h"

/* So many records at a time that they stay in the nearest cache from one reader to the next. */
#define PART 512u

/* What of a task is not needed at every switch. */
struct who {
	struct replay_task t;
	float p; /* of using the registers, in a slot */
};

#define FLAGS 256u
#define LIVES 8u

struct replay {
	uint64_t switches[FLAGS][LIVES]; /* how many, by flags and by how live the image was */
	struct sim_use use;
	struct lane **lanes;
	size_t lane_count;
	struct lane **direct;    /* those that run by themselves */
	struct memo **memos;     /* the others, eight at most in each; the first shares machine */
	size_t direct_count, memo_count;
	memo_step steps[PART];
	struct machine machine;
	struct who *who;         /* REC_TASKS_MAX, as far as used */
	uint64_t slot_number;    /* seed of the next chance */
	uint64_t records_before; /* the one that is looked at */
	uint32_t named;          /* the TASK a NAME belongs to, plus 1 */
	bool ended, more;        /* more: in a further piece */
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

static float share_of(const struct replay *r, const char *name)
{
	for (size_t i = 0; i < r->use.name_count; i++)
		if (!strcmp(r->use.names[i].name, name))
			return (float)r->use.names[i].p;
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

/* Two sums in one register: PART times the longest wait has fewer bits. */
#define SEEN_SHIFT 44

/* How a batch goes on from the check: what is not known at compile time is decided once for it. */
struct way {
	bool as_asked, programs;
	enum { CHECK_ONLY, QUICK, WIDE } memo;
	bool steps; /* others want them */
};

/* @m: of the first memo, if there is one. */
ALWAYS_INLINE int take_switch(struct replay *r, struct memo *m, struct rec *rec, memo_step *step,
			      uint64_t *sums, struct way way, enum done *done)
{
	struct machine_task *const tasks = r->machine.tasks;
	struct machine_task *t, *o;
	struct machine_cpu *c;
	uint64_t first, second, n;
	uint32_t cpu, flags;
	memo_step here;
	bool lost;

	memcpy(&second, &rec->cpu, sizeof(second));
	cpu = second & 0xffff;
	if (UNLIKELY(cpu >= r->machine.cpu_count) && !new_cpu(r, cpu))
		return bad(r, "a CPU's number is out of range");
	c = &r->machine.cpus[cpu];
	if (way.as_asked) {
		assume_use(r, rec, c->cur);
		memcpy(&second, &rec->cpu, sizeof(second));
	}
	memcpy(&first, rec, sizeof(first));
	flags = second >> 24 & 0xff;
	/* Without branches: what comes is as random as programs are. */
	n = ((first >> 32) + 1) & ((uint64_t)(flags & REC_KERNEL) - 1);
	if (UNLIKELY(n > r->machine.task_count))
		return bad(r, "a task runs that is not there");
	t = &tasks[c->cur];
	o = &tasks[n];
	t->is = IS_WAITING;
	lost = (c->cur == 0) & (flags / REC_USER);
	if (UNLIKELY((o->is | lost) & 1))
		return bad(r, lost ? "nobody is in user mode"
			    : o->is == IS_DEAD ? "a task runs that is not there"
			    : "a task runs on two CPUs");
	o->is = n ? IS_RUNNING : IS_NEW;
	r->switches[flags][REC_LIVE_OF(second >> 32)]++;
	*sums += (uint32_t)first + (second >> (56 - SEEN_SHIFT) & (uint64_t)0xff << SEEN_SHIFT);
	if (way.programs) {
		if (c->cur)
			r->who[c->cur - 1].t.used += flags & REC_USER ? flags / REC_USED & 1 : 0;
		if (n)
			r->who[n - 1].t.slots++;
	}
	here = memo_step_of((uint32_t)n, second, c->cur == n);
	if (way.steps)
		*step = here;
	if (way.memo == QUICK)
		*done = memo_run_quick(m, c, t, o, here);
	else if (way.memo == WIDE)
		*done = memo_run_switch(m, c, t, o, here);
	else
		c->cur = (uint32_t)n;
	if (way.memo != CHECK_ONLY && UNLIKELY(*done != DONE))
		*step = here;
	return 0;
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
	const uint32_t task = rec->task, tasks = r->machine.task_count;
	const bool here = rec->cpu < REC_CPUS_MAX && task < tasks &&
			  r->machine.cpus[rec->cpu].cur == task + 1;
	uint8_t *is = &r->machine.tasks[task < tasks ? task + 1 : 0].is;

	if (rec->cpu >= REC_CPUS_MAX && rec->kind != REC_NAME && rec->kind != REC_END)
		return bad(r, "a CPU's number is out of range");
	if (task >= tasks && rec->kind >= REC_FORK && rec->kind <= REC_MIGRATE &&
	    rec->kind != REC_SECTION)
		return bad(r, "a task acts that is not there");
	switch (rec->kind) {
	case REC_FORK:
		r->n.forks++;
		return here && rec->arg < tasks && r->machine.tasks[rec->arg + 1].is == IS_NEW
			       ? 0 : bad(r, "a fork without parent or child");
	case REC_EXEC:
		r->n.execs++;
		mark_used(r, rec);
		return here ? 0 : bad(r, "an exec of a task that does not run");
	case REC_EXIT:
		mark_used(r, rec);
		r->n.exits++;
		if (*is == IS_DEAD || (*is == IS_RUNNING && !here))
			return bad(r, "a task exits that is not there");
		*is = IS_DEAD;
		return 0;
	case REC_SIGNAL:
		r->n.signals++;
		r->n.signals_assumed += rec->flags & REC_ASSUMED ? 1 : 0;
		return here ? 0 : bad(r, "a signal of a task that does not run");
	case REC_SIGRETURN:
		return here ? 0 : bad(r, "a handler returns in a task that does not run");
	case REC_SECTION:
		r->n.sections++;
		r->n.sections_assumed += rec->flags & REC_ASSUMED ? 1 : 0;
		return here || !(rec->flags & REC_USER) ? 0
			: bad(r, "a section of a task that does not run");
	case REC_MIGRATE:
		r->n.migrations++;
		return *is != IS_RUNNING ? 0 : bad(r, "a task migrates while it runs");
	case REC_TASK:
		return check_task(r, rec);
	case REC_NAME:
		if (!r->named)
			return bad(r, "a name without a task");
		rec_name_get(rec, r->who[r->named - 1].t.name);
		r->who[r->named - 1].p = share_of(r, r->who[r->named - 1].t.name);
		r->named = 0;
		return 0;
	case REC_RENAME:
		r->named = task + 1;
		return task < tasks && *is != IS_DEAD ? 0
			: bad(r, "a name for a task that is not there");
	case REC_PAUSE:
		r->n.span_ns += rec->arg * 1000000000ull;
		return 0;
	case REC_LOST:
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
}

/* Everything that is not a switch. */
static __attribute__((noinline)) int take_rare(struct replay *r, struct memo *m, struct rec *rec,
					       memo_step *step, enum done *done)
{
	struct machine_cpu *c = &r->machine.cpus[rec->cpu < REC_CPUS_MAX ? rec->cpu : 0];

	*step = (uint64_t)rec->kind << 48;
	if (check_rare(r, rec))
		return -1;
	if (m)
		*done = memo_run_rare(m, rec);
	else if (rec->kind == REC_EXIT && c->cur == rec->task + 1)
		c->cur = 0;
	return 0;
}

/*
 * The records of one batch, as far as they go one way; how many were good is the return. @exit_at:
 * the last of them, and the lanes are wanted as of there.
 */
ALWAYS_INLINE size_t take_batch(struct replay *r, struct rec *recs, size_t count, size_t *exit_at,
				struct way way)
{
	struct memo *const m = way.memo == CHECK_ONLY ? NULL : r->memos[0];
	uint64_t span_ns = 0, sums = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		struct rec *rec = &recs[i];
		enum done done = DONE;
		bool last = false;

		if (LIKELY(rec->kind == REC_SWITCH)) {
			if (take_switch(r, m, rec, &r->steps[i], &sums, way, &done))
				break;
		} else {
			span_ns += rec->kind == REC_NAME ? 0 : rec->wait_ns;
			r->records_before = r->n.records + i;
			if (take_rare(r, m, rec, &r->steps[i], &done))
				break;
			last = rec->kind == REC_END ||
			       (way.programs && (rec->kind == REC_EXIT || rec->kind == REC_RENAME));
			if (last)
				*exit_at = i;
		}
		if (way.memo != CHECK_ONLY && UNLIKELY(done != DONE))
			last |= !memo_again(m, rec, r->steps[i], done);
		if (UNLIKELY(last)) {
			i++;
			break;
		}
	}
	r->n.span_ns += span_ns + (sums & ((1ull << SEEN_SHIFT) - 1));
	r->n.observed_restores += sums >> SEEN_SHIFT;
	r->n.records += i;
	return i;
}

static size_t take_part(struct replay *r, struct rec *recs, size_t count, size_t *exit_at)
{
	const struct memo *m = r->memo_count && !r->memos[0]->direct ? r->memos[0] : NULL;
	const bool as_asked = r->use.kind != SIM_USE_LIVE;

	if (r->on_exit)
		return take_batch(r, recs, count, exit_at,
				  (struct way){ as_asked, true, CHECK_ONLY, true });
	if (as_asked)
		return !m ? take_batch(r, recs, count, exit_at,
				       (struct way){ true, false, CHECK_ONLY, true })
			  : take_batch(r, recs, count, exit_at, (struct way){ true, false, WIDE, true });
	if (!m)
		return take_batch(r, recs, count, exit_at,
				  (struct way){ false, false, CHECK_ONLY, true });
	if (m->quick)
		return take_batch(r, recs, count, exit_at, (struct way){ false, false, QUICK, false });
	return r->memo_count > 1
		       ? take_batch(r, recs, count, exit_at, (struct way){ false, false, WIDE, true })
		       : take_batch(r, recs, count, exit_at, (struct way){ false, false, WIDE, false });
}

/* The totals that are sums over switches. */
static void add_switches(struct replay *r)
{
	struct sim_totals *n = &r->n;
	uint64_t *lives = &n->live_init_slots;

	for (unsigned flags = 0; flags < FLAGS; flags++)
		for (unsigned live = 0; live < LIVES; live++) {
			const uint64_t count = r->switches[flags][live];
			const uint64_t user = flags & REC_USER ? count : 0;

			n->switches += count;
			n->slots += flags & REC_KERNEL ? 0 : count;
			n->user_slots += user;
			n->used_slots += flags & REC_USED ? user : 0;
			n->digest_slots += flags & REC_DIGEST ? user : 0;
			n->blocked_slots += flags & REC_BLOCKED ? user : 0;
			lives[live < REC_LIVES ? live : REC_INIT] += user;
		}
	memset(r->switches, 0, sizeof(r->switches));
}

int replay_batch(struct replay *r, struct rec *recs, size_t count)
{
	while (count) {
		const size_t part = count < PART ? count : PART;
		const bool shared = r->memo_count && !r->memos[0]->direct;
		size_t stop = SIZE_MAX, good;

		if (r->ended)
			return bad(r, "records behind the end");
		good = take_part(r, recs, part, &stop);
		if (r->why)
			return -1;
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

const char *replay_why(const struct replay *r)
{
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
	r->n.cpu_ns = r->n.span_ns * r->machine.cpu_count;
	*out = r->n;
	return r->ended ? 0 : bad(r, "cut off");
}

unsigned replay_cpus(const struct replay *r)
{
	return r->machine.cpu_count;
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

/* The head of a state file. It is of one build: what it has from the engine is as it lies in memory. */
struct kept {
	char magic[8];
	char version[24];
	uint32_t lanes, tasks, cpus, piece;
	uint64_t slot_number, sum;
	uint32_t named, reserved;
};

static struct kept kept_head(const struct replay *r, const struct rec_place *place)
{
	struct kept k = { .magic = "XSTSTATE", .lanes = (uint32_t)r->lane_count,
			  .tasks = r->machine.task_count, .cpus = r->machine.cpu_count,
			  .piece = place->piece, .sum = place->sum, .slot_number = r->slot_number,
			  .named = r->named };

	strncpy(k.version, XSTATE_VERSION, sizeof(k.version) - 1);
	return k;
}

bool replay_keep(const struct replay *r, FILE *out, const struct rec_place *place)
{
	const struct kept k = kept_head(r, place);
	bool ok = fwrite(&k, sizeof(k), 1, out) == 1 &&
		  fwrite(r->who, sizeof(*r->who), k.tasks, out) == k.tasks;

	for (uint32_t i = 1; ok && i <= k.tasks; i++)
		ok = fputc(r->machine.tasks[i].is, out) != EOF;
	for (uint32_t i = 0; ok && i < k.cpus; i++)
		ok = fwrite(&r->machine.cpus[i].cur, sizeof(uint32_t), 1, out) == 1;
	for (size_t i = 0; i < r->memo_count; i++)
		memo_settle(r->memos[i]);
	for (size_t i = 0; ok && i < r->lane_count; i++)
		ok = lane_keep(r->lanes[i], out, k.tasks, k.cpus);
	return ok;
}

/* Who runs where; false when two say otherwise. */
static bool machine_go_on(struct machine *m, FILE *in)
{
	uint32_t running = 0;

	for (uint32_t i = 1; i <= m->task_count; i++) {
		const int is = fgetc(in);

		if (is < IS_NEW || is > IS_DEAD)
			return false;
		running += is == IS_RUNNING;
		m->tasks[i].is = (uint8_t)is;
	}
	for (uint32_t i = 0; i < m->cpu_count; i++) {
		uint32_t cur;

		if (fread(&cur, sizeof(cur), 1, in) != 1 || cur > m->task_count ||
		    (cur && m->tasks[cur].is != IS_RUNNING))
			return false;
		m->cpus[i].cur = cur;
		running -= cur > 0;
	}
	return !running;
}

bool replay_go_on(struct replay *r, FILE *in, struct rec_place *place)
{
	struct kept k, mine = kept_head(r, &(struct rec_place){ 0 });

	if (fread(&k, sizeof(k), 1, in) != 1 || memcmp(k.magic, mine.magic, sizeof(k.magic)) ||
	    memcmp(k.version, mine.version, sizeof(k.version)) || k.lanes != mine.lanes ||
	    k.tasks > REC_TASKS_MAX || k.cpus > REC_CPUS_MAX || k.named > k.tasks ||
	    fread(r->who, sizeof(*r->who), k.tasks, in) != k.tasks)
		return false;
	for (uint32_t i = 0; i < k.tasks; i++) {
		r->who[i].t.name[sizeof(r->who[i].t.name) - 1] = '\0';
		r->who[i].t.slots = r->who[i].t.used = 0;
	}
	r->machine.task_count = k.tasks;
	r->machine.cpu_count = k.cpus;
	if (!machine_go_on(&r->machine, in))
		return false;
	r->slot_number = k.slot_number;
	r->named = k.named;
	*place = (struct rec_place){ k.piece, k.sum };
	for (size_t i = 0; i < r->lane_count; i++)
		if (!lane_go_on(r->lanes[i], in, k.tasks, k.cpus))
			return false;
	for (size_t i = 0; i < r->memo_count; i++)
		memo_begin(r->memos[i], k.tasks, k.cpus);
	return true;
}
