/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * User-level threads on one kernel thread, switched by libxst in its user-mode world: each has a
 * stack, its integer registers, and all of its extended state.
 *
 * A fiber leaves the CPU in one of three ways:
 *
 *   it yields      an ordinary call, but one that preserves every register
 *   at return      a signal interrupts it; the handler lets sigreturn go on in fiber_preempt_entry,
 *                  on the fiber's stack, where it is switched as if it had yielded
 *   inside         a signal interrupts it; the handler itself switches, and the fiber lies there in
 *                  its handler until it is switched to again
 *
 * Where its registers are meanwhile differs. The kernel writes a signal frame with all extended
 * state and gives the handler INIT registers; sigreturn loads the frame. So "at return" the truth is
 * back in the registers when the engine saves them, and the frame is gone. "Inside", the truth stays
 * in the frame on the fiber's stack; what the engine saves and loads are the handler's registers, and
 * sigreturn does the rest. Both may be mixed with yields: to the engine a fiber is what it finds in
 * the registers at the switch, and what it has put there before.
 *
 * At return the frame lies directly below the fiber's red zone until sigreturn has read it: a handler
 * that pushes a return address there overwrites the frame's second magic number, and sigreturn loads
 * x87 and SSE only. So the address waits in a variable.
 *
 * The engine must not be interrupted by another switch: a flag takes the place of "interrupts off".
 * The files that run between a fiber and the engine are compiled with -mgeneral-regs-only, as a
 * kernel is.
 */
#ifndef FIBER_H
#define FIBER_H

#include <stdbool.h>

#include "xst.h"

#define FIBER_STACK_BYTES (256u * 1024)

struct fiber {
	void *sp; /* while it does not run; below it are its integer registers */
	struct xst_ctx fpu;
	struct fiber *next; /* a ring of all that are not done */
	void (*run)(void *argument);
	void *argument;
	uint8_t *memory, *area;
};

enum fiber_how { FIBER_AT_RETURN, FIBER_INSIDE };

struct fiber_counts {
	uint64_t yields;
	uint64_t by_timer, by_raise; /* preemptions: a switch that a signal made */
	uint64_t put_off;            /* signals that came during a switch */
};

extern struct fiber_counts fiber_counts;
extern struct xst_system fiber_system;

/* Bring the engine up for this thread. @policy: a name. 0, or a negative enum xst_status. */
int fibers_init(const char *policy, enum fiber_how how);

/* Let the timer interrupt whoever runs, every @ns. 0, or -1 with errno. */
int fibers_timer(long ns);

/* Make a fiber that will call @run. 0, or -1 when memory is short. */
int fiber_start(struct fiber *f, void (*run)(void *argument), void *argument);

/* Run all fibers until each has returned from its function. */
void fibers_run(void);

void fiber_free(struct fiber *f);

/* For fibers; both preserve every register, extended state included. */
void fiber_yield(void);
void fiber_raise(void); /* preempt me, here and now */

/* entry.S */
void fiber_stack_switch(void **from, void *to);
void fiber_first_entry(void);
void fiber_preempt_entry(void);
extern const uint8_t fiber_preempt_exit[], fiber_preempt_end[];
void fiber_preempted(void);
extern volatile int fiber_busy;
extern uint64_t fiber_resume;
_Noreturn void fiber_begin(void);

#endif
