// SPDX-License-Identifier: BSD-2-Clause
/* In-kernel sections on the software CPU: what is saved, what is loaded, and what is not. */
#include "t.h"

#include <xst/kernel.h>

#include "cases.h"
#include "sections.h"

/* Saved at most once in a stay, whole again after it, with every policy and save form. */
static void saved_once(void **state)
{
	enum xst_insn insn;
	unsigned p;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++)
		for (insn = XST_INSN_FNSAVE; insn <= XST_INSN_XSAVES; insn++) {
			uint64_t saves;

			assert_int_equal(rig_up(&rig, insn, 0x207, xst_policy_at(p)->name), XST_OK);
			user_runs();
			saves = counters()->saves;
			section(0);
			section(XST_NEED_EFI);
			section(XST_NEED_MXCSR);
			assert_int_equal(counters()->kernel_sections, 3);
			assert_int_equal(counters()->kernel_saves, 1);
			assert_int_equal(counters()->saves, saves);
			user_is_whole();
			/* The next stay is another one; and a task that goes takes nothing of the kernel's along. */
			section(XST_NEED_EFI);
			rig_go(&rig, 0, B);
			assert_int_equal(rig_see(&rig, 0, XST_COMP_X87), 0);
			rig_go(&rig, 0, A);
			user_is_whole();
			assert_int_equal(counters()->kernel_saves, 2);
		}
}

/* KFP-03: with FCW 027F and MXCSR 9FC0 of the user, firmware is called with 037F and 1F80, and the
 * user has its own again afterwards. */
static void efi_convention(void **state)
{
	(void)state;
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVEC, 0x7, "deferred"), XST_OK);
	user_runs();
	assert_int_equal(xst_kernel_begin(CPU, XST_NEED_EFI), XST_OK);
	assert_int_equal(fcw(), 0x037f);
	assert_int_equal(HW->mxcsr, 0x1f80);
	assert_int_equal(HW->regs.X87[4], 0);
	xst_kernel_end(CPU);
	user_is_whole();
}

static void expect_loads(unsigned need, uint64_t x87, uint64_t mxcsr)
{
	const struct xst_counters before = CPU->n;

	section(need);
	assert_int_equal(counters()->kernel_init_x87 - before.kernel_init_x87, x87);
	assert_int_equal(counters()->kernel_init_mxcsr - before.kernel_init_mxcsr, mxcsr);
}

/* Initial values are loaded when they are not in place, and only then. */
static void loaded_when_needed(void **state)
{
	(void)state;
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x7, "deferred"), XST_OK);
	/* After bring-up the registers are INIT. */
	expect_loads(XST_NEED_EFI, 0, 0);
	expect_loads(XST_NEED_X87, 1, 0);
	expect_loads(XST_NEED_MXCSR, 0, 1);
	user_runs();
	expect_loads(0, 0, 0);
	/* Of the user's values none is in place. */
	assert_int_equal(xst_kernel_begin(CPU, XST_NEED_EFI), XST_OK);
	assert_int_equal(fcw(), 0x037f);
	assert_int_equal(HW->mxcsr, 0x1f80);
	xst_kernel_end(CPU);
	expect_loads(XST_NEED_MXCSR, 0, 1);
	expect_loads(0, 0, 0);
	expect_loads(XST_NEED_X87, 1, 0);
	expect_loads(XST_NEED_EFI, 1, 1);
	/* A task's registers came and went: not in place although nothing was declared since. */
	user_is_whole();
	rig_go(&rig, 0, NULL);
	expect_loads(XST_NEED_EFI, 1, 1);
	/* The same after its end. */
	rig_go(&rig, 0, A);
	user_is_whole();
	xst_ctx_exit(CPU, A);
	expect_loads(XST_NEED_EFI, 1, 1);

	/* A user whose registers are INIT is saved without an instruction and leaves initial values. */
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x7, "auto"), XST_OK);
	rig_go(&rig, 0, A);
	xst_return_to_user(CPU);
	expect_loads(XST_NEED_EFI, 0, 0);
	assert_int_equal(counters()->kernel_saves, 0);
	assert_int_equal(rig_see(&rig, 0, XST_COMP_SSE), 0);

	/* FNSAVE leaves FNINIT's values; and without SSE there is no MXCSR to load. */
	assert_int_equal(rig_up(&rig, XST_INSN_FNSAVE, 0, "eager"), XST_OK);
	user_runs();
	expect_loads(XST_NEED_EFI, 0, 0);
	expect_loads(XST_NEED_EFI, 1, 1 * rig.caps.sse);
	user_is_whole();
}

