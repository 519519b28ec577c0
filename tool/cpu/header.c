// SPDX-License-Identifier: BSD-2-Clause
/*
 * A CPU's layout as a C header, for code that must know it at compile time: a test, a fixed guest
 * profile, an assembler file (it holds only #define lines that an assembler can read too).
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <xst/layout.h>

#include "cpu/cpu.h"
#include "ui/ui.h"

static bool is_identifier(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_')
			return false;
	return true;
}

/* "ZMM_Hi256" -> "ZMM_HI256" */
static void upper(const char *s, char buf[32])
{
	size_t i;

	for (i = 0; s[i] && i < 31; i++)
		buf[i] = (char)toupper((unsigned char)s[i]);
	buf[i] = '\0';
}

static void define(const char *prefix, const char *name, const char *kind, uint64_t v, bool hex)
{
	char key[128];

	snprintf(key, sizeof(key), "%s_%s%s%s", prefix, name, kind[0] ? "_" : "", kind);
	printf(hex ? "#define %-40s %#llx\n" : "#define %-40s %llu\n", key, (unsigned long long)v);
}

static void components(const char *prefix, const struct xst_layout *l, const char *kind)
{
	uint64_t rest;
	char name[32], buf[16];

	for (rest = l->mask; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);

		upper(cpu_comp_name(i, buf), name);
		define(prefix, name, kind, l->offset[i], false);
	}
}

int cpu_c_header(const struct cpu_source *src, const struct cpu_request *req)
{
	const struct xst_caps *c = &src->caps;
	uint64_t user = xst_xcr0_usable(cpu_user_mask(src)), all, rest;
	struct xst_layout standard, compacted;
	char title[64], guard[64], name[32], buf[16];
	bool has_compacted;
	struct xst_diag d;

	if (strlen(req->prefix) > 40 || !is_identifier(req->prefix))
		return ui_error(
			CPU_CMD, UI_USAGE,
			"--c-header wants a C identifier of at most 40 characters, not '%s'",
			req->prefix);
	if (req->xcr0_given)
		user = req->xcr0;
	if (!c->xsave)
		return ui_error(CPU_CMD, UI_NO, "%s has no XSAVE, so there is no layout to define",
				src->source);
	if (xst_xcr0_check(user, c->xcr0, &d) ||
	    (req->xss_given && xst_xss_check(req->xss, c->xss, &d)) ||
	    xst_layout_compute(c, user, XST_STANDARD, &standard, &d))
		return ui_error(CPU_CMD, UI_NO, "no header: %s (component %u)", d.rule,
				d.component);
	all = user | (req->xss_given ? req->xss : c->xss & xst_caps_placed(c));
	has_compacted = !xst_layout_compute(c, all, XST_COMPACTED, &compacted, NULL);

	upper(req->prefix, guard);
	printf("/* XSAVE layout of %s, by xstate cpu --c-header. */\n",
	       cpu_title(src, title, sizeof(title)));
	printf("#ifndef %s_XSAVE_H\n#define %s_XSAVE_H\n\n", guard, guard);
	define(req->prefix, "XCR0", "", user, true);
	define(req->prefix, "XSS", "", all & ~user, true);
	define(req->prefix, "MXCSR_MASK", "", c->mxcsr_mask, true);
	define(req->prefix, "STANDARD_BYTES", "", standard.bytes, false);
	if (has_compacted)
		define(req->prefix, "COMPACTED_BYTES", "", compacted.bytes, false);
	printf("\n");
	for (rest = has_compacted ? all : user; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);

		upper(cpu_comp_name(i, buf), name);
		define(req->prefix, name, "BIT", i, false);
		define(req->prefix, name, "BYTES", has_compacted ? compacted.size[i]
								 : standard.size[i], false);
	}
	printf("\n/* Standard format: XCOMP_BV is 0. */\n");
	components(req->prefix, &standard, "OFFSET");
	if (has_compacted) {
		printf("\n/* Compacted format, XCOMP_BV[62:0] = XCR0 | XSS as above. */\n");
		components(req->prefix, &compacted, "COMPACTED_OFFSET");
	}
	printf("\n#endif\n");
	return UI_OK;
}
