// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a result must have, by its schema. A page that is made without asking shows a missing figure
 * as an empty place, and a list of the wrong type as a list without rows: nobody sees the fault.
 */
#include "read/results.h"

#include <stdio.h>
#include <string.h>


#include "sim/replay.h"

enum type {
	TEXT,
	COUNT,  /* result_count() */
	NUMBER, /* any; where it is not known, null or nothing */
	LIST,
	FILLED, /* a list with something in it */
	OBJECT,
	FLAG,
	SUM, /* 64 bits, hexadecimal */
	OPTIONAL = 0x10, /* or it may be null, or not be there */
};

static const char *const wants[] = {"text", "a count", "a number", "a list",
				   "a list with something in it", "an object", "true or false",
				   "a checksum"};

/* One promise. In a path "." goes into an object and "[]" into every element of a list. */
struct promise {
	const char *path;
	int type;
};

static const struct promise bench[] = {
	{"kind", TEXT},
	{"seed", COUNT | OPTIONAL},
	{"boot", TEXT | OPTIONAL},
	{"machine", OBJECT},
	{"machine.vendor", TEXT},
	{"machine.family", COUNT},
	{"machine.model", COUNT},
	{"machine.cpu", TEXT | OPTIONAL},
	{"machine.kernel", TEXT | OPTIONAL},
	{"machine.date", TEXT | OPTIONAL},
	{"machine.tsc_hz", NUMBER},
	{"blocks_done", COUNT | OPTIONAL},
	{"controls", LIST},
	{"controls[]", OBJECT},
	{"controls[].name", TEXT},
	{"controls[].truth_percent", NUMBER},
	{"controls[].read_percent", NUMBER},
	{"controls[].low_percent", NUMBER},
	{"controls[].high_percent", NUMBER},
	{"noise", OBJECT},
	{"noise_limits", OBJECT},
	{"samples", OBJECT | OPTIONAL},
	{"samples.arms", LIST | OPTIONAL},
	{"samples.arms[]", OBJECT},
	{"samples.arms[].name", TEXT},
	{"samples.arms[].loops", COUNT},
	{"samples.arms[].ticks", LIST},
	{0},
};

static const struct promise bench_switch[] = {
	{"pairs", LIST},
	{"pairs[]", OBJECT},
	{"pairs[].id", TEXT},
	{"pairs[].how", TEXT},
	{"pairs[].who", TEXT},
	{"pairs[].touch", TEXT},
	{"pairs[].median_ns_per_loop", NUMBER},
	{"pairs[].effect_percent", NUMBER},
	{"pairs[].low_percent", NUMBER},
	{"pairs[].high_percent", NUMBER},
	{"pairs[].log_ratio", NUMBER},
	{"pairs[].log_ratio_se", NUMBER},
	{"beside", OBJECT | OPTIONAL},
	{"against", OBJECT | OPTIONAL},
	{0},
};

static const struct promise bench_fiber[] = {
	{"switches", LIST},
	{"switches[]", OBJECT},
	{"switches[].id", TEXT},
	{"switches[].live", TEXT},
	{"switches[].median_cycles", NUMBER},
	{"switches[].ratio", NUMBER},
	{"switches[].low_ratio", NUMBER},
	{"switches[].high_ratio", NUMBER},
	{0},
};

static const struct promise bench_insn[] = {
	{"costs", LIST},
	{"costs[]", OBJECT},
	{"costs[].id", TEXT},
	{"costs[].instruction", TEXT},
	{"costs[].live", TEXT},
	{"costs[].detail", TEXT | OPTIONAL},
	{"costs[].median_cycles", NUMBER},
	{"effects", LIST},
	{"effects[]", OBJECT},
	{"effects[].question", TEXT},
	{"effects[].unit", TEXT},
	{"effects[].effect", NUMBER},
	{"effects[].low", NUMBER},
	{"effects[].high", NUMBER},
	{0},
};