/* In place and kept there: sections in between that did not declare it do not count against it. */
static void stays_in_place(void **state)
{
	unsigned i;

	(void)state;
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x7, "deferred"), XST_OK);
	for (i = 0; i < 5; i++)
		expect_loads(0, 0, 0);
	expect_loads(XST_NEED_MXCSR, 0, 0);
	for (i = 0; i < 5; i++)
		expect_loads(0, 0, 0);
	expect_loads(XST_NEED_X87, 0, 0);
	expect_loads(XST_NEED_X87, 1, 0);
}

/* MXCSR is loaded in the form of the CPU: no legacy instruction over upper halves in use. */
static void no_transition(void **state)
{
	(void)state;
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVEC, 0x7, "eager"), XST_OK);
	assert_int_equal(CPU->sections.form, XST_MXCSR_CLEAN);
	user_runs();
	assert_true(mdl_xgetbv1(HW) & XST_MASK_AVX);
	section(XST_NEED_MXCSR);
	assert_int_equal(HW->transitions, 0);
	assert_false(mdl_xgetbv1(HW) & XST_MASK_AVX);
	user_is_whole();

	assert_int_equal(rig_up(&rig, XST_INSN_XSAVEC, 0x7, "eager"), XST_OK);
	memcpy(rig.caps.vendor, "AuthenticAMD", 13);
	rig.sys.caps = rig.caps;
	assert_int_equal(xst_cpu_online(CPU, NULL), XST_OK);
	assert_int_equal(CPU->sections.form, XST_MXCSR_VEX);
	user_runs();
	section(XST_NEED_MXCSR);
	assert_int_equal(HW->transitions, 0);
	/* It would have been one: the upper halves are as the user left them. */
	assert_true(mdl_xgetbv1(HW) & XST_MASK_AVX);
	user_is_whole();

	assert_int_equal(rig_up(&rig, XST_INSN_XSAVE, 0x3, "eager"), XST_OK);
	assert_int_equal(CPU->sections.form, XST_MXCSR_LEGACY);
	assert_int_equal(rig_up(&rig, XST_INSN_FNSAVE, 0, "eager"), XST_OK);
	assert_int_equal(CPU->sections.form, XST_MXCSR_NONE);
}

/* Lazy kinds: the next use traps; nothing is loaded before. */
static void lazy_traps_again(void **state)
{
	static const char *const lazy[] = {"lazy", "lazy-preload", "lazy-keep", "laziest"};
	unsigned p;

	(void)state;
	for (p = 0; p < 4; p++) {
		uint64_t loads, traps;

		assert_int_equal(rig_up(&rig, XST_INSN_XSAVE, 0x7, lazy[p]), XST_OK);
		user_runs();
		assert_false(HW->cr0 & MDL_CR0_TS);
		loads = counters()->loads;
		traps = counters()->traps;
		section(XST_NEED_EFI);
		assert_true(HW->cr0 & MDL_CR0_TS);
		section(0);
		assert_true(HW->cr0 & MDL_CR0_TS);
		xst_return_to_user(CPU);
		assert_int_equal(counters()->loads, loads);
		user_is_whole();
		assert_int_equal(counters()->traps, traps + 1);
		assert_int_equal(counters()->loads, loads + 1);
	}
}

