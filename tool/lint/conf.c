// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reading profiles and xstate-lint.conf: one fact a line, words separated by blanks, "#"
 * begins a comment. docs/lint.md describes it for people.
 */
#include "lint/conf.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lint/finding.h"
#include "lint_profiles.h" /* generated from profiles/: lint_profile_names, lint_profile_texts */

#define WORDS    8
#define FILE_MAX (1u << 20)

struct lint_conf *lint_conf_new(void)
{
	struct lint_conf *conf = calloc(1, sizeof(*conf));

	if (conf)
		conf->gfp_sleep = 0x400; /* __GFP_DIRECT_RECLAIM since 4.4 */
	return conf;
}

void lint_conf_free(struct lint_conf *conf)
{
	size_t i;

	if (!conf)
		return;
	for (i = 0; i < conf->npair; i++) {
		free(conf->pair[i].begin);
		free(conf->pair[i].end);
	}
	for (i = 0; i < conf->nrole; i++) {
		free(conf->role[i].name);
		free(conf->role[i].reason);
	}
	free(conf->pair);
	free(conf->role);
	free(conf);
}

static struct lint_role *role_add(struct lint_conf *conf, enum lint_role_kind kind,
                                  const char *name, const char *reason)
{
	struct lint_role *list = realloc(conf->role, (conf->nrole + 1) * sizeof(*list));
	struct lint_role *r;

	if (!list)
		return NULL;
	conf->role = list;
	r = &list[conf->nrole];
	*r = (struct lint_role){.kind = kind, .gfp_arg = -1};
	r->name = strdup(name);
	r->reason = strdup(reason ? reason : "");
	if (!r->name || !r->reason) {
		free(r->name);
		free(r->reason);
		return NULL;
	}
	conf->nrole++;
	return r;
}

/* "arg2" -> 2 */
static bool arg_index(const char *s, int *arg)
{
	if (strncmp(s, "arg", 3) != 0 || s[3] < '0' || s[3] > '5' || s[4])
		return false;
	*arg = s[3] - '0';
	return true;
}

static const char *pair_line(struct lint_conf *conf, char **word, int n)
{
	struct lint_pair pair = {.mask_arg = -1, .mask = UINT32_MAX}, *list;
	struct lint_role *r;
	int i;

	if (n < 3)
		return "pair wants the names of a begin and an end";
	for (i = 3; i < n; i++) {
		char *end;

		if (!strcmp(word[i], "nestable")) {
			pair.nestable = true;
		} else if (!strncmp(word[i], "mask=", 5)) {
			if (arg_index(word[i] + 5, &pair.mask_arg))
				continue;
			pair.mask = (uint32_t)strtoul(word[i] + 5, &end, 0);
			if (*end || end == word[i] + 5 || pair.mask > 7)
				return "mask= wants a number from 0 to 7 (1 x87, 2 MXCSR, 4 "
				       "tiles), or arg0 to arg5";
		} else {
			return "after the names of a pair come mask= and nestable only";
		}
	}
	list = realloc(conf->pair, (conf->npair + 1) * sizeof(*list));
	if (!list)
		return "out of memory";
	conf->pair = list;
	pair.begin = strdup(word[1]);
	pair.end = strdup(word[2]);
	list[conf->npair++] = pair;
	r = role_add(conf, ROLE_BEGIN, word[1], NULL);
	if (!r)
		return "out of memory";
	r->pair = (uint32_t)conf->npair - 1;
	r = role_add(conf, ROLE_END, word[2], NULL);
	if (!r)
		return "out of memory";
	r->pair = (uint32_t)conf->npair - 1;
	return NULL;
}

static const char *severity_line(struct lint_conf *conf, char **word, int n)
{
	static const char *const names[] = {"off", "note", "warning", "error"};
	int rule, i;

	if (n != 3)
		return "severity wants a rule and one of off, note, warning, error";
	rule = lint_rule_by_name(word[1]);
	if (rule < 0)
		return "no such rule; `xstate lint --explain all` lists them";
	for (i = 0; i < 4; i++)
		if (!strcmp(word[2], names[i])) {
			conf->severity[rule] = (uint8_t)(i + 1);
			return NULL;
		}
	return "severity is one of off, note, warning, error";
}

