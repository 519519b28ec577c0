// SPDX-License-Identifier: BSD-2-Clause
/*
 * Printing results. The table groups by experiment and machine and shows what is compared, per
 * 1000 switches; JSON has every counter by its name.
 */
#include "lab/print.h"

#include <inttypes.h>
#include <string.h>

#include <xst/policy.h>

#include "lab/sweep.h"
#include "lab/words.h"
#include "ui/json.h"
#include "ui/table.h"

/* Consecutive jobs that share experiment and machine. */
static size_t group_end(const struct lab_plan *plan, size_t i)
{
	size_t end = i + 1;

	while (end < plan->count && plan->jobs[end].experiment == plan->jobs[i].experiment &&
	       plan->jobs[end].machine == plan->jobs[i].machine)
		end++;
	return end;
}

static bool all_skipped_alike(const struct lab_plan *plan, size_t i, size_t end)
{
	for (size_t k = i; k < end; k++)
		if (plan->jobs[k].result.status != LAB_SKIPPED ||
		    strcmp(plan->jobs[k].result.reason, plan->jobs[i].result.reason))
			return false;
	return true;
}

static void heading(struct table *t, const struct lab_plan *plan, size_t i, size_t end)
{
	const struct lab_job *job = &plan->jobs[i];
	const json_t *boot = NULL;
	const char *insn, *vendor;

	if (all_skipped_alike(plan, i, end)) {
		table_group(t, "%s on %s: skipped: %s", job->experiment->name, job->machine->name,
			    job->result.reason);
		return;
	}
	for (size_t k = i; k < end && !boot; k++)
		boot = plan->jobs[k].result.boot;
	if (!boot) {
		table_group(t, "%s on %s: %u CPU%s", job->experiment->name, job->machine->name,
			    job->cpus, job->cpus > 1 ? "s" : "");
		return;
	}
	insn = json_string_value(json_object_get(boot, "insn"));
	vendor = json_string_value(json_object_get(boot, "vendor"));
	table_group(t, "%s on %s: %u CPU%s, %s family %d model %d, %s, %d bytes",
		    job->experiment->name, job->machine->name, job->cpus, job->cpus > 1 ? "s" : "",
		    vendor ? vendor : "?", (int)json_integer_value(json_object_get(boot, "family")),
		    (int)json_integer_value(json_object_get(boot, "model")), insn ? insn : "?",
		    (int)json_integer_value(json_object_get(boot, "area_bytes")));
}

static void count_cell(struct table *t, const struct lab_result *r, const char *name)
{
	uint64_t v;

	if (lab_result_u64(r, name, &v))
		table_cell(t, "%" PRIu64, v);
	else
		table_cell(t, "-");
}

static void rate_cell(struct table *t, const struct lab_result *r, const char *name)
{
	double v;

	if (lab_result_per_switch(r, name, &v))
		table_cell(t, "%.1f", 1000 * v);
	else
		table_cell(t, "-");
}

static void row(struct table *t, const struct lab_job *job)
{
	static const char *const rates[] = { "saves", "loads", "loads_skipped_owner", "traps" };
	const struct lab_result *r = &job->result;
	uint64_t corruptions;
	size_t length;
	double cost;

	if (xst_policy_item(job->policy, &length))
		table_cell(t, "in turn");
	else
		table_cell(t, "%s", job->policy);
	count_cell(t, r, "switches");
	if (lab_result_cost(r, &cost))
		table_cell(t, "%.1f", cost);
	else
		table_cell(t, "-");
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		rate_cell(t, r, rates[i]);
	if (lab_result_u64(r, "corruptions", &corruptions) && corruptions)
		table_cell_styled(t, UI_BAD, "%" PRIu64, corruptions);
	else
		count_cell(t, r, "corruptions");
	if (r->status == LAB_FAILED)
		table_cell_styled(t, UI_BAD, "FAILED");
	else if (r->status == LAB_SKIPPED)
		table_cell_styled(t, UI_WARN, "skipped: %s", r->reason);
	else if (r->status == LAB_KNOWN_FAILURE)
		table_cell_styled(t, UI_WARN, "known failures: %s", r->reason);
	else if (lab_result_flag(r, "leaks_speculatively"))
		table_cell_styled(t, UI_WARN, "leaks-speculatively");
	else
		table_cell(t, "%s", "");
}

