// SPDX-License-Identifier: BSD-2-Clause
/*
 * Caveats with their evidence: which leaf says so, what it says, what it should say. The words are
 * the library's (caveat.def); the numbers are added here, for `xstate cpu` and for --audit alike.
 */
#include <stdio.h>
#include <string.h>

#include <xst/layout.h>

#include "cpu/cpu.h"

/* Components that would explain a standard sum: sub-leaves that are filled but not listed. */
static void explain_standard(const struct xst_caps *caps, struct finding *f)
{
	struct xst_caps all = *caps;
	struct xst_layout l;
	char names[120];
	uint64_t hidden = xst_caveat_components(caps, XST_CAVEAT_HIDDEN_SUBLEAF);
	unsigned i;

	/* Known sizes are no help for components without a sub-leaf; only say what can be seen. */
	for (i = 2; i < 63; i++)
		if (!(hidden & XST_MASK(i)) || all.comp[i].supervisor)
			continue;
		else
			all.xcr0 |= XST_MASK(i);
	if (all.xcr0 != caps->xcr0 &&
	    !xst_layout_compute(&all, xst_caps_placed(&all) & all.xcr0, XST_STANDARD, &l, NULL) &&
	    l.bytes == f->got)
		snprintf(f->hint, sizeof(f->hint), "the sum of a CPU that also lists %s",
			 cpu_mask_names(all.xcr0 & ~caps->xcr0, names, sizeof(names)));
	else if (f->got > f->want)
		snprintf(f->hint, sizeof(f->hint), "the sum of a CPU with more components");
}

static void about(struct finding *f, uint32_t leaf, uint32_t subleaf, const char *reg, uint64_t got)
{
	f->leaf = leaf;
	f->subleaf = subleaf;
	snprintf(f->reg, sizeof(f->reg), "%s", reg);
	f->got = got;
}

static void wanted(struct finding *f, uint64_t want)
{
	f->want = want;
	f->has_want = true;
}

/* A caveat about the CPU as a whole. */
static void whole(const struct xst_caps *caps, struct finding *f)
{
	struct xst_layout l = {0};

	switch (f->caveat) {
	case XST_CAVEAT_SUM_STANDARD:
		about(f, 0xd, 0, "ECX", caps->d0_ecx);
		if (!xst_layout_compute(caps, xst_caps_placed(caps) & caps->xcr0, XST_STANDARD, &l,
					NULL))
			wanted(f, l.bytes);
		explain_standard(caps, f);
		break;
	case XST_CAVEAT_SUM_COMPACTED:
		about(f, 0xd, 1, "EBX", caps->d1_ebx);
		break;
	case XST_CAVEAT_SUM_WITHOUT_FORM:
		about(f, 0xd, 1, "EBX", caps->d1_ebx);
		wanted(f, 0);
		break;
	case XST_CAVEAT_SUM_MISSING:
		about(f, 0xd, 1, "EBX", 0);
		if (!xst_layout_compute(caps, xst_caps_placed(caps) & caps->xcr0, XST_COMPACTED, &l,
					NULL))
			snprintf(f->hint, sizeof(f->hint), "%u for all user components", l.bytes);
		break;
	case XST_CAVEAT_SUM_NOW:
		about(f, 0xd, 0, "EBX", caps->d0_ebx);
		break;
	case XST_CAVEAT_XSAVE_WITHOUT_LEAF:
		about(f, 0, 0, "EAX", caps->max_leaf);
		wanted(f, 0xd);
		break;
	case XST_CAVEAT_XFD_NO_COMPONENT:
		about(f, 0xd, 1, "EAX[4]", 1);
		wanted(f, 0);
		break;
	case XST_CAVEAT_XSAVES_NO_XGETBV1:
		about(f, 0xd, 1, "EAX[2]", 0);
		wanted(f, 1);
		break;
	case XST_CAVEAT_EMPTY_LEAF:
		about(f, 0xd, 0, "EAX", 0);
		break;
	default:
		break;
	}
}

