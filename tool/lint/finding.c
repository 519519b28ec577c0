// SPDX-License-Identifier: BSD-2-Clause
/*
 * Findings and baselines. A baseline is a text file of keys, one a line, that hold no
 * offsets or line numbers: a rebuild moves code, but not who calls whom. A key stands there as
 * often as its finding occurs, so that one more is new.
 */
#include "lint/finding.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lint/object.h"
#include "ui/outfile.h"

const struct lint_rule_info lint_rules[RULES] = {
#define RULE(sym, id, name, sev, why, mend) [RULE_##sym] = {id, name, sev, why, mend},
#include "lint/rules.def"
#undef RULE
};

_Static_assert(RULES <= LINT_RULES_MAX, "severities have no room for all rules");

int lint_rule_by_name(const char *name)
{
	int i;

	for (i = 0; i < RULES; i++)
		if (!strcasecmp(lint_rules[i].name, name) || !strcasecmp(lint_rules[i].id, name))
			return i;
	return -1;
}

void lint_clean(char *s)
{
	for (; s && *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = '?';
}

struct lint_finding *lint_finding_add(struct lint_findings *all, const struct lint_finding *f,
                                      const char *chain, const char *fmt, ...)
{
	struct lint_finding *n;
	va_list args;
	size_t i;

	/* The newest are the likeliest: a function's findings come together. */
	for (i = all->n; i-- > 0;) {
		const struct lint_finding *o = &all->list[i];

		if (o->lint_object == f->lint_object && o->rule == f->rule && o->sec == f->sec &&
		    o->off == f->off && !strcmp(o->function, f->function) &&
		    !strcmp(o->callee ? o->callee : "", f->callee ? f->callee : ""))
			return NULL;
	}
	if (all->n == all->cap) {
		size_t more = all->cap ? all->cap * 2 : 64;
		struct lint_finding *list = realloc(all->list, more * sizeof(*list));

		if (!list) {
			all->lost = true;
			return NULL;
		}
		all->list = list;
		all->cap = more;
	}
	n = &all->list[all->n];
	*n = *f;
	n->callee = f->callee ? strdup(f->callee) : NULL;
	n->chain = chain ? strdup(chain) : NULL;
	n->source = NULL;
	va_start(args, fmt);
	if (vasprintf(&n->message, fmt, args) < 0) {
		n->message = NULL;
		all->lost = true;
	}
	va_end(args);
	lint_clean(n->callee);
	lint_clean(n->message);
	lint_clean(n->chain);
	all->n++;
	return n;
}

void lint_findings_free(struct lint_findings *all)
{
	size_t i;

	for (i = 0; i < all->n; i++) {
		free(all->list[i].callee);
		free(all->list[i].message);
		free(all->list[i].chain);
		free(all->list[i].source);
	}
	free(all->list);
	memset(all, 0, sizeof(*all));
}

static int order(const void *a, const void *b)
{
	const struct lint_finding *x = a, *y = b;
	int r = strcmp(x->object, y->object);

	if (r)
		return r;
	if (x->severity != y->severity)
		return x->severity > y->severity ? -1 : 1;
	if (x->sec != y->sec)
		return x->sec < y->sec ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	if (x->rule != y->rule)
		return x->rule < y->rule ? -1 : 1;
	r = strcmp(x->function, y->function);
	return r ? r : strcmp(x->callee ? x->callee : "", y->callee ? y->callee : "");
}

void lint_findings_sort(struct lint_findings *all)
{
	if (all->n)
		qsort(all->list, all->n, sizeof(*all->list), order);
}

/* A name without what a compiler appends: numbers in it change from build to build. */
static void plain_name(char *out, size_t bytes, const char *name)
{
	static const char *const suffixes[] = {".isra.", ".part.", ".constprop.", ".cold"};
	size_t i;

	snprintf(out, bytes, "%s", name);
	for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		char *p = strstr(out, suffixes[i]);

		if (p && p != out)
			*p = '\0';
	}
	for (; *out; out++)
		if ((unsigned char)*out <= ' ')
			*out = '_';
}

