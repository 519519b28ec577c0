// SPDX-License-Identifier: BSD-2-Clause
/*
 * Hostile KVM_SET_XSAVE on a virtual CPU that runs or does not: a refusal changes no byte of it,
 * and after an accepted one it enters without a fault, sees what was live, and gives the same out
 * again.
 *
 *	byte 0		machine
 *	byte 1		how the rest is to be taken, the guest's IA32_XFD, whether it is loaded
 *	bytes 2-9	XSTATE_BV, masked or not
 *	bytes 10-11	the size that is claimed
 *	bytes 12-	what is copied in: raw, or edits of three bytes
 */
#include "../unit/guests.h"

#define HEAD 12u
#define ROOM 12288u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct guests g;
static uint8_t in[ROOM], out[ROOM], area[GUEST_BYTES];

static void machine(uint8_t which)
{
	static const struct {
		enum xst_insn insn;
		uint64_t xcr0, xss;
	} on[] = {
		{XST_INSN_FNSAVE, 0, 0},	{XST_INSN_FXSAVE, 0, 0},   {XST_INSN_XSAVE, 7, 0},
		{XST_INSN_XSAVEOPT, 0x21f, 0},  {XST_INSN_XSAVEC, SPR, 0},
		{XST_INSN_XSAVES, INTEL, CET},
		{XST_INSN_XSAVES, SPR, CET},
	};
	const size_t m = which % (sizeof(on) / sizeof(on[0]));

	if (guests_up(&g, on[m].insn, on[m].xcr0, on[m].xss, WANT, "auto"))
		abort();
	guest_enable(&g, 0, 0);
}

static void overlay(const uint8_t *data, size_t size)
{
	if (size > 256) {
		memcpy(in, data, size < ROOM ? size : ROOM);
		return;
	}
	for (; size >= 3; data += 3, size -= 3)
		in[xst_get16(data, 0) % ROOM] = data[2];
}

/* Every live component of what went in came out again. */
static bool taken(const struct xst_guest *v)
{
	uint64_t rest = xst_get64(in, XST_OFF_XSTATE_BV) & ~XST_MASK_LEGACY & ~v->xfd;

	for (; rest; rest &= rest - 1) {
		const unsigned i = xst_mask_first(rest);
		const uint32_t at = g.r.caps.comp[i].offset;

		if (memcmp(in + at, out + at, xst_comp_used(i, g.r.caps.comp[i].bytes)))
			return false;
	}
	return true;
}

/* The restore that follows, with everything that the image may hold. */
static void enters(struct xst_guest *v)
{
	if (!v->loaded)
		xst_guest_load(&g.r.cpu[0], v);
	guest_bounce(&g, 0, 0);
	if (g.r.cpu[0].n.loads_failed || g.r.hw[0].surprise)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct xst_guest before;
	struct xst_guest *v = &g.vcpu[0];
	size_t bytes;
	uint64_t bv;

	if (size < HEAD)
		return 0;
	machine(data[0]);
	bytes = xst_guest_copy_bytes(&g.r.sys, v);
	if (data[1] & 1)
		xst_guest_load(&g.r.cpu[0], v);
	if ((data[1] & 3) == 3) {
		guest_put(&g, 0, 0, XST_COMP_X87, 0x11);
		if (v->mask & XST_MASK_TILEDATA)
			guest_put(&g, 0, 0, TILE, 0x12);
	}
	if ((data[1] & 4) && (v->mask & XST_MASK_TILEDATA) &&
	    xst_guest_set_xfd(&g.r.cpu[0], v, XST_MASK_TILEDATA, NULL))
		abort();
	memset(in, 0, sizeof(in));
	if (xst_guest_copy_out(&g.r.cpu[0], v, in, bytes, NULL))
		abort();
	bv = xst_get64(data, 2);
	xst_put64(in, XST_OFF_XSTATE_BV, data[1] & 8 ? bv : bv & v->mask & XST_MASK_USER);
	overlay(data + HEAD, size - HEAD);
	if (data[1] & 16)
		bytes = xst_get16(data, 10) % (ROOM + 1);
	xst_ctx_flush(&g.r.cpu[0], &v->ctx);
	before = *v;
	memcpy(area, g.area[0], sizeof(area));
	if (xst_guest_copy_in(&g.r.cpu[0], v, in, bytes, NULL)) {
		if (memcmp(&before, v, sizeof(before)) || memcmp(area, g.area[0], sizeof(area)))
			abort();
		enters(v);
		return 0;
	}
	if (xst_guest_copy_out(&g.r.cpu[0], v, out, xst_guest_copy_bytes(&g.r.sys, v), NULL) ||
	    !taken(v))
		abort();
	enters(v);
	return 0;
}
