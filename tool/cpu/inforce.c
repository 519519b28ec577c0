// SPDX-License-Identifier: BSD-2-Clause
/*
 * XCR0 and IA32_XSS in force when a dump was taken. No dump holds them, but the sums that CPUID
 * makes depend on them: sub-leaf 0 EBX is the standard size for XCR0, sub-leaf 1 EBX the compacted
 * size for XCR0 | IA32_XSS. So each legal mask is tried, and what fits is kept.
 */
#include <string.h>

#include <xst/layout.h>

#include "cpu/cpu.h"

/* The legal XCR0 of a CPU are few: components come in groups. */
#define XCR0_MAX 512

static unsigned legal_xcr0(const struct cpu_source *src, uint64_t *list)
{
	uint64_t usable = xst_xcr0_usable(src->caps.xcr0), placed = cpu_user_mask(src), sub;
	unsigned n = 0;

	/* Subsets that the CPU cannot lay out are no candidates either. */
	usable &= placed;
	for (sub = usable;; sub = (sub - 1) & usable) {
		if (n < XCR0_MAX && !xst_xcr0_check(sub, usable, NULL))
			list[n++] = sub;
		if (!sub)
			break;
	}
	return n;
}

/* The compacted size as a program computes it that forgets the alignment. */
static uint32_t packed_bytes(const struct xst_caps *caps, uint64_t mask)
{
	uint32_t bytes = XST_EXT_OFFSET;

	for (mask &= ~XST_MASK_LEGACY; mask; mask &= mask - 1)
		bytes += caps->comp[__builtin_ctzll(mask)].bytes;
	return bytes;
}

static bool fits(const struct xst_caps *caps, uint64_t mask, bool aligned)
{
	struct xst_layout l;

	if (!aligned)
		return packed_bytes(caps, mask) == caps->d1_ebx;
	return !xst_layout_compute(caps, mask, XST_COMPACTED, &l, NULL) &&
	       l.bytes == caps->d1_ebx;
}

static void keep(unsigned *count, uint64_t *all, uint64_t *any, uint64_t mask)
{
	*all = *count ? *all & mask : mask;
	*any |= mask;
	++*count;
}

/* Try every IA32_XSS with every XCR0 candidate. */
static void find_xss(const struct cpu_source *src, const uint64_t *xcr0, unsigned n, bool aligned,
		     struct in_force *f)
{
	const struct xst_caps *caps = &src->caps;
	/* Only known components: a dump of junk may list sixty, and there is no trying all sets. */
	uint64_t supers = caps->xss & xst_caps_placed(caps) & XST_MASK_SUPER, sub, all = 0, any = 0;
	unsigned i, fit = 0;

	for (i = 0; i < n; i++) {
		bool here = false;

		for (sub = supers;; sub = (sub - 1) & supers) {
			if (fits(caps, xcr0[i] | sub, aligned)) {
				keep(&f->xss_count, &f->xss_all, &f->xss_any, sub);
				here = true;
			}
			if (!sub)
				break;
		}
		if (here)
			keep(&fit, &all, &any, xcr0[i]);
	}
	/* What fits both sums is more certain than what fits one. */
	if (fit) {
		f->xcr0_count = fit;
		f->xcr0_all = all;
		f->xcr0_any = any;
	}
}

void cpu_in_force(const struct cpu_source *src, bool with_xss, struct in_force *f)
{
	const struct xst_caps *caps = &src->caps;
	uint64_t legal[XCR0_MAX], now[XCR0_MAX];
	unsigned i, n, n_now = 0;
	struct xst_layout l;

	memset(f, 0, sizeof(*f));
	if (!caps->xsave)
		return;
	n = legal_xcr0(src, legal);
	for (i = 0; i < n; i++) {
		if (src->enabled_known
			    ? legal[i] != src->xcr0_enabled
			    : xst_layout_compute(caps, legal[i], XST_STANDARD, &l, NULL) ||
				      l.bytes != caps->d0_ebx)
			continue;
		keep(&f->xcr0_count, &f->xcr0_all, &f->xcr0_any, legal[i]);
		now[n_now++] = legal[i];
	}
	if (!with_xss || !caps->d1_ebx || !(caps->xsavec || caps->xsaves))
		return;
	find_xss(src, n_now ? now : legal, n_now ? n_now : n, true, f);
	if (!f->xss_count) {
		find_xss(src, n_now ? now : legal, n_now ? n_now : n, false, f);
		f->unaligned = f->xss_count > 0;
		f->xss_count = 0;
	}
}
