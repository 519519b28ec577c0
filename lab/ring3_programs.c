// SPDX-License-Identifier: BSD-2-Clause
/*
 * The programs that run in user mode, one function each; experiments choose
 * among them (experiment.h) and set the block's parameters.
 *
 * A slot is what a task does between two times it gives the CPU away by itself.
 * A task that uses its registers in a slot first checks what it left in them and
 * then loads new values; a slot without use leaves them alone, and the next use
 * checks what they held all the while.
 */
#include "lab.h"
#include "ring3.h"

static uint64_t next_random(struct user_block *u)
{
	return random_next(&u->random);
}

static void use_registers(struct user_block *u)
{
	user_check(u);
	user_set_new(u, u->slots);
}

static bool uses_now(struct user_block *u, uint64_t i)
{
	switch (u->use) {
	case USE_ALWAYS:
		return true;
	case USE_SELDOM:
		return (next_random(u) & 15) == 0;
	case USE_CHANCE:
		/* 32 bits of it: no division of 64 bits, which 32-bit builds have not. */
		return (uint32_t)(next_random(u) >> 32) % 1000000 < u->use_million;
	case USE_FIRST:
		return i < u->use_first;
	default:
		return false;
	}
}

static _Noreturn void leave(struct user_block *u)
{
	/* Whatever the last slot left is checked too, in one more. */
	if (u->use != USE_NEVER && u->have_values) {
		user_check(u);
		u->slots++;
		u->uses++;
	}
	for (;;)
		user_syscall(SYS_EXIT, 0);
}

/* `yield`, `preload`: use or not, then give the CPU away. */
void user_worker(struct user_block *u)
{
	for (uint64_t i = 0; i < u->loops; i++) {
		if (uses_now(u, i)) {
			use_registers(u);
			u->used_up_to = i + 1;
		}
		u->slots++;
		user_syscall(SYS_YIELD, 0);
	}
	leave(u);
}

/* `pipe`: a byte goes round through two pipes; peer 0 sends first. */
void user_pipe(struct user_block *u)
{
	for (uint64_t i = 0; i < u->loops; i++) {
		if (uses_now(u, i))
			use_registers(u);
		u->slots++;
		if (u->peer == 0)
			user_syscall(SYS_PIPE_WRITE, 0);
		user_syscall(SYS_PIPE_READ, u->peer == 0 ? 1 : 0);
		if (u->peer != 0)
			user_syscall(SYS_PIPE_WRITE, 1);
	}
	leave(u);
}

/* `guest`: a thread that runs a virtual CPU, and has registers of its own meanwhile. */
void user_vcpu(struct user_block *u)
{
	bool more;

	do {
		use_registers(u);
		u->slots++;
		more = user_syscall(SYS_EXPERIMENT, 1 + (next_random(u) & 31));
	} while (more);
	leave(u);
}

/* Some time in user mode, for the timer to interrupt. */
static void spin(uint64_t rounds)
{
	for (volatile uint64_t i = 0; i < rounds; i++)
		;
}

/* `flip`, the crowd of `leak`: anything, in any order. */
void user_mixed(struct user_block *u)
{
	/*
	 * The first look comes before any register is written: INIT for a fresh task, the
	 * parent's values for a forked one.
	 */
	if (u->inherited || (u->use != USE_NEVER && (next_random(u) & 3))) {
		user_check(u);
		u->fork_checks += u->inherited;
		u->inherited = false;
	}
	for (uint64_t i = 0; i < u->loops; i++) {
		uint64_t r = next_random(u);

		if (uses_now(u, i))
			use_registers(u);
		if ((r & 7) == 0)
			spin((r >> 8) & 0xfff);
		if ((r & 0x70) == 0 && u->use == USE_ALWAYS)
			user_check(u);
		u->slots++;
		if (u->flips && (uint32_t)i % u->flips == 0)
			user_syscall(SYS_FLIP, (uint32_t)(r >> 32));
		if (u->lifecycle && ((r >> 20) & 15) == 0)
			user_syscall(SYS_FORK, 0);
		if (u->lifecycle && ((r >> 24) & 31) == 0) {
			user_syscall(SYS_EXEC, 0);
			u->have_values = false;
			if (u->use != USE_NEVER && (r & 0x80))
				user_check(u);
		}
		if (u->migrates && ((r >> 16) & 3) == 0) {
			u->migrations++;
			user_syscall(SYS_MIGRATE, (uint32_t)(r >> 40) % u->cpus);
		} else if (r & 0x100) {
			user_syscall(SYS_YIELD, 0);
		}
	}
	leave(u);
}

/*
 * `leak`, the lonely part: there and back with a change in between, while nobody
 * else touches the registers of the CPU that was left. Only an engine that knows
 * the task was elsewhere may not take them for the task's.
 */
void user_migrator(struct user_block *u)
{
	for (uint64_t i = 0; i < u->loops; i++) {
		uint64_t r = next_random(u);

		if (uses_now(u, i))
			use_registers(u);
		u->slots++;
		u->migrations++;
		user_syscall(SYS_MIGRATE, (uint32_t)i % u->cpus);
		if (r & 1)
			use_registers(u);
		if (r & 2)
			user_syscall(SYS_YIELD, 0);
	}
	leave(u);
}

/*
 * `pending`: the divide by zero of one slot comes in the next one, whoever ran and
 * whatever CPU this is by then.
 */
void user_pending(struct user_block *u)
{
	static const uint16_t unmasked = 0x37b; /* zero divide */

	for (uint64_t i = 0; i < u->loops; i++) {
		uint64_t r = next_random(u), arrivals = u->fault_arrivals;
		uint32_t came;

		u->fault_pending = true;
		u->faults_left++;
		user_x87_fault(&unmasked);
		u->slots++;
		if (u->migrates && (r & 1))
			user_syscall(SYS_MIGRATE, (uint32_t)(r >> 32) % u->cpus);
		else
			user_syscall(SYS_YIELD, 0);
		came = u->features & FEATURE_MF_ANY ? user_x87_next() : user_x87_wait();
		if (u->features & FEATURE_FERR)
			came = u->fault_arrivals != arrivals;
		u->faults_came += came;
		user_check_fault(u, came, unmasked);
		user_x87_clear();
		u->fault_pending = false;
	}
	leave(u);
}

/* `kthread`: both peers enter the kernel and stay there for many hand-overs. */
void user_handoff(struct user_block *u)
{
	for (uint64_t i = 0; i < u->loops; i++) {
		use_registers(u);
		u->slots++;
		user_syscall(SYS_HANDOFF, u->use_first);
	}
	leave(u);
}

/*
 * `signal`: now and then one to itself, whose frame comes to harm; what is in the registers
 * afterwards the handler knows. The timer sends others at any moment, whose frames do not.
 */
void user_signal(struct user_block *u)
{
	for (uint64_t i = 0; i < u->loops; i++) {
		uint64_t r = next_random(u);

		use_registers(u);
		if (r & 1) {
			user_syscall(SYS_RAISE, user_signal_damage(u));
			user_check(u);
		} else if (r & 2) {
			spin((r >> 8) & 0xff);
		}
		u->slots++;
		user_syscall(SYS_YIELD, 0);
	}
	leave(u);
}

/* `selftest-watchdog`: alive, but no slot is ever done. */
void user_hang(struct user_block *u)
{
	for (;;)
		(void)*(volatile uint64_t *)&u->slots;
}
