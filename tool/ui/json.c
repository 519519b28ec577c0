// SPDX-License-Identifier: BSD-2-Clause
/*
 * The streaming JSON writer. No buffer of its own: every call writes what it
 * says, and the stack of open levels knows commas, indentation and misuse.
 */
#include "ui/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ui/utf8.h"

/* A caller that breaks the structure is a bug of ours; invalid JSON must not leave. */
static void jw_require(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "xstate: internal error: JSON writer: %s\n", what);
	abort();
}

static void jw_text(FILE *out, const char *s)
{
	uint32_t c;

	fputc('"', out);
	while ((c = utf8_next(&s)) != 0) {
		if (c == '"' || c == '\\') {
			fputc('\\', out);
			fputc((int)c, out);
		} else if (c == '\n') {
			fputs("\\n", out);
		} else if (c == '\t') {
			fputs("\\t", out);
		} else if (c < 0x20 || c == 0x7f) {
			fprintf(out, "\\u%04x", (unsigned)c);
		} else {
			utf8_put(out, c);
		}
	}
	fputc('"', out);
}

static void jw_newline(const struct jw *w)
{
	if (!w->pretty)
		return;
	fputc('\n', w->out);
	for (int i = 0; i < w->depth; i++)
		fputs("  ", w->out);
}

/* Everything that comes before a value: comma, indentation, key. */
static void jw_value(struct jw *w, const char *key)
{
	bool in_object = w->depth && w->close[w->depth - 1] == '}';

	jw_require(in_object == (key != NULL), in_object ? "a key is missing" : "stray key");
	jw_require(w->depth || !w->filled[0], "two values at the top");
	if (w->filled[w->depth])
		fputc(',', w->out);
	w->filled[w->depth] = true;
	if (w->depth)
		jw_newline(w);
	if (key) {
		jw_text(w->out, key);
		fputs(w->pretty ? ": " : ":", w->out);
	}
}

static void jw_open(struct jw *w, const char *key, char open, char close)
{
	jw_value(w, key);
	jw_require(w->depth < JW_DEPTH_MAX, "too deep");
	fputc(open, w->out);
	w->close[w->depth++] = close;
	w->filled[w->depth] = false;
}

void jw_begin(struct jw *w, FILE *out, bool pretty)
{
	memset(w, 0, sizeof(*w));
	w->out = out;
	w->pretty = pretty;
}

void jw_object(struct jw *w, const char *key)
{
	jw_open(w, key, '{', '}');
}

void jw_array(struct jw *w, const char *key)
{
	jw_open(w, key, '[', ']');
}

void jw_end(struct jw *w)
{
	bool filled;

	jw_require(w->depth > 0, "nothing to close");
	filled = w->filled[w->depth];
	w->depth--;
	if (filled)
		jw_newline(w);
	fputc(w->close[w->depth], w->out);
}

void jw_string(struct jw *w, const char *key, const char *s)
{
	if (!s) {
		jw_null(w, key);
		return;
	}
	jw_value(w, key);
	jw_text(w->out, s);
}

void jw_u64(struct jw *w, const char *key, uint64_t v)
{
	jw_value(w, key);
	fprintf(w->out, "%" PRIu64, v);
}

void jw_i64(struct jw *w, const char *key, int64_t v)
{
	jw_value(w, key);
	fprintf(w->out, "%" PRId64, v);
}

void jw_f64(struct jw *w, const char *key, double v)
{
	char digits[40];

	if (!isfinite(v)) {
		jw_null(w, key);
		return;
	}
	/* The shortest form that reads back as the same double. */
	for (int precision = 6; precision <= 17; precision++) {
		snprintf(digits, sizeof(digits), "%.*g", precision, v);
		if (strtod(digits, NULL) == v)
			break;
	}
	jw_value(w, key);
	fputs(digits, w->out);
}

void jw_bool(struct jw *w, const char *key, bool v)
{
	jw_value(w, key);
	fputs(v ? "true" : "false", w->out);
}

void jw_null(struct jw *w, const char *key)
{
	jw_value(w, key);
	fputs("null", w->out);
}

void jw_mask(struct jw *w, const char *key, uint64_t v)
{
	jw_value(w, key);
	fprintf(w->out, "\"0x%" PRIx64 "\"", v);
}

void jw_finish(struct jw *w)
{
	jw_require(w->depth == 0, "not everything is closed");
	jw_require(w->filled[0], "an empty document");
	fputc('\n', w->out);
	w->filled[0] = false;
}
