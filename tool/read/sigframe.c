// SPDX-License-Identifier: BSD-2-Clause
/* The floating-point part of a signal frame, as memory was dumped. */
#include <stdio.h>

#include <xst/sigframe.h>

#include "read/image.h"

int read_frame(struct image_file *f, const uint8_t *data, size_t bytes, char *err, size_t errlen)
{
	bool narrow = f->kind == IMAGE_FRAME32;
	struct image_thread *t;
	struct xst_frame frame;
	struct xst_diag d;

	if (xst_sigframe_read(data, bytes, narrow ? XST_FRAME_32 : XST_FRAME_64, 0, &frame, &d)) {
		snprintf(err, errlen, "%s: %s (%llu bytes wanted, %llu there)", f->path, d.rule,
			 (unsigned long long)d.want, (unsigned long long)d.got);
		return -1;
	}
	data += frame.fx_offset;
	if (frame.extended)
		t = image_add(f, data, frame.xstate_size, err, errlen);
	else
		t = image_add_fxsave(f, data, XST_MASK_LEGACY, err, errlen);
	if (!t)
		return -1;
	t->wide = !narrow;
	if (!frame.extended) {
		snprintf(t->remark, sizeof(t->remark),
			 "%s: the kernel restores x87 and SSE and sets the rest to INIT",
			 frame.why);
		return 0;
	}
	t->sized = true;
	if (is_linux_xcr0(frame.xfeatures))
		t->xcr0 = frame.xfeatures;
	return 0;
}
