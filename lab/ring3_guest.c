// SPDX-License-Identifier: BSD-2-Clause
/*
 * The guests' programs: ring 0 of a guest, though the file's name puts them into the user part of
 * the image, whose code they share.
 */
#include "ring3_guest.h"

struct guest_block guest_blocks[GUEST_MAX];

/* Each kind of exit once. A step that did not come to what it must stays where it is. */
void guest_tour(struct guest_block *g)
{
	uint64_t value;

	guest_hlt();
	g->steps++;
	if (g->svm)
		guest_vmmcall();
	else
		guest_vmcall();
	g->steps++;
	g->steps += guest_cpuid(0) == ~(uint32_t)TOUR_CPUID;
	g->steps += !guest_rdmsr(XST_MSR_XSS, &value) && (uint32_t)value == ~(uint32_t)TOUR_RDMSR &&
		    (uint32_t)(value >> 32) == ~(uint32_t)TOUR_RDMSR;
	g->steps += !guest_wrmsr(XST_MSR_XSS, 0);
	g->steps += guest_touch_under_ts() == 7;
	g->steps += guest_undefined() == 6;
	g->steps += guest_peek(NULL) == 14;
	g->steps += user_syscall(SYS_YIELD, 0) == ~(uint32_t)TOUR_SYSCALL;
	g->steps += !guest_xsetbv(g->xcr0);
	for (;;)
		guest_hlt();
}
