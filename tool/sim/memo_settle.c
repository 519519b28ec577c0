// SPDX-License-Identifier: BSD-2-Clause
/* A memo begins and ends; its states and counts become the lanes' own, or the other way round. */
#include "sim/memo_own.h"

#include <stdlib.h>
#include <string.h>

#include "sim/quick.h"

#define FIRST_ENTRIES_SHIFT 54 /* 1024 of them */
#define ENTRIES_MOST (1u << 18)
#define DELTAS_MOST  (MEMO_DELTAS - 1)
#define STATES_MOST  65535u /* numbers have 16 bits */

/* A power of two less one, as number_of() wants it. */
static uint32_t round_most(uint32_t asked, uint32_t usual)
{
	const uint32_t most = asked && asked < usual ? asked : usual;
	uint32_t room = 16;

	while (room <= most)
		room *= 2;
	return room - 1;
}

static bool begin_numbers(struct numbers *n, size_t size, uint32_t most)
{
	n->size = (uint32_t)size;
	n->most = most;
	n->things = calloc(most, size);
	n->slots = calloc(2 * ((size_t)most + 1), sizeof(*n->slots));
	return n->things && n->slots;
}

static void free_numbers(struct numbers *n)
{
	free(n->things);
	free(n->slots);
}

/* What the trials are given, by the number of the event; of flags only what a lane looks at. */
static struct rec event_of(const struct memo *m, const struct rec *r)
{
	struct rec e = lane_event(m->lane[0], r);

	for (unsigned k = 1; k < m->lane_count; k++) {
		const struct rec more = lane_event(m->lane[k], r);

		e.flags |= more.flags;
		e.arg |= more.arg;
	}
	return e;
}

static void begin_switches(struct memo *m)
{
	const unsigned all = MEMO_FLAGS | MEMO_LIVE | MEMO_SAME;

	for (unsigned event = 0; event <= all; event++) {
		const struct rec r = { .kind = REC_SWITCH, .flags = event & MEMO_FLAGS,
				       .arg = rec_arg(event & MEMO_LIVE ? XST_MASK_SSE : 0, 0) };
		struct rec e = event_of(m, &r);

		m->flag_mask |= e.flags;
		m->live_mask |= e.arg ? MEMO_LIVE : 0;
		m->event_mask = m->flag_mask | m->live_mask | MEMO_SAME;
		e.task = event & MEMO_SAME ? 0 : 1;
		m->events[event] = e;
	}
}

static void begin_rare(struct memo *m)
{
	for (unsigned kind = REC_FORK; kind <= REC_MIGRATE; kind++)
		for (unsigned i = 0; i < 16; i++) {
			const struct rec r = { .kind = (uint8_t)kind,
					       .flags = (uint8_t)((i & 1 ? REC_USER : 0) |
								  (i & 2 ? REC_USED : 0) |
								  (i & 4 ? REC_OPEN : 0)) };
			struct rec e = event_of(m, &r);

			/* The running task is number 0, the other one 1. */
			e.task = kind == REC_MIGRATE || (kind == REC_EXIT && !(i & 8));
			e.arg = kind == REC_FORK;
			m->events[EVENT_RARE + (kind - REC_FORK) * 16 + i] = e;
		}
}

/* What a CPU's and a task's state are that just began: the engine says it. */
static bool begin_lane(struct memo *m, unsigned k, uint16_t *fresh)
{
	const struct lane_traits traits = lane_traits(m->lane[k]);
	struct rec r = { .kind = REC_TASK, .task = 0 };
	struct lane_scene scene;
	struct lane_counts n;
	uint32_t code;

	memset(&scene, 0, sizeof(scene));
	m->trial[k] = lane_trial(m->lane[k]);
	if (!m->trial[k])
		return false;
	m->row_most[k] = (uint8_t)(traits.row_most - (MEMO_TWIN(ROW) && traits.row_most));
	m->blind |= traits.blind;
	m->displaced |= (uint8_t)((traits.displaced ? 1u : 0u) << k);
	(void)lane_try(m->trial[k], &scene, &r, &n);
	r.kind = REC_SECTION;
	if (!memo_task_code(m, k, &scene.task[0], &code) ||
	    !lane_try(m->trial[k], &scene, &r, &n))
		return false;
	*fresh = (uint16_t)code;
	m->fixed_bits[k] = scene.cpu[0].bits & ~CPU_BITS_STATE;
	return true;
}

