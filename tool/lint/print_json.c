// SPDX-License-Identifier: BSD-2-Clause
/*
 * The report for programs: our own JSON (docs/json.md) and SARIF 2.1.0, which code review
 * systems show beside the source.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lint/run.h"
#include "ui/json.h"
#include "ui/ui.h"

static const char *const answers[ANSWERS] = {
        [ANSWER_SELF] = "self",         [ANSWER_DIRECT] = "direct",
        [ANSWER_EXPORTED] = "exported", [ANSWER_POINTER] = "pointer",
        [ANSWER_NOCALLER] = "nocaller", [ANSWER_OWNER] = "owner",
};

static const char *severity_name(enum lint_severity s)
{
	return s == SEV_ERROR     ? "error"
	       : s == SEV_WARNING ? "warning"
	       : s == SEV_NOTE    ? "note"
	                          : "off";
}

static void needs(struct jw *w, const char *key, uint32_t need)
{
	jw_array(w, key);
	if (need & NEED_X87)
		jw_string(w, NULL, "x87");
	if (need & NEED_MXCSR)
		jw_string(w, NULL, "mxcsr");
	if (need & NEED_TILES)
		jw_string(w, NULL, "tiles");
	jw_end(w);
}

static void sections(struct jw *w, const struct lint_run *run, size_t o)
{
	static const char *const verdicts[] = {"unknown", "exact",   "under",
	                                       "over",    "unknown", "empty"};
	const struct lint_graph *g = run->graph;
	char families[64];
	uint32_t id;
	size_t i;

	jw_array(w, "sections");
	for (id = g->base[o]; id < g->base[o + 1]; id++)
		for (i = 0; i < g->node[id].nsite; i++) {
			const struct lint_site *s = &g->node[id].site[i];

			/* A begin inside the protocol's own functions is not judged. */
			if (s->pair == UINT32_MAX || s->verdict == VERDICT_NONE)
				continue;
			lint_families_text(s->fp, families, sizeof(families));
			jw_object(w, NULL);
			jw_string(w, "function", lint_node_name(&g->node[id]));
			jw_u64(w, "offset_bytes", s->off - lint_node_func(&g->node[id])->off);
			jw_string(w, "begin", g->conf->pair[s->pair].begin);
			if (s->mask < 0)
				jw_null(w, "declared");
			else
				needs(w, "declared", (uint32_t)s->mask);
			needs(w, "needed", s->need);
			jw_string(w, "families", families);
			jw_u64(w, "fp_insns", s->insns);
			jw_string(w, "verdict", verdicts[s->verdict]);
			jw_end(w);
		}
	jw_end(w);
}

