// SPDX-License-Identifier: BSD-2-Clause
/*
 * CPUs described in JSON: Firecracker's fingerprints and templates, and our own documents.
 *
 * A Firecracker register is a string of bits, "0b0101xx...": an x is a bit that the template does
 * not decide. It reads as 0 here and is remarked on, since a guest may see either.
 *
 * Our own document holds the CPUID lines it was made from ("cpuid"). One that does not (written by
 * hand or by another program) is turned into the leaves that its keys imply, so that everything
 * behind the readers sees leaves only.
 */
#include "read/cpu_parse.h"

#ifndef HAVE_JANSSON

int cpu_parse_json(struct cpu_collector *c, const char *text, size_t len, enum cpu_format *format)
{
	(void)text;
	(void)len;
	*format = CPU_JSON;
	return cpu_fail(c, "JSON input needs a build with the Jansson library");
}

#else

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include <xst/layout.h>

#include "read/json_why.h"

/* "0x1f" or "31", at most @max. */
static bool number(const char *s, uint64_t max, uint64_t *v)
{
	char *end;

	if (!s || !isdigit((unsigned char)s[0]))
		return false;
	errno = 0;
	*v = strtoull(s, &end, s[0] == '0' && (s[1] == 'x' || s[1] == 'X') ? 16 : 10);
	return !errno && !*end && *v <= max;
}

/* "0b01x1...": at most 32 of them, most significant first. */
static bool bitmap(const char *s, uint32_t *v, uint32_t *unknown)
{
	size_t i, n;

	if (!s || s[0] != '0' || s[1] != 'b')
		return false;
	n = strlen(s + 2);
	*v = *unknown = 0;
	for (i = 0; i < n && n <= 64; i++) {
		char ch = s[2 + i];

		if (ch == '_')
			continue;
		if ((ch != '0' && ch != '1' && ch != 'x') || *v >> 31 || *unknown >> 31)
			return false;
		*v = *v << 1 | (ch == '1');
		*unknown = *unknown << 1 | (ch == 'x');
	}
	return n > 0 && n <= 64;
}

static int firecracker_register(struct cpu_collector *c, const json_t *reg,
				struct xst_cpuid_leaf *l)
{
	const char *name = json_string_value(json_object_get(reg, "register"));
	const char *bits = json_string_value(json_object_get(reg, "bitmap"));
	uint32_t v, unknown, *to;

	if (!name || !bits)
		return cpu_fail(c, "a modifier of leaf %#x has no register or no bitmap", l->leaf);
	to = !strcmp(name, "eax") ? &l->eax : !strcmp(name, "ebx") ? &l->ebx :
	     !strcmp(name, "ecx") ? &l->ecx : !strcmp(name, "edx") ? &l->edx : NULL;
	if (!to)
		return cpu_fail(c, "leaf %#x names the register '%.16s'", l->leaf, name);
	if (!bitmap(bits, &v, &unknown))
		return cpu_fail(c, "leaf %#x %s: '%.40s' is not 0b and up to 32 of 0, 1, x",
				l->leaf, name, bits);
	*to = v;
	/* Only leaves that decide about state are worth a remark. */
	if (unknown && (l->leaf == 0xd || l->leaf == 1 || l->leaf == 7))
		cpu_remark(c->out, "leaf %#x sub-leaf %#x %s: bits %#x are not decided by the "
				   "template; read as 0", l->leaf, l->subleaf, name, unknown);
	return 0;
}

static int firecracker_leaf(struct cpu_collector *c, const json_t *m)
{
	struct xst_cpuid_leaf l = {0};
	uint64_t leaf, subleaf;
	const json_t *regs = json_object_get(m, "modifiers");
	size_t i;

	if (!number(json_string_value(json_object_get(m, "leaf")), UINT32_MAX, &leaf) ||
	    !number(json_string_value(json_object_get(m, "subleaf")), UINT32_MAX, &subleaf) ||
	    !json_is_array(regs))
		return cpu_fail(c, "a CPUID modifier lacks leaf, subleaf or modifiers");
	l.leaf = (uint32_t)leaf;
	l.subleaf = (uint32_t)subleaf;
	for (i = 0; i < json_array_size(regs); i++)
		if (firecracker_register(c, json_array_get(regs, i), &l))
			return -1;
	return cpu_add(c, &l);
}

