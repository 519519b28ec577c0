/* SPDX-License-Identifier: BSD-2-Clause */
/* Two software CPUs, a few tasks and the engine between them: what every engine test starts from. */
#ifndef TESTS_UNIT_RIG_H
#define TESTS_UNIT_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xst/bringup.h>

#include "port_model.h"

#include "world_model.h"

#define RIG_CPUS  2
#define RIG_TASKS 4
#define RIG_BYTES 4096u

struct rig {
	struct xst_caps caps;
	struct xst_system sys;
	struct mdl_cpu hw[RIG_CPUS];
	struct xst_cpu cpu[RIG_CPUS];
	struct xst_ctx task[RIG_TASKS];
	XST_AREA(area[RIG_TASKS], RIG_BYTES);
};

/* The inter-processor interrupt of save=displaced. */
static struct rig *rig_now;

void mdl_fetch(struct xst_cpu *cpu, uint32_t home, struct xst_ctx *ctx)
{
	(void)ctx;
	if (home >= RIG_CPUS || home == cpu->id)
		abort();
	xst_cpu_evict(&rig_now->cpu[home]);
}

/* A machine whose newest instruction is @insn, and what is wanted of it; every CPU under @policy.
 * Returns the first error. */
static inline int rig_up_want(struct rig *r, enum xst_insn insn, uint64_t xcr0, uint64_t xss,
			      uint64_t want, const char *policy)
{
	struct xst_policy p;
	int err;
	unsigned i;

	memset(r, 0, sizeof(*r));
	rig_now = r;
	mdl_caps_make(&r->caps, xcr0, xss, insn);
	for (i = 0; i < RIG_CPUS; i++)
		mdl_reset(&r->hw[i], &r->caps);
	mdl_current = &r->hw[0];
	err = xst_system_init(&r->sys, want);
	if (!err)
		err = xst_policy_parse(policy, &p, NULL);
	for (i = 0; i < RIG_CPUS && !err; i++) {
		r->cpu[i].world = &r->hw[i];
		err = xst_cpu_init(&r->sys, &r->cpu[i], i);
		if (!err)
			err = xst_cpu_set_policy(&r->cpu[i], &p, XST_FORCE, NULL);
	}
	for (i = 0; i < RIG_TASKS && !err; i++) {
		memset(r->area[i], 0xa5, RIG_BYTES);
		err = xst_ctx_init(&r->sys, &r->task[i], r->area[i], RIG_BYTES);
	}
	return err;
}

static inline int rig_up_xss(struct rig *r, enum xst_insn insn, uint64_t xcr0, uint64_t xss,
			     const char *policy)
{
	return rig_up_want(r, insn, xcr0, xss, XST_WANT_ALL_USER | xss, policy);
}

static inline int rig_up(struct rig *r, enum xst_insn insn, uint64_t xcr0, const char *policy)
{
	return rig_up_xss(r, insn, xcr0, 0, policy);
}

/* The running task of @cpu uses component @i in user mode: #NM and all. Returns a pointer to the
 * registers, NULL when the instruction cannot be executed. */
static inline uint8_t *rig_use(struct rig *r, unsigned cpu, unsigned i)
{
	struct mdl_cpu *hw = &r->hw[cpu];

	xst_return_to_user(&r->cpu[cpu]);
	if (mdl_access(hw, i, i >= 2) == MDL_NM) {
		if (xst_device_not_available(&r->cpu[cpu]) != XST_OK)
			return NULL;
		xst_return_to_user(&r->cpu[cpu]);
	}
	return mdl_access(hw, i, i >= 2) ? NULL : mdl_reg(hw, i);
}

/* Write @value into all bytes of component @i (x87: ST0), as the running task. */
static inline void rig_put(struct rig *r, unsigned cpu, unsigned i, uint8_t value)
{
	uint8_t *reg = rig_use(r, cpu, i);

	if (!reg)
		abort();
	if (i == XST_COMP_X87)
		memset(reg + 32, value, 10);
	else
		memset(reg, value, mdl_reg_bytes(&r->hw[cpu], i));
	mdl_wrote(&r->hw[cpu], i);
}

/* What the running task sees in component @i: its first byte. */
static inline unsigned rig_see(struct rig *r, unsigned cpu, unsigned i)
{
	const uint8_t *reg = rig_use(r, cpu, i);

	return reg ? reg[i == XST_COMP_X87 ? 32 : 0] : 0xffff;
}

/* A user's WRPKRU and RDPKRU: nothing of the engine runs. */
static inline void rig_put_pkru(struct rig *r, unsigned cpu, uint32_t pkru)
{
	xst_w_wrpkru(&r->hw[cpu], pkru);
}

/* Go to task @next on @cpu from whatever runs there. */
static inline void rig_go(struct rig *r, unsigned cpu, struct xst_ctx *next)
{
	xst_switch(&r->cpu[cpu], r->cpu[cpu].cur, next);
}

#endif
