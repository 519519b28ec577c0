/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of a world that has no guests: the registers that are switched for them are not there.
 * Included by world_user.h and by worlds that only count; see world.h for the contract.
 */
#ifndef XST_WORLD_NO_GUESTS_H
#define XST_WORLD_NO_GUESTS_H

#include <stdint.h>

static inline void xst_w_set_xcr0(void *world, uint64_t v)
{
	(void)world;
	(void)v;
}

static inline uint64_t xst_w_xss(void *world)
{
	(void)world;
	return 0;
}

static inline void xst_w_set_xss(void *world, uint64_t v)
{
	(void)world;
	(void)v;
}

static inline void xst_w_set_xfd_err(void *world, uint64_t v)
{
	(void)world;
	(void)v;
}

static inline uint64_t xst_w_ssp(void *world, unsigned n)
{
	(void)world;
	(void)n;
	return 0;
}

static inline void xst_w_set_ssp(void *world, unsigned n, uint64_t v)
{
	(void)world;
	(void)n;
	(void)v;
}

#endif
