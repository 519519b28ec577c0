/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Results in an SQLite file, for those who keep many: one table of runs, each with its document.
 * Reading one is part of results_read().
 */
#ifndef READ_RESULTS_DB_H
#define READ_RESULTS_DB_H

#include <stdbool.h>
#include <stddef.h>

#include "read/results.h"

/**
 * results_db_is() - do these bytes begin an SQLite file?
 */
bool results_db_is(const char *bytes, size_t len);

/**
 * results_db_add() - add a document to @path, which is made when it is not there.
 * @text: the document as JSON.
 *
 * The whole document or nothing is added, whoever else writes at the same time.
 *
 * Return: 0, or -1 and one sentence in @err.
 */
int results_db_add(const char *path, const char *text, char *err, size_t errlen);

/**
 * results_db_check() - would results_db_add() work? Changes nothing, for asking before long work.
 */
int results_db_check(const char *path, char *err, size_t errlen);

/**
 * results_db_read() - all documents of @path, in the order they were added.
 */
int results_db_read(struct results *r, const char *path, char *err, size_t errlen);

#endif
