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
#include "lint/object.h"
#include "lint_profiles.h" /* generated from profiles/: lint_profile_names, lint_profile_texts */

#define WORDS        40
#define FILE_MAX     (1u << 20)
#define OVER_PROFILE (1u << 20) /* rank of the first line of a file */

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
		free(conf->role[i].object);
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
	*r = (struct lint_role){.kind = kind, .gfp_arg = -1, .from_file = !conf->in_profile};
	r->rank = (uint32_t)conf->nrole + (conf->in_profile ? 0 : OVER_PROFILE);
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
	if (!strcmp(word[1], word[2]))
		return "a begin and an end cannot be the same function";
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

/* Words of a line, and the quoted reason that may end it. */
static const char *line_split(char *p, char **word, int *n, char **reason)
{
	*n = 0;
	*reason = NULL;
	for (;;) {
		while (*p == ' ' || *p == '\t' || *p == '\r')
			*p++ = '\0';
		if (!*p || *p == '#')
			break;
		if (*reason)
			return "the reason in quotes comes last";
		if (*p == '"') {
			*p++ = '\0';
			*reason = p;
			p = strchr(p, '"');
			if (!p)
				return "a quote is not closed";
			*p++ = '\0';
			continue;
		}
		if (*n == WORDS)
			return "too many words; several lines may say the same of more names";
		word[(*n)++] = p;
		p += strcspn(p, " \t\r\"#");
	}
	*p = '\0';
	return NULL;
}

/* fnmatch() takes a bracket that is not closed for a plain character, which nobody means. */
static bool pattern_whole(const char *s)
{
	const char *open = strchr(s, '[');

	while (open) {
		const char *shut = open[1] ? strchr(open + 2, ']') : NULL;

		if (!shut)
			return false;
		open = strchr(shut, '[');
	}
	return true;
}

static const char *list_line(struct lint_conf *conf, size_t k, char **word, int n,
                             const char *reason)
{
	const char *object = NULL;
	int gfp = -1, i;

	if (reason && !lists[k].reason)
		return "only owner, pointer, forbid, begins, ends, state and foreign take a reason";
	if (lists[k].reason && !reason)
		return "say why, in quotes at the end of the line";
	for (; n > 1; n--) {
		if (!strncmp(word[n - 1], "object=", 7))
			object = word[n - 1] + 7;
		else if (lists[k].kind != ROLE_SLEEP || strncmp(word[n - 1], "gfp=", 4) != 0)
			break;
		else if (!arg_index(word[n - 1] + 4, &gfp))
			return "gfp= wants arg0 to arg5";
	}
	if (n < 2)
		return "names of functions are missing";
	if (object && !*object)
		return "object= wants a name";
	for (i = 1; i < n; i++) {
		struct lint_role *r;

		if (strchr(word[i], '='))
			return "only object= and gfp= hold a '=', after the names";
		if (!pattern_whole(word[i]))
			return "a pattern has a [ without a ]";
		r = role_add(conf, lists[k].kind, word[i], reason);
		if (!r)
			return "out of memory";
		r->gfp_arg = gfp;
		r->object = object ? strdup(object) : NULL;
		if (object && !r->object)
			return "out of memory";
	}
	return NULL;
}

static const char *profile_line(struct lint_conf *conf, const char *name)
{
	char why[256];

	/* What the command line says goes before the file. */
	if (conf->profile_given)
		return lint_conf_profile_text(name) ? NULL : "no such built-in profile";
	if (conf->profile[0])
		return "a profile was named already";
	return lint_conf_profile(conf, name, why, sizeof(why)) ? NULL : "no such built-in profile";
}

/* One line; NULL, or what is wrong with it. */
static const char *line_read(struct lint_conf *conf, char *line)
{
	char *word[WORDS], *reason, *end;
	const char *wrong;
	size_t k;
	int n;

	wrong = line_split(line, word, &n, &reason);
	if (wrong)
		return wrong;
	if (!n)
		return reason ? "a reason without anything that it is for" : NULL;
	for (k = 0; k < sizeof(lists) / sizeof(lists[0]); k++)
		if (!strcmp(word[0], lists[k].word))
			return list_line(conf, k, word, n, reason);
	if (reason)
		return "only owner, pointer, forbid, begins, ends, state and foreign take a reason";
	if (!strcmp(word[0], "profile"))
		return n == 2 && !conf->in_profile ? profile_line(conf, word[1])
		                                   : "profile wants the name of a built-in profile";
	if (!strcmp(word[0], "pair"))
		return pair_line(conf, word, n);
	if (!strcmp(word[0], "severity"))
		return severity_line(conf, word, n);
	if (!strcmp(word[0], "fp")) {
		conf->forbidden = true;
		return n == 2 && !strcmp(word[1], "forbidden")
		               ? NULL
		               : "the line can only be `fp forbidden`; else leave it out";
	}
	if (!strcmp(word[0], "inline-sections")) {
		conf->inline_sections = true;
		return n == 2 && !strcmp(word[1], "yes")
		               ? NULL
		               : "the line can only be `inline-sections yes`; else leave it out";
	}
	if (!strcmp(word[0], "gfp-sleep")) {
		if (n != 2)
			return "gfp-sleep wants a number";
		conf->gfp_sleep = (uint32_t)strtoul(word[1], &end, 0);
		return *end || end == word[1] ? "gfp-sleep wants a number" : NULL;
	}
	return "unknown word at its beginning; docs/lint.md lists them";
}

