// SPDX-License-Identifier: BSD-2-Clause
/*
 * The scheduler's and the FPU's tracepoints, as programs inside the kernel: what happened, and for a
 * task that leaves, whether the image that was saved is another one than that saved before. So a slot
 * that used the registers is told from one in which they were merely live.
 *
 * An image is compared by a digest of its values. A component that is INIT counts as one that holds
 * the values of INIT: hardware may mark it in use or not. Words are read through bpf_rdonly_cast()
 * (Linux 6.2), which a kernel in lockdown has too; bpf_probe_read_kernel() it has not.
 *
 * Compiled by clang for BPF. Structs are the kernel's: only the fields used, found by its BTF.
 */
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

/* Ref: Linux, include/uapi/linux/bpf.h */
enum { BPF_MAP_TYPE_PERCPU_ARRAY = 6, BPF_MAP_TYPE_LRU_HASH = 9, BPF_MAP_TYPE_RINGBUF = 27 };
enum { BPF_ANY, BPF_RB_NO_WAKEUP };

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "record/event.h"

#define KERNEL __attribute__((preserve_access_index))

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
} KERNEL;

#define TS_COMPAT 2 /* in a system call of a 32-bit program */

struct thread_info {
	__u32 status;
} KERNEL;

struct task_struct {
	struct thread_info thread_info;
	int pid;
	char comm[EVENT_COMM];
	struct signal_struct *signal;
} KERNEL;

struct sigaction {
	void (*sa_handler)(int number);
} KERNEL;

struct k_sigaction {
	struct sigaction sa;
} KERNEL;

struct fxregs_state {
	__u32 mxcsr, xmm_space[64];
} KERNEL;

struct xstate_header {
	__u64 xfeatures, xcomp_bv;
} KERNEL;

struct xregs_state {
	struct fxregs_state i387;
	struct xstate_header header;
} KERNEL;

union fpregs_state {
	struct xregs_state xsave;
} KERNEL;

struct fpstate {
	union fpregs_state regs;
} KERNEL;

struct fpu {
	struct fpstate *fpstate;
} KERNEL;

extern void *bpf_rdonly_cast(void *obj, __u32 btf_id) __ksym;

const volatile struct event_config config = {};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} events SEC(".maps");

/* A word of each for each CPU. */
enum {
	WORD_LOST,   /* events that found no room */
	WORD_COPIED, /* the digest of what a fork under way copied */
	WORD_IMAGE,  /* where the image is that is looked at */
	WORD_COUNT,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WORD_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} cpu_words SEC(".maps");

/* By thread id: the digest of what was saved last. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __s32);
	__type(value, __u64);
} digests SEC(".maps");

static __always_inline __u64 *cpu_word(__u32 which)
{
	return bpf_map_lookup_elem(&cpu_words, &which);
}

#define WORDS      32u /* of struct fxregs_state's XMM registers, through which all is read */
#define XMM_OFFSET 160u

/* Nothing for a word of 0, so that INIT needs no care; and no two words undo each other. */
static __always_inline __u64 mix(__u64 word, __u64 place)
{
	word ^= word >> 29;
	word *= (2 * place + 1) * 0x9e3779b97f4a7c15ull;
	return word ^ word >> 32;
}

/* @count words from @address; a function of its own is verified once. */
__noinline __u64 digest_words(__u64 address, __u32 count, __u64 place)
{
	struct fxregs_state *at = bpf_rdonly_cast((void *)(address - XMM_OFFSET),
						  bpf_core_type_id_kernel(struct fxregs_state));
	const __u64 *words = (const __u64 *)at->xmm_space;
	__u64 sum = 0;

#pragma unroll
	for (__u32 i = 0; i < WORDS; i++)
		if (i < count)
			sum += mix(words[i], place + i);
	return sum;
}

/* x87 without what SSE has between its parts; MXCSR and XMM. */
static __always_inline __u64 digest_legacy(__u64 image, __u64 live, const struct xregs_state *x)
{
	__u64 sum = 0;

	/* FCW is 37FH and MXCSR 1F80H in INIT: a word of either is moved to 0 there. */
	if (live & 1)
		sum += digest_words(image, 3, 1000) - mix(0x37f, 1000) +
		       digest_words(image + 32, 16, 1032);
	if (live & 2)
		sum += mix(x->i387.mxcsr ^ 0x1f80, 1003) +
		       digest_words(image + XMM_OFFSET, 32, 1160);
	return sum;
}

__noinline __u64 digest_component(__u64 image, __u32 offset, __u32 which)
{
	__u64 sum = 0;
	__u32 bytes;

	if (which >= EVENT_COMPS)
		return 0;
	bytes = config.bytes[which];
	for (__u32 at = 0; at < 8192; at += 8 * WORDS) {
		if (at >= bytes)
			break;
		sum += digest_words(image + offset + at,
				    bytes - at < 8 * WORDS ? (bytes - at) / 8 : WORDS,
				    which << 16 | at);
	}
	return sum;
}

static __always_inline __u64 digest(struct fpu *fpu)
{
	struct xregs_state *x = &fpu->fpstate->regs.xsave;
	const __u64 live = x->header.xfeatures, form = x->header.xcomp_bv;
	volatile __u64 *place = cpu_word(WORD_IMAGE);
	__u64 image, sum;
	__u32 next = 576; /* legacy region and header */

	if (!place)
		return 0;
	/* A pointer that was in memory is a number. */
	*place = (__u64)x;
	image = *place;
	sum = digest_legacy(image, live & config.guarded, x);
	for (__u32 i = 2; i < EVENT_COMPS; i++) {
		__u32 offset = config.standard[i];

		if (form >> 63) {
			if (!(form >> i & 1))
				continue;
			if (config.align64 >> i & 1)
				next = (next + 63) & ~63u;
			offset = next;
			next += config.bytes[i];
		}
		if ((live & config.guarded) >> i & 1)
			sum += digest_component(image, offset, i);
	}
	return sum;
}

