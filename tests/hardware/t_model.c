// SPDX-License-Identifier: BSD-2-Clause
/*
 * The software CPU against the real one: random programmes of extended-state instructions in user
 * mode must leave the same bytes in memory, raise the same faults and track the same components, up
 * to what the manual leaves open:
 *   - a component whose value is INIT may or may not be tracked as in use;
 *   - an unmodified component may or may not be written by XSAVEOPT.
 * Where the real CPU took such a freedom the model follows it.
 *
 * usage: t_model [PROGRAMMES [SEED]]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <xst/insn.h>

#include "mdl.h"
#include "model_ops.h"

static struct programme real, soft;
static uint8_t init_area[AREA_BYTES] __attribute__((aligned(64)));
static struct mdl_cpu cpu;
static struct xst_caps caps;
static uint64_t enabled; /* the components that are played with */
static bool pointers_known, xinuse_mxcsr;
static uint64_t ran[OP_KINDS], faulted[OP_KINDS], skipped, init_in_use, init_not_in_use;

static const char *const op_name[OP_KINDS] = {
	"fnsave", "fxsave", "xsave", "xsaveopt", "xsavec", "frstor", "fxrstor", "xrstor", "fninit",
	"fnclex", "fldcw", "fninit+fld", "emms", "ldmxcsr", "movdqu", "vmovdqu", "vmovdqu64", "kmovq",
	"vzeroupper", "vzeroall", "edit",
};

static uint64_t seed_state;

static uint64_t rnd(void)
{
	seed_state ^= seed_state << 13;
	seed_state ^= seed_state >> 7;
	seed_state ^= seed_state << 17;
	return seed_state * 0x2545f4914f6cdd1dULL;
}

static bool one_in(unsigned n)
{
	return rnd() % n == 0;
}

static void put(uint8_t *to, uint64_t value, unsigned bytes)
{
	memcpy(to, &value, bytes);
}

/* An image that a restore mostly takes: half of the components INIT, all exceptions masked. */
static void random_image(uint8_t *area)
{
	uint64_t bv = rnd() & enabled, xcomp = 0;
	unsigned i;

	for (i = 0; i < AREA_BYTES; i += 8)
		put(area + i, rnd(), 8);
	memset(area + 512, 0, 64);
	put(area, (rnd() & 0x1fff) | 0x3f, 2);
	put(area + 8, rnd() >> 17, 8);
	put(area + 16, rnd() >> 17, 8);
	put(area + 24, rnd() & (one_in(8) ? 0xffffffffu : caps.mxcsr_mask), 4);
	if (caps.xsavec && one_in(2)) {
		xcomp = XST_XCOMP_COMPACT | bv | (rnd() & enabled);
		if (one_in(12))
			xcomp ^= XST_MASK(rnd() % 64);
	} else if (one_in(12)) {
		xcomp = XST_MASK(rnd() % 63);
	}
	if (one_in(12))
		bv ^= XST_MASK(rnd() % 64);
	/* Components that are enabled but not played with stay out: PKRU, tiles. */
	bv &= ~cpu.xcr0 | enabled;
	xcomp &= ~cpu.xcr0 | enabled;
	put(area + 512, bv, 8);
	put(area + 520, xcomp, 8);
	if (one_in(12))
		area[528 + rnd() % 48] = 1;
	/* The same bytes as an FNSAVE image: control word with its exceptions masked. */
	area[0] |= 0x3f;
}

static void random_op(struct op *op)
{
	unsigned i;

	do {
		op->kind = (uint8_t)(rnd() % OP_KINDS);
		/* The interesting ones more often. */
		if (one_in(3))
			op->kind = one_in(2) ? OP_XRSTOR : (uint8_t)(OP_XSAVE + rnd() % 3);
	} while ((op->kind == OP_XSAVEOPT && !caps.xsaveopt) || (op->kind == OP_XSAVEC && !caps.xsavec) ||
		 ((op->kind == OP_VMOVDQU64 || op->kind == OP_KMOVQ) && !(enabled & XST_MASK_AVX512)) ||
		 ((op->kind == OP_VMOVDQU || op->kind >= OP_VZEROUPPER) && op->kind != OP_EDIT &&
		  !(enabled & XST_MASK_AVX)));
	op->area = (uint8_t)(rnd() % AREAS);
	op->mask = (one_in(3) ? ~0ULL : rnd()) & enabled;
	for (i = 0; i < 64; i += 8)
		put(op->value + i, one_in(4) ? 0 : rnd(), 8);
	op->reg = (uint8_t)(rnd() % (op->kind == OP_VMOVDQU64 ? 32 : op->kind == OP_KMOVQ ? 8 : 16));
	if (op->kind == OP_FLDCW)
		op->value[0] |= 0x3f;
	if (op->kind == OP_LDMXCSR)
		put(op->value, rnd() & (one_in(4) ? 0xffffffffu : caps.mxcsr_mask), 4);
	/* Data only: the header and the control words stay what they are. */
	op->offset = (uint16_t)(one_in(2) ? 160 + rnd() % 256 : 576 + rnd() % (AREA_BYTES - 576));
}

