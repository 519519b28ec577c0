/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the harnesses of signal frames and register sets share: a machine and a task made of the
 * first bytes of an input, and hostile memory made of the rest.
 *
 *	byte 0		machine
 *	byte 1		kind of frame or set, and how the rest is to be taken
 *	bytes 2-9	XSTATE_BV of the task, masked
 *	bytes 10-13	user memory there is, or offset and count, modulo what makes sense
 *	bytes 14-	register values in turn, and hostile memory: raw, or edits of three bytes
 */
#ifndef TESTS_FUZZ_FRAMES_H
#define TESTS_FUZZ_FRAMES_H

#include "../unit/frames.h"

#define FUZZ_HEAD 14u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The machines: every save form, components apart, AMX that some may use. */
static inline void fuzz_machine(uint8_t which)
{
	static const struct {
		enum xst_insn insn;
		uint64_t xcr0, xss, mask;
	} machines[] = {
		{XST_INSN_FNSAVE, 0, 0, 0},	      {XST_INSN_FXSAVE, 0, 0, 0},
		{XST_INSN_XSAVE, 0x7, 0, 0},	      {XST_INSN_XSAVEOPT, 0x207, 0, 0},
		{XST_INSN_XSAVEC, 0x2ff, 0, 0},	      {XST_INSN_XSAVES, 0x2e7, 0x800, 0},
		{XST_INSN_XSAVES, 0x802e7, 0x800, 0}, {XST_INSN_XSAVES, 0x602e7, 0, 0x602e7},
		{XST_INSN_XSAVES, 0x602e7, 0x800, XST_MASK_TILEDATA},
	};
	const size_t m = which % (sizeof(machines) / sizeof(machines[0]));

	if (frames_up(&frames, machines[m].insn, machines[m].xcr0, machines[m].xss))
		abort();
	frames.t.mask = machines[m].mask;
	/* This one has used its tiles. */
	if (machines[m].mask == XST_MASK_TILEDATA)
		frames_grow(&frames);
}

/* A task that really ran there: any values, but of registers. */
static inline void fuzz_task(const uint8_t *data, size_t size)
{
	static uint8_t image[FRAMES_BYTES];
	struct xst_layout l;
	struct xst_image from = {image, sizeof(image), &l};
	uint64_t bv;

	fuzz_machine(data[0]);
	if (xst_uabi_layout(&frames.sys, frames.ctx.dynamic ? frames.t.mask : 0, &l, NULL))
		abort();
	for (size_t i = 0; i < l.bytes; i++)
		image[i] = size > FUZZ_HEAD
				   ? (uint8_t)(data[FUZZ_HEAD + i % (size - FUZZ_HEAD)] + i / 256)
				   : 0;
	memset(image + XST_OFF_XSTATE_BV, 0, XST_HEADER_BYTES);
	bv = xst_get64(data, 2) & l.mask;
	if (frames.sys.insn < XST_INSN_XSAVE)
		bv = frames.sys.mask;
	xst_put64(image, XST_OFF_XSTATE_BV, bv);
	xst_put32(image, XST_OFF_MXCSR, xst_get32(image, XST_OFF_MXCSR) & frames.caps.mxcsr_mask);
	if (xst_uabi_set(&frames.t, &from, XST_UABI_MXCSR_ALWAYS, NULL) || !frames_loads(&frames))
		abort();
}

static inline enum xst_frame_kind fuzz_kind(const uint8_t *data)
{
	if (frames.sys.insn == XST_INSN_FNSAVE)
		return XST_FRAME_32;
	return data[1] & 1 ? XST_FRAME_32 : XST_FRAME_64;
}

/* The rest of the input over @memory: as it is, or as edits (offset, value). */
static inline void fuzz_overlay(const uint8_t *data, size_t size, uint8_t *memory, size_t bytes)
{
	data += FUZZ_HEAD;
	size -= FUZZ_HEAD;
	if (!bytes)
		return;
	if (size <= bytes && size > 256) {
		memcpy(memory, data, size);
		return;
	}
	for (; size >= 3; data += 3, size -= 3)
		memory[xst_get16(data, 0) % bytes] = data[2];
}

#endif
