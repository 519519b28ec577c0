// SPDX-License-Identifier: BSD-2-Clause
/*
 * The sweep. Most objects hold no FP instruction at all and are done after this, so it is
 * what the time goes into: integer instructions are only measured (fast.c), the rest is
 * decoded. Bytes that no function covers are padding or tables and are not looked at.
 */
#include "lint/sweep.h"

#include "lint/decode.h"

#include <stdlib.h>
#include <string.h>

static bool event(struct lint_object *obj, uint32_t off, enum lint_event_kind kind, uint32_t arg)
{
	if (obj->nev == obj->ev_cap) {
		size_t more = obj->ev_cap ? obj->ev_cap * 2 : 512;
		struct lint_event *list = realloc(obj->ev, more * sizeof(*list));

		if (!list)
			return false;
		obj->ev = list;
		obj->ev_cap = more;
	}
	obj->ev[obj->nev++] = (struct lint_event){off, (uint32_t)kind, arg};
	return true;
}

struct lint_target lint_branch_target(const struct lint_object *obj, uint32_t sec, uint32_t off,
                                      unsigned len, size_t *cursor)
{
	const struct lint_section *s = &obj->sec[sec];
	struct lint_target t = {.kind = TARGET_NONE};
	uint32_t field = off + len - 4;
	int64_t rel;
	uint64_t to;

	while (*cursor < s->nrel && s->rel[*cursor].r_offset < off)
		++*cursor;
	if (*cursor < s->nrel && s->rel[*cursor].r_offset == field && len >= 5)
		return lint_rel_target(obj, &s->rel[*cursor], 4);
	if (len < 5) {
		rel = (int8_t)s->data[off + len - 1];
	} else {
		int32_t r;

		memcpy(&r, s->data + field, 4);
		rel = r;
	}
	to = (uint64_t)((int64_t)off + len + rel);
	if (to < s->size) {
		t.kind = TARGET_CODE;
		t.sec = sec;
		t.off = (uint32_t)to;
	} else if (!obj->relocatable) {
		t = lint_addr_target(obj, s->addr + to);
	}
	return t;
}

/* A code address as a value: an immediate or the address of a LEA. */
static void pointer_note(struct lint_object *obj, uint32_t sec, uint32_t off, unsigned len,
                         bool relative, size_t *cursor)
{
	const struct lint_section *s = &obj->sec[sec];
	struct lint_target t = {.kind = TARGET_NONE};
	int32_t v;
	uint32_t f;

	if (obj->relocatable) {
		while (*cursor < s->nrel && s->rel[*cursor].r_offset < off)
			++*cursor;
		if (*cursor < s->nrel && s->rel[*cursor].r_offset < off + len)
			t = lint_rel_target(
			        obj, &s->rel[*cursor],
			        relative ? (int64_t)(off + len - s->rel[*cursor].r_offset) : 0);
	} else {
		memcpy(&v, s->data + off + len - 4, 4);
		t = lint_addr_target(obj, relative ? s->addr + off + len + (uint64_t)(int64_t)v
		                                   : (uint64_t)(int64_t)v);
	}
	if (t.kind != TARGET_CODE || !lint_is_code(&obj->sec[t.sec]))
		return;
	f = lint_func_at(obj, t.sec, t.off);
	if (f != NO_FUNC && obj->func[f].off == t.off &&
	    strncmp(obj->func[f].name, "__SCT__", 7) != 0)
		obj->func[f].flags |= FUNC_POINTER;
}

/* Padding, returns and traps: execution does not run on behind these. */
static bool stops(const uint8_t *p, unsigned len)
{
	while (len > 1 && (*p == 0x66 || *p == 0x2e || *p == 0xf3 || *p == 0xf2)) {
		p++;
		len--;
	}
	switch (*p) {
	case 0x90: /* NOP */
	case 0xc2:
	case 0xc3: /* RET */
	case 0xcc: /* INT3 */
	case 0xcf: /* IRET */
	case 0xe8: /* CALL: of what does not return, or there would be more */
	case 0xe9:
	case 0xeb: /* JMP */
	case 0xf4: /* HLT */
	case 0xff: /* JMP or CALL through a pointer */
	case 0x00: /* filling */
		return true;
	case 0x0f: /* UD2, NOP, SYSRET and kin */
		return len > 1 && (p[1] == 0x0b || p[1] == 0x1f || p[1] == 0x07 || p[1] == 0xb9 ||
		                   p[1] == 0xff);
	default:
		return false;
	}
}

