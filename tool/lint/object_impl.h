/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of reading an object share. */
#ifndef LINT_OBJECT_IMPL_H
#define LINT_OBJECT_IMPL_H

#include "lint/object.h"

/**
 * lint_object_open() - one ELF object in memory.
 * @path:      its name, "lib.a(member.o)" of a member; the first @file_part bytes name the file.
 * @image:     what @data is a part of; the object takes a reference.
 *
 * Return: the object, or NULL with a sentence in @why.
 */
struct lint_object *lint_object_open(const char *path, size_t file_part, struct lint_image *image,
                                     uint8_t *data, size_t bytes, char *why, size_t why_bytes);

/**
 * lint_sections_read() - sections, symbol table and relocations of obj->elf (sections.c).
 *
 * Return: false with a sentence in @why when anything of it is damaged.
 */
bool lint_sections_read(struct lint_object *obj, char *why, size_t why_bytes);
void lint_sections_free(struct lint_object *obj);
const char *lint_sym_name(const struct lint_object *obj, const Elf64_Sym *sym);

/**
 * lint_symbols_read() - the functions that the symbols name (symbols.c).
 *
 * Return: false when memory ran out.
 */
bool lint_symbols_read(struct lint_object *obj);

#endif
