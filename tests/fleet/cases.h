/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports about real systems, reduced to numbers, each a test named by its id. cases.c has the
 * table; case_*.c the tests; this the CPUs they speak of.
 */
#ifndef FLEET_CASES_H
#define FLEET_CASES_H

#include "../unit/t.h"

#include <xst/compat.h>
#include <xst/layout.h>

/* A CPU in words. */
struct cpu_spec {
	uint64_t xcr0, xss;
	/* "2:256@576 17:64@2752a 18:8192@2816ax 11:16s": id:bytes@offset, a = align64, x = XFD,
	 * s = supervisor (no offset) */
	const char *components;
	unsigned d1_eax; /* XSAVEOPT 1, XSAVEC 2, XGETBV1 4, XSAVES 8, XFD 16 */
	/* Sums as CPUID shows them; 0: what is right for xcr0 and xcr0 | xss. */
	uint32_t d0_ebx, d0_ecx, d1_ebx;
	bool raw_sums;   /* take the three as they are, 0 too */
	bool no_xsave;   /* leaf 1 hides XSAVE */
	uint32_t max_leaf; /* 0: 0dh */
};

#define FORMS_ALL 0xfu

#define INTEL_AVX512 "2:256@576 5:64@1088 6:512@1152 7:1024@1664 9:8@2688"
#define INTEL_SPR    INTEL_AVX512 " 17:64@2752a 18:8192@2816ax"
#define INTEL_MPX    "2:256@576 3:64@960 4:64@1024"
#define ZEN4	     "2:256@576 5:64@832 6:512@896 7:1024@1408 9:8@2432"
#define SUPERVISORS  " 8:128s 10:8s 11:16s 12:24s 14:48s 15:808s"

/* Read it as any dump is read; fails the test when the library refuses. */
void make_cpu(const struct cpu_spec *spec, struct xst_caps *caps);
/* The leaves themselves; returns how many. */
size_t make_leaves(const struct cpu_spec *spec, struct xst_cpuid_leaf leaves[72]);
/* Size of @mask, or 0. */
uint32_t size_of(const struct xst_caps *caps, uint64_t mask, enum xst_format format);

/* A test begins with its declaration, since only the table in cases.c calls it. */
#define CASE(id)                                                                                   \
	void id(void **state);                                                                     \
	void id(void **state)

#endif