static bool has_leaf(const struct cpu_collector *c, uint32_t leaf)
{
	size_t i;

	for (i = 0; i < c->count; i++)
		if (c->leaves[i].leaf == leaf)
			return true;
	return false;
}

/* A template says only what it changes. */
static int complete_template(struct cpu_collector *c)
{
	const struct xst_cpuid_leaf l0 = { 0, 0, 0xd, 0, 0, 0 };

	if (!has_leaf(c, 1))
		cpu_remark(c->out, "the template does not decide leaf 1: XSAVE reads as hidden");
	else if (!has_leaf(c, 0xd))
		cpu_remark(c->out, "the template does not decide leaf 0xd: nothing is enumerated");
	if (has_leaf(c, 0))
		return 0;
	cpu_remark(c->out, "the template does not decide leaf 0: vendor unknown, maximum leaf "
			   "taken as 0xd");
	return cpu_add(c, &l0);
}

static int parse_firecracker(struct cpu_collector *c, const json_t *root, const json_t *mods)
{
	uint64_t microcode;
	size_t i;

	if (!json_is_array(mods))
		return cpu_fail(c, "cpuid_modifiers is not an array");
	if (number(json_string_value(json_object_get(root, "microcode_version")), UINT32_MAX,
		   &microcode))
		c->out->extra.microcode = (uint32_t)microcode;
	for (i = 0; i < json_array_size(mods); i++)
		if (firecracker_leaf(c, json_array_get(mods, i)))
			return -1;
	return complete_template(c);
}

/* Keys of our document. A missing one is @missing; one of the wrong type is refused. */
static int get_bool(struct cpu_collector *c, const json_t *o, const char *key, bool *v)
{
	const json_t *j = json_object_get(o, key);

	*v = json_is_true(j);
	return !j || json_is_boolean(j) || json_is_null(j)
		       ? 0 : cpu_fail(c, "\"%s\" is not true or false", key);
}

static int get_mask(struct cpu_collector *c, const json_t *o, const char *key, uint64_t *v)
{
	const json_t *j = json_object_get(o, key);

	*v = 0;
	if (!j || json_is_null(j) || number(json_string_value(j), UINT64_MAX, v))
		return 0;
	return cpu_fail(c, "\"%s\" is not a mask like \"0x207\"", key);
}

static int get_u32(struct cpu_collector *c, const json_t *o, const char *key, uint32_t *v)
{
	const json_t *j = json_object_get(o, key);
	json_int_t n = json_integer_value(j);

	*v = 0;
	if (!j || json_is_null(j))
		return 0;
	if (!json_is_integer(j) || n < 0 || n > (json_int_t)UINT32_MAX)
		return cpu_fail(c, "\"%s\" is not a number from 0 to 4294967295", key);
	*v = (uint32_t)n;
	return 0;
}

/* 12 or 48 bytes of text in registers, little-endian. */
static uint32_t text4(const char *s, size_t at)
{
	uint32_t v = 0;
	size_t i, n = s ? strlen(s) : 0;

	for (i = 0; i < 4; i++)
		if (at + i < n)
			v |= (uint32_t)(unsigned char)s[at + i] << (8 * i);
	return v;
}

static int put(struct cpu_collector *c, uint32_t leaf, uint32_t subleaf, uint32_t a, uint32_t b,
	       uint32_t cx, uint32_t d)
{
	const struct xst_cpuid_leaf l = { leaf, subleaf, a, b, cx, d };

	return cpu_add(c, &l);
}

static int put_identity(struct cpu_collector *c, const json_t *root)
{
	const char *vendor = json_string_value(json_object_get(root, "vendor"));
	const char *brand = json_string_value(json_object_get(root, "brand"));
	uint32_t i;

	if (put(c, 0, 0, 0xd, text4(vendor, 0), text4(vendor, 8), text4(vendor, 4)) ||
	    put(c, 0x80000000u, 0, 0x80000008u, 0, 0, 0))
		return -1;
	for (i = 0; i < 3; i++)
		if (put(c, 0x80000002u + i, 0, text4(brand, 16 * i), text4(brand, 16 * i + 4),
			text4(brand, 16 * i + 8), text4(brand, 16 * i + 12)))
			return -1;
	return 0;
}

