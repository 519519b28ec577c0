// SPDX-License-Identifier: BSD-2-Clause
/* Numbers in words. See number.h. */
#include "ui/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MORE      2   /* digits, to tell two ends apart */
#define PLACES    9   /* behind the point, at most */
#define MOST      1e15
#define END_TEXT  28

/* Places behind the point for @digits that count, once @x is rounded to them: 0.0996 is 0.10. */
static int places_of(double x, unsigned digits)
{
	char text[40];
	const char *e;
	int n;

	if (!digits || x == 0)
		return 0;
	snprintf(text, sizeof(text), "%.*e", (int)digits - 1, x);
	e = strchr(text, 'e');
	n = (int)digits - 1 - (e ? atoi(e + 1) : 0);
	return n < 0 ? 0 : n > PLACES ? PLACES : n;
}

static void put(char buf[END_TEXT], double x, unsigned digits, int more)
{
	if (!isfinite(x))
		snprintf(buf, END_TEXT, "?");
	else if (fabs(x) >= MOST)
		snprintf(buf, END_TEXT, "%.3g", x);
	else
		snprintf(buf, END_TEXT, "%.*f", places_of(x, digits) + more, x);
	/* What rounds to nothing has no sign. */
	if (buf[0] == '-' && strspn(buf + 1, "0.") == strlen(buf + 1))
		memmove(buf, buf + 1, strlen(buf));
}

const char *number_text(char buf[NUMBER_TEXT], double x, unsigned digits)
{
	char one[END_TEXT];

	put(one, x, digits, 0);
	snprintf(buf, NUMBER_TEXT, "%s", one);
	return buf;
}

const char *range_text(char buf[NUMBER_TEXT], double low, double high, const char *between,
		       unsigned digits)
{
	char a[END_TEXT], b[END_TEXT];

	for (int more = 0; more <= MORE; more++) {
		put(a, low, digits, more);
		put(b, high, digits, more);
		if (low == high)
			break;
		if (strcmp(a, b)) {
			snprintf(buf, NUMBER_TEXT, "%s%.5s%s", a, between, b);
			return buf;
		}
	}
	/* As it would be alone. */
	return number_text(buf, low, digits);
}