/* save=displaced: the registers are another's only copy. */
static void only_copy_is_saved(void **state)
{
	(void)state;
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x7, "laziest"), XST_OK);
	user_runs();
	rig_go(&rig, 0, B);
	assert_int_equal(counters()->saves, 0);
	assert_int_equal(xst_ctx_home(A), 0);
	section(XST_NEED_EFI);
	assert_int_equal(counters()->saves, 0);
	assert_int_equal(counters()->kernel_saves, 1);
	assert_int_equal(xst_ctx_home(A), XST_NO_CPU);
	rig_go(&rig, 0, A);
	user_is_whole();
}

/* KFP-07: a kernel thread has no user state: nothing is saved, and nothing restored. */
static void kernel_thread(void **state)
{
	uint64_t saves;

	(void)state;
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x7, "deferred"), XST_OK);
	saves = HW->saves; /* bring-up's self-tests */
	section(XST_NEED_EFI);
	rig_go(&rig, 0, NULL);
	section(XST_NEED_EFI);
	xst_return_to_user(CPU);
	assert_int_equal(counters()->kernel_saves + counters()->saves, 0);
	assert_int_equal(counters()->loads, 0);
	assert_int_equal(HW->saves, saves);
}

/* KFP-13 */
static void not_before_bring_up(void **state)
{
	struct xst_cpu down;

	(void)state;
	memset(&down, 0, sizeof(down));
	assert_false(xst_kernel_usable(&down, XST_CONTEXT_TASK));
	assert_false(xst_kernel_usable(&down, XST_CONTEXT_HARDIRQ));
	assert_int_equal(xst_kernel_begin(&down, 0), XST_ERR_NOT_UP);
}

/* KFP-05 */
static void usable_by_context(void **state)
{
	(void)state;
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x7, "deferred"), XST_OK);
	assert_true(xst_kernel_usable(CPU, XST_CONTEXT_TASK));
	assert_true(xst_kernel_usable(CPU, XST_CONTEXT_SOFTIRQ));
	assert_true(xst_kernel_usable(CPU, XST_CONTEXT_HARDIRQ));
	assert_false(xst_kernel_usable(CPU, XST_CONTEXT_HARDIRQ_BH_OFF));
	assert_false(xst_kernel_usable(CPU, XST_CONTEXT_NMI));
	assert_int_equal(xst_kernel_begin(CPU, 0), XST_OK);
	assert_false(xst_kernel_usable(CPU, XST_CONTEXT_TASK));
	assert_false(xst_kernel_usable(CPU, XST_CONTEXT_HARDIRQ));
	xst_kernel_end(CPU);
	assert_true(xst_kernel_usable(CPU, XST_CONTEXT_HARDIRQ));
	xst_cpu_offline(CPU);
	assert_false(xst_kernel_usable(CPU, XST_CONTEXT_TASK));
	assert_int_equal(xst_cpu_online(CPU, NULL), XST_OK);
	assert_true(xst_kernel_usable(CPU, XST_CONTEXT_TASK));
}

static __attribute__((noinline)) int begin_outer(void)
{
	const int err = xst_kernel_begin(CPU, 0);

	__asm__ volatile("");
	return err;
}

static __attribute__((noinline)) int begin_inner(void)
{
	const int err = xst_kernel_begin(CPU, XST_NEED_MXCSR);

	__asm__ volatile("");
	return err;
}

