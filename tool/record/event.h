/* SPDX-License-Identifier: BSD-2-Clause */
/* What the programs in the kernel (events.bpf.c) and the recorder (bpf.c) say to each other. */
#ifndef RECORD_EVENT_H
#define RECORD_EVENT_H

#define EVENT_COMM  16
#define EVENT_COMPS 20 /* components 0 to 19 */

/* As enum trace_kind, which is not for BPF programs. */
enum event_kind {
	EVENT_SWITCH,
	EVENT_MIGRATE,
	EVENT_FORK,
	EVENT_EXEC,
	EVENT_EXIT,
	EVENT_WAIT,
	EVENT_ACTIVATED,
	EVENT_DEACTIVATED,
	EVENT_DROPPED,
	EVENT_COPIED,
	EVENT_SIGNAL,
	EVENT_SIGRETURN,
	EVENT_KINDS,
};

struct event {
	unsigned long long ns;
	unsigned int cpu;
	int pid;           /* of the task that runs */
	int prev, other;
	unsigned int arg;  /* DEACTIVATED: XSTATE_BV; MIGRATE: the CPU; SWITCH: the state of prev */
	unsigned char kind, flag, changed, reserved;
	char own[EVENT_COMM], comm[EVENT_COMM];
};

/* What a CPU's images look like. */
struct event_config {
	unsigned long long guarded;         /* components that are looked at */
	unsigned int bytes[EVENT_COMPS];    /* 0: the CPU has no such component */
	unsigned int standard[EVENT_COMPS]; /* where, in the standard format */
	unsigned int align64;               /* compacted, these begin at a multiple of 64 */
	unsigned int reserved;
};

#endif
