// SPDX-License-Identifier: BSD-2-Clause
/*
 * What KVM_GET_XSAVE and KVM_GET_XSAVE2 return: a standard image in a container of at least one
 * page, with the host's mask where hardware writes nothing. The guest's XCR0, IA32_XSS and
 * IA32_XFD belong to it but are not in it. Ref: Linux, Documentation/virt/kvm/api.rst
 */
#include <stdio.h>

#include "read/image.h"

#define KVM_XSAVE_BYTES 4096u

int read_kvm(struct image_file *f, const uint8_t *data, size_t bytes, char *err, size_t errlen)
{
	struct image_thread *t;
	uint64_t mask;

	if (bytes < KVM_XSAVE_BYTES) {
		snprintf(err, errlen, "%s: %zu bytes are too few for struct kvm_xsave (4096)",
			 f->path, bytes);
		return -1;
	}
	t = image_add(f, data, bytes, err, errlen);
	if (!t)
		return -1;
	mask = xst_get64(data, XST_OFF_SOFTWARE);
	if (is_linux_xcr0(mask))
		t->xcr0 = mask;
	snprintf(t->remark, sizeof(t->remark),
		 "a snapshot is this image and the guest's XCR0, IA32_XSS and IA32_XFD together");
	return 0;
}
