// SPDX-License-Identifier: BSD-2-Clause
/* Objects, archives and packed kernels as bytes: everything `xstate lint` does with a file. */
#include <stdlib.h>

#include "lint/graph.h"
#include "lint/sweep.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct lint_conf *conf(void)
{
	static struct lint_conf *one;
	char why[256];

	if (!one) {
		one = lint_conf_new();
		if (!one || !lint_conf_profile(one, "linux-6.1", why, sizeof(why)))
			abort();
		lint_conf_settle(one);
	}
	return one;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lint_object **list = NULL;
	struct lint_graph *g;
	struct lint_image *image;
	size_t n = 0, i;
	char why[512];

	image = lint_image_from(data, size, why, sizeof(why));
	if (!image)
		return 0;
	if (lint_objects_open("fuzz", image, &list, &n, why, sizeof(why))) {
		for (i = 0; i < n; i++) {
			if (!lint_sweep(list[i]))
				abort();
			lint_tables_read(list[i]);
			lint_pointers_mark(list[i]);
		}
		g = lint_graph_new(conf(), list, n);
		if (!g)
			abort();
		lint_graph_check(g);
		for (i = 0; i < g->nnode; i++)
			if (lint_graph_answer(g, (uint32_t)i) >= ANSWERS)
				abort();
		lint_graph_free(g);
		for (i = 0; i < n; i++)
			lint_object_free(list[i]);
		free(list);
	}
	lint_image_put(image);
	return 0;
}