/* Facts that are a list of names, and what ends the line as their reason. */
static const struct {
	const char *word;
	enum lint_role_kind kind;
	bool reason;
} lists[] = {
        {"sleep", ROLE_SLEEP, false},         {"noreturn", ROLE_NORETURN, false},
        {"return-thunk", ROLE_RETURN, false}, {"indirect-thunk", ROLE_INDIRECT, false},
        {"nothing", ROLE_NOTHING, false},     {"owner", ROLE_OWNER, true},
        {"pointer", ROLE_POINTER, true},      {"forbid", ROLE_FORBID, true},
        {"begins", ROLE_BEGINS, true},        {"ends", ROLE_ENDS, true},
        {"state", ROLE_STATE, true},          {"foreign", ROLE_FOREIGN, true},
};

/* One line; NULL, or what is wrong with it. */
static const char *line_read(struct lint_conf *conf, char *line, const char *from, bool *base)
{
	char *word[WORDS * 4], *reason = NULL, *p, *save = NULL;
	char why[256];
	size_t k;
	int n = 0, i;

	p = strchr(line, '#');
	if (p)
		*p = '\0';
	p = strchr(line, '"');
	if (p) {
		char *end = strrchr(line, '"');

		if (end == p)
			return "a quote is not closed";
		*p = *end = '\0';
		reason = p + 1;
	}
	for (p = strtok_r(line, " \t\r", &save); p; p = strtok_r(NULL, " \t\r", &save)) {
		if (n == WORDS * 4)
			return "too many words";
		word[n++] = p;
	}
	if (!n)
		return NULL;
	if (!strcmp(word[0], "profile")) {
		if (n != 2 || !base)
			return "profile wants the name of a built-in profile";
		*base = true;
		if (!lint_conf_profile(conf, word[1], why, sizeof(why)))
			return "no such built-in profile";
		return NULL;
	}
	if (!strcmp(word[0], "pair"))
		return pair_line(conf, word, n);
	if (!strcmp(word[0], "severity"))
		return severity_line(conf, word, n);
	if (!strcmp(word[0], "fp") && n == 2 && !strcmp(word[1], "forbidden")) {
		conf->forbidden = true;
		return NULL;
	}
	if (!strcmp(word[0], "inline-sections") && n == 2 && !strcmp(word[1], "yes")) {
		conf->inline_sections = true;
		return NULL;
	}
	if (!strcmp(word[0], "gfp-sleep") && n == 2) {
		conf->gfp_sleep = (uint32_t)strtoul(word[1], &p, 0);
		return *p ? "gfp-sleep wants a number" : NULL;
	}
	(void)from;
	for (k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
		int gfp = -1;

		if (strcmp(word[0], lists[k].word) != 0)
			continue;
		if (n < 2)
			return "names of functions are missing";
		if (reason && !lists[k].reason)
			return "only owner, pointer, forbid, begins, ends, state and foreign take "
			       "a reason";
		if (lists[k].reason && !reason)
			return "say why, in quotes at the end of the line";
		if (lists[k].kind == ROLE_SLEEP && !strncmp(word[n - 1], "gfp=", 4) &&
		    !arg_index(word[--n] + 4, &gfp))
			return "gfp= wants arg0 to arg5";
		for (i = 1; i < n; i++) {
			struct lint_role *r = role_add(conf, lists[k].kind, word[i], reason);

			if (!r)
				return "out of memory";
			r->gfp_arg = gfp;
		}
		return NULL;
	}
	return "unknown word at its beginning; docs/lint.md lists them";
}

static bool text_read(struct lint_conf *conf, const char *text, const char *from, bool *base,
                      char *why, size_t why_bytes)
{
	char *copy = strdup(text), *line, *next;
	const char *wrong = NULL;
	unsigned number = 0;

	if (!copy) {
		snprintf(why, why_bytes, "out of memory");
		return false;
	}
	for (line = copy; line && !wrong; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		wrong = line_read(conf, line, from, base);
	}
	free(copy);
	if (wrong)
		snprintf(why, why_bytes, "%s, line %u: %s", from, number, wrong);
	return !wrong;
}

