/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine-readable lines, one JSON object each; docs/json.md describes them. */
#ifndef LAB_REPORT_H
#define LAB_REPORT_H

#include "lab.h"
#include "ring3.h"

void report_boot(void);
void report_progress(void);

/* User mode found a wrong register. Returns 1 once enough of them have been printed. */
uint64_t report_corruption(const struct cpu *cpu, const struct mismatch *m);
void report_corruptions(uint64_t more);
uint64_t report_corruption_count(void);

/* The last line but one, and the end. @reason: NULL or why it failed. */
_Noreturn void report_result(const char *reason);
_Noreturn void report_skipped(const char *reason);

/* A member of the result line that only this experiment has; called from its report(). */
void report_field(const char *name, uint64_t value);

#endif
