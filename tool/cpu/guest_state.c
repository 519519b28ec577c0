// SPDX-License-Identifier: BSD-2-Clause
/*
 * `xstate cpu --guest-state`: 24 bytes that only guests need, in no task's state, in guests' only, or in
 * every task's. The question was decided by a benchmark that could not tell 0.2 %; memory was not
 * counted. Here everything is, and what nobody can know is a range.
 */
#include <stdio.h>
#include <string.h>

#include "cpu/guest_cases.h"
#include "ui/table.h"
#include "ui/ui.h"

static const char *const way_names[CET_S_WAYS] = {
	[CET_S_INIT] = "INIT",
	[CET_S_UNCHANGED] = "live, unchanged",
	[CET_S_CHANGED] = "live, changed",
};

/* --- for programs --- */

static void json_range(struct jw *w, const char *key, struct sim_range r)
{
	jw_object(w, key);
	jw_f64(w, "low_cycles", r.low);
	jw_f64(w, "high_cycles", r.high);
	jw_end(w);
}

static void json_moves(struct jw *w, const struct guest_case *k)
{
	jw_array(w, "switch");
	for (unsigned i = 0; i < k->ways; i++) {
		jw_object(w, NULL);
		jw_string(w, "cet_s", k->image_mask & XST_MASK_CET_S ? way_names[i] : NULL);
		jw_u64(w, "written_bytes", k->image[i].written_bytes);
		jw_u64(w, "read_bytes", k->image[i].read_bytes);
		jw_u64(w, "lines", k->image[i].lines);
		jw_u64(w, "library_written_bytes", k->area[i].written_bytes);
		jw_u64(w, "library_read_bytes", k->area[i].read_bytes);
		jw_u64(w, "library_lines", k->area[i].lines);
		jw_end(w);
	}
	jw_end(w);
}

static void json_case(struct jw *w, const struct guest_cases *g, const struct guest_case *k)
{
	jw_object(w, NULL);
	jw_string(w, "id", k->id);
	jw_mask(w, "task_mask", k->image_mask);
	jw_mask(w, "guest_mask", k->sys.guest.mask);
	jw_mask(w, "xss", k->sys.xss);
	jw_u64(w, "image_bytes", k->image_bytes);
	jw_u64(w, "image_lines_bytes", k->image_lines_bytes);
	jw_u64(w, "object_bytes", k->slab.object_bytes);
	jw_u64(w, "stride_bytes", k->use.stride_bytes);
	jw_u64(w, "objects_per_slab", k->use.objects);
	jw_u64(w, "growth_bytes", k->use.growth_bytes);
	jw_u64(w, "bytes_per_task", k->use.per_object_bytes);
	jw_u64(w, "bytes_for_all_tasks", k->use.per_object_bytes * g->tasks);
	jw_u64(w, "library_area_bytes", k->area_bytes);
	jw_u64(w, "guest_image_bytes", k->guest_bytes);
	jw_u64(w, "guest_swap_bytes", k->swap_bytes);
	jw_u64(w, "guest_swap_reads_per_exit", k->swap_reads);
	jw_u64(w, "guest_swap_writes_per_change", k->swap_writes);
	json_moves(w, k);
	json_range(w, "cycles", k->image_cycles);
	if (k->image_mask & XST_MASK_CET_S)
		json_range(w, "live_cycles", k->image_live_cycles);
	else
		jw_null(w, "live_cycles");
	json_range(w, "library_cycles", k->area_cycles);
	jw_end(w);
}

static void print_json(const struct guest_cases *g)
{
	struct jw w;

	jw_begin(&w, stdout, ui.pretty);
	jw_object(&w, NULL);
	jw_string(&w, "schema", "xstate.cpu-guest-state/1");
	jw_string(&w, "source", g->src->source);
	jw_string(&w, "component", xst_comp_info(XST_COMP_CET_S)->text);
	jw_u64(&w, "component_bytes", g->caps.comp[XST_COMP_CET_S].bytes);
	jw_bool(&w, "supported", !g->as_if);
	jw_u64(&w, "tasks", g->tasks);
	jw_u64(&w, "base_bytes", g->at[CASE_NONE].slab.object_bytes);
	jw_u64(&w, "align_bytes", g->at[CASE_NONE].slab.align_bytes);
	jw_u64(&w, "slab_bytes", g->at[CASE_NONE].slab.slab_bytes);
	jw_array(&w, "cases");
	for (unsigned i = 0; i < GUEST_CASES; i++)
		json_case(&w, g, &g->at[i]);
	jw_end(&w);
	jw_object(&w, "cycles");
	jw_string(&w, "source", g->costs.source);
	jw_bool(&w, "measured", g->extra_measured);
	json_range(&w, "one_more_in_init", g->extra_init);
	json_range(&w, "one_more_live", g->extra_live);
	json_range(&w, "swap_at_exit", g->swap_exit);
	json_range(&w, "swap_at_change", g->swap_enter);
	jw_end(&w);
	jw_end(&w);
	jw_finish(&w);
}

/* --- for people --- */

