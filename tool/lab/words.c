// SPDX-License-Identifier: BSD-2-Clause
/*
 * The verdict in words. "Work" is state moved, that is saves and loads: these are what
 * policies differ in and what costs on a real CPU. Policies that move the same (within
 * half a percent) are told apart by the engine's own instructions.
 */
#include "lab/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include <xst/policy.h>

#include "ui/table.h"

#define SAME 0.005

/* What one run costs, per switch; only of runs that were counted, which repeat exactly. */
struct work {
	const struct lab_job *job;
	double saves, loads, skipped, traps, cost;
	double cost_high; /* over machines that are told together; cost is the lowest */
};

static bool get_work(const struct lab_job *job, struct work *w)
{
	const struct lab_result *r = &job->result;

	w->job = job;
	if (r->status != LAB_OK || !lab_result_cost(r, &w->cost) ||
	    !lab_result_per_switch(r, "saves", &w->saves) ||
	    !lab_result_per_switch(r, "loads", &w->loads) ||
	    !lab_result_per_switch(r, "loads_skipped_owner", &w->skipped) ||
	    !lab_result_per_switch(r, "traps", &w->traps))
		return false;
	w->cost_high = w->cost;
	return true;
}

static double moved(const struct work *w)
{
	return w->saves + w->loads;
}

/* Does @a less than @b? */
static bool less(const struct work *a, const struct work *b)
{
	if (fabs(moved(a) - moved(b)) > SAME)
		return moved(a) < moved(b);
	return a->cost < b->cost;
}

/* A sentence that grows. */
struct text {
	char buf[1400];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->used, sizeof(t->buf) - t->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->used += (size_t)n < sizeof(t->buf) - t->used ? (size_t)n :
								  sizeof(t->buf) - 1 - t->used;
}

static void say_cost(struct text *t, const struct work *w)
{
	if (w->cost_high - w->cost < 0.5)
		say(t, "%.1f", w->cost);
	else
		say(t, "%.0f to %.0f", w->cost, w->cost_high);
}

/* Why @best needs less than @worst; from what was counted, not from what is expected. */
static void say_why(struct text *t, const struct work *best, const struct work *worst)
{
	struct xst_policy p = { 0 };
	const char *sep = " Why: ";

	xst_policy_parse(best->job->policy, &p, NULL);
	if (best->skipped > SAME) {
		say(t,
		    "%sin %.0f of 1000 switches the registers still held the task's own values "
		    "and were not loaded again",
		    sep, 1000 * best->skipped);
		sep = "; ";
	}
	if (best->loads + best->skipped < worst->loads + worst->skipped - SAME) {
		say(t, "%sa task that does not %s never has them loaded", sep,
		    p.load == XST_LOAD_FIRST_USE ? "touch the registers" :
							 "return to user mode");
		sep = "; ";
	}
	if (best->saves < worst->saves - SAME)
		say(t, "%s%s", sep,
		    p.save == XST_SAVE_DISPLACED ?
			    "registers that nobody else wants are not saved" :
			    "what was not loaded need not be saved");
	say(t, ".");
	if (best->traps > SAME)
		say(t, " The price: %.0f traps per 1000 switches.", 1000 * best->traps);
}

static void say_machine(struct text *t, const struct work *best, const struct work *worst,
			const char *where)
{
	const char *name = best->job->experiment->name;

	if (moved(worst) - moved(best) <= SAME) {
		say(t,
		    "%s: on %s every policy moves the same state, %.0f saves and %.0f loads per "
		    "1000 switches. %s does it with fewest instructions, ",
		    name, where, 1000 * best->saves, 1000 * best->loads, best->job->policy);
		say_cost(t, best);
		say(t, " each switch; %s needs ", worst->job->policy);
		say_cost(t, worst);
		if (worst->traps > SAME)
			say(t, " and %.0f traps per 1000 switches", 1000 * worst->traps);
		say(t, ".");
		return;
	}
	say(t, "%s: on %s %s did least work, %.0f saves and %.0f loads per 1000 switches with ",
	    name, where, best->job->policy, 1000 * best->saves, 1000 * best->loads);
	say_cost(t, best);
	say(t, " instructions each switch; %s did most, %.0f and %.0f with ", worst->job->policy,
	    1000 * worst->saves, 1000 * worst->loads);
	say_cost(t, worst);
	say(t, ".");
	say_why(t, best, worst);
}

