// SPDX-License-Identifier: BSD-2-Clause
/* One CPU in full, for people and as JSON; many CPUs, one row each. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xst/layout.h>

#include "cpu/cpu.h"
#include "ui/table.h"
#include "ui/ui.h"
#include "ui/utf8.h"

/* The three layouts of a CPU that is to be shown. */
struct layouts {
	bool has_standard, has_user, has_all;
	struct xst_layout standard, user, all;
};

static void compute(const struct cpu_source *src, struct layouts *l)
{
	const struct xst_caps *c = &src->caps;
	uint64_t user = cpu_user_mask(src), all = xst_caps_placed(c);

	memset(l, 0, sizeof(*l));
	l->has_standard =
		c->xsave && !xst_layout_compute(c, user, XST_STANDARD, &l->standard, NULL);
	l->has_user = c->xsave && !xst_layout_compute(c, user, XST_COMPACTED, &l->user, NULL);
	l->has_all = c->xsave && !xst_layout_compute(c, all, XST_COMPACTED, &l->all, NULL);
}

/* Defaults that were used because the source does not say. */
static bool assumed_matters(const struct xst_caps *c, uint32_t caveat)
{
	if (caveat == XST_CAVEAT_MICROCODE_UNKNOWN)
		return xst_caps_erratum_1386(c);
	return caveat == XST_CAVEAT_MXCSR_MASK_ASSUMED && c->sse;
}

static bool is_input(uint32_t caveat)
{
	return xst_caveat_info(caveat)->severity == XST_SEVERITY_INPUT;
}

static void size_or_null(struct jw *w, const char *key, bool has, uint32_t bytes)
{
	if (has)
		jw_u64(w, key, bytes);
	else
		jw_null(w, key);
}

static void json_component(struct jw *w, const struct cpu_source *src, const struct layouts *l,
			   unsigned i)
{
	const struct xst_comp_caps *c = &src->caps.comp[i];
	bool user = l->standard.mask & XST_MASK(i);
	char name[16];

	jw_object(w, NULL);
	jw_u64(w, "id", i);
	jw_string(w, "name", cpu_comp_name(i, name));
	jw_bool(w, "supervisor", !user);
	jw_u64(w, "bytes", c->bytes);
	size_or_null(w, "standard_offset", user && l->has_standard, l->standard.offset[i]);
	size_or_null(w, "compacted_user_offset", user && l->has_user, l->user.offset[i]);
	size_or_null(w, "compacted_offset", l->has_all, l->all.offset[i]);
	jw_bool(w, "align64", c->align64);
	jw_bool(w, "xfd", c->xfd);
	jw_end(w);
}

static void json_caveats(struct jw *w, const struct cpu_source *src)
{
	struct finding found[FINDINGS_MAX];
	unsigned i, n = cpu_findings(src, false, found);
	char text[640];

	jw_array(w, "caveats");
	for (i = 0; i < n; i++)
		if (!is_input(found[i].caveat)) {
			cpu_finding_text(&found[i], text, sizeof(text));
			jw_string(w, NULL, text);
		}
	for (i = 0; i < src->remark_count; i++) {
		snprintf(text, sizeof(text), "source: %s", src->remarks[i]);
		jw_string(w, NULL, text);
	}
	jw_end(w);
	jw_array(w, "assumed");
	for (i = 0; i < n; i++)
		if (assumed_matters(&src->caps, found[i].caveat)) {
			cpu_finding_text(&found[i], text, sizeof(text));
			jw_string(w, NULL, text);
		}
	jw_end(w);
}

/* The leaves that describe extended state and identify the CPU, in the format of cpuid -r: what
 * the document was made from, so that it can stand for the dump. */
static void json_cpuid(struct jw *w, const struct cpu_source *src)
{
	size_t i;
	char line[96];

	jw_array(w, "cpuid");
	for (i = 0; i < src->leaf_count; i++) {
		const struct xst_cpuid_leaf *l = &src->leaves[i];
		bool wanted = l->leaf <= 1 || l->leaf == 6 || (l->leaf == 7 && l->subleaf < 2) ||
			      l->leaf == 0xd ||
			      (l->leaf >= 0x80000000u && l->leaf <= 0x80000004u) ||
			      l->leaf == 0x80000008u;

		if (!wanted || (l->leaf && !(l->eax | l->ebx | l->ecx | l->edx)))
			continue;
		snprintf(line, sizeof(line), "0x%08x 0x%02x: eax=0x%08x ebx=0x%08x ecx=0x%08x "
			 "edx=0x%08x", l->leaf, l->subleaf, l->eax, l->ebx, l->ecx, l->edx);
		jw_string(w, NULL, line);
	}
	jw_end(w);
}

