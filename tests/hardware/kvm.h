/* SPDX-License-Identifier: BSD-2-Clause */
/* A virtual CPU of this machine's KVM that is never run, and its XSAVE image. */
#ifndef TESTS_HARDWARE_KVM_H
#define TESTS_HARDWARE_KVM_H

#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <xst/insn.h>
#include <xst/x87.h>

#include "images.h"

#define SKIP 77

struct kvm {
	struct xst_caps caps; /* this CPU, and the MXCSR_MASK that KVM goes by */
	int kvm, vm, vcpu;
	uint64_t xcr0; /* what the guest may have */
	size_t bytes;  /* of the ioctl's structure */
	bool get2;
	struct xst_layout full; /* of xcr0 */
};

static inline int kvm_skip(const char *why)
{
	printf("skipped: %s (%s)\n", why, strerror(errno));
	return SKIP;
}

static inline int kvm_get(const struct kvm *k, void *area)
{
	return ioctl(k->vcpu, k->get2 ? KVM_GET_XSAVE2 : KVM_GET_XSAVE, area);
}

static inline int kvm_set(const struct kvm *k, const void *area)
{
	return ioctl(k->vcpu, KVM_SET_XSAVE, area);
}

/* Six of the 16 bytes of each ST are no part of it; KVM copies them, the CPU would not. */
static inline bool kvm_no_register(uint32_t byte)
{
	return byte >= XST_OFF_ST && byte < XST_OFF_XMM && (byte - XST_OFF_ST) % 16 >= 10;
}

/* 0, or SKIP with the reason printed. @room: bytes that an image may have. */
static inline int kvm_start(struct kvm *k, size_t room)
{
	static union {
		struct kvm_cpuid2 head;
		uint8_t room[sizeof(struct kvm_cpuid2) + 256 * sizeof(struct kvm_cpuid_entry2)];
	} cpuid;
	static uint8_t image[IMAGE_ROOM];
	int bytes;

	if (xst_caps_native(&k->caps) < 0 || !k->caps.xsave)
		return kvm_skip("this CPU has no XSAVE");
	k->kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (k->kvm < 0)
		return kvm_skip("/dev/kvm cannot be opened");
	k->vm = ioctl(k->kvm, KVM_CREATE_VM, 0);
	if (k->vm < 0)
		return kvm_skip("KVM makes no virtual machine here");
	bytes = ioctl(k->vm, KVM_CHECK_EXTENSION, KVM_CAP_XSAVE2);
	k->get2 = bytes > 0;
	k->bytes = bytes > 4096 ? (size_t)bytes : 4096;
	if (k->bytes > room || k->bytes > sizeof(image))
		return kvm_skip("the image is larger than this test expects");
	k->vcpu = ioctl(k->vm, KVM_CREATE_VCPU, 0);
	if (k->vcpu < 0)
		return kvm_skip("KVM makes no virtual CPU here");
	cpuid.head.nent = 256;
	if (ioctl(k->kvm, KVM_GET_SUPPORTED_CPUID, &cpuid) < 0 ||
	    ioctl(k->vcpu, KVM_SET_CPUID2, &cpuid) < 0)
		return kvm_skip("KVM takes no CPUID");
	k->xcr0 = 0;
	for (uint32_t i = 0; i < cpuid.head.nent; i++)
		if (cpuid.head.entries[i].function == 0xd && cpuid.head.entries[i].index == 0)
			k->xcr0 = (uint64_t)cpuid.head.entries[i].edx << 32 |
				  cpuid.head.entries[i].eax;
	if (xst_layout_compute(&k->caps, k->xcr0, XST_STANDARD, &k->full, NULL) < 0)
		return kvm_skip("the guest's components have no layout on this CPU");
	if (kvm_get(k, image) < 0)
		return kvm_skip("KVM_GET_XSAVE fails");
	k->caps.mxcsr_mask = xst_get32(image, XST_OFF_MXCSR_MASK);
	return 0;
}

#endif
