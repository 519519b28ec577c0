// SPDX-License-Identifier: BSD-2-Clause
/*
 * What is remembered of the engine is what it does: machines at random, with every kind of record,
 * under all policies that have a name, composed ones and hypotheses, once with the engine for every
 * record and once with a memo, in pieces and with little room for it. Every counter of every CPU
 * must be the same, and where the tasks' registers are. Then machines with one impossible switch in
 * the middle: both must refuse that one, and say the same of it.
 *
 * t_memo [SEED] runs them; t_memo --twin NAME [SEED] wants a difference, for something is broken in
 * the memo.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <xst/policy.h>

#include "sim/memo_own.h"
#include "sim/replay.h"

#define TASKS   10u
#define CPUS    5u
#define LANES   18u
#define RECORDS 9000u
#define ROUNDS  18u
#define REFUSED 60u

/* xst_policy_at(): they go the quick way, with and without a look at what is live. */
#define DEFERRED 5u
#define AUTO     7u

enum memo_twin memo_twin = MEMO_TWIN_NONE;

static const char *const twins[MEMO_TWINS_COUNT] = { "none", "place", "away", "left", "full", "row",
						     "lost", "same", "quick", "slot", "runs", "turns",
						     "late" };

static uint64_t state;

static uint32_t draw(uint32_t below)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)(((z ^ z >> 31) >> 32) * below >> 32);
}

static bool chance(uint32_t percent)
{
	return draw(100) < percent;
}

/* A machine that makes records. */
struct maker {
	struct rec *recs;
	size_t count;
	bool alive[TASKS];
	uint32_t cur[CPUS]; /* plus 1 */
	uint32_t cpus, use, rare, again, idle; /* percent of the phase */
};

static void put(struct maker *m, struct rec r)
{
	r.wait_ns = r.kind == REC_NAME ? r.wait_ns : draw(5000);
	m->recs[m->count++] = r;
}

static bool runs(const struct maker *m, uint32_t task)
{
	for (uint32_t i = 0; i < m->cpus; i++)
		if (m->cur[i] == task + 1)
			return true;
	return false;
}

/* A new task; TASKS when there are enough. */
static uint32_t begin_task(struct maker *m)
{
	struct rec name;
	uint32_t n = 0;

	while (n < TASKS && m->alive[n])
		n++;
	if (n == TASKS)
		return n;
	m->alive[n] = true;
	put(m, (struct rec){ .kind = REC_TASK, .task = n, .arg = 100 + n });
	rec_name_put(&name, "random");
	put(m, name);
	return n;
}

static uint8_t user_flags(const struct maker *m)
{
	static const uint8_t beside[] = { 0, REC_ASSUMED, REC_DIGEST, REC_BLOCKED };

	if (chance(7))
		return beside[draw(4)];
	return (uint8_t)(REC_USER | (chance(m->use) ? REC_USED : 0) | beside[draw(4)]);
}

static void put_switch(struct maker *m, uint32_t cpu)
{
	static const uint64_t live[] = { 0, XST_MASK_SSE, XST_MASK_X87, XST_MASK_SSE | XST_MASK(2),
					 XST_MASK_AVX512, XST_MASK_AMX };
	struct rec r = { .kind = REC_SWITCH, .cpu = (uint16_t)cpu, .task = draw(TASKS) };

	if (m->cur[cpu]) {
		r.flags = user_flags(m);
		r.arg = rec_arg(live[draw(6)], draw(3));
	}
	if (m->cur[cpu] && chance(m->again))
		r.task = m->cur[cpu] - 1;
	if (chance(m->idle) || !m->alive[r.task] || (runs(m, r.task) && m->cur[cpu] != r.task + 1))
		r.flags |= REC_KERNEL;
	m->cur[cpu] = r.flags & REC_KERNEL ? 0 : r.task + 1;
	put(m, r);
}

