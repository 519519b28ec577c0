// SPDX-License-Identifier: BSD-2-Clause
/* The search: a table of states that is also the queue, and a hash over it. */
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

#include "search.h"

/* Successors of one state that wait to be looked up; a power of two of choices times the events. */
#define BATCH 4096u

struct found {
	struct state state;
	uint64_t hash;
	uint32_t via;
};

struct store {
	uint64_t *state; /* so many words each */
	unsigned words;
	uint32_t *parent, *via;
	uint64_t *slot; /* upper half: part of the hash; lower half: index + 1 */
	uint32_t slot_mask;
	struct found batch[BATCH];
	unsigned waiting;
};

/* How a state was reached, in one word. Path reconstruction needs no more. */
#define NO_PARENT 0xffffffffu

static uint32_t pack_step(const struct step *s)
{
	return (uint32_t)s->event | (uint32_t)s->cpu << 6 | (uint32_t)s->arg << 7 |
	       (s->answers & 0xfffu) << 13 | (uint32_t)s->asked << 25;
}

static struct step unpack_step(uint32_t v)
{
	return (struct step){(uint8_t)(v & 63u), (uint8_t)(v >> 6 & 1u), (uint8_t)(v >> 7 & 63u),
			     (uint8_t)(v >> 25), v >> 13 & 0xfffu};
}

static uint64_t *state_at(const struct store *t, uint32_t index)
{
	return t->state + (size_t)index * t->words;
}

static struct state read_state(const struct store *t, uint32_t index)
{
	struct state s = {0};

	memcpy(&s, state_at(t, index), t->words * sizeof(*t->state));
	return s;
}

