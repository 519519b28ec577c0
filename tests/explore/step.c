// SPDX-License-Identifier: BSD-2-Clause
/* One event, and what must hold after it. */
#include "steps.h"

/* What only guests have does not wait for a first use: it may be lost though the rest stays. */
static bool lost_some(const struct machine *m, unsigned c, unsigned t)
{
	const unsigned whose = m->in_place[c];

	return t < TASKS && whose >= TASKS && whose != NONE &&
	       (m->guest[whose - TASKS].mask & XST_MASK_SUPER) &&
	       (m->mode[c] == USER || m->cpu[c].policy.load != XST_LOAD_RETURN);
}

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
		if (m->in_place[c] != t && lost_some(m, c, t))
			m->in_place[c] = NONE;
	}
}

/* A refused image is the task's own doing, and only then may its state be replaced. */
static void follow_faults(struct machine *m, unsigned was_spoiled)
{
	unsigned t;

	for (t = 0; t < m->ctxs; t++) {
		if (!m->ctx[t]->fault)
			continue;
		if (!(was_spoiled >> t & 1u))
			breaks(m, CHECK_I1, "a restore refuses an image that was good");
		m->ctx[t]->fault = 0;
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
	if (machine_has(m, C_CET_S) && !machine_swaps(m, C_CET_S) && *machine_reg(m, c, C_CET_S))
		breaks(m, CHECK_I1, "CET_S holds a guest's value in user mode");
	if (machine_has(m, C_TILE) && !ts &&
	    !(m->hw[c].xfd & XST_MASK_TILEDATA) != (cpu->cur->dynamic != 0))
		breaks(m, CHECK_I1, "tiles can be used without room, or not where there is room");
	if (!ts && !cpu->cur->area)
		breaks(m, CHECK_P_TRAP, "a task without an area would not trap");
	if (ts && !leaky && cpu->cur->area)
		breaks(m, CHECK_P_TRAP, "TS is set though the policy has no first use");
}

/* Outside of guests the control registers are the host's, and no image of its own has what only
 * guests have. */
static void check_host(struct machine *m, unsigned c)
{
	const struct mdl_cpu *hw = &m->hw[c];
	unsigned t;

	if (m->mode[c] == OFFLINE || m->sys.insn < XST_INSN_XSAVE)
		return;
	if (hw->xcr0 != m->sys.xcr0 || hw->xss != m->sys.xss)
		breaks(m, CHECK_CONTROL, "XCR0 or IA32_XSS is not the host's");
	if (hw->xfd_err || hw->xfd != (m->sys.dynamic & ~m->cpu[c].mask))
		breaks(m, CHECK_CONTROL, "IA32_XFD or XFD_ERR is not the host's");
	for (t = 0; t < TASKS; t++)
		if (m->alive[t] && m->task[t].area &&
		    ((machine_header(m, t, false)[0] | machine_header(m, t, false)[1]) &
		     XST_MASK_GUEST_ONLY))
			breaks(m, CHECK_CONTROL, "a task's image has what only guests have");
}

static void check_cpu(struct machine *m, unsigned c)
{
	const unsigned t = thread(m, c);

	if (!xst_counters_balanced(&m->cpu[c].n))
		breaks(m, CHECK_I3, "the counters do not add up");
	if (m->hw[c].surprise)
		breaks(m, CHECK_WORLD, "the engine executed an instruction that faults");
	if (m->cfg->guests)
		check_host(m, c);
	if (m->mode[c] == OFFLINE || t >= TASKS)
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
	for (i = 0; i < m->cfg->guests; i++)
		if (!m->alive[TASKS + i] && !machine_at_rest(m, i))
			breaks(m, CHECK_I1, "registers are saved where a guest was that has ended");
	return m->broken;
}
