// SPDX-License-Identifier: BSD-2-Clause
/*
 * `errata`: what this machine does otherwise than the manuals say. docs/errata.md
 * has each id with its consequences.
 *
 * A deviation that is known of this machine is a known failure, one that is not
 * fails the run; and a known one that is gone is reported too, since the limits
 * that other experiments live with can then be lifted.
 */
#include "experiment.h"
#include "report.h"
#include "ring3_guest.h"

#define MXCSR_INIT         0x1f80u
#define MXCSR_ZM           0x200u
#define MXCSR_RESERVED     0x80000000u
#define FCW_UNMASK_ZERODIV 0x37bu
#define FXSAVE_FIP         8
#define XSAVE_HEADER       512
#define VECTOR_GP          13
#define VECTOR_XM          19
#define ON(machine)        (1u << (machine))
#define SCRATCH_BYTES         4096u

uint32_t errata_xsave(void *area);
uint32_t errata_ldmxcsr(const uint32_t *mxcsr);
uint32_t errata_divide(const uint32_t *mxcsr, const float *one, const float *zero);
uint32_t errata_pending(const uint16_t *fcw);
uintptr_t errata_pointers(void *area);

static uint8_t area[SCRATCH_BYTES] __attribute__((aligned(64)));

static uint64_t area_word(unsigned offset)
{
	uint64_t word;

	__builtin_memcpy(&word, &area[offset], sizeof(word));
	return word;
}

static void area_fresh(void)
{
	const uint32_t mxcsr = MXCSR_INIT;
	const uint16_t fcw = 0x37f;

	__builtin_memset(area, 0, sizeof(area));
	__builtin_memcpy(area, &fcw, sizeof(fcw));
	__builtin_memcpy(area + 24, &mxcsr, sizeof(mxcsr));
}

static bool has_xsave(void)
{
	return lab_system.insn >= XST_INSN_XSAVE;
}

static bool always(void)
{
	return true;
}

static bool is_amd(void)
{
	return text_equal(lab_system.caps.vendor, "AuthenticAMD");
}

/* Ref: SDM vol. 2, "XSAVE"; vol. 3A, "Control Registers", CR0.TS */
static bool xsave_traps_under_ts(void)
{
	uint32_t vector;

	area_fresh();
	xst_write_cr0(xst_read_cr0() | XST_CR0_TS);
	vector = errata_xsave(area);
	xst_clts();
	return vector == VECTOR_NM;
}

/* Ref: SDM vol. 2, "LDMXCSR" */
static bool mxcsr_reserved_faults(void)
{
	const uint32_t bad = MXCSR_INIT | MXCSR_RESERVED, good = MXCSR_INIT;
	uint32_t vector = errata_ldmxcsr(&bad);

	xst_ldmxcsr(&good);
	return vector == VECTOR_GP;
}

/*
 * The manual lets XINUSE be 1 for INIT values, but every real CPU tracks AVX, and
 * whatever builds on it cannot be seen where it is constant.
 * Ref: SDM vol. 1, "Processor Tracking of XSAVE-Managed State"
 */
static bool xinuse_tracks_avx(void)
{
	area_fresh();
	if (xst_xrstor_try(area, lab_system.mask))
		return false;
	errata_xsave(area);
	return !(area_word(XSAVE_HEADER) & XST_MASK(XST_COMP_AVX));
}

static bool has_avx(void)
{
	return has_xsave() && (lab_system.mask & XST_MASK(XST_COMP_AVX));
}

/* Ref: SDM vol. 3A, "Interrupt 19 - SIMD Floating-Point Exception (#XM)" */
static bool simd_exceptions_come(void)
{
	const uint32_t unmasked = MXCSR_INIT & ~MXCSR_ZM, masked = MXCSR_INIT;
	/* 1.0 and 0.0 as bits: this file is built without floating point. */
	const uint32_t one = 0x3f800000, zero = 0;
	uint32_t vector = errata_divide(&unmasked, (const void *)&one, (const void *)&zero);

	xst_ldmxcsr(&masked);
	return vector == VECTOR_XM;
}

