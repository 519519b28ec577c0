// SPDX-License-Identifier: BSD-2-Clause
/* Sums over traces, and what follows from them. */
#include "sim/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/even.h"
#include "sim/fnv.h"

#define MILLION 1e6

bool sim_row_add(struct sim_result *r, const char *name, const struct xst_policy *policy,
		 const char *hypothesis)
{
	struct sim_row *row;

	if (r->row_count == SIM_ROWS_MAX)
		return false;
	row = &r->rows[r->row_count++];
	memset(row, 0, sizeof(*row));
	snprintf(row->name, sizeof(row->name), "%s", name);
	snprintf(row->hypothesis, sizeof(row->hypothesis), "%s", hypothesis);
	row->policy = *policy;
	row->policy.name = row->name;
	return true;
}

static bool same_rows(const struct sim_result *a, const struct sim_result *b)
{
	if (a->row_count != b->row_count)
		return false;
	for (size_t i = 0; i < a->row_count; i++)
		if (strcmp(a->rows[i].name, b->rows[i].name) ||
		    strcmp(a->rows[i].hypothesis, b->rows[i].hypothesis))
			return false;
	return true;
}

/* Where a name is in sum->by_name, or belongs; a quarter of the places is free at least. */
static uint32_t *place_of(const struct sim_result *sum, const char *name)
{
	const uint64_t hash = fnv(FNV_NOTHING, name, strlen(name));
	size_t at;

	for (at = (size_t)(hash ^ hash >> 32);; at++) {
		uint32_t *place = &sum->by_name[at & (sum->by_name_room - 1)];

		if (!*place || !strcmp(sum->tasks[*place - 1].name, name))
			return place;
	}
}

/* Every name that is there, and room for one more. */
static bool index_tasks(struct sim_result *sum)
{
	size_t room = 64;

	if (sum->by_name_count == sum->task_count && 4 * (sum->task_count + 1) <= 3 * sum->by_name_room)
		return true;
	while (4 * (sum->task_count + 1) > 3 * room / 2)
		room *= 2;
	free(sum->by_name);
	sum->by_name = calloc(room, sizeof(*sum->by_name));
	sum->by_name_room = sum->by_name ? room : 0;
	sum->by_name_count = 0;
	if (!sum->by_name)
		return false;
	for (; sum->by_name_count < sum->task_count; sum->by_name_count++)
		*place_of(sum, sum->tasks[sum->by_name_count].name) =
			(uint32_t)sum->by_name_count + 1;
	return true;
}

/* The row of @name, which may be new; NULL when memory is short. */
static struct sim_task_row *task_row(struct sim_result *sum, const char *name)
{
	struct sim_task_row *more;
	uint32_t *place;

	if (!index_tasks(sum))
		return NULL;
	place = place_of(sum, name);
	if (*place)
		return &sum->tasks[*place - 1];
	if (sum->task_count == sum->task_room) {
		sum->task_room = sum->task_count ? 2 * sum->task_count : 64;
		more = realloc(sum->tasks, sum->task_room * sizeof(*more));
		if (!more)
			return NULL;
		sum->tasks = more;
	}
	more = &sum->tasks[sum->task_count++];
	*place = (uint32_t)++sum->by_name_count;
	memset(more, 0, sizeof(*more));
	snprintf(more->name, sizeof(more->name), "%s", name);
	return more;
}

static bool add_task(struct sim_result *sum, const struct sim_task_row *t)
{
	struct sim_task_row *row = task_row(sum, t->name);

	if (!row)
		return false;
	row->tasks += t->tasks;
	row->slots += t->slots;
	row->used += t->used;
	for (size_t k = 0; k < sum->row_count; k++) {
		row->n[k].saves += t->n[k].saves;
		row->n[k].loads += t->n[k].loads;
		row->n[k].traps += t->n[k].traps;
	}
	return true;
}

/* Of what @more is the first part of @sum. */
static void begin_sum(struct sim_result *sum, const struct sim_result *more)
{
	memcpy(sum->rows, more->rows, sizeof(sum->rows));
	sum->row_count = more->row_count;
	for (size_t i = 0; i < sum->row_count; i++) {
		memset(&sum->rows[i].n, 0, sizeof(sum->rows[i].n));
		sum->rows[i].policy.name = sum->rows[i].name;
	}
	memcpy(sum->use, more->use, sizeof(sum->use));
	memcpy(sum->signals, more->signals, sizeof(sum->signals));
	memcpy(sum->sections, more->sections, sizeof(sum->sections));
	sum->seed = more->seed;
	sum->use_content = more->use_content;
	sum->programs = more->programs;
}

