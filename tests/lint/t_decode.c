// SPDX-License-Identifier: BSD-2-Clause
/*
 * The short cut against the decoder: over random bytes and over every opcode, lint_fast() gives
 * the decoder's length or nothing, and never for anything that touches FP state. And the needs of
 * instructions whose names mislead.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "lint/decode.h"

static uint64_t seed;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void fill(uint8_t *p, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (uint8_t)(next() >> 32);
}

static unsigned long compared, taken;

static void compare(const uint8_t *p, size_t n)
{
	enum lint_fast_kind kind;
	struct lint_insn insn = {0};
	unsigned len = lint_fast(p, n, &kind), k;
	bool ok;

	compared++;
	if (!len)
		return;
	taken++;
	ok = lint_decode_fp(p, n, &insn);
	if (ok && insn.len == len && !insn.fp && (kind == FAST_CALL) == (insn.kind == INSN_CALL) &&
	    (kind == FAST_JMP) == (insn.kind == INSN_JMP) &&
	    (kind == FAST_JCC) == (insn.kind == INSN_JCC) &&
	    (kind == FAST_CALL_IND) == (insn.kind == INSN_CALL_IND) &&
	    (kind == FAST_JMP_IND) == (insn.kind == INSN_JMP_IND))
		return;
	fprintf(stderr, "fast %u kind %d, decoder %d len %u kind %u fp %x:", len, (int)kind, ok,
	        insn.len, insn.kind, insn.fp);
	for (k = 0; k < 15; k++)
		fprintf(stderr, " %02x", p[k]);
	fputc('\n', stderr);
	fail();
}

static void fast_agrees(void **state)
{
	static const uint8_t prefixes[] = {0, 0x66, 0x48, 0x41, 0x65, 0x2e, 0x3e, 0x4f};
	uint8_t p[32];
	unsigned i, op, pre, k;

	(void)state;
	for (i = 0; i < 400000; i++) {
		fill(p, sizeof(p));
		compare(p, sizeof(p));
	}
	/* Every opcode of both maps after every prefix, with all of ModRM. */
	for (pre = 0; pre < sizeof(prefixes); pre++)
		for (op = 0; op < 512; op++)
			for (i = 0; i < 256; i++) {
				fill(p, sizeof(p));
				k = 0;
				if (prefixes[pre])
					p[k++] = prefixes[pre];
				if (op >= 256)
					p[k++] = 0x0f;
				p[k++] = (uint8_t)op;
				p[k] = (uint8_t)i;
				compare(p, sizeof(p));
			}
	printf("%lu compared, %lu of them by the short cut\n", compared, taken);
	assert_true(taken > compared / 8);
}

/* A buffer that ends early is never read beyond: the sanitizer watches. */
static void ends_are_kept(void **state)
{
	unsigned i, n;

	(void)state;
	for (i = 0; i < 20000; i++) {
		struct lint_insn insn;
		uint8_t *p;

		n = (unsigned)(next() >> 40) % 20 + 1;
		p = malloc(n);
		assert_non_null(p);
		fill(p, n);
		if (i & 1)
			p[0] = (uint8_t[]){
			        0xc4, 0xc5, 0x62, 0x8f, 0x0f, 0x66, 0xf2, 0x48}[i / 2 % 8];
		lint_decode(p, n, 0, &insn);
		assert_in_range(insn.len, 1, n);
		lint_decode_fp(p, n, &insn);
		assert_in_range(insn.len, 1, n);
		free(p);
	}
}

