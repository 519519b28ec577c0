// SPDX-License-Identifier: BSD-2-Clause
/*
 * The symbols inside a stripped kernel. A vmlinuz holds no symbol table, but the kernel
 * carries its own, compressed: every name is a string of tokens, and 256 tokens are in a
 * table. That table is found by its looks (single digits and letters stand for themselves),
 * and from it the index, markers, names, count and offsets, before or behind it. The order
 * of the tables changed in 6.4; what does not add up is refused.
 *
 * Ref: Linux scripts/kallsyms.c, "write_src"; kernel/kallsyms.c, "kallsyms_expand_symbol".
 */
#include <stdlib.h>
#include <string.h>

#include "lint/object.h"

#define TOKENS       256
#define NAME_MAX_LEN 511
#define SYMBOLS_MIN  256
#define SYMBOLS_MAX  4000000

struct table {
	const struct lint_section *s;
	size_t token_table, token_index; /* offsets in the section */
	uint16_t token[TOKENS];
	size_t names, names_end;
	size_t offsets; /* of the array of 32-bit offsets */
	uint32_t count;
	uint64_t base;
};

static uint32_t u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

static uint64_t u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static size_t up8(size_t v)
{
	return (v + 7) & ~(size_t)7;
}

/* Tokens for '0' to '9' follow each other: find that, then walk back to the first token. */
static bool tokens_find(struct table *t, size_t *from)
{
	const struct lint_section *s = t->s;
	uint8_t digits[20];
	const uint8_t *hit;
	size_t off, i, n;

	for (i = 0; i < 10; i++) {
		digits[2 * i] = (uint8_t)('0' + i);
		digits[2 * i + 1] = 0;
	}
	hit = memmem(s->data + *from, s->size - *from, digits, sizeof(digits));
	if (!hit)
		return false;
	off = (size_t)(hit - s->data);
	*from = off + 1;
	/* '0' is token 48: 48 tokens, each ending in NUL, come before. */
	for (n = 0; n < 48 && off; n++) {
		size_t len = 0;

		off--;
		if (s->data[off])
			return true;
		while (off && s->data[off - 1]) {
			off--;
			if (++len > 64)
				return true;
		}
	}
	if (off & 7 || n < 48)
		return true;
	t->token_table = off;
	for (n = 0; n < TOKENS; n++) {
		const uint8_t *end = memchr(s->data + off, 0, s->size - off);

		if (!end || off - t->token_table > UINT16_MAX)
			return true;
		t->token[n] = (uint16_t)(off - t->token_table);
		off = (size_t)(end - s->data) + 1;
	}
	t->token_index = up8(off);
	if (t->token_index + 2 * TOKENS > s->size ||
	    memcmp(s->data + t->token_index, t->token, sizeof(t->token)) != 0)
		t->token_table = 0;
	return true;
}

/* Bytes of one compressed name with its length, or 0. */
static size_t name_bytes(const struct table *t, size_t off, size_t *skip)
{
	size_t len;

	if (off >= t->s->size)
		return 0;
	len = t->s->data[off];
	*skip = 1;
	if (len & 0x80) {
		if (off + 1 >= t->s->size)
			return 0;
		len = (len & 0x7f) | (size_t)t->s->data[off + 1] << 7;
		*skip = 2;
	}
	if (!len || off + *skip + len > t->s->size)
		return 0;
	return *skip + len;
}

/* Do @count names at @names end with markers at @markers that point to each 256th? */
static bool names_fit(const struct table *t, size_t names, uint32_t count, size_t *end)
{
	size_t off = names, skip, n;
	uint32_t i, k = (count + 255) >> 8;
	size_t markers;
	uint32_t *mark = malloc(k * sizeof(*mark));
	bool ok = false;

	if (!mark)
		return false;
	for (i = 0; i < count; i++) {
		if (!(i & 0xff))
			mark[i >> 8] = (uint32_t)(off - names);
		n = name_bytes(t, off, &skip);
		if (!n)
			goto out;
		off += n;
	}
	markers = up8(off);
	ok = markers + (size_t)k * 4 <= t->s->size &&
	     !memcmp(t->s->data + markers, mark, (size_t)k * 4);
	*end = markers + (size_t)k * 4;
out:
	free(mark);
	return ok;
}

