/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two tasks that switch to each other: this one, which is timed, and a partner that lives as long
 * as the run. What both do is chosen anew for every slice; no process is made for it.
 */
#ifndef TOOL_BENCH_PAIR_H
#define TOOL_BENCH_PAIR_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "rig.h"
#include "turn.h"

enum pair_how { PAIR_YIELD, PAIR_PIPE, PAIR_FUTEX, PAIR_UDP, PAIR_TCP, PAIR_HOWS };

/* Who the partner is, and where. */
enum pair_who {
	PAIR_PROCESS, /* on the same CPU */
	PAIR_THREAD,
	PAIR_IDLE, /* a process on another CPU: both are idle while they wait */
	PAIR_WHOS
};

extern const char *const pair_how_name[PAIR_HOWS], *const pair_who_name[PAIR_WHOS];

/* What one slice does. */
struct pair_work {
	enum pair_how how;
	enum snip touch_first, touch_second; /* this task's, the partner's */
	uint32_t chain;                      /* multiplies between fences, in this task; 0: none */
	uint32_t loops;                      /* measured round trips */
};

struct pair_shared;

struct pair {
	enum pair_who who;
	const char *missing[PAIR_HOWS]; /* why this partner cannot be reached so, or NULL */
	struct pair_shared *shared;     /* seen by both, whoever the partner is */
	struct bench_state state;       /* the partner's own */
	struct code_buffer code;        /* the partner's own */
	int fd[PAIR_HOWS][2][2];        /* [how][0 this task, 1 partner][0 out, 1 in] */
	pid_t pid;
	pthread_t thread;
	bool running, dead;
	clockid_t clock;   /* CPU time of the partner */
	int cpu;           /* it runs on */
	double wall, lost; /* of all slices, s: how long they took; when neither had the CPU */
};

/* What a slice was, beside its time. */
struct pair_count {
	uint64_t switches; /* of this task, by the kernel's account */
	uint64_t loops;    /* in which they happened, warm ones included */
};

/**
 * pair_open() - make the partner and everything they talk through.
 * @rig: open; the partner inherits CPU and scheduling class.
 * @cpu: the partner's, for PAIR_IDLE.
 * @why: out, on failure, a clause.
 *
 * Return: false when there can be no such partner.
 */
bool pair_open(struct pair *pair, struct bench_rig *rig, enum pair_who who, int cpu,
               const char **why);

/**
 * pair_partner_seconds() - CPU time that a partner of its own process took; 0 for a thread.
 */
double pair_partner_seconds(const struct pair *pair);

/**
 * pair_close() - end the partner; a pair that was never opened may be closed.
 */
void pair_close(struct pair *pair);

/**
 * pair_measure() - one slice.
 * @rig:   of this task.
 * @out:   as for struct stats_bench. @out->switched says that something else had the CPU.
 * @count: added to; may be NULL.
 */
void pair_measure(struct pair *pair, struct bench_rig *rig, const struct pair_work *work,
                  uint64_t placement, struct stats_slice *out, struct pair_count *count);

#endif
