// SPDX-License-Identifier: BSD-2-Clause
/*
 * The switches that `xstate bench fiber` times really switch: the very same pieces of code, in a loop
 * like the measured one, between two parties that hold other values in every round, keep apart what
 * they say they keep. What a way does not keep must be found broken, or the test could not see it;
 * and built with FIBER_TWIN, the library that never restores must be caught under every policy.
 *
 * Without sanitizers: stacks are changed under them here.
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

#include "bench/fiber.h"
#include "stats/plan.h"

#define ROUNDS 60
#define KINDS  4

static uint64_t seed = 20240917;
static struct bench_state state;
static struct code_buffer buffer;
static struct xst_layout layout;

/* One of the two, and what it put into its registers last. */
struct party {
	uint8_t *image, *got;
	unsigned turns;
};

static struct party party[2];
static uint64_t mask;
static unsigned wrong;     /* KEEPS_..., found broken */
static uint64_t areas[2];  /* what RBX and RBP must hold */

/* What SNIP_look finds at (%r15) behind a way's own call. */
static struct {
	struct peer_call call;
	void (*look)(uint64_t rbx, uint64_t rbp);
	void (*inside)(void *unused);
} block;

/* Other values in each round, never zero; every fourth round INIT state. */
static void new_values(struct party *p, uint64_t part)
{
	const uint64_t r = stats_seed_mix(seed, part), bv = part % KINDS ? mask : 0;
	const uint32_t mxcsr = 0x1f80 | (bv ? (uint32_t)(r >> 8) % 4 << 13 : 0); /* a rounding */
	const uint16_t fcw = (uint16_t)(0x037f | (bv ? r % 4 << 10 : 0));

	memset(p->image, 0, state.area_bytes);
	memcpy(p->image, &fcw, sizeof(fcw));
	memcpy(p->image + 24, &mxcsr, sizeof(mxcsr));
	memcpy(p->image + XST_HEADER_OFFSET, &bv, sizeof(bv));
	if (!bv)
		return;
	p->image[4] = 0xff;
	for (unsigned k = 0; k < 8; k++) {
		const uint64_t st[2] = {stats_seed_mix(r, k) | 1ull << 63, 0x3fff};

		memcpy(p->image + 32 + 16 * k, st, 10);
	}
	for (unsigned k = 0; k < 256; k++)
		p->image[160 + k] = (uint8_t)(stats_seed_mix(r, k) % 255 + 1);
	for (unsigned i = 2; i < 63; i++)
		for (unsigned k = 0; (mask & XST_MASK(i)) && k < layout.size[i]; k++)
			p->image[layout.offset[i] + k] =
				(uint8_t)(stats_seed_mix(r + i, k) % 255 + 1);
}

static void compare(const struct party *p)
{
	unsigned legacy = 0;
	uint64_t bv;

	memcpy(&bv, p->got + XST_HEADER_OFFSET, sizeof(bv));
	/* INIT x87 state is not written. */
	if (((bv & XST_MASK_X87) && memcmp(p->got, p->image, 2)) ||
	    memcmp(p->got + 24, p->image + 24, 4))
		wrong |= KEEPS_CONTROL;
	for (unsigned k = 0; k < 8; k++)
		legacy |= memcmp(p->got + 32 + 16 * k, p->image + 32 + 16 * k, 10) != 0;
	legacy |= memcmp(p->got + 160, p->image + 160, 256) != 0;
	if (legacy)
		wrong |= KEEPS_LEGACY | KEEPS_ALL;
	for (unsigned i = 2; i < 63; i++)
		if ((mask & XST_MASK(i)) && memcmp(p->got + layout.offset[i],
						   p->image + layout.offset[i], layout.size[i]))
			wrong |= KEEPS_ALL;
}

/* A party's turn: look at what it had before, then put something new there. Nothing comes before
 * the save or after the restore; string functions of the C library use registers. */
static void turn(struct party *p, uint64_t first)
{
	xst_xsave(p->got, mask);
	if (p->turns)
		compare(p);
	memset(p->got, 0, state.area_bytes);
	new_values(p, first + p->turns++);
	if (xst_xrstor_try(p->image, mask))
		abort();
}

static void there(void *unused)
{
	(void)unused;
	turn(&party[1], 1001);
}

static void here(uint64_t rbx, uint64_t rbp)
{
	if (rbx != areas[0] || rbp != areas[1])
		wrong |= KEEPS_CALLEE_SAVED;
	turn(&party[0], 1);
}

