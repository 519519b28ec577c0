// SPDX-License-Identifier: BSD-2-Clause
/*
 * For those who build virtual machines: the leaf 0DH that a guest with a given profile must be
 * shown, and the audit of one that somebody shows.
 */
#include <stdio.h>

#include <xst/layout.h>

#include "cpu/cpu.h"
#include "ui/ui.h"

/* One sentence about a refused mask or layout. */
static void refusal(const struct xst_diag *d, char *buf, size_t size)
{
	char name[16];

	if (d->component == XST_DIAG_NO_COMPONENT)
		snprintf(buf, size, "%s", d->rule);
	else
		snprintf(buf, size, "component %u %s: %s (want %#llx, got %#llx)", d->component,
			 cpu_comp_name(d->component, name), d->rule, (unsigned long long)d->want,
			 (unsigned long long)d->got);
}

static int refuse(const char *what, uint64_t mask, const struct xst_diag *d)
{
	char text[300];

	refusal(d, text, sizeof(text));
	return ui_error(CPU_CMD, UI_NO, "%s %#llx: #GP: %s", what, (unsigned long long)mask, text);
}

/* The profile: what is asked for, or else everything the CPU has. */
static void profile(const struct cpu_source *src, const struct cpu_request *req, uint64_t *xcr0,
		    uint64_t *xss)
{
	uint64_t user = xst_xcr0_usable(cpu_user_mask(src));

	*xcr0 = req->xcr0_given ? req->xcr0 : user;
	*xss = req->xss_given	 ? req->xss
	       : req->xcr0_given ? 0
				 : xst_caps_placed(&src->caps) & src->caps.xss;
}

static int judge(const struct cpu_source *src, uint64_t xcr0, uint64_t xss)
{
	struct xst_diag d;

	if (!src->caps.xsave)
		return ui_error(CPU_CMD, UI_NO, "%s has no XSAVE, so there is no XCR0",
				src->source);
	if (xst_xcr0_check(xcr0, src->caps.xcr0, &d))
		return refuse("XSETBV", xcr0, &d);
	if (xst_xss_check(xss, src->caps.xss, &d))
		return refuse("WRMSR IA32_XSS", xss, &d);
	return UI_OK;
}

static void json_leaf(struct jw *w, const struct xst_cpuid_leaf *l)
{
	jw_object(w, NULL);
	jw_mask(w, "leaf", l->leaf);
	jw_mask(w, "subleaf", l->subleaf);
	jw_mask(w, "eax", l->eax);
	jw_mask(w, "ebx", l->ebx);
	jw_mask(w, "ecx", l->ecx);
	jw_mask(w, "edx", l->edx);
	jw_end(w);
}

static void print_leaf(const struct xst_cpuid_leaf *l)
{
	printf("   0x%08x 0x%02x: eax=0x%08x ebx=0x%08x ecx=0x%08x edx=0x%08x\n", l->leaf,
	       l->subleaf, l->eax, l->ebx, l->ecx, l->edx);
}

int cpu_leaves(const struct cpu_source *src, const struct cpu_request *req)
{
	struct xst_cpuid_leaf l[63];
	struct xst_diag d;
	uint64_t xcr0, xss;
	unsigned i;
	struct jw w;
	char text[300];
	int status;

	profile(src, req, &xcr0, &xss);
	/* An empty profile hides XSAVE; anything else must be legal on this CPU. */
	if ((xcr0 | xss) && (status = judge(src, xcr0, xss)))
		return status;
	for (i = 0; i < 63; i++)
		if (xst_caps_leaf_d(&src->caps, xcr0, xss, xcr0, xss, i, &l[i], &d)) {
			refusal(&d, text, sizeof(text));
			return ui_error(CPU_CMD, UI_NO, "%s cannot give a guest XCR0 %#llx: %s",
					src->source, (unsigned long long)xcr0, text);
		}
	if (ui.json) {
		jw_begin(&w, stdout, ui.pretty);
		jw_object(&w, NULL);
		jw_string(&w, "schema", "xstate.cpu-leaves/1");
		jw_string(&w, "source", src->source);
		jw_mask(&w, "xcr0", xcr0);
		jw_mask(&w, "xss", xss);
		jw_array(&w, "leaves");
	} else {
		printf("CPU:\n");
	}
	for (i = 0; i < 63; i++) {
		if (i > 1 && !(l[i].eax | l[i].ebx | l[i].ecx | l[i].edx))
			continue;
		if (ui.json)
			json_leaf(&w, &l[i]);
		else
			print_leaf(&l[i]);
	}
	if (ui.json) {
		jw_end(&w);
		jw_end(&w);
		jw_finish(&w);
	} else if (xcr0) {
		ui_note("EBX of sub-leaves 0 and 1 is for XCR0 and IA32_XSS as given; it must "
			"follow "
			"the guest's XSETBV and WRMSR (both are %u right after reset).",
			XST_EXT_OFFSET);
	}
	return UI_OK;
}