/* Nesting is refused, and both callers are named; the outer section goes on. */
static void nesting(void **state)
{
	(void)state;
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x7, "deferred"), XST_OK);
	mdl_misuse = on_misuse;
	reports = 0;
	assert_int_equal(begin_outer(), XST_OK);
	assert_int_equal(begin_inner(), XST_ERR_NESTED);
	assert_int_equal(reports, 1);
	assert_int_equal(seen.misuse, XST_MISUSE_NESTED);
	assert_true(lies_in(seen.outer, begin_outer));
	assert_true(lies_in(seen.caller, begin_inner));
	assert_int_equal(seen.declared, XST_NEED_MXCSR);
	assert_int_equal(counters()->kernel_sections, 1);
	xst_kernel_end(CPU);
	assert_int_equal(reports, 1);
	xst_kernel_end(CPU);
	assert_int_equal(reports, 2);
	assert_int_equal(seen.misuse, XST_MISUSE_NO_BEGIN);
	assert_int_equal(xst_kernel_begin(CPU, 0), XST_OK);
	xst_kernel_end(CPU);
	/* What is no need begins nothing and misuses nothing. */
	assert_int_equal(xst_kernel_begin(CPU, 8), XST_ERR_INVALID);
	assert_int_equal(xst_kernel_begin(CPU, 0x100), XST_ERR_INVALID);
	assert_int_equal(reports, 2);
	assert_true(xst_kernel_usable(CPU, XST_CONTEXT_TASK));
	mdl_misuse = NULL;
}

/* Before bring-up: CR4.OSFXSR is clear. x87 works; all else is refused, and nothing faults. */
static void before_bring_up(void **state)
{
	static const unsigned refused[] = {0, XST_NEED_MXCSR, XST_NEED_EFI, XST_NEED_TILES};
	unsigned i;

	(void)state;
	memset(&rig, 0, sizeof(rig));
	mdl_caps_make(&rig.caps, 0x7, 0, XST_INSN_XSAVES);
	mdl_reset(HW, &rig.caps);
	CPU->world = HW;
	mdl_misuse = on_misuse;
	for (i = 0; i < 4; i++) {
		reports = 0;
		assert_int_equal(xst_kernel_begin(CPU, refused[i]), XST_ERR_NOT_UP);
		assert_int_equal(reports, 1);
		assert_int_equal(seen.misuse, XST_MISUSE_NOT_UP);
	}
	mdl_misuse = NULL;
	HW->regs.X87[0] = 0x40; /* as a reset leaves it */
	assert_int_equal(xst_kernel_begin(CPU, XST_NEED_X87), XST_OK);
	assert_int_equal(fcw(), 0x037f);
	assert_int_equal(xst_kernel_begin(CPU, XST_NEED_X87), XST_ERR_NESTED);
	xst_kernel_end(CPU);
	assert_int_equal(HW->surprise, 0);
	HW->cr0 |= MDL_CR0_EM;
	assert_int_equal(xst_kernel_begin(CPU, XST_NEED_X87), XST_ERR_NOT_UP);
	assert_int_equal(HW->surprise, 0);
	/* It comes up, and a former section is no obstacle. */
	HW->cr0 = 0;
	mdl_current = HW;
	assert_int_equal(xst_system_init(&rig.sys, XST_WANT_ALL_USER), XST_OK);
	assert_int_equal(xst_cpu_init(&rig.sys, CPU, 0), XST_OK);
	assert_int_equal(xst_kernel_begin(CPU, XST_NEED_EFI), XST_OK);
	xst_kernel_end(CPU);
}

/* KFP-14: the mask covers ZMM16 and k1. */
static void avx512_is_covered(void **state)
{
	(void)state;
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x2e7, "deferred"), XST_OK);
	assert_int_equal(CPU->mask & 0xe7, 0xe7);
	user_runs();
	rig_put(&rig, 0, XST_COMP_HI16_ZMM, 0x66);
	rig_put(&rig, 0, XST_COMP_OPMASK, 0x77);
	assert_int_equal(xst_kernel_begin(CPU, 0), XST_OK);
	memset(HW->regs.HI16_ZMM, 0x99, sizeof(HW->regs.HI16_ZMM));
	memset(HW->regs.OPMASK, 0x99, sizeof(HW->regs.OPMASK));
	mdl_wrote(HW, XST_COMP_HI16_ZMM);
	mdl_wrote(HW, XST_COMP_OPMASK);
	xst_kernel_end(CPU);
	assert_int_equal(rig_see(&rig, 0, XST_COMP_HI16_ZMM), 0x66);
	assert_int_equal(rig_see(&rig, 0, XST_COMP_OPMASK), 0x77);
	user_is_whole();
}