/* A caveat about component @id. */
static void component(const struct xst_caps *caps, unsigned id, struct finding *f)
{
	const struct xst_comp_caps *c = &caps->comp[id];
	const struct xst_comp_info *info = xst_comp_info(id);

	switch (f->caveat) {
	case XST_CAVEAT_EMPTY_SUBLEAF:
	case XST_CAVEAT_ODD_BYTES:
		about(f, 0xd, id, "EAX", c->bytes);
		if (info)
			wanted(f, info->bytes);
		break;
	case XST_CAVEAT_HIDDEN_SUBLEAF:
		about(f, 0xd, id, "EAX", c->bytes);
		wanted(f, 0);
		break;
	case XST_CAVEAT_SUPERVISOR_OFFSET:
		about(f, 0xd, id, "EBX", c->offset);
		wanted(f, 0);
		break;
	case XST_CAVEAT_NO_OFFSET:
		about(f, 0xd, id, "EBX", c->offset);
		break;
	case XST_CAVEAT_COMPONENT_NO_XFD:
		about(f, 0xd, id, "ECX[2]", 1);
		wanted(f, 0);
		break;
	case XST_CAVEAT_SUPERVISOR_IN_XCR0:
	case XST_CAVEAT_UNUSABLE:
		about(f, 0xd, 0, "EDX:EAX", caps->xcr0);
		wanted(f, f->caveat == XST_CAVEAT_UNUSABLE ? xst_xcr0_usable(caps->xcr0)
							  : caps->xcr0 & ~f->components);
		break;
	case XST_CAVEAT_USER_IN_XSS:
		about(f, 0xd, 1, "EDX:ECX", caps->xss);
		wanted(f, caps->xss & ~f->components);
		break;
	case XST_CAVEAT_UNKNOWN_COMPONENT:
		about(f, 0xd, 0, "EDX:EAX", caps->xcr0 | caps->xss);
		break;
	case XST_CAVEAT_COMPONENT_NO_FLAG:
	case XST_CAVEAT_FLAG_NO_COMPONENT:
		if (info) {
			static const char *const regs[] = { "EAX", "EBX", "ECX", "EDX" };

			about(f, XST_FLAG_LEAF(info->flag), XST_FLAG_SUBLEAF(info->flag), "",
			      f->caveat == XST_CAVEAT_FLAG_NO_COMPONENT);
			snprintf(f->reg, sizeof(f->reg), "%s[%u]", regs[XST_FLAG_REG(info->flag)],
				 XST_FLAG_BIT(info->flag));
			wanted(f, f->caveat != XST_CAVEAT_FLAG_NO_COMPONENT);
		}
		break;
	default:
		break;
	}
}

static void fill(const struct xst_caps *caps, uint32_t caveat, uint64_t mask, struct finding *f)
{
	memset(f, 0, sizeof(*f));
	f->caveat = caveat;
	f->components = mask;
	if (mask)
		component(caps, (unsigned)__builtin_ctzll(mask), f);
	else
		whole(caps, f);
	/* One number cannot stand for several components. */
	if (mask & (mask - 1) && caveat != XST_CAVEAT_SUPERVISOR_IN_XCR0 &&
	    caveat != XST_CAVEAT_UNUSABLE && caveat != XST_CAVEAT_USER_IN_XSS)
		f->reg[0] = '\0';
}

/* The compacted sum against every mask that could be in force: too slow to do on every read. */
static unsigned check_compacted(const struct cpu_source *src, struct finding *f)
{
	const struct xst_caps *caps = &src->caps;
	const uint32_t blind = XST_CAVEAT_EMPTY_SUBLEAF | XST_CAVEAT_SUM_COMPACTED |
			       XST_CAVEAT_SUM_MISSING;
	struct in_force now;

	if (!caps->xsave || !(caps->xsavec || caps->xsaves) || caps->caveats & blind)
		return 0;
	/* With components that nobody knows there are too many sets to try. */
	if (caps->caveats & XST_CAVEAT_UNKNOWN_COMPONENT)
		return 0;
	cpu_in_force(src, true, &now);
	if (now.xss_count)
		return 0;
	fill(caps, XST_CAVEAT_SUM_COMPACTED, 0, f);
	if (now.unaligned)
		snprintf(f->hint, sizeof(f->hint),
			 "it fits if the 64-byte alignment of a component is forgotten");
	return 1;
}

unsigned cpu_findings(const struct cpu_source *src, bool each, struct finding *out)
{
	const struct xst_caps *caps = &src->caps;
	unsigned n = 0;
	uint32_t rest;

	for (rest = caps->caveats; rest && n < FINDINGS_MAX; rest &= rest - 1) {
		uint32_t caveat = rest & -rest;
		uint64_t mask = xst_caveat_components(caps, caveat);

		if (!each || !mask) {
			fill(caps, caveat, mask, &out[n++]);
			continue;
		}
		for (; mask && n < FINDINGS_MAX; mask &= mask - 1)
			fill(caps, caveat, mask & -mask, &out[n++]);
	}
	if (each && n < FINDINGS_MAX)
		n += check_compacted(src, &out[n]);
	return n;
}

/* Bytes are read in decimal, masks in hexadecimal. */
static void number(const struct finding *f, uint64_t v, char buf[24])
{
	bool mask = strchr(f->reg, ':');

	snprintf(buf, 24, mask ? "%#llx" : "%llu", (unsigned long long)v);
}

void cpu_finding_text(const struct finding *f, char *buf, size_t size)
{
	const struct xst_caveat_info *info = xst_caveat_info(f->caveat);
	char names[256], got[24], want[24];
	size_t n;

	n = (size_t)snprintf(buf, size, "%s: ", info->id);
	if (f->components && n < size)
		n += (size_t)snprintf(buf + n, size - n, "%s %s, ",
				      f->components & (f->components - 1) ? "components"
									  : "component",
				      cpu_mask_names(f->components, names, sizeof(names)));
	if (n < size)
		n += (size_t)snprintf(buf + n, size - n, "%s", info->words);
	if (f->reg[0] && n < size) {
		number(f, f->got, got);
		number(f, f->want, want);
		n += (size_t)snprintf(buf + n, size - n, " (leaf %#x.%u %s is %s%s%s%s%s)", f->leaf,
				      f->subleaf, f->reg, got, f->has_want ? ", want " : "",
				      f->has_want ? want : "", f->hint[0] ? "; " : "", f->hint);
	}
}