static void put_rare(struct maker *m, uint32_t cpu)
{
	struct rec r = { .cpu = (uint16_t)cpu, .kind = (uint8_t)(REC_FORK + draw(10)) };

	r.task = m->cur[cpu] ? m->cur[cpu] - 1 : draw(TASKS);
	switch (r.kind) {
	case REC_FORK:
		if (!m->cur[cpu] || (r.arg = begin_task(m)) == TASKS)
			return;
		r.flags = chance(90) ? REC_USER : 0;
		break;
	case REC_EXEC:
		r.flags = user_flags(m);
		if (!m->cur[cpu])
			return;
		break;
	case REC_EXIT:
		if (!m->cur[cpu] && (!m->alive[r.task] || runs(m, r.task)))
			return;
		r.flags = m->cur[cpu] ? user_flags(m) : 0;
		m->alive[r.task] = false;
		m->cur[cpu] = 0;
		break;
	case REC_SIGNAL:
		r.flags = chance(40) ? REC_OPEN : REC_ASSUMED;
		/* fall through */
	case REC_SIGRETURN:
		if (!m->cur[cpu])
			return;
		break;
	case REC_SECTION:
		r.flags = m->cur[cpu] && chance(50) ? REC_USER : 0;
		break;
	case REC_MIGRATE:
		r.task = draw(TASKS);
		r.arg = draw(m->cpus);
		if (!m->alive[r.task] || runs(m, r.task))
			return;
		break;
	case REC_TASK:
		(void)begin_task(m);
		return;
	case REC_NAME:
		r.kind = REC_LOST;
		r.arg = 1 + draw(3);
		break;
	default:
		break;
	}
	put(m, r);
}

/* What a machine does for a while. Blind slots come from long rows of slots of few tasks. */
static void new_phase(struct maker *m)
{
	static const uint32_t use[] = { 100, 100, 97, 60, 20, 0 };

	m->use = use[draw(6)];
	m->rare = chance(60) ? 0 : draw(30);
	m->again = chance(30) ? 95 : draw(20);
	m->idle = chance(50) ? 0 : draw(40);
}

static void make(struct maker *m)
{
	size_t phase = 0;

	memset(m->alive, 0, sizeof(m->alive));
	memset(m->cur, 0, sizeof(m->cur));
	m->count = 0;
	m->cpus = 1 + draw(CPUS);
	while (m->count < RECORDS) {
		const uint32_t cpu = draw(m->cpus);

		if (m->count >= phase) {
			new_phase(m);
			phase = m->count + 100 + draw(2000);
		}
		if (chance(m->rare) || !m->count)
			put_rare(m, cpu);
		else
			put_switch(m, cpu);
	}
}

/* Policies by name, then composed ones, each with or without a hypothesis. */
static void choose(unsigned i, struct xst_policy *policy, struct lane_extra *extra)
{
	*extra = (struct lane_extra){ .move = chance(30) ? LANE_MARK : LANE_FETCH,
				      .clear_on_block = chance(30) };
	*policy = *xst_policy_at(i % XST_POLICY_COUNT);
	while (i >= XST_POLICY_COUNT) {
		*policy = (struct xst_policy){ .name = "composed", .save = (enum xst_save)draw(2),
					       .load = (enum xst_load)draw(3),
					       .keep_owner = draw(2),
					       .preload_after = (uint8_t)(draw(3) * draw(4)),
					       .skip_init = draw(2) };
		if (chance(5))
			policy->preload_after = 255;
		if (!xst_policy_check(policy, NULL))
			return;
	}
}

struct side {
	struct lane *lanes[LANES];
	struct replay *replay;
};

/* How many lanes, and which slots used the registers; of one round. */
static unsigned lanes;
static struct sim_use use;

static void begin_side(struct side *s, const struct xst_policy *policies,
		       const struct lane_extra *extras, const struct memo_limits *limits)
{
	for (unsigned i = 0; i < lanes; i++)
		s->lanes[i] = lane_new(&policies[i], &extras[i], false);
	s->replay = replay_new(&use, s->lanes, lanes, limits);
	if (!s->replay)
		abort();
}

/* What became of the memos, in which the test would compare nothing with itself. */
struct fate {
	unsigned memos, direct;
	uint64_t tried, forgotten;
};

