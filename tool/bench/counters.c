// SPDX-License-Identifier: BSD-2-Clause
/*
 * perf_event_open(2) for one thread. Many virtual machines have no PMU, and many kernels forbid
 * it; both are normal, and the reason is told apart.
 */
#include "counters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

const struct counter_kind counters_core[2] = {
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
};

static void say_why(struct counters *c, int error)
{
	const char *text = error == ENOENT || error == EOPNOTSUPP || error == ENODEV
				   ? "this machine has no performance monitoring unit"
			   : error == EACCES || error == EPERM
				   ? "the kernel forbids it (kernel.perf_event_paranoid)"
			   : error == ENOSYS ? "this kernel has no perf events"
					     : strerror(error);

	snprintf(c->why_not, sizeof(c->why_not), "%s", text);
}

bool counters_open(struct counters *c, const struct counter_kind *kinds, unsigned n)
{
	memset(c, 0, sizeof(*c));
	for (unsigned i = 0; i < n && i < COUNTERS_MAX; i++) {
		struct perf_event_attr attr = {
			.type = kinds[i].type,
			.size = sizeof(attr),
			.config = kinds[i].config,
			.disabled = i == 0,
			.exclude_kernel = 1,
			.exclude_hv = 1,
			.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
				       PERF_FORMAT_TOTAL_TIME_RUNNING,
		};

		c->fd[i] = (int)syscall(SYS_perf_event_open, &attr, 0, -1, i ? c->fd[0] : -1,
					PERF_FLAG_FD_CLOEXEC);
		if (c->fd[i] < 0) {
			say_why(c, errno);
			counters_close(c);
			return false;
		}
		c->n = i + 1;
	}
	return c->n > 0;
}

void counters_start(const struct counters *c)
{
	ioctl(c->fd[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	ioctl(c->fd[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

bool counters_stop(const struct counters *c, uint64_t *values)
{
	uint64_t buf[3 + COUNTERS_MAX]; /* how many, time enabled, time running, values */
	size_t want = (3 + c->n) * sizeof(buf[0]);

	ioctl(c->fd[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	if (read(c->fd[0], buf, sizeof(buf)) != (ssize_t)want || buf[0] != c->n)
		return false;
	memcpy(values, buf + 3, c->n * sizeof(buf[0]));
	return buf[1] == buf[2];
}

void counters_close(struct counters *c)
{
	for (unsigned i = c->n; i > 0; i--)
		close(c->fd[i - 1]);
	c->n = 0;
}