/* Where alternatives begin that replace code at or after a place. */
static size_t alt_find(const struct lint_object *obj, uint32_t sec, uint32_t off)
{
	size_t lo = 0, hi = obj->nalt;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct lint_alt *a = &obj->alt[mid];

		if (a->sec < sec || (a->sec == sec && a->off < off))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

#define REPLACED(alt, at) ((uint32_t)(alt) << 8 | (at))

struct lint_target lint_replaced_target(const struct lint_object *obj, uint32_t arg)
{
	const struct lint_alt *a = &obj->alt[arg >> 8];
	uint32_t off = a->rep_off + (arg & 255);
	size_t cursor = lint_rel_find(&obj->sec[a->rep_sec], off);

	return lint_branch_target(obj, a->rep_sec, off, 5, &cursor);
}

/* Code that may be patched over this function belongs to it. */
static bool replacements(struct lint_object *obj, struct lint_func *f, uint32_t begin, uint32_t end)
{
	size_t i = alt_find(obj, f->sec, begin);
	bool ok = true;

	for (; ok && i < obj->nalt && obj->alt[i].sec == f->sec && obj->alt[i].off < end; i++) {
		const struct lint_alt *a = &obj->alt[i];
		const uint8_t *p = obj->sec[a->rep_sec].data + a->rep_off;
		uint32_t at = 0;

		while (ok && at < a->rep_len) {
			struct lint_insn insn;
			struct lint_target t;

			if (!lint_decode(p + at, a->rep_len - at, a->rep_off + at, &insn)) {
				ok = event(obj, a->off, EV_BAD, 0);
				break;
			}
			obj->insns++;
			if (insn.fp) {
				f->fp |= insn.fp;
				f->fp_insns += (insn.fp & FP_USE) != 0;
				f->state_insns += !(insn.fp & FP_USE);
				ok = event(obj, a->off, EV_FP, insn.fp);
			}
			if (ok && (insn.kind == INSN_CALL || insn.kind == INSN_JMP) &&
			    insn.len == 5 && i < 1u << 24) {
				t = lint_replaced_target(obj, REPLACED(i, at));
				if (insn.kind == INSN_CALL)
					ok = event(obj, a->off, EV_ALT_CALL, REPLACED(i, at));
				else if (t.kind == TARGET_EXTERN ||
				         (t.kind == TARGET_CODE &&
				          (t.sec != f->sec || t.off - f->off >= f->size)))
					ok = event(obj, a->off, EV_ALT_JUMP, REPLACED(i, at));
			}
			at += insn.len;
		}
	}
	return ok;
}

/* CALL or JMP through an entry of the linker's table: as good as by the name itself. */
static bool by_name(const struct lint_section *s, const uint8_t *p, uint32_t off, unsigned len)
{
	size_t i;

	if (len < 6 || p[len - 6] != 0xff || (p[len - 5] != 0x15 && p[len - 5] != 0x25))
		return false;
	i = lint_rel_find(s, off + len - 4);
	if (i >= s->nrel || s->rel[i].r_offset != off + len - 4)
		return false;
	switch (ELF64_R_TYPE(s->rel[i].r_info)) {
	case R_X86_64_GOTPCREL:
	case R_X86_64_GOTPCRELX:
	case R_X86_64_REX_GOTPCRELX:
		return true;
	default:
		return false;
	}
}

static bool function(struct lint_object *obj, struct lint_func *f, size_t *cursor)
{
	const struct lint_section *s = &obj->sec[f->sec];
	uint32_t off = f->off, end = f->off + f->size;
	uint32_t last = off, last_len = 0;
	size_t alt = obj->nalt ? alt_find(obj, f->sec, off) : 0;
	bool ok = true;

	f->ev = (uint32_t)obj->nev;
	while (off < end && ok) {
		const uint8_t *p = s->data + off;
		size_t avail = (size_t)(s->size - off);
		enum lint_fast_kind kind;
		unsigned len = lint_fast(p, avail, &kind);
		struct lint_insn insn;
		struct lint_target t;

		obj->insns++;
		if (len > end - off)
			len = 0;
		if (!len) {
			/* Alternatives and jumps may cross a label, but not the section's end. */
			insn.off = off;
			insn.imm_at = 0;
			if (!lint_decode_fp(p, end - off, &insn) &&
			    !lint_decode_fp(p, avail, &insn)) {
				ok = event(obj, off, EV_BAD, 0);
				off++;
				continue;
			}
			len = insn.len;
			if (insn.fp) {
				f->fp |= insn.fp;
				f->fp_insns += (insn.fp & FP_USE) != 0;
				f->state_insns += !(insn.fp & FP_USE);
				ok = event(obj, off, EV_FP, insn.fp);
			}
			kind = insn.kind == INSN_CALL       ? FAST_CALL
			       : insn.kind == INSN_JMP      ? FAST_JMP
			       : insn.kind == INSN_JCC      ? FAST_JCC
			       : insn.kind == INSN_CALL_IND ? FAST_CALL_IND
			       : insn.kind == INSN_JMP_IND  ? FAST_JMP_IND
			                                    : FAST_PLAIN;
		}
		switch (kind) {
		case FAST_CALL:
			ok = event(obj, off, EV_CALL, len);
			break;
		case FAST_JMP:
		case FAST_JCC:
			t = lint_branch_target(obj, f->sec, off, len, cursor);
			if (t.kind == TARGET_EXTERN ||
			    (t.kind == TARGET_CODE &&
			     (t.sec != f->sec || t.off - f->off >= f->size || t.off == f->off)))
				ok = event(obj, off, EV_JUMP, len);
			break;
		case FAST_CALL_IND:
		case FAST_JMP_IND:
			if (by_name(s, p, off, len))
				ok = event(obj, off, kind == FAST_CALL_IND ? EV_CALL : EV_JUMP,
				           len);
			else
				ok = event(obj, off, EV_INDIRECT, len);
			break;
		case FAST_IMM:
		case FAST_LEA:
			pointer_note(obj, f->sec, off, len, kind == FAST_LEA, cursor);
			break;
		default:
			break;
		}
		last = off;
		last_len = len;
		off += len;
		/* Events lie in the order of their places. */
		if (alt < obj->nalt && obj->alt[alt].sec == f->sec && obj->alt[alt].off < off) {
			ok = ok && replacements(obj, f, obj->alt[alt].off, off);
			while (alt < obj->nalt && obj->alt[alt].sec == f->sec &&
			       obj->alt[alt].off < off)
				alt++;
		}
	}
	/* Assembly runs from one function into the next: as good as a jump there. */
	if (ok && last_len && off == end && f + 1 < obj->func + obj->nfunc && f[1].sec == f->sec &&
	    f[1].off == end && !stops(s->data + last, last_len) &&
	    (obj->nev == f->ev || obj->ev[obj->nev - 1].off != last))
		ok = event(obj, last, EV_JUMP, 0);
	f->nev = (uint32_t)obj->nev - f->ev;
	obj->code_bytes += f->size;
	obj->fp_insns += f->fp_insns;
	return ok;
}

bool lint_sweep(struct lint_object *obj)
{
	size_t i, cursor = 0;
	uint32_t sec = NO_SECTION;

	for (i = 0; i < obj->nfunc; i++) {
		if (obj->func[i].sec != sec)
			cursor = 0;
		sec = obj->func[i].sec;
		if (!function(obj, &obj->func[i], &cursor))
			return false;
	}
	obj->swept = true;
	return true;
}

const char *lint_fp_name(const struct lint_object *obj, uint32_t sec, uint32_t off)
{
	const struct lint_section *s = &obj->sec[sec];
	struct lint_insn insn;
	size_t i;

	if (lint_decode(s->data + off, (size_t)(s->size - off), off, &insn) && insn.fp)
		return lint_mnemonic(s->data + off, (size_t)(s->size - off));
	for (i = alt_find(obj, sec, off);
	     i < obj->nalt && obj->alt[i].sec == sec && obj->alt[i].off < off + insn.len; i++) {
		const struct lint_alt *a = &obj->alt[i];
		const uint8_t *p = obj->sec[a->rep_sec].data + a->rep_off;
		uint32_t at;

		for (at = 0; at < a->rep_len; at += insn.len)
			if (lint_decode(p + at, a->rep_len - at, a->rep_off + at, &insn) && insn.fp)
				return lint_mnemonic(p + at, a->rep_len - at);
	}
	return "FP code";
}