static void number_row(struct table *t, const char *name, const uint64_t v[GUEST_CASES])
{
	table_cell(t, "%s", name);
	for (unsigned i = 0; i < GUEST_CASES; i++)
		table_cell(t, "%llu", (unsigned long long)v[i]);
}

#define ROW(t, name, g, expr)                                                                      \
	do {                                                                                       \
		uint64_t v_[GUEST_CASES];                                                          \
		for (unsigned i_ = 0; i_ < GUEST_CASES; i_++) {                                    \
			const struct guest_case *k = &(g)->at[i_];                                 \
			v_[i_] = (expr);                                                           \
		}                                                                                  \
		number_row(t, name, v_);                                                           \
	} while (0)

static void memory_rows(struct table *t, const struct guest_cases *g)
{
	char name[64];

	table_group(t, "memory, bytes");
	ROW(t, "a task's state in one image", g, k->image_bytes);
	ROW(t, "  in lines of 64", g, k->image_lines_bytes);
	snprintf(name, sizeof(name), "the structure of %llu with it",
		 (unsigned long long)g->at[CASE_NONE].slab.object_bytes);
	ROW(t, name, g, k->slab.object_bytes);
	ROW(t, "  aligned", g, k->use.stride_bytes);
	ROW(t, "  in a slab", g, k->use.objects);
	ROW(t, "  of memory for each", g, k->use.per_object_bytes);
	table_cell(t, "  MiB for %llu", (unsigned long long)g->tasks);
	for (unsigned i = 0; i < GUEST_CASES; i++)
		table_cell(t, "%.1f",
			   (double)(g->at[i].use.per_object_bytes * g->tasks) / (1 << 20));
	ROW(t, "a task's area in this library", g, k->area_bytes);
	ROW(t, "a guest's image", g, k->guest_bytes);
	ROW(t, "  what software switches beside", g, k->swap_bytes);
}

static void moved_cells(struct table *t, const struct guest_cases *g, unsigned way, bool library)
{
	for (unsigned i = 0; i < GUEST_CASES; i++) {
		const struct guest_case *k = &g->at[i];
		const struct guest_moved *m = library ? k->area : k->image;

		if (way < k->ways)
			table_cell(t, "%llu+%llu", (unsigned long long)m[way].written_bytes,
				   (unsigned long long)m[way].read_bytes);
		else
			table_cell(t, "-");
	}
}

static void line_cells(struct table *t, const struct guest_cases *g, unsigned way)
{
	for (unsigned i = 0; i < GUEST_CASES; i++) {
		const struct guest_case *k = &g->at[i];

		if (way < k->ways)
			table_cell(t, "%u", k->image[way].lines);
		else
			table_cell(t, "-");
	}
}

static void switch_rows(struct table *t, const struct guest_cases *g)
{
	table_group(t, "a switch, all else in use: bytes written+read, lines of 64 in the image");
	for (unsigned way = 0; way < CET_S_WAYS; way++) {
		table_cell(t, "one image, CET_S %s", way_names[way]);
		moved_cells(t, g, way, false);
		table_cell(t, "  lines");
		line_cells(t, g, way);
	}
	for (unsigned way = 0; way < CET_S_WAYS; way++) {
		table_cell(t, "this library, CET_S %s", way_names[way]);
		moved_cells(t, g, way, true);
	}
}

static void range_cell(struct table *t, struct sim_range r)
{
	if (r.high > 0)
		table_cell(t, "%.0f-%.0f", r.low, r.high);
	else
		table_cell(t, "0");
}

static void cycle_rows(struct table *t, const struct guest_cases *g)
{
	const struct sim_range nothing = {0, 0};

	table_group(t, "cycles (%s)", g->costs.source);
	table_cell(t, "save and load, one image");
	for (unsigned i = 0; i < GUEST_CASES; i++)
		range_cell(t, g->at[i].image_cycles);
	table_cell(t, "  of it for CET_S, INIT");
	for (unsigned i = 0; i < GUEST_CASES; i++)
		range_cell(t, g->at[i].image_mask & XST_MASK_CET_S ? g->extra_init : nothing);
	table_cell(t, "  of it for CET_S, live");
	for (unsigned i = 0; i < GUEST_CASES; i++)
		range_cell(t, g->at[i].image_mask & XST_MASK_CET_S ? g->extra_live : nothing);
	table_cell(t, "save and load, this library");
	for (unsigned i = 0; i < GUEST_CASES; i++)
		range_cell(t, g->at[i].area_cycles);
	table_cell(t, "a guest's exit, by software");
	range_cell(t, g->swap_exit);
	range_cell(t, nothing);
	range_cell(t, nothing);
	table_cell(t, "another guest's entry, by software");
	range_cell(t, g->swap_enter);
	range_cell(t, nothing);
	range_cell(t, nothing);
}

/* --- in words --- */

