// SPDX-License-Identifier: BSD-2-Clause
/* How Linux packs objects into memory. */
#include "cpu/slab.h"

#include <stdio.h>
#include <string.h>

void slab_use(const struct slab *s, struct slab_use *use)
{
	uint64_t stride = (s->object_bytes + s->align_bytes - 1) & ~(s->align_bytes - 1);

	memset(use, 0, sizeof(*use));
	use->stride_bytes = stride;
	use->objects = stride ? s->slab_bytes / stride : 0;
	if (!use->objects)
		return;
	use->spare_bytes = s->slab_bytes - use->objects * stride;
	use->growth_bytes = (s->slab_bytes / use->objects & ~(s->align_bytes - 1)) -
			    s->object_bytes;
	use->per_object_bytes = (s->slab_bytes + use->objects - 1) / use->objects;
}

uint64_t slab_kmalloc_bytes(uint64_t bytes)
{
	uint64_t class = 8;

	/* Beside the powers of two there are 96 and 192. */
	if (bytes > 64 && bytes <= 96)
		return 96;
	if (bytes > 128 && bytes <= 192)
		return 192;
	while (class < bytes)
		class *= 2;
	return class;
}

uint64_t slab_vmalloc_bytes(uint64_t bytes)
{
	return (bytes + SLAB_PAGE_BYTES - 1) / SLAB_PAGE_BYTES * SLAB_PAGE_BYTES;
}

static bool read_sys(const char *name, uint64_t *v)
{
	char path[96];
	FILE *f;
	unsigned long long n;
	bool ok;

	snprintf(path, sizeof(path), "/sys/kernel/slab/task_struct/%s", name);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fscanf(f, "%llu", &n) == 1;
	fclose(f);
	*v = n;
	return ok;
}

/* slabinfo shows the stride, which includes the alignment, but not the alignment itself. */
static bool read_slabinfo(struct slab *s)
{
	FILE *f = fopen("/proc/slabinfo", "re");
	char line[512];
	unsigned long long bytes, per, pages;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "task_struct %*u %*u %llu %llu %llu", &bytes, &per, &pages) ==
			3;
	if (f)
		fclose(f);
	if (!found)
		return false;
	s->object_bytes = bytes;
	s->align_bytes = 64;
	s->slab_bytes = pages * SLAB_PAGE_BYTES;
	return true;
}

bool slab_task_struct(struct slab *s)
{
	uint64_t order;

	if (!read_sys("object_size", &s->object_bytes) || !read_sys("align", &s->align_bytes) ||
	    !read_sys("order", &order) || order > 10)
		return read_slabinfo(s);
	s->slab_bytes = (uint64_t)SLAB_PAGE_BYTES << order;
	/* An alignment of 0 is a word's. */
	if (!s->align_bytes || (s->align_bytes & (s->align_bytes - 1)))
		s->align_bytes = 8;
	return true;
}
