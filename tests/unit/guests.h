/* SPDX-License-Identifier: BSD-2-Clause */
/* Virtual CPUs on the rig's software CPUs: what a guest does between enter and exit. */
#ifndef TESTS_UNIT_GUESTS_H
#define TESTS_UNIT_GUESTS_H

#include <xst/guest.h>

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

/* What a guest on @cpu can reach of component @c: NULL when its instruction would trap. */
static inline uint8_t *guest_reach(struct guests *g, unsigned cpu, unsigned c)
{
	struct mdl_cpu *hw = &g->r.hw[cpu];
	const bool super = XST_MASK(c) & XST_MASK_SUPER;

	if (super ? !hw->caps->cet_ss : mdl_access(hw, c, c >= 2) != MDL_OK)
		return NULL;
	return mdl_reg(hw, c);
}

/* The guest runs on @cpu and writes @value into all bytes of component @c (x87: ST0). */
static inline void guest_put(struct guests *g, unsigned cpu, unsigned i, unsigned c, uint8_t value)
{
	struct mdl_cpu *hw = &g->r.hw[cpu];
	uint8_t *reg;

	xst_guest_enter(&g->r.cpu[cpu], &g->vcpu[i]);
	hw->nonroot = true;
	reg = guest_reach(g, cpu, c);
	if (!reg)
		abort();
	memset(c == XST_COMP_X87 ? reg + 32 : reg, value,
	       c == XST_COMP_X87 ? 10 : mdl_reg_bytes(hw, c));
	mdl_wrote(hw, c);
	hw->nonroot = false;
	xst_guest_exit(&g->r.cpu[cpu], &g->vcpu[i]);
}

/* What it sees there: the first byte, and whether all are alike; 0xffff: it traps. */
static inline unsigned guest_see(struct guests *g, unsigned cpu, unsigned i, unsigned c)
{
	struct mdl_cpu *hw = &g->r.hw[cpu];
	const uint8_t *reg;
	unsigned value = 0xffff, n;

	xst_guest_enter(&g->r.cpu[cpu], &g->vcpu[i]);
	hw->nonroot = true;
	reg = guest_reach(g, cpu, c);
	if (reg && c == XST_COMP_X87) {
		value = reg[32];
	} else if (reg) {
		value = reg[0];
		for (n = 1; n < mdl_reg_bytes(hw, c); n++)
			if (reg[n] != value)
				value = 0x1ff;
	}
	hw->nonroot = false;
	xst_guest_exit(&g->r.cpu[cpu], &g->vcpu[i]);
	return value;
}

/* An exit that the kernel handles by itself. */
static inline void guest_bounce(struct guests *g, unsigned cpu, unsigned i)
{
	xst_guest_enter(&g->r.cpu[cpu], &g->vcpu[i]);
	xst_guest_exit(&g->r.cpu[cpu], &g->vcpu[i]);
}

#endif