/* Was a seed asked for what is assumed? */
static bool by_chance(const struct sim_result *r)
{
	return !strncmp(r->use, "p=", 2) || !strncmp(r->use, "by-comm=", 8);
}

static bool same_assumptions(const struct sim_result *a, const struct sim_result *b, char *err,
			     size_t errlen)
{
	if (!same_rows(a, b))
		snprintf(err, errlen, "results of different policies cannot be added");
	else if (strcmp(a->use, b->use) || strcmp(a->signals, b->signals) ||
		 strcmp(a->sections, b->sections))
		snprintf(err, errlen, "results under different assumptions cannot be added: use %s "
			 "and %s, signals %s and %s, sections %s and %s", a->use, b->use, a->signals,
			 b->signals, a->sections, b->sections);
	else if (a->use_content != b->use_content)
		snprintf(err, errlen, "results under different assumptions cannot be added: the file "
			 "of --use %s was not the same", a->use);
	else if (by_chance(a) && a->seed != b->seed)
		snprintf(err, errlen, "results with different seeds cannot be added");
	else if (a->programs != b->programs)
		snprintf(err, errlen, "results with --programs and without cannot be added");
	else
		return true;
	return false;
}

/* Nothing but 64-bit counters in both, which JSON must be able to hold. */
static bool fits(const void *sum, const void *more, size_t bytes)
{
	const uint64_t *a = sum, *b = more;

	for (size_t i = 0; i < bytes / sizeof(*a); i++)
		if (b[i] > INT64_MAX || a[i] > INT64_MAX - b[i])
			return false;
	return true;
}

static bool all_fit(const struct sim_result *sum, const struct sim_result *more)
{
	bool ok = fits(&sum->total, &more->total, sizeof(sum->total));

	for (size_t i = 0; ok && i < sum->row_count; i++)
		ok = fits(&sum->rows[i].n, &more->rows[i].n, sizeof(sum->rows[i].n));
	return ok;
}

bool sim_result_add(struct sim_result *sum, const struct sim_result *more, char *err, size_t errlen)
{
	if (!sum->row_count)
		begin_sum(sum, more);
	if (!same_assumptions(sum, more, err, errlen))
		return false;
	if (!all_fit(sum, more)) {
		snprintf(err, errlen, "the sums are larger than 63 bits can hold");
		return false;
	}
	for (size_t i = 0; i < more->parts.count; i++)
		if (!sim_parts_add(&sum->parts, &more->parts.part[i])) {
			snprintf(err, errlen, "one trace, or a piece of it, would be counted twice");
			return false;
		}
	sim_totals_add(&sum->total, &more->total);
	for (size_t i = 0; i < sum->row_count; i++)
		lane_counts_add(&sum->rows[i].n, &more->rows[i].n);
	for (size_t i = 0; i < more->task_count; i++)
		if (!add_task(sum, &more->tasks[i])) {
			snprintf(err, errlen, "out of memory");
			return false;
		}
	/* CPU 0 of one machine is not CPU 0 of another. */
	if (sum->parts.count == 1 && more->cpu_count) {
		sum->cpus = calloc(more->cpu_count, sizeof(*sum->cpus));
		if (sum->cpus)
			memcpy(sum->cpus, more->cpus, more->cpu_count * sizeof(*sum->cpus));
		sum->cpu_count = sum->cpus ? more->cpu_count : 0;
	} else if (more->parts.count) {
		free(sum->cpus);
		sum->cpus = NULL;
		sum->cpu_count = 0;
	}
	return true;
}

void sim_result_free(struct sim_result *r)
{
	free(r->cpus);
	free(r->tasks);
	free(r->by_name);
	sim_parts_free(&r->parts);
	r->cpus = NULL;
	r->tasks = NULL;
	r->by_name = NULL;
	r->by_name_room = r->by_name_count = 0;
	r->cpu_count = r->task_count = r->task_room = 0;
}

const struct sim_row *sim_row_find(const struct sim_result *r, const char *name)
{
	for (size_t i = 0; i < r->row_count; i++)
		if (!r->rows[i].hypothesis[0] && !strcmp(r->rows[i].name, name))
			return &r->rows[i];
	return NULL;
}

/* Prices under a row's hypothesis. */
static struct sim_costs costs_for(const struct sim_costs *c, const struct sim_row *row)
{
	struct sim_costs own = *c;

	if (row->trap_given)
		own.trap = row->trap;
	if (row->bound)
		own.interrupt = (struct sim_range){ 0, 0 };
	/* INIT images stay as small as they are. */
	for (int i = REC_SSE; i < REC_LIVES; i++) {
		own.save[i].low += row->more_bytes.low;
		own.save[i].high += row->more_bytes.high;
		own.load[i].low += row->more_bytes.low;
		own.load[i].high += row->more_bytes.high;
	}
	return own;
}

