/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A state file on its way out or in: what went through has a checksum, which is at the end of the
 * file.
 */
#ifndef SIM_KEPT_H
#define SIM_KEPT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/fnv.h"

struct kept {
	FILE *f;
	uint64_t sum; /* begins as FNV_NOTHING */
};

static inline bool kept_put(struct kept *k, const void *p, size_t bytes)
{
	k->sum = fnv(k->sum, p, bytes);
	return fwrite(p, 1, bytes, k->f) == bytes;
}

static inline bool kept_get(struct kept *k, void *p, size_t bytes)
{
	if (fread(p, 1, bytes, k->f) != bytes)
		return false;
	k->sum = fnv(k->sum, p, bytes);
	return true;
}

#endif