/* Feature flags of the components present, as comp.def knows them. */
static uint32_t flags_of(uint64_t mask, uint32_t leaf, uint32_t subleaf, unsigned reg)
{
	uint32_t v = 0;

	for (; mask; mask &= mask - 1) {
		const struct xst_comp_info *info =
			xst_comp_info((unsigned)__builtin_ctzll(mask));

		if (info && info->flag && XST_FLAG_LEAF(info->flag) == leaf &&
		    XST_FLAG_SUBLEAF(info->flag) == subleaf && XST_FLAG_REG(info->flag) == reg)
			v |= 1u << XST_FLAG_BIT(info->flag);
	}
	return v;
}

static int put_features(struct cpu_collector *c, const json_t *root, uint64_t mask)
{
	uint32_t family, model, stepping, eax, ecx, edx;
	bool fxsr, xsave, osxsave, hypervisor;

	if (get_u32(c, root, "family", &family) || get_u32(c, root, "model", &model) ||
	    get_u32(c, root, "stepping", &stepping) || get_bool(c, root, "fxsr", &fxsr) ||
	    get_bool(c, root, "xsave", &xsave) || get_bool(c, root, "osxsave", &osxsave) ||
	    get_bool(c, root, "hypervisor", &hypervisor))
		return -1;
	eax = (stepping & 0xf) | (model & 0xf) << 4 | (model & 0xf0) << 12 |
	      (family >= 0xf ? 0xf00 | (family - 0xf) << 20 : family << 8);
	ecx = flags_of(mask, 1, 0, XST_REG_ECX) | (uint32_t)xsave << 26 | (uint32_t)osxsave << 27 |
	      (uint32_t)hypervisor << 31;
	edx = flags_of(mask, 1, 0, XST_REG_EDX) | 1u | (uint32_t)fxsr << 24;
	return put(c, 1, 0, eax, 0, ecx, edx) ||
	       put(c, 7, 0, 1, flags_of(mask, 7, 0, XST_REG_EBX), flags_of(mask, 7, 0, XST_REG_ECX),
		   flags_of(mask, 7, 0, XST_REG_EDX)) ||
	       put(c, 7, 1, 0, 0, 0, flags_of(mask, 7, 1, XST_REG_EDX));
}

static int put_component(struct cpu_collector *c, const json_t *j, uint64_t both)
{
	uint32_t id, bytes, offset;
	bool supervisor, align64, xfd;

	if (!json_is_object(j))
		return cpu_fail(c, "\"components\" holds something that is no object");
	if (get_u32(c, j, "id", &id) || get_u32(c, j, "bytes", &bytes) ||
	    get_u32(c, j, "standard_offset", &offset) ||
	    get_bool(c, j, "supervisor", &supervisor) || get_bool(c, j, "align64", &align64) ||
	    get_bool(c, j, "xfd", &xfd))
		return -1;
	if (id < 2 || id > 62 || !(both & XST_MASK(id)))
		return cpu_fail(c, "component %u is not in xcr0_supported or xss_supported", id);
	return put(c, 0xd, id, bytes, offset,
		   (uint32_t)supervisor | (uint32_t)align64 << 1 | (uint32_t)xfd << 2, 0);
}

static int put_xsave(struct cpu_collector *c, const json_t *root, uint64_t xcr0, uint64_t xss)
{
	static const char *const forms[] = { "xsaveopt", "xsavec", "xgetbv1", "xsaves", "xfd" };
	const json_t *comps = json_object_get(root, "components");
	uint32_t eax = 0, standard, compacted;
	bool has;
	size_t i;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (get_bool(c, root, forms[i], &has))
			return -1;
		eax |= (uint32_t)has << i;
	}
	if (get_u32(c, root, "standard_bytes", &standard) ||
	    get_u32(c, root, "compacted_bytes", &compacted))
		return -1;
	if (put(c, 0xd, 0, (uint32_t)xcr0, standard, standard, (uint32_t)(xcr0 >> 32)) ||
	    put(c, 0xd, 1, eax, compacted, (uint32_t)xss, (uint32_t)(xss >> 32)))
		return -1;
	if (comps && !json_is_array(comps))
		return cpu_fail(c, "\"components\" is not an array");
	for (i = 0; i < json_array_size(comps); i++)
		if (put_component(c, json_array_get(comps, i), xcr0 | xss))
			return -1;
	return 0;
}

