// SPDX-License-Identifier: BSD-2-Clause
/*
 * A guest that leads through every kind of exit once, in a known order, before any
 * experiment relies on them.
 */
#include "ring3_guest.h"

#define PATIENCE  1000u /* exits by interrupts, at most, on the way */
#define VECTOR_UD 6u
#define VECTOR_GP 13u
#define VECTOR_PF 14u

/* What each step must exit with. */
static const struct {
	enum guest_exit exit;
	uint32_t vector;
} steps[] = {
	[TOUR_HLT] = {GUEST_EXIT_HLT, 0},
	[TOUR_CALL] = {GUEST_EXIT_CALL, 0},
	[TOUR_CPUID] = {GUEST_EXIT_CPUID, 0},
	[TOUR_RDMSR] = {GUEST_EXIT_RDMSR, 0},
	[TOUR_WRMSR] = {GUEST_EXIT_WRMSR, 0},
	[TOUR_NM] = {GUEST_EXIT_EXCEPTION, VECTOR_NM},
	[TOUR_UD] = {GUEST_EXIT_EXCEPTION, VECTOR_UD},
	[TOUR_PF] = {GUEST_EXIT_EXCEPTION, VECTOR_PF},
	[TOUR_SYSCALL] = {GUEST_EXIT_EXCEPTION, VECTOR_GP},
	[TOUR_XSETBV] = {GUEST_EXIT_XSETBV, 0},
	[TOUR_END] = {GUEST_EXIT_HLT, 0},
};

/* Every answer is the step's number inverted, so that the guest knows it for one. */
static bool answer(struct vcpu *v, enum tour_step step)
{
	if (v->exit == GUEST_EXIT_EXCEPTION && !guest_is_syscall(v))
		return guest_fault(v, v->vector);
	v->gpr[GPR_AX] = v->gpr[GPR_DX] = ~(uint32_t)step;
	guest_skip(v);
	return true;
}

static bool as_it_must(const struct vcpu *v, unsigned step, const struct guest_block *g)
{
	if (v->exit == steps[step].exit && (!steps[step].vector || v->vector == steps[step].vector) &&
	    g->steps == step)
		return true;
	print("{\"lab\":\"guest\",\"step\":%u,\"steps\":%llu,\"exit\":%u,\"vector\":%u,\"error\":%u,"
	      "\"raw\":\"0x%llx\",\"ip\":\"0x%llx\"}\n",
	      step, (unsigned long long)g->steps, v->exit, v->vector, v->error,
	      (unsigned long long)v->raw, (unsigned long long)v->ip);
	return false;
}

unsigned guest_tour_run(const struct guest_machine *machine, struct vcpu *v, uint32_t id)
{
	struct guest_block *g = &guest_blocks[id];
	unsigned step = 0;

	g->svm = machine == &guest_svm;
	g->xcr0 = lab_system.xcr0;
	g->steps = 0;
	guest_create(machine, v, id, guest_tour);
	for (unsigned i = 0; step <= TOUR_END && i < PATIENCE; i++) {
		machine->run(v);
		if (v->exit == GUEST_EXIT_INTERRUPT) {
			arch_irq_window();
			continue;
		}
		/* ERRATA(qemu-svm-xsetbv): whoever asks knows where the tour may end. */
		if (!as_it_must(v, step, g) || !answer(v, (enum tour_step)step))
			break;
		step++;
	}
	machine->leave(v);
	return step;
}
