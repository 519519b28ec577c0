// SPDX-License-Identifier: BSD-2-Clause
/* Which kind of file is it, and the list of threads that its reader fills. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xst/sigframe.h>

#include "read/file.h"
#include "read/image.h"

#define FILE_MAX (64u << 20) /* of everything but cores on disk, which are read in parts */

static const char *const names[IMAGE_KINDS] = {
	[IMAGE_AUTO] = "auto",     [IMAGE_RAW] = "raw",         [IMAGE_FXSAVE] = "fxsave",
	[IMAGE_CORE] = "core",     [IMAGE_KVM] = "kvm",         [IMAGE_FRAME] = "frame",
	[IMAGE_FRAME32] = "frame32", [IMAGE_CRIU] = "criu",
};

const char *image_kind_name(enum image_kind kind)
{
	return (unsigned)kind < IMAGE_KINDS ? names[kind] : NULL;
}

struct image_thread *image_add(struct image_file *file, const void *data, size_t bytes, char *err,
			       size_t errlen)
{
	struct image_thread *t;

	if (bytes > IMAGE_ROOM) {
		snprintf(err, errlen, "%s: %zu bytes are more than any XSAVE area has", file->path,
			 bytes);
		return NULL;
	}
	t = realloc(file->threads, (file->count + 1) * sizeof(*t));
	if (!t)
		goto no_memory;
	file->threads = t;
	t += file->count;
	memset(t, 0, sizeof(*t));
	t->area = aligned_alloc(64, IMAGE_ROOM);
	if (!t->area)
		goto no_memory;
	memset(t->area, 0, IMAGE_ROOM);
	memcpy(t->area, data, bytes);
	t->bytes = bytes;
	t->wide = true;
	file->count++;
	return t;
no_memory:
	snprintf(err, errlen, "%s: out of memory", file->path);
	return NULL;
}

struct image_thread *image_add_fxsave(struct image_file *file, const void *data, uint64_t live,
				      char *err, size_t errlen)
{
	struct image_thread *t = image_add(file, data, XST_LEGACY_BYTES, err, errlen);

	if (!t)
		return NULL;
	xst_put64(t->area, XST_OFF_XSTATE_BV, live);
	t->bytes = XST_EXT_OFFSET;
	t->wrapped = true;
	t->sized = true;
	t->placed = true;
	t->layout_by = "FXSAVE has one layout";
	t->xcr0 = XST_MASK_LEGACY;
	t->layout.mask = XST_MASK_LEGACY;
	t->layout.format = XST_STANDARD;
	t->layout.bytes = XST_EXT_OFFSET;
	t->layout.size[XST_COMP_X87] = 160;
	t->layout.offset[XST_COMP_SSE] = XST_OFF_XMM;
	t->layout.size[XST_COMP_SSE] = 256;
	return t;
}

bool is_linux_xcr0(uint64_t mask)
{
	return (mask & XST_MASK_X87) && !(mask & ~XST_MASK_USER);
}

bool is_criu(const uint8_t *data, size_t bytes)
{
	return bytes >= 8 && xst_get32(data, 0) == CRIU_COMMON_MAGIC &&
	       xst_get32(data, 4) == CRIU_CORE_MAGIC;
}

static enum image_kind detect(const uint8_t *data, size_t bytes)
{
	if (bytes >= 4 && !memcmp(data, "\177ELF", 4))
		return IMAGE_CORE;
	if (is_criu(data, bytes))
		return IMAGE_CRIU;
	if (bytes >= XST_LEGACY_BYTES && xst_get32(data, XST_OFF_SOFTWARE) == XST_FRAME_MAGIC1)
		return IMAGE_FRAME;
	if (bytes >= XST_FRAME_LEGACY_BYTES + XST_LEGACY_BYTES &&
	    xst_get32(data, XST_FRAME_LEGACY_BYTES + XST_OFF_SOFTWARE) == XST_FRAME_MAGIC1)
		return IMAGE_FRAME32;
	if (bytes == XST_LEGACY_BYTES)
		return IMAGE_FXSAVE;
	if (bytes >= 4096 && !(xst_get64(data, XST_OFF_XCOMP_BV) & XST_XCOMP_COMPACT) &&
	    is_linux_xcr0(xst_get64(data, XST_OFF_SOFTWARE)) &&
	    (bytes == 4096 || bytes % 64 == 0))
		return IMAGE_KVM;
	return IMAGE_RAW;
}

/* Kinds that need a library this command may have been built without. */
static int __attribute__((unused)) without(const struct image_file *f, const char *library,
					   char *err, size_t errlen)
{
	snprintf(err, errlen, "%s: %s files cannot be read: built without %s", f->path,
		 image_kind_name(f->kind), library);
	return -1;
}

#ifndef HAVE_LIBELF
int read_core(struct image_file *f, const uint8_t *data, size_t bytes, char *err, size_t errlen)
{
	(void)data;
	(void)bytes;
	return without(f, "libelf", err, errlen);
}

int read_core_fd(struct image_file *f, int fd, char *err, size_t errlen)
{
	(void)fd;
	return without(f, "libelf", err, errlen);
}
#endif

#ifndef HAVE_PROTOBUF_C
int read_criu(struct image_file *f, const uint8_t *data, size_t bytes, char *err, size_t errlen)
{
	(void)data;
	(void)bytes;
	return without(f, "protobuf-c", err, errlen);
}
#endif

int read_image_bytes(const char *path, enum image_kind kind, const void *data, size_t bytes,
		     struct image_file *out, char *err, size_t errlen)
{
	*out = (struct image_file){path, kind == IMAGE_AUTO ? detect(data, bytes) : kind, NULL, 0};
	if (!bytes) {
		snprintf(err, errlen, "%s: the file is empty", path);
		return -1;
	}
	switch (out->kind) {
	case IMAGE_CORE:
		return read_core(out, data, bytes, err, errlen);
	case IMAGE_CRIU:
		return read_criu(out, data, bytes, err, errlen);
	case IMAGE_KVM:
		return read_kvm(out, data, bytes, err, errlen);
	case IMAGE_FRAME:
	case IMAGE_FRAME32:
		return read_frame(out, data, bytes, err, errlen);
	default:
		return read_raw(out, data, bytes, err, errlen);
	}
}

/* A core may be larger than memory, so only its notes are read. 1: it is not a core on disk. */
static int try_core(const char *path, struct image_file *out, char *err, size_t errlen)
{
	struct stat st;
	char magic[4];
	int fd, ret = 1;

	if (!strcmp(path, "-"))
		return 1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return 1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && pread(fd, magic, 4, 0) == 4 &&
	    !memcmp(magic, "\177ELF", 4)) {
		*out = (struct image_file){path, IMAGE_CORE, NULL, 0};
		ret = read_core_fd(out, fd, err, errlen);
	}
	close(fd);
	return ret;
}

int read_image(const char *path, enum image_kind kind, struct image_file *out, char *err,
	       size_t errlen)
{
	char *data;
	size_t bytes;
	int ret;

	memset(out, 0, sizeof(*out));
	if (kind == IMAGE_AUTO || kind == IMAGE_CORE) {
		ret = try_core(path, out, err, errlen);
		if (ret <= 0)
			return ret;
	}
	if (read_file(path, FILE_MAX, &data, &bytes, err, errlen))
		return -1;
	ret = read_image_bytes(path, kind, data, bytes, out, err, errlen);
	free(data);
	return ret;
}

void read_image_free(struct image_file *file)
{
	for (size_t i = 0; i < file->count; i++)
		free(file->threads[i].area);
	free(file->threads);
	memset(file, 0, sizeof(*file));
}
