/* SPDX-License-Identifier: BSD-2-Clause */
/* A user with registers of its own, and sections that write all over them: what tests of kernel.h
 * start from. */
#ifndef TESTS_UNIT_SECTIONS_H
#define TESTS_UNIT_SECTIONS_H

#include <xst/kernel.h>

#include "rig.h"

#define A (&rig.task[0])
#define B (&rig.task[1])
#define CPU (&rig.cpu[0])
#define HW  (&rig.hw[0])

#define USER_FCW   0x027fu
#define USER_MXCSR 0x9fc0u

static struct rig rig;

static inline struct xst_counters *counters(void)
{
	assert_true(xst_counters_balanced(&CPU->n));
	assert_int_equal(HW->surprise, 0);
	return &CPU->n;
}

static inline uint32_t fcw(void)
{
	return HW->regs.X87[0] | (uint32_t)HW->regs.X87[1] << 8;
}

/* A runs with values of its own in every component, and enters the kernel. */
static inline void user_runs(void)
{
	rig_go(&rig, 0, A);
	rig_put(&rig, 0, XST_COMP_X87, 0x11);
	assert_int_equal(mdl_fldcw(HW, USER_FCW), 0);
	if (rig.caps.sse) {
		rig_put(&rig, 0, XST_COMP_SSE, 0x22);
		assert_int_equal(mdl_ldmxcsr(HW, USER_MXCSR), 0);
		HW->transitions = 0;
	}
	if (rig.sys.mask & XST_MASK_AVX)
		rig_put(&rig, 0, XST_COMP_AVX, 0x33);
}

/* The kernel writes all over the registers. */
static inline void section_uses(unsigned need)
{
	assert_int_equal(mdl_access(HW, XST_COMP_X87, false), 0);
	if (need & XST_NEED_X87) {
		memset(HW->regs.X87 + 32, 0x99, 10);
		mdl_wrote(HW, XST_COMP_X87);
	}
	if (rig.caps.sse) {
		memset(HW->regs.SSE, 0x99, sizeof(HW->regs.SSE));
		mdl_wrote(HW, XST_COMP_SSE);
	}
	if (need & XST_NEED_MXCSR)
		HW->mxcsr |= 0x20;
}

static inline void user_is_whole(void)
{
	assert_int_equal(rig_see(&rig, 0, XST_COMP_X87), 0x11);
	assert_int_equal(fcw(), USER_FCW);
	if (rig.caps.sse) {
		assert_int_equal(rig_see(&rig, 0, XST_COMP_SSE), 0x22);
		assert_int_equal(HW->mxcsr, USER_MXCSR);
	}
	if (rig.sys.mask & XST_MASK_AVX)
		assert_int_equal(rig_see(&rig, 0, XST_COMP_AVX), 0x33);
}

static inline void section(unsigned need)
{
	assert_int_equal(xst_kernel_begin(CPU, need), XST_OK);
	section_uses(need);
	xst_kernel_end(CPU);
}

static struct xst_section_report seen;
static unsigned reports;

static inline void on_misuse(const struct xst_cpu *cpu, const struct xst_section_report *report)
{
	(void)cpu;
	seen = *report;
	reports++;
}

static inline bool lies_in(const void *address, int (*function)(void))
{
	return (uintptr_t)address - (uintptr_t)function < 1024;
}

#endif
