// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the kernel's own tables say about its code: where a static key may jump, where a
 * faulting access continues, which instructions are replaced at boot, which traps are
 * only warnings, and which functions are reached through pointers. The layouts changed
 * over the years, so the size of an entry is measured, not assumed.
 */
#include "lint/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A table: a section, or in a linked kernel a part of one between two symbols. */
struct table {
	uint32_t sec;
	uint32_t off;
	uint32_t bytes;
};

static bool symbol_addr(const struct lint_object *obj, const char *name, uint64_t *addr)
{
	size_t i;

	if (!obj->nsym && !strcmp(name + 2, "start___jump_table")) {
		*addr = obj->jump_table[0];
		return *addr != 0;
	}
	if (!obj->nsym && !strcmp(name + 2, "stop___jump_table")) {
		*addr = obj->jump_table[1];
		return *addr != 0;
	}
	for (i = 1; i < obj->nsym; i++) {
		const Elf64_Sym *sym = &obj->sym[i];

		if (sym->st_shndx != SHN_UNDEF && sym->st_name < obj->str_bytes &&
		    !strcmp(obj->str + sym->st_name, name)) {
			*addr = sym->st_value;
			return true;
		}
	}
	return false;
}

static bool table_find(const struct lint_object *obj, const char *section, const char *start,
                       const char *stop, struct table *t)
{
	uint64_t a, b;
	size_t i;

	for (i = 0; i < obj->nsec; i++) {
		const struct lint_section *s = &obj->sec[i];

		if (s->data && !strcmp(s->name, section)) {
			*t = (struct table){(uint32_t)i, 0, (uint32_t)s->size};
			return true;
		}
	}
	if (!obj->relocatable && start && symbol_addr(obj, start, &a) &&
	    symbol_addr(obj, stop, &b)) {
		struct lint_target at = lint_addr_target(obj, a);

		if (at.kind == TARGET_CODE && b > a && b - a <= obj->sec[at.sec].size - at.off) {
			*t = (struct table){at.sec, at.off, (uint32_t)(b - a)};
			return true;
		}
	}
	return false;
}

/* Where the 32-bit self-relative field at @off of section @sec points. */
static struct lint_target field(const struct lint_object *obj, uint32_t sec, uint32_t off)
{
	const struct lint_section *s = &obj->sec[sec];
	struct lint_target none = {.kind = TARGET_NONE};
	int32_t rel;
	size_t i;

	if (obj->relocatable) {
		i = lint_rel_find(s, off);
		if (i < s->nrel && s->rel[i].r_offset == off)
			return lint_rel_target(obj, &s->rel[i], 0);
		return none;
	}
	if (s->size < 4 || off > s->size - 4)
		return none;
	memcpy(&rel, s->data + off, 4);
	return lint_addr_target(obj, s->addr + off + (uint64_t)(int64_t)rel);
}

static bool is_code(const struct lint_object *obj, struct lint_target t)
{
	return t.kind == TARGET_CODE && lint_is_code(&obj->sec[t.sec]);
}

/* The first of @sizes (0 ends) for which the first entries point to code, or 0. */
static uint32_t entry_bytes(const struct lint_object *obj, const struct table *t,
                            const uint32_t *sizes)
{
	uint32_t k;

	for (; *sizes; sizes++) {
		if (t->bytes % *sizes)
			continue;
		for (k = 0; k < 8 && (k + 1) * *sizes <= t->bytes; k++)
			if (!is_code(obj, field(obj, t->sec, t->off + k * *sizes)))
				break;
		if (k == 8 || (k && (k + 1) * *sizes > t->bytes))
			return *sizes;
	}
	return 0;
}

static bool grow(void **list, size_t n, size_t item)
{
	void *more;

	if (n & (n - 1) && n)
		return true;
	more = realloc(*list, (n ? n * 2 : 16) * item);
	if (!more)
		return false;
	*list = more;
	return true;
}

