/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A software CPU: the x87, SSE and XSAVE machine as plain C, in 64-bit mode.
 *
 * It holds what an extended-state bug can be about: the registers of every component, what the
 * processor tracks about them (XINUSE, XMODIFIED, XRSTOR_INFO), the control bits that make an access
 * trap, and the save and restore instructions with their faults. It executes no code; tests, the
 * explorer and the simulator call one function per instruction.
 *
 * The sources build in two sizes from the same text. By default a component is all its bytes. With
 * MDL_TOKENS a component is one byte, a token that stands for a value (0: the initial one), so that
 * a CPU is a few dozen bytes and an instruction a few nanoseconds; masks, headers, offsets, tracking
 * and faults are the same code.
 *
 * Where the manual leaves freedom the model asks mdl_choose() instead of deciding.
 *
 * Ref: SDM vol. 1, "Managing State Using the XSAVE Feature Set"
 */
#ifndef MDL_H
#define MDL_H

#include <xst/layout.h>
#include <xst/system.h>

/* What an instruction raised; 0: nothing. */
enum mdl_vector { MDL_OK = 0, MDL_UD = 6, MDL_NM = 7, MDL_GP = 13 };

#define MDL_CR0_MP     (1u << 1)
#define MDL_CR0_EM     (1u << 2)
#define MDL_CR0_TS     (1u << 3)
#define MDL_CR4_OSFXSR (1u << 9)
#define MDL_CR4_OSXSAVE (1u << 18)
#define MDL_CR4_PKE    (1u << 22)

#define MDL_MXCSR_INIT 0x1f80u
#define MDL_FCW_INIT   0x037fu

/* The registers, in the byte order of an image. x87: bytes 0-159 of the legacy region, of which
 * 24-31 (MXCSR's place) are unused. SSE: the XMM registers; MXCSR stands apart. */
struct mdl_regs {
#ifdef MDL_TOKENS
#define XST_COMP(id, SYM, text, kind, ts, bytes, alt, ...) uint8_t SYM[1];
#else
#define XST_COMP(id, SYM, text, kind, ts, bytes, alt, ...)                                         \
	uint8_t SYM[(bytes) > (alt) ? (bytes) : (alt)];
#endif
#include <xst/comp.def>
};

/* What XRSTOR and XRSTORS remember for the modified optimisation.
 * Ref: SDM vol. 1, "Processor Tracking of XSAVE-Managed State" */
struct mdl_xrstor_info {
	uintptr_t area; /* linear address; 0: none */
	uint64_t xcomp_bv;
	uint8_t cpl;
	bool nonroot;
};

/* When FOP, FIP and FDP travel. Ref: AMD64 APM vol. 2, "FXSAVE and FXRSTOR Instructions" */
enum mdl_fip {
	MDL_FIP_ALWAYS, /* Intel: always saved and loaded */
	MDL_FIP_ZERO,   /* AMD with RstrFpErrPtrs: saved as zeros unless an exception is pending */
	MDL_FIP_LEAK,   /* AMD before: neither saved nor loaded unless an exception is pending */
};

/* Answers to what the manual leaves open: bit n answers the n-th question that is asked. Questions
 * about other components than @about, and other freedoms, are answered as without choices. */
struct mdl_choices {
	uint64_t about;
	uint32_t bits;
	uint8_t asked;
	bool about_skips; /* ask whether to skip, too */
};

struct mdl_cpu {
	const struct xst_caps *caps; /* what it enumerates and is */
	uint32_t cr0, cr4;
	uint64_t xcr0, xss, xfd, xfd_err;
	uint8_t cpl;  /* of the code that executes the save and restore instructions */
	bool nonroot; /* VMX non-root operation */
	uint8_t fip;  /* enum mdl_fip */
	bool mxcsr_counts; /* XINUSE[1] is 1 with another MXCSR than 1F80H, too: AMD's Zen 5 */
	uint32_t mxcsr;
	uint64_t xinuse;
	uint64_t always_in_use; /* whatever is in them: below some hypervisors */
	uint64_t xmodified;
	struct mdl_xrstor_info info;
	struct mdl_choices *choices; /* NULL: take the answers mdl_choose() documents */
	uint64_t saves, loads;       /* instructions executed without a fault */
	uint64_t xfd_writes;
	uint64_t guest_writes;       /* of the other registers that are switched for guests */
	uint64_t skipped;            /* components a save did not write thanks to XMODIFIED */
#ifndef MDL_TOKENS
	uint64_t read_bytes, written_bytes; /* of memory, from FXSAVE on */
#endif
	uint64_t transitions;        /* legacy SSE instructions over upper halves in use */
	int surprise;                /* first vector raised where the world contract allows none */

	/* Defects of emulators and hypervisors, for tests. */
	uint32_t misplace;      /* compacted saves write components 2.. this many bytes too low */
	uint32_t sum_standard;  /* what CPUID claims instead of the truth; 0: the truth */
	uint32_t sum_compacted;

	struct xst_layout layout; /* the last compacted one used */
	struct mdl_regs regs;
};

/* Freedoms of the manual. */
enum mdl_freedom {
	MDL_INIT_IN_USE, /* an INIT component may be tracked as in use; without choices: no */
	MDL_SKIP,        /* an unmodified component need not be written; without choices: skip */
	MDL_FAULT_CHANGES, /* a restore that faults may have changed registers; without choices: no */
};

/**
 * mdl_caps_make() - describe a CPU with Intel's standard offsets.
 * @xcr0, @xss: components it supports.
 * @insn: the newest save instruction it has.
 */
