// SPDX-License-Identifier: BSD-2-Clause
/* Two pipes of one byte each: a reader waits for the byte, a writer for its room. */
#include "task.h"

#define PIPES 2u

static struct pipe {
	struct spinlock lock;
	bool full;
	struct wait_queue readers, writers;
} pipes[PIPES];

void pipe_read(unsigned number)
{
	struct pipe *pipe = &pipes[number % PIPES];

	spin_lock(&pipe->lock);
	while (!pipe->full)
		task_wait(&pipe->readers, &pipe->lock);
	pipe->full = false;
	task_wake_one(&pipe->writers);
	spin_unlock(&pipe->lock);
}

void pipe_write(unsigned number)
{
	struct pipe *pipe = &pipes[number % PIPES];

	spin_lock(&pipe->lock);
	while (pipe->full)
		task_wait(&pipe->writers, &pipe->lock);
	pipe->full = true;
	task_wake_one(&pipe->readers);
	spin_unlock(&pipe->lock);
}
