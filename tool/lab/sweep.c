// SPDX-License-Identifier: BSD-2-Clause
/*
 * The points of a sweep, put together. Costs are given, in cycles, not measured: an
 * emulated instruction has no duration. Counts are measured.
 */
#include "lab/sweep.h"

#include <math.h>
#include <string.h>

#include <xst/policy.h>

#include "sim/even.h"
#include "ui/opt.h"
#include "ui/table.h"

#define MILLION 1e6

bool lab_costs_parse(const char *text, struct lab_costs *costs)
{
	struct lab_costs c = *costs;
	struct {
		const char *name;
		double *value;
	} const words[] = { { "save=", &c.save }, { "restore=", &c.restore }, { "trap=", &c.trap },
			    { "ts=", &c.ts } };
	char item[64];

	while (opt_item(&text, item, sizeof(item))) {
		size_t i = 0;

		while (i < 4 && strncmp(item, words[i].name, strlen(words[i].name)))
			i++;
		if (i == 4 || !opt_f64(item + strlen(words[i].name), words[i].value) ||
		    !(*words[i].value >= 0) || *words[i].value > 1e9)
			return false;
	}
	if (text)
		return false;
	*costs = c;
	return true;
}

static double number(const json_t *point, const char *name)
{
	return (double)json_integer_value(json_object_get(point, name));
}

static bool is_run_of(const struct lab_job *job, const char *experiment)
{
	return !strcmp(job->experiment->name, experiment) && job->result.status == LAB_OK &&
	       json_array_size(job->result.points) > 0;
}

static bool waits_for_use(const struct lab_job *job)
{
	struct xst_policy p = { 0 };

	return xst_policy_parse(job->policy, &p, NULL) == XST_OK && p.load == XST_LOAD_FIRST_USE;
}

/* The run on the same machine to compare with: eager, which loads for every slot. */
static const struct lab_job *eager_run(const struct lab_plan *plan, const struct lab_job *job)
{
	for (size_t i = 0; i < plan->count; i++)
		if (is_run_of(&plan->jobs[i], "slots") && plan->jobs[i].machine == job->machine &&
		    !strcmp(plan->jobs[i].policy, "eager"))
			return &plan->jobs[i];
	return NULL;
}

/* What the state that was moved in @point costs each slot. */
static double work(const struct lab_costs *c, const json_t *point, bool waits)
{
	return (number(point, "saves") * c->save + number(point, "loads") * c->restore +
		number(point, "traps") * c->trap + (waits ? number(point, "switches") * c->ts : 0)) /
	       number(point, "slots");
}

static double instructions(const struct lab_costs *c, const json_t *point, bool waits)
{
	(void)c;
	(void)waits;
	return number(point, "engine_instructions") / number(point, "slots");
}

static double use(const json_t *point)
{
	return MILLION * number(point, "uses") / number(point, "slots");
}

typedef double (*cost_fn)(const struct lab_costs *c, const json_t *point, bool waits);

/* Where @job's cost rises above @eager's; the traps there go to @traps. */
static double crossing(const struct lab_costs *c, const struct lab_job *eager,
		       const struct lab_job *job, cost_fn cost, double *traps)
{
	size_t count = json_array_size(job->result.points), i;
	double x0 = 0, d0 = 0, t0 = 0;

	if (json_array_size(eager->result.points) != count)
		return NAN;
	for (i = 0; i < count; i++) {
		const json_t *a = json_array_get(eager->result.points, i);
		const json_t *b = json_array_get(job->result.points, i);
		double x = use(b), d = cost(c, b, true) - cost(c, a, false);
		double t = MILLION * number(b, "traps") / number(b, "slots");

		if (d >= 0) {
			double part = i ? d0 / (d0 - d) : 0;

			if (traps)
				*traps = t0 + part * (t - t0);
			return i ? x0 + part * (x - x0) : -1;
		}
		x0 = x;
		d0 = d;
		t0 = t;
	}
	if (traps)
		*traps = t0;
	return MILLION + 1;
}

