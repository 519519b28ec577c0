/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one boot of the lab said, and the verdict on it. Never trusted by exit
 * status: the run must end with the line "EXIT OK" and have reported a result that
 * answers what was asked.
 */
#ifndef LAB_RESULT_H
#define LAB_RESULT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A known failure is a defect of the emulator that docs/errata.md names; it is expected. */
enum lab_status { LAB_OK, LAB_FAILED, LAB_SKIPPED, LAB_KNOWN_FAILURE };

enum lab_end { LAB_END_NONE, LAB_END_OK, LAB_END_FAIL };

/* What was asked for; the result must say the same. */
struct lab_asked {
	const char *experiment;
	const char *policy;
	unsigned cpus;
	uint64_t seed;
};

struct lab_result {
	enum lab_status status;
	char reason[400]; /* why it failed or was skipped */
	json_t *boot;	  /* the lines of these kinds, or NULL */
	json_t *result;
	json_t *points;	  /* an array: the settings of a sweep, or NULL */
	uint64_t done, total; /* progress */
	enum lab_end end;
	uint64_t corruption_lines;
	char corruption[240]; /* the first of them */
	char panic[240];
	char garbled[160];
	char errata[240]; /* ids of known failures met, and of those that are gone */
};

/**
 * lab_result_line() - take in one line of an emulator's output.
 *
 * Lines that are not the lab's (an emulator's banner) are ignored; a line that begins like one and is
 * not valid is remembered and fails the run.
 */
void lab_result_line(struct lab_result *r, const char *line);

/**
 * lab_result_judge() - the verdict, once the output has ended.
 * @ending: how it ended when not by itself ("no sign of life for 20 s"), or NULL.
 */
void lab_result_judge(struct lab_result *r, const struct lab_asked *asked, const char *ending);

/**
 * lab_result_u64() - a number of the result by its name.
 *
 * Return: false when it is not there.
 */
bool lab_result_u64(const struct lab_result *r, const char *name, uint64_t *v);

/**
 * lab_result_flag() - a truth value of the result; false when it is not there.
 */
bool lab_result_flag(const struct lab_result *r, const char *name);

/**
 * lab_result_per_switch() - a counter divided by the switches.
 *
 * Return: false when there is no such counter or nothing was switched.
 */
bool lab_result_per_switch(const struct lab_result *r, const char *name, double *v);

/**
 * lab_result_cost() - instructions of the engine per switch, without the save and
 * restore instructions themselves.
 *
 * Return: false when instructions were not counted on this machine.
 */
bool lab_result_cost(const struct lab_result *r, double *v);

void lab_result_free(struct lab_result *r);

#endif
