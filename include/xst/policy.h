/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A switching policy is data: a point in a small space, not a code path.
 *
 * The named points are those that kernels in the field have used; any other may be composed.
 */
#ifndef XST_POLICY_H
#define XST_POLICY_H

#include <stddef.h>

#include <xst/status.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum xst_save {
	XST_SAVE_SWITCH_OUT, /* when the task leaves the CPU with its registers in place */
	XST_SAVE_DISPLACED,  /* only when another owner takes the registers */
};

enum xst_load {
	XST_LOAD_SWITCH_IN, /* when the task gets the CPU */
	XST_LOAD_RETURN,    /* when it returns to user mode */
	XST_LOAD_FIRST_USE, /* when it touches a register: CR0.TS and #NM */
};

struct xst_policy {
	const char *name;
	enum xst_save save;
	enum xst_load load;
	bool keep_owner; /* no load (and TS clear) when this CPU's registers still are the task's */
	/*
	 * First use only: load at switch-in once a task used the registers in MORE THAN this many
	 * slots in a row; 0 = never. Use cannot be seen while preloading, so at the latest after 255
	 * blind slots one slot is entered with TS set as a probe; an unused probe resets the count.
	 */
	uint8_t preload_after;
	/*
	 * Elide a save or load whose result is known to be INIT. Takes effect where the CPU has
	 * XGETBV with ECX = 1 and an XSAVE form is in use; elsewhere nothing is elided.
	 */
	bool skip_init;
};

/* How many named policies there are; xst_policy_at() takes 0 .. XST_POLICY_COUNT - 1. */
#define XST_POLICY_COUNT 8u

/**
 * xst_policy_at() - the named policies in the order of the documentation.
 *
 * Context: any ring; never faults.
 * Return:  a static policy, or NULL when @index is not below XST_POLICY_COUNT.
 */
const struct xst_policy *xst_policy_at(unsigned index);

/**
 * xst_policy_by_name() - find a named policy.
 *
 * Context: any ring; never faults.
 * Return:  a static policy, or NULL when no policy has this name.
 */
const struct xst_policy *xst_policy_by_name(const char *name);

/**
 * xst_policy_parse() - a policy by its name or by its fields.
 * @text:   a name, or fields in any order separated by commas:
 *          save=out|displaced, load=in|return|use, keep, preload=N, skip-init.
 *          Fields not given: save=out, load=in, nothing kept, no preload.
 * @policy: out; its name is @text itself, which must outlive it. Untouched on error.
 * @diag:   out, optional; offset is the character where reading stopped.
 *
 * Context: any ring; never faults.
 * Return:  XST_OK, or XST_ERR_INVALID with the rule that was broken.
 */
int xst_policy_parse(const char *text, struct xst_policy *policy, struct xst_diag *diag);

/**
 * xst_policy_item() - the first policy of a list, for xst_policy_parse().
 * @list:   policies separated by commas, names or fields. Fields beside each other are one policy:
 *          "eager,load=use,keep,lazy" are three. Where two composed ones meet, a semicolon parts them.
 * @length: out; how many characters of @list are the first policy.
 *
 * Context: any ring; never faults.
 * Return:  where the rest of the list begins; NULL when this was the last.
 */
const char *xst_policy_item(const char *list, size_t *length);

/**
 * xst_policy_check() - do the fields of a policy make sense together?
 *
 * Context: any ring; never faults.
 * Return:  XST_OK, or XST_ERR_INVALID.
 */
int xst_policy_check(const struct xst_policy *policy, struct xst_diag *diag);

/**
 * xst_policy_leaky() - can user mode be entered with another task's registers live behind CR0.TS?
 *
 * On affected CPUs (xst_caps_leaky()) they can then be read speculatively.
 *
 * Context: any ring; never faults.
 * Ref:     CVE-2018-3665
 */
static inline bool xst_policy_leaky(const struct xst_policy *policy)
{
	return policy->load == XST_LOAD_FIRST_USE;
}

#ifdef __cplusplus
}
#endif
#endif
