// SPDX-License-Identifier: BSD-2-Clause
/*
 * The real CPU's side. Built with -mgeneral-regs-only and without calls: between two instructions
 * under test nothing may touch the registers.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stddef.h>
#include <ucontext.h>

#include "model_ops.h"

/* Where to go on when the instruction under test faults, and what it was. */
static volatile uintptr_t resume;
static volatile int vector;

static void on_fault(int signal, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)info;
	vector = signal == SIGILL ? 6 : 13;
	if (!resume) {
		struct sigaction deflt = {.sa_handler = SIG_DFL};

		sigaction(signal, &deflt, NULL);
		return;
	}
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)resume;
}

int hw_catch(void)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	return sigaction(SIGSEGV, &action, NULL) || sigaction(SIGILL, &action, NULL) ||
	       sigaction(SIGBUS, &action, NULL);
}

/* One instruction that may fault; execution goes on behind it in either case. */
#define TRY(text, ...)                                                                             \
	__asm__ volatile("lea 1f(%%rip), %%rcx\n\tmov %%rcx, %[resume]\n\t" text                   \
			 "\n1:\tmovq $0, %[resume]"                                                \
			 : [resume] "+m"(resume)                                                   \
			 : __VA_ARGS__                                                             \
			 : "rcx", "memory")
#define MASKED(text) TRY(text " (%[p])", [p] "r"(p), "a"((uint32_t)op->mask), "d"((uint32_t)(op->mask >> 32)))
#define PLAIN(text)  TRY(text " (%[p])", [p] "r"(p))

#define VALUE [v] "r"(op->value)
#define REG(n, text, name)                                                                         \
	case n:                                                                                    \
		__asm__ volatile(text " (%0), %%" name #n : : "r"(op->value) : "memory");          \
		break;
#define REGS8(text, name)                                                                          \
	REG(0, text, name) REG(1, text, name) REG(2, text, name) REG(3, text, name)                \
	REG(4, text, name) REG(5, text, name) REG(6, text, name) REG(7, text, name)
#define REGS16(text, name)                                                                         \
	REGS8(text, name) REG(8, text, name) REG(9, text, name) REG(10, text, name)                \
	REG(11, text, name) REG(12, text, name) REG(13, text, name) REG(14, text, name)            \
	REG(15, text, name)
#define REGS32(text, name)                                                                         \
	REGS16(text, name) REG(16, text, name) REG(17, text, name) REG(18, text, name)             \
	REG(19, text, name) REG(20, text, name) REG(21, text, name) REG(22, text, name)            \
	REG(23, text, name) REG(24, text, name) REG(25, text, name) REG(26, text, name)            \
	REG(27, text, name) REG(28, text, name) REG(29, text, name) REG(30, text, name)            \
	REG(31, text, name)

static void copy(uint8_t *to, const uint8_t *from)
{
	size_t n = AREA_BYTES;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static void write_register(const struct op *op)
{
	if (op->kind == OP_MOVDQU)
		switch (op->reg) { REGS16("movdqu", "xmm") }
	else if (op->kind == OP_VMOVDQU)
		switch (op->reg) { REGS16("vmovdqu", "ymm") }
	else if (op->kind == OP_VMOVDQU64)
		switch (op->reg) { REGS32("vmovdqu64", "zmm") }
	else
		switch (op->reg) { REGS8("kmovq", "k") }
}

static void run_op(struct programme *programme, struct op *op)
{
	uint8_t *p = programme->area[op->area];

	vector = 0;
	switch (op->kind) {
	case OP_FNSAVE:
		PLAIN("fnsave");
		break;
	case OP_FXSAVE:
		PLAIN("fxsave64");
		break;
	case OP_XSAVE:
		MASKED("xsave64");
		break;
	case OP_XSAVEOPT:
		MASKED("xsaveopt64");
		break;
	case OP_XSAVEC:
		MASKED("xsavec64");
		break;
	case OP_FRSTOR:
		PLAIN("frstor");
		break;
	case OP_FXRSTOR:
		PLAIN("fxrstor64");
		break;
	case OP_XRSTOR:
		MASKED("xrstor64");
		break;
	case OP_FNINIT:
		__asm__ volatile("fninit");
		break;
	case OP_FNCLEX:
		__asm__ volatile("fnclex");
		break;
	case OP_FLDCW:
		__asm__ volatile("fldcw (%0)" : : "r"(op->value) : "memory");
		break;
	case OP_INIT_FLD:
		__asm__ volatile("fninit\n\tfldt (%0)" : : "r"(op->value) : "memory");
		break;
	case OP_EMMS:
		__asm__ volatile("emms");
		break;
	case OP_LDMXCSR:
		TRY("ldmxcsr (%[v])", VALUE);
		break;
	case OP_VZEROUPPER:
		__asm__ volatile("vzeroupper");
		break;
	case OP_VZEROALL:
		__asm__ volatile("vzeroall");
		break;
	case OP_EDIT:
		p[op->offset] = op->value[0];
		break;
	default:
		write_register(op);
		break;
	}
	op->vector = vector;
}

void hw_run(struct programme *programme, uint64_t mask, int has_xgetbv1)
{
	static uint8_t init[AREA_BYTES] __attribute__((aligned(64)));
	const uint32_t lo = (uint32_t)mask, hi = (uint32_t)(mask >> 32);
	unsigned i;

	init[24] = 0x80; /* MXCSR 1F80H */
	init[25] = 0x1f;
	__asm__ volatile("xrstor64 (%0)" : : "r"(init), "a"(lo), "d"(hi) : "memory");
	for (i = 0; i < OPS; i++) {
		struct op *op = &programme->op[i];

		run_op(programme, op);
		if (op->vector && op->kind >= OP_FRSTOR && op->kind <= OP_XRSTOR)
			__asm__ volatile("xrstor64 (%0)" : : "r"(init), "a"(lo), "d"(hi) : "memory");
		if (has_xgetbv1) {
			uint32_t a, d;

			__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(1));
			op->xinuse = (uint64_t)d << 32 | a;
		}
		if (op->kind <= OP_XSAVEC)
			copy(op->after, programme->area[op->area]);
	}
	__asm__ volatile("xsave64 (%0)" : : "r"(programme->last), "a"(lo), "d"(hi) : "memory");
	__asm__ volatile("xrstor64 (%0)" : : "r"(init), "a"(lo), "d"(hi) : "memory");
}