/* The count stands 8 bytes before the names; the markers behind them end at the tokens. */
static bool names_find(struct table *t)
{
	size_t at, end, floor = t->token_table > (32u << 20) ? t->token_table - (32u << 20) : 0;

	for (at = t->token_table & ~(size_t)7; at >= floor + 16; at -= 8) {
		uint32_t count = u32(t->s->data + at - 8);

		if (count < SYMBOLS_MIN || count > SYMBOLS_MAX || u32(t->s->data + at - 4) ||
		    t->token_table - at < (size_t)count * 3)
			continue;
		if (!names_fit(t, at, count, &end))
			continue;
		/* Since 6.2, and in some older series, the order of the names comes between. */
		if (up8(end) != t->token_table &&
		    up8(up8(end) + (size_t)count * 3) != t->token_table)
			continue;
		t->names = at;
		t->count = count;
		return true;
	}
	return false;
}

static bool in_code(const struct lint_object *obj, uint64_t addr)
{
	size_t i;

	for (i = 0; i < obj->nsec; i++)
		if (lint_is_code(&obj->sec[i]) && addr >= obj->sec[i].addr &&
		    addr - obj->sec[i].addr < obj->sec[i].size)
			return true;
	return false;
}

/* Offsets and their base: before the names until 6.3, behind the token index since. */
static bool offsets_find(struct table *t, const struct lint_object *obj)
{
	size_t bytes = up8((size_t)t->count * 4), at;

	at = t->names - 8 - 8;
	if (t->names >= 16 + bytes && in_code(obj, u64(t->s->data + at))) {
		t->base = u64(t->s->data + at);
		t->offsets = at - bytes;
		return true;
	}
	at = up8(t->token_index + 2 * TOKENS);
	if (at + bytes + 8 <= t->s->size && in_code(obj, u64(t->s->data + at + bytes))) {
		t->base = u64(t->s->data + at + bytes);
		t->offsets = at;
		return true;
	}
	return false;
}

/* Offsets below zero are from the base, others are absolute: per-CPU variables. */
static uint64_t address(const struct table *t, uint32_t i)
{
	int32_t off = (int32_t)u32(t->s->data + t->offsets + (size_t)i * 4);

	return off < 0 ? t->base - 1 - (uint64_t)(int64_t)off : (uint64_t)off;
}

static char *expand(const struct table *t, size_t off, char *type)
{
	char name[NAME_MAX_LEN + 2];
	size_t skip, n = name_bytes(t, off, &skip), used = 0, i;

	for (i = skip; i < n; i++) {
		const char *token =
		        (const char *)t->s->data + t->token_table + t->token[t->s->data[off + i]];

		for (; *token && used <= NAME_MAX_LEN; token++)
			name[used++] = *token;
	}
	if (used < 2)
		return NULL;
	name[used <= NAME_MAX_LEN ? used : NAME_MAX_LEN] = '\0';
	*type = name[0];
	return strdup(name + 1);
}

static bool symbols_take(struct lint_object *obj, const struct table *t)
{
	size_t off = t->names, skip, cap = 0, kept = 0;
	uint32_t i;

	obj->names = calloc((size_t)t->count + 1, sizeof(*obj->names));
	if (!obj->names)
		return false;
	for (i = 0; i < t->count; i++) {
		struct lint_target at = lint_addr_target(obj, address(t, i));
		struct lint_func f = {.flags = FUNC_UNSIZED};
		char type = 0, *name;

		name = expand(t, off, &type);
		off += name_bytes(t, off, &skip);
		if (!name)
			continue;
		if (!strcmp(name, "__start___jump_table"))
			obj->jump_table[0] = address(t, i);
		else if (!strcmp(name, "__stop___jump_table"))
			obj->jump_table[1] = address(t, i);
		if ((type | 0x20) != 't' || at.kind != TARGET_CODE ||
		    !lint_is_code(&obj->sec[at.sec]) || !strncmp(name, "__pfx_", 6) ||
		    !strncmp(name, "__cfi_", 6)) {
			free(name);
			continue;
		}
		obj->names[kept++] = name;
		f.name = name;
		f.sec = at.sec;
		f.off = at.off;
		f.flags |= type == 'T' ? FUNC_GLOBAL : 0;
		if (!lint_func_add(obj, &cap, &f))
			return false;
	}
	if (!lint_funcs_settle(obj))
		return false;
	return obj->nfunc > 0;
}

bool lint_kallsyms(struct lint_object *obj)
{
	size_t i;

	for (i = 0; i < obj->nsec; i++) {
		struct table t = {.s = &obj->sec[i]};
		size_t from = 0;

		if (!t.s->data || lint_is_code(t.s) || t.s->size < 1u << 16)
			continue;
		while (tokens_find(&t, &from)) {
			if (!t.token_table)
				continue;
			if (names_find(&t) && offsets_find(&t, obj))
				return symbols_take(obj, &t);
			t.token_table = 0;
		}
	}
	return false;
}
