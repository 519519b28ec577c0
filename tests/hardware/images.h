/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Images to try on real hardware: random, mutated from valid ones, boundary values.
 */
#ifndef TESTS_IMAGES_H
#define TESTS_IMAGES_H

#include <xst/image.h>

#define IMAGE_ROOM 16384u /* enough for every component known, twice */

struct rng {
	uint64_t s[4];
};

void rng_seed(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);
uint64_t rng_below(struct rng *r, uint64_t n);
void rng_fill(struct rng *r, void *data, size_t bytes);
/* A random subset of @mask; the empty and the full one more often than chance has it. */
uint64_t rng_subset(struct rng *r, uint64_t mask);

/**
 * image_valid() - a valid image with random contents.
 * @caps:   the CPU.
 * @xcr0:   components that may be in it.
 * @format: wanted.
 * @area:   IMAGE_ROOM bytes; what lies beyond the image is random as well.
 *
 * Contents obey the few rules that components have themselves (PKRU lets key 0 through).
 *
 * Return: bytes the image takes.
 */
size_t image_valid(struct rng *r, const struct xst_caps *caps, uint64_t xcr0,
		   enum xst_format format, void *area);

/**
 * image_mutate() - break an image in one of many ways, or leave it valid in an unusual way.
 */
void image_mutate(struct rng *r, const struct xst_caps *caps, uint64_t xcr0, void *area);

/**
 * image_tame() - make a restore of an image harmless to the program that does it.
 *
 * PKRU keeps key 0 open; tile configuration and bounds are zeroed. Only bytes behind the header
 * change, and only where the header says that such a component lies.
 */
void image_tame(const struct xst_caps *caps, void *area);

#endif
