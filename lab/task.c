// SPDX-License-Identifier: BSD-2-Clause
/* Tasks, the scheduler, and the idle thread; task.h has the rules. */
#include "task.h"
#include "engine.h"
#include "experiment.h"

#define STACK_BYTES 8192u

struct task tasks[MAX_TASKS];
uint32_t live_tasks;
enum moving task_moving;

static struct task idle_tasks[LAB_MAX_CPUS];
static uint8_t stacks[MAX_TASKS][STACK_BYTES] __attribute__((aligned(64)));
static uint8_t areas[MAX_TASKS][AREA_BYTES] __attribute__((aligned(64)));
static struct spinlock table_lock; /* who takes a TASK_FREE entry */

static void queue_put(struct run_queue *queue, struct task *task)
{
	spin_lock(&queue->lock);
	task->next = NULL;
	if (queue->tail)
		queue->tail->next = task;
	else
		queue->head = task;
	queue->tail = task;
	spin_unlock(&queue->lock);
}

static struct task *queue_take(struct run_queue *queue)
{
	struct task *task;

	spin_lock(&queue->lock);
	task = queue->head;
	if (task) {
		queue->head = task->next;
		if (!queue->head)
			queue->tail = NULL;
		task->next = NULL;
	}
	spin_unlock(&queue->lock);
	return task;
}

static bool queue_empty(const struct run_queue *queue)
{
	return !__atomic_load_n(&queue->head, __ATOMIC_SEQ_CST);
}

/* @task is ready and on no CPU. */
static void enqueue(struct task *task)
{
	struct cpu *target = &cpus[task->cpu];

	/* Who comes too late for this waits until the CPU is back. */
	if (__atomic_load_n(&target->offline, __ATOMIC_SEQ_CST)) {
		task->cpu = 0;
		target = &cpus[0];
	}
	queue_put(&target->queue, task);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (target != this_cpu() && __atomic_load_n(&target->idling, __ATOMIC_SEQ_CST))
		apic_send_vector(target->apic_id, VECTOR_WAKEUP);
}

/* Runs on the next task's stack: now, and not before, the previous one may run elsewhere. */
static void finish_switch(void)
{
	struct cpu *cpu = this_cpu();
	struct task *previous = cpu->previous;
	enum task_state state;

	if (previous == cpu->idle)
		return;
	if (!previous->kernel && previous->state == TASK_READY && previous->cpu != cpu->id)
		engine_moving(cpu, previous);
	spin_lock(&previous->lock);
	__atomic_store_n(&previous->on_cpu, false, __ATOMIC_RELEASE);
	state = previous->state;
	spin_unlock(&previous->lock);
	if (state == TASK_READY) {
		enqueue(previous);
	} else if (state == TASK_DEAD) {
		if (previous->kernel)
			__atomic_store_n(&previous->state, TASK_FREE, __ATOMIC_RELEASE);
		else
			experiment_task_ended(previous);
	}
}

static struct xst_ctx *context_of(struct task *task)
{
	if (task->kernel || task->state == TASK_DEAD)
		return NULL;
	return task->guest ? task->guest : &task->fpu;
}

static void schedule(void)
{
	struct cpu *cpu = this_cpu();
	struct task *previous = cpu->current;
	struct task *next;

	/* An interrupt that the task's x87 unit asked for is this task's. */
	if (args.ferr)
		arch_irq_window();
	next = queue_take(&cpu->queue);
	if (!next) {
		bool stays;

		spin_lock(&previous->lock);
		stays = previous->state == TASK_READY && previous->cpu == cpu->id;
		spin_unlock(&previous->lock);
		if (stays)
			return;
		next = cpu->idle;
	}
	cpu->previous = previous;
	cpu->current = next;
	next->on_cpu = true;
	tables_set_kernel_stack(cpu, next->stack_top);
	engine_switch(cpu, previous, context_of(previous), next, context_of(next));
	arch_switch_stack(&previous->sp, next->sp);
	finish_switch();
}

void task_begin(void)
{
	finish_switch();
}

void task_yield(void)
{
	schedule();
}

void task_move(uint32_t cpu)
{
	struct task *self = this_cpu()->current;

	spin_lock(&self->lock);
	self->cpu = cpu;
	spin_unlock(&self->lock);
	schedule();
}

