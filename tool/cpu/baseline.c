// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a group of machines shares, what raw images may travel between them unconverted, and which
 * machine costs the others what: the components they would gain if it left.
 */
#include <stdio.h>
#include <string.h>

#include <xst/compat.h>

#include "cpu/cpu.h"
#include "ui/table.h"
#include "ui/ui.h"

/* The baseline of all but @skip (count: of all). */
static void compute(const struct cpu_source *srcs, unsigned count, unsigned skip,
		    struct xst_baseline *b)
{
	bool begun = false;
	unsigned i;

	for (i = 0; i < count; i++) {
		if (i == skip)
			continue;
		if (begun)
			xst_baseline_add(b, &srcs[i].caps);
		else
			xst_baseline_begin(b, &srcs[i].caps);
		begun = true;
	}
}

/* Area of the baseline's mask on one machine. */
static uint32_t bytes_on(const struct cpu_source *src, const struct xst_baseline *b)
{
	struct xst_layout l;

	if (!b->xsave)
		return b->fxsr ? XST_LEGACY_BYTES : 108;
	return xst_layout_compute(&src->caps, b->xcr0, XST_STANDARD, &l, NULL) ? 0 : l.bytes;
}

static void print_forms(const struct xst_baseline *b, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s%s%s%s%s", b->fxsr ? "FXSAVE" : "FNSAVE",
		 b->xsave ? " XSAVE" : "", b->xsaveopt ? " XSAVEOPT" : "",
		 b->xsavec ? " XSAVEC" : "", b->xsaves ? " XSAVES" : "",
		 b->xgetbv1 ? " XGETBV(1)" : "", b->xfd ? " XFD" : "");
}

static uint64_t costs(const struct cpu_source *srcs, unsigned count, unsigned i,
		      const struct xst_baseline *b)
{
	struct xst_baseline without;

	if (count < 2)
		return 0;
	compute(srcs, count, i, &without);
	return (without.xcr0 | without.xss) & ~(b->xcr0 | b->xss);
}

static uint64_t unused(const struct cpu_source *src, const struct xst_baseline *b)
{
	return xst_caps_state(&src->caps) & ~(b->xcr0 | b->xss);
}

static void print_json(const struct cpu_source *srcs, unsigned count, const struct xst_baseline *b)
{
	struct jw w;
	unsigned i;

	jw_begin(&w, stdout, ui.pretty);
	jw_object(&w, NULL);
	jw_string(&w, "schema", "xstate.cpu-baseline/1");
	jw_mask(&w, "xcr0", b->xcr0);
	jw_mask(&w, "xss", b->xss);
	jw_mask(&w, "moving", b->moving);
	jw_mask(&w, "mxcsr_mask", b->mxcsr_mask);
	jw_bool(&w, "fxsr", b->fxsr);
	jw_bool(&w, "xsave", b->xsave);
	jw_bool(&w, "xsaveopt", b->xsaveopt);
	jw_bool(&w, "xsavec", b->xsavec);
	jw_bool(&w, "xgetbv1", b->xgetbv1);
	jw_bool(&w, "xsaves", b->xsaves);
	jw_bool(&w, "xfd", b->xfd);
	jw_array(&w, "machines");
	for (i = 0; i < count; i++) {
		jw_object(&w, NULL);
		jw_string(&w, "source", srcs[i].source);
		jw_u64(&w, "standard_bytes", bytes_on(&srcs[i], b));
		jw_mask(&w, "unused", unused(&srcs[i], b));
		jw_mask(&w, "costs_the_group", costs(srcs, count, i, b));
		jw_end(&w);
	}
	jw_end(&w);
	jw_end(&w);
	jw_finish(&w);
}

static void print_machines(const struct cpu_source *srcs, unsigned count,
			   const struct xst_baseline *b)
{
	struct table *t = table_new();
	char names[256];
	unsigned i;

	table_column(t, "machine", TABLE_LEFT);
	table_column(t, "area", TABLE_RIGHT);
	table_column(t, "has beyond the baseline", TABLE_WRAP);
	table_column(t, "costs the others", TABLE_LEFT);
	for (i = 0; i < count; i++) {
		const char *base = strrchr(srcs[i].source, '/');
		uint64_t cost = costs(srcs, count, i, b);

		table_cell(t, "%.36s", base ? base + 1 : srcs[i].source);
		table_cell(t, "%u", bytes_on(&srcs[i], b));
		table_cell(t, "%s",
			   unused(&srcs[i], b)
				   ? cpu_mask_names(unused(&srcs[i], b), names, sizeof(names))
				   : "-");
		if (cost)
			table_cell_styled(t, UI_WARN, "%s",
					  cpu_mask_names(cost, names, sizeof(names)));
		else
			table_cell(t, "-");
	}
	table_print(t, stdout);
	table_free(t);
}

int cpu_baseline(const struct cpu_source *srcs, unsigned count)
{
	struct xst_baseline b;
	char names[256], line[512];

	compute(srcs, count, count, &b);
	if (ui.json) {
		print_json(srcs, count, &b);
		return b.xcr0 ? UI_OK : UI_NO;
	}
	print_machines(srcs, count, &b);
	printf("\n");
	if (!b.xcr0) {
		printf("baseline: nothing is common to all; one of them has no FPU.\n");
		return UI_NO;
	}
	snprintf(line, sizeof(line), "baseline: XCR0 %#llx (%s)%s", (unsigned long long)b.xcr0,
		 cpu_mask_names(b.xcr0, names, sizeof(names)), b.xss ? "" : ".");
	ui_paragraph(stdout, 2, line);
	if (b.xss) {
		snprintf(line, sizeof(line), "IA32_XSS: %#llx (%s).", (unsigned long long)b.xss,
			 cpu_mask_names(b.xss, names, sizeof(names)));
		ui_paragraph(stdout, 2, line);
	}
	print_forms(&b, names, sizeof(names));
	snprintf(line, sizeof(line), "instructions: %s; MXCSR bits %#x.", names, b.mxcsr_mask);
	ui_paragraph(stdout, 2, line);
	if (b.moving)
		snprintf(line, sizeof(line),
			 "images: %s lie at different offsets on these machines: "
			 "convert (xstate image convert), do not copy.",
			 cpu_mask_names(b.moving, names, sizeof(names)));
	else
		snprintf(line, sizeof(line), "images: the baseline's components lie at the same "
			 "offsets everywhere, so standard images may be copied as they are.");
	ui_paragraph(stdout, 2, line);
	return UI_OK;
}