/* All runs together: what a claim of "none" rests on. */
static void print_sum(FILE *out, const struct lab_plan *plan)
{
	static const char *const names[] = { "switches", "checks", "corruptions" };
	uint64_t sums[3] = { 0 }, runs = 0, v;

	for (size_t i = 0; i < plan->count; i++) {
		runs += plan->jobs[i].result.result != NULL;
		for (size_t k = 0; k < 3; k++)
			if (lab_result_u64(&plan->jobs[i].result, names[k], &v))
				sums[k] += v;
	}
	if (runs > 1)
		fprintf(out, "\n%" PRIu64 " runs: %" PRIu64 " switches, %" PRIu64
			     " checks of all registers, %" PRIu64 " corruptions\n",
			runs, sums[0], sums[1], sums[2]);
}

void lab_print_table(FILE *out, const struct lab_plan *plan)
{
	struct table *t = table_new();
	size_t end;

	table_column(t, "policy", TABLE_LEFT);
	table_column(t, "switches", TABLE_RIGHT);
	table_column(t, "instr/switch", TABLE_RIGHT);
	table_column(t, "saves", TABLE_RIGHT);
	table_column(t, "loads", TABLE_RIGHT);
	table_column(t, "skipped", TABLE_RIGHT);
	table_column(t, "traps", TABLE_RIGHT);
	table_column(t, "corruptions", TABLE_RIGHT);
	table_column(t, "", TABLE_WRAP);
	for (size_t i = 0; i < plan->count; i = end) {
		end = group_end(plan, i);
		heading(t, plan, i, end);
		if (all_skipped_alike(plan, i, end))
			continue;
		for (size_t k = i; k < end; k++)
			row(t, &plan->jobs[k]);
	}
	table_print(t, out);
	table_free(t);
	fprintf(out,
		"\nsaves, loads, skipped (loads not needed) and traps are per 1000 switches;\n"
		"instr/switch is the engine's, without the save and restore instructions; "
		"seed 0x%" PRIx64 "\n\n",
		plan->seed);
	lab_words(out, plan);
	lab_print_sweeps(out, plan);
	print_sum(out, plan);
}

/* Keys written by hand, first, so that a reader finds them in one place. */
static bool written_by_hand(const char *key)
{
	static const char *const keys[] = { "lab",    "experiment", "policy",	"cpus",
					    "status", "reason",	    "seed",	"switches",
					    "corruptions" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(key, keys[i]))
			return true;
	return false;
}

static void copy_value(struct jw *w, const char *key, const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_INTEGER:
		jw_i64(w, key, json_integer_value(v));
		break;
	case JSON_REAL:
		jw_f64(w, key, json_real_value(v));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		jw_bool(w, key, json_is_true(v));
		break;
	case JSON_STRING:
		jw_string(w, key, json_string_value(v));
		break;
	default:
		jw_null(w, key);
		break;
	}
}

static void copy_object(struct jw *w, json_t *o, bool (*leave_out)(const char *key))
{
	const char *key;
	json_t *v;

	json_object_foreach (o, key, v)
		if (!leave_out(key))
			copy_value(w, key, v);
}

static bool kind_of_line(const char *key)
{
	return !strcmp(key, "lab");
}

/* A place on the scale, null when it is beyond it. */
static void edge(struct jw *w, const char *key, double v)
{
	if (v >= 0 && v <= 1e6)
		jw_f64(w, key, v);
	else
		jw_null(w, key);
}

static void number_or_null(struct jw *w, const struct lab_result *r, const char *key)
{
	uint64_t v;

	if (lab_result_u64(r, key, &v))
		jw_u64(w, key, v);
	else
		jw_null(w, key);
}

