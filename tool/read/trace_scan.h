/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding one's way in a line of text, at millions of lines a second: most of a line is blanks,
 * digits and the names of fields, so these are taken eight or sixteen bytes at a time. Little
 * endian, as the CPUs this is about. No byte at or behind an @end or @limit is looked at.
 */
#ifndef READ_TRACE_SCAN_H
#define READ_TRACE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "read/trace.h"

#define EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

static inline uint64_t eight_bytes(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The first byte that is no blank, or @end. */
static inline __attribute__((always_inline)) const char *
skip_blanks(const char *p, const char *end)
{
	for (; end - p >= 8; p += 8) {
		const uint64_t other = eight_bytes(p) ^ EACH_BYTE(' ');

		if (other)
			return p + ((unsigned)__builtin_ctzll(other) >> 3);
	}
	while (p < end && *p == ' ')
		p++;
	return p;
}

/* The first @c, which is near; for what may be far there is memchr(). */
static inline const char *near_byte(const char *p, const char *end, char c)
{
#ifdef __SSE2__
	const __m128i wanted = _mm_set1_epi8(c);

	for (; end - p >= 16; p += 16) {
		const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
		const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted));

		if (found)
			return p + __builtin_ctz((unsigned)found);
	}
#endif
	return p < end ? memchr(p, c, (size_t)(end - p)) : NULL;
}

/* The last one, from the end. */
static inline const char *near_byte_before(const char *p, const char *end, char c)
{
#ifdef __SSE2__
	const __m128i wanted = _mm_set1_epi8(c);

	for (; end - p >= 16; end -= 16) {
		const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(end - 16));
		const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, wanted));

		if (found)
			return end - 16 + (31 - __builtin_clz((unsigned)found));
	}
#endif
	return p < end ? memrchr(p, c, (size_t)(end - p)) : NULL;
}

/* The top bit of each byte above 9. */
static inline uint64_t no_digits(uint64_t digits)
{
	const uint64_t above = (digits & EACH_BYTE(0x7f)) + EACH_BYTE(0x80 - 10);

	return (above | digits) & EACH_BYTE(0x80);
}

/* Eight digits, of which the first is the lowest byte: pairs, pairs of pairs, then both halves. */
static inline uint32_t decimal(uint64_t digits)
{
	const uint64_t pairs = 0x000000ff000000ff;

	digits = digits * 10 + (digits >> 8);
	digits = (digits & pairs) * (100 + (UINT64_C(1000000) << 32)) +
		 (digits >> 16 & pairs) * (1 + (UINT64_C(10000) << 32));
	return (uint32_t)(digits >> 32);
}

/* How many digits begin at @p, and their number if there are any; 8 when there may be 8 or more. */
static inline unsigned few_digits(const char *p, const char *end, uint64_t *v)
{
	uint64_t digits, others;
	unsigned n;

	if (end - p < 8)
		return 8;
	digits = eight_bytes(p) ^ EACH_BYTE('0');
	others = no_digits(digits);
	if (!others)
		return 8;
	n = (unsigned)__builtin_ctzll(others) >> 3;
	if (!n)
		return 0;
	*v = decimal(digits << (64 - 8 * n));
	return n;
}

/* The same for those that end at @end. */
static inline unsigned few_digits_before(const char *p, const char *end, uint64_t *v)
{
	uint64_t digits, others;
	unsigned n;

	if (end - p < 8)
		return 8;
	digits = eight_bytes(end - 8) ^ EACH_BYTE('0');
	others = no_digits(digits);
	if (!others)
		return 8;
	n = (unsigned)__builtin_clzll(others) >> 3;
	if (!n)
		return 0;
	*v = decimal(digits >> (64 - 8 * n) << (64 - 8 * n));
	return n;
}

/* A number one digit after the other: a long one, or at the end of a line. */
static inline bool number_by_digits(const char **p, const char *end, uint64_t max, uint64_t *v)
{
	const char *s = *p;
	uint64_t n = 0;

	if (s == end || !is_digit(*s))
		return false;
	while (s < end && is_digit(*s)) {
		n = n * 10 + (uint64_t)(*s++ - '0');
		if (n > max)
			return false;
	}
	*p = s;
	*v = n;
	return true;
}

/* A decimal number; false, and *@p stays, when there is none or it does not fit. */
static inline bool number(const char **p, const char *end, uint64_t max, uint64_t *v)
{
	const unsigned few = few_digits(*p, end, v);

	if (few == 8)
		return number_by_digits(p, end, max, v);
	if (!few || *v > max)
		return false;
	*p += few;
	return true;
}

/* Where the digits that end at @end begin; *@v is their number, or UINT64_MAX beyond 32 bits. */
static inline const char *number_before(const char *begin, const char *end, uint64_t *v)
{
	const unsigned few = few_digits_before(begin, end, v);
	const char *s = end, *p;

	if (few < 8)
		return end - few;
	while (s > begin && is_digit(s[-1]))
		s--;
	p = s;
	if (!number_by_digits(&p, end, UINT32_MAX, v))
		*v = UINT64_MAX;
	return s;
}

/*
 * The first and the last @key; @rare is a byte of it that a line has few of. Both are constants, so
 * that lengths and places are known when this is compiled.
 */
static inline __attribute__((always_inline)) const char *
find(const char *p, const char *end, const char *key, char rare)
{
	const size_t len = strlen(key), at = (size_t)(strchr(key, rare) - key);
	const char *s;

	for (; end - p >= (ptrdiff_t)len; p = s - at + 1) {
		s = near_byte(p + at, end - (len - at) + 1, rare);
		if (!s)
			break;
		if (!memcmp(s - at, key, len))
			return s - at;
	}
	return NULL;
}

static inline __attribute__((always_inline)) const char *
find_last(const char *p, const char *end, const char *key, char rare)
{
	const size_t len = strlen(key), at = (size_t)(strchr(key, rare) - key);
	const char *s;

	for (; end - p >= (ptrdiff_t)len; end = s - at + len - 1) {
		s = near_byte_before(p + at, end - (len - at) + 1, rare);
		if (!s)
			break;
		if (!memcmp(s - at, key, len))
			return s - at;
	}
	return NULL;
}

/*
 * As much of a name that ends at @end as is kept, and zeros; its line ends at @limit: where there
 * are so many bytes, they are all taken, and those that are no longer the name's are masked.
 */
static inline void copy_name(char name[TRACE_COMM], const char *p, const char *end,
			     const char *limit)
{
	size_t n = end > p ? (size_t)(end - p) : 0;

	if (n >= TRACE_COMM)
		n = TRACE_COMM - 1;
	if (limit - p >= TRACE_COMM) {
		static const uint8_t keep[2 * TRACE_COMM] = {
			0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		};
		uint64_t bytes[2], mask[2];

		memcpy(bytes, p, sizeof(bytes));
		memcpy(mask, keep + TRACE_COMM - n, sizeof(mask));
		bytes[0] &= mask[0];
		bytes[1] &= mask[1];
		memcpy(name, bytes, sizeof(bytes));
		return;
	}
	memcpy(name, p, n);
	memset(name + n, 0, TRACE_COMM - n);
}

#endif
