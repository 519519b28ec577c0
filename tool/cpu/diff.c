// SPDX-License-Identifier: BSD-2-Clause
/* Two CPUs side by side: may state saved on A be restored on B, component by component. */
#include <stdio.h>
#include <string.h>

#include <xst/compat.h>

#include "cpu/cpu.h"
#include "ui/table.h"
#include "ui/ui.h"

static void place(const struct xst_caps *c, unsigned i, char buf[32])
{
	if (!(xst_caps_state(c) & XST_MASK(i)))
		snprintf(buf, 32, "-");
	else if (i < 2)
		snprintf(buf, 32, "legacy");
	else if (c->comp[i].supervisor)
		snprintf(buf, 32, "%u bytes", c->comp[i].bytes);
	else
		snprintf(buf, 32, "%u at %u", c->comp[i].bytes, c->comp[i].offset);
}

/* What to do about it, in one sentence. */
static void advice(const struct xst_compat_report *r, const struct xst_diag *d, char *buf,
		   size_t size)
{
	char names[128];

	switch (r->verdict) {
	case XST_VERDICT_OK:
		snprintf(buf, size, "A's images restore on B as they are%s",
			 r->size_only ? "; only the area size differs, so a check by size would "
					"refuse in vain" : "");
		break;
	case XST_VERDICT_CONVERT:
		snprintf(buf, size, "A's images must be converted for B (xstate image convert --to "
				    "B): %s", r->moved | r->resized
					      ? cpu_mask_names(r->moved | r->resized, names,
							       sizeof(names))
					      : d->rule);
		break;
	case XST_VERDICT_REFUSE:
		snprintf(buf, size, "an image of A with live %s cannot go to B",
			 cpu_mask_names(r->missing | r->size, names, sizeof(names)));
		break;
	}
}

static uint64_t known_mask(const struct cpu_source *a, const struct cpu_source *b)
{
	return xst_caps_state(&a->caps) | xst_caps_state(&b->caps);
}

static void print_json(const struct cpu_source *a, const struct cpu_source *b,
		       const struct xst_compat_report *r, const struct xst_diag *d,
		       const char *text)
{
	struct jw w;
	uint64_t rest;
	char name[16], pa[32], pb[32];

	jw_begin(&w, stdout, ui.pretty);
	jw_object(&w, NULL);
	jw_string(&w, "schema", "xstate.cpu-diff/1");
	jw_string(&w, "from", a->source);
	jw_string(&w, "to", b->source);
	jw_string(&w, "verdict", xst_compat_verdict_name(r->verdict));
	jw_string(&w, "advice", text);
	jw_string(&w, "rule", r->verdict ? d->rule : NULL);
	jw_mask(&w, "same", r->same);
	jw_mask(&w, "moved", r->moved);
	jw_mask(&w, "resized", r->resized);
	jw_mask(&w, "size_differs", r->size);
	jw_mask(&w, "missing", r->missing);
	jw_mask(&w, "extra", r->extra);
	jw_mask(&w, "align64_differs", r->align);
	jw_mask(&w, "mxcsr_bits_refused", r->mxcsr);
	jw_u64(&w, "from_standard_bytes", r->from_bytes);
	jw_u64(&w, "to_standard_bytes", r->to_bytes);
	jw_bool(&w, "size_only", r->size_only);
	jw_bool(&w, "cached_size_hazard", r->cached_size);
	jw_array(&w, "components");
	for (rest = known_mask(a, b); rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);

		place(&a->caps, i, pa);
		place(&b->caps, i, pb);
		jw_object(&w, NULL);
		jw_u64(&w, "id", i);
		jw_string(&w, "name", cpu_comp_name(i, name));
		jw_string(&w, "from", pa);
		jw_string(&w, "to", pb);
		jw_string(&w, "verdict", xst_compat_name((enum xst_compat)r->comp[i]));
		jw_end(&w);
	}
	jw_end(&w);
	jw_end(&w);
	jw_finish(&w);
}

static void print_table(const struct cpu_source *a, const struct cpu_source *b,
			const struct xst_compat_report *r)
{
	struct table *t = table_new();
	uint64_t rest;
	char name[16], pa[32], pb[32];

	table_column(t, "id", TABLE_RIGHT);
	table_column(t, "component", TABLE_LEFT);
	table_column(t, "on A", TABLE_LEFT);
	table_column(t, "on B", TABLE_LEFT);
	table_column(t, "A to B", TABLE_LEFT);
	for (rest = known_mask(a, b); rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		enum xst_compat c = (enum xst_compat)r->comp[i];

		place(&a->caps, i, pa);
		place(&b->caps, i, pb);
		table_cell(t, "%u", i);
		table_cell(t, "%s", cpu_comp_name(i, name));
		table_cell(t, "%s", pa);
		table_cell(t, "%s", pb);
		table_cell_styled(t, c == XST_COMPAT_SAME ? UI_GOOD
				     : c == XST_COMPAT_MISSING || c == XST_COMPAT_SIZE ? UI_BAD
				     : c == XST_COMPAT_ABSENT ? UI_FAINT : UI_WARN,
				  "%s", c == XST_COMPAT_ABSENT ? "INIT on B" : xst_compat_name(c));
	}
	table_print(t, stdout);
	table_free(t);
}

int cpu_diff(const struct cpu_source *a, const struct cpu_source *b)
{
	struct xst_compat_report r;
	struct xst_diag d;
	char text[512], title[64], line[700];

	xst_compat_cpus(&a->caps, &b->caps, ~0ULL, &r, &d);
	advice(&r, &d, text, sizeof(text));
	if (ui.json) {
		print_json(a, b, &r, &d, text);
		return r.verdict == XST_VERDICT_REFUSE ? UI_NO : UI_OK;
	}
	cpu_printf("A: %s (%s)\n", cpu_title(a, title, sizeof(title)), a->source);
	cpu_printf("B: %s (%s)\n\n", cpu_title(b, title, sizeof(title)), b->source);
	print_table(a, b, &r);
	printf("\n");
	snprintf(line, sizeof(line), "verdict: %s: %s.", xst_compat_verdict_name(r.verdict), text);
	ui_paragraph(stdout, 2, line);
	if (r.mxcsr) {
		snprintf(line, sizeof(line),
			 "MXCSR: bits %#x may be set on A; B refuses them (#GP).", r.mxcsr);
		ui_paragraph(stdout, 2, line);
	}
	if (r.cached_size) {
		snprintf(line, sizeof(line),
			 "hazard: B's area is larger (%u bytes, A %u): a migrated "
			 "process that cached A's size, as the dynamic loader does, overflows its "
			 "buffer unless B's XCR0 is limited to A's.",
			 r.to_bytes, r.from_bytes);
		ui_paragraph(stdout, 2, line);
	}
	return r.verdict == XST_VERDICT_REFUSE ? UI_NO : UI_OK;
}