/* Rounds of one way; what it breaks is in @wrong. */
static void run(struct fiber_way *way)
{
	const bool comes_back = way->back == SNIP_NONE;
	const struct code_body body = {.step = {{way->there, 1},
						{SNIP_look_inside, comes_back ? 0 : 1},
						{way->back, 1},
						{SNIP_look, 1}},
				       .copies = 1};
	struct code_setup setup;
	code_fn *fn;

	for (int i = 0; i < 2; i++) {
		party[i].turns = 0;
		memset(party[i].got, 0, state.area_bytes);
	}
	wrong = 0;
	mask = way->mask;
	state_setup(&state, LIVE_INIT, mask, stats_seed_mix(seed, 7), &setup);
	setup.fill_a = way->fill_a;
	setup.fill_b = way->fill_b;
	if (way->call) {
		block.call = *way->call;
		setup.call = way->call->function;
	}
	block.look = here;
	block.inside = there;
	setup.argument = &block;
	areas[0] = (uintptr_t)setup.a;
	areas[1] = (uintptr_t)setup.b;
	fn = code_emit(&buffer, stats_seed_mix(seed, 8), &setup, &body, 1, ROUNDS);
	assert_non_null(fn);
	if (way->library)
		library_place(way->library, setup.a, setup.b);
	assert_true(fn() > 0);
	assert_int_equal(party[0].turns, ROUNDS + 1);
	assert_int_equal(party[1].turns, ROUNDS + 1);
}

static int open_all(void **unused)
{
	const char *why;

	(void)unused;
	if (!state_open(&state, seed, &why) || !code_open(&buffer))
		return -1;
	if (state.all &&
	    xst_layout_compute(&state.caps, state.all, XST_STANDARD, &layout, NULL) != XST_OK)
		return -1;
	for (int i = 0; i < 2; i++) {
		party[i].image = aligned_alloc(64, state.area_bytes);
		party[i].got = aligned_alloc(64, state.area_bytes);
		if (!party[i].image || !party[i].got)
			return -1;
	}
	return 0;
}

static int close_all(void **unused)
{
	(void)unused;
	for (int i = 0; i < 2; i++) {
		free(party[i].image);
		free(party[i].got);
	}
	code_close(&buffer);
	state_close(&state);
	return 0;
}

static void every_way_keeps_what_it_says(void **unused)
{
	unsigned ran = 0;

	(void)unused;
	if (!state.all) {
		print_message("no XSAVE here: values cannot be put everywhere\n");
		skip();
	}
	for (unsigned i = 0; i < FIBER_SWITCHES; i++) {
		const struct fiber_switch *what = &fiber_switch[i];
		unsigned all = KEEPS_CONTROL | KEEPS_LEGACY | KEEPS_ALL | KEEPS_CALLEE_SAVED;
		struct fiber_way way;

		fiber_way_open(&state, i, there, NULL, &way);
		if (way.skipped) {
			print_message("%s: not available: %s\n", what->id, way.skipped);
			continue;
		}
		run(&way);
		/* Nobody saves another stack's registers where there is only one. */
		if (what->sort != FIBER_STACKS)
			all &= ~KEEPS_CALLEE_SAVED;
#ifdef FIBER_TWIN
		if (what->sort == FIBER_LIBRARY && !(wrong & KEEPS_ALL))
			fail_msg("%s: a library that never restores was not caught", what->id);
		if (what->sort != FIBER_LIBRARY)
#endif
		{
			if (wrong & what->keeps)
				fail_msg("%s loses %#x of what it keeps (seed %llu)", what->id,
					 wrong & what->keeps, (unsigned long long)seed);
			if ((wrong & all) != (all & ~what->keeps) &&
			    (mask & ~(uint64_t)XST_MASK_LEGACY))
				fail_msg("%s: %#x is not kept, and that was not seen", what->id,
					 all & ~what->keeps & ~wrong);
		}
		if (what->policy && !strcmp(what->policy, "auto") && state.caps.xgetbv1)
			assert_true(library_counters(way.library)->validations > ROUNDS);
		fiber_way_close(&way);
		ran++;
	}
	print_message("%u of %u ways, %u rounds each, seed %llu\n", ran, FIBER_SWITCHES, ROUNDS,
		      (unsigned long long)seed);
	assert_true(ran >= 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_keeps_what_it_says),
	};

	return cmocka_run_group_tests_name("fiber", tests, open_all, close_all);
}