struct lane_counts sim_row_counts(const struct sim_result *r, const struct sim_row *row, bool most)
{
	struct lane_counts n = row->n;

	if (!most || row->policy.load != XST_LOAD_FIRST_USE)
		return n;
	/* The trap clears TS; the next handler, or return from one, takes the registers, and sets it. */
	n.n.traps += r->total.signal_turns;
	n.n.loads += r->total.signal_turns;
	n.ts_writes += 2 * r->total.signal_turns;
	n.n.saves += r->total.signal_frames;
	return n;
}

struct sim_range sim_row_cycles(const struct sim_result *r, const struct sim_costs *c, size_t i)
{
	const struct sim_row *row = &r->rows[i];
	const struct sim_costs own = costs_for(c, row);

	const double clears = row->extra.clear_on_block ? (double)r->total.blocked_slots : 0;
	const struct lane_counts most = sim_row_counts(r, row, true);

	return (struct sim_range){ sim_costs_of(&own, &r->total, &row->n, clears).low,
				   sim_costs_of(&own, &r->total, &most, clears).high };
}

struct sim_range sim_row_between(const struct sim_result *r, const struct sim_costs *c,
				 const struct sim_row *a, const struct sim_row *b)
{
	const struct lane_counts x = sim_row_counts(r, a, true), y = sim_row_counts(r, b, true);
	const struct sim_range least = sim_costs_between(c, &r->total, &a->n, &b->n);
	const struct sim_range most = sim_costs_between(c, &r->total, &x, &y);

	/* In between it lies between, since all of it are sums of counts times prices. */
	return (struct sim_range){ fmin(least.low, most.low), fmax(least.high, most.high) };
}

bool sim_result_even(const struct sim_result *r, const struct sim_costs *c, struct sim_even *out)
{
	const struct sim_row *eager = sim_row_find(r, "eager"), *lazy = sim_row_find(r, "lazy");
	const struct sim_range save = sim_costs_save(c, &r->total), load = sim_costs_load(c, &r->total);
	const struct sim_totals *n = &r->total;
	struct lane_counts most;
	struct sim_range a, b;

	memset(out, 0, sizeof(*out));
	out->used = n->slots ? MILLION * (double)n->used_slots / (double)n->slots : 0;
	out->used_least = -1;
	if (!strcmp(r->use, "live") && n->digest_slots && n->digest_slots == n->user_slots)
		out->used_least = out->used;
	/* A trap costs the write that clears TS, too, and the next switch sets it again. */
	out->formula.low = even_formula(save.low + load.low, c->trap.high + 2 * c->ts.high, 0);
	out->formula.high = even_formula(save.high + load.high, c->trap.low + 2 * c->ts.low, 0);
	if (!eager || !lazy || !lazy->n.n.traps || !n->used_slots)
		return false;
	/*
	 * Every save, load and trap of lazy comes from a slot that used the registers, so its cost
	 * grows in proportion to them, while eager's stays.
	 */
	most = sim_row_counts(r, lazy, true);
	b = sim_costs_of(c, n, &lazy->n, 0);
	if (!(b.low > 0))
		return false;
	/* The prices of save and load are the same on both sides: take one end of them at a time. */
	for (int end = 0; end < 2; end++) {
		struct sim_costs one = *c;
		double even[2];

		for (int i = 0; i < REC_LIVES; i++) {
			one.save[i].low = one.save[i].high = end ? c->save[i].high : c->save[i].low;
			one.load[i].low = one.load[i].high = end ? c->load[i].high : c->load[i].low;
		}
		a = sim_costs_of(&one, n, &eager->n, 0);
		b = sim_costs_of(&one, n, &lazy->n, 0);
		even[0] = out->used * a.low / sim_costs_of(&one, n, &most, 0).high;
		even[1] = out->used * a.high / b.low;
		out->counted.low = end ? fmin(out->counted.low, even[0]) : even[0];
		out->counted.high = end ? fmax(out->counted.high, even[1]) : even[1];
	}
	out->known = true;
	return true;
}

enum sim_holds sim_holds(const struct sim_result *r, const struct sim_costs *c)
{
	const struct sim_row *eager = sim_row_find(r, "eager"), *lazy = sim_row_find(r, "lazy");
	struct sim_range d;

	if (r->total.lost_events)
		return SIM_LOST;
	if (sim_parts_holes(&r->parts))
		return SIM_HOLES;
	if (sim_has_many_gaps(&r->total))
		return SIM_GAPS;
	if (!eager || !lazy)
		return SIM_DEPENDS;
	d = sim_row_between(r, c, eager, lazy);
	return d.low > 0 || d.high < 0 ? SIM_HOLDS : SIM_DEPENDS;
}
