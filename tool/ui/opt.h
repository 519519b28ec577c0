/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line: one table of options per verb gives both the parser and the
 * help text, so the two cannot drift apart. Options and arguments may be mixed;
 * "--" ends the options. The common options (-j -p -q --color --help) need not be
 * listed: every verb has them.
 */
#ifndef UI_OPT_H
#define UI_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct opt {
	int id;           /* what opt_next() returns, 1 or more; 0 ends the table */
	char letter;      /* short form, or 0 */
	const char *name; /* long form without dashes */
	const char *arg;  /* what the argument is called in the help; NULL: takes none */
	const char *help; /* "\n" begins a further line; NULL hides the option */
};

struct opt_usage {
	const char *cmd;      /* "xstate lab run" */
	const char *summary;  /* one line, no full stop */
	const char *synopsis; /* what follows the command: "[EXPERIMENT...] [options]" */
	const char *about;    /* paragraphs before the options, ends in "\n"; or NULL */
	const struct opt *opts;
	const char *examples; /* lines "command    what it does\n", or NULL */
};

enum {
	OPT_ARG = 0,   /* p->arg is a plain argument */
	OPT_END = -1,  /* nothing is left */
	OPT_STOP = -2, /* help was printed or an error reported: return p->status */
};

struct opt_parser {
	const struct opt_usage *usage;
	char **argv;
	int argc;
	int pos;
	const char *letters; /* rest of a group of short options, -jp */
	bool plain;          /* "--" was seen */
	char shown[64];      /* the option as typed, for messages: "--cpus" */
	const char *arg;
	int status;
};

/**
 * opt_begin() - start reading @argv, whose first element (the verb) is skipped.
 */
void opt_begin(struct opt_parser *p, const struct opt_usage *usage, int argc, char **argv);

/**
 * opt_next() - the next option or argument.
 *
 * Return: the option's id with its argument in p->arg, OPT_ARG, OPT_END or OPT_STOP.
 */
int opt_next(struct opt_parser *p);

/**
 * opt_help() - print the help text of @usage on stdout.
 */
void opt_help(const struct opt_usage *usage);

/**
 * opt_bad() - report that the current option's argument is not what it wants.
 * @wants: "a number from 1 to 8".
 *
 * Return: OPT_STOP; p->status is set to UI_USAGE.
 */
int opt_bad(struct opt_parser *p, const char *wants);

/*
 * The current option's argument as a value within [min, max]. On failure the
 * error was reported and p->status is set; return it.
 */
bool opt_get_u64(struct opt_parser *p, uint64_t min, uint64_t max, uint64_t *v);
bool opt_get_bytes(struct opt_parser *p, uint64_t min, uint64_t max, uint64_t *v);
bool opt_get_ms(struct opt_parser *p, uint64_t min, uint64_t max, uint64_t *v);

/**
 * opt_u64() - a whole number, decimal or 0x hexadecimal, and nothing else.
 * opt_bytes() - a size: a number with an optional k, M, G or KiB, MiB, GiB (all powers of 1024).
 * opt_ms() - a duration in ms, s (also without a unit), m or min, or h; decimals allowed.
 * opt_f64() - a finite decimal number; a trailing % divides by 100.
 *
 * Return: true and *@v, or false with *@v untouched.
 */
bool opt_u64(const char *s, uint64_t *v);
bool opt_bytes(const char *s, uint64_t *v);
bool opt_ms(const char *s, uint64_t *v);
bool opt_f64(const char *s, double *v);

/**
 * opt_item() - walk through a comma-separated list.
 * @list: cursor, set to the list first; NULL when the last item was taken.
 * @buf:  receives the item.
 *
 * Return: false at the end, or when an item is empty or longer than @size - 1
 *         (*@list is then not NULL).
 */
bool opt_item(const char **list, char *buf, size_t size);

/* A verb, or a verb's own verb. */
struct opt_verb {
	const char *name; /* NULL ends the table */
	const char *summary; /* NULL: not listed in the help */
	int (*run)(int argc, char **argv); /* argv[0] is the verb */
};

/**
 * opt_dispatch() - run the verb named on the command line.
 * @usage: of the command that has the verbs; its help lists them.
 *
 * Without a verb the help is printed on stdout: that is how a newcomer learns
 * what to type next. An option in @usage is another spelling of the verb of that
 * name (--version).
 *
 * Return: exit status.
 */
int opt_dispatch(const struct opt_usage *usage, const struct opt_verb *verbs, int argc,
		 char **argv);

/**
 * opt_scan_common() - find -j and -p before anything else is read.
 *
 * So that even the first error on the line is reported as it was asked for.
 */
void opt_scan_common(int argc, char **argv);

#endif