struct memo *memo_new(struct lane *const *lanes, size_t lane_count,
		      const struct memo_limits *limits, struct machine *machine)
{
	struct memo *m = aligned_alloc(_Alignof(struct memo), sizeof(*m));
	struct task_codes fresh = { { 0 } };
	const struct task_codes none = { { 0 } };
	const struct cpu_codes down = { { 0 } };
	bool ok;

	if (!m)
		return NULL;
	memset(m, 0, sizeof(*m));
	m->lane_count = (uint8_t)lane_count;
	memcpy(m->lane, lanes, lane_count * sizeof(*lanes));
	m->shift = FIRST_ENTRIES_SHIFT;
	m->entries_most = limits->entries ? limits->entries : ENTRIES_MOST;
	if (lane_count == 1 && !lane_traits(lanes[0]).blind && !lane_traits(lanes[0]).displaced)
		m->quick = quick_new();
	m->entries = aligned_alloc(64, sizeof(*m->entries) << (64 - m->shift));
	m->machine = machine ? machine : &m->own;
	ok = (machine || machine_begin(&m->own)) &&
	     begin_numbers(&m->deltas, sizeof(struct memo_delta),
			   round_most(limits->deltas, DELTAS_MOST)) &&
	     begin_numbers(&m->cpu_numbers, sizeof(struct cpu_codes),
			   round_most(limits->states, STATES_MOST)) &&
	     begin_numbers(&m->task_numbers, sizeof(struct task_codes),
			   round_most(limits->states, STATES_MOST));
	m->counts = reserve((size_t)REC_CPUS_MAX * MEMO_COUNTERS * sizeof(*m->counts));
	ok = ok && m->entries && m->counts;
	for (unsigned k = 0; ok && k < lane_count; k++)
		ok = begin_lane(m, k, &fresh.lane[k]);
	if (!ok) {
		memo_free(m);
		return NULL;
	}
	memset(m->entries, 0, sizeof(*m->entries) << (64 - m->shift));
	(void)memo_cpu_number(m, &down);
	(void)memo_task_number(m, &none);
	m->fresh = (uint16_t)memo_task_number(m, &fresh);
	/* Nobody was nowhere. */
	memset(m->machine->tasks[0].last, 0xff, sizeof(m->machine->tasks[0].last));
	begin_switches(m);
	begin_rare(m);
	return m;
}

void memo_free(struct memo *m)
{
	if (!m)
		return;
	for (unsigned k = 0; k < m->lane_count; k++)
		lane_free(m->trial[k]);
	free_numbers(&m->deltas);
	free_numbers(&m->cpu_numbers);
	free_numbers(&m->task_numbers);
	machine_end(&m->own);
	release(m->counts, (size_t)REC_CPUS_MAX * MEMO_COUNTERS * sizeof(*m->counts));
	free(m->entries);
	quick_free(m->quick);
	free(m);
}

/* A task that was last on @last, by its code. */
static void put_task(const struct memo *m, unsigned k, uint32_t task, uint32_t code, uint32_t last)
{
	const uint8_t blind = (uint8_t)(m->machine->tasks[task].blind >> 8 * k);
	const uint32_t last_cpu = last == LAST_NONE ? XST_NO_CPU : last;
	struct lane_task_state s = memo_task_state(code, blind, last_cpu, XST_NO_CPU);

	if (last != LAST_NONE) {
		const struct machine_cpu *c = &m->machine->cpus[last];
		const enum owner owner = CPU_OWNER_OF(memo_cpu_codes(m, c->state)->lane[k]);

		if ((c->dirty >> k & 1) && (owner == OWNER_CUR ? c->cur : c->owner[k]) == task)
			s.home = last;
	}
	lane_set_task(m->lane[k], task - 1, &s);
}

static void put_cpu(const struct memo *m, unsigned k, uint32_t cpu)
{
	const struct machine_cpu *c = &m->machine->cpus[cpu];
	const uint32_t x = memo_cpu_codes(m, c->state)->lane[k];
	const struct lane_cpu_state s = memo_cpu_state(m, k, x, c->cur, c->owner[k]);

	lane_set_cpu(m->lane[k], cpu, &s);
	/* While it runs the CPU's state says what it is like. */
	if (c->cur)
		put_task(m, k, c->cur, x & 0xffff,
			 x & CPU_LAST ? cpu : m->machine->tasks[c->cur].last[k]);
}

/* What the CPU counted: each delta as often as it was there. */
static void put_counts(struct memo *m, uint32_t cpu)
{
	struct machine_cpu *c = &m->machine->cpus[cpu];
	uint64_t *counts = c->counts, *switches = m->machine->switches[0];

	counts[c->delta] += !MEMO_TWIN(LATE);
	c->delta = DELTA_NONE;
	for (uint32_t d = 0; d < m->deltas.count; d++) {
		const struct memo_delta *delta =
			(const struct memo_delta *)(const void *)m->deltas.things + d;
		const uint64_t times = counts[d] + counts[d + MEMO_DELTAS];

		m->looked_up += times;
		if (delta->slot)
			switches[delta->slot - 1] += times;
		for (unsigned k = 0; times && k < m->lane_count; k++) {
			struct lane_counts n;
			uint64_t *p = (uint64_t *)&n;

			for (size_t i = 0; i < COUNTERS; i++)
				p[i] = delta->lane[k][i] * times;
			lane_add_counts(m->lane[k], cpu, &n);
		}
		counts[d] = counts[d + MEMO_DELTAS] = 0;
	}
}

