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

/* One call, and @call is kept over the work in all three: else a call more or a register pushed would
 * count as the section's. */
void section_block_none(const struct section_call *call)
{
	work(call);
	__asm__ volatile("" : : "r"(call) : "memory");
}

static inline __attribute__((always_inline)) void begin(const struct section_call *call, unsigned need)
{
	if (xst_kernel_begin(call->cpu, need))
		abort(); /* nothing else has a section here */
}

void section_block_0(const struct section_call *call)
{
	begin(call, 0);
	work(call);
	xst_kernel_end(call->cpu);
}

void section_block_mxcsr(const struct section_call *call)
{
	begin(call, XST_NEED_MXCSR);
	work(call);
	xst_kernel_end(call->cpu);
}

#define PAIR(name, need)                                                                           \
	static void name(const struct section_call *call)                                          \
	{                                                                                          \
		begin(call, need);                                                                 \
		xst_kernel_end(call->cpu);                                                         \
	}
PAIR(pair_0, 0)
PAIR(pair_x87, XST_NEED_X87)
PAIR(pair_mxcsr, XST_NEED_MXCSR)
PAIR(pair_both, XST_NEED_X87 | XST_NEED_MXCSR)

void (*section_pair_of(unsigned need))(const struct section_call *call)
{
	static void (*const pair[])(const struct section_call *call) = {
		[0] = pair_0,
		[XST_NEED_X87] = pair_x87,
		[XST_NEED_MXCSR] = pair_mxcsr,
		[XST_NEED_X87 | XST_NEED_MXCSR] = pair_both,
	};

	return need < sizeof(pair) / sizeof(pair[0]) ? pair[need] : NULL;
}

void section_user_call(struct section_user *u, struct section_call *call)
{
	call->cpu = &u->cpu;
	call->in_place = &u->cpu.sections.in_place;
	call->mxcsr = 0x1f80;
}

void section_user_counters(const struct section_user *u, uint64_t out[4])
{
	out[0] = u->cpu.n.kernel_sections;
	out[1] = u->cpu.n.kernel_init_x87;
	out[2] = u->cpu.n.kernel_init_mxcsr;
	out[3] = u->cpu.n.kernel_saves;
}
