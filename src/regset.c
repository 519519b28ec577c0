// SPDX-License-Identifier: BSD-2-Clause
/* The register sets of a live task, both directions, and the notes of a core file. */
#include <xst/regset.h>

#define NOTE_HEADER 12u /* name size, contents size, type */

int xst_regset_bytes(const struct xst_system *sys, uint64_t mask, enum xst_regset set,
		     struct xst_diag *diag)
{
	if (set == XST_REGSET_I387)
		return (int)XST_FNSAVE_BYTES;
	if (set == XST_REGSET_FPX && sys->insn >= XST_INSN_FXSAVE)
		return (int)XST_LEGACY_BYTES;
	if (set == XST_REGSET_XSTATE && sys->insn >= XST_INSN_XSAVE)
		return xst_uabi_bytes(sys, mask, diag);
	return xst_diag_set(diag, XST_ERR_UNSUPPORTED, XST_DIAG_NO_COMPONENT, 0x100, set, sys->insn,
			    "this machine has no such register set");
}

/* The state as an image in scratch: every set is made of it. */
static int get_image(const struct xst_uabi *t, struct xst_layout *l, struct xst_diag *diag)
{
	const struct xst_image image = {t->scratch, t->scratch_bytes, l};
	int err = xst_uabi_layout(t->sys, t->mask, l, diag);

	return err ? err : xst_uabi_get(t, &image, diag);
}

static const struct xst_x87_selectors *selectors(const struct xst_uabi *t)
{
	return XST_UABI_WIDE ? &t->sel : NULL;
}

int xst_regset_get(const struct xst_uabi *t, enum xst_regset set, size_t offset, void *buffer,
		   size_t count, struct xst_diag *diag)
{
	int bytes = xst_regset_bytes(t->sys, t->mask, set, diag), err;
	const uint8_t *data = t->scratch;
	uint8_t fn[XST_FNSAVE_BYTES];
	struct xst_layout l;

	if (bytes < 0)
		return bytes;
	err = get_image(t, &l, diag);
	if (err)
		return err;
	if (set == XST_REGSET_I387) {
		/* Of a pointer that has more than 32 bits the low half has to do. */
		(void)xst_fxsave_to_fnsave(data, XST_UABI_WIDE, selectors(t), fn);
		data = fn;
	} else if (set == XST_REGSET_XSTATE) {
		xst_put64(t->scratch, XST_OFF_SOFTWARE, l.mask);
	}
	if (offset >= (size_t)bytes)
		return 0;
	if (count > (size_t)bytes - offset)
		count = (size_t)bytes - offset;
	__builtin_memcpy(buffer, data + offset, count);
	return (int)count;
}

/* I387 and FPX: put the bytes over what is there. */
static void overlay(const struct xst_uabi *t, enum xst_regset set, size_t offset,
		    const void *buffer, size_t count)
{
	uint8_t fn[XST_FNSAVE_BYTES], *image = t->scratch;
	uint64_t bv = xst_get64(image, XST_OFF_XSTATE_BV) | XST_MASK_X87;

	if (set == XST_REGSET_FPX) {
		__builtin_memcpy(image + offset, buffer, count);
		bv |= XST_MASK_SSE;
	} else {
		(void)xst_fxsave_to_fnsave(image, XST_UABI_WIDE, selectors(t), fn);
		__builtin_memcpy(fn + offset, buffer, count);
		xst_fnsave_to_fxsave(fn, XST_UABI_WIDE, image);
	}
	xst_put64(image, XST_OFF_XSTATE_BV, bv);
}

int xst_regset_set(const struct xst_uabi *t, enum xst_regset set, size_t offset, const void *buffer,
		   size_t count, struct xst_diag *diag)
{
	int bytes = xst_regset_bytes(t->sys, t->mask, set, diag), err;
	struct xst_layout l;
	struct xst_image image = {t->scratch, t->scratch_bytes, &l};

	if (bytes < 0)
		return bytes;
	if (offset > (size_t)bytes || count > (size_t)bytes - offset)
		return xst_diag_set(diag, XST_ERR_INVALID, XST_DIAG_NO_COMPONENT, (uint32_t)offset,
				    (uint64_t)bytes, count, "the set ends before that");
	if (set == XST_REGSET_XSTATE) {
		if (offset || count != (size_t)bytes)
			return xst_diag_set(diag, XST_ERR_INVALID, XST_DIAG_NO_COMPONENT,
					    (uint32_t)offset, (uint64_t)bytes, count,
					    "XSTATE is written as a whole or not at all");
		err = xst_uabi_layout(t->sys, t->mask, &l, diag);
		if (err)
			return err;
		image.area = (void *)(uintptr_t)buffer;
		image.bytes = count;
		return xst_uabi_set(t, &image, XST_UABI_MXCSR_BY_BV, diag);
	}
	err = get_image(t, &l, diag);
	if (err)
		return err;
	overlay(t, set, offset, buffer, count);
	return xst_uabi_set(t, &image, XST_UABI_MXCSR_ALWAYS, diag);
}

int xst_regset_put_layout(const struct xst_caps *caps, uint64_t mask, void *note, size_t bytes,
			  struct xst_diag *diag)
{
	struct xst_layout l;
	uint32_t at = 0, need = 0;
	uint64_t rest;
	int err = xst_layout_compute(caps, mask, XST_STANDARD, &l, diag);

	if (err)
		return err;
	mask &= ~XST_MASK_LEGACY;
	for (rest = mask; rest; rest &= rest - 1)
		need += XST_LAYOUT_RECORD_BYTES;
	if (bytes < need)
		return xst_diag_set(diag, XST_ERR_NEED_BYTES, XST_DIAG_NO_COMPONENT, 0, need, bytes,
				    "the note does not fit");
	for (rest = mask; rest; rest &= rest - 1, at += XST_LAYOUT_RECORD_BYTES) {
		unsigned i = xst_mask_first(rest);

		xst_put32(note, at, i);
		xst_put32(note, at + 4, l.size[i]);
		xst_put32(note, at + 8, l.offset[i]);
		/* As CPUID leaf 0DH has them in ECX. */
		xst_put32(note, at + 12,
			  (caps->comp[i].align64 ? 2u : 0u) | (caps->comp[i].xfd ? 4u : 0u));
	}
	return (int)need;
}

int xst_regset_put_note(uint32_t type, const void *contents, size_t size, void *note, size_t bytes,
			struct xst_diag *diag)
{
	static const char core[8] = "CORE", linux_name[8] = "LINUX";
	/* The old ones, of every Unix, are CORE's. */
	const bool old = type < 0x100;
	const char *owner = old ? core : linux_name;
	const uint32_t owner_bytes = old ? 5 : 6;
	const size_t head = NOTE_HEADER + sizeof(core), need = head + ((size + 3) & ~(size_t)3);
	uint8_t *out = note;

	if (size > 0x7fffffffu - head || bytes < need)
		return xst_diag_set(diag, XST_ERR_NEED_BYTES, XST_DIAG_NO_COMPONENT, 0, need, bytes,
				    "the note does not fit");
	xst_put32(out, 0, owner_bytes);
	xst_put32(out, 4, (uint32_t)size);
	xst_put32(out, 8, type);
	__builtin_memcpy(out + NOTE_HEADER, owner, sizeof(core));
	__builtin_memset(out + head, 0, need - head);
	__builtin_memcpy(out + head, contents, size);
	return (int)need;
}
