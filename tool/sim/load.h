/* SPDX-License-Identifier: BSD-2-Clause */
/* A result of ours is read: JSON of one schema. Where there is Jansson. */
#ifndef SIM_LOAD_H
#define SIM_LOAD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * sim_load() - the document in @path.
 * @dash:   "-" is standard input.
 * @schema: what it must say it is.
 * @what:   the same in words: "a result of xstate sim -j".
 * @err:    out, when it is none: one sentence.
 *
 * Return: the caller's, or NULL.
 */
json_t *sim_load(const char *path, bool dash, const char *schema, const char *what, char *err,
		 size_t errlen);

#endif