static void add_fate(const struct side *s, struct fate *fate)
{
	const struct memo *m;
	struct memo_stats stats;

	for (size_t i = 0; (m = replay_memo(s->replay, i)); i++) {
		memo_stats(m, &stats);
		fate->memos++;
		fate->direct += stats.direct;
		fate->tried += stats.tried;
		fate->forgotten += stats.forgotten;
	}
}

/* What a side has come to, piece by piece. */
struct sum {
	struct lane_counts lanes[LANES][CPUS];
	struct sim_totals n;
};

static void end_side(struct side *s, struct sum *sum)
{
	struct sim_totals n;
	bool more;

	(void)replay_end(s->replay, &n, &more);
	sim_totals_add(&sum->n, &n);
	for (unsigned i = 0; i < lanes; i++)
		for (unsigned cpu = 0; cpu < CPUS; cpu++) {
			struct lane_counts c;

			lane_counts(s->lanes[i], cpu, &c);
			lane_counts_add(&sum->lanes[i][cpu], &c);
		}
}

static void free_side(struct side *s)
{
	for (unsigned i = 0; i < lanes; i++)
		lane_free(s->lanes[i]);
	replay_free(s->replay);
}

/* The records, in batches of any size. */
static void feed(struct side *s, const struct rec *recs, size_t count)
{
	static struct rec batch[2000];

	while (count) {
		const size_t part = 1 + draw(count < 2000 ? (uint32_t)count : 2000);

		memcpy(batch, recs, part * sizeof(*batch));
		if (replay_batch(s->replay, batch, part)) {
			uint64_t number;
			const char *why = replay_why(s->replay, &number);

			printf("refused: record %llu: %s\n", (unsigned long long)number, why);
			abort();
		}
		recs += part;
		count -= part;
	}
}

/* What goes on is kept and taken up by a new machine. */
static void hand_over(struct side *s, const struct xst_policy *policies,
		      const struct lane_extra *extras, const struct memo_limits *limits,
		      struct sum *sum)
{
	FILE *f = tmpfile();
	struct rec_place place = { 0 };
	struct side next;

	if (!f || !replay_keep(s->replay, f, &place, 7))
		abort();
	end_side(s, sum);
	free_side(s);
	rewind(f);
	begin_side(&next, policies, extras, limits);
	if (replay_go_on(next.replay, f, &place, 7))
		abort();
	fclose(f);
	*s = next;
}

/* The lanes' own states say the same, but for what decides nothing. */
static unsigned compare_states(const struct side *a, const struct side *b, unsigned i)
{
	const uint8_t most = lane_traits(a->lanes[i]).row_most;
	unsigned bad = 0;

	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		struct lane_cpu_state x, y;

		lane_get_cpu(a->lanes[i], cpu, &x);
		lane_get_cpu(b->lanes[i], cpu, &y);
		bad += x.bits != y.bits || x.cur != y.cur || x.slot != y.slot ||
		       x.kernel_owns != y.kernel_owns || x.xinuse != y.xinuse || x.begun != y.begun;
	}
	for (unsigned n = 0; n < TASKS; n++) {
		struct lane_task_state x, y;

		lane_get_task(a->lanes[i], n, &x);
		lane_get_task(b->lanes[i], n, &y);
		x.use_row = x.use_row < most ? x.use_row : most;
		y.use_row = y.use_row < most ? y.use_row : most;
		bad += x.begun != y.begun || x.home != y.home || x.blind != y.blind ||
		       x.xstate_bv != y.xstate_bv || x.use_row != y.use_row;
	}
	return bad;
}

/* How many kinds of slots and records differ; a trace in pieces is one trace for each of them. */
static unsigned compare_totals(struct sim_totals a, struct sim_totals b)
{
	unsigned bad = 0;

	a.traces = b.traces;
#define X(name)                                                                                    \
	if (a.name != b.name && bad++ < 5)                                                         \
		printf(#name ": %llu, remembered %llu\n", (unsigned long long)a.name,              \
		       (unsigned long long)b.name);
	SIM_TOTALS(X)
	SIM_TOTALS_NEW(X)
#undef X
	return bad;
}

