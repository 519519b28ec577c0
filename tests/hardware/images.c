// SPDX-License-Identifier: BSD-2-Clause
/* Images to try on real hardware. */
#include <string.h>

#include "images.h"

void rng_seed(struct rng *r, uint64_t seed)
{
	/* SplitMix64 spreads the seed. */
	for (int i = 0; i < 4; i++) {
		uint64_t z = seed += 0x9e3779b97f4a7c15u;

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		r->s[i] = z ^ (z >> 31);
	}
}

static uint64_t rotl(uint64_t v, int n)
{
	return v << n | v >> (64 - n);
}

/* xoshiro256** */
uint64_t rng_next(struct rng *r)
{
	uint64_t out = rotl(r->s[1] * 5, 7) * 9, t = r->s[1] << 17;

	r->s[2] ^= r->s[0];
	r->s[3] ^= r->s[1];
	r->s[1] ^= r->s[2];
	r->s[0] ^= r->s[3];
	r->s[2] ^= t;
	r->s[3] = rotl(r->s[3], 45);
	return out;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
	return rng_next(r) % n;
}

void rng_fill(struct rng *r, void *data, size_t bytes)
{
	uint8_t *p = data;

	for (; bytes >= 8; p += 8, bytes -= 8) {
		uint64_t v = rng_next(r);

		memcpy(p, &v, 8);
	}
	if (bytes) {
		uint64_t v = rng_next(r);

		memcpy(p, &v, bytes);
	}
}

uint64_t rng_subset(struct rng *r, uint64_t mask)
{
	switch (rng_below(r, 8)) {
	case 0:
		return 0;
	case 1:
		return mask;
	default:
		return mask & rng_next(r);
	}
}

static uint32_t random_mxcsr(struct rng *r, uint32_t mask)
{
	static const uint32_t edges[] = {XST_MXCSR_INIT, 0, 0xffbf, 0xffff, 0x1fa0, 0x9fc0, 0x7f80};
	uint64_t pick = rng_below(r, 4);

	if (pick == 0)
		return edges[rng_below(r, sizeof(edges) / sizeof(edges[0]))] & mask;
	return pick == 1 ? XST_MXCSR_INIT : (uint32_t)rng_next(r) & mask;
}

static void random_x87(struct rng *r, uint8_t *area)
{
	static const uint16_t edges[] = {0x7fff, 0xffff, 0, 0x8000, 1, 0x3fff};

	for (unsigned i = 0; i < 8; i++)
		if (rng_below(r, 2))
			xst_put16(area, XST_OFF_ST + 16 * i + 8,
				  edges[rng_below(r, sizeof(edges) / sizeof(edges[0]))]);
}

void image_tame(const struct xst_caps *caps, void *area)
{
	uint64_t xcomp_bv = xst_get64(area, XST_OFF_XCOMP_BV);
	bool compacted = xcomp_bv & XST_XCOMP_COMPACT;
	uint64_t rest = compacted ? xcomp_bv & ~XST_XCOMP_COMPACT : caps->xcr0;
	const uint64_t picky = XST_MASK_BNDREGS | XST_MASK_BNDCSR | XST_MASK_TILECFG;
	uint32_t next = XST_EXT_OFFSET;

	for (rest &= ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		uint32_t start = caps->comp[i].offset, bytes = caps->comp[i].bytes;

		if (compacted) {
			start = caps->comp[i].align64 ? (next + 63) & ~63u : next;
			next = start + bytes;
		}
		if (start < XST_EXT_OFFSET || start + bytes > IMAGE_ROOM)
			continue;
		if (i == XST_COMP_PKRU)
			xst_put32(area, start, xst_get32(area, start) & ~3u);
		if (picky & XST_MASK(i))
			memset((char *)area + start, 0, bytes);
	}
}

size_t image_valid(struct rng *r, const struct xst_caps *caps, uint64_t xcr0,
		   enum xst_format format, void *area)
{
	uint8_t *p = area;
	uint64_t mask = format == XST_COMPACTED ? rng_subset(r, xcr0) : xcr0;
	struct xst_layout layout;

	if (xst_layout_compute(caps, mask, format, &layout, NULL) < 0)
		return 0;
	rng_fill(r, p, layout.bytes);
	random_x87(r, p);
	xst_put32(p, XST_OFF_MXCSR, random_mxcsr(r, caps->mxcsr_mask));
	memset(p + XST_HEADER_OFFSET, 0, XST_HEADER_BYTES);
	xst_put64(p, XST_OFF_XSTATE_BV, rng_subset(r, mask));
	if (format == XST_COMPACTED)
		xst_put64(p, XST_OFF_XCOMP_BV, mask | XST_XCOMP_COMPACT);
	image_tame(caps, p);
	return layout.bytes;
}

static void flip(void *area, uint64_t bit)
{
	((uint8_t *)area)[bit / 8] ^= (uint8_t)(1u << (bit % 8));
}

/* A bit of the header's masks that names something not enabled. */
static void add_foreign_bit(struct rng *r, uint64_t xcr0, void *area, unsigned offset)
{
	uint64_t bits = ~xcr0 & ~XST_XCOMP_COMPACT, bit;

	do
		bit = XST_MASK(rng_below(r, 63));
	while (!(bits & bit));
	xst_put64(area, offset, xst_get64(area, offset) | bit);
}

void image_mutate(struct rng *r, const struct xst_caps *caps, uint64_t xcr0, void *area)
{
	uint64_t bv = xst_get64(area, XST_OFF_XSTATE_BV);
	uint64_t xcomp_bv = xst_get64(area, XST_OFF_XCOMP_BV);

	switch (rng_below(r, 11)) {
	case 0:
		add_foreign_bit(r, xcr0, area, XST_OFF_XSTATE_BV);
		break;
	case 1:
		add_foreign_bit(r, xcr0, area, XST_OFF_XCOMP_BV);
		break;
	case 2: /* XCOMP_BV loses a bit, perhaps one that XSTATE_BV names */
		xst_put64(area, XST_OFF_XCOMP_BV, xcomp_bv & ~XST_MASK(rng_below(r, 20)));
		break;
	case 3: /* XSTATE_BV gains an enabled bit */
		xst_put64(area, XST_OFF_XSTATE_BV, bv | (xcr0 & rng_next(r)));
		break;
	case 4: /* header bytes 16-23 */
		flip(area, XST_OFF_XCOMP_BV * 8 + 64 + rng_below(r, 64));
		break;
	case 5: /* header bytes 24-63 */
		flip(area, XST_OFF_XCOMP_BV * 8 + 128 + rng_below(r, 40 * 8));
		break;
	case 6:
		xst_put32(area, XST_OFF_MXCSR, (uint32_t)rng_next(r) | ~caps->mxcsr_mask);
		break;
	case 7:
		flip(area, XST_OFF_MXCSR * 8 + rng_below(r, 32));
		break;
	case 8: /* the other format */
		xst_put64(area, XST_OFF_XCOMP_BV, xcomp_bv ^ XST_XCOMP_COMPACT);
		break;
	case 9: /* any bit of what a restore judges or loads first */
		flip(area, rng_below(r, XST_EXT_OFFSET * 8));
		break;
	case 10:
		rng_fill(r, (char *)area + XST_HEADER_OFFSET, 16);
		break;
	}
	image_tame(caps, area);
}
