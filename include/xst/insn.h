/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One static inline function per instruction that the extended state needs, 64- and 32-bit.
 *
 * The only C of the library that executes special instructions. Rules:
 *  - XSAVE-family stores carry a "memory" clobber: the optimised forms leave bytes alone and read
 *    the header, so no plain output operand tells the truth about them.
 *  - 64-bit code uses the REX.W forms, which keep 64-bit FIP and FDP.
 *  - Assemblers older than an instruction get its bytes, with the mnemonic beside them.
 *
 * Context of each: as the manual says; "ring 0" is noted where it is privileged. The *_at and *_try
 * forms return the vector of a fault that the port's XST_ASM_FIXUP() caught, or 0.
 *
 * Ref: SDM vol. 2; AMD64 APM vol. 3-5
 */
#ifndef XST_INSN_H
#define XST_INSN_H

#include <stdbool.h>
#include <stdint.h>

#include <xst/port.h>

#ifdef __x86_64__
#define XST_REXW "64"
#else
#define XST_REXW ""
#endif

/* CPUID; any ring. Exits to the hypervisor in a guest: never time with it. */
static inline void xst_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t *a, uint32_t *b, uint32_t *c,
			     uint32_t *d)
{
	__asm__ volatile("cpuid"
			 : "=a"(*a), "=b"(*b), "=c"(*c), "=d"(*d)
			 : "a"(leaf), "c"(subleaf));
}

/* Is there a CPUID instruction: can EFLAGS.ID be changed? Any ring. */
static inline bool xst_has_cpuid(void)
{
#ifdef __x86_64__
	return true;
#else
	uint32_t before, after;

	__asm__ volatile("pushfl\n\tpushfl\n\txorl $0x200000, (%%esp)\n\tpopfl\n\t"
			 "pushfl\n\tpopl %0\n\tpopl %1\n\tpushl %1\n\tpopfl"
			 : "=&r"(after), "=&r"(before)
			 :
			 : "memory", "cc");
	return ((before ^ after) & 0x200000u) != 0;
#endif
}

/* The upper halves of RAX and RDX are cleared, so whole registers can be taken. */
static inline uint64_t xst_xgetbv(uint32_t index)
{
	unsigned long lo, hi;

	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(index));
	return (uint64_t)hi << 32 | lo;
}

/* Ring 0. #GP when the value breaks a rule: xst_xcr0_check() first. */
static inline void xst_xsetbv(uint32_t index, uint64_t value)
{
	__asm__ volatile("xsetbv"
			 :
			 : "a"((uint32_t)value), "d"((uint32_t)(value >> 32)), "c"(index)
			 : "memory");
}

/* Ring 0. */
static inline uint64_t xst_rdmsr(uint32_t msr)
{
	uint32_t lo, hi;

	__asm__ volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr));
	return (uint64_t)hi << 32 | lo;
}

/* Ring 0. */
static inline void xst_wrmsr(uint32_t msr, uint64_t value)
{
	__asm__ volatile("wrmsr"
			 :
			 : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
			 : "memory");
}

#define XST_MSR_XFD     0x1c4u
#define XST_MSR_XFD_ERR 0x1c5u
#define XST_MSR_XSS     0xda0u
#define XST_MSR_PL_SSP  0x6a4u /* PL0_SSP, and PL1_SSP and PL2_SSP behind it */

/* Ring 0. */
static inline unsigned long xst_read_cr0(void)
{
	unsigned long v;

	__asm__ volatile("mov %%cr0, %0" : "=r"(v));
	return v;
}

/* Ring 0. */
static inline void xst_write_cr0(unsigned long v)
{
	__asm__ volatile("mov %0, %%cr0" : : "r"(v) : "memory");
}

/* Ring 0. #UD on CPUs without CR4 (before the late 486). */
static inline unsigned long xst_read_cr4(void)
{
	unsigned long v;

	__asm__ volatile("mov %%cr4, %0" : "=r"(v));
	return v;
}

/* Ring 0. */
static inline void xst_write_cr4(unsigned long v)
{
	__asm__ volatile("mov %0, %%cr4" : : "r"(v) : "memory");
}

