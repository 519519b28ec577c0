// SPDX-License-Identifier: BSD-2-Clause
/*
 * Compiled with the engine for user mode, without vector instructions, as the engine itself is.
 */
#include "library.h"

#include <stdlib.h>

#include <xst/bringup.h>

struct library {
	struct xst_system sys;
	struct xst_cpu cpu;
	struct xst_ctx task[2];
	struct peer_call call;
};

struct library *library_open(uint64_t want, size_t area_bytes, const char *policy,
			     const char **why)
{
	struct library *l = aligned_alloc(64, (sizeof(*l) + 63) & ~(size_t)63);
	struct xst_policy p;

	*why = "memory is short";
	if (!l)
		return NULL;
	__builtin_memset(l, 0, sizeof(*l));
	*why = "the library does not come up here";
	if (xst_system_init(&l->sys, want) || xst_cpu_init(&l->sys, &l->cpu, 0) ||
	    l->sys.ctx_bytes > area_bytes || xst_policy_parse(policy, &p, NULL))
		goto fail;
	*why = "the library refuses this policy here";
	if (xst_cpu_set_policy(&l->cpu, &p, 0, NULL))
		goto fail;
	*why = "no XGETBV with ECX = 1";
	if (p.skip_init && !l->sys.xgetbv1)
		goto fail;
	l->call = (struct peer_call){.argument = {&l->cpu, &l->task[0], &l->task[1]},
				     .function = (void (*)(void *))(void (*)(void))xst_switch};
	/* What a kernel does on the way to user mode. */
	if (p.load == XST_LOAD_RETURN)
		l->call.then = (void (*)(void *))(void (*)(void))xst_return_to_user;
	return l;
fail:
	free(l);
	return NULL;
}

void library_close(struct library *l)
{
	free(l);
}

void library_place(void *world, void *a, void *b)
{
	struct library *l = world;

	if (l->cpu.cur)
		xst_ctx_exit(&l->cpu, l->cpu.cur);
	if (xst_ctx_init(&l->sys, &l->task[0], a, l->sys.ctx_bytes) ||
	    xst_ctx_init(&l->sys, &l->task[1], b, l->sys.ctx_bytes))
		abort(); /* areas were checked by library_open() */
	xst_switch(&l->cpu, NULL, &l->task[0]);
	xst_return_to_user(&l->cpu);
}

const struct peer_call *library_call(const struct library *l)
{
	return &l->call;
}

const struct xst_system *library_system(const struct library *l)
{
	return &l->sys;
}

const struct xst_counters *library_counters(const struct library *l)
{
	return &l->cpu.n;
}