static int fail(unsigned step, const char *what, uint64_t want, uint64_t got)
{
	unsigned i;

	printf("step %u: %s: model %#llx, CPU %#llx\n", step, what, (unsigned long long)want,
	       (unsigned long long)got);
	for (i = 0; i < OPS && i <= step; i++)
		printf("%3u %-10s area %u mask %#llx reg %u vector %d\n", i, op_name[real.op[i].kind],
		       real.op[i].area, (unsigned long long)real.op[i].mask, real.op[i].reg,
		       real.op[i].vector);
	return 1;
}

static uint64_t header(const uint8_t *area, unsigned word)
{
	uint64_t v;

	memcpy(&v, area + 512 + 8 * word, 8);
	return v;
}

/*
 * On AMD a save leaves out pointers that belong to no pending exception. So they are gone whenever
 * this program's own kernel saved and restored it in between, at an interrupt or a signal.
 */
static bool lost_pointers(const uint8_t *area, const uint8_t *after)
{
	static const uint8_t zeros[6];
	const unsigned flags = area[4], masks = area[0];

	return cpu.fip == MDL_FIP_ZERO && !(flags & ~masks & 0x3f) && !memcmp(after + 12, zeros, 4) &&
	       !memcmp(after + 18, zeros, 6);
}

/*
 * After FLD the pointers are addresses of the harness: take them over. So are FCS and FDS of FNSAVE
 * on CPUs that still have them, for the model keeps none.
 */
static void adopt_pointers(uint8_t *area, const uint8_t *after, unsigned kind)
{
	if (kind == OP_FNSAVE && !caps.fcs_fds_zero) {
		memcpy(area + 16, after + 16, 2);
		memcpy(area + 24, after + 24, 2);
	}
	if (kind == OP_FNSAVE && lost_pointers(area, after)) {
		memset(area + 12, 0, 4);
		memset(area + 18, 0, 6);
	}
	if (pointers_known)
		return;
	if (kind == OP_FNSAVE) {
		memcpy(area + 12, after + 12, 16);
	} else {
		memcpy(area + 6, after + 6, 18);
		memcpy(cpu.regs.X87 + 6, after + 6, 18);
	}
}

/* One component's bytes: as written, or, if it may be left out, as they were. */
static bool same_component(const uint8_t *after, const uint8_t *written, const uint8_t *left,
			   unsigned from, unsigned to)
{
	if (!memcmp(after + from, written + from, to - from))
		return true;
	if (memcmp(after + from, left + from, to - from))
		return false;
	skipped++;
	return true;
}

/* A save: follow the real CPU's choices, predict both outcomes, compare. */
static int check_save(unsigned step, const struct op *op, uint8_t *area)
{
	static uint8_t left[AREA_BYTES] __attribute__((aligned(64)));
	const enum xst_insn insn = (enum xst_insn)op->kind;
	const struct mdl_xrstor_info info = cpu.info;
	struct mdl_cpu before;
	uint64_t rest, xcomp;
	unsigned i, at = 0;

	if (insn >= XST_INSN_XSAVE)
		for (rest = op->mask; rest; rest &= rest - 1) {
			i = (unsigned)__builtin_ctzll(rest);
			if (!mdl_is_init(&cpu, i))
				continue;
			if (header(op->after, 0) & XST_MASK(i)) {
				cpu.xinuse |= XST_MASK(i);
				init_in_use++;
			} else {
				cpu.xinuse &= ~XST_MASK(i);
				init_not_in_use++;
			}
		}
	before = cpu;
	memcpy(left, area, AREA_BYTES);
	cpu.info.area = 0;
	if (mdl_save(&cpu, insn, area, op->mask) != op->vector)
		return fail(step, "a save's vector", 0, (uint64_t)op->vector);
	/* Once more, leaving out what may be left out: the tuple names the real area's twin. */
	before.info = info;
	if (info.area == (uintptr_t)area)
		before.info.area = (uintptr_t)left;
	(void)mdl_save(&before, insn, left, op->mask);
	cpu.info = info;
	adopt_pointers(area, op->after, op->kind);
	if (insn == XST_INSN_FNSAVE)
		pointers_known = true;
	if (!pointers_known)
		memcpy(left + 6, op->after + 6, 18);

	xcomp = insn == XST_INSN_XSAVEC ? header(area, 1) : 0;
	if (insn >= XST_INSN_XSAVE)
		for (rest = op->mask & ~XST_MASK_X87; rest; rest &= rest - 1) {
			struct xst_layout l;
			unsigned from;

			i = (unsigned)__builtin_ctzll(rest);
			if (xst_layout_compute(&caps, xcomp ? xcomp & ~XST_XCOMP_COMPACT : op->mask,
					       xcomp ? XST_COMPACTED : XST_STANDARD, &l, NULL))
				return fail(step, "layout", 0, 1);
			from = l.offset[i];
			if (!same_component(op->after, area, left, from, from + l.size[i]))
				return fail(step, "component differs", i, from);
			memcpy(area + from, op->after + from, l.size[i]);
		}
	if (!same_component(op->after, area, left, 0, 24) ||
	    !same_component(op->after, area, left, 32, 160)) {
		for (at = 0; area[at] == op->after[at] || (at >= 24 && at < 32); at++)
			;
		return fail(step, "x87 differs: byte << 8", (uint64_t)at << 8 | area[at],
			    (uint64_t)at << 8 | op->after[at]);
	}
	memcpy(area, op->after, 24);
	memcpy(area + 32, op->after + 32, 128);
	for (at = 0; at < AREA_BYTES; at++)
		if (area[at] != op->after[at])
			return fail(step, "byte differs", (uint64_t)at << 8 | area[at], op->after[at]);
	return 0;
}

