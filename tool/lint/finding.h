/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was found: the rules, findings, and the sections they are about.
 */
#ifndef LINT_FINDING_H
#define LINT_FINDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lint/conf.h"

enum lint_rule {
#define RULE(sym, id, name, sev, why, mend) RULE_##sym,
#include "lint/rules.def"
#undef RULE
	RULES
};

struct lint_rule_info {
	const char *id;
	const char *name;
	enum lint_severity severity;
	const char *why;
	const char *mend;
};

extern const struct lint_rule_info lint_rules[RULES];

/**
 * lint_rule_by_name() - a rule by its name or id, or -1.
 */
int lint_rule_by_name(const char *name);

struct outfile;

struct lint_finding {
	enum lint_rule rule;
	enum lint_severity severity;
	const char *object; /* path */
	const char *module;
	const char *function;
	uint32_t sec; /* place in the object */
	uint32_t off;
	uint32_t func_off; /* offset in the function */
	char *callee;      /* or the instruction: what the finding is about, part of its key */
	char *message;
	char *chain;  /* "root > a > b", or NULL */
	char *source; /* "file.c:12 (inlined by ...)", or NULL */
	void *lint_object;
	bool known; /* the baseline has it */
};

struct lint_findings {
	struct lint_finding *list;
	size_t n, cap;
	bool lost; /* memory ran out, and some could not be noted */
};

/**
 * lint_finding_add() - note a finding; one that is there already is not added again.
 *
 * Return: the finding, or NULL.
 */
struct lint_finding *lint_finding_add(struct lint_findings *all, const struct lint_finding *f,
                                      const char *chain, const char *fmt, ...)
        __attribute__((format(printf, 4, 5)));
void lint_findings_sort(struct lint_findings *all);
void lint_findings_free(struct lint_findings *all);

/**
 * lint_finding_key() - what names a finding across rebuilds: rule, object, function, callee.
 */
void lint_finding_key(const struct lint_finding *f, char *buf, size_t bytes);

/**
 * lint_baseline_read() - mark the findings that @path lists as known.
 * @fixed: receives how many entries no longer occur. An entry stands for one finding.
 */
bool lint_baseline_read(struct lint_findings *all, const char *path, size_t *fixed, char *why,
                        size_t why_bytes);

/**
 * lint_baseline_write() - write the keys of all findings.
 * @o: opened; it is done with either way.
 *
 * Return: false with errno set; then nothing was put in place.
 */
bool lint_baseline_write(const struct lint_findings *all, struct outfile *o);

/**
 * lint_clean() - make text from a file harmless to a terminal.
 */
void lint_clean(char *s);

#endif
