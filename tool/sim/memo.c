// SPDX-License-Identifier: BSD-2-Clause
/* Records through the table: all that is not the short path of memo_run.h. */
#include "sim/memo_run.h"

#include <string.h>

#include "sim/quick.h"

const struct memo_entry *memo_find_rest(struct memo *m, uint64_t key)
{
	const size_t mask = ((size_t)1 << (64 - m->shift)) - 1;

	size_t i = (size_t)(key * MEMO_HASH >> m->shift);

	for (; m->entries[i].key; i = (i + 1) & mask)
		if (m->entries[i].key == key)
			return &m->entries[i];
	return memo_learn(m, key, NULL);
}

/* So many blind slots are seen as another state. */
enum done memo_set_full(struct memo *m, struct machine_task *t)
{
	const int state = memo_task_full(m, t->state, t->blind);

	if (state < 0)
		return DONE_LAST;
	t->state = (uint16_t)state;
	return DONE;
}

/* Copies that are to be written by CPUs which have them: one lookup for each CPU. */
struct fetches {
	unsigned count;
	uint32_t cpu[2 * MEMO_LANES];
	uint8_t lanes[2 * MEMO_LANES];
	struct memo_entry entry[2 * MEMO_LANES];
};

static void add_fetches(struct fetches *f, const struct machine_task *t, unsigned lanes)
{
	for (; lanes; lanes &= lanes - 1) {
		const unsigned k = (unsigned)__builtin_ctz(lanes);
		unsigned i = 0;

		while (i < f->count && f->cpu[i] != t->last[k])
			i++;
		if (i == f->count) {
			f->cpu[f->count] = t->last[k];
			f->lanes[f->count++] = 0;
		}
		f->lanes[i] |= (uint8_t)(1u << k);
	}
}

static bool find_fetches(struct memo *m, struct fetches *f)
{
	for (unsigned i = 0; i < f->count; i++) {
		const uint64_t state = m->machine->cpus[f->cpu[i]].state;
		const uint64_t lanes = (uint64_t)f->lanes[i] << KEY_PLACE_SHIFT;
		const struct memo_entry *e =
			memo_find(m, state | lanes | (uint64_t)EVENT_EVICT << KEY_EVENT_SHIFT);

		if (!e)
			return false;
		f->entry[i] = *e;
	}
	return true;
}

/* The other task, when more happened to it than that it runs now. */
static void take_other(const struct memo *m, struct machine_task *o, const struct memo_entry *e)
{
	o->state = e->other;
	for (unsigned k = 0; k < m->lane_count; k++) {
		if (e->other_seen >> k & 1)
			o->blind &= ~(0xffull << 8 * k);
		if (e->other_lost >> k & 1)
			o->last[k] = LAST_NONE;
	}
}

static void begin_cpu(struct memo *m, uint32_t cpu)
{
	memo_begin_counts(m, cpu);
	if (cpu >= m->machine->cpu_count)
		m->machine->cpu_count = cpu + 1;
}

/* All that an event can do. Entries move while others are learned. */
enum done memo_take_slow(struct memo *m, uint32_t cpu, uint32_t other,
			 const struct memo_entry *entry)
{
	const struct memo_entry e = *entry;
	struct machine_cpu *cpus = m->machine->cpus, *c = &cpus[cpu];
	struct machine_task *tasks = m->machine->tasks, *t = &tasks[c->cur], *o = &tasks[other];
	struct fetches f = { .count = 0 };

	if (!c->counts)
		begin_cpu(m, cpu);
	add_fetches(&f, t, e.fetched);
	add_fetches(&f, o, e.other_fetched);
	if (!find_fetches(m, &f))
		return NOT_DONE;
	for (unsigned i = 0; i < f.count; i++) {
		struct machine_cpu *home = &cpus[f.cpu[i]];

		memo_take(home, &tasks[home->cur], f.cpu[i], &f.entry[i]);
	}
	memo_take(c, t, cpu, &e);
	if (e.slow & SLOW_OTHER)
		take_other(m, o, &e);
	if (e.next == 2)
		c->away = (uint8_t)(e.key >> KEY_AWAY_SHIFT);
	c->cur = e.next == 2 ? other : e.next == 1 ? c->cur : 0;
	return any_full(t->blind) ? memo_set_full(m, t) : DONE;
}