static int run_soft(const struct op *op, uint8_t *area)
{
	const uint64_t modified = cpu.xmodified;
	uint16_t fcw;
	uint64_t k;
	uint32_t mxcsr;
	int vector;

	switch (op->kind) {
	case OP_FRSTOR:
		return mdl_load(&cpu, XST_INSN_FNSAVE, area, 0);
	case OP_FXRSTOR:
		return mdl_load(&cpu, XST_INSN_FXSAVE, area, 0);
	case OP_XRSTOR:
		return mdl_load(&cpu, XST_INSN_XSAVE, area, op->mask);
	case OP_FNINIT:
		return mdl_fninit(&cpu);
	case OP_FNCLEX:
		return mdl_fnclex(&cpu);
	case OP_FLDCW:
		memcpy(&fcw, op->value, 2);
		return mdl_fldcw(&cpu, fcw);
	case OP_INIT_FLD:
		(void)mdl_fninit(&cpu);
		return mdl_fld(&cpu, op->value);
	case OP_EMMS:
		return mdl_emms(&cpu);
	case OP_LDMXCSR:
		memcpy(&mxcsr, op->value, 4);
		vector = mdl_ldmxcsr(&cpu, mxcsr);
		/* XSAVEOPT writes MXCSR in any case. Intel's counts LDMXCSR as a change of the XMM
		 * registers too, AMD's does not: then it may leave them out. */
		cpu.xmodified = (cpu.xmodified & ~XST_MASK_SSE) | (modified & XST_MASK_SSE);
		return vector;
	case OP_MOVDQU:
		return mdl_movdqu(&cpu, op->reg, op->value);
	case OP_VMOVDQU:
		return mdl_vmovdqu(&cpu, op->reg, op->value);
	case OP_VMOVDQU64:
		return mdl_vmovdqu64(&cpu, op->reg, op->value);
	case OP_KMOVQ:
		memcpy(&k, op->value, 8);
		return mdl_kmovq(&cpu, op->reg, k);
	case OP_VZEROUPPER:
		return mdl_vzeroupper(&cpu);
	case OP_VZEROALL:
		return mdl_vzeroall(&cpu);
	default:
		area[op->offset] = op->value[0];
		return MDL_OK;
	}
}

/* XGETBV(1): what is not INIT is in use. SSE: CPUs differ in whether MXCSR counts. */
static int check_tracking(unsigned step, const struct op *op)
{
	uint64_t rest;

	if (!caps.xgetbv1)
		return 0;
	for (rest = enabled; rest; rest &= rest - 1) {
		const unsigned i = (unsigned)__builtin_ctzll(rest);

		if (!mdl_is_init(&cpu, i) && !(op->xinuse & XST_MASK(i)))
			return fail(step, "not INIT, but not in use: component", i, op->xinuse);
	}
	/* Where the engine relies on it. */
	if (xinuse_mxcsr && cpu.mxcsr != MDL_MXCSR_INIT && !(op->xinuse & XST_MASK_SSE))
		return fail(step, "another MXCSR, but SSE is not in use", cpu.mxcsr, op->xinuse);
	return 0;
}

/* What becomes of a pointer that is not canonical differs between CPUs. */
static bool canonical(const uint8_t *p)
{
	int64_t v;

	memcpy(&v, p, 8);
	return v >> 47 == 0 || v >> 47 == -1;
}

