// SPDX-License-Identifier: BSD-2-Clause
/* Reading results. Jansson parses; here is what makes a document one of ours. */
#include "read/results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/file.h"
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
			snprintf(err, errlen, "%s: not JSON: line %d: %.100s", source, error.line,
			         error.text);
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
	for (char *c = err; *c; c++) /* Jansson quotes what it met, line ends and all */
		if ((unsigned char)*c < 0x20)
			*c = ' ';
	drop_from(r, first);
	return -1;
}

int results_read(struct results *r, const char *path, char *err, size_t errlen)
{
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
	return status;
}

void results_free(struct results *r)
{
	drop_from(r, 0);
	free(r->list);
	*r = (struct results){0};
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
