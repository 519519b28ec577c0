/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One pass over all functions of an object: counts, and events for what matters later.
 */
#ifndef LINT_SWEEP_H
#define LINT_SWEEP_H

#include "lint/object.h"

/**
 * lint_sweep() - decode all functions of @obj and note its events.
 *
 * Return: false when memory ran out.
 */
bool lint_sweep(struct lint_object *obj);

/**
 * lint_branch_target() - where the rel32 or rel8 branch at @off, @len bytes long, goes.
 * @cursor: where the search in the section's relocations begins; updated.
 */
struct lint_target lint_branch_target(const struct lint_object *obj, uint32_t sec, uint32_t off,
                                      unsigned len, size_t *cursor);

/**
 * lint_replaced_target() - where an event of kind EV_ALT_CALL or EV_ALT_JUMP goes.
 */
struct lint_target lint_replaced_target(const struct lint_object *obj, uint32_t arg);

/**
 * lint_fp_name() - the mnemonic of the FP instruction at a place, or of what replaces it.
 */
const char *lint_fp_name(const struct lint_object *obj, uint32_t sec, uint32_t off);

#endif
