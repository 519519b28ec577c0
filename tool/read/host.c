// SPDX-License-Identifier: BSD-2-Clause
/*
 * This machine as a source: the leaves that describe extended state, MXCSR_MASK from a real
 * FXSAVE, the microcode level and the signal stack minimum that the kernel states.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include <xst/insn.h>

#include "read/cpu_parse.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

#define MXCSR_MASK_OFFSET 28
#define HYBRID_LEAF       0x1au

static int ask(struct cpu_collector *c, uint32_t leaf, uint32_t subleaf)
{
	struct xst_cpuid_leaf l = { leaf, subleaf, 0, 0, 0, 0 };

	xst_cpuid(leaf, subleaf, &l.eax, &l.ebx, &l.ecx, &l.edx);
	return cpu_add(c, &l);
}

static int ask_all(struct cpu_collector *c)
{
	uint32_t max, max_ext, b, cc, d, i, leaf;

	xst_cpuid(0, 0, &max, &b, &cc, &d);
	xst_cpuid(0x80000000u, 0, &max_ext, &b, &cc, &d);
	for (leaf = 0; leaf <= max && leaf <= HYBRID_LEAF; leaf++) {
		/* Leaf 7 has several sub-leaves that matter, leaf 0DH has one per component. */
		uint32_t last = leaf == 0xd ? 62 : leaf == 7 ? 1 : 0;

		for (i = 0; i <= last; i++)
			if (ask(c, leaf, i))
				return -1;
	}
	for (leaf = 0x80000000u; leaf <= max_ext && leaf <= 0x80000008u; leaf++)
		if (ask(c, leaf, 0))
			return -1;
	return 0;
}

static uint32_t read_microcode(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512];
	unsigned v = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "microcode : %x", &v) == 1)
			break;
	if (f)
		fclose(f);
	return v;
}

static uint32_t read_mxcsr_mask(void)
{
	_Alignas(16) unsigned char area[512];
	uint32_t mask;

	memset(area, 0, sizeof(area));
	xst_fxsave(area);
	memcpy(&mask, area + MXCSR_MASK_OFFSET, sizeof(mask));
	/* An old CPU stores 0 there; the manual gives the default. Ref: SDM vol. 1, "Guidelines
	 * for Writing to the MXCSR Register". */
	return mask ? mask : 0xffbfu;
}

/* Cores of a hybrid machine may differ; ask each that we may run on. */
static int ask_others(struct cpu_collector *c)
{
	cpu_set_t before, one;
	int result = 0;
	unsigned cpu, here = (unsigned)sched_getcpu();

	if (sched_getaffinity(0, sizeof(before), &before))
		return 0;
	for (cpu = 0; cpu < CPU_SETSIZE && !result; cpu++) {
		if (cpu == here || !CPU_ISSET(cpu, &before))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			continue;
		result = cpu_next(c) || ask_all(c) ? -1 : 0;
	}
	sched_setaffinity(0, sizeof(before), &before);
	return result;
}

int cpu_read_host(struct cpu_collector *c)
{
	struct cpu_source *out = c->out;
	uint32_t a, b, cc, d, d7 = 0, max;

	out->format = CPU_HOST;
	if (!xst_has_cpuid())
		return cpu_fail(c, "this CPU has no CPUID instruction");
	if (cpu_next(c) || ask_all(c))
		return -1;
	xst_cpuid(0, 0, &max, &b, &cc, &d);
	if (max >= 7)
		xst_cpuid(7, 0, &a, &b, &cc, &d7);
	xst_cpuid(1, 0, &a, &b, &cc, &d);
	if (d & (1u << 25))
		out->extra.mxcsr_mask = read_mxcsr_mask();
	out->extra.microcode = read_microcode();
	if (cc & (1u << 27)) {
		out->enabled_known = true;
		out->xcr0_enabled = xst_xgetbv(0);
	}
	out->minsigstksz = (unsigned)getauxval(AT_MINSIGSTKSZ);
	return d7 & (1u << 15) ? ask_others(c) : 0;
}