void lint_print_json(const struct lint_run *run, const struct lint_show *show)
{
	const struct lint_findings *all = &run->graph->found;
	struct lint_row *rows = lint_rows(run);
	char text[1024];
	struct jw w;
	size_t i, k;

	jw_begin(&w, stdout, ui.pretty);
	jw_object(&w, NULL);
	jw_string(&w, "schema", "xstate.lint/1");
	jw_string(&w, "profile", run->conf->profile);
	jw_u64(&w, "objects", run->objects);
	jw_u64(&w, "insns", run->insns);
	jw_u64(&w, "code_bytes", run->code_bytes);
	jw_u64(&w, "fp_insns", run->fp_insns);
	jw_array(&w, "findings");
	for (i = 0; i < all->n; i++) {
		const struct lint_finding *f = &all->list[i];

		if (f->severity == SEV_OFF)
			continue;
		lint_finding_key(f, text, sizeof(text));
		jw_object(&w, NULL);
		jw_string(&w, "id", lint_rules[f->rule].id);
		jw_string(&w, "rule", lint_rules[f->rule].name);
		jw_string(&w, "severity", severity_name(f->severity));
		jw_string(&w, "object", f->object);
		jw_string(&w, "function", f->function);
		jw_u64(&w, "offset_bytes", f->func_off);
		jw_string(&w, "about", f->callee);
		jw_string(&w, "message", f->message);
		jw_string(&w, "chain", f->chain);
		jw_string(&w, "source", f->source);
		jw_string(&w, "key", text);
		jw_bool(&w, "known", f->known);
		jw_string(&w, "why", lint_rules[f->rule].why);
		jw_string(&w, "mend", lint_rules[f->rule].mend);
		jw_end(&w);
	}
	jw_end(&w);
	jw_array(&w, "modules");
	for (i = 0; rows && i < run->nobj; i++) {
		const struct lint_row *r = &rows[i];

		lint_families_text(r->fp & ~(uint32_t)FP_STATE, text, sizeof(text));
		jw_object(&w, NULL);
		jw_string(&w, "object", r->obj->path);
		jw_u64(&w, "fp_insns", r->fp_insns);
		jw_u64(&w, "state_insns", r->state_insns);
		jw_string(&w, "families", text);
		jw_bool(&w, "x87_mmx", r->fp & (FP_X87 | FP_MMX));
		jw_bool(&w, "mxcsr_dependent", r->fp & FP_MXCSR);
		jw_u64(&w, "begin_calls", r->begins);
		jw_u64(&w, "end_calls", r->ends);
		needs(&w, "needed", r->need);
		jw_object(&w, "resolution");
		for (k = ANSWER_SELF; k < ANSWERS; k++) {
			jw_object(&w, answers[k]);
			jw_u64(&w, "functions", r->answer_functions[k]);
			jw_u64(&w, "fp_insns", r->answer_insns[k]);
			jw_end(&w);
		}
		jw_end(&w);
		sections(&w, run, i);
		jw_u64(&w, "errors", r->errors);
		jw_u64(&w, "warnings", r->warnings);
		jw_u64(&w, "notes", r->notes);
		jw_end(&w);
	}
	jw_end(&w);
	jw_array(&w, "annotations");
	for (i = 0; i < run->conf->nrole; i++) {
		const struct lint_role *r = &run->conf->role[i];

		if (!r->used || !r->reason[0])
			continue;
		jw_object(&w, NULL);
		jw_string(&w, "name", r->name);
		jw_string(&w, "reason", r->reason);
		jw_end(&w);
	}
	jw_end(&w);
	jw_array(&w, "idle_annotations");
	for (i = 0; i < run->conf->nrole; i++) {
		const struct lint_role *r = &run->conf->role[i];

		if (!lint_role_idle(r))
			continue;
		jw_object(&w, NULL);
		jw_string(&w, "name", r->name);
		jw_string(&w, "reason", r->reason);
		jw_end(&w);
	}
	jw_end(&w);
	jw_u64(&w, "other_kernels", run->other_kernels);
	jw_u64(&w, "pointers_resolved", run->graph->resolved);
	jw_array(&w, "unreadable");
	for (i = 0; i < run->nfailed; i++) {
		jw_object(&w, NULL);
		jw_string(&w, "object", run->failed[i].path);
		jw_string(&w, "reason", run->failed[i].why);
		jw_end(&w);
	}
	jw_end(&w);
	if (show->baseline) {
		jw_object(&w, "baseline");
		jw_string(&w, "file", show->baseline);
		jw_u64(&w, "gone", show->fixed);
		jw_end(&w);
	} else {
		jw_null(&w, "baseline");
	}
	jw_end(&w);
	jw_finish(&w);
	free(rows);
}

static void sarif_text(struct jw *w, const char *key, const char *text)
{
	jw_object(w, key);
	jw_string(w, "text", text);
	jw_end(w);
}

/* Ref: RFC 3986: all but unreserved characters and the slash are written as %XX. */
static void sarif_uri(struct jw *w, const char *path)
{
	static const char hex[] = "0123456789ABCDEF";
	char *uri = malloc(3 * strlen(path) + 1), *p = uri;

	for (; uri && *path; path++) {
		unsigned char c = (unsigned char)*path;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    strchr("-._~/", c)) {
			*p++ = (char)c;
			continue;
		}
		*p++ = '%';
		*p++ = hex[c >> 4];
		*p++ = hex[c & 15];
	}
	if (uri)
		*p = '\0';
	jw_string(w, "uri", uri ? uri : "");
	free(uri);
}