/* The document's own CPUID lines, in the format of cpuid -r. */
static int put_lines(struct cpu_collector *c, const json_t *lines)
{
	size_t i, before;

	for (i = 0; i < json_array_size(lines); i++) {
		const char *s = json_string_value(json_array_get(lines, i));

		before = c->count;
		if (!s || cpu_parse_cpuid_r(c, s, strlen(s)))
			return s ? -1 : cpu_fail(c, "\"cpuid\" holds something that is no text");
		if (c->count != before + 1)
			return cpu_fail(c, "\"cpuid\" holds a line that is no leaf");
	}
	return 0;
}

static bool assumes(const json_t *root, const char *id)
{
	const json_t *list = json_object_get(root, "assumed");
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const char *s = json_string_value(json_array_get(list, i));

		if (s && !strncmp(s, id, strlen(id)))
			return true;
	}
	return false;
}

static int parse_ours(struct cpu_collector *c, const json_t *root)
{
	const json_t *lines = json_object_get(root, "cpuid");
	uint64_t xcr0, xss, mxcsr_mask, microcode;

	if (get_mask(c, root, "mxcsr_mask", &mxcsr_mask) ||
	    get_mask(c, root, "microcode", &microcode))
		return -1;
	/* A default stays one, or a second reading would take it for knowledge; without CPUID lines
	 * it could not be found again. */
	if (!json_array_size(lines) || !assumes(root, "mxcsr-mask-assumed"))
		c->out->extra.mxcsr_mask = (uint32_t)mxcsr_mask;
	c->out->extra.microcode = (uint32_t)microcode;
	if (json_is_array(lines) && json_array_size(lines))
		return put_lines(c, lines);
	if (!json_is_boolean(json_object_get(root, "xsave")))
		return cpu_fail(c, "an xstate.cpu/1 document without \"cpuid\" lines must at least "
				   "say \"xsave\": true or false");
	if (get_mask(c, root, "xcr0_supported", &xcr0) || get_mask(c, root, "xss_supported", &xss))
		return -1;
	return put_identity(c, root) || put_features(c, root, xcr0 | xss) ||
			       put_xsave(c, root, xcr0, xss)
		       ? -1 : 0;
}

static int parse_document(struct cpu_collector *c, const json_t *root, enum cpu_format *format)
{
	const json_t *guest = json_object_get(root, "guest_cpu_config");
	const json_t *mods = json_object_get(guest ? guest : root, "cpuid_modifiers");
	const char *schema = json_string_value(json_object_get(root, "schema"));

	*format = mods ? CPU_FIRECRACKER : CPU_JSON;
	if (mods)
		return parse_firecracker(c, root, mods);
	if (!schema)
		return cpu_fail(c, "JSON, but neither xstate.cpu/1 nor Firecracker's");
	if (strcmp(schema, "xstate.cpu/1"))
		return cpu_fail(c, "its schema is %.40s, not xstate.cpu/1", schema);
	return parse_ours(c, root);
}

int cpu_parse_json(struct cpu_collector *c, const char *text, size_t len, enum cpu_format *format)
{
	json_error_t why;
	json_t *root = json_loadb(text, len, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &why);
	size_t i;
	int result;

	*format = CPU_JSON;
	if (!root)
		return cpu_fail(c, "not JSON: line %d: %s", why.line,
				json_why(&why, len ? *text : 0));
	if (json_is_object(root))
		result = parse_document(c, root, format);
	else
		result = cpu_fail(c, "JSON, but not an object");
	json_decref(root);
	for (i = (size_t)why.position; !result && i < len; i++)
		if (!isspace((unsigned char)text[i])) {
			cpu_remark(c->out, "more than one JSON document: only the first is read");
			break;
		}
	return result;
}

#endif
