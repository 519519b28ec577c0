/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text from files and command lines may hold anything. Reading it code point by
 * code point here keeps broken bytes and terminal escapes out of tables and JSON.
 */
#ifndef UI_UTF8_H
#define UI_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/**
 * utf8_next() - the code point at *@s, moving *@s behind it.
 *
 * Return: the code point; U+FFFD for each byte that is not part of valid UTF-8
 *         (overlong forms and surrogates included); 0 at the end.
 */
uint32_t utf8_next(const char **s);

/**
 * utf8_put() - write @c to @out.
 */
void utf8_put(FILE *out, uint32_t c);

/**
 * utf8_width() - columns that @c takes on a terminal.
 */
size_t utf8_width(uint32_t c);

/**
 * utf8_columns() - columns that @s takes on a terminal.
 */
size_t utf8_columns(const char *s);

/**
 * utf8_print() - write @s up to byte @len, control characters shown as U+FFFD.
 */
void utf8_print(FILE *out, const char *s, size_t len);

#endif
