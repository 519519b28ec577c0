// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reading the lab's JSON lines and judging a run. Every way in which a run can look
 * good without being good has its check here: no result, another experiment's
 * result, nothing verified, counters that contradict each other.
 */
#include "lab/result.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define POINTS_MAX 256 /* no experiment has so many */

/* A copy of @s that fits, cut with dots. */
static void keep(char *buf, size_t size, const char *s)
{
	size_t len = strlen(s);

	if (len < size) {
		memcpy(buf, s, len + 1);
		return;
	}
	memcpy(buf, s, size - 4);
	memcpy(buf + size - 4, "...", 4);
}

/* One check of an erratum: what is known or unexpected is named in the report. */
static void take_check(struct lab_result *r, const json_t *o)
{
	const char *id = json_string_value(json_object_get(o, "id"));
	const char *status = json_string_value(json_object_get(o, "status"));
	size_t used = strlen(r->errata);
	bool gone = status && !strcmp(status, "unexpected-pass");

	if (id && status && (gone || !strcmp(status, "known-failure")))
		snprintf(r->errata + used, sizeof(r->errata) - used, "%s%s%s", used ? ", " : "",
			 gone ? "unexpected pass of " : "", id);
}

/* Takes the reference to @o. */
static void take_object(struct lab_result *r, json_t *o, const char *line)
{
	const char *kind = json_string_value(json_object_get(o, "lab"));
	const char *text;

	if (!kind) {
		keep(r->garbled, sizeof(r->garbled), line);
	} else if (!strcmp(kind, "boot")) {
		if (r->boot)
			keep(r->garbled, sizeof(r->garbled), "the lab booted twice");
		else
			r->boot = json_incref(o);
	} else if (!strcmp(kind, "progress")) {
		json_int_t done = json_integer_value(json_object_get(o, "done"));
		json_int_t total = json_integer_value(json_object_get(o, "total"));

		r->done = done > 0 ? (uint64_t)done : 0;
		r->total = total > 0 ? (uint64_t)total : 0;
	} else if (!strcmp(kind, "corruption")) {
		if (!r->corruption_lines++)
			keep(r->corruption, sizeof(r->corruption), line);
	} else if (!strcmp(kind, "panic")) {
		text = json_string_value(json_object_get(o, "reason"));
		if (!*r->panic)
			keep(r->panic, sizeof(r->panic), text ? text : "no reason given");
	} else if (!strcmp(kind, "check")) {
		take_check(r, o);
	} else if (!strcmp(kind, "point")) {
		if (!r->points)
			r->points = json_array();
		if (json_array_size(r->points) < POINTS_MAX)
			json_array_append(r->points, o);
	} else if (!strcmp(kind, "result")) {
		if (r->result)
			keep(r->garbled, sizeof(r->garbled), "the lab gave two results");
		else
			r->result = json_incref(o);
	}
	json_decref(o);
}

void lab_result_line(struct lab_result *r, const char *line)
{
	json_t *o;

	if (line[0] == '{') {
		if (r->end != LAB_END_NONE && !*r->garbled)
			keep(r->garbled, sizeof(r->garbled), "a line after EXIT");
		o = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
		if (json_is_object(o)) {
			take_object(r, o, line);
			return;
		}
		json_decref(o);
		if (!*r->garbled)
			keep(r->garbled, sizeof(r->garbled), line);
	} else if (!strcmp(line, "EXIT OK")) {
		r->end = LAB_END_OK;
	} else if (!strcmp(line, "EXIT FAIL")) {
		r->end = LAB_END_FAIL;
	}
}

bool lab_result_u64(const struct lab_result *r, const char *name, uint64_t *v)
{
	json_t *n = json_object_get(r->result, name);

	/* A seed uses all 64 bits, which a JSON number cannot promise: it comes as "0x...". */
	if (json_is_string(n)) {
		int used = 0;
		uint64_t hex;

		if (sscanf(json_string_value(n), "0x%" SCNx64 "%n", &hex, &used) != 1 ||
		    json_string_value(n)[used])
			return false;
		*v = hex;
		return true;
	}
	if (!json_is_integer(n) || json_integer_value(n) < 0)
		return false;
	*v = (uint64_t)json_integer_value(n);
	return true;
}

bool lab_result_flag(const struct lab_result *r, const char *name)
{
	return json_is_true(json_object_get(r->result, name));
}

bool lab_result_per_switch(const struct lab_result *r, const char *name, double *v)
{
	uint64_t count, switches;

	if (!lab_result_u64(r, name, &count) || !lab_result_u64(r, "switches", &switches) ||
	    !switches)
		return false;
	*v = (double)count / (double)switches;
	return true;
}

bool lab_result_cost(const struct lab_result *r, double *v)
{
	return lab_result_flag(r, "counted") &&
	       lab_result_per_switch(r, "engine_instructions", v);
}

