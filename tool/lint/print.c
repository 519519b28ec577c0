// SPDX-License-Identifier: BSD-2-Clause
/*
 * The report for people: errors in full, notes counted unless asked for, a table of the
 * objects that hold FP code, and every annotation that was applied.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lint/run.h"
#include "ui/table.h"
#include "ui/ui.h"

static const char *severity_name(enum lint_severity s)
{
	return s == SEV_ERROR ? "error" : s == SEV_WARNING ? "warning" : "note";
}

static enum ui_style severity_style(enum lint_severity s)
{
	return s == SEV_ERROR ? UI_BAD : s == SEV_WARNING ? UI_WARN : UI_FAINT;
}

static void finding_print(const struct lint_finding *f)
{
	enum ui_style style = severity_style(f->severity);

	printf("%s: %s+0x%x: %s%s%s: %s [%s %s]\n", f->object, f->function, f->func_off,
	       ui_on(stdout, style), severity_name(f->severity), ui_off(stdout, style),
	       f->message ? f->message : "", lint_rules[f->rule].id, lint_rules[f->rule].name);
	if (f->chain)
		printf("    reached by %s\n", f->chain);
	if (f->source)
		printf("    at %s\n", f->source);
}

static void counts_print(const struct lint_run *run)
{
	const struct lint_findings *all = &run->graph->found;
	size_t count[RULES] = {0}, i;
	bool any = false;

	for (i = 0; i < all->n; i++)
		if (!all->list[i].known && all->list[i].severity == SEV_NOTE)
			count[all->list[i].rule]++;
	for (i = 0; i < RULES; i++) {
		if (!count[i])
			continue;
		printf("%s%zu %s", any ? ", " : "notes (--notes lists them): ", count[i],
		       lint_rules[i].name);
		any = true;
	}
	if (any)
		putchar('\n');
}

static void table_of(const struct lint_row *rows, size_t n)
{
	struct table *t = table_new();
	char families[64], need[32];
	size_t i, shown = 0;

	table_column(t, "object", TABLE_WRAP);
	table_column(t, "FP insns", TABLE_RIGHT);
	table_column(t, "state", TABLE_RIGHT);
	table_column(t, "families", TABLE_LEFT);
	table_column(t, "sections", TABLE_RIGHT);
	table_column(t, "needs", TABLE_LEFT);
	table_column(t, "exact", TABLE_RIGHT);
	table_column(t, "under", TABLE_RIGHT);
	table_column(t, "over", TABLE_RIGHT);
	table_column(t, "unknown", TABLE_RIGHT);
	table_column(t, "errors", TABLE_RIGHT);
	table_column(t, "notes", TABLE_RIGHT);
	for (i = 0; i < n; i++) {
		const struct lint_row *r = &rows[i];

		if (!r->fp_insns && !r->state_insns && !r->begins && !r->errors && !r->notes)
			continue;
		lint_families_text(r->fp & ~(uint32_t)FP_STATE, families, sizeof(families));
		lint_needs_text(r->need, need, sizeof(need));
		table_cell(t, "%s", r->obj->module);
		table_cell(t, "%llu", (unsigned long long)r->fp_insns);
		table_cell(t, "%llu", (unsigned long long)r->state_insns);
		table_cell(t, "%s", families);
		table_cell(t, "%zu", r->exact + r->under + r->over + r->unknown + r->empty);
		table_cell(t, "%s", r->begins ? need : "-");
		table_cell(t, "%zu", r->exact);
		table_cell_styled(t, r->under ? UI_BAD : UI_PLAIN, "%zu", r->under);
		table_cell(t, "%zu", r->over);
		table_cell(t, "%zu", r->unknown);
		table_cell_styled(t, r->errors ? UI_BAD : UI_PLAIN, "%zu", r->errors);
		table_cell(t, "%zu", r->notes);
		shown++;
	}
	if (shown) {
		putchar('\n');
		table_print(t, stdout);
	}
	table_free(t);
}

static void applied_print(const struct lint_conf *conf)
{
	static const char *const kinds[ROLE_KINDS] = {
	        [ROLE_OWNER] = "owner",     [ROLE_POINTER] = "pointer", [ROLE_FORBID] = "forbid",
	        [ROLE_BEGINS] = "begins",   [ROLE_ENDS] = "ends",       [ROLE_STATE] = "state",
	        [ROLE_FOREIGN] = "foreign",
	};
	bool any = false;
	size_t i;

	for (i = 0; i < conf->nrole; i++) {
		const struct lint_role *r = &conf->role[i];

		if (!kinds[r->kind] || !r->used)
			continue;
		if (!any)
			printf("\nannotations applied:\n");
		any = true;
		printf("    %s %s: %s\n", kinds[r->kind], r->name, r->reason);
	}
}

void lint_print_text(const struct lint_run *run, const struct lint_show *show)
{
	const struct lint_findings *all = &run->graph->found;
	struct lint_row *rows = lint_rows(run);
	size_t i, errors = 0, warnings = 0, notes = 0, known = 0;

	for (i = 0; i < all->n; i++) {
		const struct lint_finding *f = &all->list[i];

		if (f->severity == SEV_OFF)
			continue;
		known += f->known;
		if (f->known)
			continue;
		errors += f->severity == SEV_ERROR;
		warnings += f->severity == SEV_WARNING;
		notes += f->severity == SEV_NOTE;
		if (f->severity != SEV_NOTE || show->notes)
			finding_print(f);
	}
	if (!show->notes)
		counts_print(run);
	if (rows)
		table_of(rows, run->nobj);
	applied_print(run->conf);
	if (run->graph->resolved)
		printf("\npointers: %zu function%s reached through pointers of objects whose every "
		       "pointer call is "
		       "made in a section\n",
		       run->graph->resolved, run->graph->resolved == 1 ? " is" : "s are");
	printf("\n%llu object%s, %llu instructions, %llu of them FP; profile %s: %zu error%s, ",
	       (unsigned long long)run->objects, run->objects == 1 ? "" : "s",
	       (unsigned long long)run->insns, (unsigned long long)run->fp_insns,
	       run->conf->profile, errors, errors == 1 ? "" : "s");
	if (warnings)
		printf("%zu warning%s, ", warnings, warnings == 1 ? "" : "s");
	printf("%zu note%s\n", notes, notes == 1 ? "" : "s");
	if (show->baseline)
		printf("baseline %s: %zu known finding%s left out; %zu of its entries no longer "
		       "occur\n",
		       show->baseline, known, known == 1 ? "" : "s", show->fixed);
	if (errors && !show->baseline)
		printf("xstate lint --explain RULE says why a rule matters and how to mend or "
		       "annotate\n");
	free(rows);
}
