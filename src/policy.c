// SPDX-License-Identifier: BSD-2-Clause
/* The named policies, and reading one from its fields. */
#include <xst/policy.h>

static const struct xst_policy named[XST_POLICY_COUNT] = {
	/* name            save                 load                keep   preload  skip_init */
	{"eager",         XST_SAVE_SWITCH_OUT, XST_LOAD_SWITCH_IN, false, 0, false},
	{"eager-keep",    XST_SAVE_SWITCH_OUT, XST_LOAD_SWITCH_IN, true,  0, false},
	{"lazy",          XST_SAVE_SWITCH_OUT, XST_LOAD_FIRST_USE, false, 0, false},
	{"lazy-preload",  XST_SAVE_SWITCH_OUT, XST_LOAD_FIRST_USE, false, 5, false},
	{"lazy-keep",     XST_SAVE_SWITCH_OUT, XST_LOAD_FIRST_USE, true,  5, false},
	{"deferred",      XST_SAVE_SWITCH_OUT, XST_LOAD_RETURN,    true,  0, false},
	{"laziest",       XST_SAVE_DISPLACED,  XST_LOAD_FIRST_USE, true,  0, false},
	{"auto",          XST_SAVE_SWITCH_OUT, XST_LOAD_RETURN,    true,  0, true},
};

static bool same(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return *a == *b;
}

/* Does @text start with @word? Then the rest of it, else NULL. */
static const char *after(const char *text, const char *word)
{
	for (; *word; text++, word++)
		if (*text != *word)
			return NULL;
	return text;
}

/* Does a field that begins at @text read @word and nothing else? Then where it ends, else NULL. */
static const char *field(const char *text, const char *word)
{
	const char *end = after(text, word);

	return end && (*end == ',' || !*end) ? end : NULL;
}

const struct xst_policy *xst_policy_at(unsigned index)
{
	return index < XST_POLICY_COUNT ? &named[index] : NULL;
}

const struct xst_policy *xst_policy_by_name(const char *name)
{
	unsigned i;

	for (i = 0; i < XST_POLICY_COUNT; i++)
		if (same(named[i].name, name))
			return &named[i];
	return NULL;
}

/* Is the word of @length characters at @text the name of a policy? */
static bool is_name(const char *text, size_t length)
{
	unsigned i;
	size_t n;

	for (i = 0; i < XST_POLICY_COUNT; i++) {
		for (n = 0; n < length && named[i].name[n] == text[n]; n++)
			;
		if (n == length && !named[i].name[n])
			return true;
	}
	return false;
}

static size_t word_length(const char *text)
{
	size_t n;

	for (n = 0; text[n] && text[n] != ',' && text[n] != ';'; n++)
		;
	return n;
}

const char *xst_policy_item(const char *list, size_t *length)
{
	size_t at = word_length(list);

	if (!is_name(list, at))
		while (list[at] == ',' && !is_name(list + at + 1, word_length(list + at + 1)))
			at += 1 + word_length(list + at + 1);
	*length = at;
	return list[at] ? list + at + 1 : NULL;
}

int xst_policy_check(const struct xst_policy *p, struct xst_diag *diag)
{
	if ((unsigned)p->save > XST_SAVE_DISPLACED || (unsigned)p->load > XST_LOAD_FIRST_USE)
		return xst_diag_set(diag, XST_ERR_INVALID, XST_DIAG_NO_COMPONENT, 0, 0, 0,
				    "no such save or load point");
	if (p->preload_after && p->load != XST_LOAD_FIRST_USE)
		return xst_diag_set(diag, XST_ERR_INVALID, XST_DIAG_NO_COMPONENT, 0, 0,
				    p->preload_after, "preload goes with load=use only");
	/* Registers that were not saved at switch-out are the only copy: forgetting whose they are
	 * would lose them. */
	if (p->save == XST_SAVE_DISPLACED && !p->keep_owner)
		return xst_diag_set(diag, XST_ERR_INVALID, XST_DIAG_NO_COMPONENT, 0, 1, 0,
				    "save=displaced needs keep");
	return XST_OK;
}

static const char *number(const char *text, uint8_t *value)
{
	unsigned v = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		v = v * 10 + (unsigned)(*p - '0');
		if (v > 255)
			return NULL;
	}
	if (p == text || (*p && *p != ','))
		return NULL;
	*value = (uint8_t)v;
	return p;
}

/* Read one field at @p into @out; return where it ends, NULL when it is none. */
static const char *one_field(const char *p, struct xst_policy *out)
{
	static const struct {
		const char *word;
		enum xst_save save;
	} saves[] = {{"save=out", XST_SAVE_SWITCH_OUT}, {"save=displaced", XST_SAVE_DISPLACED}};
	static const struct {
		const char *word;
		enum xst_load load;
	} loads[] = {{"load=in", XST_LOAD_SWITCH_IN},
		     {"load=return", XST_LOAD_RETURN},
		     {"load=use", XST_LOAD_FIRST_USE}};
	const char *end;
	unsigned i;

	for (i = 0; i < sizeof(saves) / sizeof(saves[0]); i++)
		if ((end = field(p, saves[i].word))) {
			out->save = saves[i].save;
			return end;
		}
	for (i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		if ((end = field(p, loads[i].word))) {
			out->load = loads[i].load;
			return end;
		}
	if ((end = field(p, "keep"))) {
		out->keep_owner = true;
		return end;
	}
	if ((end = field(p, "skip-init"))) {
		out->skip_init = true;
		return end;
	}
	end = after(p, "preload=");
	return end ? number(end, &out->preload_after) : NULL;
}

int xst_policy_parse(const char *text, struct xst_policy *policy, struct xst_diag *diag)
{
	struct xst_policy p = {NULL, XST_SAVE_SWITCH_OUT, XST_LOAD_SWITCH_IN, false, 0, false};
	const struct xst_policy *by_name = xst_policy_by_name(text);
	const char *at = text, *end;
	int err;

	if (by_name) {
		*policy = *by_name;
		return XST_OK;
	}
	for (;; at = end + 1) {
		end = one_field(at, &p);
		if (!end)
			return xst_diag_set(diag, XST_ERR_INVALID, XST_DIAG_NO_COMPONENT,
					    (uint32_t)(at - text), 0, 0,
					    "neither a policy's name nor one of its fields");
		if (!*end)
			break;
	}
	err = xst_policy_check(&p, diag);
	if (err)
		return err;
	p.name = text;
	*policy = p;
	return XST_OK;
}
