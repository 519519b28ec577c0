// SPDX-License-Identifier: BSD-2-Clause
/* The three functions that a compiler may call without being asked. */
#include <stddef.h>
#include <stdint.h>

void *memset(void *to, int value, size_t bytes);
void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);

void *memset(void *to, int value, size_t bytes)
{
	void *at = to;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(bytes) : "a"(value) : "memory");
	return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
	void *at = to;

	__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(bytes) : : "memory");
	return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
	const uint8_t *x = a, *y = b;

	for (; bytes; bytes--, x++, y++) {
		if (*x != *y)
			return *x - *y;
	}
	return 0;
}