__attribute__((format(printf, 2, 3))) static void fail(struct lab_result *r, const char *fmt, ...)
{
	va_list ap;

	/* The first reason is the one that explains the others. */
	if (r->status == LAB_FAILED)
		return;
	r->status = LAB_FAILED;
	va_start(ap, fmt);
	vsnprintf(r->reason, sizeof(r->reason), fmt, ap);
	va_end(ap);
}

/* Does the result answer the question? */
static void check_answer(struct lab_result *r, const struct lab_asked *asked)
{
	static const char *const words[] = { "experiment", "policy" };
	const char *want[] = { asked->experiment, asked->policy };
	uint64_t v;

	for (size_t i = 0; i < 2; i++) {
		const char *got = json_string_value(json_object_get(r->result, words[i]));

		if (!got || strcmp(got, want[i]))
			fail(r, "the result is of %s %s, %s was asked for", words[i],
			     got ? got : "nothing", want[i]);
	}
	if (!lab_result_u64(r, "cpus", &v) || v != asked->cpus)
		fail(r, "the result is not of %u CPUs", asked->cpus);
	if (!lab_result_u64(r, "seed", &v) || v != asked->seed)
		fail(r, "the result is not of seed 0x%" PRIx64, asked->seed);
}

/* A validation ends in one of four ways; each is counted once. */
static void check_counters(struct lab_result *r)
{
	static const char *const ends[] = { "loads", "loads_skipped_owner", "loads_elided_init",
					    "loads_failed" };
	uint64_t validations, sum = 0, v;

	if (!lab_result_u64(r, "validations", &validations)) {
		fail(r, "the result has no counter validations");
		return;
	}
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (!lab_result_u64(r, ends[i], &v)) {
			fail(r, "the result has no counter %s", ends[i]);
			return;
		}
		sum += v;
	}
	if (sum != validations)
		fail(r,
		     "counters contradict each other: %" PRIu64 " validations, but %" PRIu64
		     " loads, skipped, elided and failed",
		     validations, sum);
}

static void check_result(struct lab_result *r, const struct lab_asked *asked)
{
	const char *status = json_string_value(json_object_get(r->result, "status"));
	const char *reason = json_string_value(json_object_get(r->result, "reason"));
	bool known = status && !strcmp(status, "known-failure");
	uint64_t v;

	if (status && !strcmp(status, "skipped")) {
		if (r->end != LAB_END_OK) {
			fail(r, "skipped, but EXIT FAIL");
			return;
		}
		r->status = LAB_SKIPPED;
		keep(r->reason, sizeof(r->reason), reason ? reason : "the lab gives no reason");
		return;
	}
	if (!lab_result_u64(r, "corruptions", &v))
		fail(r, "the result does not say how many corruptions there were");
	else if (v || r->corruption_lines)
		fail(r, "%" PRIu64 " corruptions%s%s", v > r->corruption_lines ? v : r->corruption_lines,
		     *r->corruption ? "; the first: " : "", r->corruption);
	if (!status || (strcmp(status, "ok") && !known))
		fail(r, "%s", reason && *reason ? reason : "the lab says so and gives no reason");
	/* Tasks check their registers; `errata` checks the machine. */
	if ((!lab_result_u64(r, "checks", &v) || !v) && (!lab_result_u64(r, "passes", &v) || !v) &&
	    !*r->errata)
		fail(r, "nothing was verified");
	check_answer(r, asked);
	check_counters(r);
	if (r->end != LAB_END_OK)
		fail(r, "EXIT FAIL");
	if (r->status == LAB_OK && known) {
		r->status = LAB_KNOWN_FAILURE;
		keep(r->reason, sizeof(r->reason), *r->errata ? r->errata : "not named");
	}
}

void lab_result_judge(struct lab_result *r, const struct lab_asked *asked, const char *ending)
{
	r->status = LAB_OK;
	r->reason[0] = '\0';
	if (*r->panic)
		fail(r, "panic: %s", r->panic);
	if (*r->garbled)
		fail(r, "garbled output: %s", r->garbled);
	if (r->end == LAB_END_NONE) {
		if (r->corruption_lines)
			fail(r, "%" PRIu64 " corruptions; the first: %s", r->corruption_lines,
			     r->corruption);
		fail(r, "%s", ending ? ending : "the output ends without EXIT");
	}
	if (!r->boot)
		fail(r, "the lab did not boot");
	if (r->status == LAB_FAILED)
		return;
	if (!r->result)
		fail(r, "no result");
	else
		check_result(r, asked);
}

void lab_result_free(struct lab_result *r)
{
	json_decref(r->boot);
	json_decref(r->result);
	json_decref(r->points);
	memset(r, 0, sizeof(*r));
}