void lint_finding_key(const struct lint_finding *f, char *buf, size_t bytes)
{
	static const char *const packed[] = {".xz", ".zst", ".gz"};
	const struct lint_object *obj = f->lint_object;
	char function[256], callee[256], object[512];
	size_t n, i;

	plain_name(function, sizeof(function), f->function);
	/* Which instruction comes first is the compiler's choice. */
	plain_name(callee, sizeof(callee),
	           !f->callee || f->rule == RULE_FP_OUTSIDE || f->rule == RULE_FP_AFTER_END ||
	                           f->rule == RULE_STATE_INSN
	                   ? "-"
	                   : f->callee);
	plain_name(object, sizeof(object), obj ? obj->tag : f->module);
	n = strlen(object);
	for (i = 0; i < sizeof(packed) / sizeof(packed[0]); i++) {
		size_t m = strlen(packed[i]);

		if (n > m && !strcmp(object + n - m, packed[i])) {
			object[n - m] = '\0';
			break;
		}
	}
	snprintf(buf, bytes, "%s %s %s %s", lint_rules[f->rule].id, object, function, callee);
}

static int text_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static const char magic[] = "# xstate lint baseline 2";

bool lint_baseline_read(struct lint_findings *all, const char *path, size_t *fixed, char *why,
                        size_t why_bytes)
{
	FILE *f = fopen(path, "re");
	char **keys = NULL, *line = NULL, key[1024];
	bool *seen = NULL, ok = false;
	size_t n = 0, i, cap = 0;
	ssize_t got;

	if (!f) {
		snprintf(why, why_bytes, "the baseline %s cannot be read: %s", path,
		         strerror(errno));
		return false;
	}
	snprintf(why, why_bytes, "out of memory");
	if (getline(&line, &cap, f) < 0 || strncmp(line, magic, sizeof(magic) - 2) != 0) {
		snprintf(why, why_bytes, "%s is not a baseline: it does not begin with \"%s\"",
		         path, magic);
		goto out;
	}
	if (strncmp(line, magic, sizeof(magic) - 1) != 0 ||
	    isdigit((unsigned char)line[sizeof(magic) - 1])) {
		snprintf(why, why_bytes,
		         "%s is a baseline of another version, whose keys say less; write it again "
		         "with --write-baseline",
		         path);
		goto out;
	}
	while ((got = getline(&line, &cap, f)) > 0) {
		char **more;

		while (got && (line[got - 1] == '\n' || line[got - 1] == '\r'))
			line[--got] = '\0';
		if (!got || line[0] == '#')
			continue;
		more = realloc(keys, (n + 1) * sizeof(*keys));
		if (!more)
			goto out;
		keys = more;
		keys[n] = strdup(line);
		if (!keys[n])
			goto out;
		n++;
	}
	if (n)
		qsort(keys, n, sizeof(*keys), text_order);
	seen = calloc(n ? n : 1, sizeof(*seen));
	if (!seen)
		goto out;
	for (i = 0; i < all->n; i++) {
		const char *p = key;
		char **hit;
		size_t k;

		lint_finding_key(&all->list[i], key, sizeof(key));
		hit = n ? bsearch(&p, keys, n, sizeof(*keys), text_order) : NULL;
		all->list[i].known = false;
		if (!hit)
			continue;
		/* Each entry stands for one finding. */
		for (k = (size_t)(hit - keys); k && !strcmp(keys[k - 1], key); k--)
			;
		while (k < n && seen[k] && !strcmp(keys[k], key))
			k++;
		if (k < n && !strcmp(keys[k], key)) {
			seen[k] = true;
			all->list[i].known = true;
		}
	}
	*fixed = 0;
	for (i = 0; i < n; i++)
		*fixed += !seen[i];
	ok = true;
out:
	for (i = 0; i < n; i++)
		free(keys[i]);
	free(keys);
	free(seen);
	free(line);
	fclose(f);
	return ok;
}

bool lint_baseline_write(const struct lint_findings *all, struct outfile *o)
{
	char key[1024], **keys = calloc(all->n ? all->n : 1, sizeof(*keys));
	size_t i, n = 0;
	bool ok = keys != NULL;

	for (i = 0; ok && i < all->n; i++) {
		lint_finding_key(&all->list[i], key, sizeof(key));
		keys[n] = strdup(key);
		ok = keys[n];
		n += ok;
	}
	if (ok && n)
		qsort(keys, n, sizeof(*keys), text_order);
	if (ok) {
		fprintf(o->f, "%s\n", magic);
		for (i = 0; i < n; i++)
			fprintf(o->f, "%s\n", keys[i]);
		ok = outfile_commit(o);
	} else {
		outfile_drop(o);
		errno = ENOMEM;
	}
	for (i = 0; i < n; i++)
		free(keys[i]);
	free(keys);
	return ok;
}
