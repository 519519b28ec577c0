// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sections, the symbol table and relocations of an ELF file. A part that cannot be read is
 * not a part that is not there: code would be judged without its relocations, or not at all,
 * and pass as free of faults. So whatever does not fit makes the whole file unreadable.
 */
#include "lint/object_impl.h"

#include <gelf.h>
#include <libelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Code beyond this is refused: offsets are 32 bits wide everywhere. */
#define SECTION_BYTES_MAX (1u << 30)
#define SECTIONS_MAX      (1u << 20)
#define TYPE_CREL         0x40000014 /* compact relocations, newer than elf.h */

/* Ours to free. */
#define REL_COPIED (1ull << 63)

struct reader {
	struct lint_object *obj;
	Elf *elf;
	const uint8_t *raw; /* the file */
	size_t bytes;
	size_t symtab; /* section of obj->sym */
	char *why;
	size_t why_bytes;
};

static bool fail(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static bool fail(struct reader *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(r->why, r->why_bytes, fmt, args);
	va_end(args);
	return false;
}

const char *lint_sym_name(const struct lint_object *obj, const Elf64_Sym *sym)
{
	return sym->st_name < obj->str_bytes ? obj->str + sym->st_name : "";
}

static int rel_order(const void *a, const void *b)
{
	const Elf64_Rela *x = a, *y = b;

	return x->r_offset < y->r_offset ? -1 : x->r_offset > y->r_offset;
}

void lint_sections_free(struct lint_object *obj)
{
	size_t i;

	for (i = 0; obj->sec && i < obj->nsec; i++)
		if (obj->sec[i].flags & REL_COPIED)
			free((void *)(uintptr_t)obj->sec[i].rel);
	free(obj->sec);
}

/* The header's word about the section headers, checked against the file's size. */
static bool headers_find(struct reader *r, size_t *count, size_t *names)
{
	Elf64_Ehdr eh;
	Elf64_Shdr first;

	if (r->bytes < sizeof(eh))
		return fail(r, "is cut short: not even its header is whole");
	memcpy(&eh, r->raw, sizeof(eh));
	if (!eh.e_shoff)
		return fail(r, "has no section headers, which say where its code is");
	if (eh.e_shentsize != sizeof(first))
		return fail(r, "is damaged: its section headers have an impossible size");
	if (eh.e_shoff > r->bytes || r->bytes - eh.e_shoff < sizeof(first))
		return fail(r, "is cut short: its section headers lie beyond its end");
	memcpy(&first, r->raw + eh.e_shoff, sizeof(first));
	*count = eh.e_shnum ? eh.e_shnum : first.sh_size;
	*names = eh.e_shstrndx == SHN_XINDEX ? first.sh_link : eh.e_shstrndx;
	if (!*count || *count > SECTIONS_MAX)
		return fail(r, "is damaged: it cannot have %zu sections", *count);
	if ((r->bytes - eh.e_shoff) / sizeof(first) < *count)
		return fail(r, "is cut short: its section headers lie beyond its end");
	if (!*names || *names >= *count)
		return fail(r, "is damaged: its sections have no names");
	return true;
}

static bool sections_read(struct reader *r)
{
	struct lint_object *obj = r->obj;
	size_t n = 0, names = 0, i, count = 0;

	if (!headers_find(r, &n, &names))
		return false;
	if (elf_getshdrnum(r->elf, &count) != 0 || count != n)
		return fail(r, "is damaged: its section headers cannot be read");
	obj->sec = calloc(n, sizeof(*obj->sec));
	if (!obj->sec)
		return fail(r, "cannot be read: out of memory");
	obj->nsec = n;
	for (i = 0; i < n; i++) {
		struct lint_section *s = &obj->sec[i];
		Elf_Scn *scn = elf_getscn(r->elf, i);
		Elf_Data *d;
		GElf_Shdr sh;

		s->name = "";
		if (!scn || !gelf_getshdr(scn, &sh))
			return fail(r, "is damaged: its section headers cannot be read");
		if (!i || sh.sh_type == SHT_NULL)
			continue;
		s->name = elf_strptr(r->elf, names, sh.sh_name);
		if (!s->name) {
			s->name = "";
			return fail(r, "is damaged: section %zu has no name", i);
		}
		s->addr = obj->relocatable ? 0 : sh.sh_addr;
		s->flags = sh.sh_flags & ~REL_COPIED;
		s->type = sh.sh_type;
		s->size = sh.sh_size;
		if (sh.sh_type == SHT_NOBITS || sh.sh_size == 0)
			continue;
		if (sh.sh_offset > r->bytes || sh.sh_size > r->bytes - sh.sh_offset)
			return fail(r, "is cut short or damaged: section %s lies beyond its end",
			            s->name);
		if (!(sh.sh_flags & SHF_ALLOC))
			continue;
		if (sh.sh_flags & SHF_COMPRESSED)
			return fail(r, "is damaged: section %s, which is loaded, is compressed",
			            s->name);
		if (sh.sh_size > SECTION_BYTES_MAX)
			return fail(r, "cannot be checked: section %s is larger than 1 GiB",
			            s->name);
		d = elf_rawdata(scn, NULL);
		if (!d || !d->d_buf || d->d_size != sh.sh_size)
			return fail(r, "is damaged: section %s cannot be read", s->name);
		s->data = d->d_buf;
	}
	return true;
}

static bool symtab_read(struct reader *r, size_t i, Elf_Scn *scn, const GElf_Shdr *sh)
{
	struct lint_object *obj = r->obj;
	Elf_Scn *str =
	        sh->sh_link && sh->sh_link < obj->nsec ? elf_getscn(r->elf, sh->sh_link) : NULL;
	Elf_Data *sd = str ? elf_getdata(str, NULL) : NULL, *d = elf_getdata(scn, NULL);
	size_t k;

	if (!sh->sh_size)
		return true;
	if (sh->sh_entsize != sizeof(Elf64_Sym) || !d || !d->d_buf || d->d_size != sh->sh_size ||
	    sh->sh_size % sizeof(Elf64_Sym))
		return fail(r, "is damaged: its symbols cannot be read");
	if (!sd || !sd->d_buf || !sd->d_size || ((const char *)sd->d_buf)[sd->d_size - 1])
		return fail(r, "is damaged: its symbols have no names");
	obj->sym = d->d_buf;
	obj->nsym = d->d_size / sizeof(Elf64_Sym);
	obj->str = sd->d_buf;
	obj->str_bytes = sd->d_size;
	r->symtab = i;
	for (k = 1; k < obj->nsym; k++) {
		const Elf64_Sym *sym = &obj->sym[k];

		if (sym->st_name >= obj->str_bytes)
			return fail(r, "is damaged: symbol %zu has no name", k);
		if (sym->st_shndx == SHN_XINDEX)
			return fail(r, "cannot be checked: it has more than 65279 sections");
		if (sym->st_shndx >= obj->nsec && sym->st_shndx < SHN_LORESERVE)
			return fail(r, "is damaged: symbol %s is in no section",
			            lint_sym_name(obj, sym));
		if (obj->relocatable && ELF64_ST_TYPE(sym->st_info) == STT_FUNC &&
		    sym->st_shndx < obj->nsec && sym->st_value > obj->sec[sym->st_shndx].size)
			return fail(r, "is damaged: function %s lies beyond its section",
			            lint_sym_name(obj, sym));
	}
	return true;
}

/* Relocations of section @s. They are sorted but for a few tools; a copy is sorted then. */
static bool rel_read(struct reader *r, struct lint_section *s, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *d = elf_getdata(scn, NULL);
	const Elf64_Rela *rel;
	size_t n, i;

	if (!sh->sh_size)
		return true;
	if (!d || !d->d_buf || d->d_size != sh->sh_size || sh->sh_entsize != sizeof(Elf64_Rela) ||
	    sh->sh_size % sizeof(Elf64_Rela) || sh->sh_link != r->symtab)
		return fail(r, "is damaged: the relocations of section %s cannot be read", s->name);
	rel = d->d_buf;
	n = d->d_size / sizeof(Elf64_Rela);
	for (i = 0; i < n; i++)
		if (ELF64_R_SYM(rel[i].r_info) >= r->obj->nsym ||
		    (rel[i].r_offset >= s->size && ELF64_R_TYPE(rel[i].r_info) != R_X86_64_NONE))
			return fail(r, "is damaged: a relocation of section %s leads nowhere",
			            s->name);
	for (i = 1; i < n; i++)
		if (rel[i - 1].r_offset > rel[i].r_offset)
			break;
	/* A section may have several tables: live patches do. */
	if (i < n || s->rel) {
		Elf64_Rela *copy = malloc((s->nrel + n) * sizeof(*copy));

		if (!copy)
			return fail(r, "cannot be read: out of memory");
		if (s->nrel)
			memcpy(copy, s->rel, s->nrel * sizeof(*copy));
		memcpy(copy + s->nrel, rel, n * sizeof(*copy));
		n += s->nrel;
		qsort(copy, n, sizeof(*copy), rel_order);
		if (s->flags & REL_COPIED)
			free((void *)(uintptr_t)s->rel);
		rel = copy;
		s->flags |= REL_COPIED;
	}
	s->rel = rel;
	s->nrel = n;
	return true;
}

static bool tables_read(struct reader *r, bool symbols)
{
	struct lint_object *obj = r->obj;
	size_t i;

	for (i = 1; i < obj->nsec; i++) {
		Elf_Scn *scn = elf_getscn(r->elf, i);
		GElf_Shdr sh;

		if (!scn || !gelf_getshdr(scn, &sh))
			return fail(r, "is damaged: its section headers cannot be read");
		if (symbols) {
			if (sh.sh_type == SHT_SYMTAB && !obj->sym && !symtab_read(r, i, scn, &sh))
				return false;
			continue;
		}
		if (!obj->relocatable ||
		    (sh.sh_type != SHT_RELA && sh.sh_type != SHT_REL && sh.sh_type != TYPE_CREL))
			continue;
		if (!sh.sh_info || sh.sh_info >= obj->nsec)
			return fail(r,
			            "is damaged: section %s relocates a section that is not "
			            "there",
			            obj->sec[i].name);
		/* What is only for debuggers is large and says nothing to us. */
		if (!(obj->sec[sh.sh_info].flags & SHF_ALLOC))
			continue;
		if (sh.sh_type != SHT_RELA)
			return fail(r,
			            "cannot be checked: section %s holds relocations of a kind "
			            "that is not supported",
			            obj->sec[i].name);
		if (!rel_read(r, &obj->sec[sh.sh_info], scn, &sh))
			return false;
	}
	return true;
}

bool lint_sections_read(struct lint_object *obj, char *why, size_t why_bytes)
{
	struct reader r = {.obj = obj, .elf = obj->elf, .why = why, .why_bytes = why_bytes};

	r.raw = (const uint8_t *)elf_rawfile(obj->elf, &r.bytes);
	if (!r.raw)
		return fail(&r, "cannot be read: %s", elf_errmsg(-1));
	return sections_read(&r) && tables_read(&r, true) && tables_read(&r, false);
}

size_t lint_rel_find(const struct lint_section *s, uint64_t off)
{
	size_t lo = 0, hi = s->nrel;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->rel[mid].r_offset < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct lint_target lint_rel_target(const struct lint_object *obj, const Elf64_Rela *rel,
                                   int64_t adjust)
{
	struct lint_target t = {.kind = TARGET_NONE};
	size_t i = ELF64_R_SYM(rel->r_info);
	const Elf64_Sym *sym;
	uint64_t off;

	if (i >= obj->nsym)
		return t;
	sym = &obj->sym[i];
	if (sym->st_shndx == SHN_UNDEF) {
		t.kind = TARGET_EXTERN;
		t.name = lint_sym_name(obj, sym);
		return t;
	}
	if (sym->st_shndx >= obj->nsec)
		return t;
	off = sym->st_value + (uint64_t)rel->r_addend + (uint64_t)adjust;
	if (off >= obj->sec[sym->st_shndx].size)
		return t;
	t.kind = TARGET_CODE;
	t.sec = sym->st_shndx;
	t.off = (uint32_t)off;
	return t;
}

struct lint_target lint_addr_target(const struct lint_object *obj, uint64_t addr)
{
	struct lint_target t = {.kind = TARGET_NONE};
	size_t i;

	for (i = 0; i < obj->nsec; i++) {
		const struct lint_section *s = &obj->sec[i];

		if ((s->flags & SHF_ALLOC) && s->data && addr >= s->addr &&
		    addr - s->addr < s->size) {
			t.kind = TARGET_CODE;
			t.sec = (uint32_t)i;
			t.off = (uint32_t)(addr - s->addr);
			return t;
		}
	}
	return t;
}
