// SPDX-License-Identifier: BSD-2-Clause
/*
 * Laying out and printing tables. Text is measured in terminal columns, not in
 * bytes, and printed through utf8_print() so that nothing from an input file can
 * reach the terminal as an escape sequence.
 */
#include "ui/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ui/utf8.h"

#define COLUMNS_MAX 24
#define GAP         2

struct cell {
	char *text;
	enum ui_style style;
};

struct row {
	bool group; /* one heading cell instead of a row */
	struct cell cells[COLUMNS_MAX];
};

struct table {
	int columns;
	char *head[COLUMNS_MAX];
	enum table_align align[COLUMNS_MAX];
	struct row *rows;
	size_t row_count, row_room;
	int next; /* column of the next cell */
};

static void *must(void *p)
{
	if (!p) {
		fputs("xstate: out of memory\n", stderr);
		exit(UI_USAGE);
	}
	return p;
}

static char *format(const char *fmt, va_list ap)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	return must(text);
}

struct table *table_new(void)
{
	return must(calloc(1, sizeof(struct table)));
}

void table_free(struct table *t)
{
	if (!t)
		return;
	for (int c = 0; c < t->columns; c++)
		free(t->head[c]);
	for (size_t r = 0; r < t->row_count; r++)
		for (int c = 0; c < COLUMNS_MAX; c++)
			free(t->rows[r].cells[c].text);
	free(t->rows);
	free(t);
}

void table_column(struct table *t, const char *head, enum table_align align)
{
	if (t->columns == COLUMNS_MAX || t->row_count)
		abort();
	t->head[t->columns] = must(strdup(head));
	t->align[t->columns] = align;
	t->columns++;
}

static struct row *new_row(struct table *t)
{
	struct row *row;

	if (t->row_count == t->row_room) {
		t->row_room = t->row_room ? 2 * t->row_room : 16;
		t->rows = must(realloc(t->rows, t->row_room * sizeof(*t->rows)));
	}
	row = &t->rows[t->row_count++];
	memset(row, 0, sizeof(*row));
	return row;
}

static void add_cell(struct table *t, enum ui_style style, char *text)
{
	struct row *row = t->next ? &t->rows[t->row_count - 1] : new_row(t);

	row->cells[t->next].text = text;
	row->cells[t->next].style = style;
	t->next = (t->next + 1) % t->columns;
}

void table_cell(struct table *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_cell(t, UI_PLAIN, format(fmt, ap));
	va_end(ap);
}

void table_cell_styled(struct table *t, enum ui_style style, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_cell(t, style, format(fmt, ap));
	va_end(ap);
}

void table_cell_or(struct table *t, const char *otherwise, bool known, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (known)
		add_cell(t, UI_PLAIN, format(fmt, ap));
	else
		table_cell(t, "%s", otherwise);
	va_end(ap);
}

void table_group(struct table *t, const char *fmt, ...)
{
	struct row *row;
	va_list ap;

	if (t->next)
		abort();
	row = new_row(t);
	row->group = true;
	va_start(ap, fmt);
	row->cells[0].text = format(fmt, ap);
	va_end(ap);
}

/*
 * The end of the piece of @s that fits into @width columns, broken at a blank when
 * there is one; at least one character, so that every call gets further.
 */
static const char *wrap_at(const char *s, size_t width)
{
	const char *p = s, *blank = NULL, *before = s;
	size_t used = 0;
	uint32_t c;

	for (;;) {
		before = p;
		if (*p == ' ')
			blank = p;
		c = utf8_next(&p);
		if (!c)
			return before;
		used += utf8_width(c);
		if (used > width)
			return blank && blank > s ? blank : before > s ? before : p;
	}
}

static void pad(FILE *out, size_t columns)
{
	while (columns--)
		fputc(' ', out);
}

static size_t columns_in(const char *s, size_t len)
{
	char *copy = must(strndup(s, len));
	size_t n = utf8_columns(copy);

	free(copy);
	return n;
}

static void print_row(const struct table *t, FILE *out, const size_t *width,
		      const struct cell *cells)
{
	const char *rest[COLUMNS_MAX];
	bool more = true;

	for (int c = 0; c < t->columns; c++)
		rest[c] = cells[c].text ? cells[c].text : "";
	while (more) {
		size_t owed = 0; /* blanks not printed yet: none are left at a line's end */

		more = false;
		for (int c = 0; c < t->columns; c++) {
			const char *end = wrap_at(rest[c], width[c]);
			size_t len = (size_t)(end - rest[c]);
			size_t spare = width[c] - columns_in(rest[c], len);

			if (t->align[c] == TABLE_RIGHT)
				owed += spare;
			if (len) {
				pad(out, owed);
				owed = 0;
				fputs(ui_on(out, cells[c].style), out);
				utf8_print(out, rest[c], len);
				fputs(ui_off(out, cells[c].style), out);
			}
			if (t->align[c] != TABLE_RIGHT)
				owed += spare;
			owed += GAP;
			rest[c] = end;
			while (*rest[c] == ' ')
				rest[c]++;
			more |= *rest[c] != '\0';
		}
		fputc('\n', out);
	}
}

/* The longest word: a wrapping column does not get narrower than that. */
static size_t longest_word(const char *s)
{
	size_t longest = 0;

	while (*s) {
		size_t len = strcspn(s, " "), columns = columns_in(s, len);

		if (columns > longest)
			longest = columns;
		s += len + (s[len] == ' ');
	}
	return longest;
}

static void measure(const struct table *t, FILE *out, size_t *width)
{
	size_t total = 0, limit = (size_t)ui_width(out);
	size_t least = 0;
	int wrap = -1;

	for (int c = 0; c < t->columns; c++) {
		width[c] = utf8_columns(t->head[c]);
		if (t->align[c] == TABLE_WRAP) {
			wrap = c;
			least = width[c];
		}
		for (size_t r = 0; r < t->row_count; r++) {
			const char *text = t->rows[r].cells[c].text;
			size_t n;

			if (t->rows[r].group || !text)
				continue;
			n = utf8_columns(text);
			if (n > width[c])
				width[c] = n;
			n = t->align[c] == TABLE_WRAP ? longest_word(text) : 0;
			if (n > least)
				least = n;
		}
		total += width[c] + (c ? GAP : 0);
	}
	if (wrap >= 0 && total > limit) {
		size_t over = total - limit;

		width[wrap] = width[wrap] > over + least ? width[wrap] - over : least;
	}
}

void table_print(const struct table *t, FILE *out)
{
	size_t width[COLUMNS_MAX];
	struct cell heads[COLUMNS_MAX];

	measure(t, out, width);
	for (int c = 0; c < t->columns; c++)
		heads[c] = (struct cell){ t->head[c], UI_HEAD };
	print_row(t, out, width, heads);
	for (size_t r = 0; r < t->row_count; r++) {
		const struct row *row = &t->rows[r];

		if (!row->group) {
			print_row(t, out, width, row->cells);
			continue;
		}
		fprintf(out, "%s%s", r ? "\n" : "", ui_on(out, UI_HEAD));
		utf8_print(out, row->cells[0].text, strlen(row->cells[0].text));
		fprintf(out, "%s\n", ui_off(out, UI_HEAD));
	}
}

void ui_paragraph(FILE *out, int indent, const char *text)
{
	size_t width = (size_t)ui_width(out), used = 0;

	while (*text) {
		const char *end = wrap_at(text, width - used);

		utf8_print(out, text, (size_t)(end - text));
		fputc('\n', out);
		text = end;
		while (*text == ' ')
			text++;
		if (*text) {
			used = (size_t)indent;
			pad(out, used);
		}
	}
}