static bool edge_add(struct lint_object *obj, struct lint_target from, struct lint_target to)
{
	void *list = obj->edge;

	if (!is_code(obj, from) || !is_code(obj, to) || from.sec != to.sec)
		return true;
	if (!grow(&list, obj->nedge, sizeof(*obj->edge)))
		return false;
	obj->edge = list;
	obj->edge[obj->nedge++] = (struct lint_edge){from.sec, from.off, to.off};
	return true;
}

static bool wrong(char *why, size_t why_bytes, const char *name)
{
	snprintf(why, why_bytes,
	         "cannot be checked: its table %s is damaged or of an unknown layout", name);
	return false;
}

static bool pairs_read(struct lint_object *obj, const struct table *t, uint32_t step)
{
	uint32_t off;

	for (off = t->off; off - t->off + step <= t->bytes; off += step)
		if (!edge_add(obj, field(obj, t->sec, off), field(obj, t->sec, off + 4)))
			return false;
	return true;
}

static bool alts_read(struct lint_object *obj, const struct table *t)
{
	/* 6.1: 12 bytes, lengths at 10; later 14 with 32 bits of flags; before 5.14 13. */
	static const uint32_t sizes[] = {12, 14, 13, 0};
	uint32_t step = entry_bytes(obj, t, sizes), off;
	uint32_t lengths = step == 14 ? 12 : 10;

	if (!step)
		return !t->bytes;
	for (off = t->off; off - t->off + step <= t->bytes; off += step) {
		struct lint_target at = field(obj, t->sec, off), rep = field(obj, t->sec, off + 4);
		const uint8_t *p = obj->sec[t->sec].data + off;
		void *list = obj->alt;

		if (!is_code(obj, at) || rep.kind != TARGET_CODE || !obj->sec[rep.sec].data)
			continue;
		if (p[lengths + 1] > obj->sec[rep.sec].size - rep.off ||
		    p[lengths] > obj->sec[at.sec].size - at.off)
			return false;
		if (!grow(&list, obj->nalt, sizeof(*obj->alt)))
			return false;
		obj->alt = list;
		obj->alt[obj->nalt++] = (struct lint_alt){at.sec,  at.off,  p[lengths],
		                                          rep.sec, rep.off, p[lengths + 1]};
	}
	return true;
}

/* Traps listed with the warning flag are continued after; BUG() is not. */
static bool bugs_read(struct lint_object *obj, const struct table *t)
{
	static const uint32_t sizes[] = {12, 16, 8, 6, 0};
	uint32_t step = entry_bytes(obj, t, sizes), off;

	if (!step)
		return !t->bytes;
	for (off = t->off; off - t->off + step <= t->bytes; off += step) {
		struct lint_target at = field(obj, t->sec, off);
		uint32_t flags = step == 12 ? 10 : step - 2;
		void *list = obj->warn;

		if (!is_code(obj, at) || !(obj->sec[t->sec].data[off + flags] & 1))
			continue;
		if (!grow(&list, obj->nwarn, sizeof(*obj->warn)))
			return false;
		obj->warn = list;
		obj->warn[obj->nwarn++] = (struct lint_place){at.sec, at.off};
	}
	return true;
}

