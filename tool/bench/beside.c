// SPDX-License-Identifier: BSD-2-Clause
/*
 * The other program runs behind a terminal of its own, since most print by the line only to one.
 * Its first line covers its start and is thrown away; the second counts, timed by our clock.
 */
#include "beside.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "stats/plan.h"

#define PATIENCE_MS 10000 /* for a line */
#define OUR_SECONDS 1.0
#define END_TRIES   50 /* of 10 ms, for a shell that is ending */
#define TRY_LOOPS   2000

bool beside_total(const char *line, double *total)
{
	const char *at = strstr(line, "total:");
	char *end;

	if (!at)
		return false;
	*total = strtod(at + 6, &end);
	return end != at + 6 && isfinite(*total) && *total > 0;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Waits for the next line with a total; false when the program ended or is silent. */
static bool next_total(int fd, char *line, size_t room, double *total, double *at)
{
	size_t n = 0;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		char c;

		if (poll(&p, 1, PATIENCE_MS) <= 0 && errno != EINTR)
			return false;
		if (read(fd, &c, 1) != 1)
			return false;
		if (c != '\n' && n + 1 < room) {
			line[n++] = c;
			continue;
		}
		line[n] = 0;
		n = 0;
		*at = now();
		if (beside_total(line, total))
			return true;
	}
}

/* Why there were no two lines, from how the shell ended if it did by itself. */
static const char *why_no_rate(int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return "the shell finds no such program";
	if (WIFEXITED(status) && WEXITSTATUS(status) == 126)
		return "the shell cannot run it";
	if (WIFEXITED(status))
		return "the program ended before two lines with total:NUMBER were printed";
	return "the program prints no two lines with total:NUMBER";
}

static bool their_rate(const char *program, double *rate, const char **why)
{
	char line[512];
	double total, first, second;
	int terminal, end, status;
	pid_t pid;
	bool ok;

	*why = "no terminal can be had for it";
	if (openpty(&terminal, &end, NULL, NULL, NULL))
		return false;
	pid = fork();
	if (pid == 0) {
		/* A group, to be ended as one; no session: the scheduler may treat those apart. */
		setpgid(0, 0);
		signal(SIGPIPE, SIG_DFL);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < 3; i++)
			dup2(end, i);
		close(end);
		close(terminal);
		execl("/bin/sh", "sh", "-c", program, (char *)NULL);
		_exit(127);
	}
	close(end);
	if (pid < 0) {
		close(terminal);
		return false;
	}
	setpgid(pid, pid);
	ok = next_total(terminal, line, sizeof(line), &total, &first) &&
	     next_total(terminal, line, sizeof(line), &total, &second);
	if (ok)
		*rate = total / (second - first);
	close(terminal);
	/* When the terminal ended by itself the shell is about to, with a status that says why. */
	for (int i = 0; !ok && i < END_TRIES; i++) {
		struct timespec moment = {.tv_nsec = 10 * 1000 * 1000};

		if (waitpid(pid, &status, WNOHANG) == pid) {
			*why = why_no_rate(status);
			kill(-pid, SIGKILL);
			return false;
		}
		nanosleep(&moment, NULL);
	}
	kill(-pid, SIGKILL);
	waitpid(pid, &status, 0);
	*why = why_no_rate(status);
	return ok;
}

static bool our_rate(struct bench_rig *rig, enum pair_who who, int cpu, struct pair_work work,
                     double *rate)
{
	struct pair pair;
	struct stats_slice slice = {0};
	const char *why;
	bool ok = pair_open(&pair, rig, who, cpu, &why) && !pair.missing[work.how];

	if (ok) {
		work.loops = TRY_LOOPS;
		pair_measure(&pair, rig, &work, 64, &slice, NULL);
		work.loops = (uint32_t)(OUR_SECONDS * rig->tick_hz / slice.ticks * TRY_LOOPS);
		ok = !slice.failed && work.loops > 0;
	}
	if (ok) {
		slice = (struct stats_slice){0};
		pair_measure(&pair, rig, &work, 64, &slice, NULL);
		*rate = 2.0 * work.loops / (slice.ticks / rig->tick_hz);
		ok = !slice.failed;
	}
	pair_close(&pair);
	return ok;
}

bool beside_measure(struct beside *b, struct bench_rig *rig, enum pair_who who, int cpu,
                    const struct pair_work *work, uint64_t seed, const volatile sig_atomic_t *stop,
                    void (*done)(uint32_t blocks), const char **why)
{
	struct stats_plan plan = {.seed = seed, .blocks = b->blocks, .arms = 2};
	double *x = malloc(b->blocks * sizeof(*x));

	b->theirs = calloc(b->blocks, sizeof(*b->theirs));
	b->ours = calloc(b->blocks, sizeof(*b->ours));
	*why = "memory is short";
	if (!x || !b->theirs || !b->ours)
		goto fail;
	while (b->done < b->blocks && !*stop) {
		uint32_t order[2], i = b->done;

		stats_plan_block(&plan, i, order);
		for (int k = 0; k < 2; k++) {
			if (order[k]) {
				*why = "our own pair does not run";
				if (!our_rate(rig, who, cpu, *work, &b->ours[i]))
					goto fail;
			} else if (!their_rate(b->program, &b->theirs[i], why)) {
				goto fail;
			}
		}
		x[i] = log(b->theirs[i] / b->ours[i]);
		b->done++;
		if (done)
			done(b->done);
	}
	stats_spread_of(b->theirs, b->done, &b->their_spread);
	stats_spread_of(b->ours, b->done, &b->our_spread);
	stats_estimate_of(x, b->done, stats_seed_mix(seed, 1), &b->ratio);
	free(x);
	return true;
fail:
	free(x);
	return false;
}

void beside_close(struct beside *b)
{
	free(b->theirs);
	free(b->ours);
	b->theirs = b->ours = NULL;
}
