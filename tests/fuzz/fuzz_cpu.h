/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CPUID dumps as bytes: read, describe, lay out, judge. Beyond not crashing: what is placed can be
 * laid out or overlaps, a CPU agrees with itself and can be restored on itself, and the leaf made
 * for a guest is read back as the profile it was made for.
 */
#ifndef TESTS_FUZZ_CPU_H
#define TESTS_FUZZ_CPU_H

#include <stdlib.h>
#include <string.h>

#include <xst/compat.h>

#include "cpu/cpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_layouts(const struct xst_caps *caps)
{
	uint64_t placed = xst_caps_placed(caps);
	struct xst_layout l;
	int err = xst_layout_compute(caps, placed & caps->xcr0, XST_STANDARD, &l, NULL);

	if (caps->xsave && err != XST_OK && err != XST_ERR_OVERLAP)
		abort();
	if (!err && l.bytes < XST_EXT_OFFSET)
		abort();
	err = xst_layout_compute(caps, placed, XST_COMPACTED, &l, NULL);
	if (caps->xsave && (caps->xsavec || caps->xsaves) && err)
		abort();
}

/* A guest's leaf 0DH, put in place of the CPU's, must enumerate that guest. */
static inline void fuzz_guest(const struct cpu_source *src)
{
	const struct xst_caps *caps = &src->caps;
	uint64_t xcr0 = xst_xcr0_usable(xst_caps_placed(caps) & caps->xcr0), xss;
	struct xst_cpuid_leaf l[66];
	struct xst_caps guest;
	unsigned i;

	xss = caps->xss & XST_MASK_SUPER & xst_caps_placed(caps);
	if (!caps->xsave || xst_xcr0_check(xcr0, caps->xcr0, NULL))
		return;
	memset(l, 0, sizeof(l));
	l[63].eax = 0xd;
	l[64].leaf = 1;
	l[64].ecx = 1u << 26;
	for (i = 0; i < 63; i++)
		if (xst_caps_leaf_d(caps, xcr0, xss, xcr0, xss, i, &l[i], NULL))
			return; /* an overlap */
	if (xst_caps_from_leaves(l, 65, NULL, &guest, NULL) || guest.xcr0 != xcr0 ||
	    guest.xss != xss ||
	    (guest.caveats & (XST_CAVEAT_SUM_STANDARD | XST_CAVEAT_SUM_COMPACTED |
			      XST_CAVEAT_SUM_NOW | XST_CAVEAT_EMPTY_SUBLEAF)))
		abort();
}

static inline void fuzz_cpu(const char *head, const uint8_t *data, size_t size)
{
	static struct finding found[FINDINGS_MAX];
	size_t n = strlen(head);
	char *text = malloc(n + size + 1), err[256], words[640];
	struct xst_compat_report report;
	struct cpu_source src;
	unsigned i, count;

	if (!text)
		abort();
	memcpy(text, head, n);
	memcpy(text + n, data, size);
	if (read_cpu_text("input", text, n + size, &src, err, sizeof(err))) {
		if (strncmp(err, "input: ", 7) || strchr(err, '\n'))
			abort();
	} else {
		fuzz_layouts(&src.caps);
		fuzz_guest(&src);
		if (xst_caps_agree(&src.caps, &src.caps, NULL) ||
		    xst_compat_cpus(&src.caps, &src.caps, ~0ULL, &report, NULL))
			abort();
		count = cpu_findings(&src, true, found);
		for (i = 0; i < count; i++)
			cpu_finding_text(&found[i], words, sizeof(words));
	}
	read_cpu_free(&src);
	free(text);
}

#endif
