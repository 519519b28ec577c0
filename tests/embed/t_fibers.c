// SPDX-License-Identifier: BSD-2-Clause
/*
 * examples/fibers, one state at a time: what a fiber sets is its own, through a yield and through a
 * preemption of either kind, and what it does not set is fresh.
 */
#include "../unit/t.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fiber.h"
#include "live.h"

/* What a fiber saw; looked at when all are done, on a stack that cmocka may leave. */
struct seen {
	uint32_t mxcsr;
	uint16_t fcw, fsw;
	uint8_t xmm[16];
	double st[3];
};

static struct seen first, again, other, other_again;
static void (*leave)(void);

static void look(struct seen *s)
{
	__asm__ volatile("fnstcw %0\n\tfnstsw %1\n\tstmxcsr %2\n\tmovups %%xmm7, %3"
			 : "=m"(s->fcw), "=m"(s->fsw), "=m"(s->mxcsr), "=m"(s->xmm));
}

static void set_controls(uint16_t fcw, uint32_t mxcsr)
{
	__asm__ volatile("fldcw %0\n\tldmxcsr %1" : : "m"(fcw), "m"(mxcsr));
}

static void run_two(const char *policy, enum fiber_how how, void (*leaves)(void), void (*a)(void *),
		    void (*b)(void *))
{
	static struct fiber fibers[2];

	memset(&first, 0xa5, sizeof(first));
	again = other = other_again = first;
	leave = leaves;
	assert_int_equal(fibers_init(policy, how), 0);
	/* The one that is started last runs first. */
	assert_int_equal(fiber_start(&fibers[1], b, NULL), 0);
	assert_int_equal(fiber_start(&fibers[0], a, NULL), 0);
	fibers_run();
	fiber_free(&fibers[0]);
	fiber_free(&fibers[1]);
}

static const char *const policies[] = {"eager", "eager-keep", "deferred", "auto"};
static const struct {
	const char *name;
	enum fiber_how how;
	void (*leave)(void);
} ways[] = {
	{"yield", FIBER_AT_RETURN, fiber_yield},
	{"preempted at return", FIBER_AT_RETURN, fiber_raise},
	{"preempted inside", FIBER_INSIDE, fiber_raise},
};

/* "RTL-04": rounding towards zero in A is none of B's business, and A gets it back. */
static void rounds_to_zero(void *argument)
{
	(void)argument;
	set_controls(0x0f7f, 0x7f80);
	look(&first);
	leave();
	look(&again);
	set_controls(0x037f, 0x1f80);
}

static void looks_only(void *argument)
{
	(void)argument;
	look(&other);
	leave();
	look(&other_again);
}

static void own_controls(void **state)
{
	(void)state;
	for (unsigned p = 0; p < 4; p++)
		for (unsigned w = 0; w < 3; w++) {
			run_two(policies[p], ways[w].how, ways[w].leave, rounds_to_zero,
				looks_only);
			printf("%s, %s: A %#x %#x, B %#x %#x\n", policies[p], ways[w].name,
			       again.mxcsr, again.fcw, other.mxcsr, other.fcw);
			assert_int_equal(first.mxcsr, 0x7f80);
			assert_int_equal(other.mxcsr, 0x1f80);
			assert_int_equal(other.fcw, 0x037f);
			assert_int_equal(again.mxcsr, 0x7f80);
			assert_int_equal(again.fcw, 0x0f7f);
			assert_int_equal(other_again.mxcsr, 0x1f80);
			assert_int_equal(other_again.fcw, 0x037f);
		}
}

/* "RTL-05": A leaves with three values on the x87 stack; B comes with an empty one, and A's are
 * there when A comes back. */
static void three_on_the_stack(void *argument)
{
	(void)argument;
	__asm__ volatile("fninit\n\tfld1\n\tfldpi\n\tfldl2e");
	look(&first);
	leave();
	look(&again);
	__asm__ volatile("fstpl %0\n\tfstpl %1\n\tfstpl %2\n\tfninit"
			 : "=m"(again.st[0]), "=m"(again.st[1]), "=m"(again.st[2]));
}

static void own_stack_top(void **state)
{
	(void)state;
	for (unsigned p = 0; p < 4; p++)
		for (unsigned w = 0; w < 3; w++) {
			run_two(policies[p], ways[w].how, ways[w].leave, three_on_the_stack,
				looks_only);
			assert_int_equal(first.fsw >> 11 & 7, 5);
			assert_int_equal(other.fsw, 0);
			assert_int_equal(other.fcw, 0x037f);
			assert_int_equal(again.fsw >> 11 & 7, 5);
			assert_true(again.st[0] > 1.44 && again.st[0] < 1.45);
			assert_true(again.st[1] > 3.14 && again.st[1] < 3.15);
			assert_true(again.st[2] > 0.99 && again.st[2] < 1.01);
		}
}

/* A fiber in memory of one that ended begins with fresh registers, not with the dead one's. */
static void dirties(void *argument)
{
	(void)argument;
	__asm__ volatile("pcmpeqd %%xmm7, %%xmm7" : : : "xmm7");
	set_controls(0x0b7f, 0x3f80);
	look(&first);
}

static void fresh_begins_fresh(void **state)
{
	static const uint8_t zero[16];
	static struct fiber f;

	(void)state;
	for (unsigned p = 0; p < 4; p++) {
		memset(&other, 0xa5, sizeof(other));
		leave = fiber_yield;
		assert_int_equal(fibers_init(policies[p], FIBER_AT_RETURN), 0);
		for (unsigned i = 0; i < 2; i++) {
			assert_int_equal(fiber_start(&f, i ? looks_only : dirties, NULL), 0);
			fibers_run();
			fiber_free(&f);
		}
		assert_int_equal(first.mxcsr, 0x3f80);
		assert_int_equal(other.mxcsr, 0x1f80);
		assert_int_equal(other.fcw, 0x037f);
		assert_int_equal(first.xmm[0], 0xff);
		assert_memory_equal(other.xmm, zero, sizeof(zero));
	}
}

/* A restore may touch an area to its end whatever XSTATE_BV says, so the fresh image may not be the
 * last thing before a page that is not there. */
static void fresh_image_has_room(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			      -1, 0);
	struct xst_system *sys = (struct xst_system *)(void *)(pages + page - sizeof(*sys));

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
	assert_int_equal((uintptr_t)sys % 64, 0);
	assert_int_equal(fibers_init("eager", FIBER_AT_RETURN), 0);
	memcpy(sys, &fiber_system, sizeof(*sys));
	if (sys->insn >= XST_INSN_XSAVE) {
		assert_int_equal(xst_xrstor_try(sys->fresh, sys->mask), 0);
		if (sys->apart)
			assert_int_equal(xst_xrstor_try(sys->fresh_apart, sys->apart), 0);
	}
	munmap(pages, 2 * page);
}

static void refusals(void **state)
{
	(void)state;
	assert_int_equal(fibers_init("nonesuch", FIBER_AT_RETURN), XST_ERR_INVALID);
	/* User mode has no CR0.TS. */
	assert_int_equal(fibers_init("lazy", FIBER_AT_RETURN), XST_ERR_UNSUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_controls),       cmocka_unit_test(own_stack_top),
		cmocka_unit_test(fresh_begins_fresh), cmocka_unit_test(fresh_image_has_room),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