static unsigned compare(const struct side *a, const struct side *b, const struct sum *x,
			const struct sum *y)
{
	unsigned bad = compare_totals(x->n, y->n);

	for (unsigned i = 0; i < lanes; i++) {
		const unsigned states = compare_states(a, b, i);

		for (unsigned cpu = 0; cpu < CPUS; cpu++) {
			const uint64_t *p = (const uint64_t *)&x->lanes[i][cpu];
			const uint64_t *q = (const uint64_t *)&y->lanes[i][cpu];

			for (size_t k = 0; k < COUNTERS; k++)
				if (p[k] != q[k] && bad++ < 5)
					printf("lane %u, CPU %u: counter %zu is %llu, remembered %llu\n",
					       i, cpu, k, (unsigned long long)p[k],
					       (unsigned long long)q[k]);
		}
		if (states && bad < 5)
			printf("lane %u: %u states differ\n", i, states);
		bad += states;
	}
	return bad;
}

/* One machine; how much differs. */
static unsigned round_of(struct maker *m, unsigned number, const struct memo_limits *limit,
			 struct fate *fate)
{
	static struct sum sums[2];
	struct xst_policy policies[LANES];
	struct lane_extra extras[LANES];
	struct side direct, memo;
	unsigned bad;
	size_t cut;

	make(m);
	/* A lane alone goes another way than many. */
	lanes = number % 2 ? LANES : number % 4 ? 1 + draw(LANES) : 1;
	use = (struct sim_use){ .kind = number % 4 == 0 || chance(60) ? SIM_USE_LIVE : SIM_USE_SHARE,
				.p = 0.7, .seed = draw(9) };
	for (unsigned i = 0; i < lanes; i++)
		choose(number == 0 ? DEFERRED : number == 4 ? AUTO : lanes == 1 ? draw(LANES) : i,
		       &policies[i], &extras[i]);
	memset(sums, 0, sizeof(sums));
	begin_side(&direct, policies, extras, NULL);
	begin_side(&memo, policies, extras, limit);
	feed(&direct, m->recs, m->count);
	cut = draw((uint32_t)m->count);
	feed(&memo, m->recs, cut);
	if (number % 3)
		hand_over(&memo, policies, extras, limit, &sums[1]);
	feed(&memo, m->recs + cut, m->count - cut);
	end_side(&direct, &sums[0]);
	end_side(&memo, &sums[1]);
	add_fate(&memo, fate);
	bad = compare(&direct, &memo, &sums[0], &sums[1]);
	free_side(&direct);
	free_side(&memo);
	return bad;
}

/* Who runs and who is there behind the first @count records. */
static void find_state(struct maker *m, size_t count)
{
	memset(m->alive, 0, sizeof(m->alive));
	memset(m->cur, 0, sizeof(m->cur));
	for (const struct rec *r = m->recs; r < m->recs + count; r++)
		if (r->kind == REC_SWITCH)
			m->cur[r->cpu] = r->flags & REC_KERNEL ? 0 : r->task + 1;
		else if (r->kind == REC_EXIT && m->cur[r->cpu] == r->task + 1)
			m->cur[r->cpu] = 0;
	for (const struct rec *r = m->recs; r < m->recs + count; r++)
		if (r->kind == REC_TASK || r->kind == REC_EXIT)
			m->alive[r->task] = r->kind == REC_TASK;
}

/* A switch that no machine makes there. False: this machine has no room for that one. */
static bool make_impossible(const struct maker *m, struct rec *r)
{
	const uint32_t cpu = draw(m->cpus), other = draw(m->cpus), n = draw(TASKS);
	const uint8_t user = REC_USER | REC_USED | REC_DIGEST;

	*r = (struct rec){ .kind = REC_SWITCH, .cpu = (uint16_t)cpu, .flags = m->cur[cpu] ? user : 0,
			   .arg = rec_arg(XST_MASK_SSE, 0) };
	switch (draw(7)) {
	case 0:
	case 1:
		r->task = m->cur[other] - 1;
		return other != cpu && m->cur[other];
	case 2:
		r->task = n;
		return !m->alive[n];
	case 3:
		r->task = TASKS + draw(9);
		return true;
	case 4:
		r->task = (uint32_t)REC_TASKS_MAX << draw(12) | draw(2) * n;
		return true;
	case 5:
		r->cpu = (uint16_t)(REC_CPUS_MAX << draw(4) | cpu);
		r->flags = REC_KERNEL;
		return true;
	default:
		r->flags = REC_KERNEL | user;
		return !m->cur[cpu];
	}
}

