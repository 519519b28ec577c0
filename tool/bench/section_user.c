// SPDX-License-Identifier: BSD-2-Clause
/* Compiled with the engine for user mode, without vector instructions, as the engine itself is. */
#include "section.h"

#include <stdlib.h>

#include <xst/bringup.h>
#include <xst/kernel.h>

struct section_user {
	struct xst_system sys;
	struct xst_cpu cpu;
};

struct section_user *section_user_open(const char **why)
{
	struct section_user *u = aligned_alloc(64, (sizeof(*u) + 63) & ~(size_t)63);

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

void section_user_call(struct section_user *u, struct section_call *call)
{
	call->cpu = &u->cpu;
	call->in_place = &u->cpu.sections.in_place;
	call->begin = (int (*)(void *, unsigned))(void (*)(void))xst_kernel_begin;
	call->end = (void (*)(void *))(void (*)(void))xst_kernel_end;
	call->mxcsr = 0x1f80;
}

void section_user_counters(const struct section_user *u, uint64_t out[4])
{
	out[0] = u->cpu.n.kernel_sections;
	out[1] = u->cpu.n.kernel_init_x87;
	out[2] = u->cpu.n.kernel_init_mxcsr;
	out[3] = u->cpu.n.kernel_saves;
}