/* Called with @lock held, which guards the queue; returns with it held. */
void task_wait(struct wait_queue *queue, struct spinlock *lock)
{
	struct task *self = this_cpu()->current;

	self->next = NULL;
	if (queue->tail)
		queue->tail->next = self;
	else
		queue->head = self;
	queue->tail = self;
	spin_lock(&self->lock);
	self->state = TASK_BLOCKED;
	spin_unlock(&self->lock);
	spin_unlock(lock);
	schedule();
	spin_lock(lock);
}

/* Called with the queue's lock held. */
void task_wake_one(struct wait_queue *queue)
{
	struct task *task = queue->head;
	bool off_cpu;

	if (!task)
		return;
	queue->head = task->next;
	if (!queue->head)
		queue->tail = NULL;
	task->next = NULL;
	spin_lock(&task->lock);
	task->state = TASK_READY;
	off_cpu = !task->on_cpu;
	spin_unlock(&task->lock);
	/* Else its CPU sees TASK_READY in finish_switch(). */
	if (off_cpu)
		enqueue(task);
}

void task_exit(void)
{
	struct cpu *cpu = this_cpu();
	struct task *self = cpu->current;

	if (!self->kernel)
		engine_exit(cpu, self);
	spin_lock(&self->lock);
	self->state = TASK_DEAD;
	spin_unlock(&self->lock);
	schedule();
	panic("an ended task was scheduled");
}

static struct task *take_free(void)
{
	struct task *task = NULL;

	spin_lock(&table_lock);
	for (unsigned i = 0; i < MAX_TASKS && !task; i++) {
		if (__atomic_load_n(&tasks[i].state, __ATOMIC_ACQUIRE) == TASK_FREE) {
			task = &tasks[i];
			task->state = TASK_BLOCKED;
			task->id = i;
		}
	}
	spin_unlock(&table_lock);
	return task;
}

/* What arch_switch_stack() will pop, on top of what the entry needs. */
static uintptr_t *stack_prepare(struct task *task, const uint8_t *entry, uintptr_t rbx)
{
	uintptr_t *sp;

	task->stack_top = (uintptr_t)stacks[task->id] + STACK_BYTES;
	sp = (uintptr_t *)(task->stack_top - (task->user ? sizeof(struct frame) : 16));
	*--sp = (uintptr_t)entry;
	*--sp = rbx;
	for (unsigned i = 0; i < SWITCH_WORDS; i++)
		*--sp = 0;
	task->sp = (uintptr_t)sp;
	return sp;
}

void *task_area(const struct task *task)
{
	return areas[task->id];
}

uint32_t task_features(uint64_t xcr0)
{
	uint32_t r[4], features = 0;

	/* ERRATA(qemu-mf-fwait-only) */
	if (machine_kind() != MACHINE_QEMU_TCG)
		features |= FEATURE_MF_ANY;
	if (args.ferr)
		features |= FEATURE_FERR;
	if (lab_system.caps.sse)
		features |= FEATURE_SSE;
	if (lab_system.caps.fxsr)
		features |= FEATURE_FXSR;
	if (xcr0 & XST_MASK(XST_COMP_AVX))
		features |= FEATURE_AVX;
	if (xcr0 & XST_MASK(XST_COMP_ZMM_HI256)) {
		features |= FEATURE_AVX512;
		arch_cpuid(7, 0, r);
		if (r[1] & (1u << 30))
			features |= FEATURE_OPMASK64;
	}
	if (arch_read_cr4() & XST_CR4_PKE)
		features |= FEATURE_PKRU;
	return features;
}