/* Files that could not be read: a run that left something out says so. */
static void sarif_invocation(struct jw *w, const struct lint_run *run)
{
	size_t i;

	jw_array(w, "invocations");
	jw_object(w, NULL);
	jw_bool(w, "executionSuccessful", run->nfailed == 0);
	jw_array(w, "toolExecutionNotifications");
	for (i = 0; i < run->nfailed; i++) {
		char *text = NULL;

		jw_object(w, NULL);
		jw_string(w, "level", "error");
		if (asprintf(&text, "%s %s", run->failed[i].path, run->failed[i].why) < 0)
			text = NULL;
		sarif_text(w, "message", text ? text : run->failed[i].why);
		free(text);
		jw_array(w, "locations");
		jw_object(w, NULL);
		jw_object(w, "physicalLocation");
		jw_object(w, "artifactLocation");
		sarif_uri(w, run->failed[i].path);
		jw_end(w);
		jw_end(w);
		jw_end(w);
		jw_end(w);
		jw_end(w);
	}
	jw_end(w);
	jw_end(w);
	jw_end(w);
}

static void sarif_result(struct jw *w, const struct lint_finding *f, bool baseline)
{
	char key[1024], file[1024];
	const char *colon = NULL;
	unsigned long line = 0;

	lint_finding_key(f, key, sizeof(key));
	/* "file.c:12" and what follows it. */
	if (f->source) {
		snprintf(file, sizeof(file), "%.*s", (int)strcspn(f->source, " "), f->source);
		colon = strrchr(file, ':');
		if (colon) {
			line = strtoul(colon + 1, NULL, 10);
			file[colon - file] = '\0';
		}
	}
	jw_object(w, NULL);
	jw_string(w, "ruleId", lint_rules[f->rule].id);
	jw_string(w, "level",
	          f->severity == SEV_ERROR     ? "error"
	          : f->severity == SEV_WARNING ? "warning"
	                                       : "note");
	sarif_text(w, "message", f->message ? f->message : "");
	jw_array(w, "locations");
	jw_object(w, NULL);
	jw_object(w, "physicalLocation");
	jw_object(w, "artifactLocation");
	sarif_uri(w, line ? file : f->object);
	jw_end(w);
	if (line) {
		jw_object(w, "region");
		jw_u64(w, "startLine", line);
		jw_end(w);
	}
	jw_end(w);
	jw_array(w, "logicalLocations");
	jw_object(w, NULL);
	jw_string(w, "kind", "function");
	jw_string(w, "name", f->function);
	snprintf(file, sizeof(file), "%s:%s+0x%x", f->module, f->function, f->func_off);
	jw_string(w, "fullyQualifiedName", file);
	jw_end(w);
	jw_end(w);
	jw_end(w);
	jw_end(w);
	jw_object(w, "partialFingerprints");
	jw_string(w, "xstateLint/1", key);
	jw_end(w);
	if (baseline)
		jw_string(w, "baselineState", f->known ? "unchanged" : "new");
	jw_object(w, "properties");
	jw_string(w, "why", lint_rules[f->rule].why);
	jw_string(w, "mend", lint_rules[f->rule].mend);
	jw_end(w);
	jw_end(w);
}

void lint_print_sarif(const struct lint_run *run, const struct lint_show *show)
{
	const struct lint_findings *all = &run->graph->found;
	struct jw w;
	size_t i;

	jw_begin(&w, stdout, ui.pretty);
	jw_object(&w, NULL);
	jw_string(&w, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	jw_string(&w, "version", "2.1.0");
	jw_array(&w, "runs");
	jw_object(&w, NULL);
	jw_object(&w, "tool");
	jw_object(&w, "driver");
	jw_string(&w, "name", "xstate lint");
	jw_string(&w, "version", XSTATE_VERSION);
	jw_array(&w, "rules");
	for (i = 0; i < RULES; i++) {
		jw_object(&w, NULL);
		jw_string(&w, "id", lint_rules[i].id);
		jw_string(&w, "name", lint_rules[i].name);
		sarif_text(&w, "shortDescription", lint_rules[i].name);
		sarif_text(&w, "fullDescription", lint_rules[i].why);
		sarif_text(&w, "help", lint_rules[i].mend);
		jw_end(&w);
	}
	jw_end(&w);
	jw_end(&w);
	jw_end(&w);
	sarif_invocation(&w, run);
	jw_array(&w, "results");
	for (i = 0; i < all->n; i++)
		if (all->list[i].severity != SEV_OFF)
			sarif_result(&w, &all->list[i], show->baseline != NULL);
	jw_end(&w);
	jw_end(&w);
	jw_end(&w);
	jw_end(&w);
	jw_finish(&w);
}