bool lab_break_even(const struct lab_plan *plan, const struct lab_job *job,
		    struct lab_break_even *b)
{
	const struct lab_costs *c = &plan->costs;
	const struct lab_job *eager;

	if (!is_run_of(job, "slots") || !waits_for_use(job))
		return false;
	eager = eager_run(plan, job);
	if (!eager)
		return false;
	b->formula = even_formula(c->save + c->restore, c->trap, c->ts);
	b->measured = crossing(c, eager, job, work, &b->traps);
	b->instructions = crossing(c, eager, job, instructions, NULL);
	return !isnan(b->measured);
}

static void edge_cell(struct table *t, double v)
{
	if (v < 0)
		table_cell(t, "eager always");
	else if (v > MILLION)
		table_cell(t, "never");
	else
		table_cell(t, "%.0f", v);
}

static void print_slots(FILE *out, const struct lab_plan *plan)
{
	const struct lab_costs *c = &plan->costs;
	const double e = c->save + c->restore;
	struct table *t = table_new();
	struct lab_break_even b;
	const struct lab_machine *last = NULL;
	char text[900];
	bool any = false;

	table_column(t, "policy", TABLE_LEFT);
	table_column(t, "by the formula", TABLE_RIGHT);
	table_column(t, "measured", TABLE_RIGHT);
	table_column(t, "traps there", TABLE_RIGHT);
	table_column(t, "by instructions", TABLE_RIGHT);
	for (size_t i = 0; i < plan->count; i++) {
		const struct lab_job *job = &plan->jobs[i];

		if (!lab_break_even(plan, job, &b))
			continue;
		any = true;
		if (job->machine != last)
			table_group(t, "slots on %s: eager wins when more of a million slots use "
				       "the registers than",
				    job->machine->name);
		last = job->machine;
		table_cell(t, "%s", job->policy);
		edge_cell(t, b.formula);
		edge_cell(t, b.measured);
		table_cell(t, "%.0f", b.traps);
		edge_cell(t, b.instructions);
	}
	if (any) {
		fputc('\n', out);
		table_print(t, out);
		snprintf(text, sizeof(text),
			 "The formula in words: a slot costs eager a save and a restore, E = %g + "
			 "%g = %g cycles, always. Waiting for the first use costs c = %g for CR0.TS "
			 "at each switch, and E and the trap, T = %g, in a slot that uses the "
			 "registers. Both cost the same at u* = (E - c) / (E + T) = %.0f using slots "
			 "per million. These cycles are given (--cost), not measured; \"measured\" is "
			 "the same cycles for the saves, loads and traps that were counted, and "
			 "\"by instructions\" counts what the engine executes beside the save, the "
			 "restore and the trap itself.",
			 c->save, c->restore, e, c->ts, c->trap,
			 MILLION * (e - c->ts) / (e + c->trap));
		ui_paragraph(out, 2, text);
	}
	table_free(t);
}

