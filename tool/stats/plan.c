// SPDX-License-Identifier: BSD-2-Clause
/*
 * The plan of a run. Each block's order follows from seed and number alone, so that block 700 can
 * be repeated without the 699 before it.
 */
#include "plan.h"

#include <time.h>
#include <unistd.h>
#include <sys/random.h>
/* Ref: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators". */
uint64_t stats_seed_mix(uint64_t seed, uint64_t part)
{
	uint64_t z = seed + (part + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint64_t stats_seed_new(void)
{
	uint32_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		seed = (uint32_t)time(NULL) ^ ((uint32_t)getpid() << 16);
	return seed; /* 32 bits are easily typed back in */
}

uint64_t stats_plan_block(const struct stats_plan *plan, uint32_t block, uint32_t *order)
{
	uint64_t seed = stats_seed_mix(plan->seed, block);

	for (uint32_t i = 0; i < plan->arms; i++) {
		/* Fisher and Yates, building up; 64 bits make the bias of % negligible. */
		uint32_t j = (uint32_t)(stats_seed_mix(seed, 1 + i) % (i + 1));

		order[i] = order[j];
		order[j] = i;
	}
	return stats_seed_mix(seed, 0);
}

uint32_t stats_plan_blocks_for(double seconds, double block_seconds)
{
	double n = block_seconds > 0 ? seconds / block_seconds : 1;

	if (!(n > 1))
		return 1;
	return n > 1e7 ? 10000000u : (uint32_t)n;
}