static void user_prepare(struct task *task, const struct task_spec *spec)
{
	struct user_block *user = &user_blocks[task->id];
	struct frame *frame;

	task->user = user;
	task->kernel = false;
	task->program = spec->program;
	task->cpu = spec->cpu;
	task->preloads_after_use = task->last_preload_slot = 0;
	task->guest = NULL;
	user->id = task->id;
	user->features = task_features(lab_system.xcr0 ? xst_xgetbv(0) : 0);
	user->mxcsr_mask = lab_system.caps.mxcsr_mask;
	user->pkru_init = lab_system.init_pkru;
	user->cpus = cpu_count;
	user->seed = args.seed;
	user->random = mix64(args.seed + ((uint64_t)task->id << 32) + user->generation);
	user->loops = spec->loops;
	user->use = spec->use;
	user->use_first = spec->use_first;
	user->use_million = spec->use_million;
	user->live = spec->live || spec->live_random ? spec->live : LIVE_ALL;
	user->tidy = spec->tidy;
	user->fault_pending = false;
	user->peer = spec->peer;
	user->flips = spec->flips;
	user->lifecycle = spec->lifecycle;
	user->migrates = spec->migrates;
	user->have_values = user->inherited = user->pkru_zero = false;
	stack_prepare(task, task_first_user, 0);
	frame = (struct frame *)(task->stack_top - sizeof(struct frame));
	*frame = (struct frame){
		.FRAME_ARGUMENT = (uintptr_t)user,
		.ip = (uintptr_t)spec->program,
		.cs = SEL_USER_CODE,
		.flags = FLAGS_IF | FLAGS_RESERVED,
		/* As after a call: the ABI wants the stack a word off a multiple of 16. */
		.sp = (uintptr_t)user->stack + sizeof(user->stack) - sizeof(uintptr_t),
		.ss = SEL_USER_DATA,
	};
	/* Refused where components are enabled that CR0.TS does not guard. */
	if (spec->no_area && xst_ctx_init(&lab_system, &task->fpu, NULL, 0) == XST_OK)
		return;
	if (xst_ctx_init(&lab_system, &task->fpu, task_area(task), AREA_BYTES) != XST_OK)
		panic("a task's area of %u bytes is too small: %u are needed", AREA_BYTES,
		      lab_system.ctx_bytes);
}

static void start(struct task *task)
{
	spin_lock(&task->lock);
	task->state = TASK_READY;
	task->on_cpu = false;
	spin_unlock(&task->lock);
	enqueue(task);
}

struct task *task_create_user(const struct task_spec *spec)
{
	struct task *task = take_free();

	if (!task)
		panic("no room for another task");
	user_prepare(task, spec);
	__atomic_fetch_add(&live_tasks, 1, __ATOMIC_SEQ_CST);
	start(task);
	return task;
}

void task_recreate(struct task *task, const struct task_spec *spec)
{
	user_blocks[task->id].generation++;
	user_prepare(task, spec);
	start(task);
}

/* A child of the running task that begins with its registers. NULL when there is no room. */
struct task *task_fork(struct cpu *cpu, const struct task_spec *spec)
{
	struct task *parent = cpu->current, *child = take_free();
	struct task_spec own = *spec;

	if (!child)
		return NULL;
	/* A parent that never touched a register has nothing to hand on. */
	own.no_area = !parent->fpu.area;
	user_blocks[child->id].generation++;
	user_prepare(child, &own);
	engine_fork(cpu, parent, child);
	child->user->have_values = parent->user->have_values;
	child->user->have_owner = parent->user->have_owner;
	child->user->have_generation = parent->user->have_generation;
	child->user->have_slot = parent->user->have_slot;
	child->user->have_live = parent->user->have_live;
	child->user->inherited = true;
	__atomic_fetch_add(&live_tasks, 1, __ATOMIC_SEQ_CST);
	start(child);
	return child;
}

struct task *task_create_kernel(void (*function)(void), uint32_t cpu)
{
	struct task *task = take_free();

	if (!task)
		panic("no room for another kernel thread");
	task->user = NULL;
	task->kernel = true;
	task->cpu = cpu;
	stack_prepare(task, task_first_kernel, (uintptr_t)function);
	start(task);
	return task;
}

/* The thread that called becomes the CPU's idle thread. */
void task_idle_init(struct cpu *cpu)
{
	struct task *idle = &idle_tasks[cpu->id];

	idle->kernel = true;
	idle->id = MAX_TASKS + cpu->id;
	idle->cpu = cpu->id;
	idle->state = TASK_READY;
	idle->on_cpu = true;
	cpu->idle = cpu->current = idle;
}

void task_cpu_offline(struct cpu *cpu)
{
	struct task *task;

	__atomic_store_n(&cpu->offline, true, __ATOMIC_SEQ_CST);
	while ((task = queue_take(&cpu->queue))) {
		task->cpu = 0;
		enqueue(task);
	}
}

void task_cpu_online(struct cpu *cpu)
{
	__atomic_store_n(&cpu->offline, false, __ATOMIC_SEQ_CST);
}

void task_idle_loop(struct cpu *cpu)
{
	for (;;) {
		if (cpu->id == 0 && !__atomic_load_n(&live_tasks, __ATOMIC_SEQ_CST))
			experiment_tasks_gone();
		__atomic_store_n(&cpu->idling, true, __ATOMIC_SEQ_CST);
		if (queue_empty(&cpu->queue))
			arch_idle();
		__atomic_store_n(&cpu->idling, false, __ATOMIC_SEQ_CST);
		schedule();
	}
}