static void say_memory(const struct guest_cases *g)
{
	const struct guest_case *none = &g->at[CASE_NONE], *all = &g->at[CASE_TASKS];
	const uint32_t more = all->image_bytes - none->image_bytes;
	const uint32_t lines = all->image_lines_bytes - none->image_lines_bytes;
	const int64_t each = (int64_t)all->use.per_object_bytes - (int64_t)none->use.per_object_bytes;
	char line[768], tail[256];

	if (!all->use.objects)
		snprintf(tail, sizeof(tail), "The structure then no longer fits in a slab of this size");
	else if (each)
		snprintf(tail, sizeof(tail), "Of the structure %llu then fit in a slab instead of %llu: "
					     "%lld bytes a task, %.1f MiB for %llu",
			 (unsigned long long)all->use.objects, (unsigned long long)none->use.objects,
			 (long long)each, (double)each * (double)g->tasks / (1 << 20),
			 (unsigned long long)g->tasks);
	else
		snprintf(tail, sizeof(tail), "The structure takes no more memory: it could grow by %llu before one "
					     "fewer fits in a slab",
			 (unsigned long long)none->use.growth_bytes);
	snprintf(line, sizeof(line),
		 "Memory: in every task, %u bytes make an image %u longer%s, and %u where it is rounded up "
		 "to lines. %s. This "
		 "library keeps apart what CR0.TS does not guard, so a task's area is %lld longer. For "
		 "guests only, a task's state is what it is without, bit for bit; a guest's image is "
		 "%lld longer. These are sums, and exact.",
		 g->caps.comp[XST_COMP_CET_S].bytes, more,
		 more ? "" : ", since a component behind begins on a line anyway", lines, tail,
		 (long long)all->area_bytes - (long long)none->area_bytes,
		 (long long)g->at[CASE_GUESTS].guest_bytes - (long long)none->guest_bytes);
	ui_paragraph(stdout, 0, line);
}

static void say_switch(const struct guest_cases *g)
{
	const struct guest_case *none = &g->at[CASE_NONE], *all = &g->at[CASE_TASKS];
	const struct guest_moved *m = all->image;
	const unsigned lines = m[CET_S_CHANGED].lines - none->image[0].lines;
	char line[768];

	snprintf(line, sizeof(line),
		 "A switch: in every task, CET_S in INIT is neither written nor read. What differs then: "
		 "XCOMP_BV has its bit and XSTATE_BV has not, what lies behind it may move, and the "
		 "restore must set its registers to INIT, which is no memory but is not free on every "
		 "CPU. Live, %llu bytes more are read and, where they changed, %llu written, in %u more "
		 "%s of 64. Counted by the rules of the manual, exact; real CPUs move whole lines.",
		 (unsigned long long)(m[CET_S_CHANGED].read_bytes - none->image[0].read_bytes),
		 (unsigned long long)(m[CET_S_CHANGED].written_bytes - none->image[0].written_bytes),
		 lines, lines == 1 ? "line" : "lines");
	ui_paragraph(stdout, 0, line);
}

static void say_cycles(const struct guest_cases *g)
{
	const double base = g->at[CASE_NONE].image_cycles.low;
	char line[1024];

	snprintf(line, sizeof(line),
		 "Cycles: in every task, %.0f to %.0f more in INIT (at most %.1f %% of a save and a load) and %.0f "
		 "to %.0f live (%.1f %%). User mode cannot execute XSAVES, so CET_S itself was not measured: %s. "
		 "For guests only, a task pays nothing; without CET_S in XSAVES a guest that has shadow stacks "
		 "pays %u reads of MSRs at each exit and %u writes where another ran before (assumed %.0f to %.0f "
		 "cycles each).",
		 g->extra_init.low, g->extra_init.high, 100 * g->extra_init.high / base,
		 g->extra_live.low, g->extra_live.high, 100 * g->extra_live.high / base,
		 g->extra_measured ? "components of user mode were, in pairs, AVX-512's in INIT beside live AVX and "
				     "256 bytes of AVX live, which bound it"
				   : "the bound is what the table has for 256 bytes of AVX beside SSE",
		 g->at[CASE_NONE].swap_reads, g->at[CASE_NONE].swap_writes, g->costs.msr.low,
		 g->costs.msr.high);
	ui_paragraph(stdout, 0, line);
}

static void print_people(const struct guest_cases *g)
{
	struct table *t = table_new();
	char title[128], names[256];

	printf("%s; tasks have %s\n", cpu_title(g->src, title, sizeof(title)),
	       cpu_mask_names(g->at[CASE_NONE].image_mask, names, sizeof(names)));
	if (g->as_if)
		printf("its XSAVES does not have CET_S: as if it had\n");
	printf("\n");
	table_column(t, "CET_S", TABLE_LEFT);
	for (unsigned i = 0; i < GUEST_CASES; i++)
		table_column(t, g->at[i].name, TABLE_RIGHT);
	memory_rows(t, g);
	switch_rows(t, g);
	cycle_rows(t, g);
	table_print(t, stdout);
	table_free(t);
	printf("\n");
	say_memory(g);
	printf("\n");
	say_switch(g);
	printf("\n");
	say_cycles(g);
}

int cpu_guest_state(const struct cpu_source *src, const struct cpu_request *req)
{
	static struct guest_cases g;
	int status = guest_cases_compute(src, req, &g);

	if (status)
		return status;
	if (ui.json)
		print_json(&g);
	else
		print_people(&g);
	return UI_OK;
}
