// SPDX-License-Identifier: BSD-2-Clause
/*
 * Getting at the bytes: plain files are mapped; .xz, .zst and .gz are unpacked; of a
 * bzImage the kernel inside is unpacked. What a file is, its first bytes say, not its name.
 */
#include "lint/object.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

/* A hostile file must not fill the memory. Kernels with debug information are this large. */
#define UNPACKED_MAX ((size_t)900 << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A buffer that unpacking fills; grows by doubling. */
struct sink {
	uint8_t *data;
	size_t used, cap;
	const char *full; /* why there is no more room */
};

static bool sink_room(struct sink *s)
{
	size_t more = s->cap ? s->cap * 2 : 1u << 16;
	uint8_t *data;

	if (s->used < s->cap)
		return true;
	if (s->cap == UNPACKED_MAX) {
		s->full = "is larger than 900 MiB unpacked";
		return false;
	}
	if (more > UNPACKED_MAX)
		more = UNPACKED_MAX;
	data = realloc(s->data, more);
	if (!data) {
		s->full = "cannot be unpacked: out of memory";
		return false;
	}
	s->data = data;
	s->cap = more;
	return true;
}

/*
 * @whole: the file is nothing else, so several packed parts may follow each other, as parallel
 * packers write them. In a kernel image other bytes follow.
 */
static bool unpack_xz(const uint8_t *p, size_t n, bool whole, struct sink *s)
{
	lzma_stream z = LZMA_STREAM_INIT;
	lzma_ret r = lzma_auto_decoder(&z, UINT64_C(1) << 30, whole ? LZMA_CONCATENATED : 0);

	z.next_in = p;
	z.avail_in = n;
	while (r == LZMA_OK) {
		if (!sink_room(s)) {
			r = LZMA_MEM_ERROR;
			break;
		}
		z.next_out = s->data + s->used;
		z.avail_out = s->cap - s->used;
		r = lzma_code(&z, LZMA_FINISH);
		s->used = s->cap - z.avail_out;
	}
	lzma_end(&z);
	return r == LZMA_STREAM_END;
}

static bool unpack_zstd(const uint8_t *p, size_t n, bool whole, struct sink *s)
{
	ZSTD_DStream *z = ZSTD_createDStream();
	ZSTD_inBuffer in = {p, n, 0};
	size_t r = 1;

	while (z && (r || (whole && in.pos < in.size))) {
		ZSTD_outBuffer out;

		if (!sink_room(s)) {
			r = 1;
			break;
		}
		out = (ZSTD_outBuffer){s->data, s->cap, s->used};
		r = ZSTD_decompressStream(z, &out, &in);
		if (ZSTD_isError(r) || (r && out.pos == s->used && in.pos == in.size)) {
			r = 1;
			break;
		}
		s->used = out.pos;
	}
	ZSTD_freeDStream(z);
	return z && r == 0;
}

static bool unpack_gzip(const uint8_t *p, size_t n, bool whole, struct sink *s)
{
	z_stream z = {0};
	int r = Z_OK;

	if (n > UINT32_MAX || inflateInit2(&z, 15 + 32) != Z_OK)
		return false;
	z.next_in = (Bytef *)(uintptr_t)p;
	z.avail_in = (uInt)n;
	while (r == Z_OK) {
		if (!sink_room(s)) {
			r = Z_MEM_ERROR;
			break;
		}
		z.next_out = s->data + s->used;
		z.avail_out = (uInt)(s->cap - s->used > UINT32_MAX ? UINT32_MAX : s->cap - s->used);
		n = z.avail_out;
		r = inflate(&z, Z_NO_FLUSH);
		s->used += n - z.avail_out;
		/* gzip itself pads with zeros only. */
		while (whole && r == Z_STREAM_END && z.avail_in && !*z.next_in) {
			z.next_in++;
			z.avail_in--;
		}
		if (whole && r == Z_STREAM_END && z.avail_in)
			r = inflateReset(&z);
	}
	inflateEnd(&z);
	return r == Z_STREAM_END;
}

enum packing { PLAIN, XZ, LZMA, ZST, GZ, BZIP2, LZ4, LZO };

static enum packing packing_of(const uint8_t *p, size_t n)
{
	if (n >= 6 && !memcmp(p,
	                      "\xfd"
	                      "7zXZ",
	                      6))
		return XZ;
	if (n >= 4 && !memcmp(p, "\x28\xb5\x2f\xfd", 4))
		return ZST;
	if (n >= 3 && !memcmp(p, "\x1f\x8b\x08", 3))
		return GZ;
	if (n >= 3 && !memcmp(p, "BZh", 3))
		return BZIP2;
	if (n >= 4 && !memcmp(p, "\x02\x21\x4c\x18", 4))
		return LZ4;
	if (n >= 4 && !memcmp(p, "\x89LZO", 4))
		return LZO;
	if (n >= 13 && !memcmp(p, "\x5d\0\0", 3))
		return LZMA;
	return PLAIN;
}

/* The compressed kernel inside a bzImage. Ref: Linux Documentation/arch/x86/boot.rst. */
static bool payload_of(const uint8_t *p, size_t n, const uint8_t **payload, size_t *bytes)
{
	uint32_t off, len;
	uint64_t begin;

	if (n < 0x250 || memcmp(p + 0x202, "HdrS", 4) != 0)
		return false;
	memcpy(&off, p + 0x248, 4);
	memcpy(&len, p + 0x24c, 4);
	begin = ((uint64_t)(p[0x1f1] ? p[0x1f1] : 4) + 1) * 512 + off;
	*payload = p;
	*bytes = 0;
	if (begin >= n || len > n - begin || len < 16)
		return true;
	*payload = p + begin;
	*bytes = len;
	return true;
}

