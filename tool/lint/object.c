// SPDX-License-Identifier: BSD-2-Clause
/*
 * Opening an object: sections, symbols and relocations by libelf, and from the symbols
 * the functions. Hand-written assembly has labels instead of functions, aliases and
 * symbols without a size, so functions are settled after all symbols were seen.
 */
#include "lint/object.h"

#include <gelf.h>
#include <libelf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Code beyond this is refused: offsets are 32 bits wide everywhere below. */
#define SECTION_BYTES_MAX (1u << 30)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t users_lock = PTHREAD_MUTEX_INITIALIZER;

static void elf_once(void)
{
	elf_version(EV_CURRENT);
}

static struct lint_image *image_get(struct lint_image *image)
{
	pthread_mutex_lock(&users_lock);
	image->users++;
	pthread_mutex_unlock(&users_lock);
	return image;
}

void lint_object_free(struct lint_object *obj)
{
	size_t i;

	if (!obj)
		return;
	if (obj->sec)
		for (i = 0; i < obj->nsec; i++)
			if (obj->sec[i].flags & (1ull << 63))
				free((void *)(uintptr_t)obj->sec[i].rel);
	if (obj->elf)
		elf_end(obj->elf);
	if (obj->names) {
		for (i = 0; obj->names[i]; i++)
			free(obj->names[i]);
		free(obj->names);
	}
	if (obj->image)
		lint_image_put(obj->image);
	free(obj->sec);
	free(obj->func);
	free(obj->ev);
	free(obj->edge);
	free(obj->alt);
	free(obj->warn);
	free(obj->path);
	free(obj);
}

static int rel_order(const void *a, const void *b)
{
	const Elf64_Rela *x = a, *y = b;

	return x->r_offset < y->r_offset ? -1 : x->r_offset > y->r_offset;
}

/* Relocations of section @s. They are sorted but for a few tools; a copy is sorted then. */
static bool rel_read(struct lint_object *obj, struct lint_section *s, Elf_Scn *scn)
{
	Elf_Data *d = elf_getdata(scn, NULL);
	const Elf64_Rela *rel;
	size_t n, i;

	(void)obj;
	if (!d || !d->d_buf || d->d_size < sizeof(Elf64_Rela) || s->rel)
		return true;
	rel = d->d_buf;
	n = d->d_size / sizeof(Elf64_Rela);
	for (i = 1; i < n; i++)
		if (rel[i - 1].r_offset > rel[i].r_offset)
			break;
	if (i < n) {
		Elf64_Rela *copy = malloc(n * sizeof(*copy));

		if (!copy)
			return false;
		memcpy(copy, rel, n * sizeof(*copy));
		qsort(copy, n, sizeof(*copy), rel_order);
		rel = copy;
		s->flags |= 1ull << 63; /* ours to free */
	}
	s->rel = rel;
	s->nrel = n;
	return true;
}

static const char *section_name(Elf *elf, size_t shstr, const GElf_Shdr *sh)
{
	const char *name = elf_strptr(elf, shstr, sh->sh_name);

	return name ? name : "";
}

static bool sections_read(struct lint_object *obj, Elf *elf)
{
	size_t n = 0, shstr = 0, i;

	if (elf_getshdrnum(elf, &n) != 0 || elf_getshdrstrndx(elf, &shstr) != 0 || n > 1u << 20)
		return false;
	obj->sec = calloc(n ? n : 1, sizeof(*obj->sec));
	if (!obj->sec)
		return false;
	obj->nsec = n;
	for (i = 0; i < n; i++) {
		struct lint_section *s = &obj->sec[i];
		Elf_Scn *scn = elf_getscn(elf, i);
		Elf_Data *d;
		GElf_Shdr sh;

		s->name = "";
		if (!scn || !gelf_getshdr(scn, &sh))
			continue;
		s->name = section_name(elf, shstr, &sh);
		s->addr = obj->relocatable ? 0 : sh.sh_addr;
		s->flags = sh.sh_flags & ~(1ull << 63);
		s->type = sh.sh_type;
		s->size = sh.sh_size;
		if (sh.sh_type == SHT_NOBITS || sh.sh_size == 0 || !(sh.sh_flags & SHF_ALLOC) ||
		    (sh.sh_flags & SHF_COMPRESSED))
			continue;
		if (sh.sh_size > SECTION_BYTES_MAX)
			continue;
		d = elf_rawdata(scn, NULL);
		if (d && d->d_buf && d->d_size == sh.sh_size)
			s->data = d->d_buf;
	}
	return true;
}

