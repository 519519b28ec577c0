// SPDX-License-Identifier: BSD-2-Clause
/* A result as xstate.sim/1, written and read again: docs/json.md has the keys. */
#include <stdlib.h>
#include <string.h>

#include "sim/hypothesis.h"
#include "ui/json.h"
#include "ui/ui.h"

#ifdef HAVE_JANSSON
#include "read/results.h"
#endif

/* Counters of one row: X(key, member). */
#define COUNTERS(X)                                                                                \
	X(switches, n.switches) X(validations, n.validations) X(saves, n.saves)                    \
	X(saves_elided, n.saves_elided) X(loads, n.loads)                                          \
	X(loads_skipped_owner, n.loads_skipped_owner) X(loads_elided_init, n.loads_elided_init)    \
	X(loads_failed, n.loads_failed) X(preloads, n.preloads) X(probes, n.probes)                \
	X(traps, n.traps) X(clears, n.clears) X(kernel_sections, n.kernel_sections)                \
	X(kernel_saves, n.kernel_saves)                                                            \
	X(ts_writes, ts_writes) X(init_reads, init_reads)    \
	X(interrupts, interrupts)

static void range(struct jw *w, const char *low, const char *high, struct sim_range x)
{
	jw_f64(w, low, x.low);
	jw_f64(w, high, x.high);
}

static void write_counts(struct jw *w, const struct lane_counts *n)
{
#define X(key, member) jw_u64(w, #key, n->member);
	COUNTERS(X)
#undef X
}

static void write_row(struct jw *w, const struct sim_result *r, const struct sim_costs *c, size_t i)
{
	const struct sim_row *p = &r->rows[i];
	const struct sim_range x = sim_row_cycles(r, c, i);
	const double cpu = (double)r->total.span_ns * c->ghz;

	jw_object(w, NULL);
	jw_string(w, "policy", p->name);
	jw_string(w, "hypothesis", p->hypothesis[0] ? p->hypothesis : NULL);
	write_counts(w, &p->n);
	range(w, "cycles_low", "cycles_high", x);
	if (cpu > 0) {
		range(w, "cpu_share_low", "cpu_share_high",
		      (struct sim_range){ x.low / cpu, x.high / cpu });
	} else {
		jw_null(w, "cpu_share_low");
		jw_null(w, "cpu_share_high");
	}
	jw_end(w);
}

static void write_totals(struct jw *w, const struct sim_totals *n)
{
	jw_object(w, "totals");
#define X(name) jw_u64(w, #name, n->name);
	SIM_TOTALS(X)
	SIM_TOTALS_NEW(X)
#undef X
	jw_end(w);
}

static void write_costs(struct jw *w, const struct sim_result *r, const struct sim_costs *c)
{
	static const char *const rough[] = { "not-quiet", "quiet-not-known", "stopped-early" };
	const uint64_t *slots = &r->total.live_init_slots;
	uint64_t unpriced = 0;

	jw_object(w, "costs");
	jw_string(w, "source", c->source);
	jw_f64(w, "ghz", c->ghz);
	jw_bool(w, "guest", c->guest);
	range(w, "save_low_cycles", "save_high_cycles", sim_costs_save(c, &r->total));
	range(w, "load_low_cycles", "load_high_cycles", sim_costs_load(c, &r->total));
	range(w, "trap_low_cycles", "trap_high_cycles", c->trap);
	range(w, "ts_low_cycles", "ts_high_cycles", c->ts);
	range(w, "interrupt_low_cycles", "interrupt_high_cycles", c->interrupt);
	range(w, "init_read_low_cycles", "init_read_high_cycles", c->init_read);
	jw_array(w, "unpriced_live");
	for (int i = 0; i < REC_LIVES; i++)
		if (sim_costs_stand_in(c, (enum rec_live)i) != (enum rec_live)i && slots[i]) {
			jw_string(w, NULL, sim_costs_live((enum rec_live)i));
			unpriced += slots[i];
		}
	jw_end(w);
	jw_u64(w, "unpriced_slots", unpriced);
	jw_array(w, "rough");
	for (unsigned i = 0; i < sizeof(rough) / sizeof(rough[0]); i++)
		if (c->rough >> i & 1)
			jw_string(w, NULL, rough[i]);
	jw_end(w);
	jw_string(w, "fallback", c->fallback[0] ? c->fallback : NULL);
	jw_end(w);
}

