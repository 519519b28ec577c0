/* SPDX-License-Identifier: BSD-2-Clause */
/* How words are filled and read, and what the two files that do so need from each other. */
#ifndef EXPLORE_PACK_H
#define EXPLORE_PACK_H

#include "machine.h"

/* One word being filled or read, field by field in a fixed order. */
struct bits {
	uint64_t word;
	unsigned at;
};

static inline void put(struct bits *b, unsigned width, uint64_t value)
{
	b->word |= value << b->at;
	b->at += width;
}

static inline unsigned get(struct bits *b, unsigned width)
{
	const unsigned v = (unsigned)(b->word >> b->at & ((1ULL << width) - 1));

	b->at += width;
	return v;
}

static inline unsigned saturate(unsigned value, unsigned most)
{
	return value < most ? value : most;
}

static inline unsigned tile_of(uint64_t mask)
{
	return mask >> XST_COMP_TILEDATA & 1u;
}

/* Everything a record needs to name things in the new order. */
struct renaming {
	uint8_t class[COMPS][16]; /* token -> number of the first one that expects it, or will */
	uint8_t task[NONE + 1], cpu[NOWHERE + 1];
};

/* What a token has to do with the value that is expected: nothing, INIT, equal. */
static inline unsigned relation(uint8_t token, uint8_t want)
{
	return token == want ? (want ? 3u : 2u) : (token ? 1u : 0u);
}

/* Of a CPU's bits, what is no state and not as its policy has it. While tiles are apart, no way. */
static inline uint32_t pack_other(const struct machine *m, unsigned c)
{
	const uint32_t bits = m->cpu[c].bits, fixed = m->fixed_bits[m->policy[c]];

	return (bits ^ fixed) & ~STATE_BITS & ~(bits & XST_B_TILES ? WAY_BITS : 0);
}

/* What guests change in a CPU's bits: one for masks that differ, one where the policy has no way; 0
 * when there is something else. */
unsigned pack_ways(const struct machine *m, unsigned c);
/* After the tasks'. */
void order_guests(struct machine *m, struct naming *names);
void pack_guests(struct machine *m, struct state *s, const struct naming *names,
		 const struct renaming *r);
/* After the tasks, before the CPUs; and the rest, after them. */
void unpack_guest(struct machine *m, const uint64_t word[2], unsigned g);
void unpack_beside(struct machine *m, uint64_t word);

#endif