/* Which record is refused, with the reason; "" when none is. */
static const char *find_refused(struct side *s, const struct maker *m, uint64_t *number)
{
	static struct rec batch[512];
	size_t count;

	for (size_t i = 0; i < m->count; i += count) {
		count = m->count - i < 512 ? m->count - i : 512;
		memcpy(batch, m->recs + i, count * sizeof(*batch));
		if (replay_batch(s->replay, batch, count))
			return replay_why(s->replay, number);
	}
	*number = 0;
	return "";
}

static unsigned refuse(struct maker *m)
{
	struct xst_policy policy = *xst_policy_at(draw(XST_POLICY_COUNT));
	const struct lane_extra extra = { LANE_FETCH, false };
	const struct memo_limits usual = { 0 };
	struct side direct, memo;
	const char *why, *also;
	uint64_t number, same;
	struct rec bad;
	size_t at;

	do {
		make(m);
		at = m->count / 2 + draw((uint32_t)m->count / 2);
		find_state(m, at);
	} while (!make_impossible(m, &bad));
	memmove(m->recs + at + 1, m->recs + at, (m->count++ - at) * sizeof(*m->recs));
	m->recs[at] = bad;
	lanes = 1;
	use = (struct sim_use){ .kind = SIM_USE_LIVE };
	begin_side(&direct, &policy, &extra, NULL);
	begin_side(&memo, &policy, &extra, &usual);
	why = find_refused(&direct, m, &number);
	also = find_refused(&memo, m, &same);
	free_side(&direct);
	free_side(&memo);
	if (number == at + 1 && same == number && !strcmp(why, also))
		return 0;
	printf("record %zu is impossible; refused are %llu, %s, and %llu, %s\n", at + 1,
	       (unsigned long long)number, why, (unsigned long long)same, also);
	return 1;
}

int main(int argc, char **argv)
{
	const bool twin = argc > 2 && !strcmp(argv[1], "--twin");
	const char *seed = argc > (twin ? 3 : 1) ? argv[twin ? 3 : 1] : NULL;
	/* As it is used; so little that it is learned anew; so few states that lanes give up. */
	static const struct memo_limits limits[] = { { 0 }, { .entries = 64, .deltas = 40 },
						     { .states = 60 } };
	struct fate fates[3] = { { 0 } };
	struct maker m;
	unsigned bad = 0;

	state = seed ? strtoull(seed, NULL, 0) : (uint64_t)time(NULL);
	for (int i = 0; twin && i < MEMO_TWINS_COUNT; i++)
		if (!strcmp(argv[2], twins[i]))
			memo_twin = (enum memo_twin)i;
	printf("seed %llu\n", (unsigned long long)state);
	/* A fork is two records more, and what is impossible one. */
	m.recs = calloc(RECORDS + 9, sizeof(*m.recs));
	if (!m.recs || (twin && memo_twin == MEMO_TWIN_NONE))
		return 2;
	for (unsigned i = 0; i < ROUNDS && !(twin && bad); i++)
		bad += round_of(&m, i, &limits[i % 3], &fates[i % 3]);
	for (unsigned i = 0; i < REFUSED && !(twin && bad); i++)
		bad += refuse(&m);
	free(m.recs);
	for (int i = 0; i < 3; i++)
		printf("%u memos tried %llu transitions, forgot all %llu times, %u gave up\n",
		       fates[i].memos, (unsigned long long)fates[i].tried,
		       (unsigned long long)fates[i].forgotten, fates[i].direct);
	printf("%u differences%s\n", bad, twin ? ", wanted" : "");
	if (twin)
		return !bad;
	return bad || fates[0].direct || !fates[0].tried || !fates[1].forgotten || !fates[2].direct;
}
