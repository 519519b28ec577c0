/* SPDX-License-Identifier: BSD-2-Clause */
/* A sequence of events as text that a person can read and a program can run again. */
#ifndef EXPLORE_PRINT_H
#define EXPLORE_PRINT_H

#include <stdio.h>

#include "search.h"

/* The machine while a sequence runs: packed after every step, its first names remembered. */
struct session {
	struct machine *m;
	struct naming names; /* present name -> first name */
};

void session_begin(struct session *s, struct machine *m, const struct state *root);
/* One step in present names, then renamed. Returns what it violates. */
enum check session_step(struct session *s, const struct step *step);

/* "use cpu0 sse", in first names. */
void print_step(FILE *out, const struct session *s, const struct step *step);
/* Read such a line. Returns false when it is none; an event that cannot happen is none either. */
bool parse_step(const char *line, const struct session *s, struct step *step);
/* Who runs where, and whose value is in which register. */
void print_machine(FILE *out, const struct session *s);
/* All steps with the machine after each. */
void print_path(FILE *out, struct machine *m, const struct search *search);

const char *check_name(enum check check);
const char *check_text(enum check check);

#endif
