/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program on a bare PC under QEMU needs beside the library: the two functions that it and the
 * compiler may call, the serial port, and an end. Included once.
 */
#ifndef BARE_H
#define BARE_H

#include <stddef.h>
#include <stdint.h>

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
void *memcpy(void *to, const void *from, size_t n)
{
	void *ret = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
	return ret;
}

void *memset(void *to, int c, size_t n)
{
	void *ret = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(c) : "memory");
	return ret;
}

static inline void outb(uint16_t port, uint8_t v)
{
	__asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}

static inline void print(const char *text)
{
	while (*text)
		outb(0x3f8, (uint8_t)*text++);
}

/* QEMU's isa-debug-exit ends with status 2 * code + 1; without it the program stops here. */
static _Noreturn void end(const char *text, uint8_t code)
{
	print(text);
	print("\n");
	outb(0xf4, code);
	for (;;)
		__asm__ volatile("cli; hlt");
}

#endif
