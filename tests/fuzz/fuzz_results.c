// SPDX-License-Identifier: BSD-2-Clause
/*
 * Results of other people's machines: read, joined, and made into a page. Beyond not crashing: a
 * refusal is one sentence, and nothing of a file becomes markup.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/merge.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

static void page(struct report *r)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);

	if (!f || !report_write(r, f) || fclose(f))
		abort();
	/* Ours are the page's own script and one block of data for each viewer of samples. */
	if (strlen(text) != bytes ||
	    count(text, "<script") != 1 + count(text, "<div class=\"samples\">") ||
	    count(text, "</script") != count(text, "<script") ||
	    count(text, "<section") != count(text, "</section") ||
	    count(text, "<svg") != count(text, "</svg"))
		abort();
	free(text);
}

static void joined(const struct results *results)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);
	struct results again = {0};
	char err[400];
	struct merge m;
	struct jw w;

	if (!f || !merge_of(&m, results, false))
		abort();
	jw_begin(&w, f, false);
	merge_json(&m, &w);
	if (fclose(f) || results_parse(&again, "merged", text, bytes, err, sizeof(err)))
		abort();
	results_free(&again);
	free(text);
	f = open_memstream(&text, &bytes);
	if (!f)
		abort();
	merge_csv(&m, f);
	merge_print(&m, f);
	if (fclose(f))
		abort();
	free(text);
	merge_free(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct report r = {.results = {0}};
	char err[400] = "";

	if (results_parse(&r.results, "input", (const char *)data, size, err, sizeof(err))) {
		if (strncmp(err, "input: ", 7) || strchr(err, '\n') || r.results.n)
			abort();
	} else {
		joined(&r.results);
		page(&r);
	}
	results_free(&r.results);
	return 0;
}
