// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reading options from a table and dispatching to verbs. Not getopt_long: its
 * messages are its own, it accepts abbreviations (which turn into breakage when an
 * option is added), and its state is global.
 */
#include "ui/opt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ui/ui.h"

enum { ID_JSON = -10, ID_PRETTY = -11, ID_QUIET = -12, ID_COLOR = -13, ID_HELP = -14 };

static const struct opt common[] = {
	{ ID_JSON, 'j', "json", NULL, "print JSON" },
	{ ID_PRETTY, 'p', "pretty", NULL, "print JSON, indented" },
	{ ID_QUIET, 'q', "quiet", NULL, "no progress, no remarks" },
	{ ID_COLOR, 0, "color", "WHEN", "auto, always or never" },
	{ ID_HELP, 'h', "help", NULL, "this text" },
	{ 0 },
};

void opt_begin(struct opt_parser *p, const struct opt_usage *usage, int argc, char **argv)
{
	memset(p, 0, sizeof(*p));
	p->usage = usage;
	p->argc = argc;
	p->argv = argv;
	p->pos = 1;
}

static int opt_fail(struct opt_parser *p, const char *what, const char *shown)
{
	p->status = ui_error(p->usage->cmd, UI_USAGE, "%s '%s'; try '%s --help'", what, shown,
			     p->usage->cmd);
	return OPT_STOP;
}

static const struct opt *find(const struct opt *opts, char letter, const char *name, size_t len)
{
	for (; opts && opts->id; opts++) {
		if (letter && opts->letter == letter)
			return opts;
		if (name && opts->name && strlen(opts->name) == len &&
		    !memcmp(opts->name, name, len))
			return opts;
	}
	return NULL;
}

static const struct opt *lookup(const struct opt_parser *p, char letter, const char *name,
				size_t len)
{
	const struct opt *o = find(p->usage->opts, letter, name, len);

	return o ? o : find(common, letter, name, len);
}

static bool set_color(const char *when)
{
	if (!strcmp(when, "auto"))
		ui.color = UI_COLOR_AUTO;
	else if (!strcmp(when, "always"))
		ui.color = UI_COLOR_ALWAYS;
	else if (!strcmp(when, "never"))
		ui.color = UI_COLOR_NEVER;
	else
		return false;
	return true;
}

/* Common options are dealt with here; the verb never sees them. True: carry on reading. */
static bool take_common(struct opt_parser *p, int id, int *result)
{
	switch (id) {
	case ID_PRETTY:
		ui.pretty = true;
		ui.json = true;
		return true;
	case ID_JSON:
		ui.json = true;
		return true;
	case ID_QUIET:
		ui.quiet = true;
		return true;
	case ID_COLOR:
		if (set_color(p->arg))
			return true;
		*result = opt_bad(p, "auto, always or never");
		return false;
	case ID_HELP:
		p->status = UI_OK;
		*result = OPT_STOP;
		return false;
	default:
		*result = id;
		return false;
	}
}

/* One option at the cursor, long or short, with its argument. */
static int read_option(struct opt_parser *p)
{
	const struct opt *o;
	const char *word, *equals = NULL;

	if (p->letters) {
		snprintf(p->shown, sizeof(p->shown), "-%c", *p->letters);
		o = lookup(p, *p->letters, NULL, 0);
		p->letters++;
	} else {
		word = p->argv[p->pos++];
		equals = strchr(word, '=');
		snprintf(p->shown, sizeof(p->shown), "%.*s",
			 equals ? (int)(equals - word) : (int)strlen(word), word);
		o = lookup(p, 0, word + 2,
			   equals ? (size_t)(equals - word - 2) : strlen(word + 2));
	}
	if (!o)
		return opt_fail(p, "unknown option", p->shown);
	p->arg = NULL;
	if (!o->arg) {
		if (equals)
			return opt_fail(p, "no argument belongs to", p->shown);
	} else if (equals) {
		p->arg = equals + 1;
	} else if (p->letters && *p->letters) {
		p->arg = p->letters;
		p->letters = NULL;
	} else if (p->pos < p->argc) {
		p->arg = p->argv[p->pos++];
	} else {
		return opt_fail(p, "an argument is missing after", p->shown);
	}
	if (p->letters && !*p->letters)
		p->letters = NULL;
	return o->id;
}

int opt_next(struct opt_parser *p)
{
	int result;

	for (;;) {
		const char *word = p->letters ? "" : p->pos < p->argc ? p->argv[p->pos] : NULL;

		if (!word)
			return OPT_END;
		if (!p->letters && !p->plain && !strcmp(word, "--")) {
			p->plain = true;
			p->pos++;
			continue;
		}
		/* A lone "-" is an argument: standard input. */
		if (!p->letters && (p->plain || word[0] != '-' || !word[1])) {
			p->arg = p->argv[p->pos++];
			return OPT_ARG;
		}
		if (!p->letters && word[1] != '-') {
			p->letters = word + 1;
			p->pos++;
		}
		result = read_option(p);
		if (result == ID_HELP)
			opt_help(p->usage);
		if (result == OPT_STOP || !take_common(p, result, &result))
			return result;
	}
}