/* Ref: SDM vol. 1, "x87 FPU Exception Synchronization" */
static bool pending_exception_comes(void)
{
	const uint16_t fcw = FCW_UNMASK_ZERODIV;

	return errata_pending(&fcw) == VECTOR_MF;
}

/* Ref: AMD64 APM vol. 2, "FXSAVE and FXRSTOR Instructions" */
static bool pointers_stay_private(void)
{
	area_fresh();
	return errata_pointers(area) != area_word(FXSAVE_FIP);
}

static bool has_guests(void)
{
	const char *why;

	return has_xsave() && guest_machine(&why);
}

/* Ref: AMD64 APM vol. 2, "Instruction Intercepts"; SDM vol. 3C, "Instructions That Cause VM Exits" */
static bool xsetbv_exits(void)
{
	static struct vcpu vcpu;
	const char *why;
	const struct guest_machine *machine = guest_machine(&why);

	guest_start(machine, &cpus[0]);
	return guest_tour_run(machine, &vcpu, 0) == TOUR_STEPS;
}

static const struct check {
	const char *id, *rule;
	uint32_t known; /* ON(machine) for each that is known to deviate */
	bool (*applies)(void);
	bool (*holds)(void);
} checks[] = {
	{"qemu-xsave-ts", "XSAVE under CR0.TS raises #NM", ON(MACHINE_QEMU_TCG), has_xsave,
	 xsave_traps_under_ts},
	{"qemu-mxcsr-reserved", "reserved MXCSR bits raise #GP", ON(MACHINE_QEMU_TCG), always,
	 mxcsr_reserved_faults},
	{"qemu-xinuse", "XINUSE follows AVX", ON(MACHINE_QEMU_TCG), has_avx, xinuse_tracks_avx},
	{"qemu-no-xm", "unmasked SIMD exceptions raise #XM", ON(MACHINE_QEMU_TCG), always,
	 simd_exceptions_come},
	{"qemu-mf-fwait-only", "a pending x87 exception comes at the next waiting instruction",
	 ON(MACHINE_QEMU_TCG), always, pending_exception_comes},
	{"qemu-svm-xsetbv", "a guest's XSETBV exits when it is intercepted", ON(MACHINE_QEMU_TCG),
	 has_guests, xsetbv_exits},
	{"bochs-amd-fip", "FXSAVE on AMD stores no FIP while no exception is pending",
	 ON(MACHINE_BOCHS), is_amd, pointers_stay_private},
};

static uint64_t known_failures, unexpected_passes, passes;
static const char *failure;

static void run(const struct check *check)
{
	bool known = check->known & ON(machine_kind());
	const char *status;

	if (!check->applies())
		return;
	if (check->holds()) {
		status = known ? "unexpected-pass" : "ok";
		passes++;
		unexpected_passes += known;
	} else if (known) {
		status = "known-failure";
		known_failures++;
	} else {
		status = "failed";
		failure = check->rule;
	}
	print("{\"lab\":\"check\",\"id\":\"%s\",\"status\":\"%s\",\"rule\":\"%s\"}\n", check->id,
	      status, check->rule);
}

static bool errata_phase(unsigned number)
{
	if (number == 0) {
		for (unsigned i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
			run(&checks[i]);
	}
	return false;
}

static const char *errata_verdict(void)
{
	return failure;
}

static const char *errata_status(void)
{
	return known_failures || unexpected_passes ? "known-failure" : "ok";
}

static void errata_report(void)
{
	report_field("passes", passes);
	report_field("known_failures", known_failures);
	report_field("unexpected_passes", unexpected_passes);
}

const struct experiment exp_errata = {
	.name = "errata",
	.summary = "what this machine does otherwise than the manuals say",
	.loops = 1,
	.min_cpus = 1,
	.max_cpus = 1,
	.phase = errata_phase,
	.verdict = errata_verdict,
	.status = errata_status,
	.report = errata_report,
};
