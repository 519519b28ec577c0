/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One turn of a ping-pong between two tasks: what a task does between two touches of its registers.
 * Compiled without vector instructions and without the C library, so that the state live at the
 * switch is the one that was made live.
 */
#ifndef TOOL_BENCH_TURN_H
#define TOOL_BENCH_TURN_H

#include <stddef.h>
#include <stdint.h>

/* What R15 points to in the loop of one task; touch_amx, touch_pkru and until_stopped of snip.def
 * read it at fixed offsets. */
struct pair_turn {
	uint8_t tilecfg[64];
	uint8_t tile[1024];
	uint32_t pkru;
	uint32_t broken; /* the other one did not answer; wait no more */
	uint32_t last;   /* this turn was the last one: @stop, read when the other
	                    one's message came, which is behind what it wrote there */
	uint32_t unused;
	volatile uint32_t *stop;
	int out, in;             /* descriptors of this task's end */
	volatile uint32_t *wake; /* futex word of the other one */
	volatile uint32_t *wait; /* futex word of this one */
	uint32_t seen;           /* what @wait was when this task last went on */
};

_Static_assert(offsetof(struct pair_turn, tile) == 64, "touch_amx");
_Static_assert(offsetof(struct pair_turn, pkru) == 1088, "touch_pkru");
_Static_assert(offsetof(struct pair_turn, last) == 1096, "until_stopped");

/**
 * turn_yield() - sched_yield().
 * turn_send() - the one who begins: a byte out, a byte in.
 * turn_answer() - the other one: a byte in, a byte out.
 * turn_futex_send() - wake the other one, wait until it has woken us.
 * turn_futex_answer() - the other way round.
 * @turn: a struct pair_turn.
 *
 * All of them switch to the other task once and come back.
 */
void turn_yield(void *turn);
void turn_send(void *turn);
void turn_answer(void *turn);
void turn_futex_send(void *turn);
void turn_futex_answer(void *turn);

/**
 * turn_futex_wait() - sleep until *@word is no longer @old, at most about @ms milliseconds.
 * turn_futex_wake() - one more on *@word, and wake who sleeps on it.
 *
 * Return: 0, or -1 when the time was over.
 */
int turn_futex_wait(volatile uint32_t *word, uint32_t old, unsigned ms);
void turn_futex_wake(volatile uint32_t *word);

#endif
