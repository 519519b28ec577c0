// SPDX-License-Identifier: BSD-2-Clause
/* One event, and what must hold after it. */
#include "steps.h"

/* Which task's valid copy do the registers hold now? And was a load needed that the engine made? */
static void follow_registers(struct machine *m, const uint8_t *before)
{
	unsigned c;

	for (c = 0; c < CPUS; c++) {
		const struct xst_counters *n = &m->cpu[c].n;
		const unsigned t = cur(m, c);

		if (n->loads && m->cpu[c].policy.keep_owner && t != NONE && before[c] == t &&
		    m->in_place[c] == t)
			breaks(m, CHECK_P_KEEP, "the registers were in place, and are loaded again");
		if (n->clears || (n->saves && m->sys.insn == XST_INSN_FNSAVE))
			m->in_place[c] = NONE;
		if ((n->loads || n->loads_elided_init || n->loads_failed ||
		     (m->mode[c] == USER && !(m->hw[c].cr0 & MDL_CR0_TS))) &&
		    t != NONE) {
			forget(m, t);
			m->in_place[c] = (uint8_t)t;
		}
	}
}

/* A refused image is the task's own doing, and only then may its state be replaced. */
static void follow_faults(struct machine *m, unsigned was_spoiled)
{
	unsigned t;

	for (t = 0; t < TASKS; t++) {
		if (!m->task[t].fault)
			continue;
		if (!(was_spoiled >> t & 1u))
			breaks(m, CHECK_I1, "a restore refuses an image that was good");
		m->task[t].fault = 0;
	}
}

static void check_user(struct machine *m, unsigned c, unsigned t)
{
	const struct xst_cpu *cpu = &m->cpu[c];
	const bool ts = m->hw[c].cr0 & MDL_CR0_TS, leaky = xst_policy_leaky(&cpu->policy);
	unsigned k;

	for (k = 0; k < GUARDED; k++) {
		const uint8_t reg = *machine_reg(m, c, k);
		const bool hidden = ts || (m->hw[c].xfd & XST_MASK(comp_id[k]));

		if (!machine_has(m, k))
			continue;
		if (!hidden && reg != m->want[t][k])
			breaks(m, CHECK_I1, "an instruction would see another value than the task's");
		if (hidden && !leaky && reg != m->want[t][k] && reg != TOKEN_INIT)
			breaks(m, CHECK_I2, "another's value is in a register, behind TS or XFD");
	}
	if (machine_has(m, C_CET) && *machine_reg(m, c, C_CET) != m->want[t][C_CET])
		breaks(m, CHECK_I1, "CET_U holds another value than the task's");
	if (machine_has(m, C_TILE) && !ts &&
	    !(m->hw[c].xfd & XST_MASK_TILEDATA) != (cpu->cur->dynamic != 0))
		breaks(m, CHECK_I1, "tiles can be used without room, or not where there is room");
	if (!ts && !cpu->cur->area)
		breaks(m, CHECK_P_TRAP, "a task without an area would not trap");
	if (ts && !leaky && cpu->cur->area)
		breaks(m, CHECK_P_TRAP, "TS is set though the policy has no first use");
}

static void check_cpu(struct machine *m, unsigned c)
{
	const unsigned t = cur(m, c);

	if (!xst_counters_balanced(&m->cpu[c].n))
		breaks(m, CHECK_I3, "the counters do not add up");
	if (m->hw[c].surprise)
		breaks(m, CHECK_WORLD, "the engine executed an instruction that faults");
	if (m->mode[c] == OFFLINE || t == NONE)
		return;
	if (machine_has(m, C_PKRU) && *machine_reg(m, c, C_PKRU) != m->want[t][C_PKRU])
		breaks(m, CHECK_I1, "PKRU is not the running task's");
	if (m->mode[c] == USER)
		check_user(m, c, t);
}

enum check event_step(struct machine *m, unsigned e, unsigned c, unsigned a)
{
	uint8_t before[CPUS];
	unsigned i, was_spoiled = 0;

	memcpy(before, m->in_place, sizeof(before));
	for (i = 0; i < TASKS; i++)
		was_spoiled |= (unsigned)spoiled(m, i) << i;
	events[e].run(m, c, a);
	follow_registers(m, before);
	follow_faults(m, was_spoiled);
	for (i = 0; i < CPUS; i++)
		if (m->mode[i] != SECTION && !machine_kernels(m, i))
			machine_set_mxcsr(m, i);
	for (i = 0; i < CPUS; i++)
		check_cpu(m, i);
	return m->broken;
}
