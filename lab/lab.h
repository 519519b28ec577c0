/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lab kernel's basics: output, the end, arguments, spinlocks and the
 * per-CPU structure. See task.h for tasks, engine.h for the library's events and
 * experiment.h for what an experiment is.
 */
#ifndef LAB_LAB_H
#define LAB_LAB_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdarg.h>
#include <xst/insn.h>
#include <xst/switch.h>
#include "arch.h"

#ifndef LAB_MAX_CPUS
#define LAB_MAX_CPUS 4
#endif

/* ---- spinlocks: taken with interrupts off, as all of the kernel runs ---- */
struct spinlock {
	uint32_t taken;
};

static inline void spin_lock(struct spinlock *lock)
{
	while (__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(&lock->taken, __ATOMIC_RELAXED))
			arch_pause();
}

static inline void spin_unlock(struct spinlock *lock)
{
	__atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}

/* ---- console.c: lines of text, JSON objects among them ---- */
void console_init(void);
__attribute__((format(printf, 1, 2))) void print(const char *format, ...);
void print_text(const char *text); /* the same, as it is */
size_t format_text(char *out, size_t size, const char *format, va_list args);
_Noreturn void lab_exit(bool ok);
_Noreturn void panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- args.c: the command line that the runner patched into the image ---- */
struct args {
	const char *experiment;
	const char *policy; /* a list, as xst_policy_item() reads it */
	uint32_t cpus;
	uint32_t tick;     /* timer period: LAPIC counts */
	uint32_t watchdog; /* millions of TSC ticks without progress before it is a hang */
	uint32_t use;      /* `preload`: slots in a row that use the registers */
	bool cet;          /* the engine switches CET_U as well, as an image of its own */
	bool ferr;         /* `pending`: CR0.NE clear, x87 exceptions come as IRQ 13 */
	uint32_t tasks;    /* `slots`: how many take turns */
	uint64_t seed;
	uint64_t loops; /* 0 = the experiment's own default */
	int preempt;    /* -1 = the experiment's own default */
};

extern struct args args;
void args_parse(void);

#define MAX_POLICIES 16

extern const struct xst_policy *policies[MAX_POLICIES];
extern unsigned policy_count;
void args_policies(void);

/* ---- everything random comes from the printed seed ---- */
static inline uint64_t mix64(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static inline uint64_t random_next(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15u;
	return mix64(*state);
}

/* ---- cpu.c ---- */
struct task;

struct run_queue {
	struct spinlock lock;
	struct task *head, *tail;
};

struct cpu {
	struct cpu *self; /* first: %gs:0 */
	uint32_t id, apic_id;
	struct task *current, *idle, *previous;
	bool need_resched, idling;
	bool fetch_wanted; /* another CPU asks for xst_cpu_evict() */
	bool offline;
	uint64_t fetches;  /* this CPU asked another one */
	uint64_t ticks, random;
	uint64_t progress; /* slots done by tasks here */
	struct run_queue queue;
	struct xst_cpu fpu;
	uint64_t gdt[7];
	struct tss tss;
};

extern struct cpu cpus[LAB_MAX_CPUS];
extern uint32_t cpu_count; /* CPUs taking part */

static inline struct cpu *this_cpu(void)
{
	struct cpu *cpu;

	__asm__ volatile("mov %%gs:0, %0" : "=r"(cpu));
	return cpu;
}

void cpu_init(uint32_t id);
void trap_entry(struct frame *frame);
void trap_exit(struct frame *frame);
/* Where a fault at @ip goes on, 0: nowhere. */
uintptr_t trap_fixup(uintptr_t ip);

/* Which machine this is: emulator defects are known by name. */
enum machine { MACHINE_METAL, MACHINE_QEMU_TCG, MACHINE_BOCHS, MACHINE_OTHER_VM };
enum machine machine_kind(void);
const char *machine_name(void);
bool console_is_debug_port(void);

/* ---- main.c ---- */
extern struct xst_system lab_system;
void lab_main(void);
_Noreturn void lab_ap_main(uint32_t id);
void lab_tick(struct cpu *cpu);
uint64_t lab_progress(void);
extern uint64_t lab_total; /* slots the experiment expects in all */

#endif