void memo_settle(struct memo *m)
{
	if (m->direct)
		return;
	for (uint32_t n = 1; n <= m->machine->task_count; n++)
		for (unsigned k = 0; k < m->lane_count; k++)
			put_task(m, k, n, memo_task_codes(m, m->machine->tasks[n].state)->lane[k],
				 m->machine->tasks[n].last[k]);
	for (uint32_t cpu = 0; cpu < m->machine->cpu_count; cpu++) {
		if (!m->machine->cpus[cpu].counts || !m->machine->cpus[cpu].state)
			continue;
		for (unsigned k = 0; k < m->lane_count; k++)
			put_cpu(m, k, cpu);
		put_counts(m, cpu);
	}
}

void memo_flush(struct memo *m)
{
	memo_settle(m);
	memset(m->entries, 0, sizeof(*m->entries) << (64 - m->shift));
	memset(m->deltas.slots, 0, 2 * ((size_t)m->deltas.most + 1) * sizeof(*m->deltas.slots));
	if (m->quick)
		quick_forget(m->quick);
	m->entry_count = 0;
	m->deltas.count = 0;
	m->stats.forgotten++;
}

/* A lane's task as a code; false when it is none that comes about by itself. */
static bool get_task(struct memo *m, unsigned k, uint32_t task, uint32_t *code)
{
	struct machine_task *t = &m->machine->tasks[task];
	struct lane_task_state s;

	lane_get_task(m->lane[k], task - 1, &s);
	t->blind |= (uint64_t)s.blind << 8 * k;
	t->last[k] = s.begun && s.last_cpu < REC_CPUS_MAX ? (uint16_t)s.last_cpu : LAST_NONE;
	return memo_task_code(m, k, &s, code);
}

static bool get_cpu(struct memo *m, unsigned k, uint32_t cpu, uint32_t *code)
{
	struct machine_cpu *c = &m->machine->cpus[cpu];
	const uint8_t bit = (uint8_t)(1u << k);
	struct lane_cpu_state s;

	lane_get_cpu(m->lane[k], cpu, &s);
	if (!k && m->machine == &m->own)
		c->cur = s.cur;
	if (c->cur != s.cur)
		return false;
	c->owner[k] = s.owner;
	if (!memo_cpu_code(m, k, &s, s.owner && m->machine->tasks[s.owner].last[k] == cpu,
			   m->machine->tasks[s.cur].last[k] == cpu, code))
		return false;
	c->other |= CPU_OWNER_OF(*code) == OWNER_OTHER ? bit : 0;
	c->dirty |= CPU_BITS_OF(*code) & XST_B_DIRTY ? bit : 0;
	if (s.cur)
		*code |= memo_task_codes(m, m->machine->tasks[s.cur].state)->lane[k];
	return true;
}

/* Is every task's only copy where the CPUs say it is? */
static bool homes_are_true(const struct memo *m)
{
	for (uint32_t n = 1; n <= m->machine->task_count; n++)
		for (unsigned k = 0; k < m->lane_count; k++) {
			const uint16_t last = m->machine->tasks[n].last[k];
			const bool dirty = last != LAST_NONE &&
					   (m->machine->cpus[last].dirty >> k & 1) &&
					   m->machine->cpus[last].owner[k] == n;
			struct lane_task_state s;

			lane_get_task(m->lane[k], n - 1, &s);
			if (s.begun && s.home != (dirty ? last : XST_NO_CPU))
				return false;
		}
	return true;
}

static bool get_all(struct memo *m)
{
	for (uint32_t n = 1; n <= m->machine->task_count; n++) {
		struct task_codes codes = { { 0 } };
		int number;

		for (unsigned k = 0; k < m->lane_count; k++) {
			uint32_t code;

			if (!get_task(m, k, n, &code))
				return false;
			codes.lane[k] = (uint16_t)code;
		}
		number = memo_task_number(m, &codes);
		if (number < 0)
			return false;
		m->machine->tasks[n].state = (uint16_t)number;
	}
	for (uint32_t cpu = 0; cpu < m->machine->cpu_count; cpu++) {
		struct machine_cpu *c = &m->machine->cpus[cpu];
		struct cpu_codes codes = { { 0 } };
		int number;

		for (unsigned k = 0; k < m->lane_count; k++)
			if (!get_cpu(m, k, cpu, &codes.lane[k]))
				return false;
		number = memo_cpu_number(m, &codes);
		if (number < 0)
			return false;
		c->state = (uint16_t)number;
		c->away = 0xff;
		c->counts = NULL;
		if (number)
			memo_begin_counts(m, cpu);
	}
	return homes_are_true(m);
}

void memo_begin(struct memo *m, uint32_t tasks, uint32_t cpus)
{
	m->machine->task_count = tasks;
	m->machine->cpu_count = cpus;
	/* A file may say anything; the lanes take it as it is. */
	m->direct = !get_all(m);
	if (m->quick && !quick_is_small(m))
		quick_end(m);
}

void memo_stats(const struct memo *m, struct memo_stats *out)
{
	*out = m->stats;
	out->cpu_states = m->cpu_numbers.count;
	out->task_states = m->task_numbers.count;
	out->entries = m->entry_count;
	out->deltas = m->deltas.count;
	out->direct = m->direct;
}
