/* SPDX-License-Identifier: BSD-2-Clause */
/* The memo's short path: one task switch by one lookup, to be part of the caller's loop. */
#ifndef SIM_MEMO_RUN_H
#define SIM_MEMO_RUN_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "sim/memo_own.h"

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ALWAYS_INLINE static inline __attribute__((always_inline))

#define BYTES(n) (0x0101010101010101u * (n))

/* How a record went. */
enum done {
	DONE,
	DONE_LAST, /* what comes next is to be found out, memo_again() */
	NOT_DONE,  /* so is this one; nothing changed */
	REFUSED,   /* the caller's: no memo says it */
};

/* memo.c: what is not short. */
const struct memo_entry *memo_find_rest(struct memo *m, uint64_t key);
enum done memo_take_slow(struct memo *m, uint32_t cpu, uint32_t other,
			 const struct memo_entry *entry);
enum done memo_set_full(struct memo *m, struct machine_task *t);
enum done memo_run_once(struct memo *m, uint32_t cpu, uint32_t other, uint64_t key);
/**
 * memo_run_rare() - a record that is no switch.
 */
enum done memo_run_rare(struct memo *m, const struct rec *r);

/**
 * memo_again() - @r went other than DONE: see to it.
 *
 * Return: false when the short path has changed, see struct memo: another one, or the lanes' own.
 */
bool memo_again(struct memo *m, const struct rec *r, memo_step step, enum done done);

/* Is a byte of @v 255? */
static inline bool any_full(uint64_t v)
{
	return (~v - BYTES(1)) & v & BYTES(0x80);
}

/* Which lanes of @task another CPU has the only copy of. */
ALWAYS_INLINE uint64_t memo_away(const struct memo *m, const struct machine_task *t, uint32_t task,
				 uint32_t cpu)
{
	const struct machine_cpu *cpus = m->machine->cpus;
	uint64_t away = 0;

	for (unsigned left = m->displaced; left; left &= left - 1) {
		const unsigned k = (unsigned)__builtin_ctz(left), last = t->last[k];
		const struct machine_cpu *home = &cpus[last == LAST_NONE ? cpu : last];
		const unsigned there = home->owner[k] == task && last != cpu && last != LAST_NONE
					       ? home->dirty & home->other : 0;

		away |= there & 1u << k;
	}
	return away;
}

/* Which registers of CPU @cpu are task @n's copy? */
ALWAYS_INLINE uint64_t memo_place(const struct machine_cpu *c, const struct machine_task *t,
				  uint32_t n, uint32_t cpu)
{
	unsigned place = 0;

#ifdef __SSE2__
	const __m128i *owner = (const __m128i *)(const void *)c->owner;
	const __m128i task = _mm_set1_epi32((int)n);
	const __m128i is = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_load_si128(owner), task),
					   _mm_cmpeq_epi32(_mm_load_si128(owner + 1), task));
	const __m128i last = _mm_load_si128((const __m128i *)(const void *)t->last);
	const __m128i here = _mm_cmpeq_epi16(last, _mm_set1_epi16((short)cpu));

	place = (unsigned)_mm_movemask_epi8(_mm_packs_epi16(_mm_and_si128(is, here),
							    _mm_setzero_si128()));
#else
	for (unsigned k = 0; k < MEMO_LANES; k++)
		place |= (unsigned)(c->owner[k] == n && t->last[k] == cpu) << k;
#endif
	return place & c->other;
}

