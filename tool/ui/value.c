// SPDX-License-Identifier: BSD-2-Clause
/*
 * Arguments as values: numbers, sizes, durations and lists, all or nothing.
 * strtoull() alone would take "-1", " 7" and "12x".
 */
#include "ui/opt.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/ui.h"

/* Digits at the start of @s; what follows is left to the caller. */
static bool leading_u64(const char *s, uint64_t *v, char **end)
{
	bool hex = s[0] == '0' && (s[1] == 'x' || s[1] == 'X');

	if (hex ? !isxdigit((unsigned char)s[2]) : !isdigit((unsigned char)s[0]))
		return false;
	errno = 0;
	*v = strtoull(s, end, hex ? 16 : 10);
	return errno == 0;
}

bool opt_u64(const char *s, uint64_t *v)
{
	uint64_t n;
	char *end;

	if (!leading_u64(s, &n, &end) || *end)
		return false;
	*v = n;
	return true;
}

bool opt_bytes(const char *s, uint64_t *v)
{
	static const struct {
		const char *unit;
		unsigned int shift;
	} units[] = {
		{ "", 0 },     { "B", 0 },    { "k", 10 },   { "K", 10 },  { "KiB", 10 },
		{ "M", 20 },   { "MiB", 20 }, { "G", 30 },   { "GiB", 30 },
	};
	uint64_t n;
	char *end;

	if (!leading_u64(s, &n, &end))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit))
			continue;
		if (n > UINT64_MAX >> units[i].shift)
			return false;
		*v = n << units[i].shift;
		return true;
	}
	return false;
}

/* A decimal number at the start of @s: no sign, no hexadecimal, no "inf". */
static bool leading_f64(const char *s, double *v, char **end)
{
	if (!isdigit((unsigned char)s[0]) || (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')))
		return false;
	*v = strtod(s, end);
	return isfinite(*v);
}

bool opt_ms(const char *s, uint64_t *v)
{
	static const struct {
		const char *unit;
		double ms;
	} units[] = { { "", 1e3 },  { "ms", 1 },    { "s", 1e3 },
		      { "m", 6e4 }, { "min", 6e4 }, { "h", 3.6e6 } };
	double n;
	char *end;

	if (!leading_f64(s, &n, &end))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit))
			continue;
		n *= units[i].ms;
		if (n > 1e15)
			return false;
		*v = (uint64_t)(n + 0.5);
		return true;
	}
	return false;
}

bool opt_f64(const char *s, double *v)
{
	bool negative = s[0] == '-';
	double n;
	char *end;

	if (!leading_f64(s + negative, &n, &end))
		return false;
	if (end[0] == '%' && !end[1])
		n /= 100;
	else if (end[0])
		return false;
	*v = negative ? -n : n;
	return true;
}

bool opt_item(const char **list, char *buf, size_t size)
{
	const char *comma;
	size_t len;

	if (!*list)
		return false;
	comma = strchr(*list, ',');
	len = comma ? (size_t)(comma - *list) : strlen(*list);
	if (!len || len >= size)
		return false;
	memcpy(buf, *list, len);
	buf[len] = '\0';
	*list = comma ? comma + 1 : NULL;
	return true;
}

/* @unit follows both limits, " ms" say; @what is what is wanted, with an example. */
static bool get(struct opt_parser *p, bool ok, uint64_t got, uint64_t min, uint64_t max,
		const char *what, const char *unit, uint64_t *v)
{
	char wants[160];

	if (ok && got >= min && got <= max) {
		*v = got;
		return true;
	}
	if (max == UINT64_MAX)
		snprintf(wants, sizeof(wants), min ? "%s of at least %" PRIu64 "%s" : "%s", what,
			 min, unit);
	else
		snprintf(wants, sizeof(wants), "%s from %" PRIu64 " to %" PRIu64 "%s", what, min,
			 max, unit);
	opt_bad(p, wants);
	return false;
}

bool opt_get_u64(struct opt_parser *p, uint64_t min, uint64_t max, uint64_t *v)
{
	uint64_t got = 0;
	bool ok = opt_u64(p->arg, &got);

	return get(p, ok, got, min, max, "a number", "", v);
}

bool opt_get_bytes(struct opt_parser *p, uint64_t min, uint64_t max, uint64_t *v)
{
	uint64_t got = 0;
	bool ok = opt_bytes(p->arg, &got);

	return get(p, ok, got, min, max, "a size (4096, 64k, 2M)", " bytes", v);
}

bool opt_get_ms(struct opt_parser *p, uint64_t min, uint64_t max, uint64_t *v)
{
	uint64_t got = 0;
	bool ok = opt_ms(p->arg, &got);

	return get(p, ok, got, min, max, "a duration (500ms, 3s, 2min)", " ms", v);
}
