/* SPDX-License-Identifier: BSD-2-Clause */
/* How Linux packs objects into memory: slabs, kmalloc's size classes, vmalloc's pages. */
#ifndef CPU_SLAB_H
#define CPU_SLAB_H

#include <stdbool.h>
#include <stdint.h>

#define SLAB_PAGE_BYTES 4096u

/* A cache of equal objects. */
struct slab {
	uint64_t object_bytes; /* what the structure needs */
	uint64_t align_bytes;  /* power of two */
	uint64_t slab_bytes;   /* pages that are allocated together */
};

struct slab_use {
	uint64_t stride_bytes; /* object with its alignment */
	uint64_t objects;      /* that fit in one slab; 0: it does not fit at all */
	uint64_t spare_bytes;  /* at the end of each slab */
	uint64_t growth_bytes; /* an object may grow by this before one fewer fits */
	uint64_t per_object_bytes; /* of memory, spare included; rounded up */
};

void slab_use(const struct slab *s, struct slab_use *use);

/**
 * slab_kmalloc_bytes() - the size class that serves @bytes, or whole pages (a power of two).
 */
uint64_t slab_kmalloc_bytes(uint64_t bytes);

/**
 * slab_vmalloc_bytes() - whole pages; the guard page costs address space only.
 */
uint64_t slab_vmalloc_bytes(uint64_t bytes);

/**
 * slab_task_struct() - this machine's task_struct cache, from /sys/kernel/slab or /proc/slabinfo.
 *
 * Return: false when neither can be read (both are for root only).
 */
bool slab_task_struct(struct slab *s);

#endif
