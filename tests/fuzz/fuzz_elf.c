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
	struct lint_opened o;
	struct lint_graph *g;
	struct lint_image *image;
	size_t n = 0, i;
	char why[512];

	image = lint_image_from(data, size, why, sizeof(why));
	if (!image)
		return 0;
	lint_objects_open("fuzz", image, &o);
	for (i = 0; i < o.n; i++) {
		lint_object_blind(o.list[i]);
		/* What is damaged is refused, as the command does. */
		if (lint_alternatives_read(o.list[i], why, sizeof(why)) && lint_sweep(o.list[i]) &&
		    lint_tables_read(o.list[i], why, sizeof(why))) {
			lint_pointers_mark(o.list[i]);
			o.list[n++] = o.list[i];
		} else {
			lint_object_free(o.list[i]);
		}
	}
	o.n = n;
	if (n) {
		g = lint_graph_new(conf(), o.list, n);
		if (!g)
			abort();
		if (!lint_graph_check(g))
			abort();
		for (i = 0; i < g->nnode; i++)
			if (lint_graph_answer(g, (uint32_t)i) >= ANSWERS)
				abort();
		lint_graph_free(g);
	}
	lint_opened_free(&o);
	lint_image_put(image);
	return 0;
}
