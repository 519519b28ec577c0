// SPDX-License-Identifier: BSD-2-Clause
/* Numbers for tasks: a table of thread ids in pages, and a list of numbers that are free again. */
#include "sim/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "sim/programs.h"
#include "sim/rec.h"

static uint32_t *pid_slot(struct tasks *t, int32_t pid)
{
	uint32_t **page;

	if (pid < 0 || pid >= TRACE_PID_MAX) {
		t->why = "a thread id is out of range";
		return NULL;
	}
	page = &t->pids[pid / TASKS_PID_PAGE];
	if (!*page)
		*page = calloc(TASKS_PID_PAGE, sizeof(**page));
	if (!*page)
		t->why = "out of memory";
	return *page ? &(*page)[pid % TASKS_PID_PAGE] : NULL;
}

uint32_t tasks_find(struct tasks *t, int32_t pid)
{
	const uint32_t *p;

	if (pid == 0)
		return IDLE;
	p = pid_slot(t, pid);
	return p && *p ? *p - 1 : NO_TASK;
}

static uint32_t take_number(struct tasks *t)
{
	struct task *more;

	if (t->free_list != NO_TASK) {
		const uint32_t n = t->free_list;

		t->free_list = t->task[n].next_free;
		return n;
	}
	if (t->count == t->room) {
		if (t->room == REC_TASKS_MAX) {
			t->why = "more tasks at one time than can be";
			return NO_TASK;
		}
		more = realloc(t->task, 2 * t->room * sizeof(*more));
		if (!more) {
			t->why = "out of memory";
			return NO_TASK;
		}
		t->task = more;
		t->room *= 2;
	}
	return t->count++;
}

uint32_t tasks_take(struct tasks *t, int32_t pid, const char *name, bool kernel)
{
	uint32_t *p = pid_slot(t, pid), n;
	struct task *task;

	if (!p)
		return NO_TASK;
	n = take_number(t);
	if (n == NO_TASK)
		return NO_TASK;
	*p = n + 1;
	task = &t->task[n];
	*task = (struct task){ .pid = pid, .parent = -1, .alive = true, .kernel = kernel,
			       .handles = program_handles_sigchld(name), .user_before_exec = true };
	memcpy(task->name, name, TRACE_COMM);
	return n;
}

void tasks_free(struct tasks *t, uint32_t n)
{
	struct task *task = &t->task[n];
	uint32_t *p = pid_slot(t, task->pid);

	if (p && *p == n + 1)
		*p = 0;
	task->alive = false;
	task->next_free = t->free_list;
	t->free_list = n;
}

bool tasks_move(struct tasks *t, uint32_t n, int32_t pid)
{
	uint32_t *to = pid_slot(t, pid), *from = pid_slot(t, t->task[n].pid);

	if (!to || !from)
		return false;
	*from = 0;
	*to = n + 1;
	t->task[n].pid = pid;
	return true;
}

bool task_rename(struct task *t, const char *name)
{
	if (!*name || !strncmp(t->name, name, TRACE_COMM))
		return false;
	memcpy(t->name, name, TRACE_COMM);
	t->handles = program_handles_sigchld(name);
	return true;
}

bool tasks_begin(struct tasks *t)
{
	t->room = 256;
	t->task = calloc(t->room, sizeof(*t->task));
	if (!t->task)
		return false;
	t->task[IDLE] = (struct task){ .kernel = true, .alive = true, .name = "idle" };
	t->count = 1;
	t->free_list = NO_TASK;
	return true;
}

void tasks_end(struct tasks *t)
{
	for (unsigned i = 0; i < TASKS_PIDS; i++)
		free(t->pids[i]);
	free(t->task);
}
