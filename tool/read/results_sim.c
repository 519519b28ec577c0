// SPDX-License-Identifier: BSD-2-Clause
/*
 * Can a result of xstate sim be one? Its sums are checked against each other. Of a trace that was cut
 * each piece has a result of its own, in which a slot may end that began in the piece before; so only
 * that is asked for which holds for pieces, whole traces and any sum of them:
 *
 *   Counted record by record, whatever the piece:
 *     used_slots, digest_slots, blocked_slots <= user_slots = live_init_slots + ... + live_amx_slots
 *     slots, user_slots, switches_assumed <= switches; day_pauses <= records
 *     switches + forks + execs + exits + signals + sections + migrations + traces <= records
 *     signals_assumed <= signals, returns_assumed <= signals, sections_assumed <= sections
 *     signal_frames <= signal_turns
 *     traces_with_... <= traces = the parts that no further piece follows
 *     observed_restores <= 255 * switches + 2^32 * parts: what a record has room for
 *   A slot ends behind its beginning, and at most 4096 CPUs are in one where a piece begins:
 *     user_slots <= slots + 4096 * open, cpu_ns <= 4096 * span_ns where open is 0; open are the parts
 *     that begin within a trace and whose piece before is not among the parts
 *   What happened in a slot is counted where it ends, so where open is 0:
 *     signal_frames <= signals, sections_inside <= sections, signal_turns <= 2 * records
 *   For each policy, by what one record makes the engine do:
 *     switches = those of the totals, kernel_sections <= sections
 *     validations = loads + loads_skipped_owner + loads_elided_init + loads_failed
 *     traps <= used_slots + execs + exits, preloads + probes <= slots
 *     every other counter <= 8 * records
 *   Programs together have no more slots, used slots, saves, loads and traps than there are, and no more
 *   tasks than records: one gives each its name.
 *
 * And what is made of the sums is what they make: the check's two figures, the share of used slots, shares
 * of a CPU, whether a verdict holds; a range's low end is not above its high one.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <xst/policy.h>

#include "read/results.h"
#include "sim/rec.h"
#include "sim/replay.h"

#define ACTS 8 /* of one kind, for one record */

/* What is asked of one document, and the first thing that is wrong. */
struct sums {
	const struct result *r;
	struct sim_totals n;
	double parts, open, holes;
	char *err;
	size_t errlen;
};

static double count_of(const json_t *o, const char *key)
{
	uint64_t n = 0;

	(void)result_count(json_object_get(o, key), &n);
	return (double)n;
}

static int wrong(const struct sums *s, const char *what)
{
	snprintf(s->err, s->errlen, "%.200s: no sound %.40s: %.200s", s->r->source, s->r->schema, what);
	return -1;
}

/* @a must be no more than @b. Where a trace is long enough that they are not exact, nearly so. */
static int most(const struct sums *s, const char *where, const char *a_is, double a, const char *b_is,
		double b)
{
	char what[200];

	if (a <= b || a < b * (1 + 1e-12))
		return 0;
	snprintf(what, sizeof(what), "%s%s is %.0f, which is more than %s, %.0f", where, a_is, a,
		 b_is, b);
	return wrong(s, what);
}

static int same(const struct sums *s, const char *where, const char *a_is, double a, const char *b_is,
		double b)
{
	char what[200];

	if (fabs(a - b) <= 1e-9 * fabs(b))
		return 0;
	snprintf(what, sizeof(what), "%s%s is %.17g, and not %s, %.17g", where, a_is, a, b_is, b);
	return wrong(s, what);
}

/* The piece before @one is there too. */
static bool has_before(const json_t *parts, const json_t *one)
{
	const char *before = result_text(one, "before", "");
	const json_t *other;
	size_t i;

	json_array_foreach((json_t *)parts, i, other)
		if (result_flag(other, "more") && !strcmp(result_text(other, "after", ""), before))
			return true;
	return false;
}

/* A piece behind @one is there too. */
static bool has_behind(const json_t *parts, const json_t *one)
{
	const char *after = result_text(one, "after", "");
	const json_t *other;
	size_t i;

	json_array_foreach((json_t *)parts, i, other)
		if (!strcmp(result_text(other, "before", ""), after))
			return true;
	return false;
}

