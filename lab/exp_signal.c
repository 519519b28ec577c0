// SPDX-License-Identifier: BSD-2-Clause
/*
 * `signal`: tasks with live registers get signals, from themselves and from the timer at any moment,
 * under each policy of the list in turn. Frames come to harm: pages that are missing, pointers into
 * the kernel, words and headers that no kernel wrote. Each harm has a defined outcome for the task,
 * which finds exactly the registers that follow from it; the kernel takes no fault; others, and the
 * task itself before and after, keep theirs.
 */
#include "engine.h"
#include "experiment.h"
#include "report.h"
#include "signal.h"

#define HANDLERS 3u

static uint64_t fewest_kinds = DAMAGES; /* of damage, under any policy */

/* Under the policy whose phase is over: every kind of damage comes under every policy. */
static void count_kinds(void)
{
	uint64_t kinds = 0;

	for (unsigned i = 0; i < DAMAGES; i++) {
		kinds += signal_counts.damaged[i] != 0;
		signal_counts.damaged[i] = 0;
	}
	if (kinds < fewest_kinds)
		fewest_kinds = kinds;
}

/* One policy after the other, on one CPU. */
static bool signal_phase(unsigned number)
{
	struct task_spec spec = {.program = user_signal, .loops = args.loops, .use = USE_ALWAYS};

	if (number > 0)
		count_kinds();
	if (number >= policy_count)
		return false;
	lab_total = policy_count * (HANDLERS + 2) * args.loops;
	engine_set_policy(this_cpu(), policies[number]);
	for (unsigned i = 0; i < HANDLERS; i++)
		signal_prepare(task_create_user(&spec));
	/* Those who get none. */
	spec.program = user_mixed;
	task_create_user(&spec);
	spec.use = USE_SELDOM;
	task_create_user(&spec);
	return true;
}

static void signal_tick(struct cpu *cpu)
{
	if (!cpu->current->kernel && (random_next(&cpu->random) & 1))
		signal_send(cpu->current);
}

static uint32_t damages_possible(void)
{
	if (lab_system.insn >= XST_INSN_XSAVE)
		return lab_system.mask & XST_MASK_AVX ? DAMAGES : DAMAGE_FIRST_AVX;
	return lab_system.mask & XST_MASK_SSE ? DAMAGE_FIRST_EXTENDED : DAMAGE_MXCSR;
}

static const char *signal_verdict(void)
{
	if (signal_counts.unexpected)
		return "a frame came to another outcome than it must";
	if (!signal_counts.sent_by_timer)
		return "the timer sent no signal";
	if (fewest_kinds < damages_possible())
		return "a kind of damage never happened under some policy";
	return NULL;
}

static void signal_report(void)
{
	report_field("policies", policy_count);
	report_field("sent_by_timer", signal_counts.sent_by_timer);
	report_field("kinds_of_damage", fewest_kinds);
	report_field("not_delivered", signal_counts.outcomes[OUTCOME_NOT_DELIVERED]);
	report_field("restored", signal_counts.outcomes[OUTCOME_RESTORED]);
	report_field("fx_only", signal_counts.outcomes[OUTCOME_FX_ONLY]);
	report_field("refused", signal_counts.outcomes[OUTCOME_REFUSED]);
	report_field("unexpected", signal_counts.unexpected);
}

const struct experiment exp_signal = {
	.name = "signal",
	.summary = "frames of signals, whole and harmed: what becomes of the task?",
	.loops = 60,
	.preempt = true,
	.min_cpus = 1,
	.max_cpus = 1,
	.phase = signal_phase,
	.tick = signal_tick,
	.to_user = signal_deliver,
	.verdict = signal_verdict,
	.report = signal_report,
};