bool lint_conf_text(struct lint_conf *conf, const char *text, const char *from, char *why,
                    size_t why_bytes)
{
	bool base = false;

	return text_read(conf, text, from, &base, why, why_bytes);
}

bool lint_conf_profile(struct lint_conf *conf, const char *name, char *why, size_t why_bytes)
{
	size_t i, used = 0;
	char list[128];

	list[0] = '\0';
	for (i = 0; lint_profile_names[i]; i++) {
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
		                         lint_profile_names[i]);
		if (!strcmp(lint_profile_names[i], name)) {
			if (!conf->profile[0])
				snprintf(conf->profile, sizeof(conf->profile), "%s", name);
			return text_read(conf, lint_profile_texts[i], name, NULL, why, why_bytes);
		}
	}
	snprintf(why, why_bytes, "there is no profile %s; there are %s", name, list);
	return false;
}

const char *lint_conf_profile_text(const char *name)
{
	size_t i;

	for (i = 0; lint_profile_names[i]; i++)
		if (!strcmp(lint_profile_names[i], name))
			return lint_profile_texts[i];
	return NULL;
}

bool lint_conf_file(struct lint_conf *conf, const char *path, char *why, size_t why_bytes)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t n;
	bool ok = false;

	if (!f) {
		snprintf(why, why_bytes, "%s cannot be read: %s", path, strerror(errno));
		return false;
	}
	text = malloc(FILE_MAX + 1);
	n = text ? fread(text, 1, FILE_MAX + 1, f) : 0;
	if (!text || ferror(f) || n > FILE_MAX) {
		snprintf(why, why_bytes, "%s cannot be read, or is larger than a megabyte", path);
	} else if (memchr(text, '\0', n)) {
		snprintf(why, why_bytes, "%s is not a text file", path);
	} else {
		text[n] = '\0';
		ok = lint_conf_text(conf, text, path, why, why_bytes);
	}
	free(text);
	fclose(f);
	return ok;
}

static bool wild(const char *name)
{
	return strpbrk(name, "*?[") != NULL;
}

static int role_order(const void *a, const void *b)
{
	const struct lint_role *x = a, *y = b;
	int wx = wild(x->name), wy = wild(y->name);

	if (wx != wy)
		return wx - wy;
	return strcmp(x->name, y->name);
}

void lint_conf_settle(struct lint_conf *conf)
{
	size_t i;

	if (conf->nrole)
		qsort(conf->role, conf->nrole, sizeof(*conf->role), role_order);
	for (i = 0; i < conf->nrole && !wild(conf->role[i].name); i++)
		;
	conf->nplain = i;
	conf->sorted = true;
}

static int role_key(const void *key, const void *item)
{
	const struct lint_role *r = item;

	return strcmp(key, r->name);
}

struct lint_role *lint_conf_role(struct lint_conf *conf, const char *name)
{
	static const char *const suffixes[] = {".isra.", ".part.", ".constprop.", ".cold"};
	char plain[256];
	struct lint_role *r;
	size_t i;

	snprintf(plain, sizeof(plain), "%s", name);
	for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		char *p = strstr(plain, suffixes[i]);

		if (p && p != plain)
			*p = '\0';
	}
	r = bsearch(plain, conf->role, conf->nplain, sizeof(*conf->role), role_key);
	if (r && r->kind != ROLE_STATE)
		return r;
	for (i = conf->nplain; i < conf->nrole; i++)
		if (conf->role[i].kind != ROLE_STATE && !fnmatch(conf->role[i].name, plain, 0))
			return &conf->role[i];
	return NULL;
}

bool lint_conf_object(struct lint_conf *conf, const char *module)
{
	size_t i;

	for (i = 0; i < conf->nrole; i++)
		if (conf->role[i].kind == ROLE_STATE && !fnmatch(conf->role[i].name, module, 0)) {
			conf->role[i].used++;
			return true;
		}
	return false;
}
