/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's random pool, as far as it takes registers from tasks.
 *
 * Linux mixes the time into the pool at each fork, and with it the run time of each task it
 * releases. The pool is a BLAKE2s hash: every 64 bytes make a block, which is hashed in vector
 * registers, between kernel_fpu_begin() and kernel_fpu_end(), by whoever filled it. Nothing shows it,
 * but it is regular. Where in its block the pool was when a trace began is not known, and taken as
 * empty.
 * Ref: Linux, add_latent_entropy() in kernel_clone(), add_device_randomness() in release_task(),
 * blake2s_update().
 */
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include <stdbool.h>

#define POOL_BLOCK   64u
#define POOL_FORK    8u
#define POOL_RELEASE 16u

/* Is a block hashed by these many @bytes? When one comes for which it has no room. */
static inline bool pool_fills(unsigned pool, unsigned bytes)
{
	return pool + bytes > POOL_BLOCK;
}

/* How many bytes wait in the pool after @bytes more; @filled may have been seen, whatever it was. */
static inline unsigned pool_after(unsigned pool, unsigned bytes, bool filled)
{
	const unsigned sum = pool + bytes;

	if (filled)
		return sum > POOL_BLOCK ? sum - POOL_BLOCK : bytes;
	return sum > POOL_BLOCK ? POOL_BLOCK : sum;
}

#endif