bool lint_conf_text(struct lint_conf *conf, const char *text, const char *from, char *why,
                    size_t why_bytes)
{
	char *copy = strdup(strncmp(text, "\xef\xbb\xbf", 3) ? text : text + 3), *line, *next;
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
		wrong = line_read(conf, line);
	}
	free(copy);
	if (wrong)
		snprintf(why, why_bytes, "%s, line %u: %s", from, number, wrong);
	return !wrong;
}

bool lint_conf_profile(struct lint_conf *conf, const char *name, char *why, size_t why_bytes)
{
	size_t i, used = 0;
	char list[128];
	bool ok;

	list[0] = '\0';
	for (i = 0; lint_profile_names[i]; i++) {
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
		                         lint_profile_names[i]);
		if (!strcmp(lint_profile_names[i], name)) {
			if (!conf->profile[0])
				snprintf(conf->profile, sizeof(conf->profile), "%s", name);
			conf->in_profile = true;
			ok = lint_conf_text(conf, lint_profile_texts[i], name, why, why_bytes);
			conf->in_profile = false;
			return ok;
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

/* Of the lines that fit, the last one counts, and those of a file before a profile's. */
static int role_order(const void *a, const void *b)
{
	const struct lint_role *x = a, *y = b;
	int wx = wild(x->name), wy = wild(y->name), r;

	if (wx != wy)
		return wx - wy;
	r = wx ? 0 : strcmp(x->name, y->name);
	return r ? r : x->rank > y->rank ? -1 : x->rank < y->rank;
}

void lint_conf_settle(struct lint_conf *conf)
{
	size_t i;

	if (conf->nrole)
		qsort(conf->role, conf->nrole, sizeof(*conf->role), role_order);
	for (i = 0; i < conf->nrole && !wild(conf->role[i].name); i++)
		;
	conf->nplain = i;
}

static int role_key(const void *key, const void *item)
{
	const struct lint_role *r = item;

	return strcmp(key, r->name);
}

/* Whether a fact that holds in some objects only holds in this one. */
static bool holds_in(const struct lint_role *r, const struct lint_object *obj)
{
	char list[512], *p, *save = NULL;

	if (!r->object)
		return true;
	if (!obj)
		return false;
	snprintf(list, sizeof(list), "%s", r->object);
	for (p = strtok_r(list, ",", &save); p; p = strtok_r(NULL, ",", &save))
		if ((!strcmp(p, "kernel") && !obj->relocatable) || !fnmatch(p, obj->module, 0) ||
		    !fnmatch(p, obj->path, 0))
			return true;
	return false;
}

struct lint_role *lint_conf_role(struct lint_conf *conf, const char *name,
                                 const struct lint_object *obj)
{
	static const char *const suffixes[] = {".isra.", ".part.", ".constprop.", ".cold"};
	char plain[256];
	struct lint_role *r, *end = conf->role + conf->nplain, *best = NULL;
	size_t i;

	snprintf(plain, sizeof(plain), "%s", name);
	for (i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		char *p = strstr(plain, suffixes[i]);

		if (p && p != plain)
			*p = '\0';
	}
	r = bsearch(plain, conf->role, conf->nplain, sizeof(*conf->role), role_key);
	while (r && r > conf->role && !strcmp(r[-1].name, plain))
		r--;
	for (; r && !best && r < end && !strcmp(r->name, plain); r++)
		if (r->kind != ROLE_STATE && holds_in(r, obj))
			best = r;
	for (i = conf->nplain; i < conf->nrole; i++) {
		r = &conf->role[i];
		if (best && best->rank > r->rank)
			break;
		if (r->kind != ROLE_STATE && !fnmatch(r->name, plain, 0) && holds_in(r, obj))
			return r;
	}
	return best;
}

bool lint_conf_has(const struct lint_conf *conf, enum lint_role_kind kind)
{
	size_t i;

	for (i = 0; i < conf->nrole; i++)
		if (conf->role[i].kind == kind)
			return true;
	return false;
}

bool lint_conf_object(struct lint_conf *conf, const char *module)
{
	size_t i;

	for (i = 0; i < conf->nrole; i++)
		if (conf->role[i].kind == ROLE_STATE && !fnmatch(conf->role[i].name, module, 0)) {
			conf->role[i].used++;
			conf->role[i].matched = true;
			return true;
		}
	return false;
}
