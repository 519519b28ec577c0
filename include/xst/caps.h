/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one CPU has: its CPUID, read once, judged, and kept as plain data.
 *
 * The source is the CPU we run on or any table of leaves (a dump of another machine), so every
 * function above this one works for both.
 */
#ifndef XST_CAPS_H
#define XST_CAPS_H

#include <stddef.h>
#include <stdint.h>

#include <xst/comp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One CPUID answer. */
struct xst_cpuid_leaf {
	uint32_t leaf, subleaf;
	uint32_t eax, ebx, ecx, edx;
};

/* What leaf 0DH says about one component; all zero when it says nothing. */
struct xst_comp_caps {
	uint32_t bytes;  /* EAX */
	uint32_t offset; /* EBX: standard format; 0 for supervisor components */
	bool supervisor; /* ECX[0] */
	bool align64;    /* ECX[1] */
	bool xfd;        /* ECX[2] */
};

/* Things found odd while reading, so that nobody has to guess twice (a bit each). */
enum xst_caveat {
	XST_CAVEAT_XSAVE_WITHOUT_LEAF = 1u << 0,  /* XSAVE flag, but leaf 0DH is above the maximum */
	XST_CAVEAT_EMPTY_LEAF = 1u << 1,          /* XSAVE flag, but leaf 0DH enumerates nothing */
	XST_CAVEAT_JUNK_LEAF = 1u << 2,           /* leaf 0DH filled though it is above the maximum */
	XST_CAVEAT_EMPTY_SUBLEAF = 1u << 3,       /* an advertised component without size */
	XST_CAVEAT_HIDDEN_SUBLEAF = 1u << 4,      /* a filled sub-leaf that is not advertised */
	XST_CAVEAT_SUM_STANDARD = 1u << 5,        /* sub-leaf 0 ECX is not the size we compute */
	XST_CAVEAT_SUM_COMPACTED = 1u << 6,       /* sub-leaf 1 EBX is not the size we compute */
	XST_CAVEAT_ODD_BYTES = 1u << 7,           /* a size comp.def does not know */
	XST_CAVEAT_UNKNOWN_COMPONENT = 1u << 8,   /* an advertised bit no manual names */
	XST_CAVEAT_SUPERVISOR_IN_XCR0 = 1u << 9,  /* a supervisor component in the XCR0 mask */
	XST_CAVEAT_MXCSR_MASK_ASSUMED = 1u << 10, /* the dump does not hold MXCSR_MASK */
	XST_CAVEAT_MICROCODE_UNKNOWN = 1u << 11,  /* erratum 1386 cannot be judged */
	XST_CAVEAT_OVERLAP = 1u << 12,            /* two advertised components overlap */
};

struct xst_caps {
	char vendor[13];
	char brand[49];
	uint16_t family, model, stepping; /* display family and model */
	uint32_t max_leaf;
	bool hypervisor;

	bool fpu, mmx, fxsr, sse, sse2, avx, avx512f, pku, ospke, cet_ss, cet_ibt, amx_tile;
	bool xsave, osxsave, xsaveopt, xsavec, xgetbv1, xsaves, xfd;
	bool fdp_excptn_only; /* leaf 7 EBX[6]: FDP written on unmasked exceptions only */
	bool fcs_fds_zero;    /* leaf 7 EBX[13]: FCS and FDS are always stored as 0 */
	bool fip_leak;        /* AMD/Hygon without RstrFpErrPtrs: FOP/FIP/FDP not always restored */
	bool svm, vmx;

	uint64_t xcr0, xss;    /* supported; from sub-leaf 0 EDX:EAX and sub-leaf 1 EDX:ECX */
	uint32_t mxcsr_mask;   /* bits LDMXCSR accepts */
	uint32_t microcode;    /* patch level, 0 = unknown */
	uint32_t d0_ebx;       /* what CPUID sums up: standard size for XCR0 in force */
	uint32_t d0_ecx;       /*                     standard size for all of xcr0 */
	uint32_t d1_ebx;       /*                     compacted size for XCR0 | XSS in force */
	uint32_t caveats;      /* enum xst_caveat */
	uint64_t caveat_mask;  /* the components the caveats are about */
	struct xst_comp_caps comp[64];
};

/* What a table of CPUID leaves cannot say; a zeroed struct means "unknown, assume the default". */
struct xst_caps_extra {
	uint32_t mxcsr_mask; /* 0: FFFFH, plus bit 17 iff 80000001H:ECX[7] */
	uint32_t microcode;  /* 0: unknown; erratum 1386 is then assumed where the model has it */
};

/**
 * xst_caps_from_leaves() - read a CPU's description from a table of CPUID leaves.
 * @leaves: the table, any order; a missing entry reads as zeros.
 * @count:  entries in @leaves.
 * @extra:  optional; what CPUID does not hold.
 * @caps:   out; overwritten whole, also on error.
 * @diag:   out, optional.
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_OK; XST_ERR_INVALID when there is no leaf 0 to start from.
 * Ref:     SDM vol. 1, "Enumeration of CPU Support for XSAVE Instructions and XSAVE-Supported
 *          Features"
 */
int xst_caps_from_leaves(const struct xst_cpuid_leaf *leaves, size_t count,
			 const struct xst_caps_extra *extra, struct xst_caps *caps,
			 struct xst_diag *diag);

/**
 * xst_caps_native() - read the CPU this runs on.
 * @caps: out; overwritten whole.
 *
 * MXCSR_MASK is read with FXSAVE only where CR4.OSFXSR allows (ring 0 callers: after enabling it;
 * see xst_cpu_init()); until then it is the default for the CPU.
 *
 * Context: any ring; executes CPUID, which exits to the hypervisor in a guest; never faults.
 * Return:  XST_OK; XST_ERR_UNSUPPORTED on a CPU without CPUID (fpu stays as reported by the caller).
 */
int xst_caps_native(struct xst_caps *caps);

/**
 * xst_caps_leaky() - may state left behind CR0.TS be read speculatively on this CPU (LazyFP)?
 *
 * Context: any ring; pure; never faults.
 * Return:  true for Intel family 6 models that are affected, and for unknown ones of that family.
 * Ref:     CVE-2018-3665; Intel SA-00145
 */
bool xst_caps_leaky(const struct xst_caps *caps);

/**
 * xst_caps_erratum_1386() - does XSAVES lose state on this CPU (AMD erratum 1386)?
 *
 * Context: any ring; pure; never faults.
 * Return:  true for AMD family 17h CPUs whose microcode is older than the fix, or unknown.
 * Ref:     AMD revision guides for family 17h, erratum 1386
 */
bool xst_caps_erratum_1386(const struct xst_caps *caps);

#ifdef __cplusplus
}
#endif
#endif
