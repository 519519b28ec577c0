// SPDX-License-Identifier: BSD-2-Clause
/* Records: are they consistent, what do they sum up to; then through all lanes. */
#include "sim/replay.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xst/comp.h>

#define SLOTS_PART 4096u

/* All of a task in one cache line. */
struct who {
	struct replay_task t;
	float p;          /* of using the registers, in a slot */
	uint16_t cpu;     /* where it ran last */
	bool alive;
} __attribute__((aligned(64)));

#define FLAGS 64u /* all that a SWITCH may have */

struct replay {
	uint64_t flag_sums[FLAGS]; /* what they add to struct sums */
	struct sim_use use;
	struct lane **lanes;
	size_t lane_count;
	struct who *who;         /* REC_TASKS_MAX, as far as used */
	uint32_t cur[REC_CPUS_MAX]; /* task plus 1, kernel threads 0 */
	uint32_t tasks;          /* highest number so far, plus 1 */
	unsigned cpus;
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
	munmap(r->who, REC_TASKS_MAX * sizeof(*r->who));
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

static inline bool runs(const struct replay *r, uint32_t task)
{
	return r->cur[r->who[task].cpu] == task + 1;
}

/*
 * What a batch adds up to, in registers. Counts of slots are 16 bits wide and side by side, so
 * that one addition serves four: by flags, and by how live the image was.
 */
struct sums {
	uint64_t by_flags, by_live, span_ns;
	uint32_t switches, slots, seen, cpus;
};

#define LANE(n, i) ((uint64_t)(n) << 16 * (i))
#define SUM(v, i)  ((v) >> 16 * (i) & 0xffff)

static uint64_t flag_sums(unsigned flags)
{
	const uint64_t user = flags & REC_USER ? ~0ull : 0;

	return (LANE(1, 0) | LANE(flags / REC_USED & 1, 1) | LANE(flags / REC_DIGEST & 1, 2) |
		LANE(flags / REC_BLOCKED & 1, 3)) & user;
}

struct replay *replay_new(const struct sim_use *use, struct lane **lanes, size_t lane_count)
{
	struct replay *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->use = *use;
	for (unsigned i = 0; i < FLAGS; i++)
		r->flag_sums[i] = flag_sums(i);
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

static void add_sums(struct sim_totals *n, const struct sums *s)
{
	const uint64_t user = SUM(s->by_flags, 0), f = s->by_flags, l = s->by_live;

	n->switches += s->switches;
	n->slots += s->slots;
	n->user_slots += user;
	n->used_slots += SUM(f, 1);
	n->digest_slots += SUM(f, 2);
	n->blocked_slots += SUM(f, 3);
	n->observed_restores += s->seen;
	n->span_ns += s->span_ns;
	n->live_sse_slots += SUM(l, 0);
	n->live_avx_slots += SUM(l, 1);
	n->live_avx512_slots += SUM(l, 2);
	n->live_amx_slots += SUM(l, 3);
	n->live_init_slots += user - (SUM(l, 0) + SUM(l, 1) + SUM(l, 2) + SUM(l, 3));
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

static inline __attribute__((always_inline)) int
check_switch(struct replay *r, struct rec *rec, struct sums *s, bool as_asked, bool programs,
	     uint32_t tasks)
{
	static const uint64_t live_sums[8] = { 0, LANE(1, 0), LANE(1, 1), LANE(1, 2), LANE(1, 3) };
	const uint32_t cpu = rec->cpu, task = rec->task, arg = rec->arg;
	struct who *w = &r->who[task];
	uint32_t cur, flags;

	if (cpu >= REC_CPUS_MAX)
		return bad(r, "a CPU's number is out of range");
	cur = r->cur[cpu];
	if (as_asked)
		assume_use(r, rec, cur);
	flags = rec->flags;
	if ((flags & REC_USER) && !cur)
		return bad(r, "nobody is in user mode");
	if (programs && cur)
		r->who[cur - 1].t.used += flags & REC_USER ? flags / REC_USED & 1 : 0;
	s->by_flags += r->flag_sums[flags & (FLAGS - 1)];
	s->by_live += flags & REC_USER ? live_sums[REC_LIVE_OF(arg)] : 0;
	s->seen += REC_SEEN(arg);
	s->span_ns += rec->wait_ns;
	s->switches++;
	s->cpus = cpu >= s->cpus ? cpu + 1 : s->cpus;
	if (flags & REC_KERNEL) {
		r->cur[cpu] = 0;
		return 0;
	}
	if (task >= tasks || !w->alive)
		return bad(r, "a task runs that is not there");
	if (cur != task + 1 && runs(r, task))
		return bad(r, "a task runs on two CPUs");
	w->cpu = (uint16_t)cpu;
	r->cur[cpu] = task + 1;
	s->slots++;
	if (programs)
		w->t.slots++;
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

	if (!r->who[task].alive || (runs(r, task) && r->who[task].cpu != rec->cpu))
		return bad(r, "a task exits that is not there");
	if (runs(r, task))
		r->cur[rec->cpu] = 0;
	r->who[task].alive = 0;
	r->n.exits++;
	return 0;
}

static __attribute__((noinline)) int check_rare(struct replay *r, struct rec *rec)
{
	const uint32_t task = rec->task;
	const bool here = rec->cpu < REC_CPUS_MAX && r->cur[rec->cpu] == task + 1;

	if (rec->cpu >= REC_CPUS_MAX && rec->kind != REC_NAME && rec->kind != REC_END)
		return bad(r, "a CPU's number is out of range");
	if (task >= r->tasks && rec->kind >= REC_FORK && rec->kind <= REC_MIGRATE &&
	    rec->kind != REC_SECTION)
		return bad(r, "a task acts that is not there");
	switch (rec->kind) {
	case REC_FORK:
		r->n.forks++;
		return here && rec->arg < r->tasks && r->who[rec->arg].alive && !runs(r, rec->arg)
			       ? 0 : bad(r, "a fork without parent or child");
	case REC_EXEC:
		r->n.execs++;
		mark_used(r, rec);
		return here ? 0 : bad(r, "an exec of a task that does not run");
	case REC_EXIT:
		mark_used(r, rec);
		return check_exit(r, rec);
	case REC_SIGNAL:
		r->n.signals++;
		r->n.signals_assumed += rec->flags & REC_ASSUMED ? 1 : 0;
		return here ? 0 : bad(r, "a signal of a task that does not run");
	case REC_SIGRETURN:
		return here ? 0 : bad(r, "a handler returns in a task that does not run");
	case REC_SECTION:
		r->n.sections++;
		r->n.sections_assumed += rec->flags & REC_ASSUMED ? 1 : 0;
		return 0;
	case REC_MIGRATE:
		r->n.migrations++;
		return !runs(r, task) ? 0 : bad(r, "a task migrates while it runs");
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
		return task < r->tasks && r->who[task].alive ? 0
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

/* All records of one batch; how many were good is the return. */
static inline __attribute__((always_inline)) size_t
check_batch(struct replay *r, struct rec *recs, size_t count, size_t *exit_at, bool as_asked,
	    bool programs)
{
	struct sums s = { 0 };
	uint32_t tasks = r->tasks;
	size_t i;

	for (i = 0; i < count; i++) {
		struct rec *rec = &recs[i];

		if (__builtin_expect(rec->kind == REC_SWITCH, 1)) {
			if (check_switch(r, rec, &s, as_asked, programs, tasks))
				break;
			continue;
		}
		s.span_ns += rec->kind == REC_NAME ? 0 : rec->wait_ns;
		r->records_before = r->n.records + i;
		if (check_rare(r, rec))
			break;
		tasks = r->tasks;
		if (rec->kind == REC_END ||
		    (programs && (rec->kind == REC_EXIT || rec->kind == REC_RENAME))) {
			*exit_at = i++;
			break;
		}
	}
	add_sums(&r->n, &s);
	r->cpus = s.cpus > r->cpus ? s.cpus : r->cpus;
	r->n.records += i;
	return i;
}

int replay_batch(struct replay *r, struct rec *recs, size_t count)
{
	const bool as_asked = r->use.kind != SIM_USE_LIVE, programs = r->on_exit;

	while (count) {
		/* 16 bits must be enough for each sum. */
		const size_t part = count < SLOTS_PART ? count : SLOTS_PART;
		size_t stop = SIZE_MAX, good;

		if (r->ended)
			return bad(r, "records behind the end");
		good = programs ? check_batch(r, recs, part, &stop, as_asked, true)
		     : as_asked ? check_batch(r, recs, part, &stop, true, false)
				: check_batch(r, recs, part, &stop, false, false);
		if (r->why)
			return -1;
		for (size_t k = 0; k < r->lane_count; k++)
			lane_run(r->lanes[k], recs, good);
		/* The lanes are up to date: a task's counts can be taken. */
		if (stop != SIZE_MAX && programs && recs[stop].kind != REC_END)
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
	if (r->on_exit)
		for (uint32_t i = 0; i < r->tasks; i++)
			if (r->who[i].alive)
				r->on_exit(r->on_exit_arg, i);
	*more = r->more;
	r->n.traces = !r->more;
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
	struct kept k = { .magic = "XSTSTATE", .lanes = (uint32_t)r->lane_count, .tasks = r->tasks,
			  .cpus = r->cpus, .piece = place->piece, .sum = place->sum,
			  .slot_number = r->slot_number, .named = r->named };

	strncpy(k.version, XSTATE_VERSION, sizeof(k.version) - 1);
	return k;
}

bool replay_keep(const struct replay *r, FILE *out, const struct rec_place *place)
{
	const struct kept k = kept_head(r, place);
	bool ok = fwrite(&k, sizeof(k), 1, out) == 1 &&
		  fwrite(r->who, sizeof(*r->who), r->tasks, out) == r->tasks &&
		  fwrite(r->cur, sizeof(*r->cur), r->cpus, out) == r->cpus;

	for (size_t i = 0; ok && i < r->lane_count; i++)
		ok = lane_keep(r->lanes[i], out, r->tasks, r->cpus);
	return ok;
}

bool replay_go_on(struct replay *r, FILE *in, struct rec_place *place)
{
	struct kept k, mine = kept_head(r, &(struct rec_place){ 0 });

	if (fread(&k, sizeof(k), 1, in) != 1 || memcmp(k.magic, mine.magic, sizeof(k.magic)) ||
	    memcmp(k.version, mine.version, sizeof(k.version)) || k.lanes != mine.lanes ||
	    k.tasks > REC_TASKS_MAX || k.cpus > REC_CPUS_MAX || k.named > k.tasks ||
	    fread(r->who, sizeof(*r->who), k.tasks, in) != k.tasks ||
	    fread(r->cur, sizeof(*r->cur), k.cpus, in) != k.cpus)
		return false;
	for (uint32_t i = 0; i < k.tasks; i++) {
		r->who[i].t.name[sizeof(r->who[i].t.name) - 1] = '\0';
		r->who[i].t.slots = r->who[i].t.used = 0;
		if (r->who[i].cpu >= REC_CPUS_MAX)
			return false;
	}
	for (uint32_t i = 0; i < k.cpus; i++)
		if (r->cur[i] > k.tasks)
			return false;
	r->tasks = k.tasks;
	r->cpus = k.cpus;
	r->slot_number = k.slot_number;
	r->named = k.named;
	*place = (struct rec_place){ k.piece, k.sum };
	for (size_t i = 0; i < r->lane_count; i++)
		if (!lane_go_on(r->lanes[i], in, k.tasks, k.cpus))
			return false;
	return true;
}
