// SPDX-License-Identifier: BSD-2-Clause
/* Switches of one lane alone: quick.h. */
#include "sim/quick.h"

#include <stdlib.h>
#include <string.h>

#include "sim/memo_run.h"

/*
 * What differs between records are their flags, of which there are few, and what was live. Where a
 * transition is in the table: a byte offset, of places of 8 bytes.
 */
#define CPUS  16u
#define TASKS 16u
#define SAME  (TASKS - 1) /* in place of its state: the task that ran goes on */
#define FLAGS 16u
#define AT_PLACE(place)     ((uint64_t)(place) * CPUS * 8)
#define AT_TASK(state)      ((uint64_t)(state) * 2 * CPUS * 8)
#define AT_LIVE(second)     ((second) >> (52 - 12) & (uint64_t)(SWITCHES_LIVES - 1) << 12)
#define AT_FLAGS(number)    ((uint64_t)(number) * SWITCHES_LIVES << 12)
#define AT(q, offset, state) \
	((uint64_t *)(void *)((char *)(uintptr_t)(q)->table + (offset)) + (state))
_Static_assert(2 * CPUS * TASKS * 8 == 1u << 12, "so much for each of what can be live");

/*
 * A transition: what happens to who ran, and what follows. The CPU's word is that of struct
 * machine_cpu from its delta on; the task's is that of struct machine_task, with OWN in its unused
 * byte.
 */
#define CPU_WORD(e)  ((uint32_t)(e))
#define TASK_WORD(e) ((uint32_t)((e) >> 32)) /* of who ran: its state, and that it waits; so never 0 */
#define OWN          (1ull << 63)            /* the registers stay those of who ran, or nobody's */
_Static_assert(offsetof(struct machine_cpu, state) == offsetof(struct machine_cpu, delta) + 2,
	       "they are one word");

struct quick {
	uint64_t table[AT_FLAGS(FLAGS + 1) / 8]; /* that of flags number 0 stays empty */
	struct kind {
		uint32_t at;   /* in it, of a switch with flags that were seen */
		uint32_t task; /* with a task behind it: a mask of all bits */
	} kinds[1u << 16]; /* by a record's kind and flags as they lie there */
	unsigned flags; /* how many of them */
};

struct quick *quick_new(void)
{
	struct quick *q = calloc(1, sizeof(*q));

	if (q)
		q->flags = 1;
	return q;
}

void quick_free(struct quick *q)
{
	free(q);
}

void quick_forget(struct quick *q)
{
	memset(q, 0, sizeof(*q));
	q->flags = 1;
}

bool quick_is_small(const struct memo *m)
{
	return m->cpu_numbers.count <= CPUS && m->task_numbers.count <= SAME;
}

/*
 * Without branches but for what hardly ever is: what comes is as random as programs are, and so each
 * store is done, if need be of what was there. A record that is no switch has nothing in the table,
 * nor has a CPU that did not begin. @turned: CPUs may have turns.
 */
ALWAYS_INLINE struct rec *run(const struct memo *m, struct rec *rec, const struct rec *end,
			      uint64_t *sums, bool turned)
{
	const struct quick *const q = m->quick;
	struct machine_cpu *const cpus = m->machine->cpus;
	struct machine_task *const tasks = m->machine->tasks;
	uint64_t wait_ns = 0, seen = 0;

	for (; rec < end; rec++) {
		struct machine_task *t, *o;
		struct machine_cpu *c;
		const struct kind *kind;
		const uint64_t *at;
		uint64_t second, e, there;
		uint32_t n, word, cpu, cur, owner, state;
		uint16_t last;

		/* A reader that reads all of a batch before it gives it away finds the next one near. */
		__builtin_prefetch(rec + REC_AT_ONCE);
		memcpy(&second, &rec->cpu, sizeof(second));
		cpu = (uint16_t)second;
		c = &cpus[cpu];
		kind = &q->kinds[(uint16_t)(second >> 16)];
		if (UNLIKELY(rec->task >= REC_TASKS_MAX))
			break;
		n = (rec->task + 1) & kind->task;
		o = &tasks[n];
		state = o->state;
		if (UNLIKELY(!(o->is & 1))) {
			if (n != c->cur)
				break;
			state = SAME;
		}
		/* What is known last, of the CPU, is looked at last. */
		at = AT(q, kind->at + AT_LIVE(second) + AT_TASK(state), 0);
		asm("" : "+r" (at));
		there = at[c->state];
		e = at[AT_PLACE(1) / 8 + c->state];
		asm("" : "+r" (there), "+r" (e));
		owner = c->owner[0];
		cur = c->cur;
		e = owner == n ? e : there;
		e = o->last[0] == cpu || MEMO_TWIN(QUICK) ? e : there;
		if (UNLIKELY(!e) || (turned && UNLIKELY(c->turns)))
			break;
		wait_ns += rec->wait_ns;
		seen += second >> 56;
		c->counts[c->delta]++;
		t = &tasks[cur];
		last = t->last[0];
		owner = e & OWN ? cur : owner;
		last = e & OWN ? (uint16_t)cpu : last;
		c->owner[0] = owner;
		t->last[0] = last;
		word = CPU_WORD(e);
		memcpy(&c->delta, &word, sizeof(word));
		word = TASK_WORD(e);
		memcpy(&t->state, &word, sizeof(word));
		c->cur = n;
		o->is = n ? IS_RUNNING : IS_WAITING;
	}
	*sums += wait_ns + (seen << SUMS_SEEN_SHIFT);
	return rec;
}

struct rec *quick_run(const struct memo *m, struct rec *rec, const struct rec *end, uint64_t *sums)
{
	return UNLIKELY(m->machine->turned) ? run(m, rec, end, sums, true)
					    : run(m, rec, end, sums, false);
}

/* What lies in a record as a kind and flags. */
static struct kind *kind_of(struct quick *q, const struct rec *rec)
{
	return &q->kinds[rec->kind | (unsigned)rec->flags << 8];
}

/* There is no more room for flags: false. */
static bool make_room(struct quick *q, const struct rec *rec)
{
	struct kind *kind = kind_of(q, rec);

	if (!kind->at && q->flags <= FLAGS)
		*kind = (struct kind){ .at = (uint32_t)AT_FLAGS(q->flags++),
				       .task = rec->flags & REC_KERNEL ? 0 : UINT32_MAX };
	return kind->at;
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
	uint64_t second;
	bool own;
	int delta;

	if (!e || e->slow || !quick_is_small(m) || !owns(m, c, e, &own))
		return;
	delta = memo_delta_of_slots(m, e->delta, rec->flags, REC_LIVE_OF(rec->arg));
	if (delta < 0 || !make_room(m->quick, rec))
		return;
	memcpy(&second, &rec->cpu, sizeof(second));
	*AT(m->quick, kind_of(m->quick, rec)->at + AT_LIVE(second) + AT_TASK(same ? SAME : o->state) +
	    AT_PLACE(place), c->state) =
		(own ? OWN : 0) | (uint64_t)IS_WAITING << 48 | (uint64_t)e->task << 32 |
		(uint64_t)e->cpu << 16 | (uint64_t)(unsigned)delta;
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