/* All three begin with section and offset. */
static int place_order(const void *a, const void *b)
{
	const struct lint_place *x = a, *y = b;

	if (x->sec != y->sec)
		return x->sec < y->sec ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

bool lint_alternatives_read(struct lint_object *obj, char *why, size_t why_bytes)
{
	struct table t;

	if (table_find(obj, ".altinstructions", "__alt_instructions", "__alt_instructions_end",
	               &t) &&
	    !alts_read(obj, &t))
		return wrong(why, why_bytes, ".altinstructions");
	if (obj->nalt)
		qsort(obj->alt, obj->nalt, sizeof(*obj->alt), place_order);
	return true;
}

bool lint_tables_read(struct lint_object *obj, char *why, size_t why_bytes)
{
	static const uint32_t fixups[] = {12, 8, 0};
	struct table t;

	if (table_find(obj, "__jump_table", "__start___jump_table", "__stop___jump_table", &t)) {
		if (t.bytes % 16 || !pairs_read(obj, &t, 16))
			return wrong(why, why_bytes, "__jump_table");
	}
	if (table_find(obj, "__ex_table", "__start___ex_table", "__stop___ex_table", &t) &&
	    t.bytes) {
		uint32_t step = entry_bytes(obj, &t, fixups);

		if (!step || !pairs_read(obj, &t, step))
			return wrong(why, why_bytes, "__ex_table");
	}
	if (table_find(obj, "__bug_table", "__start___bug_table", "__stop___bug_table", &t) &&
	    !bugs_read(obj, &t))
		return wrong(why, why_bytes, "__bug_table");
	if (obj->nedge)
		qsort(obj->edge, obj->nedge, sizeof(*obj->edge), place_order);
	if (obj->nwarn)
		qsort(obj->warn, obj->nwarn, sizeof(*obj->warn), place_order);
	return true;
}

/* Tables that name functions without anybody calling them through it. */
static bool only_names(const char *section)
{
	static const char *const names[] = {
	        "__mcount_loc",
	        ".orc_unwind",
	        ".return_sites",
	        ".retpoline_sites",
	        ".call_sites",
	        ".ibt_endbr_seal",
	        ".altinstructions",
	        "__jump_table",
	        "__ex_table",
	        "__bug_table",
	        ".static_call_sites",
	        ".smp_locks",
	        ".parainstructions",
	        "__ksymtab",
	        "___ksymtab",
	        ".eh_frame",
	        "__kcrctab",
	        "___kcrctab",
	        "_error_injection_whitelist",
	        "_kprobe_blacklist",
	        ".discard",
	        "__patchable_function_entries",
	        ".cfi_sites",
	        "__tracepoints_ptrs",
	        ".kcfi_traps",
	        ".debug",
	        ".BTF",
	        "__kprobe_blacklist",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(section, names[i], strlen(names[i])))
			return true;
	return false;
}

bool lint_holds_pointers(const struct lint_section *s)
{
	return (s->flags & SHF_ALLOC) && s->data && !only_names(s->name) && !lint_is_code(s);
}

static void pointer_to(struct lint_object *obj, struct lint_target t, uint32_t flag)
{
	uint32_t f;

	if (!is_code(obj, t))
		return;
	f = lint_func_at(obj, t.sec, t.off);
	/* A static call's trampoline is called by its name; the pointer is for patching it. */
	if (f != NO_FUNC && obj->func[f].off == t.off &&
	    strncmp(obj->func[f].name, "__SCT__", 7) != 0)
		obj->func[f].flags |= flag;
}

void lint_pointers_mark(struct lint_object *obj)
{
	uint64_t lo = UINT64_MAX, hi = 0, word;
	size_t i, k;

	for (i = 0; i < obj->nsec; i++) {
		const struct lint_section *s = &obj->sec[i];

		if (lint_is_code(s) && s->addr < lo)
			lo = s->addr;
		if (lint_is_code(s) && s->addr + s->size > hi)
			hi = s->addr + s->size;
	}
	for (i = 0; i < obj->nsec; i++) {
		const struct lint_section *s = &obj->sec[i];
		uint32_t flag = FUNC_POINTER;

		if (!lint_holds_pointers(s))
			continue;
		if (!strcmp(s->name, ".gnu.linkonce.this_module") ||
		    !strncmp(s->name, ".initcall", 9))
			flag = FUNC_ENTRY;
		for (k = 0; k < s->nrel; k++)
			pointer_to(obj, lint_rel_target(obj, &s->rel[k], 0), flag);
		if (obj->relocatable)
			continue;
		for (k = 0; k + 8 <= s->size; k += 8) {
			memcpy(&word, s->data + k, 8);
			if (word >= lo && word < hi)
				pointer_to(obj, lint_addr_target(obj, word), flag);
		}
	}
}