/* Tell @more, of another machine, together with @w. */
static void merge(struct work *w, const struct work *more)
{
	if (more->cost < w->cost)
		w->cost = more->cost;
	if (more->cost_high > w->cost_high)
		w->cost_high = more->cost_high;
}

/* Best and worst of the runs of @experiment on @machine; false when fewer than two compare. */
static bool extremes(const struct lab_plan *plan, const struct lab_experiment *experiment,
		     const struct lab_machine *machine, struct work *best, struct work *worst)
{
	unsigned n = 0;

	for (size_t i = 0; i < plan->count; i++) {
		struct work w;

		if (plan->jobs[i].experiment != experiment || plan->jobs[i].machine != machine ||
		    !get_work(&plan->jobs[i], &w))
			continue;
		if (!n || less(&w, best))
			*best = w;
		if (!n || less(worst, &w))
			*worst = w;
		n++;
	}
	return n > 1;
}

/* Same winner, loser and figures: then one sentence does for both machines. */
static bool alike(const struct work *a, const struct work *b)
{
	return !strcmp(a->job->policy, b->job->policy) && fabs(a->saves - b->saves) < SAME &&
	       fabs(a->loads - b->loads) < SAME && fabs(a->skipped - b->skipped) < SAME;
}

/* One paragraph for each group of machines that agree, beginning with job @i's. */
static void experiment_words(FILE *out, const struct lab_plan *plan, size_t i)
{
	const struct lab_experiment *experiment = plan->jobs[i].experiment;
	const struct lab_machine *told[64], *last = NULL;
	size_t told_count = 0;

	for (; i < plan->count; i++) {
		struct work best, worst, other_best, other_worst;
		struct text t = { .used = 0 };
		char where[300];
		bool seen = false;
		size_t used;

		if (plan->jobs[i].experiment != experiment || plan->jobs[i].machine == last)
			continue;
		last = plan->jobs[i].machine;
		for (size_t k = 0; k < told_count; k++)
			seen |= told[k] == last;
		if (seen || !extremes(plan, experiment, last, &best, &worst))
			continue;
		used = (size_t)snprintf(where, sizeof(where), "%s", last->name);
		for (size_t k = i; k < plan->count && told_count < 64; k++) {
			const struct lab_machine *m = plan->jobs[k].machine;

			if (plan->jobs[k].experiment != experiment || m == last ||
			    m == plan->jobs[k - 1].machine ||
			    !extremes(plan, experiment, m, &other_best, &other_worst) ||
			    !alike(&best, &other_best) || !alike(&worst, &other_worst))
				continue;
			told[told_count++] = m;
			merge(&best, &other_best);
			merge(&worst, &other_worst);
			if (used < sizeof(where))
				used += (size_t)snprintf(where + used, sizeof(where) - used,
							 ", %s", m->name);
		}
		say_machine(&t, &best, &worst, where);
		ui_paragraph(out, 2, t.buf);
	}
}

/* Counters of all policies on one machine together; false unless @first is the first of them. */
static bool sum_up(const struct lab_plan *plan, size_t first, const char *const *names, size_t count,
		   uint64_t *sums)
{
	const struct lab_job *job = &plan->jobs[first];
	uint64_t v;

	for (size_t i = 0; i < plan->count; i++) {
		const struct lab_job *other = &plan->jobs[i];

		if (other->experiment != job->experiment || other->machine != job->machine)
			continue;
		if (i < first)
			return false;
		for (size_t k = 0; k < count; k++)
			if (lab_result_u64(&other->result, names[k], &v))
				sums[k] += v;
	}
	return true;
}

