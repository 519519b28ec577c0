// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads standard input, which must be one or more JSON objects, one after the other,
 * each with a "schema". A reader that is not our writer.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
	unsigned count = 0;
	int c;

	for (;;) {
		json_error_t error;
		json_t *o;

		while ((c = getchar()) == '\n')
			continue;
		if (c == EOF)
			break;
		ungetc(c, stdin);
		o = json_loadf(stdin, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &error);
		if (!o) {
			fprintf(stderr, "not JSON: line %d: %s\n", error.line, error.text);
			return 1;
		}
		if (!json_is_object(o) || !json_is_string(json_object_get(o, "schema"))) {
			fprintf(stderr, "no object with a schema\n");
			json_decref(o);
			return 1;
		}
		json_decref(o);
		count++;
	}
	if (!count)
		fprintf(stderr, "nothing to read\n");
	return count ? 0 : 1;
}