static void write_even(struct jw *w, const struct sim_result *r, const struct sim_costs *c)
{
	struct sim_even e;
	const bool known = sim_result_even(r, c, &e);

	jw_f64(w, "used_slots_per_million", e.used);
	jw_object(w, "break_even");
	range(w, "formula_low_per_million", "formula_high_per_million", e.formula);
	if (known) {
		range(w, "counted_low_per_million", "counted_high_per_million", e.counted);
	} else {
		jw_null(w, "counted_low_per_million");
		jw_null(w, "counted_high_per_million");
	}
	jw_end(w);
}

static void write_check(struct jw *w, const struct sim_result *r)
{
	const struct sim_row *d = sim_row_find(r, "deferred");

	if (!d || !r->total.traces_with_restores) {
		jw_null(w, "check");
		return;
	}
	jw_object(w, "check");
	jw_u64(w, "predicted_restores", d->n.n.loads);
	jw_u64(w, "observed_restores", r->total.observed_restores);
	jw_end(w);
}

static void write_cpus(struct jw *w, const struct sim_result *r)
{
	jw_array(w, "cpus");
	for (size_t i = 0; i < r->cpu_count; i++) {
		jw_object(w, NULL);
		jw_u64(w, "cpu", r->cpus[i].cpu);
		jw_array(w, "policies");
		for (size_t k = 0; k < r->row_count; k++) {
			jw_object(w, NULL);
			write_counts(w, &r->cpus[i].n[k]);
			jw_end(w);
		}
		jw_end(w);
		jw_end(w);
	}
	jw_end(w);
}

/* 64 bits are more than a JSON number is sure to hold. */
static void write_sum(struct jw *w, const char *key, uint64_t sum)
{
	char hex[17];

	snprintf(hex, sizeof(hex), "%016llx", (unsigned long long)sum);
	jw_string(w, key, hex);
}

static void write_parts(struct jw *w, const struct sim_parts *parts)
{
	jw_array(w, "parts");
	for (size_t i = 0; i < parts->count; i++) {
		jw_object(w, NULL);
		write_sum(w, "before", parts->part[i].before);
		write_sum(w, "after", parts->part[i].after);
		jw_bool(w, "more", parts->part[i].more);
		jw_bool(w, "synthetic", parts->part[i].made_up);
		jw_end(w);
	}
	jw_end(w);
}

static void write_tasks(struct jw *w, const struct sim_result *r)
{
	if (!r->programs) {
		jw_null(w, "programs");
		return;
	}
	jw_array(w, "programs");
	for (size_t i = 0; i < r->task_count; i++) {
		jw_object(w, NULL);
		jw_string(w, "name", r->tasks[i].name);
		jw_u64(w, "tasks", r->tasks[i].tasks);
		jw_u64(w, "slots", r->tasks[i].slots);
		jw_u64(w, "used_slots", r->tasks[i].used);
		jw_array(w, "policies");
		for (size_t k = 0; k < r->row_count; k++) {
			jw_object(w, NULL);
			jw_u64(w, "saves", r->tasks[i].n[k].saves);
			jw_u64(w, "loads", r->tasks[i].n[k].loads);
			jw_u64(w, "traps", r->tasks[i].n[k].traps);
			jw_end(w);
		}
		jw_end(w);
		jw_end(w);
	}
	jw_end(w);
}

