/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * snip.def as data: the bytes the assembler made of each piece.
 */
#ifndef TOOL_BENCH_SNIP_H
#define TOOL_BENCH_SNIP_H

#include <stddef.h>
#include <stdint.h>

enum snip {
	SNIP_NONE, /* nothing; zero bytes */
#define SNIP(name, text) SNIP_##name,
#include "snip.def"
#undef SNIP
	SNIP_COUNT
};

/**
 * snip_bytes() - the machine code of a piece.
 * @snip: which one.
 * @n:	  out, how many bytes.
 *
 * Return: the bytes; not NULL, also when there are none.
 */
const uint8_t *snip_bytes(enum snip snip, size_t *n);

/**
 * snip_text() - the piece as assembly, for messages.
 */
const char *snip_text(enum snip snip);

#endif