static int check_parts(struct sums *s)
{
	const json_t *parts = result_list(s->r->doc, "parts"), *one;
	double ends = 0;
	size_t i;

	json_array_foreach((json_t *)parts, i, one) {
		ends += !result_flag(one, "more");
		s->open += strspn(result_text(one, "before", ""), "0") != 16 && !has_before(parts, one);
	}
	json_array_foreach((json_t *)parts, i, one)
		s->holes += result_flag(one, "more") && !has_behind(parts, one);
	s->holes += s->open;
	s->parts = (double)json_array_size(parts);
	return same(s, "", "totals.traces", (double)s->n.traces, "the parts that end a trace", ends);
}

#define MOST(a, b) \
	if (most(s, "totals.", #a, (double)n->a, #b, (double)n->b)) \
		return -1

static int check_totals(const struct sums *s)
{
	const struct sim_totals *n = &s->n;
	const double live = (double)n->live_init_slots + (double)n->live_sse_slots +
			    (double)n->live_avx_slots + (double)n->live_avx512_slots +
			    (double)n->live_amx_slots;
	const double all = (double)n->switches + (double)n->forks + (double)n->execs +
			   (double)n->exits + (double)n->signals + (double)n->sections +
			   (double)n->migrations + (double)n->traces;

	MOST(used_slots, user_slots);
	MOST(digest_slots, user_slots);
	MOST(blocked_slots, user_slots);
	MOST(slots, switches);
	MOST(switches_assumed, switches);
	MOST(day_pauses, records);
	MOST(user_slots, switches);
	MOST(signals_assumed, signals);
	MOST(returns_assumed, signals);
	MOST(signal_frames, signal_turns);
	MOST(sections_assumed, sections);
	MOST(traces_with_fpu, traces);
	MOST(traces_with_restores, traces);
	MOST(traces_with_signals, traces);
	MOST(traces_with_sections, traces);
	if (same(s, "totals.", "user_slots", (double)n->user_slots, "the sum of live_..._slots",
		 live) ||
	    most(s, "totals.", "user_slots", (double)n->user_slots, "the slots there are",
		 (double)n->slots + REC_CPUS_MAX * s->open) ||
	    most(s, "", "what the totals count", all, "totals.records", (double)n->records) ||
	    most(s, "totals.", "observed_restores", (double)n->observed_restores,
		 "all that records have room for",
		 (double)REC_SEEN_MAX * (double)n->switches + 0x1p32 * s->parts))
		return -1;
	if (s->open > 0)
		return 0;
	MOST(signal_frames, signals);
	MOST(sections_inside, sections);
	return most(s, "totals.", "signal_turns", (double)n->signal_turns, "2 for each record",
		    2 * (double)n->records) ||
		       most(s, "totals.", "cpu_ns", (double)n->cpu_ns, "span_ns of 4096 CPUs",
			    REC_CPUS_MAX * (double)n->span_ns)
	       ? -1 : 0;
}

static int range_of(const struct sums *s, const json_t *o, const char *where, const char *low,
		    const char *high)
{
	const double a = result_number(o, low), b = result_number(o, high);
	char what[200];

	/* It is there, and result_number() takes it for none. */
	if ((isnan(a) && json_is_number(json_object_get(o, low))) ||
	    (isnan(b) && json_is_number(json_object_get(o, high)))) {
		snprintf(what, sizeof(what), "%s%s or %s is beyond all that can be", where, low, high);
		return wrong(s, what);
	}
	if (a < 0) {
		snprintf(what, sizeof(what), "%s%s is below 0", where, low);
		return wrong(s, what);
	}
	if (isnan(a) || isnan(b) || a <= b)
		return 0;
	snprintf(what, sizeof(what), "%s%s is more than %s", where, low, high);
	return wrong(s, what);
}

static int check_clock(const struct sums *s)
{
	const json_t *costs = result_list(s->r->doc, "costs");
	const double ghz = result_number(costs, "ghz");

	return !json_object_get(costs, "ghz") || (ghz > 0 && ghz < 100) ? 0
		: wrong(s, "costs.ghz is no clock of a CPU, which is above 0 and below 100");
}

/* The share of a CPU is what cycles, time and clock make. */
static int check_share(const struct sums *s, const json_t *row, const char *where)
{
	static const char *const ends[][2] = { { "cpu_share_low", "cycles_low" },
					       { "cpu_share_high", "cycles_high" } };
	const double ghz = result_number(result_list(s->r->doc, "costs"), "ghz");
	const double cpu = (double)s->n.span_ns * ghz;

	for (size_t i = 0; cpu > 0 && i < 2; i++) {
		const double share = result_number(row, ends[i][0]), x = result_number(row, ends[i][1]);

		if (isfinite(share) && isfinite(x) && fabs(share - x / cpu) > 1e-6 * x / cpu)
			return same(s, where, ends[i][0], share, "that of cycles, span_ns and ghz",
				    x / cpu);
	}
	return 0;
}

static int check_row(const struct sums *s, const json_t *row, const char *where)
{
	static const char *const acts[] = { "validations", "saves", "saves_elided", "loads",
					    "loads_skipped_owner", "loads_elided_init", "loads_failed",
					    "clears", "kernel_saves", "ts_writes", "init_reads",
					    "interrupts" };
	const struct sim_totals *n = &s->n;
	struct xst_policy policy;
	char what[80];

	if (same(s, where, "switches", count_of(row, "switches"), "totals.switches",
		 (double)n->switches) ||
	    same(s, where, "validations", count_of(row, "validations"),
		 "loads + loads_skipped_owner + loads_elided_init + loads_failed",
		 count_of(row, "loads") + count_of(row, "loads_skipped_owner") +
			 count_of(row, "loads_elided_init") + count_of(row, "loads_failed")) ||
	    most(s, where, "traps", count_of(row, "traps"), "used_slots + execs + exits",
		 (double)n->used_slots + (double)n->execs + (double)n->exits) ||
	    most(s, where, "preloads + probes", count_of(row, "preloads") + count_of(row, "probes"),
		 "totals.slots", (double)n->slots) ||
	    most(s, where, "kernel_sections", count_of(row, "kernel_sections"), "totals.sections",
		 (double)n->sections) ||
	    range_of(s, row, where, "cycles_low", "cycles_high") ||
	    range_of(s, row, where, "cpu_share_low", "cpu_share_high") || check_share(s, row, where))
		return -1;
	if (xst_policy_parse(result_text(row, "policy", ""), &policy, NULL)) {
		snprintf(what, sizeof(what), "%spolicy is none that this version knows", where);
		return wrong(s, what);
	}
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		if (most(s, where, acts[i], count_of(row, acts[i]), "8 for each record",
			 ACTS * (double)n->records))
			return -1;
	return 0;
}

/* Of all programs together; @k is the policy, below 0: what is no policy's. */
static double by_programs(const json_t *programs, int k, const char *key)
{
	const json_t *one;
	double sum = 0;
	size_t i;

	json_array_foreach((json_t *)programs, i, one)
		sum += count_of(k < 0 ? one : json_array_get(result_list(one, "policies"),
							     (size_t)k), key);
	return sum;
}

static int check_rows(const struct sums *s)
{
	static const char *const of_programs[] = { "saves", "loads", "traps" };
	const json_t *rows = result_list(s->r->doc, "policies"), *row;
	const json_t *programs = result_list(s->r->doc, "programs");
	char where[40];
	size_t i;

	if (most(s, "", "the tasks of programs", by_programs(programs, -1, "tasks"), "totals.records",
		 (double)s->n.records) ||
	    most(s, "", "the slots of programs", by_programs(programs, -1, "slots"), "totals.slots",
		 (double)s->n.slots) ||
	    most(s, "", "the used_slots of programs", by_programs(programs, -1, "used_slots"),
		 "totals.used_slots", (double)s->n.used_slots))
		return -1;
	json_array_foreach((json_t *)rows, i, row) {
		snprintf(where, sizeof(where), "policies[%zu].", i);
		if (check_row(s, row, where))
			return -1;
		for (size_t k = 0; programs && k < 3; k++)
			if (most(s, "programs' ", of_programs[k],
				 by_programs(programs, (int)i, of_programs[k]), where,
				 count_of(row, of_programs[k])))
				return -1;
	}
	return 0;
}

/* Figures that follow from the sums; a page shows them as they are. */
static int check_made(const struct sums *s)
{
	static const char *const prices[][2] = {
		{ "save_low_cycles", "save_high_cycles" }, { "load_low_cycles", "load_high_cycles" },
		{ "trap_low_cycles", "trap_high_cycles" }, { "ts_low_cycles", "ts_high_cycles" },
		{ "interrupt_low_cycles", "interrupt_high_cycles" },
		{ "init_read_low_cycles", "init_read_high_cycles" },
	};
	const json_t *doc = s->r->doc, *check = result_list(doc, "check"), *row;
	const json_t *even = result_list(doc, "break_even"), *costs = result_list(doc, "costs");
	const double used = result_number(doc, "used_slots_per_million");
	size_t i;

	if (s->n.slots && !isnan(used) &&
	    same(s, "", "used_slots_per_million", used, "that of totals",
		 1e6 * (double)s->n.used_slots / (double)s->n.slots))
		return -1;
	for (i = 0; i < sizeof(prices) / sizeof(prices[0]); i++)
		if (range_of(s, costs, "costs.", prices[i][0], prices[i][1]))
			return -1;
	if (range_of(s, even, "break_even.", "formula_low_per_million", "formula_high_per_million") ||
	    range_of(s, even, "break_even.", "counted_low_per_million", "counted_high_per_million"))
		return -1;
	if (!check)
		return 0;
	if (same(s, "check.", "observed_restores", count_of(check, "observed_restores"),
		 "totals.observed_restores", (double)s->n.observed_restores))
		return -1;
	json_array_foreach((json_t *)result_list(doc, "policies"), i, row)
		if (!strcmp(result_text(row, "policy", ""), "deferred") &&
		    !result_text(row, "hypothesis", NULL))
			return same(s, "check.", "predicted_restores",
				    count_of(check, "predicted_restores"), "deferred's loads",
				    count_of(row, "loads"));
	return wrong(s, "check is there, and deferred is not among the policies");
}

/*
 * What stands in the way of a verdict is in the totals, too. Earlier versions had one word for all of
 * that, and for a single contradiction.
 */
static int check_holds(const struct sums *s)
{
	const char *holds = result_text(s->r->doc, "holds", "");
	const bool lost = s->n.lost_events, holes = s->holes > 0, many = sim_has_many_gaps(&s->n);
	char what[160];
	bool may;

	if (!strcmp(holds, "over-all-prices") || !strcmp(holds, "depends-on-prices"))
		may = !lost && !holes && !many;
	else if (!strcmp(holds, "events-lost"))
		may = lost || holes || s->n.gaps;
	else if (!strcmp(holds, "pieces-missing"))
		may = !lost && holes;
	else if (!strcmp(holds, "contradictions"))
		may = !lost && !holes && many;
	else
		return wrong(s, "holds is no word that this version knows");
	if (may)
		return 0;
	snprintf(what, sizeof(what), "holds is %.20s, and lost_events %llu, gaps %llu, pieces missing at "
		 "%.0f places", holds, (unsigned long long)s->n.lost_events,
		 (unsigned long long)s->n.gaps, s->holes);
	return wrong(s, what);
}

int result_check_sim(const struct result *r, char *err, size_t errlen)
{
	struct sums s = { .r = r, .err = err, .errlen = errlen };
	const json_t *totals = result_list(r->doc, "totals");

#define X(name) (void)result_count(json_object_get(totals, #name), &s.n.name);
	SIM_TOTALS(X)
	SIM_TOTALS_NEW(X)
#undef X
	return check_parts(&s) || check_totals(&s) || check_clock(&s) || check_rows(&s) ||
			       check_made(&s) || check_holds(&s) ? -1 : 0;
}
