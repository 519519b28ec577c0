/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables at their largest size, which take memory only where they are used: what is in them never
 * moves, and a number is a place.
 */
#ifndef SIM_RESERVE_H
#define SIM_RESERVE_H

#include <stddef.h>
#include <sys/mman.h>

/* Zeros; or NULL. */
static inline void *reserve(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static inline void release(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}

#endif
