// SPDX-License-Identifier: BSD-2-Clause
/* Results of ours, as they are read. */
#ifdef HAVE_JANSSON
#include "sim/load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "read/json_why.h"

json_t *sim_load(const char *path, bool dash, const char *schema, const char *what, char *err,
		 size_t errlen)
{
	FILE *f = dash && !strcmp(path, "-") ? stdin : fopen(path, "re");
	const char *name = f == stdin ? "standard input" : path, *is;
	int failed = errno, after;
	json_error_t why;
	json_t *doc;

	if (!f) {
		snprintf(err, errlen, "%s: %s", name, strerror(failed));
		return NULL;
	}
	errno = 0;
	doc = json_loadf(f, JSON_DISABLE_EOF_CHECK, &why);
	do
		after = fgetc(f);
	while (after == ' ' || after == '\n' || after == '\r' || after == '\t');
	failed = ferror(f) ? errno : 0;
	is = json_string_value(json_object_get(doc, "schema"));
	if (f != stdin)
		fclose(f);
	if (failed)
		snprintf(err, errlen, "%s: %s", name, strerror(failed));
	else if (!doc && !why.position)
		snprintf(err, errlen, "%s: empty, not %s", name, what);
	else if (!doc)
		snprintf(err, errlen, "%s: not %s: line %d: %s", name, what, why.line,
			 json_why(&why, '{'));
	else if (!is || strcmp(is, schema))
		snprintf(err, errlen, "%s: not %s", name, what);
	else if (after != EOF)
		snprintf(err, errlen, "%s: more than one document, and one is wanted", name);
	else
		return doc;
	json_decref(doc);
	return NULL;
}
#else
typedef int no_jansson; /* a file of C declares something */
#endif
