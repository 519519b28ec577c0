// SPDX-License-Identifier: BSD-2-Clause
/*
 * One object: opening it, what kernel it was built for and which build it is of.
 */
#include "lint/object_impl.h"

#include <gelf.h>
#include <libelf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void elf_once(void)
{
	elf_version(EV_CURRENT);
}

void lint_object_free(struct lint_object *obj)
{
	size_t i;

	if (!obj)
		return;
	lint_sections_free(obj);
	if (obj->elf)
		elf_end(obj->elf);
	if (obj->names) {
		for (i = 0; obj->names[i]; i++)
			free(obj->names[i]);
		free(obj->names);
	}
	if (obj->image)
		lint_image_put(obj->image);
	free(obj->func);
	free(obj->alias);
	free(obj->ev);
	free(obj->edge);
	free(obj->alt);
	free(obj->warn);
	free(obj->path);
	free(obj);
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

/* Modules have a section for it, linked kernels one with all their notes. */
static void build_id_read(struct lint_object *obj)
{
	static const uint32_t gnu_build_id = 3;
	size_t i;

	for (i = 0; i < obj->nsec && !obj->build_id_len; i++) {
		const struct lint_section *s = &obj->sec[i];
		uint64_t at = 0;

		if (s->type != SHT_NOTE || !s->data)
			continue;
		while (s->size - at >= 12) {
			uint32_t head[3];
			uint64_t name, desc;

			memcpy(head, s->data + at, sizeof(head));
			name = ((uint64_t)head[0] + 3) & ~3ull;
			desc = ((uint64_t)head[1] + 3) & ~3ull;
			at += 12;
			if (name > s->size - at || head[1] > s->size - at - name)
				break;
			if (head[2] == gnu_build_id && head[0] == 4 &&
			    !memcmp(s->data + at, "GNU", 4) && head[1] <= sizeof(obj->build_id)) {
				memcpy(obj->build_id, s->data + at + name, head[1]);
				obj->build_id_len = head[1];
				break;
			}
			at += name;
			at += desc < s->size - at ? desc : s->size - at;
		}
	}
}

struct lint_object *lint_object_open(const char *path, size_t file_part, struct lint_image *image,
                                     uint8_t *data, size_t bytes, char *why, size_t why_bytes)
{
	struct lint_object *obj = calloc(1, sizeof(*obj));
	GElf_Ehdr eh;
	size_t i;

	pthread_once(&once, elf_once);
	if (!obj || !(obj->path = strdup(path))) {
		snprintf(why, why_bytes, "cannot be read: out of memory");
		goto fail;
	}
	obj->image = lint_image_get(image);
	obj->module = obj->path;
	for (i = 0; i < file_part; i++)
		if (path[i] == '/')
			obj->module = obj->path + i + 1;
	obj->tag = obj->module;
	obj->elf = elf_memory((char *)data, bytes);
	if (!obj->elf || elf_kind(obj->elf) != ELF_K_ELF || !gelf_getehdr(obj->elf, &eh)) {
		snprintf(
		        why, why_bytes,
		        bytes >= 4 && !memcmp(data, ELFMAG, SELFMAG)
		                ? "is cut short: not even its header is whole"
		        : bytes >= 4 && !memcmp(data, "BC\xc0\xde", 4)
		                ? "is LLVM bitcode, not an ELF object; check what the linker makes "
		                  "of it"
		                : "is not an ELF object");
		goto fail;
	}
	if (eh.e_machine != EM_X86_64 || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] != ELFDATA2LSB) {
		snprintf(why, why_bytes,
		         "is not 64-bit x86 code, which is all that can be checked");
		goto fail;
	}
	if (eh.e_type != ET_REL && eh.e_type != ET_EXEC && eh.e_type != ET_DYN) {
		snprintf(why, why_bytes,
		         eh.e_type == ET_CORE ? "is a core dump; name what holds the code"
		                              : "is an ELF file of an unknown type");
		goto fail;
	}
	obj->relocatable = eh.e_type == ET_REL;
	if (!lint_sections_read(obj, why, why_bytes))
		goto fail;
	modinfo_read(obj);
	if (!obj->relocatable)
		banner_read(obj);
	build_id_read(obj);
	if (!lint_symbols_read(obj)) {
		snprintf(why, why_bytes, "cannot be read: out of memory");
		goto fail;
	}
	if (!obj->nfunc && !obj->nsym && !obj->relocatable)
		lint_kallsyms(obj);
	return obj;
fail:
	lint_object_free(obj);
	return NULL;
}
