/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From events to records: which task was in user mode in which slot, when it began anew, when a
 * handler ran. What the trace shows is taken from it; what Linux does without an event to show it
 * is added here, in one place, and marked REC_ASSUMED.
 *
 * It never looks at x86_fpu_regs_activated but to count them: those are what the simulator
 * predicts.
 */
#ifndef SIM_SLOTS_H
#define SIM_SLOTS_H

#include <stdio.h>

#include "read/trace.h"
#include "sim/rec.h"

/* Signal handlers, where the trace has no signal events. */
enum slots_signals {
	SLOTS_SIGNALS_AUTO, /* a child's exit, to programs that handle SIGCHLD (programs.def) */
	SLOTS_SIGNALS_NONE,
	SLOTS_SIGNALS_ALL,  /* a child's exit, to any parent */
};

/* The kernel's own use of the registers, where the trace does not show it. */
enum slots_sections {
	SLOTS_SECTIONS_AUTO, /* its random pool at forks and ends of tasks, as Linux does it */
	SLOTS_SECTIONS_NONE,
};

/* Where records go. */
struct slots_sink {
	int (*put)(void *arg, struct rec *recs, size_t count); /* 0, or -1: stop */
	void *arg;
};

struct slots;

struct slots *slots_new(const struct slots_sink *sink, enum slots_signals signals,
			enum slots_sections sections);
void slots_free(struct slots *s);

/**
 * slots_event() - take one event; a struct trace_sink's function with @arg a struct slots.
 */
int slots_event(void *arg, const struct trace_event *ev);

/**
 * slots_end() - the trace is over: finish what is open, give away the rest and the END.
 */
int slots_end(struct slots *s);

/**
 * slots_why() - why slots_event() returned -1, or NULL when the sink said so.
 */
const char *slots_why(const struct slots *s);

/**
 * slots_has() - REC_HAS_* found so far.
 */
uint32_t slots_has(const struct slots *s);

#endif