/* An event that is no switch. */
static unsigned rare_event(const struct rec *r, bool same)
{
	return EVENT_RARE + (unsigned)(r->kind - REC_FORK) * 16 + (same ? 8 : 0) +
	       (r->flags & REC_USER ? 1 : 0) + (r->flags & REC_USED ? 2 : 0) +
	       (r->flags & REC_OPEN ? 4 : 0);
}

static void begin_task(struct memo *m, uint32_t n)
{
	struct machine_task *t = &m->machine->tasks[n];

	t->state = m->fresh;
	t->blind = 0;
	memset(t->last, 0xff, sizeof(t->last));
	if (n > m->machine->task_count)
		m->machine->task_count = n;
}

static uint64_t key_of(const struct memo *m, uint32_t cpu, uint32_t other, unsigned event)
{
	const struct machine_task *tasks = m->machine->tasks;
	const struct machine_cpu *c = &m->machine->cpus[cpu];

	return memo_key(m, c, &tasks[c->cur], &tasks[other], cpu, other, event);
}

enum done memo_run_rare(struct memo *m, const struct rec *r)
{
	const struct memo_entry *e;
	uint32_t other = 0;
	bool same;

	if (r->kind == REC_TASK)
		begin_task(m, r->task + 1);
	/* The others have neither a CPU nor a task. */
	if (r->kind < REC_FORK || r->kind > REC_MIGRATE)
		return DONE;
	same = m->machine->cpus[r->cpu].cur == r->task + 1;
	if (r->kind == REC_FORK)
		other = r->arg + 1;
	else if (r->kind == REC_MIGRATE || (r->kind == REC_EXIT && !same))
		other = r->task + 1;
	e = memo_find(m, key_of(m, r->cpu, other, rare_event(r, same)));
	return e ? memo_take_slow(m, r->cpu, other, e) : NOT_DONE;
}

/* To itself, where its blind slots are as many as can be but one or two. */
enum done memo_run_once(struct memo *m, uint32_t cpu, uint32_t other, uint64_t key)
{
	const uint64_t blind = m->machine->tasks[other].blind;
	const struct memo_entry *e = memo_learn(m, key, &blind);

	return e ? memo_take_slow(m, cpu, other, e) : NOT_DONE;
}

/* One record, by whichever path is open. */
static enum done run_one(struct memo *m, const struct rec *r, memo_step step)
{
	const uint32_t cpu = MEMO_CPU(step), n = MEMO_NEXT(step);
	struct machine_cpu *c = &m->machine->cpus[cpu];
	struct machine_task *t = &m->machine->tasks[c->cur], *o = &m->machine->tasks[n];
	unsigned event;

	if (MEMO_KIND(step) != REC_SWITCH)
		return memo_run_rare(m, r);
	event = MEMO_EVENT(step) & m->event_mask;
	return memo_run_switch(m, c, t, o, cpu, n, event);
}

/* The lanes go on by themselves: with @r, if it was not done. */
static void go_direct(struct memo *m, const struct rec *r, memo_step step)
{
	struct machine_cpu *c;

	memo_settle(m);
	m->direct = true;
	for (unsigned k = 0; r && k < m->lane_count; k++)
		lane_run(m->lane[k], r, 1);
	if (!r || (r->kind != REC_SWITCH && r->kind != REC_EXIT))
		return;
	c = &m->machine->cpus[r->cpu];
	if (r->kind == REC_SWITCH)
		c->cur = MEMO_NEXT(step);
	else if (c->cur == r->task + 1)
		c->cur = 0;
}

bool memo_again(struct memo *m, const struct rec *r, memo_step step, enum done done)
{
	/* Transitions can be learned again, unless there is no end to it; states stay too many. */
	if (done == NOT_DONE && memo_is_full(m)) {
		memo_flush(m);
		if (m->stats.tried < PATIENCE || m->looked_up / WORTH > m->stats.tried)
			done = run_one(m, r, step);
	}
	if (done != DONE) {
		go_direct(m, done == NOT_DONE ? r : NULL, step);
		return false;
	}
	if (!m->quick || quick_is_small(m))
		return true;
	quick_end(m);
	return false;
}

void memo_run(struct memo *m, const struct rec *recs, const memo_step *steps, size_t count)
{
	size_t i = 0;

	for (; !m->direct && i < count; i++) {
		const enum done done = run_one(m, &recs[i], steps[i]);

		if (UNLIKELY(done != DONE))
			(void)memo_again(m, &recs[i], steps[i], done);
	}
	for (unsigned k = 0; m->direct && k < m->lane_count; k++)
		lane_run(m->lane[k], recs + i, count - i);
}
