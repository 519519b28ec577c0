// SPDX-License-Identifier: BSD-2-Clause
/* The bytes of a trace: a file, standard input or another program's output, packed by xz or not. */
#include "read/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/rec.h"

#define PACKED_BYTES 65536u

static int fail(struct trace_input *in, const char *why)
{
	snprintf(in->why, sizeof(in->why), "%s", why);
	return -1;
}

static long read_fd(struct trace_input *in, void *buf, size_t len)
{
	ssize_t n;

	do
		n = read(in->fd, buf, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return fail(in, strerror(errno));
	in->raw += (uint64_t)n;
	return n;
}

#ifdef HAVE_LZMA
#include <lzma.h>

struct unpack {
	lzma_stream z;
	bool over;
	uint8_t packed[PACKED_BYTES];
};

static int begin_unpack(struct trace_input *in)
{
	struct unpack *u = calloc(1, sizeof(*u));

	if (!u)
		return fail(in, "out of memory");
	if (lzma_stream_decoder(&u->z, UINT64_C(1) << 30, LZMA_CONCATENATED) != LZMA_OK) {
		free(u);
		return fail(in, "out of memory");
	}
	memcpy(u->packed, in->head, in->head_len);
	u->z.next_in = u->packed;
	u->z.avail_in = in->head_len;
	in->unpack = u;
	return 0;
}

static long read_unpacked(struct trace_input *in, void *buf, size_t len)
{
	struct unpack *u = in->unpack;

	u->z.next_out = buf;
	u->z.avail_out = len;
	while (u->z.avail_out == len && !u->over) {
		lzma_action action = LZMA_RUN;
		lzma_ret ret;

		if (!u->z.avail_in) {
			const long n = read_fd(in, u->packed, sizeof(u->packed));

			if (n < 0)
				return n;
			u->z.next_in = u->packed;
			u->z.avail_in = (size_t)n;
			if (!n)
				action = LZMA_FINISH;
		}
		ret = lzma_code(&u->z, action);
		if (ret == LZMA_STREAM_END)
			u->over = true;
		else if (ret == LZMA_BUF_ERROR || (ret == LZMA_OK && action == LZMA_FINISH))
			return fail(in, "its xz stream is cut off");
		else if (ret != LZMA_OK)
			return fail(in, "its xz stream is broken");
	}
	return (long)(len - u->z.avail_out);
}

static void end_unpack(struct trace_input *in)
{
	struct unpack *u = in->unpack;

	if (u)
		lzma_end(&u->z);
	free(u);
	in->unpack = NULL;
}
#else
static int begin_unpack(struct trace_input *in)
{
	return fail(in, "packed by xz, and this build has no liblzma; unpack it with xz -d");
}

static long read_unpacked(struct trace_input *in, void *buf, size_t len)
{
	(void)buf;
	(void)len;
	return fail(in, "packed by xz");
}

static void end_unpack(struct trace_input *in)
{
	(void)in;
}
#endif

long trace_input_read(struct trace_input *in, void *buf, size_t len)
{
	const size_t left = in->head_len - in->head_pos;
	long n;

	if (left) {
		n = (long)(left < len ? left : len);
		memcpy(buf, in->head + in->head_pos, (size_t)n);
		in->head_pos += (size_t)n;
	} else {
		n = in->unpack ? read_unpacked(in, buf, len) : read_fd(in, buf, len);
	}
	if (n > 0)
		in->bytes += (uint64_t)n;
	return n;
}

/* Fill the head, to know the format. */
static int read_head(struct trace_input *in)
{
	uint8_t head[sizeof(in->head)];
	size_t have = 0;
	long n;

	while (have < sizeof(head) && (n = trace_input_read(in, head + have, sizeof(head) - have))) {
		if (n < 0)
			return -1;
		have += (size_t)n;
	}
	memcpy(in->head, head, have);
	in->head_len = have;
	in->head_pos = 0;
	in->bytes = 0;
	return 0;
}

/* Packed otherwise than by xz: which program unpacks it, or NULL. */
static const char *unpacker(const struct trace_input *in)
{
	static const struct {
		uint8_t magic[4], size;
		const char *name;
	} packers[] = {
		{ { 0x1f, 0x8b }, 2, "zcat" },
		{ { 0x28, 0xb5, 0x2f, 0xfd }, 4, "zstdcat" },
		{ { 'B', 'Z', 'h' }, 3, "bzcat" },
	};

	for (size_t i = 0; i < sizeof(packers) / sizeof(packers[0]); i++)
		if (in->head_len >= packers[i].size &&
		    !memcmp(in->head, packers[i].magic, packers[i].size))
			return packers[i].name;
	return NULL;
}

int trace_input_of(struct trace_input *in, int fd, const char *name)
{
	static const uint8_t xz[] = { 0xfd, '7', 'z', 'X', 'Z', 0 };

	memset(in, 0, sizeof(*in));
	in->name = name;
	in->fd = fd;
	if (read_head(in))
		return -1;
	if (unpacker(in)) {
		snprintf(in->why, sizeof(in->why),
			 "packed; unpack it first, %s FILE | xstate sim -", unpacker(in));
		return -1;
	}
	if (in->head_len < sizeof(xz) || memcmp(in->head, xz, sizeof(xz)))
		return 0;
	if (begin_unpack(in))
		return -1;
	in->head_len = in->head_pos = 0;
	return read_head(in);
}

int trace_input_open(struct trace_input *in, const char *path)
{
	struct stat st = { 0 };
	int fd, err;

	if (!strcmp(path, "-"))
		return trace_input_of(in, dup(STDIN_FILENO), "standard input");
	memset(in, 0, sizeof(*in));
	in->name = path;
	in->fd = -1;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(in, strerror(errno));
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		close(fd);
		return fail(in, "is a directory, not a trace");
	}
	err = trace_input_of(in, fd, path);
	in->size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	return err;
}

void trace_input_close(struct trace_input *in)
{
	end_unpack(in);
	if (in->fd >= 0)
		close(in->fd);
	in->fd = -1;
}

enum trace_format trace_input_format(const struct trace_input *in)
{
	static const char dat[] = "\x17\x08\x44tracing";

	if (in->head_len >= 8 && !memcmp(in->head, REC_MAGIC, 8))
		return TRACE_COMPACT;
	if (in->head_len >= sizeof(dat) - 1 && !memcmp(in->head, dat, sizeof(dat) - 1))
		return TRACE_DAT;
	if (in->head_len >= 8 && (!memcmp(in->head, "PERFILE2", 8) || !memcmp(in->head, "2ELIFREP", 8)))
		return TRACE_PERF_DATA;
	return TRACE_TEXT;
}