/* Is the experiment about the kernel's own use of registers? Then no policy is to be praised. */
static bool is_of_sections(const struct lab_plan *plan, const struct lab_experiment *experiment)
{
	uint64_t switches = 0, sections = 0, v;

	for (size_t i = 0; i < plan->count; i++) {
		if (plan->jobs[i].experiment != experiment)
			continue;
		if (lab_result_u64(&plan->jobs[i].result, "switches", &v))
			switches += v;
		if (lab_result_u64(&plan->jobs[i].result, "kernel_sections", &v))
			sections += v;
	}
	return sections > switches;
}

/* What guests are about: the exits that cost nothing; a paragraph for each machine. */
static void guest_words(FILE *out, const struct lab_plan *plan, size_t first)
{
	static const char *const names[] = { "exits", "exits_stayed", "stayed_loads", "stayed_saves",
					     "stayed_instructions" };
	uint64_t sums[5] = { 0 };
	struct text t = { .used = 0 };

	if (!sum_up(plan, first, names, 5, sums) || !sums[0])
		return;
	say(&t, "guest: on %s guests exited %" PRIu64 " times. After %" PRIu64 " of these the thread "
	    "stayed in the kernel and nobody else used registers: %" PRIu64 " loads and %" PRIu64
	    " saves.", plan->jobs[first].machine->name, sums[0], sums[1], sums[2], sums[3]);
	if (sums[4] && sums[1])
		say(&t, " Entry and exit took the engine %.1f instructions then.",
		    (double)sums[4] / (double)sums[1]);
	ui_paragraph(out, 2, t.buf);
}

/* What in-kernel sections are about: what they did not have to do. */
static void section_words(FILE *out, const struct lab_plan *plan, size_t first)
{
	static const char *const names[] = { "kernel_sections", "kernel_saves", "kernel_init_x87",
					     "kernel_init_mxcsr" };
	uint64_t sums[4] = { 0 };
	struct text t = { .used = 0 };

	if (!sum_up(plan, first, names, 4, sums) || !sums[0])
		return;
	say(&t, "%s: on %s the kernel used registers itself in %" PRIu64 " sections. They saved a "
	    "user's state %" PRIu64 " times and loaded the x87 control word %" PRIu64 " times and "
	    "MXCSR %" PRIu64 " times; all other sections found what they need in place.",
	    plan->jobs[first].experiment->name, plan->jobs[first].machine->name, sums[0], sums[1],
	    sums[2], sums[3]);
	ui_paragraph(out, 2, t.buf);
}

void lab_words(FILE *out, const struct lab_plan *plan)
{
	bool leaky = false, counted = false, several = false;

	for (size_t i = 0; i < plan->count; i++) {
		const struct lab_job *job = &plan->jobs[i];
		bool first = true;

		counted |= lab_result_flag(&job->result, "counted");
		several |= job->result.status == LAB_OK && job->cpus > 1;
		leaky |= job->result.status == LAB_OK &&
			 lab_result_flag(&job->result, "leaks_speculatively");
		for (size_t k = 0; k < i; k++)
			first &= plan->jobs[k].experiment != job->experiment;
		if (first && !is_of_sections(plan, job->experiment))
			experiment_words(out, plan, i);
		if (!strcmp(job->experiment->name, "guest"))
			guest_words(out, plan, i);
		else
			section_words(out, plan, i);
	}
	if (leaky)
		ui_paragraph(out, 2,
			     "leaks-speculatively: user mode runs with another task's registers "
			     "behind CR0.TS, which this CPU model reads speculatively "
			     "(CVE-2018-3665). Fewer loads are no reason to use such a policy "
			     "there.");
	if (counted)
		ui_paragraph(out, 2,
			     "These are counts on emulated CPUs, exact and repeatable. They are "
			     "not times: an emulated instruction has no duration, and a trap or an "
			     "XRSTOR costs far more than an ADD.");
	if (several)
		ui_paragraph(out, 2,
			     "Several CPUs at once do not run alike twice, so instructions are not "
			     "counted here. What counts is that no register was wrong.");
}
