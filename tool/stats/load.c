// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel's accounts of who ran. Dropped samples alone do not show a neighbour: a real-time
 * thread never loses its CPU to one, yet shares caches, memory and perhaps a core with it.
 */
#include "load.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/resource.h>

static double seconds_of(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool first_line(const char *path, char *line, int room)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(line, room, f);

	if (f)
		fclose(f);
	return ok;
}

bool stats_load_parse(const char *stat, const char *schedstat, double hz, struct stats_load *out)
{
	unsigned long long user, nice, sys, idle, iowait, irq, softirq, steal = 0, ran, waited;

	if (sscanf(stat, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &sys, &idle,
		   &iowait, &irq, &softirq, &steal) < 7)
		return false;
	out->busy = (double)(user + nice + sys + irq + softirq) / hz;
	out->stolen = (double)steal / hz;
	if (schedstat && sscanf(schedstat, "%llu %llu", &ran, &waited) == 2)
		out->waiting = (double)waited * 1e-9;
	else
		out->waiting = 0;
	return true;
}

void stats_load_read(struct stats_load *out)
{
	char stat[512], sched[128];
	bool have = first_line("/proc/thread-self/schedstat", sched, sizeof(sched));
	struct rusage usage;

	*out = (struct stats_load){.clock = seconds_of(CLOCK_MONOTONIC),
				   .own = seconds_of(CLOCK_PROCESS_CPUTIME_ID)};
	if (getrusage(RUSAGE_THREAD, &usage) == 0)
		out->involuntary = usage.ru_nivcsw;
	out->known = first_line("/proc/stat", stat, sizeof(stat)) &&
		     stats_load_parse(stat, have ? sched : NULL, (double)sysconf(_SC_CLK_TCK), out);
}

struct stats_company stats_load_between(const struct stats_load *before,
					const struct stats_load *after)
{
	double t = after->clock - before->clock;
	struct stats_company c = {.known = before->known && after->known && t > 0};

	c.involuntary = after->involuntary - before->involuntary;
	if (!c.known)
		return c;
	c.others = (after->busy - before->busy - (after->own - before->own)) / t;
	if (c.others < 0)
		c.others = 0; /* the kernel's ticks are coarse, our own account is not */
	c.steal = (after->stolen - before->stolen) / t;
	c.waiting = (after->waiting - before->waiting) / t;
	return c;
}
