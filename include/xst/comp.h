/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * State components by name: constants, sets and facts, all generated from comp.def.
 *
 * A component is a bit position, a mask is a set of them (always uint64_t).
 */
#ifndef XST_COMP_H
#define XST_COMP_H

#include <stdbool.h>
#include <stdint.h>

#include <xst/status.h>

#ifdef __cplusplus
extern "C" {
#endif

enum xst_comp {
#define XST_COMP(id, SYM, ...) XST_COMP_##SYM = id,
#include <xst/comp.def>
};

#define XST_MASK(id) (1ULL << (id))

/* The lowest component of @mask, which is not empty. By halves where a register has 32 bits: the
 * compiler's own way is a call of libgcc on CPUs without CMOV. */
static inline unsigned xst_mask_first(uint64_t mask)
{
#ifdef __x86_64__
	return (unsigned)__builtin_ctzll(mask);
#else
	const uint32_t low = (uint32_t)mask;

	return (unsigned)(low ? __builtin_ctz(low) : 32 + __builtin_ctz((uint32_t)(mask >> 32)));
#endif
}

/* A CPUID flag as one number: never 0, which means "none". */
enum xst_cpuid_reg { XST_REG_EAX, XST_REG_EBX, XST_REG_ECX, XST_REG_EDX };
#define XST_FLAG_NONE 0ULL
#define XST_FLAG(leaf, subleaf, reg, bit)                                                          \
	(1ULL << 63 | (uint64_t)(leaf) << 24 | (uint64_t)(subleaf) << 8 |                          \
	 (uint64_t)XST_REG_##reg << 5 | (bit))
#define XST_FLAG_LEAF(flag)    ((uint32_t)((flag) >> 24))
#define XST_FLAG_SUBLEAF(flag) ((uint32_t)((flag) >> 8 & 0xffff))
#define XST_FLAG_REG(flag)     ((unsigned)((flag) >> 5 & 3))
#define XST_FLAG_BIT(flag)     ((unsigned)((flag) & 31))

enum xst_comp_kind { XST_KIND_USER, XST_KIND_SUPER };

/* Sets that follow from the table. An enum cannot hold bit 62 everywhere, so these are constants
 * folded at compile time. */
#define XST_COMP(id, SYM, ...)                                                                     \
	static const uint64_t XST_MASK_##SYM __attribute__((unused)) = XST_MASK(id);
#include <xst/comp.def>

/* The size that every CPU in the field reports. */
#define XST_COMP(id, SYM, text, kind, ts, bytes, ...)                                              \
	static const uint32_t XST_BYTES_##SYM __attribute__((unused)) = bytes;
#include <xst/comp.def>

#define XST_SUM_USER(kind, id)  ((XST_KIND_##kind == XST_KIND_USER) ? XST_MASK(id) : 0ULL)
#define XST_SUM_SUPER(kind, id) ((XST_KIND_##kind == XST_KIND_SUPER) ? XST_MASK(id) : 0ULL)

/* All user components known: what XCR0 may name. */
static const uint64_t XST_MASK_USER __attribute__((unused)) = 0
#define XST_COMP(id, SYM, text, kind, ...) | XST_SUM_USER(kind, id)
#include <xst/comp.def>
	;
/* All supervisor components known: what IA32_XSS may name. */
static const uint64_t XST_MASK_SUPER __attribute__((unused)) = 0
#define XST_COMP(id, SYM, text, kind, ...) | XST_SUM_SUPER(kind, id)
#include <xst/comp.def>
	;
/* Components whose use traps while CR0.TS is set: the only ones a lazy policy may leave behind. */
static const uint64_t XST_MASK_TS_GUARDED __attribute__((unused)) = 0
#define XST_COMP(id, SYM, text, kind, ts, ...) | ((ts) ? XST_MASK(id) : 0ULL)
#include <xst/comp.def>
	;

/* Supervisor components that tasks may have, and those that only guests may have. */
enum xst_super_owner { XST_OWNER_TASK, XST_OWNER_GUEST };
static const uint64_t XST_MASK_TASK_SUPER __attribute__((unused)) = 0
#define XST_COMP_SUPER(SYM, owner)                                                                 \
	| (XST_OWNER_##owner == XST_OWNER_TASK ? XST_MASK(XST_COMP_##SYM) : 0ULL)
#include <xst/comp.def>
	;
static const uint64_t XST_MASK_GUEST_ONLY __attribute__((unused)) = 0
#define XST_COMP_SUPER(SYM, owner)                                                                 \
	| (XST_OWNER_##owner == XST_OWNER_GUEST ? XST_MASK(XST_COMP_##SYM) : 0ULL)
#include <xst/comp.def>
	;

#define XST_MASK_LEGACY 0x3ULL  /* x87 and SSE: the legacy region */
#define XST_MASK_AVX512 0xe0ULL /* opmask, ZMM_Hi256, Hi16_ZMM */
#define XST_MASK_AMX    0x60000ULL
/* Too large to give to every task: asked for (perm.h), and held back by IA32_XFD until then. */
#define XST_MASK_DYNAMIC XST_MASK_TILEDATA

/* One row of comp.def. */
struct xst_comp_info {
	uint8_t id;
	uint8_t kind; /* enum xst_comp_kind */
	bool ts_guarded;
	bool align64; /* in the compacted format, on every CPU in the field */
	uint32_t bytes, bytes_alt;
	uint64_t needs, together, excludes;
	uint64_t flag, flag2; /* XST_FLAG() */
	const char *text;
};

/**
 * xst_comp_info() - the facts about component @id.
 *
 * Context: any ring; never faults.
 * Return:  a static row, or NULL for a bit that no manual names.
 */
const struct xst_comp_info *xst_comp_info(unsigned id);

/**
 * xst_comp_used() - bytes of a component that mean something, of the @size it has.
 *
 * The rest is padding: nothing that hardware writes or reads.
 *
 * Context: any ring; pure; never faults.
 */
uint32_t xst_comp_used(unsigned id, uint32_t size);

/**
 * xst_xcr0_check() - would XSETBV accept @xcr0 on a CPU that supports @supported?
 * @xcr0:      the value to judge.
 * @supported: user components the CPU enumerates (leaf 0DH, sub-leaf 0, EDX:EAX).
 * @diag:      out, optional: component, want and got masks, the rule.
 *
 * Context: any ring; pure arithmetic; never faults.
 * Return:  XST_OK, or XST_ERR_ILLEGAL_MASK where XSETBV would raise #GP.
 * Ref:     SDM vol. 2, "XSETBV"; SDM vol. 1, "Enabling the XSAVE Feature Set and XSAVE-Enabled
 *          Features".
 */
int xst_xcr0_check(uint64_t xcr0, uint64_t supported, struct xst_diag *diag);

/**
 * xst_xss_check() - would WRMSR accept @xss for IA32_XSS on a CPU that supports @supported?
 * @xss:       the value to judge.
 * @supported: supervisor components the CPU enumerates (leaf 0DH, sub-leaf 1, EDX:ECX).
 * @diag:      out, optional: component, want and got masks, the rule.
 *
 * Supervisor components are free of each other and of XCR0.
 *
 * Context: any ring; pure arithmetic; never faults.
 * Return:  XST_OK, or XST_ERR_ILLEGAL_MASK where WRMSR would raise #GP.
 * Ref:     SDM vol. 1, "Enabling the XSAVE Feature Set and XSAVE-Enabled Features"
 */
int xst_xss_check(uint64_t xss, uint64_t supported, struct xst_diag *diag);

/**
 * xst_xcr0_usable() - the components of @supported that some legal XCR0 can enable.
 *
 * A list may hold components that no XSETBV can ever switch on: TILECFG without TILEDATA, say.
 *
 * Context: any ring; pure arithmetic; never faults.
 * Return:  a subset of @supported; 0 when x87 is not in it.
 */
uint64_t xst_xcr0_usable(uint64_t supported);

#ifdef __cplusplus
}
#endif
#endif
