// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lets the assembler translate snip.def into read-only data. So nobody has to trust instruction
 * bytes typed by hand, and `objdump` shows what is measured.
 */
#include "snip.h"

#define SNIP(name, text)                                                                           \
	extern const uint8_t bench_snip_##name[], bench_snip_end_##name[];                         \
	__asm__(".pushsection .rodata\n"                                                           \
		"bench_snip_" #name ":\n\t" text "\n"                                              \
		"bench_snip_end_" #name ":\n\t.byte 0\n"                                           \
		".popsection");
#include "snip.def"
#undef SNIP

static const struct {
	const uint8_t *begin, *end;
	const char *text;
} pieces[SNIP_COUNT] = {
	[SNIP_NONE] = {(const uint8_t *)"", (const uint8_t *)"", "(nothing)"},
#define SNIP(name, text) [SNIP_##name] = {bench_snip_##name, bench_snip_end_##name, text},
#include "snip.def"
#undef SNIP
};

const uint8_t *snip_bytes(enum snip snip, size_t *n)
{
	*n = snip == SNIP_NONE ? 0 : (size_t)(pieces[snip].end - pieces[snip].begin);
	return pieces[snip].begin;
}

const char *snip_text(enum snip snip)
{
	return pieces[snip].text;
}
