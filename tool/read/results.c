// SPDX-License-Identifier: BSD-2-Clause
/* Reading results. Jansson parses; here is what makes a document one of ours. */
#include "read/results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/file.h"
#include "read/json_why.h"
#include "read/results_db.h"

#define MOST_BYTES  (256u << 20)
#define MOST_NUMBER 1e20

static void drop_from(struct results *r, size_t first)
{
	while (r->n > first) {
		struct result *last = &r->list[--r->n];

		json_decref(last->doc);
		free(last->source);
	}
}

static bool add(struct results *r, const char *source, json_t *doc)
{
	struct result *bigger = realloc(r->list, (r->n + 1) * sizeof(*bigger));

	if (!bigger)
		return false;
	r->list = bigger;
	bigger[r->n] = (struct result){.doc = doc,
	                               .schema = result_text(doc, "schema", NULL),
	                               .kind = result_text(doc, "kind", ""),
	                               .source = strdup(source)};
	if (!bigger[r->n].source)
		return false;
	r->n++;
	return true;
}

int results_parse(struct results *r, const char *source, const char *text, size_t len, char *err,
                  size_t errlen)
{
	const size_t first = r->n;
	const char *at = text, *end = text + len;

	for (;;) {
		json_error_t error;
		json_t *doc;

		while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
			at++;
		if (at == end)
			break;
		doc = json_loadb(at, (size_t)(end - at),
		                 JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &error);
		if (!doc) {
			size_t line = 1;

			for (const char *c = text; c < at; c++)
				line += *c == '\n';
			snprintf(err, errlen, "%s: not JSON: line %zu: %s", source,
			         line + (size_t)(error.line > 0 ? error.line - 1 : 0),
			         json_why(&error, *at));
			goto fail;
		}
		if (!result_text(doc, "schema", NULL)) {
			json_decref(doc);
			snprintf(err, errlen,
			         "%s: is JSON, but no result of xstate (it has no schema)", source);
			goto fail;
		}
		if (!add(r, source, doc)) {
			json_decref(doc);
			snprintf(err, errlen, "%s: memory is short", source);
			goto fail;
		}
		at += error.position; /* bytes taken, so says Jansson's manual for this flag */
	}
	if (r->n > first)
		return 0;
	snprintf(err, errlen, "%s: is empty", source);
	return -1;
fail:
	drop_from(r, first);
	return -1;
}

int results_read(struct results *r, const char *path, char *err, size_t errlen)
{
	const size_t first = r->n;
	char *text;
	size_t len;
	int status;

	if (read_file(path, MOST_BYTES, &text, &len, err, errlen))
		return -1;
	if (results_db_is(text, len) && strcmp(path, "-"))
		status = results_db_read(r, path, err, errlen);
	else
		status = results_parse(r, strcmp(path, "-") ? path : "standard input", text, len,
		                       err, errlen);
	free(text);
	for (size_t i = first; !status && i < r->n; i++)
		status = result_check(&r->list[i], err, errlen);
	if (status)
		drop_from(r, first);
	return status;
}

static bool is_alike(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);

	return x && y ? json_equal(x, y) : x == y;
}

/* A copy from which the boot was taken is one all the same. */
static bool is_boot_alike(const json_t *a, const json_t *b)
{
	const char *x = result_text(a, "boot", NULL), *y = result_text(b, "boot", NULL);

	return !x || !y || !strcmp(x, y);
}

bool results_is_copy(const struct results *r, size_t i)
{
	const struct result *one = &r->list[i];
	const bool run = !strcmp(one->schema, "xstate.bench/1") && result_list(one->doc, "machine");

	for (size_t k = 0; k < i; k++) {
		const json_t *doc = r->list[k].doc;

		if (run ? is_alike(doc, one->doc, "seed") && is_alike(doc, one->doc, "schema") &&
				  is_alike(doc, one->doc, "kind") &&
				  is_boot_alike(doc, one->doc) &&
				  is_alike(doc, one->doc, "machine")
			: json_equal(doc, one->doc))
			return true;
	}
	return false;
}

size_t results_drop_copies(struct results *r)
{
	size_t dropped = 0;

	for (size_t i = 0; i < r->n;) {
		if (!results_is_copy(r, i)) {
			i++;
			continue;
		}
		json_decref(r->list[i].doc);
		free(r->list[i].source);
		memmove(&r->list[i], &r->list[i + 1], (r->n - i - 1) * sizeof(*r->list));
		r->n--;
		dropped++;
	}
	return dropped;
}

void results_free(struct results *r)
{
	drop_from(r, 0);
	free(r->list);
	*r = (struct results){0};
}

bool result_count(const json_t *v, uint64_t *n)
{
	const double x = json_is_real(v) ? json_real_value(v) : -1;

	if (json_is_integer(v) ? json_integer_value(v) < 0 : !(x >= 0 && x <= 0x1p53 && x == floor(x)))
		return false;
	*n = json_is_integer(v) ? (uint64_t)json_integer_value(v) : (uint64_t)x;
	return true;
}

double result_number(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);
	double x = json_is_number(v) ? json_number_value(v) : NAN;

	/* No figure of ours is larger; a chart of such a one would have no scale. */
	return fabs(x) < MOST_NUMBER ? x : NAN;
}

const char *result_text(const json_t *object, const char *key, const char *otherwise)
{
	const json_t *v = json_object_get(object, key);

	return json_is_string(v) ? json_string_value(v) : otherwise;
}

bool result_flag(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

const json_t *result_list(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	return json_is_array(v) || json_is_object(v) ? v : NULL;
}
