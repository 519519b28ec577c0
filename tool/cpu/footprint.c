// SPDX-License-Identifier: BSD-2-Clause
/*
 * What state costs in memory. A few bytes more in a structure cost nothing as long as as many
 * objects fit in a slab, and then suddenly a lot: so the question is answered for a given
 * containing structure, and for state that is allocated apart.
 */
#include <stdio.h>
#include <string.h>

#include <xst/layout.h>

#include "cpu/cpu.h"
#include "cpu/slab.h"
#include "ui/table.h"
#include "ui/ui.h"

struct footprint {
	const struct cpu_source *src;
	struct xst_caps caps; /* with the components the CPU lacks added by comp.def */
	enum xst_format format;
	uint64_t holds; /* state that the structure already contains */
	struct slab slab;
	uint64_t tasks;
};

/* A change to the structure, or a set of state. */
struct variant {
	char name[48];
	uint64_t mask;
	int64_t delta_bytes;
};

#define VARIANTS_MAX 12

/* AVX-512 on a CPU without it: sizes are architecture, so the compacted format can be computed. */
static void add_missing(struct xst_caps *caps)
{
	uint64_t rest;

	for (rest = (XST_MASK_AVX512 | XST_MASK_AMX | XST_MASK_AVX) & ~xst_caps_placed(caps); rest;
	     rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);
		const struct xst_comp_info *info = xst_comp_info(i);

		caps->comp[i].bytes = info->bytes;
		caps->comp[i].align64 = info->align64;
		caps->comp[i].offset = 0;
		caps->xcr0 |= XST_MASK(i);
	}
}

static uint32_t area_bytes(const struct footprint *f, uint64_t mask)
{
	struct xst_layout l;

	if (!f->src->caps.xsave)
		return f->src->caps.fxsr ? XST_LEGACY_BYTES : 108;
	return xst_layout_compute(&f->caps, mask, f->format, &l, NULL) ? 0 : l.bytes;
}

static void add(struct variant *v, unsigned *n, const char *name, uint64_t mask, int64_t delta)
{
	snprintf(v[*n].name, sizeof(v[*n].name), "%s", name);
	v[*n].mask = mask;
	v[*n].delta_bytes = delta;
	++*n;
}

/* With a group, or without it where it is there already. */
static void add_group(const struct footprint *f, struct variant *v, unsigned *n, const char *name,
		      uint64_t group)
{
	char text[48];
	bool has = (f->holds & group) == group;
	uint64_t mask = has ? f->holds & ~group : f->holds | group;
	uint32_t now = area_bytes(f, f->holds), then = area_bytes(f, mask);

	if (!now || !then || !f->src->caps.xsave)
		return;
	snprintf(text, sizeof(text), "%s %s", has ? "without" : "with", name);
	add(v, n, text, mask, (int64_t)then - (int64_t)now);
}

static unsigned changes(const struct footprint *f, struct variant *v)
{
	unsigned n = 0;

	add(v, &n, "as it is", f->holds, 0);
	add(v, &n, "24 bytes more (CET_S)", f->holds, XST_BYTES_CET_S);
	add_group(f, v, &n, "AVX-512", XST_MASK_AVX512);
	add_group(f, v, &n, "AMX", XST_MASK_AMX);
	return n;
}

static unsigned sets(const struct footprint *f, struct variant *v)
{
	unsigned n = 0;

	add(v, &n, "x87 SSE", XST_MASK_LEGACY, 0);
	if (!f->src->caps.xsave)
		return n;
	add(v, &n, "and AVX", XST_MASK_LEGACY | XST_MASK_AVX, 0);
	add(v, &n, "and AVX-512", XST_MASK_LEGACY | XST_MASK_AVX | XST_MASK_AVX512, 0);
	add(v, &n, "and AMX", XST_MASK_LEGACY | XST_MASK_AVX | XST_MASK_AVX512 | XST_MASK_AMX, 0);
	add(v, &n, "what is enabled", f->holds, 0);
	return n;
}

static void changed(const struct footprint *f, const struct variant *v, struct slab_use *use)
{
	struct slab s = f->slab;

	s.object_bytes = (uint64_t)((int64_t)s.object_bytes + v->delta_bytes);
	slab_use(&s, use);
}

