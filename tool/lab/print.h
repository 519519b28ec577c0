/* SPDX-License-Identifier: BSD-2-Clause */
/* Results of a run of the lab: the table for people, xstate.lab/1 for programs. */
#ifndef LAB_PRINT_H
#define LAB_PRINT_H

#include <stdio.h>

#include "lab/run.h"

void lab_print_table(FILE *out, const struct lab_plan *plan);
void lab_print_json(FILE *out, const struct lab_plan *plan);

/**
 * lab_print_failures() - for each failed run why, where its output is, and the command that
 * repeats it.
 * @rom: the image when it was given explicitly, else NULL.
 */
void lab_print_failures(FILE *out, const struct lab_plan *plan, const char *rom);

#endif
