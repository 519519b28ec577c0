/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the library says no: one code for programs, one struct for people.
 *
 * A code alone is not a diagnosis, so every function that judges input also fills an optional
 * struct xst_diag with the component, the place, and both values.
 */
#ifndef XST_STATUS_H
#define XST_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 0 is success; errors are negative; a positive return is a result. */
enum xst_status {
	XST_OK = 0,
	XST_ERR_UNSUPPORTED = -1,    /* this CPU or this world cannot do it */
	XST_ERR_NOT_ENUMERATED = -2, /* a component that the CPU does not list */
	XST_ERR_ILLEGAL_MASK = -3,   /* XSETBV (or WRMSR IA32_XSS) would raise #GP */
	XST_ERR_OVERLAP = -4,        /* two components claim the same bytes */
	XST_ERR_NEED_BYTES = -5,     /* the caller's memory is too small; want = bytes needed */
	XST_ERR_ALIGN = -6,          /* the area is not 64-byte aligned */
	XST_ERR_INVALID = -7,        /* malformed input or argument */
	XST_ERR_LEAKY = -8,          /* the policy leaks speculatively on this CPU; needs XST_FORCE */
	XST_ERR_NOT_OURS = -9,       /* an exception the engine did not arm */
	XST_ERR_MISMATCH = -10,      /* two sources disagree (CPUs, sums, self-test) */
	XST_ERR_FAULT = -11,         /* the restore would fault, or did */
	XST_ERR_LIVE = -12,          /* live state would be lost */
	XST_ERR_NESTED = -13,        /* a section inside a section */
	XST_ERR_NOT_UP = -14,        /* this CPU has not been brought up for it */
	XST_ERR_DYNAMIC = -15,       /* #NM: a dynamic component was used; xst_ctx_grow() */
	XST_ERR_DENIED = -16,        /* the process has no permission for it */
	XST_ERR_LOCKED = -17,        /* the guest permission is locked: a vCPU exists */
	XST_ERR_GUEST_ONLY = -18,    /* a host's state names a component that only guests have */
};

/* What a diagnosis is about when no component is. */
#define XST_DIAG_NO_COMPONENT 0xffu

struct xst_diag {
	int code;           /* enum xst_status */
	uint32_t component; /* bit position, or XST_DIAG_NO_COMPONENT */
	uint32_t offset;    /* byte in the image, or CPUID leaf << 8 | sub-leaf, as the rule says */
	uint64_t want, got; /* both values */
	const char *rule;   /* the rule that was broken, in words; static storage */
};

/**
 * xst_diag_set() - fill a diagnosis if the caller wants one, and return its code.
 *
 * Context: any ring; never faults.
 * Return:  @code.
 */
static inline int xst_diag_set(struct xst_diag *diag, int code, uint32_t component,
			       uint32_t offset, uint64_t want, uint64_t got, const char *rule)
{
	if (diag) {
		diag->code = code;
		diag->component = component;
		diag->offset = offset;
		diag->want = want;
		diag->got = got;
		diag->rule = rule;
	}
	return code;
}

/**
 * xst_strerror() - a status code in words.
 *
 * Context: any ring; never faults.
 * Return:  a static string, never NULL; "unknown status" for a number that is none of ours.
 */
const char *xst_strerror(int code);

#ifdef __cplusplus
}
#endif
#endif
