/* SPDX-License-Identifier: BSD-2-Clause */
/* Cells of comma-separated values; the commas are the caller's. */
#ifndef UI_CSV_H
#define UI_CSV_H

#include <stdio.h>

/**
 * csv_text() - a quoted cell.
 *
 * Names come from files: no quote or line end gets out of the cell, and a spreadsheet takes none for a
 * formula.
 */
void csv_text(FILE *out, const char *s);

/**
 * csv_number() - a number, or an empty cell for NAN and infinities.
 */
void csv_number(FILE *out, double x);

#endif