/* A user's unmasked x87 exception is pending: the section starts clean, and the user has it again. */
static void pending_exception(void **state)
{
	enum xst_insn insn;

	(void)state;
	for (insn = XST_INSN_FNSAVE; insn <= XST_INSN_XSAVES; insn++) {
		assert_int_equal(rig_up(&rig, insn, 0x7, "deferred"), XST_OK);
		rig_go(&rig, 0, A);
		rig_put(&rig, 0, XST_COMP_X87, 0x11);
		HW->regs.X87[2] = 0x04; /* ZE */
		assert_int_equal(mdl_fldcw(HW, 0x037b), 0);
		assert_int_equal(HW->regs.X87[2], 0x84);
		assert_int_equal(xst_kernel_begin(CPU, XST_NEED_X87), XST_OK);
		assert_int_equal(HW->regs.X87[2] | HW->regs.X87[3], 0);
		xst_kernel_end(CPU);
		xst_return_to_user(CPU);
		assert_int_equal(HW->regs.X87[2], 0x84);
		assert_int_equal(fcw(), 0x037b);
		(void)counters();
	}
}

/* SEC-08: FNINIT leaves the contents of the stack; a task that comes after a section sees INIT. */
static void nothing_of_the_kernel_leaks(void **state)
{
	unsigned p;

	(void)state;
	for (p = 0; p < XST_POLICY_COUNT; p++) {
		assert_int_equal(rig_up(&rig, XST_INSN_XSAVEC, 0x7, xst_policy_at(p)->name), XST_OK);
		rig_go(&rig, 0, A);
		xst_return_to_user(CPU);
		section(XST_NEED_X87);
		section(XST_NEED_X87);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_X87), 0);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_SSE), 0);
		section(XST_NEED_EFI);
		rig_go(&rig, 0, B);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_X87), 0);
		section(XST_NEED_EFI);
		xst_ctx_exec(CPU, B);
		assert_int_equal(rig_see(&rig, 0, XST_COMP_X87), 0);
		(void)counters();
	}
}

static void longest_section(void **state)
{
	static const uint64_t took[] = {5, 70, 12};
	unsigned i;

	(void)state;
	assert_int_equal(rig_up(&rig, XST_INSN_XSAVES, 0x7, "deferred"), XST_OK);
	for (i = 0; i < 3; i++) {
		assert_int_equal(xst_kernel_begin(CPU, 0), XST_OK);
		mdl_clock += took[i];
		xst_kernel_end(CPU);
	}
	/* Another CPU's clock after a resume: behind. */
	assert_int_equal(xst_kernel_begin(CPU, 0), XST_OK);
	mdl_clock -= 10;
	xst_kernel_end(CPU);
#ifdef MDL_NO_CLOCK
	assert_int_equal(counters()->section_longest, 0);
#else
	assert_int_equal(counters()->section_longest, 70);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(saved_once),
		CASE("KFP-03", efi_convention),
		cmocka_unit_test(loaded_when_needed),
		cmocka_unit_test(stays_in_place),
		cmocka_unit_test(no_transition),
		cmocka_unit_test(lazy_traps_again),
		cmocka_unit_test(only_copy_is_saved),
		CASE("KFP-07", kernel_thread),
		CASE("KFP-05", usable_by_context),
		CASE("KFP-13", not_before_bring_up),
		cmocka_unit_test(nesting),
		cmocka_unit_test(before_bring_up),
		CASE("KFP-14", avx512_is_covered),
		cmocka_unit_test(pending_exception),
		CASE("SEC-08", nothing_of_the_kernel_leaks),
		cmocka_unit_test(longest_section),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
