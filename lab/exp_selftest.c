// SPDX-License-Identifier: BSD-2-Clause
/*
 * `selftest-*`: runs that must not end well, each in another way, so that the
 * verdicts of whoever runs the lab can be tested.
 */
#include "experiment.h"

static bool panic_phase(unsigned number)
{
	(void)number;
	panic("selftest: this run panics on purpose");
}

/* No IDT: the breakpoint faults, so does the fault's fault, and the CPU shuts down. */
static bool triple_phase(unsigned number)
{
	struct {
		uint16_t limit;
		uintptr_t base;
	} __attribute__((packed)) none = {0, 0};

	(void)number;
	__asm__ volatile("lidt %0\n\tint3" : : "m"(none));
	return false;
}

/* Interrupts stay off, so not even the watchdog sees it: the runner has to. */
static bool hang_phase(unsigned number)
{
	for (;;)
		arch_pause();
	return number == 0;
}

static bool watchdog_phase(unsigned number)
{
	struct task_spec spec = {.program = user_hang, .loops = 1, .use = USE_NEVER};

	if (number > 0)
		return false;
	lab_total = 1;
	task_create_user(&spec);
	return true;
}

const struct experiment exp_selftest_panic = {
	.name = "selftest-panic",
	.summary = "panics",
	.min_cpus = 1,
	.max_cpus = LAB_MAX_CPUS,
	.phase = panic_phase,
};

const struct experiment exp_selftest_triple = {
	.name = "selftest-triple",
	.summary = "ends in a triple fault",
	.min_cpus = 1,
	.max_cpus = LAB_MAX_CPUS,
	.phase = triple_phase,
};

const struct experiment exp_selftest_hang = {
	.name = "selftest-hang",
	.summary = "hangs with interrupts off",
	.min_cpus = 1,
	.max_cpus = LAB_MAX_CPUS,
	.phase = hang_phase,
};

const struct experiment exp_selftest_watchdog = {
	.name = "selftest-watchdog",
	.summary = "makes no progress, which the lab notices itself",
	.preempt = true,
	.min_cpus = 1,
	.max_cpus = LAB_MAX_CPUS,
	.phase = watchdog_phase,
};
