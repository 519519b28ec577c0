/* SPDX-License-Identifier: BSD-2-Clause */
/* The tasks of a trace while it is read: small numbers for thread ids, used again after an exit. */
#ifndef SIM_TASKS_H
#define SIM_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "read/trace.h"

#define IDLE           0u /* the task of number 0 is every CPU's idle task */
#define NO_TASK        0xffffffffu
#define TASKS_PID_PAGE 4096
#define TASKS_PIDS     (TRACE_PID_MAX / TASKS_PID_PAGE)

struct task {
	int32_t pid;
	int32_t parent;
	uint32_t next_free;
	uint16_t cpu;       /* where it runs, plus 1 */
	bool alive, kernel;
	bool dying;         /* sched_process_exit was seen */
	bool last_thread;   /* of its process, which ends with it */
	bool gone;          /* its EXIT is written */
	bool child_exited;  /* SIGCHLD is pending, if it is handled */
	bool handles;
	uint16_t to_release; /* children that are over */
	bool waits;         /* for one of them */
	/* Must it have been in user mode before the exec that comes next? Not when it was last seen
	 * live inside the exec: waiting for the disk, or being moved by sched_exec(). */
	bool user_before_exec;
	bool fresh;         /* forked, and its first slot is not over */
	bool exec_written;  /* before its event */
	char name[TRACE_COMM];
};

struct tasks {
	struct task *task;
	uint32_t count, room, free_list;
	uint32_t *pids[TASKS_PIDS]; /* thread id to task plus 1 */
	const char *why;            /* the first thing that could not be done */
};

bool tasks_begin(struct tasks *t);
void tasks_end(struct tasks *t);

/**
 * tasks_find() - the number of a thread id, or NO_TASK.
 */
uint32_t tasks_find(struct tasks *t, int32_t pid);

/**
 * tasks_take() - a number for a new task; NO_TASK with t->why when there is none.
 *
 * t->task may move.
 */
uint32_t tasks_take(struct tasks *t, int32_t pid, const char *name, bool kernel);

/**
 * tasks_free() - the number may be given to another task.
 */
void tasks_free(struct tasks *t, uint32_t n);

/**
 * tasks_move() - task @n has thread id @pid from now on; false with t->why.
 */
bool tasks_move(struct tasks *t, uint32_t n, int32_t pid);

/**
 * task_rename() - false when that is its name already.
 */
bool task_rename(struct task *t, const char *name);

#endif
