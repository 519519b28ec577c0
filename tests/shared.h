/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where test data lies: the large collection beside the project (XST_SHARED names another place)
 * when it is there, else the small part of it in tests/data.
 */
#ifndef TESTS_SHARED_H
#define TESTS_SHARED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The path of @name ("cpuid/expected.tsv"), which exists; NULL when neither place has it. */
static inline const char *shared_path(const char *name, char *buf, size_t size)
{
	const char *shared = getenv("XST_SHARED");
	int i;

	for (i = 0; i < 2; i++) {
		if (i == 0 && shared)
			snprintf(buf, size, "%s/%s", shared, name);
		else if (i == 0)
			snprintf(buf, size, XST_SOURCE_ROOT "/../shared/%s", name);
		else
			snprintf(buf, size, XST_SOURCE_ROOT "/tests/data/%s", name);
		if (!access(buf, R_OK))
			return buf;
	}
	return NULL;
}

/* Split a line at tabs in place; returns the number of fields. */
static inline int split_tabs(char *line, char **field, int max)
{
	int n = 0;

	line[strcspn(line, "\n")] = '\0';
	while (n < max) {
		field[n++] = line;
		line = strchr(line, '\t');
		if (!line)
			break;
		*line++ = '\0';
	}
	return n;
}

#endif
