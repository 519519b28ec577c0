/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol a kernel has around its FP code: which calls begin and end a section, who
 * owns the registers anyway, what may sleep. Profiles are such files built in; a
 * xstate-lint.conf adds to one.
 */
#ifndef LINT_CONF_H
#define LINT_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lint_object;

enum lint_role_kind {
	ROLE_NONE,
	ROLE_BEGIN,
	ROLE_END,
	ROLE_SLEEP, /* may sleep */
	ROLE_NORETURN,
	ROLE_RETURN,   /* jumping there is returning */
	ROLE_INDIRECT, /* calling it is calling through a pointer */
	ROLE_NOTHING,  /* has no effect on anything we follow */
	ROLE_OWNER,    /* the registers are its own to use */
	ROLE_POINTER,  /* called through pointers only, and only inside sections */
	ROLE_FORBID,   /* nothing it reaches may use FP, sections or not */
	ROLE_BEGINS,   /* returns inside a section */
	ROLE_ENDS,     /* ends its caller's section */
	ROLE_STATE,    /* an object, not a function: it may manage the state */
	ROLE_FOREIGN,  /* not 64-bit code: boot code, data in the text */
	ROLE_KINDS,
};

struct lint_pair {
	char *begin, *end;
	int mask_arg;  /* argument that declares the mask, or -1 */
	uint32_t mask; /* else the mask itself */
	bool nestable;
};

struct lint_role {
	enum lint_role_kind kind;
	char *name;     /* may hold wildcards */
	uint32_t pair;  /* index, of BEGIN and END */
	int gfp_arg;    /* of SLEEP: argument with allocation flags, or -1 */
	char *reason;   /* why an annotation holds; shown when it was applied */
	char *object;   /* where it holds: patterns with commas, or "kernel"; NULL: everywhere */
	uint32_t rank;  /* of several that fit, the highest counts */
	bool from_file; /* not of a built-in profile */
	bool matched;   /* some function has this name */
	unsigned used;
};

enum lint_severity { SEV_OFF, SEV_NOTE, SEV_WARNING, SEV_ERROR };

#define LINT_RULES_MAX 32

struct lint_conf {
	char profile[32];
	struct lint_pair *pair;
	size_t npair;
	struct lint_role *role; /* plain names, sorted; then those with wildcards, by rank */
	size_t nrole, nplain;
	bool in_profile;                  /* what is being read is a built-in profile */
	bool profile_given;               /* on the command line: a file's choice does not count */
	bool forbidden;                   /* any FP instruction is an error */
	bool inline_sections;             /* XSAVE begins and XRSTOR ends a section */
	uint32_t gfp_sleep;               /* bits of allocation flags that allow sleeping */
	uint32_t mask_known;              /* needs a mask of this protocol can declare */
	uint8_t severity[LINT_RULES_MAX]; /* enum lint_severity + 1; 0: as built in */
};

struct lint_conf *lint_conf_new(void);
void lint_conf_free(struct lint_conf *conf);

/**
 * lint_conf_profile() - add a built-in profile.
 *
 * Return: false with a sentence in @why.
 */
bool lint_conf_profile(struct lint_conf *conf, const char *name, char *why, size_t why_bytes);

/**
 * lint_conf_text() - add configuration text.
 * @from: what it is called in messages.
 */
bool lint_conf_text(struct lint_conf *conf, const char *text, const char *from, char *why,
                    size_t why_bytes);
bool lint_conf_file(struct lint_conf *conf, const char *path, char *why, size_t why_bytes);

/**
 * lint_conf_settle() - no more will be added.
 */
void lint_conf_settle(struct lint_conf *conf);

/**
 * lint_conf_role() - what a function is to the protocol, or NULL.
 * @obj: where it is defined; NULL: not known, then only facts that hold everywhere count.
 *
 * Suffixes that compilers add (.isra.0, .part.1, .constprop.0, .cold) do not matter.
 */
struct lint_role *lint_conf_role(struct lint_conf *conf, const char *name,
                                 const struct lint_object *obj);

/**
 * lint_conf_has() - whether there is any fact of a kind.
 */
bool lint_conf_has(const struct lint_conf *conf, enum lint_role_kind kind);

/**
 * lint_conf_object() - whether an object may hold instructions that manage the state.
 */
bool lint_conf_object(struct lint_conf *conf, const char *module);

/**
 * lint_conf_profile_text() - a built-in profile as text, or NULL.
 */
const char *lint_conf_profile_text(const char *name);

/**
 * lint_role_idle() - whether an annotation of the user's fits nothing.
 */
static inline bool lint_role_idle(const struct lint_role *r)
{
	return r->from_file && !r->matched && r->reason[0];
}

#endif
