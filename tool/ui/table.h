/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables for people. Cells are collected first and printed at the end, when the
 * widths are known. One column may be marked as the one that wraps when the line
 * gets too long for the terminal.
 */
#ifndef UI_TABLE_H
#define UI_TABLE_H

#include <stdio.h>

#include "ui/ui.h"

enum table_align {
	TABLE_LEFT,
	TABLE_RIGHT, /* numbers */
	TABLE_WRAP,  /* left, and wraps at words when the table is too wide */
};

struct table;

struct table *table_new(void);
void table_free(struct table *t);

/**
 * table_column() - add a column; all of them before the first cell.
 */
void table_column(struct table *t, const char *head, enum table_align align);

/**
 * table_cell() - the next cell, row by row.
 * table_cell_styled() - the same in a colour.
 * table_cell_or() - the same, or @otherwise in its place when the figures are not @known.
 */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void table_cell_styled(struct table *t, enum ui_style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

void table_cell_or(struct table *t, const char *otherwise, bool known, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/**
 * table_group() - a heading over the rows that follow; only between rows.
 */
void table_group(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/**
 * table_print() - print everything collected.
 */
void table_print(const struct table *t, FILE *out);

/**
 * ui_paragraph() - print @text wrapped at words to the stream's width.
 * @indent: columns before each line but the first.
 */
void ui_paragraph(FILE *out, int indent, const char *text);

#endif
