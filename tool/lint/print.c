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

/* @told: rules whose reason was given already. */
static void finding_print(const struct lint_finding *f, bool *told)
{
	enum ui_style style = severity_style(f->severity);
	char function[256], object[4096];

	snprintf(function, sizeof(function), "%s", f->function);
	lint_clean(function);
	snprintf(object, sizeof(object), "%s", f->object);
	lint_clean(object);
	printf("%s: %s+0x%x: %s%s%s: %s [%s %s]\n", object, function, f->func_off,
	       ui_on(stdout, style), severity_name(f->severity), ui_off(stdout, style),
	       f->message ? f->message : "", lint_rules[f->rule].id, lint_rules[f->rule].name);
	if (f->chain)
		printf("    reached by %s\n", f->chain);
	if (f->source)
		printf("    at %s\n", f->source);
	if (told[f->rule])
		return;
	told[f->rule] = true;
	printf("    why: ");
	ui_paragraph(stdout, 9, lint_rules[f->rule].why);
	printf("    mend: ");
	ui_paragraph(stdout, 10, lint_rules[f->rule].mend);
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
	table_column(t, "empty", TABLE_RIGHT);
	table_column(t, "errors", TABLE_RIGHT);
	table_column(t, "warnings", TABLE_RIGHT);
	table_column(t, "notes", TABLE_RIGHT);
	for (i = 0; i < n; i++) {
		const struct lint_row *r = &rows[i];

		if (!r->fp_insns && !r->state_insns && !r->begins && !r->errors && !r->warnings &&
		    !r->notes)
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
		table_cell(t, "%zu", r->empty);
		table_cell_styled(t, r->errors ? UI_BAD : UI_PLAIN, "%zu", r->errors);
		table_cell_styled(t, r->warnings ? UI_WARN : UI_PLAIN, "%zu", r->warnings);
		table_cell(t, "%zu", r->notes);
		shown++;
	}
	if (shown) {
		putchar('\n');
		table_print(t, stdout);
	}
	table_free(t);
}

static const char *const kinds[ROLE_KINDS] = {
        [ROLE_OWNER] = "owner",     [ROLE_POINTER] = "pointer", [ROLE_FORBID] = "forbid",
        [ROLE_BEGINS] = "begins",   [ROLE_ENDS] = "ends",       [ROLE_STATE] = "state",
        [ROLE_FOREIGN] = "foreign",
};

static void applied_print(const struct lint_conf *conf)
{
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

/* Of other files, or a slip of the pen. */
static void idle_print(const struct lint_conf *conf, bool list)
{
	size_t i, n = 0;

	for (i = 0; i < conf->nrole; i++)
		n += lint_role_idle(&conf->role[i]);
	if (!n)
		return;
	printf("\n%zu annotation%s of the configuration fit%s no function looked at%s\n", n,
	       n == 1 ? "" : "s", n == 1 ? "s" : "", list ? ":" : " (--notes lists them)");
	for (i = 0; list && i < conf->nrole; i++)
		if (lint_role_idle(&conf->role[i]))
			printf("    %s %s: %s\n", kinds[conf->role[i].kind], conf->role[i].name,
			       conf->role[i].reason);
}

void lint_print_text(const struct lint_run *run, const struct lint_show *show)
{
	const struct lint_findings *all = &run->graph->found;
	struct lint_row *rows = lint_rows(run);
	size_t i, errors = 0, warnings = 0, notes = 0, known = 0;
	bool told[RULES] = {false};

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
			finding_print(f, told);
	}
	if (!show->notes)
		counts_print(run);
	if (rows)
		table_of(rows, run->nobj);
	applied_print(run->conf);
	idle_print(run->conf, show->notes);
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
	if (run->other_kernels)
		printf("the first file's kernel chose this profile, but %zu of the files %s for "
		       "kernels of another: check them apart, or say --profile\n",
		       run->other_kernels, run->other_kernels == 1 ? "is" : "are");
	free(rows);
}
