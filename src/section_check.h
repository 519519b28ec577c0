/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checking builds (-DXST_CHECK_SECTIONS): at begin what a section did not declare is poisoned, so
 * that use gives wrong results; at end what left a trace is compared with what was declared.
 *
 *   x87, MMX   FCW rounds to zero with 24 bits, FSW has TOP 3 and all condition codes set, the stack is
 *              empty. An x87 instruction that pushes, pops or computes clears C1 or sets a flag, any MMX
 *              instruction, EMMS too, makes TOP 0.
 *   MXCSR      rounds to zero. An inexact or otherwise special operation sets a flag. An exact one leaves
 *              no trace, and its result is right all the same.
 *   tiles      XINUSE has them where it had not before. Not seen when the user's tiles were in use.
 *
 * Poison is behind the initial values that were loaded, and in nobody's way: the registers are the
 * kernel's. Part of kernel.c.
 */
#ifndef XST_SECTION_CHECK_H
#define XST_SECTION_CHECK_H

#define POISON_FCW   0x0c7fu /* round to zero, 24 bits, all masked */
#define POISON_FSW   0x5f00u /* C3, TOP 3, C2, C1, C0 */
#define POISON_TAGS  0xffffu
#define POISON_MXCSR (0x6000u | MXCSR_INIT)

#define INITIAL_FCW 0x037fu

static inline bool sees_xinuse(const struct xst_cpu *cpu)
{
	return cpu->sys->xgetbv1;
}

static void section_poison(struct xst_cpu *cpu)
{
	struct xst_sections *s = &cpu->sections;
	const unsigned need = xst_section_need(s);
	const uint32_t env[7] = {POISON_FCW, POISON_FSW, POISON_TAGS, 0, 0, 0, 0};

	s->in_use = 0;
	if (sees_xinuse(cpu) && xst_w_xinuse(cpu->world) & XST_MASK_AMX)
		s->in_use = XST_NEED_TILES;
	if (!(need & XST_NEED_X87)) {
		/* FLDENV would report what the user left pending. */
		xst_w_fninit(cpu->world);
		xst_w_fldenv(cpu->world, env);
		s->in_place = (uint8_t)(s->in_place & ~XST_NEED_X87);
	}
	if (!(need & XST_NEED_MXCSR) && s->form != XST_MXCSR_NONE) {
		xst_w_ldmxcsr(cpu->world, POISON_MXCSR);
		s->in_place = (uint8_t)(s->in_place & ~XST_NEED_MXCSR);
	}
}

/* What the section left a trace of, declared or not. */
static unsigned section_used(struct xst_cpu *cpu)
{
	const struct xst_sections *s = &cpu->sections;
	const unsigned need = xst_section_need(s);
	const bool x87 = need & XST_NEED_X87;
	uint32_t env[7];
	unsigned used = 0;

	xst_w_fnstenv(cpu->world, env);
	if ((env[0] & 0xffff) != (x87 ? INITIAL_FCW : POISON_FCW) ||
	    (env[1] & 0xffff) != (x87 ? 0 : POISON_FSW) || (env[2] & 0xffff) != POISON_TAGS)
		used |= XST_NEED_X87;
	if (s->form != XST_MXCSR_NONE &&
	    xst_w_mxcsr(cpu->world) != (need & XST_NEED_MXCSR ? MXCSR_INIT : POISON_MXCSR))
		used |= XST_NEED_MXCSR;
	if (sees_xinuse(cpu) && xst_w_xinuse(cpu->world) & XST_MASK_AMX)
		used |= XST_NEED_TILES & ~(unsigned)s->in_use;
	return used;
}

static void section_compare(struct xst_cpu *cpu)
{
	const unsigned used = section_used(cpu);
	const struct xst_section_report report = {
		.misuse = XST_MISUSE_UNDECLARED,
		.caller = xst_section_caller(&cpu->sections),
		.declared = xst_section_need(&cpu->sections),
		.used = used,
	};

	if (used & ~report.declared)
		XST_SECTION_REPORT(cpu, &report);
}

#endif
