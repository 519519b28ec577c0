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

enum xst_comp_kind { XST_KIND_USER, XST_KIND_SUPER };

/* Sets that follow from the table. An enum cannot hold bit 62 everywhere, so these are constants
 * folded at compile time. */
#define XST_COMP(id, SYM, ...) static const uint64_t XST_MASK_##SYM __attribute__((unused)) = XST_MASK(id);
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

#define XST_MASK_LEGACY 0x3ULL  /* x87 and SSE: the legacy region */
#define XST_MASK_AVX512 0xe0ULL /* opmask, ZMM_Hi256, Hi16_ZMM */
#define XST_MASK_AMX    0x60000ULL

/* One row of comp.def. */
struct xst_comp_info {
	uint8_t id;
	uint8_t kind; /* enum xst_comp_kind */
	bool ts_guarded;
	uint32_t bytes, bytes_alt;
	uint64_t needs, together, excludes;
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

#ifdef __cplusplus
}
#endif
#endif