static int check_programme(void)
{
	static struct op last;
	unsigned i;

	for (i = 0; i < OPS; i++) {
		const struct op *op = &real.op[i];
		uint8_t *area = soft.area[op->area];
		int vector;

		ran[op->kind]++;
		faulted[op->kind] += op->vector != 0;
		if (op->kind <= OP_XSAVEC) {
			if (check_save(i, op, area))
				return 1;
		} else {
			vector = run_soft(op, area);
			if (vector != op->vector)
				return fail(i, "vector", (uint64_t)vector, (uint64_t)op->vector);
			/* A restore that faults may have changed registers: both sides begin anew. */
			if (vector && op->kind >= OP_FRSTOR && op->kind <= OP_XRSTOR)
				(void)mdl_load(&cpu, XST_INSN_XSAVE, init_area, enabled);
			if (op->kind == OP_INIT_FLD)
				pointers_known = false;
			else if (op->kind == OP_FNINIT || op->kind == OP_FRSTOR || op->kind == OP_FXRSTOR ||
				 (op->kind == OP_XRSTOR && (vector || (op->mask & XST_MASK_X87))))
				pointers_known = canonical(cpu.regs.X87 + 8) && canonical(cpu.regs.X87 + 16);
		}
		if (check_tracking(i, op))
			return 1;
	}
	/* At the end all registers, by a plain XSAVE. */
	last.kind = OP_XSAVE;
	last.mask = enabled;
	memcpy(last.after, real.last, AREA_BYTES);
	return check_save(OPS, &last, soft.last);
}

static void begin_soft(void)
{
	mdl_reset(&cpu, &caps);
	cpu.cr4 = MDL_CR4_OSFXSR | MDL_CR4_OSXSAVE;
	cpu.xcr0 = xst_xgetbv(0);
	cpu.cpl = 3;
	pointers_known = true;
}

static uint32_t real_mxcsr_mask(void)
{
	static uint8_t area[512] __attribute__((aligned(64)));
	uint32_t mask;

	xst_fxsave(area);
	memcpy(&mask, area + 28, 4);
	return mask ? mask : 0xffbf;
}

static void report(unsigned long programmes)
{
	unsigned k;

	printf("%lu programmes of %u instructions agree\n", programmes, OPS);
	for (k = 0; k < OP_KINDS; k++)
		printf("%-10s %10llu, faults %llu\n", op_name[k], (unsigned long long)ran[k],
		       (unsigned long long)faulted[k]);
	printf("INIT but in use %llu, INIT and not %llu; unmodified and not written %llu\n",
	       (unsigned long long)init_in_use, (unsigned long long)init_not_in_use,
	       (unsigned long long)skipped);
}

/* As xst_cpu_online() asks whether it may rely on XINUSE[1]. */
static bool ask_about_mxcsr(void)
{
	static const uint32_t init = MDL_MXCSR_INIT, other = MDL_MXCSR_INIT | 0x20;
	bool has = caps.xgetbv1;
	unsigned i;

	__asm__ volatile("xrstor64 (%0)" : : "r"(init_area), "a"((uint32_t)enabled), "d"(0) : "memory");
	for (i = 0; has && i < 16; i++) {
		xst_ldmxcsr(i & 1 ? &init : &other);
		has = (xst_xgetbv(1) & XST_MASK_SSE) == (i & 1 ? 0 : XST_MASK_SSE);
	}
	xst_ldmxcsr(&init);
	return has;
}

int main(int argc, char **argv)
{
	const unsigned long programmes = argc > 1 ? strtoul(argv[1], NULL, 0) : 20000;
	unsigned long n;
	unsigned i;

	seed_state = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL) * 0x9e3779b9u | 1;
	printf("seed %#llx\n", (unsigned long long)seed_state);
	if (xst_caps_native(&caps) || !caps.xsave || !caps.osxsave) {
		printf("skipped: no XSAVE on this CPU\n");
		return 77;
	}
	caps.mxcsr_mask = real_mxcsr_mask();
	put(init_area + 24, MDL_MXCSR_INIT, 4);
	begin_soft();
	enabled = cpu.xcr0 & (XST_MASK_LEGACY | XST_MASK_AVX | XST_MASK_AVX512);
	if (hw_catch())
		return 2;
	xinuse_mxcsr = ask_about_mxcsr();
	for (n = 0; n < programmes; n++) {
		begin_soft();
		memset(real.last, 0, AREA_BYTES);
		for (i = 0; i < AREAS; i++)
			random_image(real.area[i]);
		for (i = 0; i < OPS; i++)
			random_op(&real.op[i]);
		memcpy(soft.area, real.area, sizeof(soft.area));
		memset(soft.last, 0, AREA_BYTES);
		hw_run(&real, enabled, caps.xgetbv1);
		if (check_programme()) {
			printf("programme %lu\n", n);
			return 1;
		}
	}
	report(programmes);
	printf("XINUSE[1] %s MXCSR\n", xinuse_mxcsr ? "counts" : "does not count");
	return 0;
}
