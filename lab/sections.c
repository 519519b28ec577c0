// SPDX-License-Identifier: BSD-2-Clause
/* Sections of the lab kernel; sections.h says what is looked at. */
#include "sections.h"
#include "engine.h"
#include "report.h"
#include "ring3.h"
#include "task.h"
#include "xst_port.h"

#define MXCSR_INIT 0x1f80u
#define FCW_INIT   0x037fu
#define TAGS_EMPTY 0xffffu
#define SHOWN      4u

struct section_totals section_totals[LAB_MAX_CPUS];

/* What is known about a CPU's registers since its last section, without asking the library. */
static struct {
	uint64_t moves;    /* of the engine: validations and the like */
	unsigned in_place; /* XST_NEED_* */
	bool known;
} after[LAB_MAX_CPUS];

static uint32_t reports_shown;

/* The port's XST_SECTION_REPORT(). */
void lab_section_report(const struct xst_cpu *fpu, const struct xst_section_report *report)
{
	static const char *const names[] = {"nested", "not-up", "no-begin", "undeclared"};

	section_totals[fpu->id].reported++;
	if (__atomic_fetch_add(&reports_shown, 1, __ATOMIC_RELAXED) < SHOWN)
		print("{\"lab\":\"misuse\",\"cpu\":%u,\"misuse\":\"%s\",\"caller\":\"0x%llx\","
		      "\"outer\":\"0x%llx\",\"declared\":%u,\"used\":%u}\n",
		      fpu->id, names[report->misuse], (unsigned long long)(uintptr_t)report->caller,
		      (unsigned long long)(uintptr_t)report->outer, report->declared, report->used);
}

void sections_sum(struct section_totals *sum)
{
	uint64_t *to = (uint64_t *)sum;

	for (unsigned i = 0; i < sizeof(*sum) / sizeof(*to); i++) {
		to[i] = 0;
		for (uint32_t id = 0; id < cpu_count; id++)
			to[i] += ((const uint64_t *)&section_totals[id])[i];
	}
}

static bool section_runs(const struct cpu *cpu)
{
	const enum xst_section_state state = xst_section_state(&cpu->fpu.sections);

	return state == XST_SECTION_BUSY || state == XST_SECTION_WATCHED_BUSY;
}

static uint64_t moves_of(const struct xst_counters *n)
{
	return n->validations + n->clears + n->saves + n->saves_elided;
}

static bool has_sse(void)
{
	return lab_system.caps.sse && lab_system.caps.fxsr;
}

static void look_at_values(struct section_totals *t, unsigned need)
{
	uint32_t mxcsr = MXCSR_INIT;
	uint16_t fcw, fsw;

	if (need & XST_NEED_X87) {
		xst_fnstcw(&fcw);
		xst_fnstsw(&fsw);
		t->wrong_values += fcw != FCW_INIT || fsw || simd_tags() != TAGS_EMPTY;
	}
	if ((need & XST_NEED_MXCSR) && has_sse())
		xst_stmxcsr(&mxcsr);
	t->wrong_values += mxcsr != MXCSR_INIT;
}

/* Were loads right? INIT registers and FNSAVE leave initial values behind; a section keeps what it
 * did not declare. */
static unsigned look_at_counters(struct cpu *cpu, const struct xst_counters *before, unsigned need,
				 bool was_init)
{
	struct section_totals *t = &section_totals[cpu->id];
	const struct xst_counters *n = &cpu->fpu.n;
	const bool stayed = after[cpu->id].known && after[cpu->id].moves == moves_of(before);
	const uint64_t x87 = n->kernel_init_x87 - before->kernel_init_x87;
	const uint64_t mxcsr = n->kernel_init_mxcsr - before->kernel_init_mxcsr;
	unsigned in_place = stayed ? after[cpu->id].in_place : 0, todo;

	if (n->kernel_saves != before->kernel_saves) {
		t->saved_twice += stayed;
		in_place = lab_system.insn == XST_INSN_FNSAVE ? XST_NEED_X87 : 0;
	}
	if (was_init || n->saves_elided != before->saves_elided)
		in_place = XST_NEED_EFI;
	todo = need & ~in_place & (has_sse() ? XST_NEED_EFI : XST_NEED_X87);
	t->unneeded += x87 && !(todo & XST_NEED_X87);
	t->unneeded += mxcsr && !(todo & XST_NEED_MXCSR);
	t->not_loaded += !x87 && (todo & XST_NEED_X87);
	t->not_loaded += !mxcsr && (todo & XST_NEED_MXCSR);
	return in_place;
}

