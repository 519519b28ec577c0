// SPDX-License-Identifier: BSD-2-Clause
/*
 * From symbols the functions. Hand-written assembly has labels instead of functions, aliases
 * and symbols without a size, so functions are settled after all symbols were seen. Code that
 * no symbol names cannot be told apart, and a file of it must not pass as one without faults.
 */
#include "lint/object_impl.h"

#include <stdlib.h>
#include <string.h>

bool lint_func_add(struct lint_object *obj, size_t *cap, const struct lint_func *func)
{
	if (obj->nfunc == *cap) {
		size_t more = *cap ? *cap * 2 : 256;
		struct lint_func *list = realloc(obj->func, more * sizeof(*list));

		if (!list)
			return false;
		obj->func = list;
		*cap = more;
	}
	obj->func[obj->nfunc++] = *func;
	return true;
}

static int func_order(const void *a, const void *b)
{
	const struct lint_func *x = a, *y = b;

	if (x->sec != y->sec)
		return x->sec < y->sec ? -1 : 1;
	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	/* Of several names for one place the exported and sized one comes first. */
	if ((x->flags ^ y->flags) & FUNC_EXPORTED)
		return x->flags & FUNC_EXPORTED ? -1 : 1;
	if ((x->size == 0) != (y->size == 0))
		return x->size ? -1 : 1;
	if ((x->flags ^ y->flags) & FUNC_GLOBAL)
		return x->flags & FUNC_GLOBAL ? -1 : 1;
	return strcmp(x->name, y->name);
}

static bool alias_add(struct lint_object *obj, const char *name, uint32_t func)
{
	struct lint_alias *list = obj->alias;

	if (!(obj->nalias & (obj->nalias - 1)))
		list = realloc(list, (obj->nalias ? obj->nalias * 2 : 1) * sizeof(*list));
	if (!list)
		return false;
	obj->alias = list;
	list[obj->nalias++] = (struct lint_alias){name, func};
	return true;
}

/*
 * Make functions that do not overlap: one for each place, aliases merged, labels inside
 * a sized function dropped, and unsized ones ending where the next begins.
 */
bool lint_funcs_settle(struct lint_object *obj)
{
	size_t i, n = 0;

	if (!obj->nfunc)
		return true;
	qsort(obj->func, obj->nfunc, sizeof(*obj->func), func_order);
	for (i = 0; i < obj->nfunc; i++) {
		struct lint_func *f = &obj->func[i];
		struct lint_func *last = n ? &obj->func[n - 1] : NULL;

		if (last && last->sec == f->sec && last->off == f->off) {
			last->flags |= f->flags & ~(uint32_t)(FUNC_UNSIZED | FUNC_WEAK);
			if (!(f->flags & FUNC_WEAK) && f->flags & FUNC_GLOBAL)
				last->flags &= ~(uint32_t)FUNC_WEAK;
			if (last->size == 0)
				last->size = f->size;
			if (f->flags & FUNC_GLOBAL && strcmp(f->name, last->name) != 0 &&
			    !alias_add(obj, f->name, (uint32_t)n - 1))
				return false;
			continue;
		}
		/* A label inside; but an exported one is a second way in. */
		if (last && last->sec == f->sec && last->size && f->off < last->off + last->size) {
			if (!(f->flags & FUNC_EXPORTED) && (f->flags & FUNC_UNSIZED))
				continue;
			if (f->size == 0)
				f->size = last->off + last->size - f->off;
			last->size = f->off - last->off;
		}
		obj->func[n++] = *f;
	}
	obj->nfunc = n;
	for (i = 0; i < n; i++) {
		struct lint_func *f = &obj->func[i];
		uint32_t end = (uint32_t)obj->sec[f->sec].size;

		if (i + 1 < n && obj->func[i + 1].sec == f->sec)
			end = obj->func[i + 1].off;
		if (f->size == 0) {
			f->flags |= FUNC_UNSIZED;
			f->size = end - f->off;
		}
		if (f->size > end - f->off)
			f->size = end - f->off;
	}
	return true;
}

static int name_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Symbols that the kernel's export table names; @n 0 means that there is no such table. */
static const char **exports_read(const struct lint_object *obj, size_t *n, bool *ok)
{
	static const char prefix[] = "__ksymtab_";
	const char **list = NULL;
	size_t i, cap = 0;

	*n = 0;
	for (i = 1; i < obj->nsym; i++) {
		const char *name = lint_sym_name(obj, &obj->sym[i]);

		if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
			continue;
		if (*n == cap) {
			const char **more;

			cap = cap ? cap * 2 : 64;
			more = realloc(list, cap * sizeof(*list));
			if (!more) {
				*ok = false;
				return list;
			}
			list = more;
		}
		list[(*n)++] = name + sizeof(prefix) - 1;
	}
	if (*n)
		qsort(list, *n, sizeof(*list), name_order);
	return list;
}