static const struct {
	const char *what;
	uint8_t bytes[12];
	uint32_t fp, needs;
} insns[] = {
        {"movaps xmm0,xmm1", {0x0f, 0x28, 0xc1}, FP_XMM, 0},
        {"addps xmm0,xmm1", {0x0f, 0x58, 0xc1}, FP_XMM | FP_MXCSR, NEED_MXCSR},
        {"andps xmm0,xmm1", {0x0f, 0x54, 0xc1}, FP_XMM, 0},
        {"rcpps xmm0,xmm1", {0x0f, 0x53, 0xc1}, FP_XMM, 0},
        {"cvtpi2ps xmm0,[rsi]",
         {0x0f, 0x2a, 0x06},
         FP_XMM | FP_MMX | FP_MXCSR,
         NEED_X87 | NEED_MXCSR},
        {"vrcp14ps zmm0,zmm1", {0x62, 0xf2, 0x7d, 0x48, 0x4c, 0xc1}, FP_ZMM | FP_MXCSR, NEED_MXCSR},
        {"vaddps ymm0,ymm1,ymm2", {0xc5, 0xf4, 0x58, 0xc2}, FP_YMM | FP_MXCSR, NEED_MXCSR},
        {"vmovdqa ymm0,ymm1", {0xc5, 0xfd, 0x6f, 0xc1}, FP_YMM, 0},
        {"kmovw k1,eax", {0xc5, 0xf8, 0x92, 0xc8}, FP_K, 0},
        {"fld1", {0xd9, 0xe8}, FP_X87, NEED_X87},
        {"fisttp", {0xdf, 0x08}, FP_X87, NEED_X87},
        {"fwait", {0x9b}, FP_WAIT, 0},
        {"emms", {0x0f, 0x77}, FP_MMX, NEED_X87},
        {"vzeroupper", {0xc5, 0xf8, 0x77}, FP_VZERO, 0},
        {"ldmxcsr", {0x0f, 0xae, 0x16}, FP_STATE | FP_SETS_MXCSR, 0},
        {"fninit", {0xdb, 0xe3}, FP_STATE | FP_SETS_X87, 0},
        {"xsaves64", {0x48, 0x0f, 0xc7, 0x2e}, FP_STATE | FP_SAVES, 0},
        {"tileloadd", {0xc4, 0xe2, 0x7b, 0x4b, 0x04, 0x0e}, FP_TMM, NEED_TILES},
        {"tilerelease", {0xc4, 0xe2, 0x78, 0x49, 0xc0}, FP_TMM, NEED_TILES},
        {"movnti", {0x0f, 0xc3, 0x06}, 0, 0},
        {"crc32", {0xf2, 0x0f, 0x38, 0xf1, 0xc1}, 0, 0},
        {"mulx", {0xc4, 0xe2, 0xeb, 0xf6, 0xc8}, 0, 0},
        {"adcx", {0x66, 0x48, 0x0f, 0x38, 0xf6, 0xd0}, 0, 0},
        {"prefetchw", {0x0f, 0x0d, 0x0e}, 0, 0},
        {"blcfill (TBM, XOP)", {0x8f, 0xe9, 0x78, 0x01, 0xc8}, 0, 0},
        {"vpgatherdd xmm0,[rax+xmm1],xmm2", {0xc4, 0xe2, 0x69, 0x90, 0x04, 0x08}, FP_XMM, 0},
        /* Newer than the decoder. */
        {"vsha512msg1", {0xc4, 0xe2, 0x7f, 0xcc, 0xc1}, FP_XMM | FP_UNKNOWN, 0},
        {"cmpbexadd", {0xc4, 0xe2, 0x71, 0xe6, 0x06}, 0, 0},
        {"mov %r16,%rax (REX2)", {0xd5, 0x48, 0x89, 0xc0}, 0, 0},
        {"movaps (%r16),%xmm0 (REX2)", {0xd5, 0x90, 0x28, 0x00}, FP_XMM, 0},
        {"addps (%r16),%xmm0 (REX2)", {0xd5, 0x90, 0x58, 0x00}, FP_XMM | FP_MXCSR, NEED_MXCSR},
        {"lkgs", {0xf2, 0x0f, 0x00, 0xf0}, 0, 0},
};

static void needs(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(insns) / sizeof(insns[0]); i++) {
		struct lint_insn insn;
		uint8_t p[16] = {0};

		memcpy(p, insns[i].bytes, sizeof(insns[i].bytes));
		if (!lint_decode(p, sizeof(p), 0, &insn) || insn.fp != insns[i].fp ||
		    lint_needs(insn.fp) != insns[i].needs) {
			print_error("%s: fp %x, want %x\n", insns[i].what, insn.fp, insns[i].fp);
			fail();
		}
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(fast_agrees),
	        cmocka_unit_test(ends_are_kept),
	        cmocka_unit_test(needs),
	};

	seed = argc > 1 ? strtoull(argv[1], NULL, 0)
	                : (uint64_t)time(NULL) * 0x9e3779b97f4a7c15u | 1;
	printf("seed 0x%llx\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