#define XST_CR0_MP (1ul << 1)
#define XST_CR0_EM (1ul << 2)
#define XST_CR0_TS (1ul << 3)
#define XST_CR0_NE (1ul << 5)

#define XST_CR4_OSFXSR     (1ul << 9)
#define XST_CR4_OSXMMEXCPT (1ul << 10)
#define XST_CR4_OSXSAVE    (1ul << 18)
#define XST_CR4_PKE        (1ul << 22)
#define XST_CR4_CET        (1ul << 23)

/* Ring 0: clear CR0.TS. */
static inline void xst_clts(void)
{
	__asm__ volatile("clts" : : : "memory");
}

/* RDPKRU and WRPKRU; any ring, #UD unless CR4.PKE. CR0.TS does not guard them. */
static inline uint32_t xst_rdpkru(void)
{
	uint32_t pkru, edx;

	__asm__ volatile(".byte 0x0f,0x01,0xee" /* rdpkru */ : "=a"(pkru), "=d"(edx) : "c"(0));
	return pkru;
}

static inline void xst_wrpkru(uint32_t pkru)
{
	__asm__ volatile(".byte 0x0f,0x01,0xef" /* wrpkru */
			 :
			 : "a"(pkru), "c"(0), "d"(0)
			 : "memory");
}

/* x87. */
static inline void xst_fninit(void)
{
	__asm__ volatile("fninit" : : : "memory");
}

static inline void xst_fnclex(void)
{
	__asm__ volatile("fnclex" : : : "memory");
}

static inline void xst_fldcw(const uint16_t *cw)
{
	__asm__ volatile("fldcw %0" : : "m"(*cw));
}

static inline void xst_fnstcw(uint16_t *cw)
{
	__asm__ volatile("fnstcw %0" : "=m"(*cw));
}

static inline void xst_fnstsw(uint16_t *sw)
{
	__asm__ volatile("fnstsw %0" : "=m"(*sw));
}

/* MXCSR. #UD unless CR4.OSFXSR; LDMXCSR #GP on bits outside MXCSR_MASK. */
static inline void xst_ldmxcsr(const uint32_t *v)
{
	__asm__ volatile("ldmxcsr %0" : : "m"(*v));
}

static inline void xst_stmxcsr(uint32_t *v)
{
	__asm__ volatile("stmxcsr %0" : "=m"(*v));
}

/* The form with a VEX prefix: no transition from AVX code. #UD without AVX in XCR0. */
static inline void xst_vldmxcsr(const uint32_t *v)
{
	__asm__ volatile("vldmxcsr %0" : : "m"(*v));
}

/* Upper halves of the vector registers to INIT. #UD without AVX in XCR0. */
static inline void xst_vzeroupper(void)
{
	__asm__ volatile("vzeroupper" : : : "memory");
}

/* All tiles and their configuration to INIT. #UD without AMX in XCR0; 64-bit mode only. */
static inline void xst_tilerelease(void)
{
#ifdef __x86_64__
	__asm__ volatile(".byte 0xc4,0xe2,0x78,0x49,0xc0" /* tilerelease */ : : : "memory");
#endif
}

/* The 28-byte form: control, status and tag word, each in four bytes, then the pointers. FNSTENV
 * masks all exceptions; FLDENV reports one that is pending. */
static inline void xst_fnstenv(uint32_t env[7])
{
	__asm__ volatile("fnstenv %0" : "=m"(*(uint32_t(*)[7])env));
}

static inline void xst_fldenv(const uint32_t env[7])
{
	__asm__ volatile("fldenv %0" : : "m"(*(const uint32_t(*)[7])(const void *)env));
}

/*
 * Put the kernel's own values into FOP, FIP and FDP: AMD and Hygon CPUs without RstrFpErrPtrs do not
 * load them when no exception is pending, so the task before would show. Clears pending exceptions
 * first (they would be reported here) and frees a register for the load.
 * Ref: AMD64 APM vol. 2, "FXSAVE and FXRSTOR Instructions"
 */
