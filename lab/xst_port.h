/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's hooks in the lab: a broken promise ends the run, and a restore
 * that faults goes on at its fix-up (cpu.c searches the table).
 */
#ifndef LAB_XST_PORT_H
#define LAB_XST_PORT_H

_Noreturn void lab_assert_failed(const char *condition, const char *file, int line);

#define XST_ASSERT(cond) ((cond) ? (void)0 : lab_assert_failed(#cond, __FILE__, __LINE__))

#define XST_ASM_FIXUP(fault, resume)                                                               \
	".pushsection .extable, \"a\"\n\t.quad " fault ", " resume "\n\t.popsection\n\t"

#endif
