/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `xstate image`: what was asked for, and the parts that answer it.
 *
 *   layout.c   whose layout is it
 *   regs.c     registers as people read them
 *   show.c  check.c  convert.c   the three verbs
 */
#ifndef TOOL_IMAGE_H
#define TOOL_IMAGE_H

#include <xst/compat.h>

#include "read/cpu.h"
#include "read/image.h"
#include "ui/json.h"

#define IMAGE_SCHEMA "xstate.image/1"

enum vectors { VECTORS_NONE, VECTORS_HEX, VECTORS_F32, VECTORS_F64 };

/* A mask that may have been given. */
struct opt_mask {
	bool given;
	uint64_t mask;
};

struct image_request {
	const char *cmd; /* "xstate image show", for messages */
	const char *path;
	enum image_kind as;
	bool has_from, has_on;
	struct cpu_source from, on;
	struct opt_mask xcr0, xss, xfd, rfbm;
	bool has_thread;
	uint64_t thread;
	enum vectors vectors;
	enum xst_restorer with;
	bool to_standard, to_compacted;
	uint64_t drop;
	bool drop_mxcsr;
	const char *out;
};

/**
 * image_resolve() - decide on the layout of @t, or say why it cannot be decided.
 *
 * In this order: what the file says, --from, what real CPUs leave as possible. This machine is
 * never asked.
 *
 * Return: 0, or -1 with one sentence in @err.
 */
int image_resolve(const struct image_request *r, struct image_thread *t, char *err, size_t errlen);

/* A thread's image for the library. */
struct xst_image image_of(const struct image_thread *t);

/* "AVX", or "component 23" for one that has no name. */
const char *image_comp_name(unsigned id, char *buf, size_t size);

/* "live", "INIT" or "absent". */
const char *image_state_name(const struct image_thread *t, unsigned id);

/* Print a set as names: "x87, SSE, AVX". */
void image_mask_names(uint64_t mask, char *buf, size_t size);

/* The header by itself is damaged: the sentence, or NULL. */
const char *image_header_fault(const struct image_thread *t);

void image_registers(const struct image_thread *t, enum vectors vectors);
void image_registers_json(struct jw *w, const struct image_thread *t, enum vectors vectors);

/* The verbs; each returns an exit status and reports its own errors. */
int image_show(const struct image_request *r, struct image_file *f);
int image_check(const struct image_request *r, struct image_file *f);
int image_convert(const struct image_request *r, struct image_file *f);

#endif
