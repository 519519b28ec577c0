/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ways to switch between two stacks that programs use today, to stand beside the library: by hand,
 * glibc's contexts, setjmp and longjmp, boost.context. One fiber is made; whoever has it goes there,
 * and the fiber comes back at once.
 */
#ifndef TOOL_BENCH_PEERS_H
#define TOOL_BENCH_PEERS_H

#include <stdbool.h>
#include <stddef.h>

enum peer_kind { PEER_HAND, PEER_SETJMP, PEER_BOOST, PEER_UCONTEXT, PEERS };

/* A function with up to three arguments, as snip.def's call_there wants it; with call_then another
 * one after it, which gets the first argument. */
struct peer_call {
	void *argument[3];
	void (*then)(void *);
	void (*function)(void *);
};

struct peer;

/**
 * peer_open() - make the fiber, which then waits for the first switch to it.
 * @which:  how it is switched to.
 * @inside: what the fiber does each time before it comes back; NULL for nothing.
 * @why:    out, on failure, a clause.
 *
 * Return: NULL when memory is short or this program was built without it.
 */
struct peer *peer_open(enum peer_kind which, void (*inside)(void *argument), void *argument,
		       const char **why);

/**
 * peer_close() - the fiber and its stack are gone; NULL is allowed.
 */
void peer_close(struct peer *p);

/**
 * peer_call() - the call that goes there and returns when the fiber has come back: two switches.
 */
const struct peer_call *peer_call(const struct peer *p);

/* hand.S */
void hand_switch(void **from, void **to);
void hand_start(void);

#endif
