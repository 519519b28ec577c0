// SPDX-License-Identifier: BSD-2-Clause
/*
 * The lab kernel's main line.
 *
 *   boot.S            reset vector, multiboot, long mode, application processors
 *   boot32.S lab32.ld the 32-bit kernel in the same image, of the same files
 *   entry*.S cpu.c    traps in and out; what an exception means
 *   tables*.c mm*.c   GDT, TSS, IDT; page tables
 *   apic.c            timer, wake-ups, starting CPUs
 *   console.c         text, and the end of the emulator
 *   args.c            the command line in the image
 *   task.c            tasks, run queues, idle
 *   syscall.c pipe.c  what user mode may ask for
 *   signal.c          delivering signals and returning from them
 *   sections.c simd.S the kernel's own use of registers
 *   engine.c          the lab's calls of libxst: cost, events, CR0.TS seen from outside
 *   guest*.c svm.c vmx.c guest_enter.S  virtual machines, by either kind of hardware
 *   hypervisor.c      a thread that runs a virtual CPU
 *   ring3_*           user mode: register access, checks, programs; guests' too
 *   experiments.c     the list; exp_*.c one each
 *   report.c          the JSON lines
 *   lib.c             memset and friends
 */
#include "lab.h"
#include <xst/bringup.h>
#include "xst_port.h"
#include "engine.h"
#include "experiment.h"
#include "report.h"
#include "sections.h"
#include "task.h"

#define AP_WAIT_ROUNDS 20000000u

struct xst_system lab_system;
uint64_t lab_total;

static uint32_t cpus_online = 1, cpus_go;
static uint64_t watchdog_limit, progress_interval;
static uint64_t progress_at, progress_value, progress_shown_at;
static struct spinlock tick_lock;

void lab_assert_failed(const char *condition, const char *file, int line)
{
	panic("assertion failed: %s (%s:%d)", condition, file, line);
}

uint64_t lab_clock(void)
{
	return arch_rdtsc();
}

uint64_t lab_progress(void)
{
	uint64_t sum = 0;

	for (uint32_t id = 0; id < cpu_count; id++)
		sum += cpus[id].progress;
	for (unsigned i = 0; i < MAX_TASKS; i++)
		sum += user_blocks[i].slots;
	return sum;
}

/* Any CPU's timer looks after all of them. Interrupts are off. */
void lab_tick(struct cpu *cpu)
{
	uint64_t now = arch_rdtsc(), progress = lab_progress();
	bool show = false, hang = false;

	spin_lock(&tick_lock);
	if (progress != progress_value || !progress_at) {
		progress_value = progress;
		progress_at = now;
	}
	/* Another CPU may have written a time slightly ahead of this CPU's. */
	hang = now > progress_at && now - progress_at > watchdog_limit;
	if (now > progress_shown_at && now - progress_shown_at > progress_interval) {
		progress_shown_at = now;
		show = true;
	}
	spin_unlock(&tick_lock);
	if (hang)
		panic("hang: no task finished a slot for %llu million ticks of the TSC",
		      (unsigned long long)(watchdog_limit / 1000000));
	if (show)
		report_progress();
	if (experiment->sections)
		sections_at_random(cpu, XST_CONTEXT_HARDIRQ);
	experiment_tick(cpu);
	if (args.preempt)
		cpu->need_resched = true;
}

/* Ticks are instructions where they are counted and in Bochs, else some gigahertz. */
static void set_intervals(void)
{
	struct engine_totals totals;
	bool slow;

	engine_totals(&totals);
	slow = totals.counted || machine_kind() == MACHINE_BOCHS;
	progress_interval = slow ? 50000000 : 2000000000;
	watchdog_limit = slow ? 1000000000 : 20000000000;
	if (args.watchdog)
		watchdog_limit = args.watchdog * 1000000ull;
	progress_shown_at = arch_rdtsc();
}

static void start_other_cpus(void)
{
	if (args.cpus == 1)
		return;
#ifndef __x86_64__
	report_skipped("the 32-bit lab has one CPU");
#else
	apic_start_others();
	for (unsigned i = 0; i < AP_WAIT_ROUNDS; i++) {
		if (__atomic_load_n(&cpus_online, __ATOMIC_ACQUIRE) >= args.cpus)
			return;
		arch_pause();
	}
	report_skipped("the machine has fewer CPUs than asked for");
#endif
}

static _Noreturn void run(struct cpu *cpu)
{
	cpu->random = mix64(args.seed + cpu->id);
	apic_timer_start(args.tick);
	task_idle_loop(cpu);
}

void lab_main(void)
{
	struct cpu *cpu = &cpus[0];
	int err;

	console_init();
	cpu_init(0);
	mm_protect();
	task_idle_init(cpu);
	args_parse();
	args_policies();
	experiment_choose();
	cpu_count = args.cpus;
	experiment_early(cpu);
	err = xst_system_init(&lab_system, XST_WANT_ALL_USER | (args.cet ? XST_MASK_CET_U : 0) |
						   (experiment->guests ? XST_WANT_GUEST_CET : 0));
	if (err)
		panic("xst_system_init: %s", xst_strerror(err));
	start_other_cpus();
	engine_calibrate();
	engine_cpu_start(cpu, policies[0]);
	if (args.ferr) {
		xst_write_cr0(xst_read_cr0() & ~XST_CR0_NE);
		apic_x87_irq();
	}
	report_boot();
	set_intervals();
	experiment_start();
	__atomic_store_n(&cpus_go, 1, __ATOMIC_RELEASE);
	run(cpu);
}

void lab_ap_main(uint32_t id)
{
	struct cpu *cpu = &cpus[id];

	if (id >= args.cpus)
		arch_halt();
	cpu_init(id);
	task_idle_init(cpu);
	engine_cpu_start(cpu, policies[0]);
	__atomic_add_fetch(&cpus_online, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&cpus_go, __ATOMIC_ACQUIRE))
		arch_pause();
	run(cpu);
}
