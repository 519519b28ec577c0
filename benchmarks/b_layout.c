// SPDX-License-Identifier: BSD-2-Clause
/*
 * One promise: a layout for a mask, with all offsets and the size, in less than 200 cycles.
 *
 * The clock of RDTSC is not the core's, so the core's is measured beside it: a chain of IMUL, three
 * cycles each on every CPU of the last fifteen years. Slices are short and the median of many is
 * told, so that an interrupt spoils one of them and not the answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xst/layout.h>

#define SLICES	       801
#define LOOPS	       256
#define IMUL_CYCLES    3.0
#define LIMIT_CYCLES   200.0

static inline uint64_t ticks(void)
{
	uint32_t lo, hi;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(lo), "=d"(hi) : : "memory");
	return (uint64_t)hi << 32 | lo;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* An imaginary CPU that has everything: the most work there is. */
static void everything(struct xst_caps *caps)
{
	uint32_t next = XST_EXT_OFFSET;
	unsigned i;

	memset(caps, 0, sizeof(*caps));
	caps->xsave = caps->xsavec = caps->xsaves = true;
	caps->xcr0 = XST_MASK_USER & ~(XST_MASK_BNDREGS | XST_MASK_BNDCSR);
	caps->xss = XST_MASK_SUPER;
	for (i = 2; i < 63; i++) {
		const struct xst_comp_info *info = xst_comp_info(i);

		if (!info)
			continue;
		caps->comp[i].bytes = info->bytes;
		caps->comp[i].align64 = info->align64;
		caps->comp[i].supervisor = info->kind == XST_KIND_SUPER;
		caps->comp[i].offset = info->kind == XST_KIND_SUPER ? 0 : next;
		next += info->kind == XST_KIND_SUPER ? 0 : (info->bytes + 63u) & ~63u;
	}
	/* Where it really lies: behind AVX, before AVX-512. */
	caps->comp[XST_COMP_APX].offset = caps->comp[XST_COMP_BNDREGS].offset;
}

static double imul_ticks(void)
{
	uint64_t t0 = ticks(), x = 3;
	int i;

	for (i = 0; i < LOOPS; i++)
		__asm__ volatile("imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0\n\t"
				 "imul %0, %0\n\timul %0, %0\n\timul %0, %0\n\timul %0, %0"
				 : "+r"(x) : : "cc");
	return (double)(ticks() - t0) / (LOOPS * 8);
}

static double layout_ticks(const struct xst_caps *caps, uint64_t mask, enum xst_format format)
{
	uint64_t t0 = ticks();
	struct xst_layout l;
	int i;

	for (i = 0; i < LOOPS; i++) {
		/* Each turn asks anew: nothing may be carried over from the last. */
		__asm__ volatile("" : "+r"(mask), "+r"(caps) : : "memory");
		if (xst_layout_compute(caps, mask, format, &l, NULL))
			abort();
		__asm__ volatile("" : : "r"(&l) : "memory");
	}
	return (double)(ticks() - t0) / LOOPS;
}

static int measure(const struct xst_caps *caps, const char *what, uint64_t mask,
		   enum xst_format format)
{
	static double cycles[SLICES];
	double median, least_unit = 0, least = 0;
	int s;

	for (s = -40; s < SLICES; s++) {
		double unit = imul_ticks(), t = layout_ticks(caps, mask, format);

		if (s < 0)
			continue;
		cycles[s] = t / unit * IMUL_CYCLES;
		least_unit = s && least_unit < unit ? least_unit : unit;
		least = s && least < t ? least : t;
	}
	qsort(cycles, SLICES, sizeof(cycles[0]), by_value);
	median = cycles[SLICES / 2];
	printf("%-34s %2d components  %5.0f cycles (least %.0f, at most %.0f wanted)%s\n", what,
	       __builtin_popcountll(mask), median, least / least_unit * IMUL_CYCLES, LIMIT_CYCLES,
	       median <= LIMIT_CYCLES ? "" : "  MISSED");
	return median > LIMIT_CYCLES;
}

int main(void)
{
	struct xst_caps caps;
	int missed = 0;

	everything(&caps);
	missed += measure(&caps, "standard, AVX and PKRU", 0x207, XST_STANDARD);
	missed += measure(&caps, "standard, AVX-512, AMX, PKRU", 0x602e7, XST_STANDARD);
	missed += measure(&caps, "standard, with APX out of order", 0xe02e7, XST_STANDARD);
	missed += measure(&caps, "compacted, AVX-512, AMX, PKRU", 0x602e7, XST_COMPACTED);
	missed += measure(&caps, "compacted, every component", caps.xcr0 | caps.xss, XST_COMPACTED);
	return missed != 0;
}