static bool tables_read(struct lint_object *obj, Elf *elf)
{
	size_t i;

	for (i = 0; i < obj->nsec; i++) {
		Elf_Scn *scn = elf_getscn(elf, i);
		Elf_Data *d;
		GElf_Shdr sh;

		if (!scn || !gelf_getshdr(scn, &sh))
			continue;
		if (sh.sh_type == SHT_RELA && obj->relocatable && sh.sh_info < obj->nsec) {
			/* What is only for debuggers is large and says nothing to us. */
			if (!(obj->sec[sh.sh_info].flags & SHF_ALLOC))
				continue;
			if (!rel_read(obj, &obj->sec[sh.sh_info], scn))
				return false;
		}
		if (sh.sh_type == SHT_SYMTAB && !obj->sym) {
			Elf_Scn *str = sh.sh_link ? elf_getscn(elf, sh.sh_link) : NULL;
			Elf_Data *sd = str ? elf_getdata(str, NULL) : NULL;

			d = elf_getdata(scn, NULL);
			if (!d || !d->d_buf || !sd || !sd->d_buf || !sd->d_size)
				continue;
			if (((const char *)sd->d_buf)[sd->d_size - 1] != '\0')
				continue;
			obj->sym = d->d_buf;
			obj->nsym = d->d_size / sizeof(Elf64_Sym);
			obj->str = sd->d_buf;
			obj->str_bytes = sd->d_size;
		}
	}
	return true;
}

static const char *sym_name(const struct lint_object *obj, const Elf64_Sym *sym)
{
	return sym->st_name < obj->str_bytes ? obj->str + sym->st_name : "";
}

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

/*
 * Make functions that do not overlap: one for each place, aliases merged, labels inside
 * a sized function dropped, and unsized ones ending where the next begins.
 */
void lint_funcs_settle(struct lint_object *obj)
{
	size_t i, n = 0;

	if (!obj->nfunc)
		return;
	qsort(obj->func, obj->nfunc, sizeof(*obj->func), func_order);
	for (i = 0; i < obj->nfunc; i++) {
		struct lint_func *f = &obj->func[i];
		struct lint_func *last = n ? &obj->func[n - 1] : NULL;

		if (last && last->sec == f->sec && last->off == f->off) {
			last->flags |= f->flags & ~(uint32_t)FUNC_UNSIZED;
			if (last->size == 0)
				last->size = f->size;
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
}

static int name_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Symbols that the kernel's export table names; @n 0 means that there is no such table. */
static const char **exports_read(const struct lint_object *obj, size_t *n)
{
	static const char prefix[] = "__ksymtab_";
	const char **list = NULL;
	size_t i, cap = 0;

	*n = 0;
	for (i = 1; i < obj->nsym; i++) {
		const char *name = sym_name(obj, &obj->sym[i]);

		if (strncmp(name, prefix, sizeof(prefix) - 1) != 0)
			continue;
		if (*n == cap) {
			const char **more;

			cap = cap ? cap * 2 : 64;
			more = realloc(list, cap * sizeof(*list));
			if (!more)
				break;
			list = more;
		}
		list[(*n)++] = name + sizeof(prefix) - 1;
	}
	if (*n)
		qsort(list, *n, sizeof(*list), name_order);
	return list;
}

static bool symbols_read(struct lint_object *obj)
{
	size_t i, cap = 0, nexport = 0;
	const char **exports = exports_read(obj, &nexport);

	for (i = 1; i < obj->nsym; i++) {
		const Elf64_Sym *sym = &obj->sym[i];
		unsigned type = ELF64_ST_TYPE(sym->st_info);
		unsigned bind = ELF64_ST_BIND(sym->st_info);
		const char *name = sym_name(obj, sym);
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
	lint_funcs_settle(obj);
	return true;
}

static uint32_t section_find(const struct lint_object *obj, const char *name)
{
	size_t i;

	for (i = 0; i < obj->nsec; i++)
		if (!strcmp(obj->sec[i].name, name))
			return (uint32_t)i;
	return NO_SECTION;
}

/* Which kernel a module was built for: .modinfo holds "vermagic=6.1.0-57-amd64 SMP ...". */
static void modinfo_read(struct lint_object *obj)
{
	static const char key[] = "vermagic=";
	uint32_t i = section_find(obj, ".modinfo");
	const struct lint_section *s = i == NO_SECTION ? NULL : &obj->sec[i];
	const char *p, *end;

	obj->kernel_module = section_find(obj, ".gnu.linkonce.this_module") != NO_SECTION;
	if (!s || !s->data || s->data[s->size - 1])
		return;
	end = (const char *)s->data + s->size;
	for (p = (const char *)s->data; p < end; p += strlen(p) + 1) {
		unsigned major, minor;

		if (!strncmp(p, key, sizeof(key) - 1) &&
		    sscanf(p + sizeof(key) - 1, "%u.%u", &major, &minor) == 2)
			obj->kernel_version = (major & 0xff) << 16 | (minor & 0xff) << 8;
	}
}

/* A linked kernel says "Linux version 6.1.0-57-amd64 (...)" somewhere in its constants. */
static void banner_read(struct lint_object *obj)
{
	static const char key[] = "Linux version ";
	size_t i;

	for (i = 0; i < obj->nsec && !obj->kernel_version; i++) {
		const struct lint_section *s = &obj->sec[i];
		const char *p = s->data && strncmp(s->name, ".rodata", 7) == 0
		                        ? memmem(s->data, s->size, key, sizeof(key) - 1)
		                        : NULL;
		unsigned major, minor;
		char text[16];
		size_t left;

		if (!p)
			continue;
		p += sizeof(key) - 1;
		left = s->size - (size_t)(p - (const char *)s->data);
		snprintf(text, sizeof(text), "%.*s", (int)(left < 15 ? left : 15), p);
		if (sscanf(text, "%u.%u", &major, &minor) == 2)
			obj->kernel_version = (major & 0xff) << 16 | (minor & 0xff) << 8;
	}
}

static void build_id_read(struct lint_object *obj)
{
	uint32_t i = section_find(obj, ".note.gnu.build-id");
	const struct lint_section *s = i == NO_SECTION ? NULL : &obj->sec[i];
	uint32_t namesz, descsz;

	if (!s || !s->data || s->size < 16)
		return;
	memcpy(&namesz, s->data, 4);
	memcpy(&descsz, s->data + 4, 4);
	if (namesz != 4 || descsz > sizeof(obj->build_id) || descsz > s->size - 16)
		return;
	memcpy(obj->build_id, s->data + 16, descsz);
	obj->build_id_len = descsz;
}

/* Takes over @elf, also on failure. */
static struct lint_object *object_open(const char *path, struct lint_image *image, Elf *elf,
                                       char *why, size_t why_bytes)
{
	struct lint_object *obj = calloc(1, sizeof(*obj));
	const char *slash;
	GElf_Ehdr eh;

	if (!obj) {
		elf_end(elf);
		snprintf(why, why_bytes, "out of memory");
		return NULL;
	}
	obj->elf = elf;
	obj->image = image_get(image);
	obj->path = strdup(path);
	if (!obj->path)
		goto fail;
	slash = strrchr(obj->path, '/');
	obj->module = slash ? slash + 1 : obj->path;
	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &eh)) {
		snprintf(why, why_bytes, "is not an ELF object");
		goto fail;
	}
	if (eh.e_machine != EM_X86_64 || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] != ELFDATA2LSB) {
		snprintf(why, why_bytes,
		         "is not 64-bit x86 code, which is all that can be checked");
		goto fail;
	}
	obj->relocatable = eh.e_type == ET_REL;
	if (!sections_read(obj, elf) || !tables_read(obj, elf)) {
		snprintf(why, why_bytes, "has damaged section headers");
		goto fail;
	}
	modinfo_read(obj);
	if (!obj->relocatable)
		banner_read(obj);
	build_id_read(obj);
	if (!symbols_read(obj)) {
		snprintf(why, why_bytes, "out of memory");
		goto fail;
	}
	if (!obj->nfunc && !obj->nsym && !obj->relocatable)
		lint_kallsyms(obj);
	return obj;
fail:
	lint_object_free(obj);
	return NULL;
}