void sim_print_json(FILE *out, const struct sim_result *r, const struct sim_costs *c)
{
	static const char *const holds[] = { [SIM_HOLDS] = "over-all-prices",
					     [SIM_DEPENDS] = "depends-on-prices",
					     [SIM_LOST] = "events-lost",
					     [SIM_HOLES] = "pieces-missing",
					     [SIM_GAPS] = "contradictions" };
	const char *p;
	char buf[SIM_WORDS];
	struct jw w;

	jw_begin(&w, out, ui.pretty);
	jw_object(&w, NULL);
	jw_string(&w, "schema", "xstate.sim/1");
	jw_string(&w, "use", r->use);
	jw_string(&w, "signals", r->signals);
	jw_string(&w, "sections", r->sections);
	jw_u64(&w, "seed", r->seed);
	if (r->use_content)
		write_sum(&w, "use_content", r->use_content);
	else
		jw_null(&w, "use_content");
	write_parts(&w, &r->parts);
	write_totals(&w, &r->total);
	write_costs(&w, r, c);
	jw_array(&w, "policies");
	for (size_t i = 0; i < r->row_count; i++)
		write_row(&w, r, c, i);
	jw_end(&w);
	write_even(&w, r, c);
	write_check(&w, r);
	jw_string(&w, "holds", holds[sim_holds(r, c)]);
	jw_array(&w, "verdict");
	for (unsigned i = 0; (p = sim_verdict(r, c, i, buf, sizeof(buf))); i++)
		jw_string(&w, NULL, p);
	jw_end(&w);
	write_cpus(&w, r);
	write_tasks(&w, r);
	jw_end(&w);
	jw_finish(&w);
}

#ifdef HAVE_JANSSON
static bool read_u64(const json_t *o, const char *key, uint64_t *v)
{
	return result_count(json_object_get(o, key), v);
}

static bool read_text(const json_t *o, const char *key, char *out, size_t size)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s && (size_t)snprintf(out, size, "%s", s) < size;
}

static bool read_sum(const json_t *o, const char *key, uint64_t *v)
{
	const char *s = json_string_value(json_object_get(o, key));

	if (!s || strlen(s) != 16 || strspn(s, "0123456789abcdef") != 16)
		return false;
	*v = strtoull(s, NULL, 16);
	return true;
}

static bool read_parts(const json_t *doc, struct sim_parts *parts)
{
	const json_t *list = json_object_get(doc, "parts");
	size_t i;
	json_t *o;

	json_array_foreach(list, i, o) {
		const json_t *more = json_object_get(o, "more");
		const json_t *made = json_object_get(o, "synthetic");
		struct sim_part p = { .more = json_is_true(more), .made_up = json_is_true(made) };

		if (!read_sum(o, "before", &p.before) || !read_sum(o, "after", &p.after) ||
		    !json_is_boolean(more) || !json_is_boolean(made) || !sim_parts_add(parts, &p))
			return false;
	}
	return parts->count > 0;
}

static bool read_counts(const json_t *o, struct lane_counts *n)
{
	bool ok = true;

#define X(key, member) ok = ok && read_u64(o, #key, &n->member);
	COUNTERS(X)
#undef X
	return ok;
}

static bool read_rows(const json_t *doc, struct sim_result *r, char *why, size_t size)
{
	const json_t *rows = json_object_get(doc, "policies");
	size_t i;
	json_t *o;

	json_array_foreach(rows, i, o) {
		struct sim_row *row = &r->rows[i];

		if (i >= SIM_ROWS_MAX) {
			snprintf(why, size, "more than %d policies", SIM_ROWS_MAX);
			return false;
		}
		if (!read_text(o, "policy", row->name, sizeof(row->name)) ||
		    xst_policy_parse(row->name, &row->policy, NULL)) {
			snprintf(why, size, "policies[%zu].policy is none that this version knows", i);
			return false;
		}
		if (!read_counts(o, &row->n))
			return false;
		if (!json_is_null(json_object_get(o, "hypothesis")) &&
		    (!read_text(o, "hypothesis", row->hypothesis, sizeof(row->hypothesis)) ||
		     !sim_hypothesis_fill(row))) {
			snprintf(why, size, "policies[%zu].hypothesis is none that this version knows",
				 i);
			return false;
		}
		/* Earlier versions counted them. */
		sim_hypothesis_counts(row, &row->n);
		r->row_count = i + 1;
	}
	return r->row_count > 0;
}

