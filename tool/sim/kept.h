/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A state file on its way out or in: what went through has a checksum, which is at the end of the
 * file. It is FNV-1a, byte by byte: no change of a single byte goes unnoticed.
 */
#ifndef SIM_KEPT_H
#define SIM_KEPT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define KEPT_SUM 0xcbf29ce484222325u /* of nothing */

struct kept {
	FILE *f;
	uint64_t sum; /* begins as KEPT_SUM */
};

static inline uint64_t kept_sum(uint64_t sum, const void *p, size_t bytes)
{
	const uint8_t *b = p;

	for (size_t i = 0; i < bytes; i++)
		sum = (sum ^ b[i]) * 0x100000001b3u;
	return sum;
}

static inline bool kept_put(struct kept *k, const void *p, size_t bytes)
{
	k->sum = kept_sum(k->sum, p, bytes);
	return fwrite(p, 1, bytes, k->f) == bytes;
}

static inline bool kept_get(struct kept *k, void *p, size_t bytes)
{
	if (fread(p, 1, bytes, k->f) != bytes)
		return false;
	k->sum = kept_sum(k->sum, p, bytes);
	return true;
}

#endif
