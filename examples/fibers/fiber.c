// SPDX-License-Identifier: BSD-2-Clause
/* The fibers of fiber.h. Compiled with -mgeneral-regs-only: it runs with a fiber's registers. */
#include "fiber.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

struct fiber_counts fiber_counts;
struct xst_system fiber_system;

static struct xst_cpu cpu;
static struct fiber main_fiber, *current = &main_fiber;
static enum fiber_how how;
static int pid, tid;
static timer_t timer;
static bool has_timer;

/* "Interrupts off": the handler then only notes that it was there. */
volatile int fiber_busy;
/* Where the fiber that is being preempted at return goes on: one at a time, as it is busy. */
uint64_t fiber_resume;
/* Is the signal blocked? It is in a handler, and stays so when the handler switches away. */
static bool blocked;

/* Who comes after @f; the main fiber only when no other is left. */
static struct fiber *successor(const struct fiber *f)
{
	return f->next == &main_fiber ? main_fiber.next : f->next;
}

static void switch_to(struct fiber *next)
{
	struct fiber *prev = current;

	if (next == prev)
		return;
	current = next;
	xst_switch(&cpu, &prev->fpu, &next->fpu);
	xst_return_to_user(&cpu);
	/* From here on the registers are next's, and no C of this file touches them. */
	fiber_stack_switch(&prev->sp, next->sp);
}

static void set_blocked(bool wanted)
{
	const uint64_t set = 1ull << (SIGUSR1 - 1);
	long ret = SYS_rt_sigprocmask;
	register long size __asm__("r10") = sizeof(set);

	if (blocked == wanted)
		return;
	blocked = wanted;
	/* The system call itself: the C library may use vector registers around it. */
	__asm__ volatile("syscall"
			 : "+a"(ret)
			 : "D"(wanted ? SIG_BLOCK : SIG_UNBLOCK), "S"(&set), "d"(NULL), "r"(size)
			 : "rcx", "r11", "memory");
}

void fiber_yield(void)
{
	fiber_busy = 1;
	fiber_counts.yields++;
	switch_to(successor(current));
	/* Whoever switched here may have been in a handler, which this is not. */
	set_blocked(false);
	fiber_busy = 0;
}

void fiber_raise(void)
{
	long ret = SYS_tgkill;

	__asm__ volatile("syscall"
			 : "+a"(ret)
			 : "D"(pid), "S"(tid), "d"(SIGUSR1)
			 : "rcx", "r11", "memory");
}

/* On the fiber's stack, its registers in place; busy from the handler until entry.S is done. */
void fiber_preempted(void)
{
	switch_to(successor(current));
	set_blocked(false);
}

/* The fiber goes on in fiber_preempt_entry, which returns to where it was. Nothing is pushed for it
 * here: below the red zone lies the frame, whose end sigreturn is about to check, and with another
 * value there it loads x87 and SSE only and sets all other components to INIT. */
static void preempt_at_return(ucontext_t *uc)
{
	greg_t *rip = &uc->uc_mcontext.gregs[REG_RIP];

	fiber_resume = (uint64_t)*rip;
	*rip = (greg_t)(uintptr_t)fiber_preempt_entry;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	const uint8_t *rip = (const uint8_t *)uc->uc_mcontext.gregs[REG_RIP];
	const bool leaving = rip >= fiber_preempt_exit && rip < fiber_preempt_end;

	(void)number;
	/* No preemption on top of one that is nearly over: the stack would grow without end. */
	if (fiber_busy || leaving || successor(current) == current) {
		fiber_counts.put_off++;
		return;
	}
	fiber_busy = 1;
	if (info->si_code == SI_TIMER)
		fiber_counts.by_timer++;
	else
		fiber_counts.by_raise++;
	if (how == FIBER_AT_RETURN) {
		preempt_at_return(uc);
		return;
	}
	blocked = true;
	switch_to(successor(current));
	/* A yield may have brought us back; sigreturn unblocks, and not before. */
	set_blocked(true);
	fiber_busy = 0;
	blocked = false;
}

