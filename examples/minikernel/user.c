// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the two tasks do, in ring 3: fill every register with values of their own, wait a while, and
 * look whether they are still there. This file alone may use vector registers.
 */
#include <stdbool.h>
#include <stdint.h>

struct values {
	uint8_t ymm[16][32];
	double st[8];
	uint32_t mxcsr;
	uint16_t fcw;
};

void user_main(uint64_t seed);

static bool have_avx(void)
{
	uint32_t a = 1, b, c = 0, d, lo;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	if (!(c & 1u << 27)) /* OSXSAVE */
		return false;
	__asm__ volatile("xgetbv" : "=a"(lo), "=d"(d) : "c"(0));
	return (lo & 4) != 0;
}

#define TO_15 "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\t"

/* @wait rounds of a loop between writing and reading; half of the rounds end with a yield. */
#define ROUND(move, width)                                                                         \
	__asm__ volatile("fninit\n\tfldcw %c[fcw](%[in])\n\tldmxcsr %c[mxcsr](%[in])\n\t"          \
			 ".irp n, 7,6,5,4,3,2,1,0\n\tfldl %c[st]+8*\\n(%[in])\n\t.endr\n\t"        \
			 ".irp n, " TO_15 move " 32*\\n(%[in]), %%" width "\\n\n\t.endr\n"          \
			 "1:\tpause\n\tdec %[wait]\n\tjnz 1b\n\t"                                 \
			 "test $1, %[odd]\n\tjz 2f\n\tint $0x80\n"                                 \
			 "2:\t.irp n, " TO_15 move " %%" width "\\n, 32*\\n(%[out])\n\t.endr\n\t"   \
			 ".irp n, 0,1,2,3,4,5,6,7\n\tfstpl %c[st]+8*\\n(%[out])\n\t.endr\n\t"      \
			 "fnstcw %c[fcw](%[out])\n\tstmxcsr %c[mxcsr](%[out])\n\tldmxcsr %[usual]" \
			 : [wait] "+r"(wait)                                                       \
			 : [in] "r"(in), [out] "r"(out), [odd] "r"(odd), [usual] "m"(usual),       \
			   [fcw] "i"(__builtin_offsetof(struct values, fcw)),                      \
			   [mxcsr] "i"(__builtin_offsetof(struct values, mxcsr)),                  \
			   [st] "i"(__builtin_offsetof(struct values, st))                         \
			 : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", \
			   "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",    \
			   "xmm15")

static void round_of(const struct values *in, struct values *out, bool avx, uint32_t odd)
{
	static const uint32_t usual = 0x1f80;
	uint64_t wait = 2000;

	if (avx)
		ROUND("vmovups", "ymm");
	else
		ROUND("movups", "xmm");
}

static uint64_t next(uint64_t *x)
{
	*x = *x * 6364136223846793005u + 1442695040888963407u;
	return *x >> 24 | 1;
}

void user_main(uint64_t seed)
{
	static struct values in[2], out[2];
	const unsigned me = seed & 1;
	const bool avx = have_avx();
	uint64_t x = seed;

	for (;;) {
		const uint64_t controls = next(&x);
		bool same;

		for (unsigned i = 0; i < 16; i++)
			for (unsigned k = 0; k < 32; k++)
				in[me].ymm[i][k] = (uint8_t)next(&x);
		for (unsigned i = 0; i < 8; i++)
			in[me].st[i] = (double)(int64_t)next(&x);
		/* Rounding and sticky flags differ, all exceptions stay masked. */
		in[me].mxcsr = 0x1f80u | (controls & 0x603fu);
		in[me].fcw = (uint16_t)(0x037fu | (controls >> 20 & 0x0c00u));
		round_of(&in[me], &out[me], avx, (uint32_t)controls >> 8);
		same = in[me].mxcsr == out[me].mxcsr && in[me].fcw == out[me].fcw;
		for (unsigned i = 0; i < 16; i++)
			for (unsigned k = 0; k < (avx ? 32u : 16u); k++)
				same &= in[me].ymm[i][k] == out[me].ymm[i][k];
		for (unsigned i = 0; i < 8; i++)
			same &= in[me].st[i] >= out[me].st[i] && in[me].st[i] <= out[me].st[i];
		if (!same)
			__asm__ volatile("int $0x81");
	}
}
