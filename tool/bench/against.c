// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two runs that were not made together. Effects are ratios within a run, so what a boot does to all
 * arms alike drops out of them; absolute times carry it, and one run on each side does not show how
 * large it is. So effects are compared, with an interval; times are shown, without one.
 */
#include "against.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>

#include "read/results.h"
#include "ui/table.h"
#include "ui/ui.h"

static bool read_rows(struct against *a, const json_t *pairs)
{
	size_t n = json_array_size(pairs), i;
	const json_t *row;

	a->rows = calloc(n ? n : 1, sizeof(*a->rows));
	if (!a->rows)
		return false;
	json_array_foreach((json_t *)pairs, i, row)
	{
		struct against_row *r = &a->rows[a->n];

		snprintf(r->id, sizeof(r->id), "%s", result_text(row, "id", ""));
		r->old_ns = result_number(row, "median_ns_per_loop");
		r->old_log = result_number(row, "log_ratio");
		r->old_se = result_number(row, "log_ratio_se");
		r->has_effect = isfinite(r->old_log) && r->old_se > 0;
		if (r->id[0] && isfinite(r->old_ns))
			a->n++;
	}
	return true;
}

bool against_read(struct against *a, char *err, size_t errlen)
{
	struct results r = {0};
	bool ok = false;

	if (results_read(&r, a->path, err, errlen))
		return false;
	for (size_t i = 0; i < r.n && !a->doc; i++)
		if (!strcmp(r.list[i].schema, "xstate.bench/1") &&
		    !strcmp(r.list[i].kind, "switch"))
			a->doc = json_incref(r.list[i].doc);
	if (!a->doc)
		snprintf(err, errlen, "%s: holds no run of xstate bench switch", a->path);
	else if (!read_rows(a, result_list(a->doc, "pairs")))
		snprintf(err, errlen, "memory is short");
	else if (!(ok = a->n > 0))
		snprintf(err, errlen, "%s: its run has no rows", a->path);
	results_free(&r);
	return ok;
}

static void fact(struct against *a, const char *what, const char *then, const char *now)
{
	if (!strcmp(then, now) || a->differing == sizeof(a->differs) / sizeof(a->differs[0]))
		return;
	snprintf(a->differs[a->differing++], sizeof(a->differs[0]), "%s: %.70s then, %.70s now",
	         what, then[0] ? then : "unknown", now[0] ? now : "unknown");
}

void against_facts(struct against *a, const struct bench_machine *now)
{
	const json_t *machine = result_list(a->doc, "machine");
	const char *boot = now->boot;

	a->same_boot = boot[0] && !strcmp(boot, result_text(a->doc, "boot", ""));
	fact(a, "CPU", result_text(machine, "cpu", ""), now->cpu);
	fact(a, "microcode", result_text(machine, "microcode", ""), now->microcode);
	fact(a, "kernel", result_text(machine, "kernel", ""), now->kernel);
	fact(a, "hypervisor", result_text(machine, "hypervisor", ""), now->hypervisor);
	fact(a, "boot", result_text(a->doc, "boot", ""), boot);
}

void against_judge(struct against *a)
{
	size_t effects = 0;
	double z;

	for (size_t i = 0; i < a->n; i++) {
		struct against_row *r = &a->rows[i];

		r->change = r->low = r->high = NAN;
		effects += r->has_effect && isfinite(r->new_log) && r->new_se > 0;
	}
	if (!effects)
		return;
	/* All of the intervals hold at once with 95 % (Bonferroni). */
	z = gsl_cdf_ugaussian_Qinv(0.025 / (double)effects);
	for (size_t i = 0; i < a->n; i++) {
		struct against_row *r = &a->rows[i];
		double d = r->new_log - r->old_log, se = hypot(r->new_se, r->old_se);

		if (!r->has_effect || !isfinite(d) || !(r->new_se > 0))
			continue;
		r->change = 100 * expm1(d);
		r->low = 100 * expm1(d - z * se);
		r->high = 100 * expm1(d + z * se);
	}
}

static const char *scope(const struct against *a)
{
	if (a->same_boot)
		return "the same boot: a change of an effect is the kernel's or the machine's "
		       "state now";
	return a->differing > 1 ? "more than the boot differs: a change of an effect belongs to "
	                          "all of it together"
	                        : "only the boot differs: a change of an effect may be where this "
	                          "boot put things";
}

static const char *word(const struct against_row *r)
{
	return !isfinite(r->change)        ? "not compared"
	       : r->low > 0 || r->high < 0 ? "changed"
	                                   : "no change seen";
}

void against_json(const struct against *a, struct jw *w)
{
	jw_object(w, "against");
	jw_string(w, "file", a->path);
	jw_bool(w, "same_boot", a->same_boot);
	jw_array(w, "differs");
	for (unsigned i = 0; i < a->differing; i++)
		jw_string(w, NULL, a->differs[i]);
	jw_end(w);
	jw_string(w, "scope", scope(a));
	jw_array(w, "changes");
	for (size_t i = 0; i < a->n; i++) {
		const struct against_row *r = &a->rows[i];

		jw_object(w, NULL);
		jw_string(w, "id", r->id);
		jw_f64(w, "old_ns_per_loop", r->old_ns);
		jw_f64(w, "new_ns_per_loop", r->new_ns);
		jw_f64(w, "change_percent", r->change);
		jw_f64(w, "low_percent", r->low);
		jw_f64(w, "high_percent", r->high);
		jw_string(w, "verdict", word(r));
		jw_end(w);
	}
	jw_end(w);
	jw_end(w);
}

void against_print(const struct against *a, FILE *out)
{
	struct table *t = table_new();

	fprintf(out, "\nAgainst %s; %s.\n", a->path, scope(a));
	for (unsigned i = 0; i < a->differing; i++)
		fprintf(out, "  %s\n", a->differs[i]);
	fprintf(out,
	        "What can be concluded: whether an effect, which is a ratio within a run, changed\n"
	        "(the intervals hold together with 95 %%). What cannot: that a time per loop "
	        "changed.\n"
	        "Two boots of one kernel differ in it by more than the noise of either; many runs "
	        "on\n"
	        "each side and `xstate bench merge` show by how much.\n");
	table_column(t, "ROW", TABLE_LEFT);
	table_column(t, "NS THEN", TABLE_RIGHT);
	table_column(t, "NS NOW", TABLE_RIGHT);
	table_column(t, "EFFECT'S CHANGE %", TABLE_RIGHT);
	table_column(t, "INTERVAL", TABLE_RIGHT);
	table_column(t, "", TABLE_LEFT);
	for (size_t i = 0; i < a->n; i++) {
		const struct against_row *r = &a->rows[i];

		if (!isfinite(r->new_ns))
			continue;
		table_cell(t, "%s", r->id);
		table_cell(t, "%.1f", r->old_ns);
		table_cell(t, "%.1f", r->new_ns);
		if (isfinite(r->change)) {
			table_cell(t, "%+.2f", r->change);
			table_cell(t, "%+.2f ... %+.2f", r->low, r->high);
		} else {
			table_cell(t, "%s", "");
			table_cell(t, "%s", "");
		}
		table_cell(t, "%s", r->has_effect ? word(r) : "time only");
	}
	table_print(t, out);
	table_free(t);
}

void against_close(struct against *a)
{
	if (a->doc)
		json_decref(a->doc);
	free(a->rows);
	*a = (struct against){0};
}
