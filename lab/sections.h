/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lab kernel's own use of extended registers: sections of every need, from task and interrupt
 * context, each looked at from outside: were declared values there, was anything loaded for nothing?
 */
#ifndef LAB_SECTIONS_H
#define LAB_SECTIONS_H

#include <xst/kernel.h>
#include "lab.h"

struct section_totals {
	uint64_t done;            /* sections that ran */
	uint64_t refused;         /* not usable: inside another one, or in an NMI */
	uint64_t wrong_values;    /* a declared control word was not the initial one */
	uint64_t unneeded;        /* FNINIT or LDMXCSR ran though the values were in place */
	uint64_t not_loaded;      /* the other way round, by the counters */
	uint64_t saved_twice;     /* a save in a stay that had one */
	uint64_t reported;        /* misuses the library reported */
	uint64_t irqs_in_section, irqs_after_restore, nmis, nmis_in_section;
};

extern struct section_totals section_totals[LAB_MAX_CPUS];
void sections_sum(struct section_totals *sum);

/* One section with @need, if one may begin. @inside, if any, runs in it. */
void section_run(struct cpu *cpu, enum xst_context where, unsigned need,
		 void (*inside)(void *argument), void *argument);
/* One in four times, with any need. */
void sections_at_random(struct cpu *cpu, enum xst_context where);
/* Let an interrupt in that has a section of its own. */
void sections_interrupt_me(struct cpu *cpu);
void sections_on_interrupt(struct cpu *cpu, bool from_user);
void sections_on_nmi(struct cpu *cpu);
/* The engine validated or cleared the registers, or the CPU was off. */
void sections_report(void);
const char *sections_verdict(void);

/* ---- simd.S: the kernel's instructions ---- */
void simd_scribble(uint32_t features); /* FEATURE_*: values of nobody in all vector registers */
void simd_inexact(void);               /* sets a flag in MXCSR */
void simd_x87(void);                   /* sets a flag in FSW, leaves contents behind */
uint32_t simd_tags(void);              /* the x87 tag word */
#ifdef __x86_64__
typedef void xor_fn(void *to, const void *const from[4], unsigned sources, unsigned long bytes);
xor_fn xor_avx, xor_sse_prefetch, xor_sse;
#endif

#endif
