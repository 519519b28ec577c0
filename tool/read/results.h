/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Our own results read again: files with one or more JSON documents of the kinds that xstate bench
 * and xstate lab write. They come from other people's machines, so nothing in them is believed: a
 * value of the wrong type reads as missing.
 */
#ifndef READ_RESULTS_H
#define READ_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct result {
	json_t *doc;        /* an object with a string "schema" */
	const char *schema; /* "xstate.bench/1" */
	const char *kind;   /* "insn"; "" where the schema has none */
	char *source;       /* the file it came from */
};

struct results {
	struct result *list;
	size_t n;
};

/**
 * results_parse() - add all documents in some bytes.
 * @r:	    added to; begin with zeros.
 * @source: what to call them.
 * @err:    out, one sentence without a full stop on error.
 *
 * Documents may follow each other with or without a newline. Of a text that is broken somewhere
 * nothing is added.
 *
 * Return: 0 or -1.
 */
int results_parse(struct results *r, const char *source, const char *text, size_t len, char *err,
                  size_t errlen);

/**
 * results_read() - add all documents of a file ("-": standard input).
 */
int results_read(struct results *r, const char *path, char *err, size_t errlen);

/**
 * result_check() - has a document what its schema promises, as far as it is shown or joined here?
 * @err: out, one sentence without a full stop when it has not.
 *
 * A schema that is none of docs/json.md's results has no promises. results_read() refuses what
 * breaks them: what is missing would otherwise read as nothing found.
 *
 * Return: 0 or -1.
 */
int result_check(const struct result *r, char *err, size_t errlen);

/**
 * result_check_sim() - can the sums of an xstate.sim/1 be those of a trace or of pieces of one? Part
 * of result_check(), which comes first to what they must be by type.
 */
int result_check_sim(const struct result *r, char *err, size_t errlen);

/**
 * results_is_copy() - does document @i say again what one before it says: the same run of a
 * benchmark (by seed, machine with date, and boot), or anything else word by word?
 */
bool results_is_copy(const struct results *r, size_t i);

/**
 * results_drop_copies() - leave out what is a copy.
 *
 * Return: how many were.
 */
size_t results_drop_copies(struct results *r);

/**
 * results_free() - give everything back.
 */
void results_free(struct results *r);

/**
 * result_count() - a whole number from 0 on that is exact; other programs may have written 1000 as 1e3.
 *
 * Return: false when it is something else.
 */
bool result_count(const json_t *v, uint64_t *n);

/**
 * result_number() - a number of an object, NAN when it is missing or something else.
 * result_text() - a string, or @otherwise.
 * result_flag() - a boolean, false when missing.
 * result_list() - an array or object, NULL when missing or a scalar.
 * @object: may be NULL.
 */
double result_number(const json_t *object, const char *key);
const char *result_text(const json_t *object, const char *key, const char *otherwise);
bool result_flag(const json_t *object, const char *key);
const json_t *result_list(const json_t *object, const char *key);

#endif
