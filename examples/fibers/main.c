// SPDX-License-Identifier: BSD-2-Clause
/*
 * Fibers that keep values in every x87, SSE, AVX and AVX-512 register, in MXCSR and in FCW, are
 * preempted a million times, and look at every register each time.
 *
 *     fibers [--preemptions N] [--fibers N] [--policy NAME] [--inside] [--timer-ns N] [--seed N]
 *
 * Exit status: 0 no register was ever wrong, 1 one was, 2 wrong usage, 3 this machine cannot.
 */
#include "fiber.h"
#include "live.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FIBERS 64u
#define SHOWN      5u

struct options {
	uint64_t preemptions, seed;
	unsigned fibers;
	long timer_ns;
	const char *policy;
	enum fiber_how how;
};

struct worker {
	struct fiber fiber;
	struct live in, out;
	uint64_t random;
	unsigned id;
};

static struct options options = {
	.preemptions = 1000000, .seed = 0x5eed, .fibers = 8, .timer_ns = 50000, .policy = "auto",
};
static enum live_level level;
static struct worker *workers;
static uint64_t rounds, wrong;
/* Told at the end: a fiber that is preempted in the middle of a print would hold its lock. */
static struct {
	const char *name;
	uint64_t when;
	unsigned fiber, number;
} shown[SHOWN];

static uint64_t next(uint64_t *x)
{
	uint64_t z = *x += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static uint64_t done(void)
{
	return fiber_counts.by_timer + fiber_counts.by_raise;
}

/* New values for every register; never zero in any byte of the vectors, so nothing looks INIT. */
static void choose(struct worker *w)
{
	uint64_t *words = (uint64_t *)(void *)w->in.vector;

	for (unsigned i = 0; i < sizeof(w->in.vector) / 8; i++)
		words[i] = next(&w->random) | 0x0101010101010101u;
	for (unsigned i = 0; i < 8; i++) {
		const uint64_t mantissa = next(&w->random) | 1ull << 63;
		const uint16_t sign_exponent = (uint16_t)(0x3f00 + next(&w->random) % 0xff);

		w->in.opmask[i] = next(&w->random) | 1;
		memcpy(w->in.st[i], &mantissa, 8);
		memcpy(w->in.st[i] + 8, &sign_exponent, 2);
	}
	/* Sticky flags, rounding and flush-to-zero differ; precision and rounding of the x87 unit
	 * too. Exceptions stay masked. */
	w->in.mxcsr = 0x1f80u | (next(&w->random) & 0xe03fu);
	w->in.fcw = (uint16_t)(0x007fu | (next(&w->random) % 4) << 10 |
			       (next(&w->random) & 1 ? 0x0300u : 0x0200u));
}

static void compare(const struct worker *w, const char *name, unsigned number, const void *want,
		    const void *got, size_t bytes)
{
	uint64_t i;

	if (!memcmp(want, got, bytes))
		return;
	i = wrong++;
	if (i >= SHOWN)
		return;
	shown[i].name = name;
	shown[i].number = number;
	shown[i].fiber = w->id;
	shown[i].when = done();
}

static void tell_wrong(void)
{
	for (uint64_t i = 0; i < wrong && i < SHOWN; i++)
		fprintf(stderr,
			"fiber %u, after %" PRIu64 " preemptions: %s%u is not what it was\n",
			shown[i].fiber, shown[i].when, shown[i].name, shown[i].number);
}

static void check(const struct worker *w)
{
	static const size_t bytes[] = {[LIVE_SSE] = 16, [LIVE_AVX] = 32, [LIVE_AVX512] = 64};
	const unsigned vectors = level == LIVE_AVX512 ? 32 : 16;

	for (unsigned i = 0; i < vectors; i++)
		compare(w, level == LIVE_SSE ? "xmm" : level == LIVE_AVX ? "ymm" : "zmm", i,
			w->in.vector[i], w->out.vector[i], bytes[level]);
	for (unsigned i = 0; i < 8 && level == LIVE_AVX512; i++)
		compare(w, "k", i, &w->in.opmask[i], &w->out.opmask[i], 8);
	for (unsigned i = 0; i < 8; i++)
		compare(w, "st", i, w->in.st[i], w->out.st[i], 10);
	compare(w, "mxcsr of fiber ", w->id, &w->in.mxcsr, &w->out.mxcsr, sizeof(w->in.mxcsr));
	compare(w, "fcw of fiber ", w->id, &w->in.fcw, &w->out.fcw, sizeof(w->in.fcw));
}

/* One round: a fiber yields, raises a signal against itself, or only waits for the timer. */
static __attribute__((noinline)) void one_round(struct worker *w)
{
	static void (*const round_of[])(const struct live *, struct live *, void (*)(void),
					uint64_t) = {
		[LIVE_SSE] = live_sse, [LIVE_AVX] = live_avx, [LIVE_AVX512] = live_avx512,
	};
	const uint64_t dice = next(&w->random);
	void (*const middle)(void) = dice % 8 == 0  ? fiber_yield
				     : dice % 8 < 7 ? fiber_raise
						    : NULL;

	/* At every alignment of the stack: the kernel puts its frame right below. */
	__asm__ volatile("" : : "r"(__builtin_alloca(16 * (dice >> 20 & 7))) : "memory");
	choose(w);
	memset(&w->out, 0, sizeof(w->out));
	round_of[level](&w->in, &w->out, middle, dice >> 8 & 0x1ff);
	check(w);
	rounds++;
}

static void work(void *argument)
{
	while (done() < options.preemptions)
		one_round(argument);
}

static bool number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = text ? strtoull(text, &end, 0) : 0;
	return text && *text >= '0' && *text <= '9' && !*end && !errno && *value >= min &&
	       *value <= max;
}