int opt_bad(struct opt_parser *p, const char *wants)
{
	p->status = ui_error(p->usage->cmd, UI_USAGE, "%s wants %s, not '%s'", p->shown, wants,
			     p->arg ? p->arg : "");
	return OPT_STOP;
}

static void print_option(const struct opt *o)
{
	char left[64];
	const char *line = o->help, *end;

	if (!o->help)
		return;
	if (o->letter)
		snprintf(left, sizeof(left), "-%c, --%s%s%s", o->letter, o->name,
			 o->arg ? " " : "", o->arg ? o->arg : "");
	else
		snprintf(left, sizeof(left), "    --%s%s%s", o->name, o->arg ? " " : "",
			 o->arg ? o->arg : "");
	for (; line; line = end ? end + 1 : NULL, left[0] = '\0') {
		end = strchr(line, '\n');
		printf("  %-26s %.*s\n", left, end ? (int)(end - line) : (int)strlen(line), line);
	}
}

static void help_top(const struct opt_usage *u)
{
	const char *on = ui_on(stdout, UI_HEAD), *off = ui_off(stdout, UI_HEAD);

	printf("%s%s%s - %s\n\n%susage:%s %s %s\n", on, u->cmd, off, u->summary, on, off, u->cmd,
	       u->synopsis);
	if (u->about)
		printf("\n%s", u->about);
}

static void help_bottom(const struct opt_usage *u)
{
	const char *on = ui_on(stdout, UI_HEAD), *off = ui_off(stdout, UI_HEAD);

	printf("\n%soptions:%s\n", on, off);
	for (const struct opt *o = u->opts; o && o->id; o++)
		print_option(o);
	for (const struct opt *o = common; o->id; o++)
		print_option(o);
	if (!u->examples)
		return;
	printf("\n%sexamples:%s\n", on, off);
	for (const char *line = u->examples, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		printf("  %.*s\n", (int)(end - line), line);
	}
}

void opt_help(const struct opt_usage *usage)
{
	help_top(usage);
	help_bottom(usage);
}

static void help_verbs(const struct opt_usage *u, const struct opt_verb *verbs)
{
	help_top(u);
	printf("\n%scommands:%s\n", ui_on(stdout, UI_HEAD), ui_off(stdout, UI_HEAD));
	for (; verbs->name; verbs++)
		if (verbs->summary)
			printf("  %-10s %s\n", verbs->name, verbs->summary);
	help_bottom(u);
}

int opt_dispatch(const struct opt_usage *usage, const struct opt_verb *verbs, int argc,
		 char **argv)
{
	struct opt_parser p;
	const char *name = NULL;
	int id, result;

	opt_begin(&p, usage, argc, argv);
	while (!name && p.pos < argc && argv[p.pos][0] == '-' && argv[p.pos][1]) {
		/* Not opt_next(): what follows the verb is the verb's to read. */
		if (argv[p.pos][1] != '-')
			p.letters = argv[p.pos++] + 1;
		do {
			id = read_option(&p);
			if (id == ID_HELP)
				help_verbs(usage, verbs);
			if (id == OPT_STOP)
				return p.status;
			if (take_common(&p, id, &result))
				continue;
			if (result == OPT_STOP)
				return p.status;
			for (const struct opt *o = usage->opts; o->id; o++)
				if (o->id == result)
					name = o->name;
		} while (p.letters && !name);
	}
	if (!name && p.pos == argc) {
		if (ui.json)
			return ui_error(usage->cmd, UI_USAGE, "no command given; try '%s --help'",
					usage->cmd);
		help_verbs(usage, verbs);
		return UI_OK;
	}
	/* What follows an option that names a verb is of no interest to it. */
	argc = name ? 1 : argc - p.pos;
	argv = name ? argv : argv + p.pos;
	name = name ? name : argv[0];
	for (const struct opt_verb *v = verbs; v->name; v++)
		if (!strcmp(v->name, name))
			return v->run(argc, argv);
	opt_fail(&p, "unknown command", name);
	return p.status;
}

void opt_scan_common(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		bool pretty = !strcmp(argv[i], "-p") || !strcmp(argv[i], "--pretty") ||
			      !strcmp(argv[i], "-jp") || !strcmp(argv[i], "-pj");

		if (pretty || !strcmp(argv[i], "-j") || !strcmp(argv[i], "--json"))
			ui.json = true;
		if (pretty)
			ui.pretty = true;
	}
}
