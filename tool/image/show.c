// SPDX-License-Identifier: BSD-2-Clause
/* xstate image show: the header, the components, the registers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "image/image.h"
#include "ui/table.h"
#include "ui/ui.h"

static uint64_t header_bits(const struct image_thread *t)
{
	return xst_get64(t->area, XST_OFF_XSTATE_BV);
}

static const char *format_name(const struct image_thread *t)
{
	if (t->wrapped)
		return "fxsave";
	return t->layout.format == XST_COMPACTED ? "compacted" : "standard";
}

/* Those the image has, and where its CPU is known those it might have had. */
static uint64_t listed(const struct image_request *r, const struct image_thread *t)
{
	const struct xst_caps *caps = &r->from.caps;

	if (!r->has_from || t->wrapped)
		return t->layout.mask;
	return t->layout.mask |
	       (xst_caps_placed(caps) &
		(t->layout.format == XST_COMPACTED ? caps->xcr0 | caps->xss : caps->xcr0));
}

static void components(const struct image_request *r, const struct image_thread *t)
{
	struct table *table = table_new();
	uint64_t rest;

	table_column(table, "", TABLE_RIGHT);
	table_column(table, "component", TABLE_LEFT);
	table_column(table, "state", TABLE_LEFT);
	table_column(table, "offset", TABLE_RIGHT);
	table_column(table, "bytes", TABLE_RIGHT);
	for (rest = listed(r, t); rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		const char *state = image_state_name(t, i);
		bool here = t->layout.mask & XST_MASK(i);
		char name[32];

		table_cell(table, "%u", i);
		table_cell(table, "%s", image_comp_name(i, name, sizeof(name)));
		table_cell_styled(table, strcmp(state, "live") ? UI_FAINT : UI_PLAIN, "%s", state);
		if (here) {
			table_cell(table, "%u", t->layout.offset[i]);
			table_cell(table, "%u", t->layout.size[i]);
		} else {
			table_cell(table, "-");
			table_cell(table, "-");
		}
	}
	table_print(table, stdout);
	table_free(table);
}

static void show_thread(const struct image_request *r, const struct image_file *f,
			const struct image_thread *t)
{
	const char *fault = image_header_fault(t);

	if (t->id)
		printf("%sthread %" PRIu64 "%s\n", ui_on(stdout, UI_HEAD), t->id,
		       ui_off(stdout, UI_HEAD));
	printf("%s image, %zu bytes; layout: %s\n", format_name(t), t->bytes, t->layout_by);
	if (!t->wrapped && f->kind != IMAGE_CRIU)
		printf("XSTATE_BV 0x%" PRIx64 "  XCOMP_BV 0x%" PRIx64 "\n", header_bits(t),
		       xst_get64(t->area, XST_OFF_XCOMP_BV));
	if (t->xcr0)
		printf("made with XCR0 0x%" PRIx64 "\n", t->xcr0);
	if (r->xcr0.given || r->xss.given || r->xfd.given)
		printf("in force: XCR0 0x%" PRIx64 "  IA32_XSS 0x%" PRIx64 "  IA32_XFD 0x%" PRIx64
		       "\n", r->xcr0.given ? r->xcr0.mask : t->xcr0, r->xss.mask, r->xfd.mask);
	if (fault)
		printf("%sthe header is damaged: %s%s\n", ui_on(stdout, UI_BAD), fault,
		       ui_off(stdout, UI_BAD));
	if (t->remark[0])
		printf("note: %s\n", t->remark);
	components(r, t);
	image_registers(t, r->vectors);
}

static void show_json(const struct image_request *r, const struct image_file *f,
		      const struct image_thread *t, struct jw *w)
{
	const char *fault = image_header_fault(t);
	uint64_t rest;

	jw_object(w, NULL);
	if (t->id)
		jw_u64(w, "thread", t->id);
	else
		jw_null(w, "thread");
	jw_string(w, "format", format_name(t));
	jw_u64(w, "bytes", t->bytes);
	jw_string(w, "layout", t->layout_by);
	if (t->xcr0)
		jw_mask(w, "xcr0", t->xcr0);
	else
		jw_null(w, "xcr0");
	if (t->wrapped || f->kind == IMAGE_CRIU) {
		jw_null(w, "xcomp_bv");
	} else {
		jw_mask(w, "xcomp_bv", xst_get64(t->area, XST_OFF_XCOMP_BV));
	}
	jw_mask(w, "xstate_bv", header_bits(t));
	jw_string(w, "header_fault", fault);
	jw_string(w, "remark", t->remark[0] ? t->remark : NULL);
	jw_array(w, "components");
	for (rest = listed(r, t); rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		bool here = t->layout.mask & XST_MASK(i);
		char name[32];

		jw_object(w, NULL);
		jw_u64(w, "id", i);
		jw_string(w, "name", image_comp_name(i, name, sizeof(name)));
		jw_string(w, "state", image_state_name(t, i));
		if (here) {
			jw_u64(w, "offset", t->layout.offset[i]);
			jw_u64(w, "bytes", t->layout.size[i]);
		} else {
			jw_null(w, "offset");
			jw_null(w, "bytes");
		}
		jw_end(w);
	}
	jw_end(w);
	image_registers_json(w, t, r->vectors);
	jw_end(w);
}

int image_show(const struct image_request *r, struct image_file *f)
{
	struct jw w;

	if (!ui.json) {
		printf("%s: %s, %zu thread%s\n", f->path, image_kind_name(f->kind), f->count,
		       f->count == 1 ? "" : "s");
		for (size_t i = 0; i < f->count; i++)
			show_thread(r, f, &f->threads[i]);
		return UI_OK;
	}
	jw_begin(&w, stdout, ui.pretty);
	jw_object(&w, NULL);
	jw_string(&w, "schema", IMAGE_SCHEMA);
	jw_string(&w, "source", f->path);
	jw_string(&w, "kind", image_kind_name(f->kind));
	if (r->xcr0.given)
		jw_mask(&w, "xcr0_in_force", r->xcr0.mask);
	if (r->xss.given)
		jw_mask(&w, "xss_in_force", r->xss.mask);
	if (r->xfd.given)
		jw_mask(&w, "xfd_in_force", r->xfd.mask);
	jw_array(&w, "threads");
	for (size_t i = 0; i < f->count; i++)
		show_json(r, f, &f->threads[i], &w);
	jw_end(&w);
	jw_end(&w);
	jw_finish(&w);
	return UI_OK;
}
