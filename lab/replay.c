// SPDX-License-Identifier: BSD-2-Clause
/*
 * Registers and images of `replay`. The instructions are the ones a task would execute, with a fix-up,
 * so that an #NM is an answer.
 */
#include "replay.h"
#include <xst/image.h>
#include "xst_port.h"

#define MSR_PL3_SSP 0x6a7u

#define FCW_INIT   0x037fu
#define FSW_TOP7   0x3800u /* one register on the stack: the last */
#define FTW_ONE    0x80u
#define EXPONENT62 0x403du /* of an integer with bit 62 set */
#define MXCSR_AT   24u
#define ST0_AT     32u
#define XMM_AT     160u

const char *const replay_comp_names[REPLAY_COMPS] = {"x87", "sse", "avx", "cet", "pkru"};

static const uint64_t masks[REPLAY_COMPS] = {XST_MASK_X87, XST_MASK_SSE, XST_MASK_AVX,
					     XST_MASK_CET_U, XST_MASK_PKRU};

static uint8_t scratch[LAB_MAX_CPUS][1024] __attribute__((aligned(64)));

bool replay_has(unsigned k)
{
	if (k == REPLAY_PKRU)
		return lab_system.pkru;
	return ((k == REPLAY_CET ? lab_system.apart : lab_system.mask) & masks[k]) != 0;
}

/* x87: the mantissa of an integer whose bit 62 is set. PKRU: key 0 stays open. */
uint64_t replay_new_value(unsigned k, uint64_t number)
{
	switch (k) {
	case REPLAY_X87:
		return 1ull << 63 | number << 1;
	case REPLAY_CET:
		return number << 12;
	case REPLAY_PKRU:
		return (number << 2) & 0xffffffffu;
	default:
		return mix64(args.seed + number) | 1;
	}
}

uint64_t replay_initial(unsigned k)
{
	return k == REPLAY_PKRU ? lab_system.init_pkru : 0;
}

#define TRY(vector, text, ...)                                                                     \
	__asm__ volatile("1:\t" text "\n2:\n\t" XST_ASM_FIXUP("1b", "2b")                          \
			 : "+c"(vector)                                                            \
			 : __VA_ARGS__                                                             \
			 : "memory")

unsigned replay_write_register(unsigned k, uint64_t value)
{
	unsigned long vector = 0;
	uint64_t words[2] = {value, 0};
	int64_t integer = (int64_t)(value >> 1);

	switch (k) {
	case REPLAY_X87:
		TRY(vector, "fninit", "m"(integer));
		if (!vector)
			__asm__ volatile("fildll %0" : : "m"(integer));
		break;
	case REPLAY_SSE:
		/* Without a prefix of AVX: the upper half stays. */
		TRY(vector, "movups %1, %%xmm0", "m"(words));
		break;
	case REPLAY_AVX:
		TRY(vector, "vinsertf128 $1, %1, %%ymm0, %%ymm0", "m"(words));
		break;
	case REPLAY_CET:
		arch_wrmsr(MSR_PL3_SSP, value);
		break;
	default:
		xst_wrpkru((uint32_t)value);
	}
	return (unsigned)vector;
}

/* XRSTOR of an image that does not have the component is the one way to INIT for all of them. */
unsigned replay_clear_register(unsigned k)
{
	unsigned long vector = 0;
	uint8_t *image = scratch[this_cpu()->id];

	if (k == REPLAY_CET) {
		arch_wrmsr(MSR_PL3_SSP, 0);
		return 0;
	}
	if (k == REPLAY_PKRU) {
		xst_wrpkru(lab_system.init_pkru);
		return 0;
	}
	xst_fresh_image(XST_INSN_XSAVE, masks[k], image, 1024u);
	TRY(vector, "xrstor %1", "m"(*image), "a"((uint32_t)masks[k]), "d"(0));
	return (unsigned)vector;
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	__builtin_memcpy(&v, p, sizeof(v));
	return v;
}

