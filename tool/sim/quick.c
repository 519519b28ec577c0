// SPDX-License-Identifier: BSD-2-Clause
/* Switches of one lane alone: quick.h. */
#include "sim/quick.h"

#include <string.h>

#include "sim/memo_run.h"

/*
 * What differs between records is what they are, of which there are few: their flags and what was
 * live. Where a transition is in the table: an offset from struct quick, of places of 8 bytes. Only to
 * a task that waits or is new there are any, or to the one that runs, as SAME; so what a task is doing
 * is part of the place, and nobody has to be asked about it.
 */
#define CPUS  16u
#define TASKS 16u
#define SAME  (IS_RUNNING << 16 | (TASKS - 1)) /* in place of its word: the task that ran goes on */
#define KINDS 128u
#define AT_PLACE(place) ((uint64_t)(place) * CPUS * 8)
#define AT_TASK(word)   ((uint64_t)(word) << 8) /* a task's first 32 bits */
#define AT_KIND(number) (offsetof(struct quick, table) + KIND_BYTES * (number))
#define KIND_BYTES      4096u
#define AT(q, offset, state) \
	((uint64_t *)(void *)((char *)(uintptr_t)(q) + (offset)) + (state))
_Static_assert(2 * CPUS * 8 == 1u << 8 && TASKS << 8 == KIND_BYTES, "so much for each task and kind");

/*
 * A transition: what happens to who ran, and what follows. The CPU's word is that of struct
 * machine_cpu from its delta on; the task's is that of struct machine_task.
 */
#define CPU_WORD(e)  ((uint32_t)(e))
#define TASK_WORD(e) ((uint32_t)((e) >> 32)) /* of who ran: its state, and that it waits; so never 0 */
#define OWN          MEMO_DELTAS             /* beside the delta: the registers stay those of who ran,
						or nobody's */
_Static_assert(offsetof(struct machine_cpu, state) == offsetof(struct machine_cpu, delta) + 2 &&
	       offsetof(struct machine_task, is) == 2 && !IS_RUNNING, "they are words");

struct quick {
	uint64_t nothing[KIND_BYTES / 8];
	struct kind {
		uint32_t at;   /* of a switch as there was one before; else 0 */
		uint32_t task; /* with a task behind it: a mask of all bits */
	} kinds[REC_WHAT_MOST + 1]; /* by rec_what() */
	uint32_t known[KINDS];
	unsigned count;
	uint64_t table[(AT_TASK(IS_COUNT << 16) + KIND_BYTES * KINDS) / 8]; /* few pages are used */
};
_Static_assert(offsetof(struct quick, table) + KIND_BYTES * KINDS < AT_TASK(IS_WAITING << 16),
	       "at 0, with whatever a task is doing, there is nothing");

struct quick *quick_new(void)
{
	return reserve(sizeof(struct quick));
}

void quick_free(struct quick *q)
{
	release(q, sizeof(*q));
}

void quick_forget(struct quick *q)
{
	for (unsigned i = 0; i < q->count; i++) {
		struct kind *kind = &q->kinds[q->known[i]];

		for (uint32_t is = 0; is < IS_COUNT; is++)
			memset(AT(q, AT_TASK(is << 16) + kind->at, 0), 0, KIND_BYTES);
		*kind = (struct kind){ 0 };
	}
	q->count = 0;
}

bool quick_is_small(const struct memo *m)
{
	return m->cpu_numbers.count <= CPUS && m->task_numbers.count < TASKS;
}

/* Where the restores seen are in a record's second half. */
#define HALF_SEEN_SHIFT (32 + REC_SEEN_SHIFT)

/*
 * Without branches but for what hardly ever is: what comes is as random as programs are, and so each
 * store is done, if need be of what was there. A record that is no switch has nothing in the table,
 * nor has a CPU that did not begin: false.
 */
ALWAYS_INLINE bool step(const struct quick *q, struct machine_cpu *cpus, const struct rec *rec,
			rec_halves *sum)
{
	const rec_halves added = { UINT32_MAX, (uint64_t)REC_SEEN_MAX << HALF_SEEN_SHIFT };
	struct machine_task *const tasks = machine_tasks(cpus), *t, *o;
	struct machine_cpu *const c = &cpus[rec->cpu];
	const struct kind *const kind = &q->kinds[rec_what(rec)];
	const uint64_t *at;
	uint64_t e, there, n, word, cur, owner;
	rec_halves both;
	uint32_t half;
	uint16_t last;

	if (UNLIKELY(rec->task >= REC_TASKS_MAX))
		return false;
	n = (rec->task + 1) & kind->task;
	o = &tasks[n];
	cur = c->cur;
	memcpy(&half, &o->state, sizeof(half));
	word = n == cur ? SAME : half;
	/* What is known last, of the CPU, is looked at last. */
	at = AT(q, kind->at + AT_TASK(word), 0);
	asm("" : "+r" (at));
	there = at[c->state];
	e = at[AT_PLACE(1) / 8 + c->state];
	asm("" : "+r" (there), "+r" (e));
	owner = c->owner[0];
	e = owner == n ? e : there;
	e = o->last[0] == rec->cpu || MEMO_TWIN(QUICK) ? e : there;
	if (UNLIKELY(!e) || (UNLIKELY(c->turns) && !MEMO_TWIN(TURNS)))
		return false;
	memcpy(&both, rec, sizeof(both));
	*sum += both & added;
	c->counts[c->delta]++;
	t = &tasks[cur];
	last = t->last[0];
	owner = e & OWN ? cur : owner;
	last = e & OWN ? rec->cpu : last;
	c->owner[0] = (uint32_t)owner;
	t->last[0] = last;
	half = CPU_WORD(e);
	memcpy(&c->delta, &half, sizeof(half));
	half = TASK_WORD(e);
	memcpy(&t->state, &half, sizeof(half));
	c->cur = (uint32_t)n;
	/* It runs: all of the word, for what was stored in pieces is waited for. */
	half = o->state | (MEMO_TWIN(RUNS) ? IS_WAITING << 16 : 0u);
	memcpy(&o->state, &half, sizeof(half));
	return true;
}