void lint_image_put(struct lint_image *image)
{
	unsigned left;

	pthread_mutex_lock(&lock);
	left = --image->users;
	pthread_mutex_unlock(&lock);
	if (left)
		return;
	if (image->mapped)
		munmap(image->data, image->bytes);
	else
		free(image->data);
	free(image);
}

struct lint_image *lint_image_get(struct lint_image *image)
{
	pthread_mutex_lock(&lock);
	image->users++;
	pthread_mutex_unlock(&lock);
	return image;
}

static struct lint_image *image_new(uint8_t *data, size_t bytes, bool mapped)
{
	struct lint_image *image = calloc(1, sizeof(*image));

	if (image)
		*image = (struct lint_image){data, bytes, mapped, 1};
	return image;
}

/* Unpack @data; *@image stays NULL when it is not packed. */
static bool unpack(const uint8_t *data, size_t bytes, struct lint_image **image, char *why,
                   size_t why_bytes)
{
	static const char *const names[] = {"",     "xz",    "lzma", "zstd",
	                                    "gzip", "bzip2", "lz4",  "lzo"};
	const uint8_t *p = data;
	size_t n = bytes;
	bool kernel = payload_of(data, bytes, &p, &n);
	enum packing packing = packing_of(p, n);
	struct sink s = {0};
	bool ok = false;

	*image = NULL;
	if (kernel && !n) {
		snprintf(why, why_bytes, "is a kernel image that is cut short or damaged");
		return false;
	}
	if (packing == PLAIN && !kernel)
		return true;
	switch (packing) {
	case XZ:
	case LZMA:
		ok = unpack_xz(p, n, !kernel, &s);
		break;
	case ZST:
		ok = unpack_zstd(p, n, !kernel, &s);
		break;
	case GZ:
		ok = unpack_gzip(p, n, !kernel, &s);
		break;
	default:
		snprintf(why, why_bytes,
		         packing == PLAIN
		                 ? "holds a kernel packed in an unknown way"
		                 : "is packed with %s, which is not supported; unpack it first",
		         names[packing]);
		return false;
	}
	if (!ok || !s.used) {
		snprintf(why, why_bytes,
		         s.full ? "%s" : "cannot be unpacked: its %s data is damaged",
		         s.full ? s.full : names[packing]);
		free(s.data);
		return false;
	}
	*image = image_new(s.data, s.used, false);
	if (!*image) {
		free(s.data);
		snprintf(why, why_bytes, "out of memory");
		return false;
	}
	return true;
}

struct lint_image *lint_image_from(const uint8_t *data, size_t bytes, char *why, size_t why_bytes)
{
	struct lint_image *image;
	uint8_t *copy;

	if (!unpack(data, bytes, &image, why, why_bytes))
		return NULL;
	if (image)
		return image;
	copy = malloc(bytes ? bytes : 1);
	if (copy) {
		memcpy(copy, data, bytes);
		image = image_new(copy, bytes, false);
	}
	if (!image) {
		free(copy);
		snprintf(why, why_bytes, "out of memory");
	}
	return image;
}

/* Read what cannot be mapped: a pipe. */
static bool slurp(int fd, struct sink *s)
{
	ssize_t got;

	do {
		if (!sink_room(s))
			return false;
		got = read(fd, s->data + s->used, s->cap - s->used);
		if (got > 0)
			s->used += (size_t)got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	return got == 0;
}

struct lint_image *lint_image_load(const char *path, char *why, size_t why_bytes)
{
	struct lint_image *image = NULL, *inner;
	struct sink s = {0};
	struct stat st;
	void *map;
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);

	if (fd < 0 || fstat(fd, &st) != 0) {
		snprintf(why, why_bytes, "cannot be read: %s", strerror(errno));
		goto out;
	}
	if (S_ISDIR(st.st_mode)) {
		snprintf(why, why_bytes, "is a directory; name the files, or use find");
		goto out;
	}
	if (S_ISREG(st.st_mode) && st.st_size > 0) {
		/* libelf wants to be able to write to its memory, though it will not. */
		map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		if (map == MAP_FAILED) {
			snprintf(why, why_bytes, "cannot be read: %s", strerror(errno));
			goto out;
		}
		image = image_new(map, (size_t)st.st_size, true);
		if (!image)
			munmap(map, (size_t)st.st_size);
	} else if (!S_ISREG(st.st_mode) && slurp(fd, &s) && s.used) {
		image = image_new(s.data, s.used, false);
		if (image)
			s.data = NULL;
	} else {
		snprintf(why, why_bytes, "%s",
		         s.full                           ? "is too large to be read from a pipe"
		         : S_ISREG(st.st_mode) || !s.used ? "is empty"
		                                          : "cannot be read");
		goto out;
	}
	if (!image) {
		snprintf(why, why_bytes, "out of memory");
		goto out;
	}
	if (!unpack(image->data, image->bytes, &inner, why, why_bytes)) {
		lint_image_put(image);
		image = NULL;
	} else if (inner) {
		lint_image_put(image);
		image = inner;
	}
out:
	free(s.data);
	if (fd >= 0)
		close(fd);
	return image;
}
