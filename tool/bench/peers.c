// SPDX-License-Identifier: BSD-2-Clause
/*
 * The peers. This file is compiled without vector instructions, so that nothing but the switch under
 * test touches the state that is live.
 */
#include "peers.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <sys/mman.h>

#define STACK_BYTES (64u << 10)

#ifdef HAVE_BOOST_CONTEXT
/* Ref: Boost.Context, "Context switching with fcontext_t": the C entry points. */
struct transfer {
	void *context, *data;
};
extern struct transfer jump_fcontext(void *to, void *data);
extern void *make_fcontext(void *stack_top, size_t bytes, void (*start)(struct transfer));
#endif

struct peer {
	struct peer_call call;
	uint8_t *stack;
	void (*inside)(void *argument);
	void *inside_argument;
	void *sp[2]; /* hand_switch(): ours, the fiber's */
	ucontext_t context[2];
	jmp_buf jump[2];
	void *boost; /* the fiber's */
};

static void work(const struct peer *p)
{
	if (p->inside)
		p->inside(p->inside_argument);
}

/* By hand. */

static void hand_body(void *argument)
{
	struct peer *p = argument;

	for (;;) {
		work(p);
		hand_switch(&p->sp[1], &p->sp[0]);
	}
}

/* A new stack as hand_switch() leaves one: MXCSR and FCW, R15 to R12, RBX, RBP, where to go on. */
static void hand_prepare(struct peer *p, void (*body)(void *argument))
{
	static const uint32_t control[2] = {0x1f80, 0x037f};
	void *frame[10] = {0};
	void (*start)(void) = hand_start;

	memcpy(&frame[0], control, sizeof(control));
	frame[3] = p;                            /* R13 */
	memcpy(&frame[4], &body, sizeof(body));  /* R12 */
	memcpy(&frame[7], &start, sizeof(start)); /* return address */
	p->sp[1] = p->stack + STACK_BYTES - sizeof(frame);
	memcpy(p->sp[1], frame, sizeof(frame));
}

static void open_hand(struct peer *p)
{
	hand_prepare(p, hand_body);
	p->call.argument[0] = &p->sp[0];
	p->call.argument[1] = &p->sp[1];
	p->call.function = (void (*)(void *))(void (*)(void))hand_switch;
}

/* setjmp and longjmp between two stacks; these two do not save the signal mask. */

static void setjmp_body(void *argument)
{
	struct peer *volatile p = argument;

	if (!_setjmp(p->jump[1]))
		hand_switch(&p->sp[1], &p->sp[0]);
	for (;;) {
		work(p);
		if (!_setjmp(p->jump[1]))
			_longjmp(p->jump[0], 1);
	}
}

static void setjmp_turn(void *argument)
{
	struct peer *p = argument;

	if (!_setjmp(p->jump[0]))
		_longjmp(p->jump[1], 1);
}

static void open_setjmp(struct peer *p)
{
	hand_prepare(p, setjmp_body);
	hand_switch(&p->sp[0], &p->sp[1]);
	p->call.argument[0] = p;
	p->call.function = setjmp_turn;
}

/* glibc. */

static void ucontext_body(unsigned high, unsigned low)
{
	struct peer *p = (struct peer *)((uintptr_t)high << 32 | low);

	for (;;) {
		work(p);
		swapcontext(&p->context[1], &p->context[0]);
	}
}

static bool open_ucontext(struct peer *p)
{
	const uint64_t at = (uintptr_t)p;

	if (getcontext(&p->context[1]))
		return false;
	p->context[1].uc_stack.ss_sp = p->stack;
	p->context[1].uc_stack.ss_size = STACK_BYTES;
	p->context[1].uc_link = NULL;
	makecontext(&p->context[1], (void (*)(void))ucontext_body, 2, (unsigned)(at >> 32),
		    (unsigned)at);
	p->call.argument[0] = &p->context[0];
	p->call.argument[1] = &p->context[1];
	p->call.function = (void (*)(void *))(void (*)(void))swapcontext;
	return true;
}

/* boost.context: each arrival says where to go back to. */

#ifdef HAVE_BOOST_CONTEXT
static void boost_body(struct transfer from)
{
	struct peer *p = from.data;

	for (;;) {
		work(p);
		from = jump_fcontext(from.context, NULL);
	}
}

static void boost_turn(void *argument)
{
	struct peer *p = argument;

	p->boost = jump_fcontext(p->boost, p).context;
}

static bool open_boost(struct peer *p)
{
	p->boost = make_fcontext(p->stack + STACK_BYTES, STACK_BYTES, boost_body);
	p->call.argument[0] = p;
	p->call.function = boost_turn;
	return true;
}
#else
static bool open_boost(struct peer *p)
{
	(void)p;
	return false;
}
#endif

struct peer *peer_open(enum peer_kind which, void (*inside)(void *argument), void *argument,
		       const char **why)
{
	struct peer *p = calloc(1, sizeof(*p));
	bool ok = true;

	*why = "memory is short";
	if (!p)
		return NULL;
	p->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	if (p->stack == MAP_FAILED) {
		free(p);
		return NULL;
	}
	p->inside = inside;
	p->inside_argument = argument;
	if (which == PEER_HAND) {
		open_hand(p);
	} else if (which == PEER_SETJMP) {
		open_setjmp(p);
	} else if (which == PEER_UCONTEXT) {
		ok = open_ucontext(p);
		*why = "the system has no contexts";
	} else {
		ok = open_boost(p);
		*why = "built without boost.context";
	}
	if (ok)
		return p;
	peer_close(p);
	return NULL;
}

void peer_close(struct peer *p)
{
	if (!p)
		return;
	munmap(p->stack, STACK_BYTES);
	free(p);
}

const struct peer_call *peer_call(const struct peer *p)
{
	return &p->call;
}
