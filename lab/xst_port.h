/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's hooks in the lab: a broken promise ends the run, a restore that
 * faults goes on at its fix-up (cpu.c searches the table), as does a copy to or from
 * user memory that is not there (signal.c), and registers that another CPU holds are
 * fetched by an inter-processor interrupt (cpu.c).
 */
#ifndef LAB_XST_PORT_H
#define LAB_XST_PORT_H

#include <stddef.h>
#include <stdint.h>

_Noreturn void lab_assert_failed(const char *condition, const char *file, int line);

struct xst_ctx;
void lab_fetch(uint32_t home, const struct xst_ctx *ctx);

/* signal.c */
int lab_copy_to_user(void *dst, const void *src, size_t bytes);
int lab_copy_from_user(void *dst, const void *src, size_t bytes);

#define XST_COPY_TO_USER(dst, src, bytes)   lab_copy_to_user(dst, src, bytes)
#define XST_COPY_FROM_USER(dst, src, bytes) lab_copy_from_user(dst, src, bytes)

#define XST_FETCH(cpu, home, ctx) lab_fetch(home, ctx)

struct xst_cpu;
struct xst_section_report;
uint64_t lab_clock(void);
void lab_section_report(const struct xst_cpu *cpu, const struct xst_section_report *report);

/* Only the image that checks sections: with a clock there is no short path. */
#ifdef XST_CHECK_SECTIONS
#define XST_CLOCK() lab_clock()
#endif
#define XST_SECTION_REPORT(cpu, report) lab_section_report(cpu, report)

#define XST_ASSERT(cond) ((cond) ? (void)0 : lab_assert_failed(#cond, __FILE__, __LINE__))

#ifdef __x86_64__
#define LAB_ADDRESS ".quad "
#else
#define LAB_ADDRESS ".long "
#endif
#define XST_ASM_FIXUP(fault, resume)                                                               \
	".pushsection .extable, \"a\"\n\t" LAB_ADDRESS fault ", " resume "\n\t.popsection\n\t"

#endif
