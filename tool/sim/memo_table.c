// SPDX-License-Identifier: BSD-2-Clause
/* Transitions: tried by the engine on a small machine, told in terms of states, and remembered. */
#include "sim/memo_own.h"

#include <stdlib.h>
#include <string.h>

#include <xst/kernel.h>

#define ELSEWHERE SCENE_CPUS /* a CPU that is none of the scene's */
#define INITIAL   (XST_NEED_X87 | XST_NEED_MXCSR)
_Static_assert(XST_B_LIVE == 1u << 9 && XST_B_SLOT == 1u << 15, "the state is these seven bits");

static uint64_t hash_of(const uint8_t *p, size_t size)
{
	uint64_t h = 0x9e3779b97f4a7c15u;

	for (size_t i = 0; i < size; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h ^ h >> 29;
}

/* The number of @thing, a new one if need be; -1 when there are enough. */
static int number_of(struct numbers *n, const void *thing)
{
	const uint32_t mask = 2 * (n->most + 1) - 1;
	uint32_t i = (uint32_t)hash_of(thing, n->size) & mask;

	for (; n->slots[i]; i = (i + 1) & mask)
		if (!memcmp(n->things + (size_t)(n->slots[i] - 1) * n->size, thing, n->size))
			return (int)n->slots[i] - 1;
	if (n->count == n->most)
		return -1;
	memcpy(n->things + (size_t)n->count * n->size, thing, n->size);
	n->slots[i] = ++n->count;
	return (int)n->count - 1;
}

int memo_cpu_number(struct memo *m, const struct cpu_codes *codes)
{
	return number_of(&m->cpu_numbers, codes);
}

int memo_task_number(struct memo *m, const struct task_codes *codes)
{
	return number_of(&m->task_numbers, codes);
}

const struct cpu_codes *memo_cpu_codes(const struct memo *m, unsigned number)
{
	return (const struct cpu_codes *)(const void *)m->cpu_numbers.things + number;
}

const struct task_codes *memo_task_codes(const struct memo *m, unsigned number)
{
	return (const struct task_codes *)(const void *)m->task_numbers.things + number;
}

int memo_task_full(struct memo *m, unsigned number, uint64_t blind)
{
	struct task_codes codes = *memo_task_codes(m, number);

	for (unsigned k = 0; k < m->lane_count; k++) {
		const bool full = (blind >> 8 * k & 0xff) == BLIND_FULL && !MEMO_TWIN(FULL);

		codes.lane[k] = (uint16_t)((codes.lane[k] & ~TASK_FULL) | (full ? TASK_FULL : 0));
	}
	return memo_task_number(m, &codes);
}

struct lane_task_state memo_task_state(uint32_t code, unsigned blind, uint32_t last, uint32_t home)
{
	return (struct lane_task_state){
		.begun = code & TASK_BEGUN, .xstate_bv = code & TASK_LIVE ? XST_MASK_SSE : 0,
		.use_row = (uint8_t)TASK_ROW_OF(code), .blind = (uint8_t)blind, .last_cpu = last,
		.home = home, .pkru = XST_PKRU_DEFAULT,
	};
}

bool memo_task_code(const struct memo *m, unsigned k, const struct lane_task_state *s,
		    uint32_t *code)
{
	const uint8_t most = m->row_most[k];

	*code = 0;
	if (!s->begun)
		return true;
	*code = TASK_BEGUN | (s->xstate_bv ? TASK_LIVE : 0) |
		(s->blind == BLIND_FULL ? TASK_FULL : 0) |
		TASK_ROW(s->use_row < most ? s->use_row : most);
	return !s->fault && s->pkru == XST_PKRU_DEFAULT && !(s->xstate_bv & ~XST_MASK_SSE);
}

struct lane_cpu_state memo_cpu_state(const struct memo *m, unsigned k, uint32_t code, uint32_t cur,
				     uint32_t other)
{
	const enum owner owner = CPU_OWNER_OF(code);

	if (!(code & CPU_BEGUN))
		return (struct lane_cpu_state){ 0 };
	return (struct lane_cpu_state){
		.begun = 1, .bits = m->fixed_bits[k] | CPU_BITS_OF(code),
		.slot = code >> CPU_SLOT_SHIFT & CPU_SLOT_MASK,
		.xinuse = code & CPU_LIVE ? XST_MASK_SSE : 0,
		.in_place = code & CPU_INITIAL ? INITIAL : 0, .cur = cur,
		.kernel_owns = owner == OWNER_KERNEL,
		.owner = owner == OWNER_CUR ? cur : owner == OWNER_OTHER ? other : 0,
	};
}

bool memo_cpu_code(const struct memo *m, unsigned k, const struct lane_cpu_state *s,
		   bool owner_was_here, bool cur_was_here, uint32_t *code)
{
	enum owner owner = OWNER_NONE;

	*code = 0;
	if (!s->begun)
		return !s->cur;
	if (s->kernel_owns)
		owner = OWNER_KERNEL;
	else if (s->owner && owner_was_here)
		owner = s->owner == s->cur ? OWNER_CUR : OWNER_OTHER;
	*code = (s->bits & CPU_BITS_STATE) >> 9 << CPU_BITS_SHIFT | CPU_BEGUN |
		(uint32_t)s->slot << CPU_SLOT_SHIFT | (uint32_t)owner << CPU_OWNER_SHIFT |
		(s->xinuse ? CPU_LIVE : 0) | (s->in_place ? CPU_INITIAL : 0) |
		(s->cur && cur_was_here ? CPU_LAST : 0);
	return (s->bits & ~CPU_BITS_STATE) == m->fixed_bits[k] && s->slot <= CPU_SLOT_MASK &&
	       !(s->xinuse & ~XST_MASK_SSE) && (!s->in_place || s->in_place == INITIAL) &&
	       (!(s->bits & XST_B_DIRTY) || owner == OWNER_CUR || owner == OWNER_OTHER);
}

int memo_delta_of_slots(struct memo *m, unsigned number, unsigned flags, unsigned live)
{
	struct memo_delta delta =
		((const struct memo_delta *)(const void *)m->deltas.things)[number];

	delta.slot = (uint16_t)(flags * SWITCHES_LIVES + (MEMO_TWIN(SLOT) ? 0 : live) + 1);
	return number_of(&m->deltas, &delta);
}

/* A key taken apart, for one lane. */
struct trial {
	struct memo *m;
	unsigned lane, event;
	uint32_t cpu, other; /* codes; no other: 0 */
	bool place, away, left;
	unsigned blind;      /* of who runs */
	bool remembered, same;
	/* what came of it */
	struct lane_scene before, after;
};

/* Another CPU, which may have @task's only copy. */
static struct lane_cpu_state home_of(const struct trial *t, bool away, uint32_t task)
{
	return (struct lane_cpu_state){
		.begun = 1, .bits = t->m->fixed_bits[t->lane] | (away ? XST_B_DIRTY : 0),
		.owner = away ? task + 1 : 0,
	};
}

static void set_scene(struct trial *t)
{
	struct lane_scene *s = &t->before;
	const uint32_t x = t->cpu;
	const enum owner owner = CPU_OWNER_OF(x);
	const bool dirty = CPU_BITS_OF(x) & XST_B_DIRTY, theirs = owner == OWNER_OTHER && !t->place;

	s->cpu[0] = memo_cpu_state(t->m, t->lane, x, x & TASK_BEGUN ? 1 : 0, theirs ? 3 : 2);
	s->cpu[1] = home_of(t, t->left, 0);
	s->cpu[2] = home_of(t, t->away, 1);
	s->task[0] = memo_task_state(x & 0xffff, t->blind,
				     x & CPU_LAST ? 0 : t->left ? 1 : ELSEWHERE,
				     owner == OWNER_CUR && dirty ? 0 : t->left ? 1 : XST_NO_CPU);
	s->task[1] = memo_task_state(t->other, t->other & TASK_FULL ? BLIND_FULL : BLIND_SAMPLE,
				     t->place ? 0 : t->away ? 2 : ELSEWHERE,
				     t->place && dirty ? 0 : t->away ? 2 : XST_NO_CPU);
	s->task[2] = memo_task_state(TASK_BEGUN, BLIND_SAMPLE, theirs ? 0 : ELSEWHERE,
				     theirs && dirty ? 0 : XST_NO_CPU);
}

/* Is task @i's only copy where the code will say it is? */
static bool home_is_told(const struct trial *t, unsigned i)
{
	const struct lane_cpu_state *here = &t->after.cpu[0], *there = &t->after.cpu[1 + i];
	const struct lane_task_state *s = &t->after.task[i];
	uint32_t home = XST_NO_CPU;

	if ((here->bits & XST_B_DIRTY) && here->owner == i + 1)
		home = 0;
	else if (i < 2 && (there->bits & XST_B_DIRTY))
		home = 1 + i;
	return !s->begun || (s->home == home && (home == XST_NO_CPU || s->last_cpu == home));
}

static bool was_here(const struct trial *t, uint32_t task)
{
	return task && t->after.task[task - 1].last_cpu == 0;
}

/* What became of how often the running task was blind. */
static bool learn_blind(const struct trial *t, struct memo_entry *e)
{
	const unsigned was = t->before.task[0].blind, is = t->after.task[0].blind;
	const bool same = is == was, more = is == was + 1, stays = t->after.cpu[0].cur == 1;
	const unsigned at = 8 * t->lane;

	/* It may be full then, and what the CPU's state says of it be wrong. */
	if (more && t->remembered && stays && !t->same)
		return false;
	if (t->remembered) {
		e->blind_keep |= (uint64_t)(same || more ? 0xff : 0) << at;
		e->blind_add |= (uint64_t)more << at;
		return same || more || !is;
	}
	e->blind_add |= (uint64_t)is << at;
	return true;
}

/* Who ran: whose the registers are now, and where it was last. */
static bool learn_cur(const struct trial *t, struct memo_entry *e)
{
	const struct lane_task_state *was = &t->before.task[0], *is = &t->after.task[0];
	const struct lane_cpu_state *cpu = &t->after.cpu[0];
	const bool stays = cpu->cur == 1, own = cpu->owner == 1 && was_here(t, 1) && !stays;

	if (!was->begun) {
		e->lost[t->lane] = 0xff;
		return !is->begun && !own;
	}
	e->own[t->lane] = own ? 0xffff : 0;
	if ((is->last_cpu == XST_NO_CPU || (is->last_cpu == 0 && !stays && !own)) &&
	    !MEMO_TWIN(LOST))
		e->lost[t->lane] = 0xff;
	return (is->last_cpu == XST_NO_CPU || is->last_cpu == 0 || is->last_cpu == was->last_cpu) &&
	       home_is_told(t, 0) && learn_blind(t, e);
}

/* The other task, if there is one. */
static bool learn_other(const struct trial *t, struct memo_entry *e)
{
	const struct lane_task_state *was = &t->before.task[1], *is = &t->after.task[1];
	const struct lane_cpu_state *cpu = &t->after.cpu[0];
	const bool runs = cpu->cur == 2, own = cpu->owner == 2 && was_here(t, 2);
	const uint8_t bit = (uint8_t)(1u << t->lane);

	if (!was->begun)
		return !is->begun && !own;
	if (is->last_cpu == XST_NO_CPU || (is->last_cpu == 0 && !runs && !own))
		e->other_lost |= bit;
	if (is->blind != was->blind)
		e->other_seen |= bit;
	if (e->other_lost | e->other_seen)
		e->slow |= SLOW_OTHER;
	/* It owns without running only what it owned before. */
	if (!runs && !t->place && (own || is->last_cpu == 0))
		return false;
	return (is->last_cpu == XST_NO_CPU || is->last_cpu == 0 || is->last_cpu == was->last_cpu) &&
	       (is->blind == was->blind || !is->blind) && home_is_told(t, 1);
}

/* Whoever else may be displaced, and nothing more. */
static bool rest_is_same(const struct trial *t)
{
	const struct lane_task_state *was = &t->before.task[2], *is = &t->after.task[2];

	return was->last_cpu == is->last_cpu && was->use_row == is->use_row &&
	       was->blind == is->blind && was->xstate_bv == is->xstate_bv && home_is_told(t, 2) &&
	       (t->after.cpu[0].owner != 3 || t->before.cpu[0].owner == 3);
}

static bool learn_counts(const struct lane_counts *n, uint8_t out[COUNTERS])
{
	const uint64_t *p = (const uint64_t *)n;

	for (size_t i = 0; i < COUNTERS; i++) {
		if (p[i] > 255)
			return false;
		out[i] = (uint8_t)p[i];
	}
	return true;
}

/* All lanes' parts of what follows. */
struct outcome {
	struct cpu_codes cpu;
	struct task_codes task, other;
	struct memo_delta delta;
};

static bool learn_lane(struct trial *t, struct memo_entry *e, struct outcome *out)
{
	struct memo *m = t->m;
	const unsigned k = t->lane;
	const struct lane_cpu_state *here = &t->after.cpu[0];
	const uint8_t bit = (uint8_t)(1u << k);
	struct lane_counts n;
	uint32_t cpu, task, other;
	uint8_t next;

	set_scene(t);
	t->after = t->before;
	if (!lane_try(m->trial[k], &t->after,
		      t->event == EVENT_EVICT ? NULL : &m->events[t->event], &n) ||
	    !memo_cpu_code(m, k, here, was_here(t, here->owner), was_here(t, here->cur), &cpu) ||
	    !memo_task_code(m, k, &t->after.task[0], &task) ||
	    !memo_task_code(m, k, &t->after.task[1], &other) || !learn_cur(t, e) ||
	    !learn_other(t, e) || !rest_is_same(t) ||
	    !learn_counts(&n, out->delta.lane[k]))
		return false;
	next = (uint8_t)here->cur;
	if (k && e->next != next)
		return false;
	e->next = next;
	if (next)
		cpu |= next == 1 ? task : other;
	out->cpu.lane[k] = cpu;
	out->task.lane[k] = (uint16_t)task;
	out->other.lane[k] = (uint16_t)other;
	e->dirty |= CPU_BITS_OF(cpu) & XST_B_DIRTY ? bit : 0;
	e->others |= CPU_OWNER_OF(cpu) == OWNER_OTHER ? bit : 0;
	e->fetched |= t->left && !(t->after.cpu[1].bits & XST_B_DIRTY) ? bit : 0;
	e->other_fetched |= t->away && !(t->after.cpu[2].bits & XST_B_DIRTY) ? bit : 0;
	return true;
}

/* A lane that takes no part in the event. */
static void leave_lane(const struct trial *t, struct memo_entry *e, struct outcome *out)
{
	const uint8_t bit = (uint8_t)(1u << t->lane);

	out->cpu.lane[t->lane] = t->cpu;
	out->task.lane[t->lane] = (uint16_t)t->cpu;
	e->dirty |= CPU_BITS_OF(t->cpu) & XST_B_DIRTY ? bit : 0;
	e->others |= CPU_OWNER_OF(t->cpu) == OWNER_OTHER ? bit : 0;
	e->blind_keep |= 0xffull << 8 * t->lane;
	e->next = t->cpu & TASK_BEGUN ? 1 : 0;
}

static void grow(struct memo *m)
{
	const size_t was = (size_t)1 << (64 - m->shift), room = 2 * was;
	struct memo_entry *more = aligned_alloc(sizeof(*more), room * sizeof(*more));

	/* Without memory it gets slower, not wrong: some room is always left. */
	if (!more)
		return;
	memset(more, 0, room * sizeof(*more));
	m->shift--;
	for (size_t i = 0; i < was; i++) {
		size_t at = (size_t)(m->entries[i].key * MEMO_HASH >> m->shift);

		if (!m->entries[i].key)
			continue;
		while (more[at].key)
			at = (at + 1) & (room - 1);
		more[at] = m->entries[i];
	}
	free(m->entries);
	m->entries = more;
}

static const struct memo_entry *insert(struct memo *m, const struct memo_entry *e)
{
	size_t room = (size_t)1 << (64 - m->shift), at;

	if (2 * (size_t)(m->entry_count + 1) > room) {
		grow(m);
		room = (size_t)1 << (64 - m->shift);
	}
	if (m->entry_count + 1 >= room)
		return NULL;
	at = (size_t)(e->key * MEMO_HASH >> m->shift);
	while (m->entries[at].key)
		at = (at + 1) & (room - 1);
	m->entries[at] = *e;
	m->entry_count++;
	return &m->entries[at];
}

const struct memo_entry *memo_learn(struct memo *m, uint64_t key, const uint64_t *blind)
{
	const unsigned event = (unsigned)(key >> KEY_EVENT_SHIFT);
	const struct cpu_codes *cpu = memo_cpu_codes(m, (unsigned)(key & 0xffff));
	const unsigned other_state = (unsigned)(key >> KEY_OTHER_SHIFT & 0xffff);
	const struct task_codes *other = memo_task_codes(m, other_state);
	const bool same = event < EVENT_RARE && (event & MEMO_SAME);
	struct memo_entry e = { .key = key };
	struct outcome out;
	int numbers[4];

	/* Nobody is in user mode, says a broken trace; who reads it sees to it. */
	if (memo_is_full(m) ||
	    (event < EVENT_RARE && (event & REC_USER) && !(cpu->lane[0] & TASK_BEGUN)))
		return NULL;
	memset(&out, 0, sizeof(out));
	m->stats.tried++;
	for (unsigned k = 0; k < m->lane_count; k++) {
		const bool bit = key >> (KEY_PLACE_SHIFT + k) & 1;
		struct trial t = {
			.m = m, .lane = k, .event = event, .cpu = cpu->lane[k],
			.other = same ? 0 : other->lane[k], .remembered = !blind, .same = same,
			.place = !same && event != EVENT_EVICT && bit,
			.away = !same && key >> (KEY_AWAY_SHIFT + k) & 1,
			.left = key >> (KEY_LEFT_SHIFT + k) & 1,
			.blind = blind ? (unsigned)(*blind >> 8 * k & 0xff)
				 : cpu->lane[k] & TASK_FULL ? BLIND_FULL : BLIND_SAMPLE,
		};

		if (event == EVENT_EVICT && !bit) {
			leave_lane(&t, &e, &out);
			continue;
		}
		if (!learn_lane(&t, &e, &out))
			return NULL;
	}
	numbers[0] = memo_cpu_number(m, &out.cpu);
	numbers[1] = memo_task_number(m, &out.task);
	numbers[2] = memo_task_number(m, &out.other);
	numbers[3] = number_of(&m->deltas, &out.delta);
	for (unsigned i = 0; i < 4; i++)
		if (numbers[i] < 0)
			return NULL;
	e.cpu = (uint16_t)numbers[0];
	e.task = (uint16_t)numbers[1];
	e.other = (uint16_t)numbers[2];
	e.delta = (uint16_t)numbers[3];
	if (e.next != 2 && e.other != other_state && !same)
		e.slow |= SLOW_OTHER;
	if (e.fetched | e.other_fetched)
		e.slow |= SLOW_FETCH;
	if (!(key & 0xffff))
		e.slow |= SLOW_BEGIN;
	if (blind) {
		m->once = e;
		return &m->once;
	}
	return insert(m, &e);
}
