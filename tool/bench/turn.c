// SPDX-License-Identifier: BSD-2-Clause
/* The turns, as bare system calls. See turn.h. */
#include "turn.h"

#include <errno.h>
#include <time.h>
#include <linux/futex.h>
#include <sys/syscall.h>

static long call4(long number, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
	                 : "rcx", "r11", "memory");
	return result;
}

static void look(struct pair_turn *t)
{
	t->last = __atomic_load_n(t->stop, __ATOMIC_ACQUIRE);
}

void turn_yield(void *turn)
{
	call4(SYS_sched_yield, 0, 0, 0, 0);
	look(turn);
}

/* A signal may end a call early; a descriptor that is gone must not be an endless loop. */
static void transfer(long number, int fd)
{
	char byte = 'x';
	long n;

	do
		n = call4(number, fd, (long)&byte, 1, 0);
	while (n == -EINTR);
}

void turn_send(void *turn)
{
	const struct pair_turn *t = turn;

	transfer(SYS_write, t->out);
	transfer(SYS_read, t->in);
}

void turn_answer(void *turn)
{
	struct pair_turn *t = turn;

	transfer(SYS_read, t->in);
	look(t);
	transfer(SYS_write, t->out);
}

int turn_futex_wait(volatile uint32_t *word, uint32_t old, unsigned ms)
{
	struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == old) {
		long n = call4(SYS_futex, (long)word, FUTEX_WAIT, (long)old, (long)&limit);

		if (n == -ETIMEDOUT)
			return -1;
	}
	return 0;
}

void turn_futex_wake(volatile uint32_t *word)
{
	__atomic_add_fetch(word, 1, __ATOMIC_ACQ_REL);
	call4(SYS_futex, (long)word, FUTEX_WAKE, 1, 0);
}

static void pass(struct pair_turn *t)
{
	turn_futex_wake(t->wake);
}

static void await(struct pair_turn *t)
{
	if (t->broken)
		return;
	if (turn_futex_wait(t->wait, t->seen, 2000))
		t->broken = 1;
	t->seen++;
}

void turn_futex_send(void *turn)
{
	pass(turn);
	await(turn);
}

void turn_futex_answer(void *turn)
{
	await(turn);
	look(turn);
	pass(turn);
}
