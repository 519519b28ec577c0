// SPDX-License-Identifier: BSD-2-Clause
/* An XSAVE area as bytes, or an FXSAVE image. Ref: SDM vol. 1, "XSAVE Area" */
#include <stdio.h>

#include "read/image.h"

int read_raw(struct image_file *f, const uint8_t *data, size_t bytes, char *err, size_t errlen)
{
	struct image_thread *t;

	if (bytes < XST_LEGACY_BYTES) {
		snprintf(err, errlen, "%s: %zu bytes are too few for an FXSAVE image (512)",
			 f->path, bytes);
		return -1;
	}
	if (f->kind == IMAGE_FXSAVE || bytes < XST_EXT_OFFSET) {
		if (f->kind == IMAGE_RAW && bytes != XST_LEGACY_BYTES) {
			snprintf(err, errlen,
				 "%s: %zu bytes are too few for an XSAVE area (576); "
				 "for the FXSAVE image in it say --as fxsave", f->path, bytes);
			return -1;
		}
		f->kind = IMAGE_FXSAVE;
		return image_add_fxsave(f, data, XST_MASK_LEGACY, err, errlen) ? 0 : -1;
	}
	t = image_add(f, data, bytes, err, errlen);
	if (!t)
		return -1;
	t->sized = true;
	/* What ptrace hands out carries the mask where hardware writes nothing. */
	if (!(xst_get64(data, XST_OFF_XCOMP_BV) & XST_XCOMP_COMPACT) &&
	    is_linux_xcr0(xst_get64(data, XST_OFF_SOFTWARE)) &&
	    !(xst_get64(data, XST_OFF_XSTATE_BV) & ~xst_get64(data, XST_OFF_SOFTWARE)))
		t->xcr0 = xst_get64(data, XST_OFF_SOFTWARE);
	return 0;
}
