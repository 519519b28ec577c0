// SPDX-License-Identifier: BSD-2-Clause
/*
 * Generated code: the assembler's bytes are the manual's, a loop runs as often as it says from any
 * address, it starts in exactly the state asked for, and its caller's registers survive.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <xst/insn.h>
#include <xst/layout.h>

#include "bench/code.h"
#include "bench/state.h"
#include "stats/plan.h"

static uint64_t seed = 31337;
static struct bench_state state;
static struct code_buffer buffer;

static int open_all(void **unused)
{
	const char *why;

	(void)unused;
	return state_open(&state, seed, &why) && code_open(&buffer) ? 0 : -1;
}

static int close_all(void **unused)
{
	(void)unused;
	code_close(&buffer);
	state_close(&state);
	return 0;
}

/* Ref: SDM vol. 2, the instructions' pages; AMD64 APM vol. 3 for RDPKRU and WRPKRU. */
static void bytes_are_the_manuals(void **unused)
{
	static const struct {
		enum snip snip;
		uint8_t n, bytes[8];
	} known[] = {
		{SNIP_fninit, 2, {0xdb, 0xe3}},
		{SNIP_fnsave, 2, {0xdd, 0x33}},
		{SNIP_frstor, 2, {0xdd, 0x23}},
		{SNIP_fxsave, 4, {0x48, 0x0f, 0xae, 0x03}},
		{SNIP_fxrstor, 4, {0x48, 0x0f, 0xae, 0x0b}},
		{SNIP_xsave, 4, {0x48, 0x0f, 0xae, 0x23}},
		{SNIP_xsaveopt, 4, {0x48, 0x0f, 0xae, 0x33}},
		{SNIP_xsavec, 4, {0x48, 0x0f, 0xc7, 0x23}},
		{SNIP_xrstor, 4, {0x48, 0x0f, 0xae, 0x2b}},
		{SNIP_ldmxcsr, 3, {0x0f, 0xae, 0x17}},
		{SNIP_vldmxcsr, 4, {0xc5, 0xf8, 0xae, 0x17}},
		{SNIP_stmxcsr, 4, {0x0f, 0xae, 0x5f, 0x08}},
		{SNIP_vzeroupper, 3, {0xc5, 0xf8, 0x77}},
		{SNIP_vzeroall, 3, {0xc5, 0xfc, 0x77}},
		{SNIP_emms, 2, {0x0f, 0x77}},
		{SNIP_xgetbv, 3, {0x0f, 0x01, 0xd0}},
		{SNIP_rdpkru, 3, {0x0f, 0x01, 0xee}},
		{SNIP_wrpkru, 3, {0x0f, 0x01, 0xef}},
		{SNIP_ret, 1, {0xc3}},
		{SNIP_NONE, 0, {0}},
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t n;
		const uint8_t *bytes = snip_bytes(known[i].snip, &n);

		if (n != known[i].n || memcmp(bytes, known[i].bytes, n))
			fail_msg("%s is not assembled as the manual says",
				 snip_text(known[i].snip));
	}
}

static void loops_run_as_often_as_told(void **unused)
{
	const struct code_body body = {
		.step = {{SNIP_count, 1}, {SNIP_multiply, 3}, {SNIP_count, 2}}, .copies = 5};
	struct code_setup setup;

	(void)unused;
	assert_int_equal(code_body_bytes(&body), 5 * (3 * 4 + 3 * 4));
	for (uint64_t i = 0; i < 300; i++) {
		uint32_t warm = 1 + (uint32_t)i % 3, loops = 1 + (uint32_t)i % 7;
		code_fn *fn;

		state_setup(&state, LIVE_INIT, state.all, stats_seed_mix(seed, i), &setup);
		state.operands->turns = 0;
		fn = code_emit(&buffer, stats_seed_mix(seed, i), &setup, &body, warm, loops);
		assert_non_null(fn);
		assert_true(fn() > 0);
		assert_int_equal(state.operands->turns, 15 * (warm + loops));
	}
}

static void count_calls(void *argument)
{
	unsigned *calls = argument;

	/* The ABI's promise to a function: the stack is aligned before its return address. */
	if ((uintptr_t)__builtin_frame_address(0) % 16 == 0)
		++*calls;
}

static void loops_call_c_functions(void **unused)
{
	const struct code_body body = {.step = {{SNIP_call, 1}, {SNIP_multiply, 1}}, .copies = 3};
	struct code_setup setup;
	unsigned calls = 0;
	code_fn *fn;

	(void)unused;
	state_setup(&state, LIVE_INIT, state.all, 0, &setup);
	setup.call = count_calls;
	setup.argument = &calls;
	fn = code_emit(&buffer, 4321, &setup, &body, 2, 10);
	assert_non_null(fn);
	assert_true(fn() > 0);
	assert_int_equal(calls, 3 * 12);
}