static void json_identity(struct jw *w, const struct cpu_source *src)
{
	const struct xst_caps *c = &src->caps;
	char brand[64];

	jw_string(w, "schema", "xstate.cpu/1");
	jw_string(w, "source", src->source);
	jw_string(w, "format", cpu_format_name(src->format));
	jw_string(w, "vendor", c->vendor);
	jw_string(w, "brand", c->brand[0] ? cpu_title(src, brand, sizeof(brand)) : "");
	jw_u64(w, "family", c->family);
	jw_u64(w, "model", c->model);
	jw_u64(w, "stepping", c->stepping);
	if (c->microcode)
		jw_mask(w, "microcode", c->microcode);
	else
		jw_null(w, "microcode");
	jw_bool(w, "hypervisor", c->hypervisor);
	jw_u64(w, "logical_cpus_read", src->cpus);
	jw_bool(w, "fxsr", c->fxsr);
	jw_bool(w, "xsave", c->xsave);
	jw_bool(w, "osxsave", c->osxsave);
	jw_bool(w, "xsaveopt", c->xsaveopt);
	jw_bool(w, "xsavec", c->xsavec);
	jw_bool(w, "xgetbv1", c->xgetbv1);
	jw_bool(w, "xsaves", c->xsaves);
	jw_bool(w, "xfd", c->xfd);
}

void cpu_show_json(const struct cpu_source *src)
{
	const struct xst_caps *c = &src->caps;
	struct layouts l;
	struct jw w;
	uint64_t rest, missing;

	compute(src, &l);
	jw_begin(&w, stdout, ui.pretty);
	jw_object(&w, NULL);
	json_identity(&w, src);
	jw_mask(&w, "xcr0_supported", c->xcr0);
	jw_mask(&w, "xss_supported", c->xss);
	if (src->enabled_known)
		jw_mask(&w, "xcr0_enabled", src->xcr0_enabled);
	else
		jw_null(&w, "xcr0_enabled");
	if (c->sse)
		jw_mask(&w, "mxcsr_mask", c->mxcsr_mask);
	else
		jw_null(&w, "mxcsr_mask");
	size_or_null(&w, "standard_bytes", l.has_standard, l.standard.bytes);
	size_or_null(&w, "compacted_user_bytes", l.has_user, l.user.bytes);
	size_or_null(&w, "compacted_bytes", l.has_all, l.all.bytes);
	size_or_null(&w, "signal_stack_bytes", src->minsigstksz || l.has_standard,
		     src->minsigstksz ? src->minsigstksz
				      : cpu_signal_stack_bytes(l.standard.bytes));
	jw_array(&w, "components");
	for (rest = xst_caps_placed(c) & ~XST_MASK_LEGACY; rest; rest &= rest - 1)
		json_component(&w, src, &l, (unsigned)__builtin_ctzll(rest));
	jw_end(&w);
	jw_array(&w, "components_missing");
	for (missing = (c->xcr0 | c->xss) & ~xst_caps_placed(c); missing; missing &= missing - 1)
		jw_u64(&w, NULL, (uint64_t)__builtin_ctzll(missing));
	jw_end(&w);
	json_caveats(&w, src);
	json_cpuid(&w, src);
	jw_end(&w);
	jw_finish(&w);
}

void cpu_printf(const char *fmt, ...)
{
	char text[2048], *p = text, *nl;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (; (nl = strchr(p, '\n')); p = nl + 1) {
		utf8_print(stdout, p, (size_t)(nl - p));
		putchar('\n');
	}
	utf8_print(stdout, p, strlen(p));
}

static void field(const char *name, const char *text)
{
	char line[768];

	snprintf(line, sizeof(line), "%-13s %s", name, text);
	ui_paragraph(stdout, 14, line);
}