static void json_changes(struct jw *w, const struct footprint *f)
{
	struct variant v[VARIANTS_MAX];
	unsigned i, n = changes(f, v);
	struct slab_use use;

	jw_array(w, "changes");
	for (i = 0; i < n; i++) {
		changed(f, &v[i], &use);
		jw_object(w, NULL);
		jw_string(w, "name", v[i].name);
		jw_i64(w, "delta_bytes", v[i].delta_bytes);
		jw_u64(w, "object_bytes",
		       (uint64_t)((int64_t)f->slab.object_bytes + v[i].delta_bytes));
		jw_u64(w, "stride_bytes", use.stride_bytes);
		jw_u64(w, "objects_per_slab", use.objects);
		jw_u64(w, "spare_bytes", use.spare_bytes);
		jw_u64(w, "growth_bytes", use.growth_bytes);
		jw_u64(w, "bytes_per_task", use.per_object_bytes);
		jw_u64(w, "bytes_for_all_tasks", use.per_object_bytes * f->tasks);
		jw_end(w);
	}
	jw_end(w);
}

static void print_json(const struct footprint *f)
{
	struct variant v[VARIANTS_MAX];
	unsigned i, n = sets(f, v);
	struct jw w;

	jw_begin(&w, stdout, ui.pretty);
	jw_object(&w, NULL);
	jw_string(&w, "schema", "xstate.cpu-footprint/1");
	jw_string(&w, "source", f->src->source);
	jw_u64(&w, "base_bytes", f->slab.object_bytes);
	jw_u64(&w, "align_bytes", f->slab.align_bytes);
	jw_u64(&w, "slab_bytes", f->slab.slab_bytes);
	jw_u64(&w, "tasks", f->tasks);
	jw_mask(&w, "holds", f->holds);
	json_changes(&w, f);
	jw_array(&w, "state_apart");
	for (i = 0; i < n; i++) {
		uint32_t bytes = area_bytes(f, v[i].mask);

		if (!bytes)
			continue;
		jw_object(&w, NULL);
		jw_string(&w, "name", v[i].name);
		jw_mask(&w, "mask", v[i].mask);
		jw_u64(&w, "area_bytes", bytes);
		jw_u64(&w, "kmalloc_bytes", slab_kmalloc_bytes(bytes));
		jw_u64(&w, "vmalloc_bytes", slab_vmalloc_bytes(bytes));
		jw_u64(&w, "kmalloc_bytes_for_all_tasks", slab_kmalloc_bytes(bytes) * f->tasks);
		jw_u64(&w, "vmalloc_bytes_for_all_tasks", slab_vmalloc_bytes(bytes) * f->tasks);
		jw_end(&w);
	}
	jw_end(&w);
	jw_end(&w);
	jw_finish(&w);
}

static void mib_cell(struct table *t, uint64_t bytes)
{
	table_cell(t, "%.1f", (double)bytes / (1 << 20));
}

static void print_changes(const struct footprint *f)
{
	struct variant v[VARIANTS_MAX];
	unsigned i, n = changes(f, v);
	struct table *t = table_new();
	struct slab_use use;

	table_column(t, "structure", TABLE_LEFT);
	table_column(t, "bytes", TABLE_RIGHT);
	table_column(t, "per slab", TABLE_RIGHT);
	table_column(t, "spare", TABLE_RIGHT);
	table_column(t, "may grow", TABLE_RIGHT);
	table_column(t, "per task", TABLE_RIGHT);
	table_column(t, "MiB for all", TABLE_RIGHT);
	for (i = 0; i < n; i++) {
		changed(f, &v[i], &use);
		table_cell(t, "%s", v[i].name);
		table_cell(t, "%lld",
			   (long long)f->slab.object_bytes + (long long)v[i].delta_bytes);
		if (!use.objects) {
			table_cell_styled(t, UI_BAD, "0");
			table_cell(t, "-");
			table_cell(t, "-");
			table_cell(t, "-");
			table_cell(t, "-");
			continue;
		}
		table_cell(t, "%llu", (unsigned long long)use.objects);
		table_cell(t, "%llu", (unsigned long long)use.spare_bytes);
		table_cell(t, "%llu", (unsigned long long)use.growth_bytes);
		table_cell(t, "%llu", (unsigned long long)use.per_object_bytes);
		mib_cell(t, use.per_object_bytes * f->tasks);
	}
	table_print(t, stdout);
	table_free(t);
}

