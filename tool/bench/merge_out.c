// SPDX-License-Identifier: BSD-2-Clause
/* A merge as xstate.merge/1 (docs/json.md), for people and as CSV. */
#include "merge.h"

#include <math.h>

#include "ui/csv.h"
#include "ui/table.h"

static double percent(double log_ratio)
{
	return 100 * expm1(log_ratio);
}

static void group_json(const struct merge_group *g, struct jw *w)
{
	const struct merge_pool *p = &g->pool;

	jw_object(w, NULL);
	jw_string(w, "cpu", g->cpu);
	jw_u64(w, "hosts", p->n);
	jw_f64(w, "effect_percent", percent(p->mean));
	jw_f64(w, "low_percent", percent(p->low));
	jw_f64(w, "high_percent", percent(p->high));
	jw_f64(w, "next_low_percent", percent(p->next_low));
	jw_f64(w, "next_high_percent", percent(p->next_high));
	jw_f64(w, "tau_percent", percent(p->tau));
	jw_f64(w, "i2_percent", 100 * p->i2);
	jw_f64(w, "equal_p", p->equal_p);
	jw_end(w);
}

static void row_json(const struct merge_row *row, struct jw *w)
{
	jw_object(w, NULL);
	jw_string(w, "id", row->id);
	jw_string(w, "verdict", row->verdict);
	jw_f64(w, "between_p", row->between_p);
	jw_array(w, "groups");
	for (size_t g = 0; g < row->groups; g++)
		group_json(&row->group[g], w);
	jw_end(w);
	jw_array(w, "differ");
	for (size_t i = 0; i < row->differing; i++) {
		const struct merge_difference *d = &row->differ[i];

		jw_object(w, NULL);
		jw_string(w, "a", d->a);
		jw_string(w, "b", d->b);
		jw_f64(w, "difference_percent", percent(d->middle));
		jw_f64(w, "low_percent", percent(d->low));
		jw_f64(w, "high_percent", percent(d->high));
		jw_end(w);
	}
	jw_end(w);
	jw_end(w);
}

void merge_json(const struct merge *m, struct jw *w)
{
	jw_object(w, NULL);
	jw_string(w, "schema", "xstate.merge/1");
	jw_u64(w, "runs", m->runs);
	jw_u64(w, "hosts", m->hosts);
	jw_u64(w, "runs_not_quiet", m->loud);
	jw_u64(w, "copies", m->copies);
	jw_array(w, "rows");
	for (size_t i = 0; i < m->rows; i++)
		row_json(&m->row[i], w);
	jw_end(w);
	jw_end(w);
	jw_finish(w);
}

static void print_row(const struct merge_row *row, struct table *t)
{
	table_group(t, "%s: %s", row->id, row->verdict);
	for (size_t g = 0; g < row->groups; g++) {
		const struct merge_pool *p = &row->group[g].pool;

		table_cell(t, "%s", row->group[g].cpu);
		table_cell(t, "%zu", p->n);
		table_cell(t, "%+.2f", percent(p->mean));
		table_cell(t, "%+.2f ... %+.2f", percent(p->low), percent(p->high));
		if (isfinite(p->next_low))
			table_cell(t, "%+.2f ... %+.2f", percent(p->next_low),
			           percent(p->next_high));
		else
			table_cell(t, "%s", "");
		if (p->n > 1) {
			table_cell(t, "%.2f", percent(p->tau));
			table_cell(t, "%.3f", p->equal_p);
		} else {
			table_cell(t, "%s", "");
			table_cell(t, "%s", "");
		}
	}
}

void merge_print(const struct merge *m, FILE *out)
{
	struct table *t = table_new();

	fprintf(out, "%zu runs on %zu hosts, %zu of them not quiet by their own limits%s\n\n",
	        m->runs, m->hosts, m->loud, m->copies ? "; copies of a run count once" : "");
	table_column(t, "CPU", TABLE_LEFT);
	table_column(t, "HOSTS", TABLE_RIGHT);
	table_column(t, "EFFECT %", TABLE_RIGHT);
	table_column(t, "95 % INTERVAL", TABLE_RIGHT);
	table_column(t, "A FURTHER HOST", TABLE_RIGHT);
	table_column(t, "SPREAD %", TABLE_RIGHT);
	table_column(t, "P OF EQUAL HOSTS", TABLE_RIGHT);
	for (size_t i = 0; i < m->rows; i++)
		print_row(&m->row[i], t);
	table_print(t, out);
	table_free(t);
	for (size_t i = 0; i < m->rows; i++)
		for (size_t k = 0; k < m->row[i].differing; k++) {
			const struct merge_difference *d = &m->row[i].differ[k];

			fprintf(out,
			        "%s%s: %s is %+.2f %% from %s (%+.2f ... %+.2f, all pairs "
			        "together)\n",
			        i || k ? "" : "\n", m->row[i].id, d->b, percent(d->middle), d->a,
			        percent(d->low), percent(d->high));
		}
}

void merge_csv(const struct merge *m, FILE *out)
{
	fprintf(out, "id,cpu,host,source,effect_percent,log_ratio,log_ratio_se\n");
	for (size_t i = 0; i < m->values; i++) {
		const struct merge_value *v = &m->value[i];

		csv_text(out, v->id);
		fputc(',', out);
		csv_text(out, v->cpu);
		fputc(',', out);
		csv_text(out, v->host);
		fputc(',', out);
		csv_text(out, v->source);
		fprintf(out, ",%.9g,%.9g,%.9g\n", percent(v->y), v->y, v->se);
	}
}
