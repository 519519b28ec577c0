// SPDX-License-Identifier: BSD-2-Clause
/* The thread of a virtual CPU; hypervisor.h. */
#include "hypervisor.h"
#include "engine.h"
#include "report.h"
#include "ring3_guest.h"

#define VECTOR_GP   13u
#define COPY_BYTES  8192u
#define OFF_XCOMP   (XST_HEADER_OFFSET + 8)

struct vm {
	struct vcpu v;
	struct xst_guest guest;
	struct xst_perm perm;
	uint64_t left, random;
	/* What the exit before left behind, to know whether anything came in between. */
	struct xst_counters seen;
	uint32_t seen_cpu;
	struct hypervisor_totals n;
	uint8_t area[AREA_BYTES] __attribute__((aligned(64)));
	uint8_t copy[COPY_BYTES];
};

uint64_t host_images, host_images_wrong;
static struct vm vms[GUEST_MAX];
static const struct guest_machine *machine;

static void block_init(struct vm *vm, struct guest_block *g, uint64_t exits)
{
	struct user_block *u = &g->own;

	__builtin_memset(g, 0, sizeof(*g));
	u->id = GUEST_OWNER + vm->v.id;
	u->mxcsr_mask = lab_system.caps.mxcsr_mask;
	u->seed = args.seed;
	u->random = mix64(args.seed + ((uint64_t)u->id << 32));
	u->loops = exits;
	g->svm = machine == &guest_svm;
	g->xcr0 = vm->guest.mask & XST_MASK_USER & lab_system.xcr0;
	g->xss = vm->guest.mask & XST_MASK_SUPER;
	g->ssps = g->xss & XST_MASK_CET_S ? SSPS : lab_system.guest_cet_s ? SSPS - 1 : 0;
	g->xcr0_now = vm->guest.xcr0;
	g->features = task_features(g->xcr0);
	u->features = g->features & ~(FEATURE_AVX | FEATURE_AVX512 | FEATURE_OPMASK64);
}

/* Every second one's XSETBV is its own, where that can be chosen. */
void hypervisor_create(const struct guest_machine *with, uint32_t id, uint64_t exits)
{
	struct vm *vm = &vms[id];
	struct guest_block *g = &guest_blocks[id];
	struct xst_diag diag = {0};
	uint32_t direct = 0;
	bool xsetbv_exits;
	int err;

	machine = with;
	xst_perm_init(&lab_system, &vm->perm);
	err = xst_guest_init(&lab_system, &vm->perm, &vm->guest, vm->area, sizeof(vm->area), &diag);
	if (err)
		panic("xst_guest_init: %s, %llu bytes", xst_strerror(err),
		      (unsigned long long)diag.want);
	guest_create(machine, &vm->v, id, guest_worker);
	block_init(vm, g, exits);
	xsetbv_exits = machine->xsetbv_always || (guest_xsetbv_exits() && !(id & 1));
	g->xsetbv_exits = vm->v.intercept_xsetbv = xsetbv_exits;
	vm->v.ssps_direct = g->ssps;
	direct = (xsetbv_exits ? 0 : XST_DIRECT_XCR0) | (g->ssps ? XST_DIRECT_SSP : 0);
	err = xst_guest_set_direct(&lab_system, &vm->guest, direct, &diag);
	if (err)
		panic("xst_guest_set_direct: %s", xst_strerror(err));
	vm->left = exits;
	vm->random = mix64(args.seed ^ ((uint64_t)id << 40));
	vm->seen_cpu = XST_NO_CPU;
}

static uint64_t saves_of(const struct xst_counters *n)
{
	return n->saves + n->apart_saves + n->kernel_saves;
}

static uint64_t loads_of(const struct xst_counters *n)
{
	return n->loads + n->apart_loads + n->clears;
}

/* The vCPU's thread was on this CPU all the while, and the kernel used no registers of its own. */
static void account_exit(struct cpu *cpu, struct vm *vm, uint64_t ticks)
{
	const struct xst_counters *n = &cpu->fpu.n;

	vm->n.exits++;
	vm->n.by_kind[vm->v.exit]++;
	if (vm->seen_cpu == cpu->id && vm->seen.switches == n->switches &&
	    vm->seen.kernel_sections == n->kernel_sections) {
		vm->n.stayed++;
		vm->n.stayed_loads += loads_of(n) - loads_of(&vm->seen);
		vm->n.stayed_saves += saves_of(n) - saves_of(&vm->seen);
		vm->n.stayed_ticks += ticks;
	}
	vm->seen = *n;
	vm->seen_cpu = cpu->id;
}

/* By the registers, not by what the library thinks of them. The host would not live long. */
static void look_at_host(void)
{
	const struct xst_system *sys = &lab_system;

	if (xst_xgetbv(0) != sys->xcr0)
		report_result("XCR0 was not the host's after an exit");
	if (sys->caps.xsaves && xst_rdmsr(XST_MSR_XSS) != sys->xss)
		report_result("IA32_XSS was not the host's after an exit");
}

