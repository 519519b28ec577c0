/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals of `signal`: sent by the task itself or by the timer, through the library's frames. */
#ifndef LAB_SIGNAL_H
#define LAB_SIGNAL_H

#include "lab.h"
#include "task.h"

void signal_prepare(const struct task *task); /* it has a handler from now on */
void signal_raise(struct task *task, enum damage damage);
void signal_send(struct task *task); /* at any moment; nothing while it handles one */
void signal_deliver(struct cpu *cpu, struct frame *frame); /* before user mode goes on */
void signal_return(struct cpu *cpu, struct frame *frame, uintptr_t at);

/* What happened so far. */
struct signal_counts {
	uint64_t sent_by_timer, damaged[DAMAGES], outcomes[OUTCOMES];
	uint64_t unexpected; /* another outcome than the handler said */
};

extern struct signal_counts signal_counts;

#endif
