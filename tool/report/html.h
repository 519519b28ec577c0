/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text into HTML. Everything that came from a file goes through html_text() or html_f(); markup is
 * written by fputs() and fprintf() with text of our own only.
 */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include <stdbool.h>
#include <stdio.h>

/* The page being written. */
struct page {
	FILE *out;
	unsigned figures;        /* so far; gives ids */
	bool folded;             /* the table that is open */
	const char *section[16]; /* ids of the sections so far */
	unsigned sections;
};

/**
 * html_text() - @s as text or as the value of a quoted attribute.
 *
 * What HTML gives a meaning is escaped, broken UTF-8 and control characters are shown as U+FFFD.
 */
void html_text(FILE *out, const char *s);

/**
 * html_f() - the same for formatted text.
 */
void html_f(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/**
 * html_head() - everything up to the first section; html_tail() the end.
 * @title: of the page.
 */
void html_head(struct page *p, const char *title);
void html_tail(struct page *p);

/**
 * html_section() - begin a section with its heading; html_section_end() ends it.
 * @id: for links.
 */
void html_section(struct page *p, const char *id, const char *heading);
void html_section_end(struct page *p);

/**
 * html_table() - begin a table that scrolls by itself when it is too wide.
 * @caption: what it shows.
 * @heads:   of the columns, separated by |; a column that begins with # holds numbers.
 * @folded:  behind a line to open it: it repeats what a chart shows.
 */
void html_table(struct page *p, const char *caption, const char *heads, bool folded);
void html_row(struct page *p);
void html_head_cell(struct page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void html_cell(struct page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void html_number(struct page *p, const char *fmt, double x);                  /* empty for NAN */
void html_interval(struct page *p, const char *fmt, double low, double high); /* the same */
void html_range(struct page *p, double low, double high, unsigned digits); /* ui/number.h */
void html_table_end(struct page *p);

#endif