static void forms(const struct xst_caps *c, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s%s%s%s%s",
		 c->fxsr  ? "FXSAVE"
		 : c->fpu ? "FNSAVE"
			  : "nothing",
		 c->xsave ? " XSAVE" : "", c->xsaveopt ? " XSAVEOPT" : "",
		 c->xsavec ? " XSAVEC" : "", c->xsaves ? " XSAVES" : "",
		 c->xgetbv1 ? " XGETBV(1)" : "", c->xfd ? " XFD" : "");
}

static void show_head(const struct cpu_source *src)
{
	const struct xst_caps *c = &src->caps;
	char title[64], buf[256];

	printf("%s%s%s\n", ui_on(stdout, UI_HEAD), cpu_title(src, title, sizeof(title)),
	       ui_off(stdout, UI_HEAD));
	snprintf(buf, sizeof(buf), "%s family %#x model %#x stepping %u%s",
		 c->vendor[0] ? c->vendor : "unknown vendor", c->family, c->model,
		 c->stepping, c->hypervisor ? ", in a virtual machine" : "");
	field("cpu", buf);
	if (src->format == CPU_HOST)
		snprintf(buf, sizeof(buf), "this machine");
	else
		snprintf(buf, sizeof(buf), "%.200s (%s)", src->source,
			 cpu_format_name(src->format));
	field("source", buf);
	forms(c, buf, sizeof(buf));
	field("saves with", buf);
}

/* "0x207 supported; 0x7 enabled" */
static void show_masks(const struct cpu_source *src, const struct in_force *now)
{
	const struct xst_caps *c = &src->caps;
	char buf[256];
	int n = snprintf(buf, sizeof(buf), "%#llx supported", (unsigned long long)c->xcr0);

	if (src->enabled_known)
		snprintf(buf + n, sizeof(buf) - (size_t)n, ", %#llx enabled",
			 (unsigned long long)src->xcr0_enabled);
	else if (now->xcr0_count == 1)
		snprintf(buf + n, sizeof(buf) - (size_t)n, ", %#llx enabled (by the sum in CPUID)",
			 (unsigned long long)now->xcr0_all);
	else if (now->xcr0_count)
		snprintf(buf + n, sizeof(buf) - (size_t)n,
			 ", enabled at least %#llx and at most %#llx (by the sum in CPUID)",
			 (unsigned long long)now->xcr0_all, (unsigned long long)now->xcr0_any);
	field("XCR0", buf);
	if (!c->xsaves)
		return;
	n = snprintf(buf, sizeof(buf), "%#llx supported", (unsigned long long)c->xss);
	if (now->xss_count && c->xss)
		snprintf(buf + n, sizeof(buf) - (size_t)n,
			 now->xss_all == now->xss_any ? ", %#llx enabled (by the sum in CPUID)"
						      : ", enabled at least %#llx and at most "
							"%#llx (by the sum in CPUID)",
			 (unsigned long long)now->xss_all, (unsigned long long)now->xss_any);
	field("IA32_XSS", buf);
}

static void show_sizes(const struct cpu_source *src, const struct layouts *l)
{
	const struct xst_caps *c = &src->caps;
	char buf[256];
	int n;

	if (l->has_standard) {
		n = snprintf(buf, sizeof(buf), "%u bytes standard", l->standard.bytes);
		if (l->has_user)
			n += snprintf(buf + n, sizeof(buf) - (size_t)n, ", %u compacted",
				      l->user.bytes);
		if (l->has_all && c->xss)
			snprintf(buf + n, sizeof(buf) - (size_t)n, ", %u with supervisor state",
				 l->all.bytes);
		field("area", buf);
	} else if (!c->xsave) {
		field("area", c->fxsr ? "512 bytes (FXSAVE)" : "108 bytes (FNSAVE)");
	}
	if (c->sse) {
		snprintf(buf, sizeof(buf), "%#x%s", c->mxcsr_mask,
			 c->caveats & XST_CAVEAT_MXCSR_MASK_ASSUMED
				 ? " (the default; a dump does not hold MXCSR_MASK)" : "");
		field("MXCSR bits", buf);
	}
	if (src->minsigstksz || l->has_standard) {
		uint32_t bytes = src->minsigstksz ? src->minsigstksz
						  : cpu_signal_stack_bytes(l->standard.bytes);

		snprintf(buf, sizeof(buf), "%u bytes at least%s%s", bytes,
			 src->minsigstksz ? ", says this kernel" : " (Linux, all components)",
			 bytes > 2048 ? "; the old MINSIGSTKSZ of 2048 is too small" : "");
		field("signal stack", buf);
	}
}