static uint64_t pair(const struct vcpu *v)
{
	return (uint64_t)(uint32_t)v->gpr[GPR_DX] << 32 | (uint32_t)v->gpr[GPR_AX];
}

static void refuse(struct vm *vm)
{
	vm->n.refused++;
	if (!guest_fault(&vm->v, VECTOR_GP))
		panic("guest %u: refused at 0x%llx, where it does not expect it", vm->v.id,
		      (unsigned long long)vm->v.ip);
}

static void answer_xsetbv(struct cpu *cpu, struct vm *vm)
{
	if ((uint32_t)vm->v.gpr[GPR_CX] ||
	    xst_guest_set_xcr0(&cpu->fpu, &vm->guest, pair(&vm->v), NULL) != XST_OK)
		refuse(vm);
	else
		guest_skip(&vm->v);
	/* What grew was made INIT: that may take a save and a load. */
	vm->seen_cpu = XST_NO_CPU;
}

static void answer_msr(struct vm *vm, bool write)
{
	struct vcpu *v = &vm->v;

	if ((uint32_t)v->gpr[GPR_CX] != XST_MSR_XSS ||
	    (write && xst_guest_set_xss(&vm->guest, pair(v), NULL) != XST_OK)) {
		refuse(vm);
		return;
	}
	if (!write) {
		v->gpr[GPR_AX] = (uint32_t)vm->guest.xss;
		v->gpr[GPR_DX] = vm->guest.xss >> 32;
	}
	guest_skip(v);
}

static void answer_exception(struct cpu *cpu, struct vm *vm)
{
	struct vcpu *v = &vm->v;

	if (guest_is_syscall(v)) {
		if (v->gpr[GPR_AX] == SYS_CORRUPTION)
			v->gpr[GPR_AX] = report_corruption(
				cpu, (const struct mismatch *)(uintptr_t)v->gpr[GPR_DI]);
		else if (v->gpr[GPR_AX] == SYS_CORRUPTIONS)
			report_corruptions((uint32_t)v->gpr[GPR_DI]);
		else
			panic("guest %u: unknown system call", v->id);
		guest_skip(v);
		return;
	}
	if (v->vector == VECTOR_NM) {
		if (xst_guest_device_not_available(&vm->guest) != XST_ERR_NOT_OURS)
			panic("guest %u: an #NM by IA32_XFD", v->id);
		vm->n.nm++;
	}
	if (!guest_fault(v, v->vector))
		panic("guest %u: exception %u, error 0x%x at 0x%llx", v->id, v->vector, v->error,
		      (unsigned long long)v->ip);
}

static void answer(struct cpu *cpu, struct vm *vm)
{
	struct vcpu *v = &vm->v;

	switch (v->exit) {
	case GUEST_EXIT_INTERRUPT:
		break;
	case GUEST_EXIT_EXCEPTION:
		answer_exception(cpu, vm);
		break;
	case GUEST_EXIT_HLT:
	case GUEST_EXIT_CALL:
	case GUEST_EXIT_CPUID:
		guest_skip(v);
		break;
	case GUEST_EXIT_XSETBV:
		answer_xsetbv(cpu, vm);
		break;
	case GUEST_EXIT_RDMSR:
	case GUEST_EXIT_WRMSR:
		answer_msr(vm, v->exit == GUEST_EXIT_WRMSR);
		break;
	case GUEST_EXIT_XSAVES:
	case GUEST_EXIT_XRSTORS:
		/* Seen; now it may. */
		v->xss_exiting = 0;
		return;
	default:
		panic("guest %u: exit 0x%llx at 0x%llx", v->id, (unsigned long long)v->raw,
		      (unsigned long long)v->ip);
	}
	v->xss_exiting = machine->xss_exiting ? guest_blocks[v->id].xss : 0;
}

static uint64_t word_of(const uint8_t *area, uint32_t offset)
{
	uint64_t value;

	__builtin_memcpy(&value, area + offset, sizeof(value));
	return value;
}

/* The image that the library keeps: CET_S is in it, with this guest's pointers and no other's. */
static void look_at_image(struct cpu *cpu, struct vm *vm, const struct guest_block *g)
{
	const uint8_t *area = vm->guest.ctx.area;
	bool right;

	xst_ctx_flush(&cpu->fpu, &vm->guest.ctx);
	vm->n.images++;
	if (!(g->xss & XST_MASK_CET_S) || !g->own.have_values)
		return;
	right = (word_of(area, XST_HEADER_OFFSET) & XST_MASK_CET_S) &&
		(word_of(area, OFF_XCOMP) & XST_MASK_CET_S);
	for (uint32_t n = 0; right && n < 3; n++)
		right = word_of(area, vm->guest.layout.offset[XST_COMP_CET_S] + 8 * n) ==
			guest_ssp(g, n);
	vm->n.images_cet += right;
	vm->n.images_wrong += !right;
}