/* Of so many a cache line consists. */
#define LINE 4

struct rec *quick_run(const struct memo *m, struct rec *rec, const struct rec *end, uint64_t *sums)
{
	const struct quick *const q = m->quick;
	struct machine_cpu *const cpus = m->machine->cpus;
	rec_halves sum = { 0, 0 };

	for (; end - rec >= LINE; rec += LINE) {
		/* A reader that reads all of a batch before it gives it away finds the next one near. */
		__builtin_prefetch(rec + REC_AT_ONCE);
		if (!step(q, cpus, rec, &sum))
			goto out;
		if (!step(q, cpus, rec + 1, &sum)) {
			rec += 1;
			goto out;
		}
		if (!step(q, cpus, rec + 2, &sum)) {
			rec += 2;
			goto out;
		}
		if (!step(q, cpus, rec + 3, &sum)) {
			rec += 3;
			goto out;
		}
	}
	while (rec < end && step(q, cpus, rec, &sum))
		rec++;
out:
	/* Nobody runs wherever no task does. */
	m->machine->tasks[0].is = IS_WAITING;
	*sums += sum[0] + (sum[1] >> HALF_SEEN_SHIFT << SUMS_SEEN_SHIFT);
	return rec;
}

/* There is no more room for what @rec is: NULL. */
static struct kind *kind_of(struct quick *q, const struct rec *rec)
{
	struct kind *kind = &q->kinds[rec_what(rec)];

	if (kind->at)
		return kind;
	if (q->count == KINDS)
		return NULL;
	q->known[q->count++] = rec_what(rec);
	*kind = (struct kind){ .at = (uint32_t)AT_KIND(q->count - 1),
			       .task = rec->flags & REC_KERNEL ? 0 : UINT32_MAX };
	return kind;
}

/*
 * @own: do the registers stay those of who ran? Else that is still where it was last; or neither: the
 * return is false. When the memo says that it is nowhere any more, it is one of the two: where the
 * registers are nobody's it does not matter whose they are said to be, and where they are another's
 * while it was here last, they are not its own either way.
 */
static bool owns(const struct memo *m, const struct machine_cpu *c, const struct memo_entry *e,
		 bool *own)
{
	*own = e->own[0] || (c->cur && e->lost[0] && !e->others);
	return *own || !e->lost[0] || !c->cur ||
	       (memo_cpu_codes(m, c->state)->lane[0] & CPU_LAST);
}

static void learn(struct memo *m, const struct rec *rec, struct machine_cpu *c)
{
	const struct machine_task *const tasks = m->machine->tasks;
	const uint32_t n = rec->flags & REC_KERNEL ? 0 : rec->task + 1;
	const struct machine_task *t = &tasks[c->cur], *o = &tasks[n];
	const bool place = (c->owner[0] == n) & (o->last[0] == rec->cpu || MEMO_TWIN(QUICK));
	const bool same = n && n == c->cur;
	const unsigned event = (rec->flags & m->flag_mask) | (same ? MEMO_SAME : 0) |
			       (REC_IS_LIVE(rec->arg) ? m->live_mask : 0);
	const struct memo_entry *e = memo_find(m, memo_key(m, c, t, o, rec->cpu, n, event));
	const struct kind *kind;
	uint64_t *at;
	uint32_t word;
	bool own;
	int delta;

	if (!e || e->slow || !quick_is_small(m) || !owns(m, c, e, &own))
		return;
	delta = memo_delta_of_slots(m, e->delta, rec->flags, REC_LIVE_OF(rec->arg));
	kind = delta < 0 ? NULL : kind_of(m->quick, rec);
	if (!kind)
		return;
	memcpy(&word, &o->state, sizeof(word));
	at = AT(m->quick, kind->at + AT_TASK(n == c->cur ? SAME : word) + AT_PLACE(place), c->state);
	*at = (uint64_t)IS_WAITING << 48 | (uint64_t)e->task << 32 | (uint64_t)e->cpu << 16 |
	      (own ? OWN : 0) | (unsigned)delta;
	/* Nobody may look as if it ran. */
	if (!n)
		*AT(m->quick, kind->at + AT_TASK(IS_RUNNING << 16) + AT_PLACE(place), c->state) = *at;
}

/* Are there registers of another task in it? The short way has no need to know. */
static void set_other(const struct memo *m, struct machine_cpu *c)
{
	c->other = CPU_OWNER_OF(memo_cpu_codes(m, c->state)->lane[0]) == OWNER_OTHER;
}

void quick_stop(struct memo *m, const struct rec *rec)
{
	struct machine_cpu *c = &m->machine->cpus[rec->cpu < REC_CPUS_MAX ? rec->cpu : 0];
	const uint32_t n = rec->flags & REC_KERNEL ? 0 : rec->task + 1;

	set_other(m, c);
	if (rec->kind == REC_SWITCH && rec->cpu < REC_CPUS_MAX && c->state &&
	    n <= m->machine->task_count && ((m->machine->tasks[n].is & 1) || n == c->cur))
		learn(m, rec, c);
}

void quick_end(struct memo *m)
{
	for (uint32_t cpu = 0; cpu < m->machine->cpu_count; cpu++)
		set_other(m, &m->machine->cpus[cpu]);
	quick_free(m->quick);
	m->quick = NULL;
}
