/* SPDX-License-Identifier: BSD-2-Clause */
/* FNV-1a, 64 bits, byte by byte: no change of a single byte goes unnoticed. */
#ifndef SIM_FNV_H
#define SIM_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV_NOTHING 0xcbf29ce484222325u /* of nothing */

static inline uint64_t fnv(uint64_t sum, const void *p, size_t bytes)
{
	const uint8_t *b = p;

	for (size_t i = 0; i < bytes; i++)
		sum = (sum ^ b[i]) * 0x100000001b3u;
	return sum;
}

#endif
