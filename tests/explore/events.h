/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What can happen: a table, one row and one function for each kind of event. To add one, add a row in
 * events.c; nothing else has to know.
 */
#ifndef EXPLORE_EVENTS_H
#define EXPLORE_EVENTS_H

#include "machine.h"

/* What an event's argument stands for. */
enum arg {
	ARG_NONE,
	ARG_TASK,
	ARG_COMP,
	ARG_TASK_COMP,
	ARG_POLICY,
	ARG_NEED,
	ARG_GUEST,     /* from here on: of guests */
	ARG_GUEST_HOW, /* HOW * GUESTS + guest */
	ARG_DEED,
	ARG_CONTROL,   /* CONTROL * GUESTS + guest */
	ARG_GUEST_NONE
};

struct event {
	const char *name;
	enum arg arg;
	uint8_t args; /* how many values: 0 .. args - 1 */
	bool (*can)(const struct machine *m, unsigned c, unsigned a);
	void (*run)(struct machine *m, unsigned c, unsigned a);
	const char *text;
};

#define MAX_EVENTS 48u

extern const struct event events[];
extern const unsigned event_count;

/* The row of that event, or event_count. */
unsigned event_row(const char *name);

/* Does this ever happen? */
static inline bool event_happens(const struct machine *m, unsigned e)
{
	return !(m->cfg->without >> e & 1u) && (m->cfg->guests || events[e].arg < ARG_GUEST);
}

/* And can it now? */
static inline bool event_can(const struct machine *m, unsigned e, unsigned c, unsigned a)
{
	return event_happens(m, e) && events[e].can(m, c, a);
}

/**
 * event_step() - let event @e with argument @a happen on CPU @c, then make all checks.
 *
 * Return: the check that is violated (m->how says in words what is wrong), or CHECK_NONE.
 */
enum check event_step(struct machine *m, unsigned e, unsigned c, unsigned a);

#endif