static const struct promise bench_kernel[] = {
	{"sections", LIST},
	{"sections[]", OBJECT},
	{"sections[].id", TEXT},
	{"sections[].name", TEXT},
	{"sections[].way", TEXT | OPTIONAL},
	{"sections[].median_cycles", NUMBER},
	{"sections[].throughput_ratio", NUMBER},
	{"sections[].low_ratio", NUMBER},
	{"sections[].high_ratio", NUMBER},
	{0},
};

static const struct promise lab[] = {
	{"results", LIST},
	{"results[]", OBJECT},
	{"results[].experiment", TEXT},
	{"results[].policy", TEXT},
	{"results[].machine", TEXT},
	{"results[].status", TEXT},
	{"results[].reason", TEXT | OPTIONAL},
	{"results[].switches", COUNT | OPTIONAL},
	{"results[].saves", COUNT | OPTIONAL},
	{"results[].loads", COUNT | OPTIONAL},
	{"results[].traps", COUNT | OPTIONAL},
	{"results[].corruptions", COUNT | OPTIONAL},
	{"results[].checks", COUNT | OPTIONAL},
	{"results[].points", LIST | OPTIONAL},
	{0},
};

static const struct promise merge[] = {
	{"hosts", COUNT},
	{"rows", LIST},
	{"rows[]", OBJECT},
	{"rows[].id", TEXT},
	{"rows[].verdict", TEXT},
	{"rows[].groups", LIST},
	{"rows[].groups[]", OBJECT},
	{"rows[].groups[].cpu", TEXT},
	{"rows[].groups[].hosts", COUNT},
	{"rows[].groups[].effect_percent", NUMBER},
	{"rows[].groups[].low_percent", NUMBER},
	{"rows[].groups[].high_percent", NUMBER},
	{0},
};

/* The same that xstate sim --merge asks for; what follows from it may be shown as it is there. */
static const struct promise sim[] = {
	{"use", TEXT},
	{"signals", TEXT},
	{"sections", TEXT},
	{"seed", COUNT},
	{"totals", OBJECT},
#define X(name) {"totals." #name, COUNT},
	SIM_TOTALS(X)
#undef X
#define X(name) {"totals." #name, COUNT | OPTIONAL},
	SIM_TOTALS_NEW(X)
#undef X
	{"parts", FILLED},
	{"parts[]", OBJECT},
	{"parts[].before", SUM},
	{"parts[].after", SUM},
	{"parts[].more", FLAG},
	{"parts[].synthetic", FLAG},
	{"use_content", SUM | OPTIONAL},
	{"costs", OBJECT},
	{"costs.source", TEXT},
	{"costs.rough", LIST | OPTIONAL},
	{"costs.rough[]", TEXT},
	{"costs.fallback", TEXT | OPTIONAL},
	{"policies", FILLED},
	{"policies[]", OBJECT},
	{"policies[].policy", TEXT},
	{"policies[].hypothesis", TEXT | OPTIONAL},
	{"policies[].switches", COUNT},
	{"policies[].validations", COUNT},
	{"policies[].saves", COUNT},
	{"policies[].saves_elided", COUNT},
	{"policies[].loads", COUNT},
	{"policies[].loads_skipped_owner", COUNT},
	{"policies[].loads_elided_init", COUNT},
	{"policies[].loads_failed", COUNT},
	{"policies[].preloads", COUNT},
	{"policies[].probes", COUNT},
	{"policies[].traps", COUNT},
	{"policies[].clears", COUNT},
	{"policies[].kernel_sections", COUNT},
	{"policies[].kernel_saves", COUNT},
	{"policies[].ts_writes", COUNT},
	{"policies[].init_reads", COUNT},
	{"policies[].interrupts", COUNT},
	{"policies[].cycles_low", NUMBER},
	{"policies[].cycles_high", NUMBER},
	{"used_slots_per_million", NUMBER},
	{"break_even", OBJECT},
	{"holds", TEXT},
	{"verdict", LIST},
	{"verdict[]", TEXT},
	{"check", OBJECT | OPTIONAL},
	{"check.predicted_restores", COUNT},
	{"check.observed_restores", COUNT},
	{"programs", LIST | OPTIONAL},
	{"programs[]", OBJECT},
	{"programs[].name", TEXT},
	{"programs[].tasks", COUNT},
	{"programs[].slots", COUNT},
	{"programs[].used_slots", COUNT},
	{"programs[].policies", FILLED},
	{"programs[].policies[]", OBJECT},
	{"programs[].policies[].saves", COUNT},
	{"programs[].policies[].loads", COUNT},
	{"programs[].policies[].traps", COUNT},
	{0},
};