static void print_live(FILE *out, const struct lab_plan *plan)
{
	struct table *t = table_new();
	bool any = false;

	table_column(t, "live", TABLE_LEFT);
	table_column(t, "XSTATE_BV", TABLE_RIGHT);
	table_column(t, "components", TABLE_RIGHT);
	table_column(t, "bytes written", TABLE_RIGHT);
	table_column(t, "of area", TABLE_RIGHT);
	table_column(t, "saves left out", TABLE_RIGHT);
	table_column(t, "loads left out", TABLE_RIGHT);
	table_column(t, "instr/switch", TABLE_RIGHT);
	for (size_t i = 0; i < plan->count; i++) {
		const struct lab_job *job = &plan->jobs[i];
		json_t *p;
		size_t k;

		if (!is_run_of(job, "live"))
			continue;
		any = true;
		table_group(t, "live on %s under %s, for each save or left-out save",
			    job->machine->name, job->policy);
		json_array_foreach (job->result.points, k, p) {
			double images = number(p, "images");

			table_cell(t, "%s", json_string_value(json_object_get(p, "live")));
			if (images <= 0) {
				for (int n = 0; n < 6; n++)
					table_cell(t, "-");
			} else {
				table_cell(t, "%s",
					   json_string_value(json_object_get(p, "xstate_bv")));
				table_cell(t, "%.1f", number(p, "components") / images);
				table_cell(t, "%.0f", number(p, "bytes_written") / images);
				table_cell(t, "%.0f%%", 100 * number(p, "bytes_written") /
								number(p, "bytes_nominal"));
				table_cell(t, "%.0f%%", 100 * number(p, "saves_elided") / images);
				table_cell(t, "%.0f%%", 100 * number(p, "loads_elided_init") /
								number(p, "validations"));
			}
			if (lab_result_flag(&job->result, "counted"))
				table_cell(t, "%.1f", number(p, "engine_instructions") /
							      number(p, "switches"));
			else
				table_cell(t, "-");
		}
	}
	if (any) {
		fputc('\n', out);
		table_print(t, out);
	}
	table_free(t);
}

/* One step of `cet-s`: for each event the instructions, the saves and loads, the writes of MSRs. */
static void step_cell(struct table *t, const json_t *p, const char *step)
{
	char name[4][48];
	double events;

	snprintf(name[0], sizeof(name[0]), "%s_events", step);
	snprintf(name[1], sizeof(name[1]), "%s_instructions", step);
	snprintf(name[2], sizeof(name[2]), "%s_moves", step);
	snprintf(name[3], sizeof(name[3]), "%s_msr_writes", step);
	events = number(p, name[0]);
	table_cell(t, "%.0f+%.0f+%.0f", number(p, name[1]) / events, number(p, name[2]) / events,
		   number(p, name[3]) / events);
}

static void print_cet_s(FILE *out, const struct lab_plan *plan)
{
	static const char *const steps[] = { "eager", "deferred", "stay", "visit" };
	struct table *t = table_new();
	bool any = false;

	table_column(t, "CET_S", TABLE_LEFT);
	table_column(t, "task's bytes", TABLE_RIGHT);
	table_column(t, "guest's", TABLE_RIGHT);
	table_column(t, "eager switch", TABLE_RIGHT);
	table_column(t, "deferred", TABLE_RIGHT);
	table_column(t, "exit and entry", TABLE_RIGHT);
	table_column(t, "visit to a guest", TABLE_RIGHT);
	for (size_t i = 0; i < plan->count; i++) {
		const struct lab_job *job = &plan->jobs[i];
		json_t *p;
		size_t k;

		if (!is_run_of(job, "cet-s"))
			continue;
		any = true;
		table_group(t, "cet-s on %s: instructions+saves and loads+writes of MSRs",
			    job->machine->name);
		json_array_foreach (job->result.points, k, p) {
			table_cell(t, "%s%s", json_string_value(json_object_get(p, "case")),
				   number(p, "tasks_have_cet_u") > 0 ? ", tasks have CET_U" : "");
			table_cell(t, "%.0f", number(p, "task_bytes"));
			table_cell(t, "%.0f", number(p, "guest_bytes"));
			for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++)
				step_cell(t, p, steps[s]);
		}
	}
	if (any) {
		fputc('\n', out);
		table_print(t, out);
		ui_paragraph(out, 2,
			     "none: guests' pointers are switched by software. guests: XSAVES switches "
			     "them, for guests only. tasks: every task has them, which the library refuses "
			     "but for this experiment. A visit leads from user mode into another guest than "
			     "the last one, and back.");
	}
	table_free(t);
}

void lab_print_sweeps(FILE *out, const struct lab_plan *plan)
{
	print_slots(out, plan);
	print_live(out, plan);
	print_cet_s(out, plan);
}