void mdl_caps_make(struct xst_caps *caps, uint64_t xcr0, uint64_t xss, enum xst_insn insn);

/**
 * mdl_reset() - power on: registers INIT, CR0.EM, MP and TS clear, XCR0 = 1, nothing enabled.
 * @caps: must live as long as the CPU.
 */
void mdl_reset(struct mdl_cpu *c, const struct xst_caps *caps);

/* XSETBV(0). Return: MDL_GP where the manual says so. */
int mdl_xsetbv(struct mdl_cpu *c, uint64_t xcr0);
/* WRMSR of IA32_XSS. */
int mdl_wrmsr_xss(struct mdl_cpu *c, uint64_t xss);
/* RDMSR and WRMSR of PL0_SSP, PL1_SSP and PL2_SSP: the registers of CET_S, whether XSAVES has it or
 * not. With MDL_TOKENS one byte stands for all three. */
int mdl_rdmsr_ssp(struct mdl_cpu *c, unsigned n, uint64_t *ssp);
int mdl_wrmsr_ssp(struct mdl_cpu *c, unsigned n, uint64_t ssp);
uint64_t mdl_in_use(const struct mdl_cpu *c); /* XINUSE */
/* XGETBV(1): XCR0 & XINUSE. */
uint64_t mdl_xgetbv1(const struct mdl_cpu *c);
/* What CPUID leaf 0DH sums up for XCR0 and IA32_XSS in force. */
void mdl_sums(const struct mdl_cpu *c, uint32_t *standard, uint32_t *compacted);

/**
 * mdl_save() - FNSAVE, FXSAVE, XSAVE, XSAVEOPT, XSAVEC or XSAVES.
 * @mask: EDX:EAX; unused by the first two.
 * Return: the vector, 0 when it executed.
 */
int mdl_save(struct mdl_cpu *c, enum xst_insn insn, void *area, uint64_t mask);

/**
 * mdl_load() - the restore of that family: FRSTOR, FXRSTOR, XRSTOR or XRSTORS.
 */
int mdl_load(struct mdl_cpu *c, enum xst_insn insn, const void *area, uint64_t mask);

/* The bytes of component @i. */
uint8_t *mdl_reg(struct mdl_cpu *c, unsigned i);
uint32_t mdl_reg_bytes(const struct mdl_cpu *c, unsigned i);
bool mdl_is_init(struct mdl_cpu *c, unsigned i);
/* Give component @i its initial value; XINUSE as mdl_choose() says. */
void mdl_init(struct mdl_cpu *c, unsigned i);
/* The registers of @i were just written by an instruction. */
void mdl_wrote(struct mdl_cpu *c, unsigned i);

/**
 * mdl_access() - would an instruction that uses component @i execute?
 * @vex: it has a VEX or EVEX prefix (CR0.EM does not matter then).
 * Return: 0, MDL_NM (TS, EM for x87, or XFD: then xfd_err names @i), or MDL_UD (not enabled).
 * Ref:   SDM vol. 3, "Effects of CR0.EM, MP and TS"; SDM vol. 1, "Extended Feature Disable (XFD)"
 */
int mdl_access(struct mdl_cpu *c, unsigned i, bool vex);

#ifdef MDL_TOKENS
#define MDL_TOKEN_FNINIT 13u /* FNINIT's values over contents that it leaves */
#endif
int mdl_fninit(struct mdl_cpu *c);
int mdl_ldmxcsr(struct mdl_cpu *c, uint32_t mxcsr);
int mdl_vldmxcsr(struct mdl_cpu *c, uint32_t mxcsr);
int mdl_vzeroupper(struct mdl_cpu *c);
int mdl_tilerelease(struct mdl_cpu *c);

/* FNCLEX; EMMS; FILD of kernel memory: FOP, FIP and FDP are the kernel's afterwards (zeros here). */
int mdl_scrub_fip(struct mdl_cpu *c);

#ifndef MDL_TOKENS
/* Instructions of user programmes; each returns its vector. */
int mdl_fnclex(struct mdl_cpu *c);
int mdl_fldcw(struct mdl_cpu *c, uint16_t fcw);
int mdl_fld(struct mdl_cpu *c, const uint8_t value[10]); /* FLD m80 */
int mdl_emms(struct mdl_cpu *c);
int mdl_fldenv(struct mdl_cpu *c, const uint32_t env[7]);
int mdl_fnstenv(struct mdl_cpu *c, uint32_t env[7]);
int mdl_movdqu(struct mdl_cpu *c, unsigned xmm, const uint8_t value[16]);  /* XMM0-15, no VEX */
int mdl_vmovdqu(struct mdl_cpu *c, unsigned ymm, const uint8_t value[32]); /* YMM0-15 */
int mdl_vmovdqu64(struct mdl_cpu *c, unsigned zmm, const uint8_t value[64]); /* ZMM0-31 */
int mdl_kmovq(struct mdl_cpu *c, unsigned k, uint64_t value);
int mdl_vzeroall(struct mdl_cpu *c);
#endif

static inline bool mdl_choose(struct mdl_cpu *c, enum mdl_freedom what, unsigned i)
{
	struct mdl_choices *q = c->choices;

	if (!q || !(q->about & XST_MASK(i)) || (what == MDL_SKIP && !q->about_skips) || q->asked >= 32)
		return what == MDL_SKIP;
	return (q->bits >> q->asked++) & 1u;
}

#endif
