// SPDX-License-Identifier: BSD-2-Clause
/*
 * A kernel that embeds libxst: one CPU, two tasks in ring 3 that keep values in all of their x87,
 * SSE and AVX registers, a timer that switches between them, and every policy in turn. It ends with
 * "OK" on the serial port when no task ever saw a wrong register.
 *
 * The library is called in six places, each marked with its number in docs/embedding.md.
 */
#include "xst.h"
#include "bare.h"

#define SWITCHES_EACH 200u /* under each policy */

struct task {
	uint64_t *frame; /* what leave() pops: 15 registers, vector, error code, five of IRETQ */
	struct xst_ctx fpu;
	XST_AREA(area, 4096);
	XST_AREA(kernel_stack, 4096);
	XST_AREA(user_stack, 4096);
};

static struct xst_system sys;
static struct xst_cpu cpu;
static struct task tasks[2], *current = &tasks[0];
static unsigned switches, policy;
static struct { uint16_t words[8]; } idt[256];
static struct { uint32_t reserved, rsp0[2], rest[23]; } tss;

extern uint64_t gdt[];
extern uint8_t vectors[256][16];
_Noreturn void leave(uint64_t *frame);
uint64_t *trap(uint64_t *frame);
_Noreturn void kernel_main(void);
void user_main(uint64_t seed); /* ring 3, see user.c */

static void next_policy(void)
{
	const struct xst_policy *p;

	switches = 0;
	do {
		if (policy == XST_POLICY_COUNT)
			end("OK", 16);
		p = xst_policy_at(policy++);
	} while (xst_cpu_set_policy(&cpu, p, XST_BOUND, NULL) != XST_OK); /* 6: optional */
	print(p->name);
	print("\n");
}

static void schedule(void)
{
	struct task *next = &tasks[current == &tasks[0]];

	xst_switch(&cpu, &current->fpu, &next->fpu); /* 3: the CPU goes to another task */
	current = next;
	tss.rsp0[0] = (uint32_t)(uintptr_t)(next->kernel_stack + sizeof(next->kernel_stack));
	if (++switches == SWITCHES_EACH)
		next_policy();
}

/* Interrupts are off. Returns the frame of the task that goes on. */
uint64_t *trap(uint64_t *frame)
{
	current->frame = frame;
	switch (frame[15]) {
	case 7: /* 5: #NM, when the policy waits for the first use */
		if (xst_device_not_available(&cpu) != XST_OK)
			end("an #NM that nobody asked for", 1);
		break;
	case 0x20: /* timer */
		outb(0x20, 0x20);
		schedule();
		break;
	case 0x80: /* a task yields */
		schedule();
		break;
	case 0x81: /* a task found another value than its own */
		end("a task lost its registers", 1);
	default:
		end("an exception", 1);
	}
	xst_return_to_user(&cpu); /* 4: the last thing before user mode */
	return current->frame;
}

static void make_task(struct task *t, uint64_t seed)
{
	if (xst_ctx_init(&sys, &t->fpu, t->area, sizeof(t->area)) != XST_OK) /* 2: once per task */
		end("the area is too small", 1);
	t->frame = (uint64_t *)(t->kernel_stack + sizeof(t->kernel_stack)) - 22;
	t->frame[9] = seed; /* RDI */
	t->frame[17] = (uintptr_t)user_main;
	t->frame[18] = 0x1b;
	t->frame[19] = 0x202; /* IF */
	t->frame[20] = (uintptr_t)(t->user_stack + sizeof(t->user_stack)) - 8;
	t->frame[21] = 0x23;
}

static void interrupts(void)
{
	const struct { uint16_t limit; uint64_t base; } __attribute__((packed)) idtr = {
		sizeof(idt) - 1, (uintptr_t)idt};
	static const uint8_t pic[][2] = {{0x20, 0x11}, {0xa0, 0x11}, {0x21, 0x20}, {0xa1, 0x28},
		{0x21, 4}, {0xa1, 2}, {0x21, 1}, {0xa1, 1}, {0x21, 0xfe}, {0xa1, 0xff},
		{0x43, 0x34}, {0x40, 0x54}, {0x40, 0x01}}; /* the timer: every 0.3 ms */
	const uint64_t base = (uintptr_t)&tss;

	for (unsigned i = 0; i < 256; i++) {
		const uintptr_t at = (uintptr_t)vectors[i];

		idt[i].words[0] = (uint16_t)at;
		idt[i].words[1] = 0x08;
		idt[i].words[2] = i < 0x80 ? 0x8e00 : 0xee00; /* tasks may call from 80H on */
		idt[i].words[3] = (uint16_t)(at >> 16);
	}
	for (unsigned i = 0; i < sizeof(pic) / sizeof(pic[0]); i++)
		outb(pic[i][0], pic[i][1]);
	gdt[5] = (base & 0xffffff) << 16 | (base >> 24) << 56 | 0x890000000000 | (sizeof(tss) - 1);
	tss.rsp0[0] = (uint32_t)(uintptr_t)(tasks[0].kernel_stack + sizeof(tasks[0].kernel_stack));
	__asm__ volatile("lidt %0\n\tltr %w1" : : "m"(idtr), "r"(0x28));
}

_Noreturn void kernel_main(void)
{
	if (xst_system_init(&sys, XST_WANT_ALL_USER) != XST_OK || /* 1: once, and once per CPU */
	    xst_cpu_init(&sys, &cpu, 0) != XST_OK)
		end("this CPU's FPU cannot be used", 1);
	make_task(&tasks[0], 0x5eed0001);
	make_task(&tasks[1], 0x5eed0002);
	interrupts();
	next_policy();
	xst_switch(&cpu, NULL, &current->fpu);
	xst_return_to_user(&cpu);
	leave(current->frame);
}