static __always_inline struct event *begin(enum event_kind kind)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e) {
		__u64 *lost = cpu_word(WORD_LOST);

		if (lost)
			++*lost;
		return 0;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->ns = bpf_ktime_get_ns();
	e->cpu = bpf_get_smp_processor_id();
	e->pid = (int)bpf_get_current_pid_tgid();
	e->prev = e->other = -1;
	e->kind = kind;
	bpf_get_current_comm(e->own, sizeof(e->own));
	return e;
}

/* The recorder looks by itself: waking it would be part of what is recorded. */
static __always_inline int end(struct event *e)
{
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline void copy_comm(char *to, struct task_struct *task)
{
	const __u64 *from = (const __u64 *)task->comm;

	((__u64 *)to)[0] = from[0];
	((__u64 *)to)[1] = from[1];
}

SEC("tp_btf/sched_switch")
int on_switch(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct event *e = begin(EVENT_SWITCH);

	if (!e)
		return 0;
	e->prev = prev->pid;
	e->other = next->pid;
	e->flag = ctx[0] != 0; /* preempted: runnable, whatever the state says */
	e->arg = (__u32)ctx[3];
	copy_comm(e->comm, next);
	return end(e);
}

SEC("tp_btf/sched_migrate_task")
int on_migrate(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct event *e = begin(EVENT_MIGRATE);

	if (!e)
		return 0;
	e->other = task->pid;
	e->arg = (__u32)ctx[1];
	return end(e);
}

SEC("tp_btf/sched_process_fork")
int on_fork(__u64 *ctx)
{
	struct task_struct *child = (void *)ctx[1];
	const __s32 pid = child->pid;
	__u64 *copied = cpu_word(WORD_COPIED);
	struct event *e;

	if (copied)
		bpf_map_update_elem(&digests, &pid, copied, BPF_ANY);
	e = begin(EVENT_FORK);
	if (!e)
		return 0;
	e->other = pid;
	copy_comm(e->comm, child);
	return end(e);
}

SEC("tp_btf/sched_process_exec")
int on_exec(__u64 *ctx)
{
	const __s32 pid = (__s32)bpf_get_current_pid_tgid();
	const __u64 init = 0;
	struct event *e;

	bpf_map_update_elem(&digests, &pid, &init, BPF_ANY);
	e = begin(EVENT_EXEC);
	if (!e)
		return 0;
	e->other = (int)ctx[1];
	return end(e);
}

SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	const __s32 pid = task->pid;
	struct event *e;

	bpf_map_delete_elem(&digests, &pid);
	e = begin(EVENT_EXIT);
	if (!e)
		return 0;
	e->flag = !task->signal->live.counter;
	return end(e);
}

SEC("tp_btf/sched_process_wait")
int on_wait(__u64 *ctx)
{
	struct event *e = begin(EVENT_WAIT);

	(void)ctx;
	return e ? end(e) : 0;
}

static __always_inline int on_fpu(enum event_kind kind, struct fpu *fpu)
{
	struct event *e = begin(kind);

	if (!e)
		return 0;
	e->arg = (__u32)fpu->fpstate->regs.xsave.header.xfeatures;
	return end(e);
}

SEC("tp_btf/x86_fpu_regs_activated")
int on_activated(__u64 *ctx)
{
	return on_fpu(EVENT_ACTIVATED, (void *)ctx[0]);
}

SEC("tp_btf/x86_fpu_regs_deactivated")
int on_deactivated(__u64 *ctx)
{
	struct fpu *fpu = (void *)ctx[0];
	const __s32 pid = (__s32)bpf_get_current_pid_tgid();
	const __u64 now = digest(fpu);
	__u64 *before = bpf_map_lookup_elem(&digests, &pid);
	const __u8 changed = !before || *before != now;
	struct event *e;

	if (changed)
		bpf_map_update_elem(&digests, &pid, &now, BPF_ANY);
	e = begin(EVENT_DEACTIVATED);
	if (!e)
		return 0;
	e->arg = (__u32)fpu->fpstate->regs.xsave.header.xfeatures;
	e->changed = changed;
	return end(e);
}

SEC("tp_btf/x86_fpu_dropped")
int on_dropped(__u64 *ctx)
{
	return on_fpu(EVENT_DROPPED, (void *)ctx[0]);
}

SEC("tp_btf/x86_fpu_copy_dst")
int on_copied(__u64 *ctx)
{
	struct fpu *fpu = (void *)ctx[0];
	__u64 *copied = cpu_word(WORD_COPIED);

	if (copied)
		*copied = digest(fpu);
	return on_fpu(EVENT_COPIED, fpu);
}

SEC("tp_btf/signal_deliver")
int on_signal(__u64 *ctx)
{
	struct k_sigaction *action = (void *)ctx[2];
	struct event *e = begin(EVENT_SIGNAL);

	if (!e)
		return 0;
	/* SIG_DFL is 0, SIG_IGN 1. */
	e->flag = (__u64)action->sa.sa_handler > 1;
	return end(e);
}

SEC("tp_btf/sys_enter")
int on_syscall(__u64 *ctx)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const __u64 number = ctx[1];
	struct event *e;

	/* rt_sigreturn; of a 32-bit program, sigreturn too */
	if (task->thread_info.status & TS_COMPAT ? number != 119 && number != 173 : number != 15)
		return 0;
	e = begin(EVENT_SIGRETURN);
	return e ? end(e) : 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
