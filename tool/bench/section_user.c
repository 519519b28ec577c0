// SPDX-License-Identifier: BSD-2-Clause
/* Compiled with the engine for user mode, without vector instructions, as the engine itself is. */
#include "section.h"

#include <stdlib.h>

#include <xst/bringup.h>
#include <xst/kernel.h>

/* A load waits for an older store at the same place of another page, and the parity stores to every
 * place of a page: the CPU lies where those stores are long done and the next loads are far. */
#define PAGE   4096u
#define AWAY   1024u

struct section_user {
	uint8_t room[AWAY];
	struct xst_cpu cpu;
	struct xst_system sys;
};

struct section_user *section_user_open(const char **why)
{
	struct section_user *u = aligned_alloc(PAGE, (sizeof(*u) + PAGE - 1) & ~(size_t)(PAGE - 1));

	*why = "memory is short";
	if (!u)
		return NULL;
	__builtin_memset(u, 0, sizeof(*u));
	*why = "the library does not come up here";
	if (xst_system_init(&u->sys, XST_WANT_ALL_USER) || xst_cpu_init(&u->sys, &u->cpu, 0) ||
	    xst_kernel_begin(&u->cpu, 0)) {
		free(u);
		return NULL;
	}
	xst_kernel_end(&u->cpu);
	return u;
}

void section_user_close(struct section_user *u)
{
	free(u);
}

static inline __attribute__((always_inline)) void work(const struct section_call *call)
{
	call->work(call->to, call->from, (unsigned)call->sources, SECTION_BLOCK);
}

void section_block_none(const struct section_call *call)
{
	work(call);
}

void section_block_0(const struct section_call *call)
{
	struct xst_cpu *cpu = call->cpu;

	if (xst_kernel_begin(cpu, 0))
		abort(); /* nothing else has a section here */
	work(call);
	xst_kernel_end(cpu);
}

void section_block_mxcsr(const struct section_call *call)
{
	struct xst_cpu *cpu = call->cpu;

	if (xst_kernel_begin(cpu, XST_NEED_MXCSR))
		abort();
	work(call);
	xst_kernel_end(cpu);
}

/* As a compiler's own copies of the two: with a call each. */
static int begin_called(void *cpu, unsigned need)
{
	return xst_kernel_begin(cpu, need);
}

static void end_called(void *cpu)
{
	xst_kernel_end(cpu);
}

void section_user_call(struct section_user *u, struct section_call *call)
{
	call->cpu = &u->cpu;
	call->in_place = &u->cpu.sections.in_place;
	call->begin = begin_called;
	call->end = end_called;
	call->mxcsr = 0x1f80;
}

void section_user_counters(const struct section_user *u, uint64_t out[4])
{
	out[0] = u->cpu.n.kernel_sections;
	out[1] = u->cpu.n.kernel_init_x87;
	out[2] = u->cpu.n.kernel_init_mxcsr;
	out[3] = u->cpu.n.kernel_saves;
}
