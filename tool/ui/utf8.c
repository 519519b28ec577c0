// SPDX-License-Identifier: BSD-2-Clause
/*
 * UTF-8 in and out, and how wide it looks. The width table is deliberately
 * coarse (combining marks 0, East Asian and emoji blocks 2, all else 1): enough
 * to keep columns straight without depending on the process's locale.
 */
#include "ui/utf8.h"

#define REPLACEMENT 0xfffdu

uint32_t utf8_next(const char **s)
{
	const unsigned char *p = (const unsigned char *)*s;
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	uint32_t c = *p;
	int more;

	if (c < 0x80) {
		*s += c != 0;
		return c;
	}
	if (c >= 0xc2 && c < 0xe0) {
		more = 1;
		c &= 0x1f;
	} else if (c >= 0xe0 && c < 0xf0) {
		more = 2;
		c &= 0x0f;
	} else if (c >= 0xf0 && c < 0xf5) {
		more = 3;
		c &= 0x07;
	} else {
		*s += 1;
		return REPLACEMENT;
	}
	for (int i = 1; i <= more; i++) {
		if ((p[i] & 0xc0) != 0x80) {
			*s += 1;
			return REPLACEMENT;
		}
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
		*s += 1;
		return REPLACEMENT;
	}
	*s += more + 1;
	return c;
}

void utf8_put(FILE *out, uint32_t c)
{
	if (c < 0x80) {
		fputc((int)c, out);
		return;
	}
	if (c < 0x800) {
		fputc((int)(0xc0 | c >> 6), out);
	} else {
		if (c < 0x10000) {
			fputc((int)(0xe0 | c >> 12), out);
		} else {
			fputc((int)(0xf0 | c >> 18), out);
			fputc((int)(0x80 | (c >> 12 & 0x3f)), out);
		}
		fputc((int)(0x80 | (c >> 6 & 0x3f)), out);
	}
	fputc((int)(0x80 | (c & 0x3f)), out);
}

size_t utf8_width(uint32_t c)
{
	static const struct {
		uint32_t from, to;
		size_t columns;
	} odd[] = {
		{ 0x0300, 0x036f, 0 },   { 0x200b, 0x200f, 0 },   { 0xfe00, 0xfe0f, 0 },
		{ 0x1100, 0x115f, 2 },   { 0x2e80, 0xa4cf, 2 },   { 0xac00, 0xd7a3, 2 },
		{ 0xf900, 0xfaff, 2 },   { 0xfe30, 0xfe6f, 2 },   { 0xff00, 0xff60, 2 },
		{ 0x1f300, 0x1faff, 2 }, { 0x20000, 0x3fffd, 2 },
	};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		if (c >= odd[i].from && c <= odd[i].to)
			return odd[i].columns;
	return 1;
}

size_t utf8_columns(const char *s)
{
	size_t columns = 0;
	uint32_t c;

	while ((c = utf8_next(&s)) != 0)
		columns += utf8_width(c);
	return columns;
}

void utf8_print(FILE *out, const char *s, size_t len)
{
	const char *end = s + len;
	uint32_t c;

	while (s < end && (c = utf8_next(&s)) != 0) {
		if (c < 0x20 || (c >= 0x7f && c < 0xa0))
			c = REPLACEMENT;
		utf8_put(out, c);
	}
}