static uint64_t hash_state(const struct store *t, const struct state *s)
{
	const uint64_t *w = (const uint64_t *)(const void *)s;
	uint64_t h = 0x9e3779b97f4a7c15ULL;
	unsigned i;

	for (i = 0; i < t->words; i++) {
		h = (h ^ w[i]) * 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	return h;
}

static void *pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static bool store_open(struct store *t, uint32_t max, unsigned words)
{
	uint32_t slots = 1024;

	while (slots < 2u * (uint64_t)max && slots < 1u << 31)
		slots *= 2;
	t->slot_mask = slots - 1;
	t->words = words;
	t->state = pages((size_t)max * words * sizeof(*t->state));
	t->parent = pages((size_t)max * sizeof(*t->parent));
	t->via = pages((size_t)max * sizeof(*t->via));
	t->slot = pages((size_t)slots * sizeof(*t->slot));
	t->waiting = 0;
	return t->state && t->parent && t->via && t->slot;
}

static void store_close(struct store *t, uint32_t max)
{
	munmap(t->state, (size_t)max * t->words * sizeof(*t->state));
	munmap(t->parent, (size_t)max * sizeof(*t->parent));
	munmap(t->via, (size_t)max * sizeof(*t->via));
	munmap(t->slot, ((size_t)t->slot_mask + 1) * sizeof(*t->slot));
}

/* Is this state new? Then it gets the next number. */
static bool store_add(struct store *t, struct search *s, const struct found *f, uint32_t parent)
{
	uint32_t at = (uint32_t)f->hash & t->slot_mask;

	for (; t->slot[at]; at = (at + 1) & t->slot_mask) {
		const uint32_t index = (uint32_t)t->slot[at] - 1;

		if (t->slot[at] >> 32 == f->hash >> 32 &&
		    !memcmp(state_at(t, index), &f->state, t->words * sizeof(*t->state)))
			return false;
	}
	if (s->states == s->max_states)
		return false;
	memcpy(state_at(t, s->states), &f->state, t->words * sizeof(*t->state));
	t->parent[s->states] = parent;
	t->via[s->states] = f->via;
	t->slot[at] = (f->hash & 0xffffffff00000000ULL) | ++s->states;
	return true;
}

static void flush_batch(struct store *t, struct search *s, uint32_t parent)
{
	unsigned i;

	for (i = 0; i < t->waiting; i++)
		if (store_add(t, s, &t->batch[i], parent))
			s->fresh[unpack_step(t->batch[i].via).event]++;
	t->waiting = 0;
}

static void wait_in_batch(struct store *t, struct search *s, uint32_t parent, const struct step *step)
{
	struct found *f = &t->batch[t->waiting];
	struct naming names;

	machine_pack(s->m, &f->state, &names);
	f->hash = hash_state(t, &f->state);
	f->via = pack_step(step);
	__builtin_prefetch(&t->slot[(uint32_t)f->hash & t->slot_mask]);
	if (++t->waiting == BATCH)
		flush_batch(t, s, parent);
}

enum check search_step(struct machine *m, const struct step *step)
{
	m->choices.bits = step->answers;
	m->choices.asked = 0;
	return event_step(m, step->event, step->cpu, step->arg);
}

static void remember_path(struct store *t, struct search *s, uint32_t at, const struct step *last)
{
	unsigned n = 0, i;

	s->path[n++] = *last;
	for (; t->parent[at] != NO_PARENT && n < MAX_PATH; at = t->parent[at])
		s->path[n++] = unpack_step(t->via[at]);
	s->root = read_state(t, at);
	for (i = 0; i < n / 2; i++) {
		struct step swap = s->path[i];

		s->path[i] = s->path[n - 1 - i];
		s->path[n - 1 - i] = swap;
	}
	s->path_length = n;
}

/* The next answers after @step's, in the order of a tree walk; false after the last. */
static bool next_answers(struct step *step)
{
	int i;

	for (i = step->asked - 1; i >= 0; i--)
		if (!(step->answers >> i & 1u)) {
			step->answers = (step->answers & ((1u << i) - 1)) | 1u << i;
			return true;
		}
	return false;
}

/* Let one event happen in every way it can, from state number @at. */
static bool expand_event(struct store *t, struct search *s, uint32_t at, const struct state *from,
			 struct step *step, bool *clean)
{
	struct machine *m = s->m;

	step->answers = 0;
	do {
		if (!*clean)
			machine_unpack(m, from);
		*clean = false;
		s->steps++;
		s->run[step->event][m->policy[step->cpu]]++;
		if (search_step(m, step)) {
			step->asked = m->choices.asked;
			s->broken = m->broken;
			s->how = m->how;
			remember_path(t, s, at, step);
			return false;
		}
		step->asked = m->choices.asked;
		if (m->tainted)
			s->tainted++;
		else
			wait_in_batch(t, s, at, step);
	} while (next_answers(step));
	return true;
}

static bool expand(struct store *t, struct search *s, uint32_t at)
{
	struct step todo[MAX_EVENTS * CPUS * TASKS * COMPS];
	const struct state from = read_state(t, at);
	unsigned count = 0, e, c, a;
	bool clean = true;

	machine_unpack(s->m, &from);
	for (e = 0; e < event_count; e++) {
		if (!event_happens(s->m, e))
			continue;
		for (c = 0; c < CPUS; c++)
			for (a = 0; a < events[e].args; a++)
				if (events[e].can(s->m, c, a))
					todo[count++] = (struct step){(uint8_t)e, (uint8_t)c, (uint8_t)a,
								      0, 0};
	}
	for (a = 0; a < count; a++)
		if (!expand_event(t, s, at, &from, &todo[a], &clean))
			return false;
	flush_batch(t, s, at);
	return true;
}

/* CPU time: the speed of one core, whatever else the machine does. */
static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

bool search_run(struct search *s, const struct state *roots, unsigned count)
{
	static struct store t;
	const double begin = now();
	uint32_t at, level_end;
	unsigned i;

	if (!store_open(&t, s->max_states, state_words(s->m->cfg)))
		return false;
	for (i = 0; i < count; i++) {
		struct found f = {roots[i], hash_state(&t, &roots[i]), 0};

		store_add(&t, s, &f, NO_PARENT);
	}
	level_end = s->states;
	for (at = 0; at < s->states; at++) {
		if (at == level_end) {
			if (s->progress)
				fprintf(stderr, "depth %u: %u states\n", s->depth + 1,
					s->states - level_end);
			level_end = s->states;
			if (++s->depth == s->max_depth)
				break;
		}
		/* Once the table is full only what is in it is checked further: all its steps are. */
		if (!expand(&t, s, at))
			break;
		if (s->states == s->max_states)
			break;
	}
	s->complete = !s->broken && at == s->states;
	s->seconds = now() - begin;
	store_close(&t, s->max_states);
	return true;
}