bool lint_symbols_read(struct lint_object *obj)
{
	size_t i, cap = 0, nexport = 0;
	bool ok = true;
	const char **exports = exports_read(obj, &nexport, &ok);

	for (i = 1; ok && i < obj->nsym; i++) {
		const Elf64_Sym *sym = &obj->sym[i];
		unsigned type = ELF64_ST_TYPE(sym->st_info);
		unsigned bind = ELF64_ST_BIND(sym->st_info);
		const char *name = lint_sym_name(obj, sym);
		struct lint_func f = {.name = name, .sec = sym->st_shndx};
		const struct lint_section *s;
		uint64_t off;

		if (sym->st_shndx == SHN_UNDEF || sym->st_shndx >= obj->nsec || !*name)
			continue;
		s = &obj->sec[sym->st_shndx];
		if (!lint_is_code(s) ||
		    (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC))
			continue;
		off = sym->st_value - s->addr;
		if (off >= s->size)
			continue;
		/* Symbols that tools add: function prefixes, ends, mapping and local labels. */
		if (type == STT_NOTYPE && (!strncmp(name, "__pfx_", 6) || !strncmp(name, ".L", 2) ||
		                           !strncmp(name, "__cfi_", 6)))
			continue;
		/* Code that replaces other code belongs to the function it is patched into. */
		if (!strcmp(s->name, ".altinstr_replacement"))
			continue;
		f.off = (uint32_t)off;
		f.size = sym->st_size > s->size - off ? (uint32_t)(s->size - off)
		                                      : (uint32_t)sym->st_size;
		if (type != STT_FUNC)
			f.flags |= f.size ? 0 : FUNC_UNSIZED;
		if (bind != STB_LOCAL)
			f.flags |= FUNC_GLOBAL;
		if (bind == STB_WEAK)
			f.flags |= FUNC_WEAK;
		if (nexport && bsearch(&name, exports, nexport, sizeof(*exports), name_order))
			f.flags |= FUNC_EXPORTED;
		else if (bind != STB_LOCAL && !nexport && obj->relocatable && !obj->kernel_module)
			f.flags |= FUNC_EXPORTED;
		if (obj->kernel_module &&
		    (!strcmp(name, "init_module") || !strcmp(name, "cleanup_module")))
			f.flags |= FUNC_ENTRY;
		if (!lint_func_add(obj, &cap, &f)) {
			free(exports);
			return false;
		}
	}
	free(exports);
	return ok && lint_funcs_settle(obj);
}

/* Code but for filling: zeros, NOP and INT3. */
static bool code_in(const struct lint_section *s)
{
	uint64_t i;

	for (i = 0; i < s->size; i++)
		if (s->data[i] && s->data[i] != 0x90 && s->data[i] != 0xcc)
			return true;
	return false;
}

/* Code that has no names by its nature: of alternatives, of fixups, of the linker. */
static bool nameless(const char *section)
{
	return !strcmp(section, ".altinstr_replacement") || !strcmp(section, ".altinstr_aux") ||
	       !strcmp(section, ".fixup") || !strncmp(section, ".plt", 4) ||
	       !strncmp(section, ".init.plt", 9);
}

const char *lint_object_blind(const struct lint_object *obj)
{
	bool code = false, missing = false, lto = false;
	size_t i, f = 0;

	for (i = 0; i < obj->nsec && !code; i++) {
		const struct lint_section *s = &obj->sec[i];

		/* Functions lie in the order of their sections. */
		while (f < obj->nfunc && obj->func[f].sec < i)
			f++;
		if (f < obj->nfunc && obj->func[f].sec == i)
			continue;
		if (obj->nfunc && (!obj->relocatable || nameless(s->name)))
			continue;
		code = lint_is_code(s) && code_in(s);
		missing |= s->type == SHT_NOBITS && s->size && s->flags & SHF_EXECINSTR;
		lto |= !strncmp(s->name, ".gnu.lto_", 9);
	}
	if (obj->nfunc)
		return code ? "holds a section of code without symbols, so its functions cannot be "
		              "told "
		              "apart"
		            : NULL;
	return code      ? "holds code but no symbols, so its functions cannot be told apart"
	       : missing ? "holds no code, only what describes it: it is a separate debug file"
	       : lto     ? "holds what the compiler left for the linker to compile (-flto), no code"
	                 : NULL;
}

uint32_t lint_func_at(const struct lint_object *obj, uint32_t sec, uint32_t off)
{
	size_t lo = 0, hi = obj->nfunc;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const struct lint_func *f = &obj->func[mid];

		if (f->sec < sec || (f->sec == sec && f->off <= off))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo && obj->func[lo - 1].sec == sec &&
	    off - obj->func[lo - 1].off < obj->func[lo - 1].size)
		return (uint32_t)(lo - 1);
	return NO_FUNC;
}
