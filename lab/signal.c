// SPDX-License-Identifier: BSD-2-Clause
/*
 * Delivering signals and returning from them, the extended state through sigframe.h.
 *
 * General registers stay in the kernel: they are not the library's. A frame that is refused costs
 * the task its registers and nothing else: it goes on where it was, with fresh ones. (Linux would
 * end it there.)
 */
#include "signal.h"

#include <xst/sigframe.h>

#include "engine.h"
#include "xst_port.h"

#define PAGE_BYTES 4096u

#ifdef __x86_64__
#define KIND XST_FRAME_64
#else
#define KIND XST_FRAME_32
#endif

struct signal_counts signal_counts;

static struct {
	bool has_handler, pending, handling;
	enum damage damage;
	struct frame saved;
} states[MAX_TASKS];

static uint8_t scratch[AREA_BYTES];

extern const uint8_t __ubss_start[], __ubss_end[];

/* User memory that programs may write; what is missing in it faults, and that ends the copy. */
static bool is_user(const void *at, size_t bytes)
{
	const uintptr_t start = (uintptr_t)at;

	return start >= (uintptr_t)__ubss_start && start <= (uintptr_t)__ubss_end &&
	       bytes <= (uintptr_t)__ubss_end - start;
}

/* The count is 0 at the end, and the vector's number after a fault: cpu.c puts it there. */
static int copy(void *dst, const void *src, size_t bytes)
{
	__asm__ volatile("1:\trep movsb\n2:\n\t" XST_ASM_FIXUP("1b", "2b")
			 : "+c"(bytes), "+D"(dst), "+S"(src)
			 :
			 : "memory");
	return bytes != 0;
}

int lab_copy_to_user(void *dst, const void *src, size_t bytes)
{
	return !is_user(dst, bytes) || copy(dst, src, bytes);
}

int lab_copy_from_user(void *dst, const void *src, size_t bytes)
{
	return !is_user(src, bytes) || copy(dst, src, bytes);
}

static struct xst_uabi uabi_of(struct task *task)
{
	return (struct xst_uabi){.sys = &lab_system,
				 .ctx = &task->fpu,
				 .scratch = scratch,
				 .scratch_bytes = sizeof(scratch)};
}

static uint32_t frame_bytes(void)
{
	const int bytes = xst_sigframe_bytes(&lab_system, 0, KIND, NULL);

	if (bytes < 0)
		panic("frames have no size here: %s", xst_strerror(bytes));
	return (uint32_t)bytes;
}

void signal_prepare(const struct task *task)
{
	struct signal_block *s = &signal_blocks[task->id];
	struct user_block *own = &s->own;
	const struct user_block *user = task->user;

	if (task->id >= SIGNAL_TASKS)
		panic("task %u has no room for a handler", task->id);
	own->id = user->id + MAX_TASKS; /* values of its own */
	own->peer = user->id;
	own->features = user->features;
	own->mxcsr_mask = user->mxcsr_mask;
	own->pkru_init = user->pkru_init;
	own->seed = user->seed;
	own->random = ~user->random;
	own->live = LIVE_ALL;
	s->extended = lab_system.insn >= XST_INSN_XSAVE;
	s->fx_offset = KIND == XST_FRAME_32 ? XST_FRAME_LEGACY_BYTES : 0;
	states[task->id].has_handler = true;
	states[task->id].pending = states[task->id].handling = false;
}

void signal_raise(struct task *task, enum damage damage)
{
	if (!states[task->id].has_handler || damage >= DAMAGES)
		panic("task %u raises a signal that it cannot", task->id);
	states[task->id].pending = true;
	states[task->id].damage = damage;
}

void signal_send(struct task *task)
{
	if (!states[task->id].has_handler || states[task->id].handling || states[task->id].pending)
		return;
	signal_raise(task, DAMAGE_NONE);
	signal_counts.sent_by_timer++;
}

static void ended(const struct signal_block *s, enum outcome outcome, enum outcome expect)
{
	signal_counts.outcomes[outcome]++;
	signal_counts.damaged[s->damage]++;
	if (outcome == expect)
		return;
	signal_counts.unexpected++;
	print("a frame with damage %u came to outcome %u, and must to %u\n", s->damage, outcome,
	      expect);
}

/* A page that the frame at @at lies on: its first or its last. */
static uintptr_t page_of(uintptr_t at, uint64_t random)
{
	return (random & 1 ? at : at + frame_bytes() - 1) & ~(uintptr_t)(PAGE_BYTES - 1);
}

void signal_deliver(struct cpu *cpu, struct frame *frame)
{
	struct task *task = cpu->current;
	struct xst_uabi t = uabi_of(task);
	struct signal_block *s;
	uintptr_t at, missing;
	uint64_t random;
	int err;

	if (task->kernel || !states[task->id].pending || states[task->id].handling)
		return;
	s = &signal_blocks[task->id];
	random = random_next(&s->own.random);
	states[task->id].pending = false;
	s->damage = states[task->id].damage;
	/* Not always at the same place: sometimes across a page boundary. */
	at = xst_sigframe_place((uintptr_t)s->stack + SIGNAL_STACK_BYTES - (random & 0xff0),
				frame_bytes(), KIND);
	missing = page_of(at, random >> 16);
	engine_flush(cpu, task);
	if (s->damage == DAMAGE_PAGE_WRITE)
		mm_set_present(missing, false);
	err = xst_sigframe_write(&t, KIND, (void *)at, NULL);
	if (s->damage == DAMAGE_PAGE_WRITE)
		mm_set_present(missing, true);
	if (err) {
		ended(s, OUTCOME_NOT_DELIVERED,
		      s->damage == DAMAGE_PAGE_WRITE ? OUTCOME_NOT_DELIVERED : OUTCOME_RESTORED);
		return;
	}
	states[task->id].handling = true;
	states[task->id].saved = *frame;
	s->frame = at;
	engine_exec(cpu, task); /* handlers begin with fresh state */
	frame->ip = (uintptr_t)user_signal_handler;
	frame->FRAME_ARGUMENT = (uintptr_t)s;
	/* As after a call: the ABI wants the stack a word off a multiple of 16. */
	frame->sp = (at & ~(uintptr_t)15) - sizeof(uintptr_t);
}

void signal_return(struct cpu *cpu, struct frame *frame, uintptr_t at)
{
	struct task *task = cpu->current;
	struct signal_block *s = &signal_blocks[task->id];
	struct xst_uabi t = uabi_of(task);
	struct xst_frame found = {0};
	uintptr_t missing;
	int err;

	if (!states[task->id].handling)
		panic("task %u returns from no handler", task->id);
	missing = page_of(s->frame, random_next(&s->own.random));
	engine_flush(cpu, task);
	if (s->damage == DAMAGE_PAGE_READ)
		mm_set_present(missing, false);
	err = xst_sigframe_restore(&t, KIND, (const void *)at, &found, NULL);
	if (s->damage == DAMAGE_PAGE_READ)
		mm_set_present(missing, true);
	states[task->id].handling = false;
	*frame = states[task->id].saved;
	if (err) {
		engine_exec(cpu, task);
		ended(s, OUTCOME_REFUSED, s->expect);
		return;
	}
	engine_changed(cpu, task);
	ended(s, found.extended || !s->extended ? OUTCOME_RESTORED : OUTCOME_FX_ONLY, s->expect);
}
