// SPDX-License-Identifier: BSD-2-Clause
/*
 * `mmx`: MMX copies of the kernel, first before the CPU is up, with CR4.OSFXSR clear; then in every
 * system call of tasks that have an unmasked x87 exception pending. The kernel must not get it, the
 * task must still.
 */
#include "engine.h"
#include "experiment.h"
#include "report.h"
#include "sections.h"

static uint8_t from[XST_PAGE_BYTES] __attribute__((aligned(64)));
static uint8_t pages[LAB_MAX_CPUS][XST_PAGE_BYTES + 64] __attribute__((aligned(64)));
static uint32_t early, copies, wrong;

static void fill(uint64_t seed)
{
	for (unsigned i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(mix64(seed + i) | 1);
}

static void compare(const uint8_t *to, unsigned bytes, bool cleared)
{
	unsigned bad = 0;

	for (unsigned i = 0; i < bytes; i++)
		bad |= to[i] != (cleared ? 0 : from[i]);
	/* Nothing behind. */
	for (unsigned i = bytes; i < bytes + 8; i++)
		bad |= to[i] != 0xa5;
	__atomic_fetch_add(&wrong, bad != 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&copies, 1, __ATOMIC_RELAXED);
}

static void copy_all(struct cpu *cpu)
{
	uint8_t *to = pages[cpu->id];

	__builtin_memset(to, 0xa5, sizeof(pages[0]));
	xst_mmx_copy(&cpu->fpu, to, from, 1000);
	compare(to, 1000, false);
	__builtin_memset(to, 0xa5, sizeof(pages[0]));
	xst_mmx_copy_page(&cpu->fpu, to, from);
	compare(to, XST_PAGE_BYTES, false);
	xst_mmx_clear_page(&cpu->fpu, to);
	compare(to, XST_PAGE_BYTES, true);
	engine_section_ended(cpu);
}

/* Called before anything of the extended state was enabled. */
void experiment_early(struct cpu *cpu)
{
	if (experiment != &exp_mmx)
		return;
	if (lab_system.insn || xst_kernel_usable(&cpu->fpu, XST_CONTEXT_TASK) ||
	    xst_kernel_begin(&cpu->fpu, 0) != XST_ERR_NOT_UP ||
	    xst_kernel_begin(&cpu->fpu, XST_NEED_MXCSR) != XST_ERR_NOT_UP)
		panic("a section may begin before the CPU is up");
	fill(args.seed);
	/* Long mode has CR4, and boot.S may have needed it. */
	if (xst_has_cpuid() && (arch_read_cr4() & XST_CR4_OSFXSR))
		panic("CR4.OSFXSR is set before its time");
	copy_all(cpu);
	early = copies;
	section_totals[cpu->id].reported = 0;
}

static bool mmx_phase(unsigned number)
{
	return exp_pending.phase(number);
}

static const char *mmx_verdict(void)
{
	if (wrong)
		return "a copy is wrong";
	if (copies < 100 + early || !early)
		return "too short: hardly anything was copied";
	return exp_pending.verdict();
}

static void mmx_report(void)
{
	report_field("early_copies", early);
	report_field("copies", copies);
	exp_pending.report();
}

const struct experiment exp_mmx = {
	.name = "mmx",
	.summary = "MMX copies before CR4.OSFXSR and over a task's pending x87 exception",
	.loops = 300,
	.preempt = true,
	.min_cpus = 1,
	.max_cpus = LAB_MAX_CPUS,
	.phase = mmx_phase,
	.kernel_work = copy_all,
	.verdict = mmx_verdict,
	.report = mmx_report,
};