void section_run(struct cpu *cpu, enum xst_context where, unsigned need,
		 void (*inside)(void *argument), void *argument)
{
	struct section_totals *t = &section_totals[cpu->id];
	const struct xst_counters before = cpu->fpu.n;
	const bool was_init = cpu->fpu.bits & XST_B_INIT;
	unsigned in_place;

	if (!xst_kernel_usable(&cpu->fpu, where)) {
		t->refused++;
		return;
	}
	if (xst_kernel_begin(&cpu->fpu, need) != XST_OK)
		panic("a section is refused though one may begin");
	look_at_values(t, need);
	in_place = look_at_counters(cpu, &before, need, was_init);
	if (inside)
		inside(argument);
	simd_scribble(user_blocks[0].features);
	if ((need & XST_NEED_MXCSR) && has_sse())
		simd_inexact();
	if (need & XST_NEED_X87)
		simd_x87();
	xst_kernel_end(&cpu->fpu);
	engine_section_ended(cpu);
	after[cpu->id].known = true;
	after[cpu->id].in_place = in_place & ~need;
	after[cpu->id].moves = moves_of(&cpu->fpu.n);
	t->done++;
}

static void let_one_in(void *argument)
{
	sections_interrupt_me(argument);
}

void sections_at_random(struct cpu *cpu, enum xst_context where)
{
	const uint64_t r = random_next(&cpu->random);

	if (r & 3)
		return;
	/* In task context an interrupt may come in the middle. */
	section_run(cpu, where, (unsigned)(r >> 8) & XST_NEED_EFI,
		    where == XST_CONTEXT_TASK && (r & 4) ? let_one_in : NULL, cpu);
}

void sections_interrupt_me(struct cpu *cpu)
{
	if (!apic_present())
		return;
	apic_send_vector(cpu->apic_id, VECTOR_SECTION);
	for (unsigned i = 0; i < 4; i++)
		arch_irq_window();
}

void sections_on_interrupt(struct cpu *cpu, bool from_user)
{
	struct section_totals *t = &section_totals[cpu->id];

	if (section_runs(cpu))
		t->irqs_in_section++;
	else if (!from_user && (cpu->fpu.bits & XST_B_LIVE))
		t->irqs_after_restore++;
	section_run(cpu, XST_CONTEXT_HARDIRQ, (unsigned)random_next(&cpu->random) & XST_NEED_EFI,
		    NULL, NULL);
}

/* It may come anywhere, in the middle of a save too: never a section. */
void sections_on_nmi(struct cpu *cpu)
{
	struct section_totals *t = &section_totals[cpu->id];

	t->nmis++;
	t->nmis_in_section += section_runs(cpu);
	if (xst_kernel_usable(&cpu->fpu, XST_CONTEXT_NMI))
		panic("a section may begin in an NMI");
	t->refused++;
}

void sections_report(void)
{
	struct section_totals sum;

	sections_sum(&sum);
	report_field("sections", sum.done);
	report_field("sections_refused", sum.refused);
	report_field("wrong_values", sum.wrong_values);
	report_field("unneeded_loads", sum.unneeded);
	report_field("missing_loads", sum.not_loaded);
	report_field("saved_twice", sum.saved_twice);
	report_field("misuses_reported", sum.reported);
	report_field("irqs_in_section", sum.irqs_in_section);
	report_field("irqs_after_restore", sum.irqs_after_restore);
	report_field("nmis", sum.nmis);
	report_field("nmis_in_section", sum.nmis_in_section);
}

const char *sections_verdict(void)
{
	struct section_totals sum;

	sections_sum(&sum);
	if (!sum.done)
		return "no section ran";
	if (sum.wrong_values)
		return "a section began without the values that it declared";
	if (sum.unneeded)
		return "FNINIT or LDMXCSR ran though the values were in place";
	if (sum.not_loaded)
		return "initial values were taken for granted";
	if (sum.saved_twice)
		return "a state was saved twice in one stay in the kernel";
	return NULL;
}
