/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A run beside an older one, from before a reboot or from another machine. The two are not paired,
 * so little can be concluded; what can is said, and what cannot as well.
 */
#ifndef TOOL_BENCH_AGAINST_H
#define TOOL_BENCH_AGAINST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "machine.h"

/* What an old document says of one row. */
struct against_row {
	char id[40];
	bool has_effect;
	double old_log, old_se; /* of the effect */
	double old_ns;          /* of a loop */
	double new_log, new_se, new_ns;
	/* The effect's change in percent, with an interval for all rows together. */
	double change, low, high;
};

struct against {
	const char *path;     /* NULL: not asked for */
	char differs[6][200]; /* facts of the machines that are not the same */
	unsigned differing;
	bool same_boot;
	void *doc;
	struct against_row *rows;
	size_t n;
};

/**
 * against_read() - the old run.
 * @a:	 @path given.
 * @err: out, one sentence.
 *
 * Return: false when it cannot be read or is no run of bench switch.
 */
bool against_read(struct against *a, char *err, size_t errlen);

/**
 * against_facts() - note which facts of the two machines differ.
 */
void against_facts(struct against *a, const struct bench_machine *now);

/**
 * against_judge() - compare; the rows' new_... are set, NAN where there is none.
 */
void against_judge(struct against *a);

void against_json(const struct against *a, struct jw *w);
void against_print(const struct against *a, FILE *out);
void against_close(struct against *a);

#endif
