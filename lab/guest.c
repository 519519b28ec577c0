// SPDX-License-Identifier: BSD-2-Clause
/*
 * What guests under SVM and under VMX have in common: page tables, where they begin, and
 * how they go on after an exit.
 */
#include "ring3_guest.h"

#define PAGE_BYTES    4096u
#define PAGE_PRESENT  1u
#define PAGE_WRITABLE 2u
#define PAGE_USER     4u
#define MAP_BYTES     0x400000u /* all of the lab lies below */
#define TABLE_ENTRIES 512u
#define VECTOR_GP     13u
#define ERROR_IDT     2u /* the selector in the error code is a gate's */

extern const uint8_t __user_start[], __user_end[];

/* Pages are user pages, which protection keys guard in ring 0 too. */
static struct {
	uint64_t top[TABLE_ENTRIES], upper[TABLE_ENTRIES], middle[TABLE_ENTRIES];
	uint64_t pages[MAP_BYTES / PAGE_BYTES];
} tables[GUEST_MAX] __attribute__((aligned(4096)));
static uint8_t control[GUEST_MAX][PAGE_BYTES] __attribute__((aligned(4096)));

const struct guest_machine *guest_machine(const char **reason)
{
	if (guest_svm_present())
		return &guest_svm;
	if (guest_vmx_present())
		return &guest_vmx;
	*reason = "this CPU has neither VMX nor SVM";
	return NULL;
}

void guest_start(const struct guest_machine *machine, struct cpu *cpu)
{
	static bool started[LAB_MAX_CPUS];

	if (!started[cpu->id])
		machine->start(cpu);
	started[cpu->id] = true;
}

/* ERRATA(qemu-svm-xsetbv) */
bool guest_xsetbv_exits(void)
{
	return machine_kind() != MACHINE_QEMU_TCG;
}

uintptr_t guest_cr4(void)
{
	const uintptr_t same = XST_CR4_OSFXSR | XST_CR4_OSXMMEXCPT | XST_CR4_OSXSAVE | XST_CR4_PKE;

	return (1u << 5) | (arch_read_cr4() & same);
}

static uintptr_t map(uint32_t id)
{
	const uint8_t *block = (const uint8_t *)&guest_blocks[id];
	const uint8_t *end = (const uint8_t *)&guest_blocks[id + 1];
	const uint64_t table = PAGE_PRESENT | PAGE_WRITABLE | PAGE_USER;

	for (uintptr_t at = 0; at < MAP_BYTES; at += PAGE_BYTES) {
		const uint8_t *page = (const uint8_t *)at;
		uint64_t entry = 0;

		if (page >= block && page < end)
			entry = at | PAGE_PRESENT | PAGE_WRITABLE | PAGE_USER;
		else if (page >= __user_start && page < __user_end)
			entry = at | PAGE_PRESENT | PAGE_USER;
		tables[id].pages[at / PAGE_BYTES] = entry;
	}
	for (unsigned i = 0; i < MAP_BYTES / PAGE_BYTES / TABLE_ENTRIES; i++)
		tables[id].middle[i] = (uintptr_t)&tables[id].pages[i * TABLE_ENTRIES] | table;
	tables[id].upper[0] = (uintptr_t)tables[id].middle | table;
	tables[id].top[0] = (uintptr_t)tables[id].upper | table;
	return (uintptr_t)tables[id].top;
}

void guest_create(const struct guest_machine *machine, struct vcpu *v, uint32_t id,
		  void (*program)(struct guest_block *))
{
	struct user_block *own = &guest_blocks[id].own;

	__builtin_memset(v, 0, sizeof(*v));
	__builtin_memset(control[id], 0, PAGE_BYTES);
	v->id = id;
	v->control = control[id];
	v->ip = (uintptr_t)program;
	v->gpr[GPR_DI] = (uintptr_t)&guest_blocks[id];
	/* As after a call. */
	v->gpr[GPR_SP] = (uintptr_t)own->stack + sizeof(own->stack) - sizeof(uintptr_t);
	v->cr0 = GUEST_CR0;
	v->intercept_xsetbv = true;
	machine->create(v, map(id));
}

void guest_skip(struct vcpu *v)
{
	static const uint8_t length[GUEST_EXITS] = {
		[GUEST_EXIT_EXCEPTION] = 2, /* INT $0x80 */
		[GUEST_EXIT_HLT] = 1,   [GUEST_EXIT_CALL] = 3,  [GUEST_EXIT_CPUID] = 2,
		[GUEST_EXIT_XSETBV] = 3, [GUEST_EXIT_RDMSR] = 2, [GUEST_EXIT_WRMSR] = 2,
	};

	v->ip += length[v->exit];
}

bool guest_fault(struct vcpu *v, uint32_t vector)
{
	const uintptr_t resume = trap_fixup(v->ip);

	if (!resume)
		return false;
	v->ip = resume;
	v->gpr[GPR_CX] = vector;
	return true;
}

/* ERRATA(qemu-idt-error): which gate cannot be told by the error code, but it is the only one. */
bool guest_is_syscall(const struct vcpu *v)
{
	return v->exit == GUEST_EXIT_EXCEPTION && v->vector == VECTOR_GP && (v->error & ERROR_IDT);
}