static void put64(uint8_t *p, uint64_t v)
{
	__builtin_memcpy(p, &v, sizeof(v));
}

/* In an image whose components lie where @layout says. */
static uint64_t value_in(const uint8_t *area, unsigned k, uint32_t avx_at)
{
	if (!(get64(area + XST_HEADER_OFFSET) & masks[k]))
		return 0;
	switch (k) {
	case REPLAY_X87:
		return area[4] ? get64(area + ST0_AT) : 0;
	case REPLAY_SSE:
		return get64(area + XMM_AT);
	default:
		return get64(area + avx_at);
	}
}

void replay_read_registers(struct registers *r)
{
	uint8_t *image = scratch[this_cpu()->id];
	uint64_t mask = lab_system.xcr0 & (XST_MASK_LEGACY | XST_MASK_AVX);

	r->ts = (arch_read_cr0() & CR0_TS) != 0;
	xst_clts();
	for (unsigned i = 0; i < 1024u; i++)
		image[i] = 0;
	xst_xsave(image, mask);
	for (unsigned k = 0; k < REPLAY_GUARDED; k++)
		r->value[k] = value_in(image, k, XST_EXT_OFFSET);
	if (r->ts)
		xst_write_cr0(xst_read_cr0() | XST_CR0_TS);
	if (replay_has(REPLAY_PKRU))
		r->value[REPLAY_PKRU] = xst_rdpkru();
	if (replay_has(REPLAY_CET))
		r->value[REPLAY_CET] = arch_rdmsr(MSR_PL3_SSP);
}

static void zero(uint8_t *p, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		p[i] = 0;
}

/* As ptrace would: what is not in the image yet gets all its bytes. */
void replay_write_image(struct xst_ctx *ctx, unsigned k, uint64_t value)
{
	uint8_t *area = ctx->area;

	switch (k) {
	case REPLAY_X87:
		zero(area, MXCSR_AT);
		zero(area + ST0_AT, XMM_AT - ST0_AT);
		area[0] = FCW_INIT & 0xff;
		area[1] = FCW_INIT >> 8;
		area[3] = FSW_TOP7 >> 8;
		area[4] = FTW_ONE;
		put64(area + ST0_AT, value);
		area[ST0_AT + 8] = EXPONENT62 & 0xff;
		area[ST0_AT + 9] = EXPONENT62 >> 8;
		break;
	case REPLAY_SSE:
		zero(area + XMM_AT, 256);
		area[MXCSR_AT] = 0x80;
		area[MXCSR_AT + 1] = 0x1f;
		put64(area + XMM_AT, value);
		break;
	case REPLAY_AVX:
		zero(area + lab_system.layout.offset[XST_COMP_AVX], 256);
		put64(area + lab_system.layout.offset[XST_COMP_AVX], value);
		break;
	case REPLAY_CET:
		area += lab_system.apart_offset;
		put64(area + lab_system.apart_layout.offset[XST_COMP_CET_U], 0);
		put64(area + lab_system.apart_layout.offset[XST_COMP_CET_U] + 8, value);
		break;
	default:
		ctx->pkru = (uint32_t)value;
		return;
	}
	put64(area + XST_HEADER_OFFSET, get64(area + XST_HEADER_OFFSET) | masks[k]);
}

uint64_t replay_read_image(const struct xst_ctx *ctx, unsigned k)
{
	const uint8_t *area = ctx->area;

	if (k == REPLAY_PKRU)
		return ctx->pkru;
	if (k != REPLAY_CET)
		return value_in(area, k, lab_system.layout.offset[XST_COMP_AVX]);
	area += lab_system.apart_offset;
	if (!(get64(area + XST_HEADER_OFFSET) & XST_MASK_CET_U))
		return 0;
	return get64(area + lab_system.apart_layout.offset[XST_COMP_CET_U] + 8);
}
