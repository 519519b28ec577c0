// SPDX-License-Identifier: BSD-2-Clause
/*
 * From the bytes of a file to its objects: one, or the members of an archive. A thin archive,
 * as the kernel's built-in.a, holds only the names of its members. Each member that cannot be
 * read is told by its own name; the others are checked all the same.
 */
#include "lint/finding.h"
#include "lint/object_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HEADER      60
#define DEPTH_MAX   4
#define MEMBERS_MAX (1u << 17) /* over all depths: an archive may name itself */

static const char magic[] = "!<arch>\n", thin_magic[] = "!<thin>\n";

struct archive {
	const char *path;
	struct lint_image *image;
	bool thin;
	unsigned depth;
	const char *names; /* the table of long names */
	size_t name_bytes;
};

static bool open_all(const char *path, struct lint_image *image, unsigned depth,
                     struct lint_opened *o);

bool lint_failure_add(struct lint_failure **list, size_t *n, const char *path, const char *why)
{
	struct lint_failure *more = realloc(*list, (*n + 1) * sizeof(*more));

	if (!more)
		return false;
	*list = more;
	more[*n].path = strdup(path);
	more[*n].why = strdup(why);
	if (!more[*n].path || !more[*n].why) {
		free(more[*n].path);
		free(more[*n].why);
		return false;
	}
	++*n;
	return true;
}

static bool failed(struct lint_opened *o, const char *path, const char *why)
{
	lint_failure_add(&o->failed, &o->nfailed, path, why);
	return false;
}

static bool object_add(struct lint_opened *o, const char *path, size_t file_part,
                       struct lint_image *image, uint8_t *data, size_t bytes)
{
	char why[512] = "cannot be read: out of memory";
	struct lint_object **more = realloc(o->list, (o->n + 1) * sizeof(*more)), *obj;

	if (!more)
		return failed(o, path, why);
	o->list = more;
	obj = lint_object_open(path, file_part, image, data, bytes, why, sizeof(why));
	if (!obj)
		return failed(o, path, why);
	o->list[o->n++] = obj;
	return true;
}

/* Tables of an object want to lie aligned, and archives align to two bytes only. */
static void member_add(const struct archive *a, struct lint_opened *o, const char *name,
                       uint8_t *data, size_t bytes)
{
	char why[512];
	struct lint_image *copy;

	if ((uintptr_t)data % 8 == 0) {
		object_add(o, name, strlen(a->path), a->image, data, bytes);
		return;
	}
	copy = lint_image_from(data, bytes, why, sizeof(why));
	if (!copy) {
		failed(o, name, why);
		return;
	}
	object_add(o, name, strlen(a->path), copy, copy->data, copy->bytes);
	lint_image_put(copy);
}

/* A thin archive's member lies beside it. Only a plain file is read: the name may be anything. */
static void thin_add(const struct archive *a, struct lint_opened *o, const char *name,
                     const char *member)
{
	const char *slash = member[0] == '/' ? NULL : strrchr(a->path, '/');
	char place[8300], why[512];
	struct lint_image *image;
	struct stat st;

	snprintf(place, sizeof(place), "%.*s%s", slash ? (int)(slash - a->path + 1) : 0, a->path,
	         member);
	if (stat(place, &st) != 0 || !S_ISREG(st.st_mode)) {
		failed(o, name, "cannot be read: the archive is thin and this file is not there");
		return;
	}
	image = lint_image_load(place, why, sizeof(why));
	if (!image) {
		failed(o, name, why);
		return;
	}
	if (image->bytes >= 8 &&
	    (!memcmp(image->data, magic, 8) || !memcmp(image->data, thin_magic, 8)))
		open_all(place, image, a->depth + 1, o);
	else
		object_add(o, name, strlen(a->path), image, image->data, image->bytes);
	lint_image_put(image);
}