static inline void xst_scrub_fip(void)
{
	static const uint32_t one = 1;

	__asm__ volatile("fnclex\n\temms\n\tfildl %0" : : "m"(one) : "memory");
}

/* FNSAVE writes 108 bytes (32-bit protected format) and then does FNINIT. */
static inline void xst_fnsave(void *area)
{
	__asm__ volatile("fnsave (%0)" : : "r"(area) : "memory");
}

/* FXSAVE writes 512 bytes (464 by hardware) at a 16-byte boundary. */
static inline void xst_fxsave(void *area)
{
	__asm__ volatile("fxsave" XST_REXW " (%0)" : : "r"(area) : "memory");
}

#define XST_INSN_SAVE(name)                                                                        \
	static inline void xst_##name(void *area, uint64_t rfbm)                                   \
	{                                                                                          \
		__asm__ volatile(#name XST_REXW " (%0)"                                            \
				 :                                                                 \
				 : "r"(area), "a"((uint32_t)rfbm), "d"((uint32_t)(rfbm >> 32))     \
				 : "memory");                                                      \
	}
/* #NM under CR0.TS, #GP unless 64-byte aligned. XSAVES: ring 0. */
XST_INSN_SAVE(xsave)
XST_INSN_SAVE(xsaveopt)
XST_INSN_SAVE(xsavec)
XST_INSN_SAVE(xsaves)
#undef XST_INSN_SAVE

/*
 * The restores read memory that a user or a guest may have written, so they may fault. 0, or the
 * vector, which is in *@at too: the way from a fault is a jump out of the instruction's fix-up, so
 * nothing is asked where nothing happened. Without a fix-up a fault is the kernel's.
 */
#if XST_HAS_FIXUP
#define XST_INSN_RESTORE(text, ...)                                                                \
	__asm__ goto("1:\t" text " (%1)\n" XST_ASM_FIXUP("1b", "2f") "\t.subsection 1\n"             \
		     "2:\tmovb %%cl, %0\n\tjmp %l[faulted]\n\t.previous"                          \
		     :                                                                             \
		     : "m"(*at), "r"(area)__VA_ARGS__                                              \
		     : "memory", "cx"                                                              \
		     : faulted);                                                                   \
	return 0;                                                                                  \
faulted:                                                                                           \
	if (!*at)                                                                                  \
		__builtin_unreachable();                                                           \
	return *at
#else
#define XST_INSN_RESTORE(text, ...)                                                                \
	(void)at;                                                                                  \
	__asm__ volatile(text " (%0)" : : "r"(area)__VA_ARGS__ : "memory");                        \
	return 0
#endif
#define XST_RFBM , "a"((uint32_t)rfbm), "d"((uint32_t)(rfbm >> 32))

static inline int xst_xrstor_at(const void *area, uint64_t rfbm, uint8_t *at)
{
	XST_INSN_RESTORE("xrstor" XST_REXW, XST_RFBM);
}

/* Ring 0. */
static inline int xst_xrstors_at(const void *area, uint64_t rfbm, uint8_t *at)
{
	XST_INSN_RESTORE("xrstors" XST_REXW, XST_RFBM);
}

static inline int xst_fxrstor_at(const void *area, uint8_t *at)
{
	XST_INSN_RESTORE("fxrstor" XST_REXW, );
}

static inline int xst_frstor_at(const void *area, uint8_t *at)
{
	XST_INSN_RESTORE("frstor", );
}
#undef XST_INSN_RESTORE
#undef XST_RFBM

/* The same for whom the vector is enough. */
static inline int xst_xrstor_try(const void *area, uint64_t rfbm)
{
	uint8_t at = 0;

	return xst_xrstor_at(area, rfbm, &at);
}

static inline int xst_xrstors_try(const void *area, uint64_t rfbm)
{
	uint8_t at = 0;

	return xst_xrstors_at(area, rfbm, &at);
}

static inline int xst_fxrstor_try(const void *area)
{
	uint8_t at = 0;

	return xst_fxrstor_at(area, &at);
}

#endif