static bool parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
		uint64_t v = 0;

		if (!strcmp(name, "--inside")) {
			options.how = FIBER_INSIDE;
			continue;
		}
		i++;
		if (!strcmp(name, "--preemptions") && number(value, 1, UINT64_MAX, &v))
			options.preemptions = v;
		else if (!strcmp(name, "--fibers") && number(value, 2, MAX_FIBERS, &v))
			options.fibers = (unsigned)v;
		else if (!strcmp(name, "--timer-ns") && number(value, 1000, 1000000000, &v))
			options.timer_ns = (long)v;
		else if (!strcmp(name, "--seed") && number(value, 0, UINT64_MAX, &v))
			options.seed = v;
		else if (!strcmp(name, "--policy") && value)
			options.policy = value;
		else
			return false;
	}
	return true;
}

/* What can be live here: what the engine switches, not more. */
static enum live_level find_level(void)
{
	uint32_t a, b, c, d;

	xst_cpuid(7, 0, &a, &b, &c, &d);
	if ((fiber_system.mask & XST_MASK_AVX512) == XST_MASK_AVX512 && (b & 1u << 30))
		return LIVE_AVX512; /* and 64-bit opmasks */
	return fiber_system.mask & XST_MASK_AVX ? LIVE_AVX : LIVE_SSE;
}

static int run(void)
{
	static const char *const names[] = {"SSE", "AVX", "AVX-512"};
	int err = fibers_init(options.policy, options.how);

	if (err) {
		fprintf(stderr, "fibers: %s: %s\n", options.policy,
			err == XST_ERR_INVALID ? "no policy has this name" : xst_strerror(err));
		return err == XST_ERR_INVALID ? 2 : 3;
	}
	level = find_level();
	for (unsigned i = 0; i < options.fibers; i++) {
		struct worker *w = &workers[i];

		w->id = i;
		w->random = options.seed + i;
		if (fiber_start(&w->fiber, work, w)) {
			fprintf(stderr, "fibers: memory is short\n");
			return 3;
		}
	}
	if (fibers_timer(options.timer_ns)) {
		fprintf(stderr, "fibers: no timer: %s\n", strerror(errno));
		return 3;
	}
	fibers_run();
	for (unsigned i = 0; i < options.fibers; i++)
		fiber_free(&workers[i].fiber);
	tell_wrong();
	printf("%u fibers with live x87 and %s state, policy %s, %s of %u bytes, seed 0x%" PRIx64
	       "\n",
	       options.fibers, names[level], options.policy, xst_insn_name(fiber_system.insn),
	       fiber_system.ctx_bytes, options.seed);
	printf("%" PRIu64 " preemptions %s (%" PRIu64 " by the timer, %" PRIu64 " raised), %" PRIu64
	       " yields, %" PRIu64 " put off\n",
	       done(), options.how == FIBER_INSIDE ? "inside the handler" : "at its return",
	       fiber_counts.by_timer, fiber_counts.by_raise, fiber_counts.yields,
	       fiber_counts.put_off);
	printf("%" PRIu64 " rounds, %" PRIu64 " wrong registers\n", rounds, wrong);
	return wrong ? 1 : 0;
}

int main(int argc, char **argv)
{
	int status;

	if (!parse(argc, argv)) {
		fprintf(stderr, "usage: fibers [--preemptions N] [--fibers 2..%u] [--policy NAME] "
			"[--inside] [--timer-ns 1000..1000000000] [--seed N]\n", MAX_FIBERS);
		return 2;
	}
	workers = calloc(options.fibers, sizeof(*workers));
	if (!workers) {
		fprintf(stderr, "fibers: memory is short\n");
		return 3;
	}
	status = run();
	free(workers);
	return status;
}