/* The registers are the task's that ran, from here on or still; or it was nowhere. */
ALWAYS_INLINE void memo_set_owner(struct machine_cpu *c, struct machine_task *t, uint32_t cpu,
				  const struct memo_entry *e)
{
#ifdef __SSE2__
	__m128i *owner = (__m128i *)(void *)c->owner, *last = (__m128i *)(void *)t->last;
	const __m128i own = _mm_load_si128((const __m128i *)(const void *)e->own);
	const __m128i low = _mm_unpacklo_epi16(own, own), high = _mm_unpackhi_epi16(own, own);
	const __m128i task = _mm_set1_epi32((int)c->cur);
	const __m128i here = _mm_set1_epi16((short)cpu);
	const __m128i lost = _mm_loadl_epi64((const __m128i *)(const void *)e->lost);
	const __m128i was = _mm_or_si128(_mm_unpacklo_epi8(lost, lost), _mm_load_si128(last));

	_mm_store_si128(owner, _mm_or_si128(_mm_and_si128(low, task),
					    _mm_andnot_si128(low, _mm_load_si128(owner))));
	_mm_store_si128(owner + 1, _mm_or_si128(_mm_and_si128(high, task),
						_mm_andnot_si128(high, _mm_load_si128(owner + 1))));
	_mm_store_si128(last, _mm_or_si128(_mm_and_si128(own, here), _mm_andnot_si128(own, was)));
#else
	for (unsigned k = 0; k < MEMO_LANES; k++) {
		c->owner[k] = e->own[k] ? c->cur : c->owner[k];
		t->last[k] = e->own[k] ? (uint16_t)cpu : e->lost[k] ? LAST_NONE : t->last[k];
	}
#endif
}

/* What @e says of the CPU and of @t, who ran there; who runs next is not settled by this. */
ALWAYS_INLINE void memo_take(struct machine_cpu *c, struct machine_task *t, uint32_t cpu,
			     const struct memo_entry *e)
{
	/* Where the delta before it is counted has long been known: nothing waits for that store. */
	c->counts[c->delta]++;
	c->delta = e->delta;
	memo_set_owner(c, t, cpu, e);
	t->state = e->task;
	t->blind = (t->blind & e->blind_keep) + e->blind_add;
	c->state = e->cpu;
	c->dirty = e->dirty;
	c->other = e->others;
}

ALWAYS_INLINE const struct memo_entry *memo_find(struct memo *m, uint64_t key)
{
	const struct memo_entry *e = &m->entries[(size_t)(key * MEMO_HASH >> m->shift)];

	return LIKELY(e->key == key) ? e : memo_find_rest(m, key);
}

ALWAYS_INLINE uint64_t memo_key(const struct memo *m, const struct machine_cpu *c,
				const struct machine_task *t, const struct machine_task *o,
				uint32_t cpu, uint32_t n, unsigned event)
{
	const uint64_t places = MEMO_TWIN(PLACE) ? m->displaced : 0xff;

	return c->state | (uint64_t)o->state << KEY_OTHER_SHIFT |
	       (memo_place(c, o, n, cpu) & places) << KEY_PLACE_SHIFT |
	       (MEMO_TWIN(AWAY) ? 0 : memo_away(m, o, n, cpu) << KEY_AWAY_SHIFT) |
	       (MEMO_TWIN(LEFT) || !c->away ? 0 : memo_away(m, t, c->cur, cpu) << KEY_LEFT_SHIFT) |
	       (uint64_t)event << KEY_EVENT_SHIFT;
}

/**
 * memo_run_switch() - a switch, where m->quick is NULL.
 * @c:     CPU @cpu.
 * @t:     the task that runs there.
 * @o:     the one that comes, @n.
 * @event: a step's, and m->event_mask.
 */
ALWAYS_INLINE enum done memo_run_switch(struct memo *m, struct machine_cpu *c,
					struct machine_task *t, struct machine_task *o,
					uint32_t cpu, uint32_t n, unsigned event)
{
	const uint64_t key = memo_key(m, c, t, o, cpu, n, event);
	const struct memo_entry *e;

	if (UNLIKELY(event & MEMO_SAME) && any_full(t->blind | BYTES(1)) && !MEMO_TWIN(SAME))
		return memo_run_once(m, cpu, n, key);
	e = memo_find(m, key);
	if (UNLIKELY(!e || e->slow))
		return e ? memo_take_slow(m, cpu, n, e) : NOT_DONE;
	memo_take(c, t, cpu, e);
	c->away = (uint8_t)(key >> KEY_AWAY_SHIFT);
	c->cur = n;
	return UNLIKELY(any_full(t->blind)) ? memo_set_full(m, t) : DONE;
}

#endif