/* --xcr0 and --xss alone: would the CPU accept it, and how large is the state then? */
int cpu_profile(const struct cpu_source *src, const struct cpu_request *req)
{
	struct cpu_source limited = *src;
	uint64_t xcr0, xss;
	int status;

	profile(src, req, &xcr0, &xss);
	status = judge(src, xcr0, xss);
	if (status)
		return status;
	/* The CPU as it is with this profile and nothing else. */
	limited.caps.xcr0 = xcr0;
	limited.caps.xss = xss;
	limited.enabled_known = true;
	limited.xcr0_enabled = xcr0;
	limited.minsigstksz = 0;
	limited.caps.caveats = 0;
	if (ui.json)
		cpu_show_json(&limited);
	else
		cpu_show(&limited);
	return UI_OK;
}

static void json_findings(const struct cpu_source *src, const struct finding *f, unsigned n,
			  unsigned wrong)
{
	struct jw w;
	unsigned i;
	char text[700], name[16];

	jw_begin(&w, stdout, ui.pretty);
	jw_object(&w, NULL);
	jw_string(&w, "schema", "xstate.cpu-audit/1");
	jw_string(&w, "source", src->source);
	jw_string(&w, "verdict", wrong ? "wrong" : "sound");
	jw_array(&w, "findings");
	for (i = 0; i < n; i++) {
		const struct xst_caveat_info *info = xst_caveat_info(f[i].caveat);

		if (info->severity == XST_SEVERITY_INPUT)
			continue;
		cpu_finding_text(&f[i], text, sizeof(text));
		jw_object(&w, NULL);
		jw_string(&w, "id", info->id);
		jw_string(&w, "severity", info->severity == XST_SEVERITY_WRONG ? "wrong" : "odd");
		if (f[i].components) {
			unsigned id = (unsigned)__builtin_ctzll(f[i].components);

			jw_u64(&w, "component", id);
			jw_string(&w, "name", cpu_comp_name(id, name));
		} else {
			jw_null(&w, "component");
			jw_null(&w, "name");
		}
		if (f[i].reg[0]) {
			jw_mask(&w, "leaf", f[i].leaf);
			jw_mask(&w, "subleaf", f[i].subleaf);
			jw_string(&w, "register", f[i].reg);
			jw_mask(&w, "got", f[i].got);
		} else {
			jw_null(&w, "leaf");
			jw_null(&w, "subleaf");
			jw_null(&w, "register");
			jw_null(&w, "got");
		}
		if (f[i].reg[0] && f[i].has_want)
			jw_mask(&w, "want", f[i].want);
		else
			jw_null(&w, "want");
		jw_string(&w, "text", text);
		jw_end(&w);
	}
	jw_end(&w);
	jw_end(&w);
	jw_finish(&w);
}

int cpu_audit(const struct cpu_source *src)
{
	struct finding f[FINDINGS_MAX];
	unsigned i, n = cpu_findings(src, true, f), wrong = 0, odd = 0;
	char text[700];

	for (i = 0; i < n; i++) {
		enum xst_severity s = xst_caveat_info(f[i].caveat)->severity;

		wrong += s == XST_SEVERITY_WRONG;
		odd += s == XST_SEVERITY_ODD;
	}
	if (ui.json) {
		json_findings(src, f, n, wrong);
		return wrong ? UI_NO : UI_OK;
	}
	printf("%s", ui_on(stdout, UI_HEAD));
	cpu_printf("%s", src->source);
	printf("%s: ", ui_off(stdout, UI_HEAD));
	if (!wrong && !odd && !src->remark_count)
		printf("sound\n");
	else
		printf("%u wrong, %u odd\n", wrong, odd);
	for (i = 0; i < n; i++) {
		enum xst_severity s = xst_caveat_info(f[i].caveat)->severity;

		if (s == XST_SEVERITY_INPUT)
			continue;
		printf("%s%s%s ", ui_on(stdout, s == XST_SEVERITY_WRONG ? UI_BAD : UI_WARN),
		       s == XST_SEVERITY_WRONG ? "wrong" : "odd  ",
		       ui_off(stdout, s == XST_SEVERITY_WRONG ? UI_BAD : UI_WARN));
		cpu_finding_text(&f[i], text, sizeof(text));
		printf("%s\n", text);
	}
	for (i = 0; i < src->remark_count; i++)
		cpu_printf("odd   source: %s\n", src->remarks[i]);
	return wrong ? UI_NO : UI_OK;
}
