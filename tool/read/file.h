/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading a whole input file into memory, with a limit, so that a device or a wrong path ends in a
 * sentence and not in an exhausted machine.
 */
#ifndef READ_FILE_H
#define READ_FILE_H

#include <stddef.h>

/**
 * read_file() - all bytes of @path ("-": standard input).
 * @max:    more bytes than this are refused.
 * @buf:    out, malloc'ed, one 0 byte behind the contents; NULL on error.
 * @len:    out, bytes.
 * @err:    out, one sentence without a full stop on error.
 * @errlen: bytes at @err.
 *
 * Return: 0 or -1.
 */
int read_file(const char *path, size_t max, char **buf, size_t *len, char *err, size_t errlen);

#endif
