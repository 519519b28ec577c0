/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that hold extended state, of whatever kind: what comes out is one XSAVE image per thread,
 * and all that the file itself says about its layout. Deciding on a layout is not done here.
 */
#ifndef READ_IMAGE_H
#define READ_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xst/image.h>

enum image_kind {
	IMAGE_AUTO,
	IMAGE_RAW,     /* an XSAVE area */
	IMAGE_FXSAVE,  /* 512 bytes without a header */
	IMAGE_CORE,    /* ELF core file */
	IMAGE_KVM,     /* KVM_GET_XSAVE or KVM_GET_XSAVE2 */
	IMAGE_FRAME,   /* floating-point part of a 64-bit signal frame */
	IMAGE_FRAME32, /* the same of a 32-bit process */
	IMAGE_CRIU,    /* CRIU core image */
	IMAGE_KINDS
};

#define IMAGE_ROOM 16384u /* bytes kept at every image, so that it can be read past its end */

/* The state of one thread. */
struct image_thread {
	uint64_t id;    /* thread id, or 0 where the file has none */
	uint8_t *area;  /* XSAVE image at a 64-byte boundary, zeros behind it up to IMAGE_ROOM */
	size_t bytes;   /* that the file really holds */
	bool wrapped;   /* the file holds FXSAVE only; the header is ours */
	bool wide;      /* saved in the 64-bit form: 64-bit FIP and FDP, no selectors */
	bool placed;    /* @layout is given by the file */
	bool sized;     /* @bytes is the size of the image, not of a container */
	uint64_t xcr0;  /* components it was made with, by the file's own word; 0 unknown */
	bool has_ssp;
	uint64_t ssp;   /* shadow stack pointer, where the file holds it apart */
	struct xst_layout layout;
	const char *layout_by; /* who says so */
	char remark[200];      /* something the reader should know, or "" */
};

struct image_file {
	const char *path;
	enum image_kind kind;
	struct image_thread *threads;
	size_t count;
};

/**
 * read_image() - read @path ("-": standard input).
 * @kind:   what it is; IMAGE_AUTO finds out.
 * @out:    out; release with read_image_free(), also after an error.
 * @err:    out, one sentence without a full stop on error.
 * @errlen: bytes at @err.
 *
 * Return: 0, or -1 when it cannot be read or holds no extended state.
 */
int read_image(const char *path, enum image_kind kind, struct image_file *out, char *err,
	       size_t errlen);

/**
 * read_image_bytes() - the same from memory.
 */
int read_image_bytes(const char *path, enum image_kind kind, const void *data, size_t bytes,
		     struct image_file *out, char *err, size_t errlen);

void read_image_free(struct image_file *file);

/**
 * image_kind_name() - as it is typed and printed; NULL for a number that is none.
 */
const char *image_kind_name(enum image_kind kind);

/* For the readers. */

/**
 * image_add() - a thread with a copy of @bytes at @data; NULL when they are too many.
 */
struct image_thread *image_add(struct image_file *file, const void *data, size_t bytes, char *err,
			       size_t errlen);

/**
 * image_add_fxsave() - the same for an image that has no header: it gets one.
 * @live: XSTATE_BV, usually x87 and SSE.
 */
struct image_thread *image_add_fxsave(struct image_file *file, const void *data, uint64_t live,
				      char *err, size_t errlen);

int read_raw(struct image_file *f, const uint8_t *data, size_t bytes, char *err, size_t errlen);
int read_kvm(struct image_file *f, const uint8_t *data, size_t bytes, char *err, size_t errlen);
int read_frame(struct image_file *f, const uint8_t *data, size_t bytes, char *err, size_t errlen);
int read_core(struct image_file *f, const uint8_t *data, size_t bytes, char *err, size_t errlen);
int read_core_fd(struct image_file *f, int fd, char *err, size_t errlen);
int read_criu(struct image_file *f, const uint8_t *data, size_t bytes, char *err, size_t errlen);

#define CRIU_COMMON_MAGIC 0x54564319u
#define CRIU_CORE_MAGIC   0x55053847u
bool is_criu(const uint8_t *data, size_t bytes);
/* Is @mask something that Linux writes into bytes 464-471 of an image? */
bool is_linux_xcr0(uint64_t mask);

#endif
