// SPDX-License-Identifier: BSD-2-Clause
/* A result for people. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/result.h"
#include "ui/number.h"
#include "ui/table.h"
#include "ui/ui.h"

static void cell_number(struct table *t, uint64_t n)
{
	table_cell(t, "%llu", (unsigned long long)n);
}

static void cell_range(struct table *t, unsigned digits, struct sim_range x)
{
	char buf[NUMBER_TEXT];

	table_cell(t, "%s", range_text(buf, x.low, x.high, "-", digits));
}

/* A line that grows until it is told. */
struct line {
	char text[600];
	size_t at;
};

static void say(struct line *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->at, sizeof(l->text) - l->at, fmt, ap);
	va_end(ap);
	l->at += n > 0 ? (size_t)n : 0;
	if (l->at >= sizeof(l->text))
		l->at = sizeof(l->text) - 1;
}

static void tell(FILE *out, struct line *l)
{
	ui_paragraph(out, 2, l->text);
	*l = (struct line){ .at = 0 };
}

static void how_many(struct line *l, uint64_t n, const char *of, const char *then)
{
	say(l, "%llu %s%s%s", (unsigned long long)n, of, n == 1 ? "" : "s", then);
}

static void head(FILE *out, const struct sim_result *r)
{
	const struct sim_totals *n = &r->total;
	struct line l = { .at = 0 };

	if (n->traces)
		how_many(&l, n->traces, "trace", "");
	else
		say(&l, "a part of a trace");
	say(&l, "%s: %.1f s, ", sim_parts_made_up(&r->parts) ? ", made up" : "",
	    (double)n->span_ns / 1e9);
	say(&l, "%llu switch%s", (unsigned long long)n->switches, n->switches == 1 ? "" : "es");
	if (n->switches_assumed)
		say(&l, ", %llu of them assumed", (unsigned long long)n->switches_assumed);
	say(&l, ", ");
	how_many(&l, n->slots, "slot", " of tasks, ");
	say(&l, "%llu of them in user mode", (unsigned long long)n->user_slots);
	tell(out, &l);
	say(&l, "live at the end of a slot: INIT %llu, SSE %llu, AVX %llu, AVX-512 %llu, AMX %llu",
	    (unsigned long long)n->live_init_slots, (unsigned long long)n->live_sse_slots,
	    (unsigned long long)n->live_avx_slots, (unsigned long long)n->live_avx512_slots,
	    (unsigned long long)n->live_amx_slots);
	tell(out, &l);
	how_many(&l, n->forks, "fork", ", ");
	how_many(&l, n->execs, "exec", ", ");
	how_many(&l, n->exits, "exit", ", ");
	how_many(&l, n->signals, "signal", " handled");
	say(&l, " (%llu assumed), ", (unsigned long long)n->signals_assumed);
	how_many(&l, n->sections, "kernel section", "");
	say(&l, " (%llu assumed)", (unsigned long long)n->sections_assumed);
	tell(out, &l);
	fputc('\n', out);
}

static void row(struct table *t, const struct sim_result *r, const struct sim_costs *c, size_t i)
{
	const struct sim_row *p = &r->rows[i];
	const struct sim_range x = sim_row_cycles(r, c, i);
	const double slots = r->total.slots ? (double)r->total.slots : 1;
	const double cpu = r->total.span_ns ? (double)r->total.span_ns * c->ghz / 100 : 0;

	table_cell(t, p->hypothesis[0] ? "%s, %s" : "%s", p->name, p->hypothesis);
	cell_number(t, p->n.n.saves);
	cell_number(t, p->n.n.loads);
	cell_number(t, p->n.n.loads_skipped_owner);
	cell_number(t, p->n.n.saves_elided + p->n.n.loads_elided_init);
	cell_number(t, p->n.n.traps);
	cell_number(t, p->n.ts_writes);
	cell_number(t, p->n.interrupts);
	cell_range(t, 0, (struct sim_range){ x.low / slots, x.high / slots });
	if (cpu > 0)
		cell_range(t, 2, (struct sim_range){ x.low / cpu, x.high / cpu });
	else
		table_cell(t, "-");
}

static void policies(FILE *out, const struct sim_result *r, const struct sim_costs *c)
{
	static const char *const heads[] = { "saves", "loads", "kept", "elided", "traps", "CR0.TS",
					     "IPIs", "cycles/slot", "% of a CPU" };
	struct table *t = table_new();
	bool hypothetical = false;

	table_column(t, "policy", TABLE_LEFT);
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		table_column(t, heads[i], TABLE_RIGHT);
	for (size_t i = 0; i < r->row_count; i++) {
		if (r->rows[i].hypothesis[0] && !hypothetical) {
			table_group(t, "What if");
			hypothetical = true;
		}
		row(t, r, c, i);
	}
	table_print(t, out);
	table_free(t);
}

static int by_slots(const void *a, const void *b)
{
	const struct sim_task_row *x = a, *y = b;

	return x->slots < y->slots ? 1 : x->slots > y->slots ? -1 : 0;
}

static void tasks(FILE *out, const struct sim_result *r)
{
	struct table *t = table_new();
	size_t shown = r->task_count < SIM_TASKS_SHOW ? r->task_count : SIM_TASKS_SHOW;

	qsort(r->tasks, r->task_count, sizeof(*r->tasks), by_slots);
	table_column(t, "program", TABLE_LEFT);
	table_column(t, "tasks", TABLE_RIGHT);
	table_column(t, "slots", TABLE_RIGHT);
	table_column(t, "used", TABLE_RIGHT);
	for (size_t k = 0; k < r->row_count; k++)
		if (!r->rows[k].hypothesis[0])
			table_column(t, r->rows[k].name, TABLE_RIGHT);
	for (size_t i = 0; i < shown; i++) {
		table_cell(t, "%s", r->tasks[i].name);
		cell_number(t, r->tasks[i].tasks);
		cell_number(t, r->tasks[i].slots);
		cell_number(t, r->tasks[i].used);
		for (size_t k = 0; k < r->row_count; k++)
			if (!r->rows[k].hypothesis[0])
				cell_number(t, r->tasks[i].n[k].loads);
	}
	fprintf(out, "\nloads by program\n");
	table_print(t, out);
	table_free(t);
}

static void price(struct line *l, const char *of, struct sim_range x, const char *then)
{
	char buf[NUMBER_TEXT];

	say(l, "%s %s%s", of, range_text(buf, x.low, x.high, "-", 0), then);
}

static void prices(FILE *out, const struct sim_result *r, const struct sim_costs *c)
{
	struct line l = { .at = 0 };

	fputc('\n', out);
	say(&l, "prices: %s", c->source);
	tell(out, &l);
	price(&l, "  save", sim_costs_save(c, &r->total), ", ");
	price(&l, "load", sim_costs_load(c, &r->total), " cycles for this mix; assumed: ");
	price(&l, "trap", c->trap, ", ");
	price(&l, "CR0.TS", c->ts, ", ");
	price(&l, "IPI", c->interrupt, ", ");
	say(&l, c->guest ? "in a guest" : "on bare metal");
	tell(out, &l);
}

void sim_print(FILE *out, const struct sim_result *r, const struct sim_costs *c)
{
	char buf[SIM_WORDS];
	const char *p;

	head(out, r);
	policies(out, r, c);
	if (r->programs)
		tasks(out, r);
	prices(out, r, c);
	for (unsigned i = 0; (p = sim_verdict(r, c, i, buf, sizeof(buf))); i++) {
		fputc('\n', out);
		ui_paragraph(out, 2, p);
	}
}
