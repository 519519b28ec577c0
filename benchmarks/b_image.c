// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two promises, as ratios within one run: checking a valid AVX-512 image costs less than one
 * XRSTOR of it, and converting one between the formats at most 1.5 times a memcpy of the bytes.
 *
 * Arms take turns in short slices, so that a clock that changes its speed hits both alike; told is
 * the lower decile of each, since interference (another thread on the same core) only ever adds.
 * `hot` has one image in the first-level cache; `many`
 * goes through 512 of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xst/image.h>
#include <xst/insn.h>

#define SLICES 401
#define IMAGES 512
#define ROOM   4096
#define LOOPS  512

static struct xst_caps caps;
static uint64_t mask;
static struct xst_layout std, comp;
static uint8_t *from_std, *from_comp, *target;
static unsigned span; /* images gone through: 1 or IMAGES */

static uint8_t *at(uint8_t *base, unsigned i)
{
	return base + (size_t)(i % span) * ROOM;
}

static inline uint64_t ticks(void)
{
	uint32_t lo, hi;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(lo), "=d"(hi) : : "memory");
	return (uint64_t)hi << 32 | lo;
}

static void keep(const void *p)
{
	__asm__ volatile("" : : "g"(p) : "memory");
}

static void arm_check(void)
{
	struct xst_restore how = {&caps, XST_BY_XRSTOR, mask, 0, 0, mask, 0, 0};
	struct xst_verdict v;

	for (unsigned i = 0; i < LOOPS; i++) {
		if (xst_image_check(&how, at(from_std, i), std.bytes, &v, NULL))
			abort();
		keep(&v);
	}
}

static void arm_check_compacted(void)
{
	struct xst_restore how = {&caps, XST_BY_XRSTOR, mask, 0, 0, mask, 0, 0};
	struct xst_verdict v;

	for (unsigned i = 0; i < LOOPS; i++) {
		if (xst_image_check(&how, at(from_comp, i), comp.bytes, &v, NULL))
			abort();
		keep(&v);
	}
}

static void arm_xrstor(void)
{
	for (unsigned i = 0; i < LOOPS; i++)
		(void)xst_xrstor_try(at(from_std, i), mask);
}

static void arm_xrstor_compacted(void)
{
	for (unsigned i = 0; i < LOOPS; i++)
		(void)xst_xrstor_try(at(from_comp, i), mask);
}

static void convert(uint8_t *base, const struct xst_layout *a, const struct xst_layout *b)
{
	for (unsigned i = 0; i < LOOPS; i++) {
		struct xst_image from = {at(base, i), a->bytes, a};
		struct xst_image to = {at(target, i), b->bytes, b};

		if (xst_image_convert(&from, &to, NULL, NULL))
			abort();
		keep(to.area);
	}
}

static void arm_to_compacted(void)
{
	convert(from_std, &std, &comp);
}

static void arm_to_standard(void)
{
	convert(from_comp, &comp, &std);
}

/* A memcpy of what is written. */
static void copy(uint8_t *base, uint32_t bytes)
{
	/* The size is not known to the compiler, as it is not in convert. */
	__asm__("" : "+r"(bytes));
	for (unsigned i = 0; i < LOOPS; i++) {
		memcpy(at(target, i), at(base, i), bytes);
		keep(at(target, i));
	}
}

static void arm_copy_compacted(void)
{
	copy(from_comp, comp.bytes);
}

static void arm_copy_standard(void)
{
	copy(from_std, std.bytes);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double lower_decile(double *v)
{
	qsort(v, SLICES, sizeof(*v), by_value);
	return v[SLICES / 10];
}

static int compare(const char *what, void (*ours)(void), void (*theirs)(void), double limit)
{
	static double a[SLICES], b[SLICES];
	double r;

	for (int s = -20; s < SLICES; s++) {
		uint64_t t0 = ticks(), t1, t2;
		void (*first)(void) = s & 1 ? ours : theirs, (*second)(void) = s & 1 ? theirs : ours;

		first();
		t1 = ticks();
		second();
		t2 = ticks();
		if (s < 0)
			continue;
		a[s] = (double)(s & 1 ? t1 - t0 : t2 - t1) / LOOPS;
		b[s] = (double)(s & 1 ? t2 - t1 : t1 - t0) / LOOPS;
	}
	r = lower_decile(a) / lower_decile(b);
	printf("%-5s %-42s %7.1f / %7.1f ticks  ratio %.2f  (at most %.2f)%s\n",
	       span == 1 ? "hot" : "many", what, a[SLICES / 10], b[SLICES / 10], r, limit,
	       r <= limit ? "" : "  MISSED");
	return r > limit;
}

static uint8_t *pool(const struct xst_layout *l)
{
	uint8_t *p = aligned_alloc(ROOM, (size_t)(IMAGES + 1) * ROOM);

	if (!p)
		abort();
	memset(p, 0, (size_t)(IMAGES + 1) * ROOM);
	for (unsigned n = 0; n < IMAGES; n++) {
		uint8_t *image = p + (size_t)n * ROOM;

		for (uint32_t i = 0; i < l->bytes; i++)
			image[i] = (uint8_t)(i * 5 + n + 1);
		memset(image + XST_HEADER_OFFSET, 0, XST_HEADER_BYTES);
		/* As the CPU saves it: six bytes of each ST are 0. */
		for (uint32_t i = XST_OFF_ST + 10; i < XST_OFF_XMM; i += 16)
			memset(image + i, 0, 6);
		xst_put16(image, XST_OFF_FCW, XST_FCW_INIT);
		xst_put16(image, XST_OFF_FSW, 0);
		xst_put32(image, XST_OFF_MXCSR, XST_MXCSR_INIT);
		xst_put64(image, XST_OFF_XSTATE_BV, mask);
		if (l->format == XST_COMPACTED)
			xst_put64(image, XST_OFF_XCOMP_BV, mask | XST_XCOMP_COMPACT);
	}
	return p;
}

int main(void)
{
	int missed = 0;

	if (xst_caps_native(&caps) < 0 || !caps.osxsave || !caps.xsavec) {
		printf("skipped: this CPU has no compacted format\n");
		return 77;
	}
	mask = xst_xgetbv(0) & 0xe7;
	if (mask != 0xe7)
		printf("no AVX-512 here: with XCR0 0x%llx instead\n", (unsigned long long)mask);
	if (xst_layout_compute(&caps, mask, XST_STANDARD, &std, NULL) ||
	    xst_layout_compute(&caps, mask, XST_COMPACTED, &comp, NULL))
		return 1;
	from_std = pool(&std);
	from_comp = pool(&comp);
	/* Away from the sources by half a page: loads that share the low 12 bits of their address
	 * with a recent store wait for it, which would measure where the pools happen to lie. */
	target = pool(&std) + ROOM / 2 + 64;
	for (span = 1; span <= IMAGES; span += IMAGES - 1) {
		missed += compare("check standard / XRSTOR", arm_check, arm_xrstor, 1.0);
		missed += compare("check compacted / XRSTOR", arm_check_compacted,
				  arm_xrstor_compacted, 1.0);
		missed += compare("standard to compacted / memcpy", arm_to_compacted,
				  arm_copy_compacted, 1.5);
		missed += compare("compacted to standard / memcpy", arm_to_standard,
				  arm_copy_standard, 1.5);
	}
	return missed != 0;
}