/* As an owner that migrates it to another machine and back: what comes out goes in again. */
static void copy_out_and_in(struct cpu *cpu, struct vm *vm)
{
	const uint32_t bytes = xst_guest_copy_bytes(&lab_system, &vm->guest);
	struct xst_diag diag = {0};
	int err = bytes > COPY_BYTES ? XST_ERR_NEED_BYTES
				     : xst_guest_copy_out(&cpu->fpu, &vm->guest, vm->copy, bytes, &diag);

	if (!err)
		err = xst_guest_copy_in(&cpu->fpu, &vm->guest, vm->copy, bytes, &diag);
	if (err)
		panic("guest %u: copied out and in: %s, %s", vm->v.id, xst_strerror(err),
		      diag.rule ? diag.rule : "?");
	vm->n.copies++;
}

static void look_at_cet(struct cpu *cpu, struct vm *vm, const struct guest_block *g)
{
	struct xst_cet cet;

	if (!g->ssps)
		return;
	xst_guest_get_cet(&cpu->fpu, &vm->guest, &cet);
	vm->n.cet_reads++;
	for (uint32_t n = 0; n < g->ssps; n++)
		vm->n.images_wrong += cet.ssp[n] != guest_ssp(g, n);
}

/* Whatever else may happen to a thread between two exits. May return on another CPU. */
static void between(struct cpu *cpu, struct vm *vm)
{
	const struct guest_block *g = &guest_blocks[vm->v.id];
	const uint64_t r = random_next(&vm->random);

	if (vm->v.exit == GUEST_EXIT_INTERRUPT) {
		arch_irq_window();
		if (!cpu->need_resched)
			return;
		cpu->need_resched = false;
		machine->leave(&vm->v);
		task_yield();
		return;
	}
	switch (r & 63) {
	case 0:
		machine->leave(&vm->v);
		vm->n.moves += (uint32_t)(r >> 32) % cpu_count != cpu->id;
		task_move((uint32_t)(r >> 32) % cpu_count);
		return;
	case 1:
	case 2:
	case 3:
		machine->leave(&vm->v);
		vm->n.yields++;
		task_yield();
		return;
	case 4:
		if (policy_count > 1) {
			engine_set_policy(cpu, policies[(uint32_t)(r >> 32) % policy_count]);
			vm->n.flips++;
		}
		break;
	case 5:
		if (g->settled)
			look_at_image(cpu, vm, g);
		break;
	case 6:
		copy_out_and_in(cpu, vm);
		break;
	case 7:
		if (g->settled)
			look_at_cet(cpu, vm, g);
		break;
	default:
		return;
	}
	vm->seen_cpu = XST_NO_CPU;
}

bool hypervisor_run(struct cpu *cpu, uint32_t id, uint64_t exits)
{
	struct vm *vm = &vms[id];
	struct task *self = cpu->current;
	uint64_t saves = saves_of(&cpu->fpu.n);

	engine_guest_load(cpu, self, &vm->guest);
	saves = saves_of(&cpu->fpu.n) - saves;
	vm->n.loads_of_thread++;
	if (saves > vm->n.most_saves)
		vm->n.most_saves = saves;
	vm->seen_cpu = XST_NO_CPU;
	while (exits && vm->left) {
		const uint64_t ticks = engine_guest_ticks();

		guest_start(machine, cpu);
		engine_guest_enter(cpu, &vm->guest);
		machine->run(&vm->v);
		engine_guest_exit(cpu, &vm->guest);
		look_at_host();
		account_exit(cpu, vm, engine_guest_ticks() - ticks);
		answer(cpu, vm);
		/* How many interrupts come is not the guest's doing. */
		if (vm->v.exit != GUEST_EXIT_INTERRUPT) {
			cpu->progress++;
			exits--;
			vm->left--;
		}
		between(cpu, vm);
		cpu = this_cpu();
	}
	machine->leave(&vm->v);
	engine_guest_put(cpu, self, &vm->guest);
	return vm->left;
}

void hypervisor_saved(const struct xst_ctx *ctx)
{
	if (lab_system.insn < XST_INSN_XSAVEC || xst_ctx_is_guest(ctx))
		return;
	__atomic_add_fetch(&host_images, 1, __ATOMIC_RELAXED);
	if ((word_of(ctx->area, XST_HEADER_OFFSET) | word_of(ctx->area, OFF_XCOMP)) & XST_MASK_GUEST_ONLY)
		__atomic_add_fetch(&host_images_wrong, 1, __ATOMIC_RELAXED);
}

void hypervisor_sum(struct hypervisor_totals *sum)
{
	uint64_t *to = (uint64_t *)sum;
	uint64_t most = 0;

	__builtin_memset(sum, 0, sizeof(*sum));
	for (unsigned id = 0; id < GUEST_MAX; id++) {
		const struct xst_guest_counters *g = &vms[id].guest.n;

		for (unsigned i = 0; i < sizeof(*sum) / sizeof(*to); i++)
			to[i] += ((const uint64_t *)&vms[id].n)[i];
		if (vms[id].n.most_saves > most)
			most = vms[id].n.most_saves;
		sum->writes += g->xcr0_writes + g->xss_writes + g->pkru_writes;
		sum->ssp_writes += g->ssp_writes;
	}
	sum->most_saves = most;
}