static const char *enabled_word(const struct cpu_source *src, const struct in_force *now,
				unsigned i)
{
	bool user = src->caps.xcr0 & XST_MASK(i);
	uint64_t all = user ? now->xcr0_all : now->xss_all,
		 any = user ? now->xcr0_any : now->xss_any;
	bool known = user ? now->xcr0_count > 0 : now->xss_count > 0;

	if (user && src->enabled_known)
		return src->xcr0_enabled & XST_MASK(i) ? "yes" : "no";
	if (!known)
		return "?";
	return all & XST_MASK(i) ? "yes" : any & XST_MASK(i) ? "?" : "no";
}

static void number_cell(struct table *t, bool has, uint32_t v)
{
	if (has)
		table_cell(t, "%u", v);
	else
		table_cell(t, "-");
}

static void component_row(struct table *t, const struct cpu_source *src, const struct layouts *l,
			  const struct in_force *now, unsigned i)
{
	const struct xst_comp_caps *c = &src->caps.comp[i];
	bool user = src->caps.xcr0 & XST_MASK(i),
	     placed = xst_caps_placed(&src->caps) & XST_MASK(i);
	char name[16];

	table_cell(t, "%u", i);
	table_cell(t, "%s", cpu_comp_name(i, name));
	table_cell(t, "%s", user ? "user" : "super");
	number_cell(t, placed, i < 2 ? l->standard.size[i] : c->bytes);
	number_cell(t, placed && user && l->has_standard, l->standard.offset[i]);
	if (l->has_user)
		number_cell(t, placed && user, l->user.offset[i]);
	if (l->has_all && src->caps.xss)
		number_cell(t, placed, l->all.offset[i]);
	table_cell(t, "%s", enabled_word(src, now, i));
	table_cell(t, "%s%s%s%s", c->align64 ? "align64" : "", c->align64 && c->xfd ? ", " : "",
		   c->xfd ? "XFD" : "", placed ? "" : "no size");
}

static void show_components(const struct cpu_source *src, const struct layouts *l,
			    const struct in_force *now)
{
	struct table *t = table_new();
	uint64_t rest;

	table_column(t, "id", TABLE_RIGHT);
	table_column(t, "component", TABLE_LEFT);
	table_column(t, "kind", TABLE_LEFT);
	table_column(t, "bytes", TABLE_RIGHT);
	table_column(t, "standard", TABLE_RIGHT);
	if (l->has_user)
		table_column(t, "compacted", TABLE_RIGHT);
	if (l->has_all && src->caps.xss)
		table_column(t, "+super", TABLE_RIGHT);
	table_column(t, "enabled", TABLE_LEFT);
	table_column(t, "", TABLE_LEFT);
	for (rest = src->caps.xcr0 | src->caps.xss; rest; rest &= rest - 1)
		component_row(t, src, l, now, (unsigned)__builtin_ctzll(rest));
	printf("\n");
	table_print(t, stdout);
	table_free(t);
}

/* Bytes of the standard format that belong to nobody. */
static void show_holes(const struct layouts *l)
{
	uint32_t at = XST_EXT_OFFSET;
	uint64_t rest;
	char buf[256];
	size_t n = 0;

	while (at < l->standard.bytes) {
		uint32_t next = l->standard.bytes, end = at;

		for (rest = l->standard.mask & ~XST_MASK_LEGACY; rest; rest &= rest - 1) {
			unsigned i = (unsigned)__builtin_ctzll(rest);
			uint32_t from = l->standard.offset[i], to = from + l->standard.size[i];

			if (from <= at && to > end)
				end = to;
			if (from > at && from < next)
				next = from;
		}
		if (end > at) {
			at = end;
			continue;
		}
		if (n < sizeof(buf))
			n += (size_t)snprintf(buf + n, sizeof(buf) - n, "%s%u bytes at %u",
					      n ? ", " : "", next - at, at);
		at = next;
	}
	if (n) {
		printf("\n");
		field("holes", buf);
	}
}