static void impossible_loops_are_refused(void **unused)
{
	const struct code_body huge = {.step = {{SNIP_multiplies, 4000}}, .copies = 1};
	const struct code_body small = {.step = {{SNIP_multiply, 1}}, .copies = 1};
	struct code_setup setup;

	(void)unused;
	state_setup(&state, LIVE_INIT, state.all, 0, &setup);
	assert_null(code_emit(&buffer, 0, &setup, &huge, 1, 1));
	assert_null(code_emit(&buffer, 0, &setup, &small, 0, 1));
	assert_null(code_emit(&buffer, 0, &setup, &small, 1, 0));
	/* The last placement there is still fits. */
	assert_non_null(code_emit(&buffer, UINT64_MAX, &setup, &small, 1, 1));
}

/* Components of an image that must come back as they were given. */
static void check_component(unsigned id, const uint8_t *area, const uint8_t *image,
			    const struct xst_layout *layout)
{
	if (id == XST_COMP_X87) {
		assert_int_equal(area[4], 0xff);
		for (unsigned r = 0; r < 8; r++)
			assert_memory_equal(area + 32 + 16 * r, image + 32 + 16 * r, 10);
	} else if (id == XST_COMP_SSE) {
		assert_memory_equal(area + 160, image + 160, 256);
	} else {
		assert_memory_equal(area + layout->offset[id], image + layout->offset[id],
				    layout->size[id]);
	}
}

static void loops_start_in_the_state_asked_for(void **unused)
{
	const struct code_body body = {.step = {{SNIP_xsave, 1}}, .copies = 1};
	struct xst_layout layout;
	struct code_setup setup;
	unsigned sets = 0;

	(void)unused;
	if (!state.all) {
		print_message("this CPU has no XSAVE: what is live cannot be seen\n");
		skip();
	}
	assert_int_equal(xst_layout_compute(&state.caps, state.all, XST_STANDARD, &layout, NULL),
			 XST_OK);
	for (int live = 0; live < LIVE_COUNT; live++) {
		code_fn *fn;
		uint64_t bv;

		if (!state.image[live])
			continue;
		state_setup(&state, (enum live)live, state.all, stats_seed_mix(seed, 5), &setup);
		fn = code_emit(&buffer, 12345, &setup, &body, 1, 1);
		assert_non_null(fn);
		assert_true(fn() > 0);
		memcpy(&bv, (uint8_t *)setup.a + XST_HEADER_OFFSET, 8);
		assert_true((bv & state.live[live]) == state.live[live]);
		/* The manual lets a CPU call an INIT component live, so the rest is not compared.
		 */
		for (unsigned i = 0; i < 63; i++)
			if (state.live[live] & XST_MASK(i))
				check_component(i, setup.a, state.image[live], &layout);
		sets++;
	}
	assert_true(sets >= 3);
}

/* The caller's registers are known before and compared after, by FXSAVE. */
static void callers_state_survives(void **unused)
{
	static const enum snip bad[] = {SNIP_fninit, SNIP_ldmxcsr_changed, SNIP_stldmxcsr,
					SNIP_use_x87};
	static uint8_t before[512] __attribute__((aligned(16))),
		after[512] __attribute__((aligned(16)));
	struct code_setup setup;
	uint32_t mxcsr = 0x3f80, normal = 0x1f80; /* rounding down */
	uint16_t fcw = 0x0f7f;                    /* rounding down */

	(void)unused;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const struct code_body body = {.step = {{bad[i], 1}}, .copies = 2};
		code_fn *fn;

		state_setup(&state, LIVE_ALL, state.all, 0, &setup);
		fn = code_emit(&buffer, 777, &setup, &body, 1, 2);
		assert_non_null(fn);
		xst_ldmxcsr(&mxcsr);
		xst_fldcw(&fcw);
		xst_fxsave(before);
		fn();
		xst_fxsave(after);
		xst_ldmxcsr(&normal);
		xst_fninit();
		assert_memory_equal(before, after, 6);               /* FCW, FSW, FTW, opcode */
		assert_memory_equal(before + 24, after + 24, 4);     /* MXCSR */
		assert_memory_equal(before + 160, after + 160, 256); /* XMM */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_the_manuals),
		cmocka_unit_test(loops_run_as_often_as_told),
		cmocka_unit_test(loops_call_c_functions),
		cmocka_unit_test(impossible_loops_are_refused),
		cmocka_unit_test(loops_start_in_the_state_asked_for),
		cmocka_unit_test(callers_state_survives),
	};
	const char *given = getenv("XST_SEED");

	if (given)
		seed = strtoull(given, NULL, 0);
	print_message("seed %llu (XST_SEED gives another)\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, open_all, close_all);
}
