// SPDX-License-Identifier: BSD-2-Clause
/* Events of the kernel's own use of registers: sections in tasks and in interrupts. */
#include "steps.h"

/* The section that just began: is what it declared there? Then it uses all it may. */
static void use_section(struct machine *m, unsigned c, unsigned need, bool only_copy)
{
	struct mdl_cpu *hw = &m->hw[c];
	const uint8_t x87 = *machine_reg(m, c, C_X87);
	const bool sse = m->caps.sse;

	if (mdl_access(hw, sse ? XST_COMP_SSE : XST_COMP_X87, false)) {
		breaks(m, CHECK_KERNEL, "the section's first instruction would trap");
		return;
	}
	if ((need & XST_NEED_X87) && x87 != TOKEN_INIT && x87 != MDL_TOKEN_FNINIT)
		breaks(m, CHECK_KERNEL, "a section that declared x87 sees another's control word");
	if ((need & XST_NEED_MXCSR) && sse && hw->mxcsr != MDL_MXCSR_INIT)
		breaks(m, CHECK_KERNEL, "a section that declared MXCSR sees another's");
	if (m->cpu[c].n.kernel_saves > only_copy)
		breaks(m, CHECK_KERNEL, "a section saves what was saved");
	if (need & XST_NEED_X87) {
		*machine_reg(m, c, C_X87) = TOKEN_GARBAGE;
		mdl_wrote(hw, XST_COMP_X87);
	}
	if (sse) {
		*machine_reg(m, c, C_SSE) = TOKEN_GARBAGE;
		mdl_wrote(hw, XST_COMP_SSE);
		if (need & XST_NEED_MXCSR)
			hw->mxcsr = MXCSR_OTHER;
	}
	if (machine_has(m, C_AVX)) {
		*machine_reg(m, c, C_AVX) = TOKEN_GARBAGE;
		mdl_wrote(hw, XST_COMP_AVX);
	}
	m->in_place[c] = NONE;
}

static void begin_section(struct machine *m, unsigned c, unsigned need)
{
	struct xst_cpu *cpu = &m->cpu[c];
	const bool only_copy = cpu->bits & (XST_B_LIVE | XST_B_DIRTY);

	if (!xst_kernel_usable(cpu, m->mode[c] == USER ? XST_CONTEXT_HARDIRQ : XST_CONTEXT_TASK) ||
	    xst_kernel_begin(cpu, need))
		breaks(m, CHECK_KERNEL, "a section is refused");
	else
		use_section(m, c, need, only_copy);
}

bool can_begin(const struct machine *m, unsigned c, unsigned need)
{
	(void)need;
	return m->cfg->sections && is_free(m, c);
}

void run_begin(struct machine *m, unsigned c, unsigned need)
{
	begin_section(m, c, need);
	m->mode[c] = SECTION;
}

bool can_end(const struct machine *m, unsigned c, unsigned a)
{
	(void)a;
	return m->mode[c] == SECTION;
}

void run_end(struct machine *m, unsigned c, unsigned a)
{
	(void)a;
	xst_kernel_end(&m->cpu[c]);
	m->mode[c] = KERNEL;
}

bool can_irq(const struct machine *m, unsigned c, unsigned need)
{
	(void)need;
	return m->cfg->sections && m->mode[c] != OFFLINE;
}

/* An interrupt with a section of its own; inside of another one it must do without. */
void run_irq(struct machine *m, unsigned c, unsigned need)
{
	if (m->mode[c] == SECTION) {
		if (xst_kernel_usable(&m->cpu[c], XST_CONTEXT_HARDIRQ) ||
		    xst_kernel_begin(&m->cpu[c], need) != XST_ERR_NESTED)
			breaks(m, CHECK_KERNEL, "a section begins inside another one");
		return;
	}
	begin_section(m, c, need);
	xst_kernel_end(&m->cpu[c]);
	m->mode[c] = KERNEL;
}