static void show_caveats(const struct cpu_source *src)
{
	struct finding found[FINDINGS_MAX];
	unsigned i, n = cpu_findings(src, false, found), shown = 0;
	char text[700];

	for (i = 0; i < n + src->remark_count; i++) {
		if (i < n && is_input(found[i].caveat) &&
		    (found[i].caveat != XST_CAVEAT_MICROCODE_UNKNOWN ||
		     !assumed_matters(&src->caps, found[i].caveat)))
			continue;
		if (!shown++)
			printf("\n%scaveats%s\n", ui_on(stdout, UI_WARN), ui_off(stdout, UI_WARN));
		strcpy(text, "  ");
		if (i < n)
			cpu_finding_text(&found[i], text + 2, sizeof(text) - 2);
		else
			snprintf(text + 2, sizeof(text) - 2, "source: %s", src->remarks[i - n]);
		ui_paragraph(stdout, 4, text);
	}
}

void cpu_show(const struct cpu_source *src)
{
	struct in_force now;
	struct layouts l;

	compute(src, &l);
	cpu_in_force(src, true, &now);
	show_head(src);
	if (src->caps.xsave)
		show_masks(src, &now);
	show_sizes(src, &l);
	if (src->caps.xsave) {
		show_components(src, &l, &now);
		show_holes(&l);
	}
	show_caveats(src);
}

/* Bit 62 alone would make a column of 18 digits. */
static void mask_cell(struct table *t, uint64_t mask)
{
	if (mask & XST_MASK_LWP)
		table_cell(t, "%#llx|1<<62", (unsigned long long)(mask & ~XST_MASK_LWP));
	else
		table_cell(t, "%#llx", (unsigned long long)mask);
}

/* A row has room for a file's name, not for its path and ".txt". */
static void source_cell(struct table *t, const char *source)
{
	const char *base = strrchr(source, '/');
	size_t n;

	base = base && base[1] ? base + 1 : source;
	n = strlen(base);
	if (n > 4 && !strcmp(base + n - 4, ".txt"))
		n -= 4;
	table_cell(t, "%.*s", (int)n, base);
}

struct table *cpu_rows_begin(void)
{
	struct table *t = table_new();

	table_column(t, "source", TABLE_WRAP);
	table_column(t, "saves with", TABLE_LEFT);
	table_column(t, "XCR0", TABLE_RIGHT);
	table_column(t, "XSS", TABLE_RIGHT);
	table_column(t, "stand.", TABLE_RIGHT);
	table_column(t, "comp.", TABLE_RIGHT);
	table_column(t, "odd", TABLE_RIGHT);
	return t;
}

void cpu_rows_add(struct table *t, const struct cpu_source *src)
{
	const struct xst_caps *c = &src->caps;
	struct finding found[FINDINGS_MAX];
	unsigned i, n = cpu_findings(src, false, found), count = src->remark_count;
	struct layouts l;

	compute(src, &l);
	for (i = 0; i < n; i++)
		count += !is_input(found[i].caveat);
	source_cell(t, src->source);
	table_cell(t, "%s", c->xsaves	  ? "XSAVES"
			    : c->xsavec	  ? "XSAVEC"
			    : c->xsaveopt ? "XSAVEOPT"
			    : c->xsave	  ? "XSAVE"
			    : c->fxsr	  ? "FXSAVE"
			    : c->fpu	  ? "FNSAVE"
					  : "-");
	if (c->xsave) {
		mask_cell(t, c->xcr0);
		mask_cell(t, c->xss);
	} else {
		table_cell(t, "-");
		table_cell(t, "-");
	}
	number_cell(t, l.has_standard || c->fxsr || c->fpu,
		    l.has_standard ? l.standard.bytes : c->fxsr ? XST_LEGACY_BYTES : 108);
	number_cell(t, l.has_all, l.all.bytes);
	if (count)
		table_cell_styled(t, UI_WARN, "%u", count);
	else
		table_cell(t, "-");
}
