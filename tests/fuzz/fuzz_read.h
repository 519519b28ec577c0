/* SPDX-License-Identifier: BSD-2-Clause */
/* What the harnesses of the readers share: everything `xstate image show` does but printing. */
#ifndef TESTS_FUZZ_READ_H
#define TESTS_FUZZ_READ_H

#include <stdlib.h>
#include <string.h>

#include <xst/reg.h>

#include "image/image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_read(enum image_kind kind, const uint8_t *data, size_t size)
{
	static const char *const names[] = {"fcw", "mxcsr", "st3", "zmm7", "zmm22", "k2", "pkru",
					    "tilecfg", "tmm5", "r20", "bnd1"};
	struct image_request r = {.cmd = "fuzz", .path = "fuzz"};
	struct image_file f;
	char err[512] = "";

	if (read_image_bytes("fuzz", kind, data, size, &f, err, sizeof(err))) {
		if (!err[0] || strchr(err, '\n'))
			abort(); /* a refusal is one sentence */
	} else if (!f.count) {
		abort();
	}
	for (size_t i = 0; i < f.count; i++) {
		struct image_thread *t = &f.threads[i];
		struct xst_image image;

		if (image_resolve(&r, t, err, sizeof(err)))
			continue;
		image = image_of(t);
		for (unsigned n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			uint8_t value[XST_REG_MAX_BYTES];
			size_t room = sizeof(value);

			xst_image_get(&image, names[n], value, &room);
		}
		image_header_fault(t);
	}
	read_image_free(&f);
}

#endif
