/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine-readable lines: each begins with '{' in column 0 and is one JSON
 * object whose member "lab" says what it is. All other text is for people.
 *
 *   boot        the CPU, what the engine enabled on it, the instruction it chose
 *   progress    done and total slots; also a sign of life
 *   corruption  a register that was not what it must be (the first eight)
 *   ts-mismatch CR0.TS was not what the policy promises (the first four)
 *   event       what the engine was asked to do last on that CPU, after the first corruption
 *   point       `slots`, `live`: what one setting of the sweep cost
 *   disagreement `replay`: what was not as the explorer predicted, and in which line
 *   check       `errata`: one rule and whether this machine keeps it
 *   result      the outcome with all counters; status "ok", "failed", "skipped" or "known-failure"
 *   panic       the reason of an end without result
 *
 * The very last line of a run is EXIT OK or EXIT FAIL. A run without it crashed or
 * hung.
 */
#ifndef LAB_REPORT_H
#define LAB_REPORT_H

#include "lab.h"
#include "ring3.h"

void report_boot(void);
void report_progress(void);

/* User mode found a wrong register. Returns 1 once enough of them have been printed. */
uintptr_t report_corruption(const struct cpu *cpu, const struct mismatch *m);
void report_corruptions(uint32_t more);
uint64_t report_corruption_count(void);

/* The last line but one, and the end. @reason: NULL or why it failed. */
_Noreturn void report_result(const char *reason);
_Noreturn void report_skipped(const char *reason);

/*
 * One line of a sweep: begin, report_field()s, end. The end adds what the counters and
 * the engine's instructions grew by since the last point, or since report_point_start().
 */
void report_point_start(void);
void report_point_begin(void);
void report_point_end(void);

/* A member of the result line that only this experiment has; called from its report(). */
void report_field(const char *name, uint64_t value);
void report_field_text(const char *name, const char *value);
void report_field_hex(const char *name, uint64_t value);

#endif
