/* SPDX-License-Identifier: BSD-2-Clause */
/* Virtual CPUs on the rig's software CPUs: what a guest does between enter and exit. */
#ifndef TESTS_UNIT_GUESTS_H
#define TESTS_UNIT_GUESTS_H

#include <xst/guest.h>
#include <xst/uabi.h>

#include "rig.h"

#define GUESTS      2
#define GUEST_BYTES 12288u

struct guests {
	struct rig r;
	struct xst_perm perm;
	struct xst_guest vcpu[GUESTS];
	XST_AREA(area[GUESTS], GUEST_BYTES);
};

const char *guest_twin;

#define INTEL   0x2e7ULL   /* x87 to AVX-512 and PKRU */
#define SPR     0x602e7ULL /* and AMX */
#define CET     (XST_MASK_CET_U | XST_MASK_CET_S)
#define WANT    (XST_WANT_ALL_USER | XST_WANT_GUEST_CET) /* CET for guests only */
#define TILE    XST_COMP_TILEDATA

/* A machine, and guests that may have all that it has. */
static inline int guests_up(struct guests *g, enum xst_insn insn, uint64_t xcr0, uint64_t xss,
			    uint64_t want, const char *policy)
{
	int err = rig_up_want(&g->r, insn, xcr0, xss, want, policy);
	unsigned i;

	if (err)
		return err;
	memset(g->area, 0xa5, sizeof(g->area));
	xst_perm_init(&g->r.sys, &g->perm);
	if (g->r.sys.dynamic)
		err = xst_perm_request(&g->r.sys, &g->perm, XST_PERM_GUEST, TILE, NULL, NULL);
	for (i = 0; i < GUESTS && !err; i++) {
		memset(&g->vcpu[i], 0xa5, sizeof(g->vcpu[i]));
		err = xst_guest_init(&g->r.sys, &g->perm, &g->vcpu[i], g->area[i], GUEST_BYTES,
				     NULL);
	}
	return err;
}

/* The guest's own kernel enables all that it may have. */
static inline void guest_enable(struct guests *g, unsigned cpu, unsigned i)
{
	struct xst_guest *v = &g->vcpu[i];

	if (xst_guest_set_xcr0(&g->r.cpu[cpu], v, v->mask & XST_MASK_USER, NULL) ||
	    xst_guest_set_xss(v, v->mask & XST_MASK_SUPER, NULL))
		abort();
}

/* Component @c in the registers holds @value, so that every byte is known. Of CET, addresses that
 * WRMSR takes. */
static inline void fill(struct mdl_cpu *hw, unsigned c, uint8_t value)
{
	const uint64_t address = (uint64_t)value << 12;
	unsigned n;

	if (c == XST_COMP_X87)
		memset(hw->regs.X87 + 32, value, 10);
	else if (c == XST_COMP_CET_U || c == XST_COMP_CET_S)
		for (n = 0; n < (c == XST_COMP_CET_U ? 2 : 3); n++)
			memcpy(mdl_reg(hw, c) + 8 * n, &address, 8);
	else
		memset(mdl_reg(hw, c), value, mdl_reg_bytes(hw, c));
	mdl_wrote(hw, c);
}

/* What they hold; 0x1ff: bytes of two values. */
static inline unsigned held(struct mdl_cpu *hw, unsigned c)
{
	const uint8_t *reg = c == XST_COMP_X87 ? hw->regs.X87 + 32 : mdl_reg(hw, c);
	unsigned bytes = c == XST_COMP_X87 ? 10 : mdl_reg_bytes(hw, c), n;
	uint64_t address;

	if (c == XST_COMP_CET_U || c == XST_COMP_CET_S) {
		memcpy(&address, reg, 8);
		bytes = c == XST_COMP_CET_U ? 16 : 24;
		for (n = 8; n < bytes; n += 8)
			if (memcmp(reg, reg + n, 8))
				return 0x1ff;
		return (unsigned)(address >> 12);
	}
	for (n = 1; n < bytes; n++)
		if (reg[n] != reg[0])
			return 0x1ff;
	return reg[0];
}

/* Can a guest on @cpu reach component @c? */
static inline bool guest_reaches(struct guests *g, unsigned cpu, unsigned c)
{
	struct mdl_cpu *hw = &g->r.hw[cpu];

	if (c == XST_COMP_CET_U || c == XST_COMP_CET_S)
		return hw->caps->cet_ss;
	return mdl_access(hw, c, c >= 2) == MDL_OK;
}

/* The guest runs on @cpu and fills component @c. */
static inline void guest_put(struct guests *g, unsigned cpu, unsigned i, unsigned c, uint8_t value)
{
	struct mdl_cpu *hw = &g->r.hw[cpu];

	xst_guest_enter(&g->r.cpu[cpu], &g->vcpu[i]);
	hw->nonroot = true;
	if (!guest_reaches(g, cpu, c))
		abort();
	fill(hw, c, value);
	hw->nonroot = false;
	xst_guest_exit(&g->r.cpu[cpu], &g->vcpu[i]);
}

/* What it sees there; 0xffff: it traps. */
static inline unsigned guest_see(struct guests *g, unsigned cpu, unsigned i, unsigned c)
{
	struct mdl_cpu *hw = &g->r.hw[cpu];
	unsigned value;

	xst_guest_enter(&g->r.cpu[cpu], &g->vcpu[i]);
	hw->nonroot = true;
	value = guest_reaches(g, cpu, c) ? held(hw, c) : 0xffff;
	hw->nonroot = false;
	xst_guest_exit(&g->r.cpu[cpu], &g->vcpu[i]);
	return value;
}

/* The CPU goes, and comes back: after a reset, or not. */
static inline void guests_resume(struct guests *g, unsigned cpu, bool reset)
{
	xst_cpu_offline(&g->r.cpu[cpu]);
	if (reset)
		mdl_reset(&g->r.hw[cpu], &g->r.caps);
	if (xst_cpu_online(&g->r.cpu[cpu], NULL))
		abort();
}

/* An exit that the kernel handles by itself. */
static inline void guest_bounce(struct guests *g, unsigned cpu, unsigned i)
{
	xst_guest_enter(&g->r.cpu[cpu], &g->vcpu[i]);
	xst_guest_exit(&g->r.cpu[cpu], &g->vcpu[i]);
}

#endif