static bool read_tasks(const json_t *doc, struct sim_result *r)
{
	const json_t *list = json_object_get(doc, "programs"), *rows;
	size_t i, k;
	json_t *o, *p;

	r->programs = json_is_array(list);
	r->task_room = json_array_size(list);
	r->tasks = r->task_room ? calloc(r->task_room, sizeof(*r->tasks)) : NULL;
	if (r->task_room && !r->tasks)
		return false;
	json_array_foreach(list, i, o) {
		struct sim_task_row *t = &r->tasks[i];

		if (!read_text(o, "name", t->name, sizeof(t->name)) ||
		    !read_u64(o, "tasks", &t->tasks) || !read_u64(o, "slots", &t->slots) ||
		    !read_u64(o, "used_slots", &t->used))
			return false;
		rows = json_object_get(o, "policies");
		if (json_array_size(rows) != r->row_count)
			return false;
		json_array_foreach(rows, k, p)
			if (!read_u64(p, "saves", &t->n[k].saves) ||
			    !read_u64(p, "loads", &t->n[k].loads) ||
			    !read_u64(p, "traps", &t->n[k].traps))
				return false;
		r->task_count = i + 1;
	}
	return true;
}

static bool read_doc(const json_t *doc, struct sim_result *r, char *why, size_t size)
{
	const json_t *totals = json_object_get(doc, "totals");
	const bool named = !json_is_null(json_object_get(doc, "use_content"));
	bool ok = read_text(doc, "use", r->use, sizeof(r->use)) &&
		  (!named || read_sum(doc, "use_content", &r->use_content)) &&
		  read_text(doc, "signals", r->signals, sizeof(r->signals)) &&
		  read_text(doc, "sections", r->sections, sizeof(r->sections)) &&
		  read_u64(doc, "seed", &r->seed);

#define X(name) ok = ok && read_u64(totals, #name, &r->total.name);
	SIM_TOTALS(X)
#undef X
#define X(name) (void)read_u64(totals, #name, &r->total.name);
	SIM_TOTALS_NEW(X)
#undef X
	snprintf(why, size, "a key of xstate.sim/1 is missing or not what it should be");
	if (!ok || !read_rows(doc, r, why, size))
		return false;
	snprintf(why, size, "one trace, or a piece of it, is in its parts twice");
	if (!read_parts(doc, &r->parts))
		return false;
	snprintf(why, size, "a program has not as many policies as the result, or too long a name");
	return read_tasks(doc, r);
}

/* One document; what every result must have was looked at, but for names. */
static int add_one(struct sim_result *sum, const struct result *from, size_t number, char *err,
		   size_t errlen)
{
	struct sim_result one = { 0 };
	char where[300], why[300] = "";
	int result = -1;

	snprintf(where, sizeof(where), number ? "%.200s, result %zu" : "%.200s", from->source, number);
	if (strcmp(from->schema, "xstate.sim/1"))
		snprintf(err, errlen, "%s: %.60s, not a result of xstate sim -j", where, from->schema);
	else if (!read_doc(from->doc, &one, why, sizeof(why)))
		snprintf(err, errlen, "%s: %s", where, why);
	else if (!sim_result_add(sum, &one, why, sizeof(why)))
		snprintf(err, errlen, "%s: %s", where, why);
	else
		result = 0;
	sim_result_free(&one);
	return result;
}

int sim_result_read(struct sim_result *sum, const char *path, char *err, size_t errlen)
{
	struct results all = { 0 };
	int result = results_read(&all, path, err, errlen);

	for (size_t i = 0; !result && i < all.n; i++)
		result = add_one(sum, &all.list[i], all.n > 1 ? i + 1 : 0, err, errlen);
	results_free(&all);
	return result;
}
#else
int sim_result_read(struct sim_result *sum, const char *path, char *err, size_t errlen)
{
	(void)sum;
	snprintf(err, errlen, "%s: this build cannot read JSON, it was made without Jansson", path);
	return -1;
}
#endif