/* Pages of its own: the stack below, and the area above it, which is aligned as XSAVE wants it. */
static bool get_memory(struct fiber *f)
{
	f->memory = mmap(NULL, FIBER_STACK_BYTES + fiber_system.ctx_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f->memory == MAP_FAILED)
		f->memory = NULL;
	f->area = f->memory ? f->memory + FIBER_STACK_BYTES : NULL;
	return f->memory != NULL;
}

int fibers_init(const char *policy, enum fiber_how when)
{
	struct sigaction act = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	const struct xst_policy *p = xst_policy_by_name(policy);
	int err;

	if (!p)
		return XST_ERR_INVALID;
	how = when;
	pid = getpid();
	tid = (int)syscall(SYS_gettid);
	err = xst_system_init(&fiber_system, XST_WANT_ALL_USER);
	if (!err)
		err = xst_cpu_init(&fiber_system, &cpu, 0);
	if (!err)
		err = xst_cpu_set_policy(&cpu, p, XST_BOUND, NULL);
	if (err)
		return err;
	fiber_free(&main_fiber);
	current = main_fiber.next = &main_fiber;
	/* It has a stack, of course; the one that comes with the area stays unused. */
	if (!get_memory(&main_fiber))
		return XST_ERR_NEED_BYTES;
	err = xst_ctx_init(&fiber_system, &main_fiber.fpu, main_fiber.area,
			   fiber_system.ctx_bytes);
	if (err || sigaction(SIGUSR1, &act, NULL))
		return err ? err : XST_ERR_UNSUPPORTED;
	xst_switch(&cpu, NULL, &main_fiber.fpu);
	xst_return_to_user(&cpu);
	fiber_counts = (struct fiber_counts){0};
	return XST_OK;
}

int fibers_timer(long ns)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	const struct itimerspec every = {{0, ns}, {0, ns}};

	event.sigev_notify_thread_id = tid;
	if (!has_timer && timer_create(CLOCK_MONOTONIC, &event, &timer))
		return -1;
	has_timer = true;
	return timer_settime(timer, 0, &every, NULL);
}

/* The first code of a fiber, with its fresh registers. */
_Noreturn void fiber_begin(void)
{
	struct fiber *f, *before;

	set_blocked(false);
	fiber_busy = 0;
	current->run(current->argument);
	fiber_busy = 1;
	/* Out of the ring; its stack is in use until the switch is done, and never again. */
	for (before = current; before->next != current; before = before->next)
		;
	before->next = current->next;
	f = successor(current);
	xst_ctx_exit(&cpu, &current->fpu);
	current = f;
	xst_switch(&cpu, NULL, &f->fpu);
	xst_return_to_user(&cpu);
	fiber_stack_switch(&(void *){NULL}, f->sp);
	__builtin_unreachable();
}

int fiber_start(struct fiber *f, void (*run)(void *argument), void *argument)
{
	uint64_t *sp;

	*f = (struct fiber){.run = run, .argument = argument};
	if (!get_memory(f))
		return -1;
	if (xst_ctx_init(&fiber_system, &f->fpu, f->area, fiber_system.ctx_bytes)) {
		fiber_free(f);
		return -1;
	}
	/* What fiber_stack_switch() pops: six registers and an address. */
	sp = (uint64_t *)(void *)f->area - 2;
	*--sp = (uint64_t)(uintptr_t)fiber_first_entry;
	f->sp = sp - 6;
	f->next = main_fiber.next;
	main_fiber.next = f;
	return 0;
}

void fiber_free(struct fiber *f)
{
	if (f->memory)
		munmap(f->memory, FIBER_STACK_BYTES + fiber_system.ctx_bytes);
	*f = (struct fiber){0};
}

void fibers_run(void)
{
	while (main_fiber.next != &main_fiber)
		fiber_yield();
	if (has_timer)
		timer_settime(timer, 0, &(struct itimerspec){{0, 0}, {0, 0}}, NULL);
}
