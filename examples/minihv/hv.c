// SPDX-License-Identifier: BSD-2-Clause
/*
 * A hypervisor that embeds libxst: two virtual CPUs under SVM take turns on one CPU. Their program is
 * minikernel's task, which keeps values in all of its x87, SSE and AVX registers; here it is ring 0 of a
 * guest. Every PAUSE it waits with exits, and most exits are answered at once: these move no register.
 *
 * The library is called in seven places, each marked with its number in README.md.
 */
#include "xst.h"
#include "../minikernel/bare.h"

#define TURNS          400u /* of a virtual CPU on the CPU */
#define EXITS_PER_TURN 500u

struct vm {
	struct xst_guest guest;
	uint64_t gpr[16]; /* RAX, RSP and RIP are in the VMCB */
	XST_AREA(area, 4096);
	uint8_t vmcb[4096] __attribute__((aligned(4096)));
	uint8_t stack[4096] __attribute__((aligned(16)));
};

static struct xst_system sys;
static struct xst_cpu cpu;
static struct xst_perm perm; /* of the one process that has both */
static struct vm vms[2];
static uint8_t host_save[4096] __attribute__((aligned(4096)));

void vmrun(uint64_t *gpr, const uint8_t *vmcb); /* vmrun.S */
void user_main(uint64_t seed);                  /* ../minikernel/user.c */
uint64_t *trap(uint64_t *frame);
_Noreturn void kernel_main(void);

static void print_number(const char *name, uint64_t v)
{
	char digits[24], *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do {
		*--at = (char)('0' + v % 10);
	} while (v /= 10);
	print(name);
	print(at);
	print("\n");
}

/* No exception of the host's own is expected. */
uint64_t *trap(uint64_t *frame)
{
	(void)frame;
	end("an exception in the hypervisor", 1);
}

static void put(struct vm *vm, unsigned offset, uint64_t v, size_t bytes)
{
	memcpy(vm->vmcb + offset, &v, bytes);
}

static uint64_t get(const struct vm *vm, unsigned offset)
{
	uint64_t v;

	memcpy(&v, vm->vmcb + offset, sizeof(v));
	return v;
}

/* Ref: AMD64 APM vol. 2, "VMCB Layout". The guest shares the hypervisor's memory, and begins in C. */
static void make_vmcb(struct vm *vm, uint64_t asid)
{
	uint64_t cr0, cr3, cr4;

	__asm__ volatile("mov %%cr0, %0\n\tmov %%cr3, %1\n\tmov %%cr4, %2"
			 : "=r"(cr0), "=r"(cr3), "=r"(cr4));
	put(vm, 0x008, 0xffffffff, 4);          /* all exceptions exit, */
	put(vm, 0x00c, 1u << 21 | 1u << 23, 4); /* and INT n, and PAUSE, */
	put(vm, 0x010, 1u << 0 | 1u << 1, 4);   /* and VMRUN, as it must, and VMMCALL */
	put(vm, 0x058, asid, 4);
	for (unsigned segment = 0x400; segment <= 0x430; segment += 0x10) {
		put(vm, segment, segment == 0x410 ? 0x0a9b0008 : 0x0c930010, 4);
		put(vm, segment + 4, 0xffffffff, 4);
	}
	put(vm, 0x4d0, xst_rdmsr(0xc0000080), 8);
	put(vm, 0x548, cr4, 8);
	put(vm, 0x550, cr3, 8);
	put(vm, 0x558, cr0, 8);
	put(vm, 0x570, 2, 8); /* RFLAGS */
	put(vm, 0x578, (uintptr_t)user_main, 8);
	put(vm, 0x5d8, (uintptr_t)(vm->stack + sizeof(vm->stack)) - 8, 8);
	put(vm, 0x668, 0x0007040600070406, 8); /* PAT */
	vm->gpr[7] = 0x5eed0000 + asid;        /* RDI: the seed */
}

static void make_vm(struct vm *vm, uint64_t asid)
{
	/* 2: once per virtual CPU; then what its firmware would do: XCR0 gets all that it may have */
	if (xst_guest_init(&sys, &perm, &vm->guest, vm->area, sizeof(vm->area), NULL) != XST_OK ||
	    xst_guest_set_xcr0(&cpu, &vm->guest, vm->guest.mask & sys.xcr0, NULL) != XST_OK ||
	    xst_guest_set_direct(&sys, &vm->guest, XST_DIRECT_XCR0, NULL) != XST_OK)
		end("no guest can be made", 1);
	make_vmcb(vm, asid);
}

/* What the guest exited with is answered; true: its turn is over. */
static bool answer(struct vm *vm)
{
	const uint64_t exit = get(vm, 0x070), rip = get(vm, 0x578);

	switch (exit) {
	case 0x75: /* INT n: 80H yields, 81H says that a register was wrong */
		if (*(const uint8_t *)(rip + 1) != 0x80)
			end("a guest lost its registers", 1);
		put(vm, 0x578, rip + 2, 8);
		return true;
	case 0x77: /* PAUSE */
		put(vm, 0x578, rip + 2, 8);
		return false;
	default:
		print_number("exit ", exit);
		end("an exit that nobody asked for", 1);
	}
}

/* The hypervisor's own use of registers: whoever owned them gets them back at the next entry. */
static void own_work(void)
{
	if (xst_kernel_begin(&cpu, 0) != XST_OK) /* 7: optional */
		end("no section may begin", 1);
	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n\tpcmpeqd %%xmm7, %%xmm7" : : : "memory");
	xst_kernel_end(&cpu);
}

static uint64_t turn(struct vm *vm)
{
	uint64_t exits = 0;
	bool over = false;

	xst_guest_load(&cpu, &vm->guest); /* 3: the thread turns to the virtual CPU */
	while (!over && exits < EXITS_PER_TURN) {
		xst_guest_enter(&cpu, &vm->guest); /* 4: right before, */
		vmrun(vm->gpr, vm->vmcb);
		xst_guest_exit(&cpu, &vm->guest); /* 5: and right behind */
		exits++;
		over = answer(vm);
		if (exits == EXITS_PER_TURN / 2)
			own_work();
	}
	xst_guest_put(&cpu, &vm->guest); /* 6: back to itself */
	return exits;
}

_Noreturn void kernel_main(void)
{
	uint64_t exits = 0;
	uint32_t a, b, c, d;

	xst_cpuid(0x80000001, 0, &a, &b, &c, &d);
	if (!(c & 4))
		end("this CPU has no SVM", 1);
	xst_wrmsr(0xc0000080, xst_rdmsr(0xc0000080) | 1u << 12); /* EFER.SVME */
	xst_wrmsr(0xc0010117, (uintptr_t)host_save);             /* VM_HSAVE_PA */
	if (xst_system_init(&sys, XST_WANT_ALL_USER | XST_WANT_GUEST_CET) != XST_OK || /* 1: once */
	    xst_cpu_init(&sys, &cpu, 0) != XST_OK)
		end("this CPU's FPU cannot be used", 1);
	xst_perm_init(&sys, &perm);
	make_vm(&vms[0], 1);
	make_vm(&vms[1], 2);
	for (unsigned i = 0; i < TURNS; i++)
		exits += turn(&vms[i & 1]);
	print_number("exits ", exits);
	print_number("turns ", TURNS);
	print_number("sections ", cpu.n.kernel_sections);
	print_number("loads ", cpu.n.loads);
	print_number("saves ", cpu.n.saves + cpu.n.kernel_saves);
	end("OK", 16);
}
