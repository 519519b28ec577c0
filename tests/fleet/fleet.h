/* SPDX-License-Identifier: BSD-2-Clause */
/* All dumps of the collection, read once. */
#ifndef FLEET_FLEET_H
#define FLEET_FLEET_H

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "read/cpu.h"
#include "../shared.h"

#define FLEET_MAX 512

struct fleet {
	unsigned count;
	char name[FLEET_MAX][96];
	struct xst_caps caps[FLEET_MAX];
};

/* Exits with 77 (skip) when there is no collection at all. */
static inline struct fleet *fleet_read(void)
{
	struct fleet *f = calloc(1, sizeof(*f));
	char dir[512], path[1024], err[256];
	struct dirent *e;
	DIR *d;

	if (!f || !shared_path("cpuid/dumps", dir, sizeof(dir)) || !(d = opendir(dir)))
		exit(77);
	while ((e = readdir(d)) && f->count < FLEET_MAX) {
		struct cpu_source src;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		if (read_cpu(path, &src, err, sizeof(err))) {
			fprintf(stderr, "%s\n", err);
			exit(1);
		}
		snprintf(f->name[f->count], sizeof(f->name[0]), "%.90s", e->d_name);
		f->caps[f->count++] = src.caps;
		read_cpu_free(&src);
	}
	closedir(d);
	return f;
}

#endif
