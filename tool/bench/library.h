/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's engine in user mode, with two tasks, as an arm of `xstate bench fiber`: the same
 * src/switch.c as in a kernel, compiled for world_user.h.
 */
#ifndef TOOL_BENCH_LIBRARY_H
#define TOOL_BENCH_LIBRARY_H

#include <stddef.h>
#include <stdint.h>

#include <xst/switch.h>

#include "peers.h"

struct library;

/**
 * library_open() - a CPU with a policy.
 * @want:       components that are switched.
 * @area_bytes: what an area will have.
 * @policy:     name or fields.
 * @why:        out, on failure, a clause.
 *
 * Extended registers are lost.
 */
struct library *library_open(uint64_t want, size_t area_bytes, const char *policy,
			     const char **why);

/**
 * library_close() - give it back; NULL is allowed.
 */
void library_close(struct library *l);

/**
 * library_place() - the first task runs, with its registers in place; both are fresh.
 * @l:    a struct library.
 * @a,@b: the tasks' areas from now on.
 *
 * Extended registers are lost.
 */
void library_place(void *l, void *a, void *b);

/**
 * library_call() - the switch from the first task to the second; with the last two arguments
 * exchanged the one back. With load=return the return to user mode is what comes then.
 */
const struct peer_call *library_call(const struct library *l);

/**
 * library_system() - what was enabled: mask, save form.
 */
const struct xst_system *library_system(const struct library *l);

/**
 * library_counters() - what it did so far.
 */
const struct xst_counters *library_counters(const struct library *l);

#endif