/* Name of the member at @head: "name/", "/offset" in the table of names, or BSD's "#1/bytes". */
static bool name_read(const struct archive *a, const char *head, const char *data, size_t bytes,
                      char *name, size_t name_bytes, size_t *skip)
{
	char field[17];
	const char *p, *end;
	unsigned long v;
	char *rest;

	memcpy(field, head, 16);
	field[16] = '\0';
	*skip = 0;
	if (!strncmp(field, "#1/", 3)) {
		v = strtoul(field + 3, NULL, 10);
		if (v > bytes)
			return false;
		*skip = v;
		snprintf(name, name_bytes, "%.*s", (int)(v < 4000 ? v : 4000), data);
		return true;
	}
	if (field[0] == '/' && field[1] >= '0' && field[1] <= '9') {
		v = strtoul(field + 1, &rest, 10);
		/* "/offset:origin": a part of another archive, which ar resolves by itself. */
		if (v >= a->name_bytes || *rest == ':')
			return false;
		p = a->names + v;
		end = memchr(p, '\n', a->name_bytes - v);
		if (!end)
			return false;
		if (end > p && end[-1] == '/')
			end--;
		snprintf(name, name_bytes, "%.*s", (int)(end - p < 4000 ? end - p : 4000), p);
		return *name;
	}
	p = memchr(field, '/', 16);
	for (v = p ? (unsigned long)(p - field) : 16; v && field[v - 1] == ' '; v--)
		;
	snprintf(name, name_bytes, "%.*s", (int)v, field);
	return *name;
}

static bool archive_read(struct archive *a, struct lint_opened *o)
{
	uint8_t *data = a->image->data;
	size_t bytes = a->image->bytes, at = 8, skip, size, count = 0;
	char name[4096], full[8300], field[11], *rest;

	while (at < bytes) {
		const char *head = (const char *)data + at;
		bool index, kept;

		if (bytes - at == 1 && *head == '\n')
			break;
		if (bytes - at < HEADER || memcmp(head + 58, "`\n", 2) != 0)
			return failed(o, a->path,
			              "is a damaged archive: a member's header is not whole");
		memcpy(field, head + 48, 10);
		field[10] = '\0';
		size = strtoul(field, &rest, 10);
		if (rest == field || *rest != ' ')
			return failed(o, a->path,
			              "is a damaged archive: a member's size is no number");
		at += HEADER;
		index = !strncmp(head, "/ ", 2) || !strncmp(head, "/SYM64/ ", 8) ||
		        !strncmp(head, "__.SYMDEF", 9);
		kept = !a->thin || index || !strncmp(head, "// ", 3);
		if (kept && size > bytes - at)
			return failed(o, a->path,
			              "is a truncated archive: its last member is not whole");
		if (!strncmp(head, "// ", 3)) {
			a->names = (const char *)data + at;
			a->name_bytes = size;
		} else if (!index) {
			count++;
			if (++o->members > MEMBERS_MAX)
				return failed(o, a->path, "has too many members");
			if (!name_read(a, head, (const char *)data + at, kept ? size : 0, name,
			               sizeof(name), &skip))
				return failed(o, a->path,
				              "is a damaged archive: a member has no name");
			snprintf(full, sizeof(full), "%s(%s)", a->path, name);
			lint_clean(full + strlen(a->path));
			if (!strncmp(name, "__.SYMDEF", 9))
				;
			else if (a->thin)
				thin_add(a, o, full, name);
			else
				member_add(a, o, full, data + at + skip, size - skip);
		}
		if (kept)
			at += size + (size & 1);
	}
	if (!count)
		return failed(o, a->path, "is an archive without any object");
	return true;
}

static bool open_all(const char *path, struct lint_image *image, unsigned depth,
                     struct lint_opened *o)
{
	struct archive a = {.path = path, .image = image, .depth = depth};

	a.thin = image->bytes >= 8 && !memcmp(image->data, thin_magic, 8);
	if (!a.thin && (image->bytes < 8 || memcmp(image->data, magic, 8) != 0))
		return object_add(o, path, strlen(path), image, image->data, image->bytes);
	if (depth > DEPTH_MAX)
		return failed(o, path, "is an archive in an archive, too many deep");
	return archive_read(&a, o);
}

bool lint_objects_open(const char *path, struct lint_image *image, struct lint_opened *o)
{
	memset(o, 0, sizeof(*o));
	open_all(path, image, 0, o);
	return o->n > 0;
}

void lint_opened_free(struct lint_opened *o)
{
	size_t i;

	for (i = 0; i < o->n; i++)
		lint_object_free(o->list[i]);
	for (i = 0; i < o->nfailed; i++) {
		free(o->failed[i].path);
		free(o->failed[i].why);
	}
	free(o->list);
	free(o->failed);
	memset(o, 0, sizeof(*o));
}
