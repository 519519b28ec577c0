/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small streaming JSON writer. It exists because a 64-bit mask must leave
 * exactly as it is (a hex string), which JSON numbers cannot promise. What it
 * emits is always well-formed: misuse by the caller aborts, bad text is repaired.
 * (Reading JSON is Jansson's work; jw_ keeps clear of its json_ names.)
 */
#ifndef UI_JSON_H
#define UI_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JW_DEPTH_MAX 32

struct jw {
	FILE *out;
	bool pretty;
	int depth;
	char close[JW_DEPTH_MAX]; /* '}' or ']' for each open level */
	bool filled[JW_DEPTH_MAX + 1];
};

/*
 * In an object every call takes the key; in an array and at the top it is NULL.
 *
 *     jw_begin(&w, stdout, ui.pretty);
 *     jw_object(&w, NULL);
 *     jw_string(&w, "schema", "xstate.cpu/1");
 *     jw_mask(&w, "xcr0_supported", 0x602e7);
 *     jw_array(&w, "components");
 *     ...
 *     jw_end(&w);
 *     jw_end(&w);
 *     jw_finish(&w);
 */
void jw_begin(struct jw *w, FILE *out, bool pretty);
void jw_object(struct jw *w, const char *key);
void jw_array(struct jw *w, const char *key);
void jw_end(struct jw *w); /* closes the innermost object or array */

void jw_string(struct jw *w, const char *key, const char *s); /* NULL writes null */
void jw_u64(struct jw *w, const char *key, uint64_t v);
void jw_i64(struct jw *w, const char *key, int64_t v);
void jw_f64(struct jw *w, const char *key, double v); /* NaN and infinities write null */
void jw_bool(struct jw *w, const char *key, bool v);
void jw_null(struct jw *w, const char *key);
void jw_mask(struct jw *w, const char *key, uint64_t v); /* "0x..." */

/**
 * jw_finish() - end the document with a newline; everything must be closed.
 *
 * A further document may follow on the same writer: one per line is what a
 * verb prints that answers several questions.
 */
void jw_finish(struct jw *w);

#endif