static void print_sets(const struct footprint *f)
{
	struct variant v[VARIANTS_MAX];
	unsigned i, n = sets(f, v);
	struct table *t = table_new();

	table_column(t, "state apart", TABLE_LEFT);
	table_column(t, "area", TABLE_RIGHT);
	table_column(t, "kmalloc", TABLE_RIGHT);
	table_column(t, "MiB for all", TABLE_RIGHT);
	table_column(t, "vmalloc", TABLE_RIGHT);
	table_column(t, "MiB for all", TABLE_RIGHT);
	for (i = 0; i < n; i++) {
		uint32_t bytes = area_bytes(f, v[i].mask);

		if (!bytes)
			continue;
		table_cell(t, "%s", v[i].name);
		table_cell(t, "%u", bytes);
		table_cell(t, "%llu", (unsigned long long)slab_kmalloc_bytes(bytes));
		mib_cell(t, slab_kmalloc_bytes(bytes) * f->tasks);
		table_cell(t, "%llu", (unsigned long long)slab_vmalloc_bytes(bytes));
		mib_cell(t, slab_vmalloc_bytes(bytes) * f->tasks);
	}
	table_print(t, stdout);
	table_free(t);
}

static void print_people(const struct footprint *f)
{
	struct slab_use use;
	char line[512];

	slab_use(&f->slab, &use);
	snprintf(line, sizeof(line),
		 "%llu bytes, %llu in a slab of %llu pages, %llu bytes to spare; "
		 "aligned to %llu. It may grow by %llu bytes before one fewer fits, so 24 bytes "
		 "cost %s.",
		 (unsigned long long)f->slab.object_bytes, (unsigned long long)use.objects,
		 (unsigned long long)(f->slab.slab_bytes / SLAB_PAGE_BYTES),
		 (unsigned long long)use.spare_bytes, (unsigned long long)f->slab.align_bytes,
		 (unsigned long long)use.growth_bytes,
		 use.growth_bytes >= XST_BYTES_CET_S ? "nothing" : "an object in every slab");
	ui_paragraph(stdout, 0, line);
	printf("\n");
	print_changes(f);
	printf("\n");
	print_sets(f);
	printf("\n");
	snprintf(line, sizeof(line), "%s areas, %llu tasks. kmalloc: the size class, or pages in a "
		 "power of two. vmalloc: whole pages, and a guard page of address space. The slab "
		 "keeps its pages; a kernel may choose more of them for a larger structure.",
		 f->format == XST_COMPACTED ? "Compacted" : "Standard",
		 (unsigned long long)f->tasks);
	ui_paragraph(stdout, 0, line);
}

/* What the command line gives wins over what this machine says. */
int cpu_find_slab(const struct cpu_request *req, struct slab *s)
{
	bool all = req->base_bytes && req->order_given && req->align_bytes;

	memset(s, 0, sizeof(*s));
	if (!all && !slab_task_struct(s))
		return ui_error(CPU_CMD, UI_CANNOT, "task_struct is not readable here (root only): "
				"give --base, --slab-order and --align");
	if (req->base_bytes)
		s->object_bytes = req->base_bytes;
	if (req->order_given)
		s->slab_bytes = (uint64_t)SLAB_PAGE_BYTES << req->slab_order;
	if (req->align_bytes)
		s->align_bytes = req->align_bytes;
	if (s->align_bytes & (s->align_bytes - 1))
		return ui_error(CPU_CMD, UI_USAGE, "--align wants a power of two, not %llu",
				(unsigned long long)s->align_bytes);
	if (s->object_bytes > s->slab_bytes)
		return ui_error(CPU_CMD, UI_USAGE,
				"a structure of %llu bytes does not fit in a slab of "
				"%llu",
				(unsigned long long)s->object_bytes,
				(unsigned long long)s->slab_bytes);
	return UI_OK;
}

int cpu_footprint(const struct cpu_source *src, const struct cpu_request *req)
{
	struct footprint f = { .src = src, .caps = src->caps };
	struct in_force now;
	struct xst_diag d;
	int status = cpu_find_slab(req, &f.slab);

	if (status)
		return status;
	if (req->xcr0_given && xst_xcr0_check(req->xcr0, src->caps.xcr0, &d))
		return ui_error(CPU_CMD, UI_NO, "XSETBV %#llx: #GP: %s",
				(unsigned long long)req->xcr0, d.rule);
	f.format = src->caps.xsavec || src->caps.xsaves ? XST_COMPACTED : XST_STANDARD;
	f.tasks = req->tasks ? req->tasks : CPU_TASKS_DEFAULT;
	cpu_in_force(src, false, &now);
	f.holds = req->xcr0_given	? req->xcr0
		  : src->enabled_known	? src->xcr0_enabled
		  : now.xcr0_count == 1 ? now.xcr0_all
					: cpu_user_mask(src);
	f.holds &= cpu_user_mask(src);
	if (f.format == XST_COMPACTED)
		add_missing(&f.caps);
	if (ui.json)
		print_json(&f);
	else
		print_people(&f);
	return UI_OK;
}