static bool object_push(struct lint_object ***list, size_t *n, struct lint_object *obj)
{
	struct lint_object **more = realloc(*list, (*n + 1) * sizeof(**list));

	if (!more)
		return false;
	*list = more;
	more[(*n)++] = obj;
	return true;
}

bool lint_objects_open(const char *path, struct lint_image *image, struct lint_object ***list,
                       size_t *n, char *why, size_t why_bytes)
{
	Elf *elf, *member;
	Elf_Cmd cmd = ELF_C_READ_MMAP; /* what elf_memory() opens as */
	struct lint_object *obj;
	char name[4096];

	*list = NULL;
	*n = 0;
	pthread_once(&once, elf_once);
	elf = elf_memory((char *)image->data, image->bytes);
	if (!elf) {
		snprintf(why, why_bytes, "is not an ELF object");
		return false;
	}
	if (elf_kind(elf) != ELF_K_AR) {
		obj = object_open(path, image, elf, why, why_bytes);
		if (obj && !object_push(list, n, obj)) {
			lint_object_free(obj);
			obj = NULL;
		}
		return obj != NULL;
	}
	/* Members hold the archive's own handle alive. */
	while ((member = elf_begin(-1, cmd, elf))) {
		Elf_Arhdr *ar = elf_getarhdr(member);

		/* Going on to the next member overwrites this one's header. */
		bool skip = !ar || !ar->ar_name || ar->ar_name[0] == '/' ||
		            elf_kind(member) != ELF_K_ELF;

		snprintf(name, sizeof(name), "%s(%s)", path, skip ? "" : ar->ar_name);
		cmd = elf_next(member);
		if (skip) {
			elf_end(member);
			continue;
		}
		obj = object_open(name, image, member, why, why_bytes);
		if (!obj || !object_push(list, n, obj)) {
			lint_object_free(obj);
			break;
		}
	}
	elf_end(elf);
	if (member || !*n) {
		if (!member)
			snprintf(why, why_bytes, "is an archive without any object");
		while (*n)
			lint_object_free((*list)[--*n]);
		free(*list);
		*list = NULL;
		return false;
	}
	return true;
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
		t.name = sym_name(obj, sym);
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