static void json_row(struct jw *w, const struct lab_plan *plan, const struct lab_job *job)
{
	static const char *const status[] = { "ok", "failed", "skipped",
					      "known-failure" };
	const struct lab_result *r = &job->result;
	struct lab_break_even b;
	double cost;

	jw_object(w, NULL);
	jw_string(w, "experiment", job->experiment->name);
	jw_string(w, "policy", job->policy);
	jw_string(w, "machine", job->machine->name);
	jw_u64(w, "cpus", job->cpus);
	jw_string(w, "status", status[r->status]);
	jw_string(w, "reason", *r->reason ? r->reason : NULL);
	jw_mask(w, "seed", plan->seed);
	number_or_null(w, r, "switches");
	if (lab_result_cost(r, &cost))
		jw_f64(w, "instructions_per_switch", cost);
	else
		jw_null(w, "instructions_per_switch");
	number_or_null(w, r, "corruptions");
	copy_object(w, r->result, written_by_hand);
	if (lab_break_even(plan, job, &b)) {
		jw_object(w, "break_even");
		edge(w, "formula_uses_per_million", b.formula);
		edge(w, "measured_uses_per_million", b.measured);
		jw_f64(w, "measured_traps_per_million", b.traps);
		edge(w, "instructions_uses_per_million", b.instructions);
		jw_f64(w, "save_cycles", plan->costs.save);
		jw_f64(w, "restore_cycles", plan->costs.restore);
		jw_f64(w, "trap_cycles", plan->costs.trap);
		jw_f64(w, "ts_cycles", plan->costs.ts);
		jw_end(w);
	}
	if (r->points) {
		size_t i;
		json_t *point;

		jw_array(w, "points");
		json_array_foreach (r->points, i, point) {
			jw_object(w, NULL);
			copy_object(w, point, kind_of_line);
			jw_end(w);
		}
		jw_end(w);
	}
	if (r->boot) {
		jw_object(w, "cpu");
		copy_object(w, r->boot, written_by_hand);
		jw_end(w);
	}
	if (*job->kept)
		jw_string(w, "kept", job->kept);
	jw_end(w);
}

void lab_print_json(FILE *out, const struct lab_plan *plan)
{
	struct jw w;

	jw_begin(&w, out, ui.pretty);
	jw_object(&w, NULL);
	jw_string(&w, "schema", "xstate.lab/1");
	jw_array(&w, "results");
	for (size_t i = 0; i < plan->count; i++)
		json_row(&w, plan, &plan->jobs[i]);
	jw_end(&w);
	jw_end(&w);
	jw_finish(&w);
}

void lab_print_failures(FILE *out, const struct lab_plan *plan, const char *rom)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct lab_job *job = &plan->jobs[i];
		const char *quote = strchr(job->policy, ';') ? "'" : ""; /* for a shell */

		if (job->result.status != LAB_FAILED)
			continue;
		fprintf(out, "%sFAILED%s %s, %s on %s: %s\n", ui_on(out, UI_BAD),
			ui_off(out, UI_BAD), job->experiment->name, job->policy,
			job->machine->name, job->result.reason);
		if (*job->kept)
			fprintf(out, "  its output: %s/output\n", job->kept);
		fprintf(out, "  to repeat: xstate lab run %s --policy %s%s%s --machine %s --cpus %u",
			job->experiment->name, quote, job->policy, quote, job->machine->name,
			job->cpus);
		fprintf(out, " --seed 0x%" PRIx64, plan->seed);
		if (plan->loops)
			fprintf(out, " --loops %" PRIu64, plan->loops);
		for (const char *arg = plan->extra; arg && *arg;) {
			size_t len = strcspn(arg, " ");

			fprintf(out, " --arg %.*s", (int)len, arg);
			arg += len + (arg[len] == ' ');
		}
		fprintf(out, "%s%s\n", rom ? " --rom " : "", rom ? rom : "");
	}
}
