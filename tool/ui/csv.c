// SPDX-License-Identifier: BSD-2-Clause
/* Cells of CSV. See csv.h. */
#include "ui/csv.h"

#include <math.h>

void csv_text(FILE *out, const char *s)
{
	fputc('"', out);
	if (*s == '=' || *s == '+' || *s == '-' || *s == '@')
		fputc('\'', out);
	for (; *s; s++) {
		if (*s == '"')
			fputc('"', out);
		fputc((unsigned char)*s < 0x20 ? ' ' : *s, out);
	}
	fputc('"', out);
}

void csv_number(FILE *out, double x)
{
	if (isfinite(x))
		fprintf(out, "%.9g", x);
}