static bool is_of(const json_t *v, int type)
{
	uint64_t n;

	switch (type & ~OPTIONAL) {
	case TEXT:
		return json_is_string(v);
	case COUNT:
		return result_count(v, &n);
	case NUMBER:
		return !v || json_is_null(v) || json_is_number(v);
	case LIST:
		return json_is_array(v);
	case FILLED:
		return json_array_size(v) > 0;
	case FLAG:
		return json_is_boolean(v);
	case SUM:
		return json_is_string(v) && json_string_length(v) == 16 &&
		       strspn(json_string_value(v), "0123456789abcdef") == 16;
	default:
		return json_is_object(v);
	}
}

/*
 * Keeps one promise from @at on. @done is how much of the path led here, for the sentence: with the
 * number of the element, so that it can be found.
 */
static bool keep(const json_t *at, const char *path, const struct promise *p, char *done,
		 size_t room)
{
	const size_t n = strcspn(path, ".["), used = strlen(done);
	char key[64];
	const json_t *v = at;

	if (n) {
		snprintf(key, sizeof(key), "%.*s", (int)n, path);
		snprintf(done + used, room - used, "%s%s", used ? "." : "", key);
		v = json_object_get(at, key);
	}
	path += n;
	if (!*path)
		return is_of(v, p->type) || ((p->type & OPTIONAL) && (!v || json_is_null(v)));
	if (*path == '.') {
		/* That it is an object is a promise of its own, unless it need not be there. */
		if (json_is_object(v) && !keep(v, path + 1, p, done, room))
			return false;
	} else {
		const size_t here = strlen(done);
		const json_t *one;
		size_t i;

		path += 2;
		json_array_foreach((json_t *)v, i, one)
		{
			snprintf(done + here, room - here, "[%zu]", i);
			if (*path ? !keep(one, path + 1, p, done, room) : !is_of(one, p->type))
				return false;
		}
	}
	done[used] = 0;
	return true;
}

static int check(const struct result *r, const struct promise *p, char *err, size_t errlen)
{
	for (; p->path; p++) {
		char done[120] = "";

		if (keep(r->doc, p->path, p, done, sizeof(done)))
			continue;
		snprintf(err, errlen, "%.200s: no sound %.40s: %s is not %s", r->source, r->schema,
			 done, wants[p->type & ~OPTIONAL]);
		return -1;
	}
	return 0;
}

static bool is_known_kind(const char *kind)
{
	return !strcmp(kind, "switch") || !strcmp(kind, "fiber") || !strcmp(kind, "insn") ||
	       !strcmp(kind, "kernel");
}

int result_check(const struct result *r, char *err, size_t errlen)
{
	static const struct {
		const char *schema, *kind;
		const struct promise *promise;
	} all[] = {
		{"xstate.bench/1", NULL, bench},
		{"xstate.bench/1", "switch", bench_switch},
		{"xstate.bench/1", "fiber", bench_fiber},
		{"xstate.bench/1", "insn", bench_insn},
		{"xstate.bench/1", "kernel", bench_kernel},
		{"xstate.lab/1", NULL, lab},
		{"xstate.merge/1", NULL, merge},
		{"xstate.sim/1", NULL, sim},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!strcmp(r->schema, all[i].schema) &&
		    (!all[i].kind || !strcmp(r->kind, all[i].kind)) &&
		    check(r, all[i].promise, err, errlen))
			return -1;
	if (!strcmp(r->schema, "xstate.sim/1") && result_check_sim(r, err, errlen))
		return -1;
	if (!strcmp(r->schema, all[0].schema) && !is_known_kind(r->kind)) {
		snprintf(err, errlen, "%.200s: a benchmark of a kind unknown here", r->source);
		return -1;
	}
	return 0;
}
