// SPDX-License-Identifier: BSD-2-Clause
/*
 * Is the predictor right about KVM_SET_XSAVE? The same kinds of images as for XRSTOR are given to
 * xst_image_check() and to a virtual CPU that is never run; verdicts and what KVM_GET_XSAVE then
 * reads must agree. Also what KVM does with PKRU that XSTATE_BV does not name, and with XCR0.
 *
 *	t_kvm [IMAGES] [SEED]
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <xst/x87.h>
#include <xst/insn.h>

#include "images.h"

#define SKIP           77
#define HITS_WANTED    1000u
#define IMAGES_DEFAULT 100000u

struct run {
	struct rng rng;
	struct xst_caps caps;
	int kvm, vm, vcpu;
	uint64_t xcr0;
	size_t bytes; /* of the ioctl's structure */
	bool get2;
	struct xst_layout full;
	uint8_t image[IMAGE_ROOM], before[IMAGE_ROOM], after[IMAGE_ROOM], want[IMAGE_ROOM];
	uint64_t images, accepted, hits[XST_RULE_COUNT];
};

static int skip(const char *why)
{
	printf("skipped: %s (%s)\n", why, strerror(errno));
	return SKIP;
}

static int get(struct run *t, void *area)
{
	return ioctl(t->vcpu, t->get2 ? KVM_GET_XSAVE2 : KVM_GET_XSAVE, area);
}

static int start(struct run *t)
{
	static union {
		struct kvm_cpuid2 head;
		uint8_t room[sizeof(struct kvm_cpuid2) + 256 * sizeof(struct kvm_cpuid_entry2)];
	} cpuid;
	int bytes;

	if (xst_caps_native(&t->caps) < 0 || !t->caps.xsave)
		return skip("this CPU has no XSAVE");
	t->kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (t->kvm < 0)
		return skip("/dev/kvm cannot be opened");
	t->vm = ioctl(t->kvm, KVM_CREATE_VM, 0);
	if (t->vm < 0)
		return skip("KVM makes no virtual machine here");
	bytes = ioctl(t->vm, KVM_CHECK_EXTENSION, KVM_CAP_XSAVE2);
	t->get2 = bytes > 0;
	t->bytes = bytes > 4096 ? (size_t)bytes : 4096;
	if (t->bytes > IMAGE_ROOM)
		return skip("the image is larger than this test expects");
	t->vcpu = ioctl(t->vm, KVM_CREATE_VCPU, 0);
	if (t->vcpu < 0)
		return skip("KVM makes no virtual CPU here");
	cpuid.head.nent = 256;
	if (ioctl(t->kvm, KVM_GET_SUPPORTED_CPUID, &cpuid) < 0 ||
	    ioctl(t->vcpu, KVM_SET_CPUID2, &cpuid) < 0)
		return skip("KVM takes no CPUID");
	t->xcr0 = 0;
	for (uint32_t i = 0; i < cpuid.head.nent; i++)
		if (cpuid.head.entries[i].function == 0xd && cpuid.head.entries[i].index == 0)
			t->xcr0 = (uint64_t)cpuid.head.entries[i].edx << 32 |
				  cpuid.head.entries[i].eax;
	if (xst_layout_compute(&t->caps, t->xcr0, XST_STANDARD, &t->full, NULL) < 0)
		return skip("the guest's components have no layout on this CPU");
	if (get(t, t->before) < 0)
		return skip("KVM_GET_XSAVE fails");
	t->caps.mxcsr_mask = xst_get32(t->before, XST_OFF_MXCSR_MASK);
	return 0;
}

static int complain(const struct run *t, const char *what, unsigned at, uint64_t want, uint64_t got)
{
	printf("image %llu: %s at %u: predicted 0x%llx, KVM 0x%llx\n",
	       (unsigned long long)t->images, what, at, (unsigned long long)want,
	       (unsigned long long)got);
	return -1;
}

/* Six of the 16 bytes of each ST are no part of it; KVM copies them, the CPU would not. */
static bool no_register(uint32_t byte)
{
	return byte >= XST_OFF_ST && byte < XST_OFF_XMM && (byte - XST_OFF_ST) % 16 >= 10;
}

/* Components as KVM hands them out again: INIT ones as initial values. */
static int compare(struct run *t, const struct xst_verdict *v)
{
	struct xst_image from = {t->image, t->bytes, &t->full};
	struct xst_image to = {t->want, t->bytes, &t->full};
	struct xst_convert drop = {t->full.mask & ~v->loads, 0, false};
	uint64_t keep = t->xcr0 & ~(v->loads | v->inits);
	uint32_t i, mxcsr;

	if (xst_image_convert(&from, &to, &drop, NULL) < 0)
		return complain(t, "conversion", 0, 0, 0);
	for (; keep; keep &= keep - 1) {
		i = (uint32_t)__builtin_ctzll(keep);
		memcpy(t->want + t->full.offset[i], t->before + t->full.offset[i], t->full.size[i]);
	}
	for (i = XST_OFF_ST; i < t->full.bytes; i++) {
		if (i == XST_OFF_RESERVED)
			i = XST_EXT_OFFSET;
		if (i < t->full.bytes && t->want[i] != t->after[i] && !no_register(i))
			return complain(t, "contents", i, t->want[i], t->after[i]);
	}
	mxcsr = v->mxcsr == XST_MXCSR_LOADED ? xst_get32(t->image, XST_OFF_MXCSR) : XST_MXCSR_INIT;
	if (xst_get32(t->after, XST_OFF_MXCSR) != mxcsr)
		return complain(t, "MXCSR", XST_OFF_MXCSR, mxcsr,
				xst_get32(t->after, XST_OFF_MXCSR));
	return 0;
}

static int one(struct run *t)
{
	struct rng *r = &t->rng;
	struct xst_restore how = {&t->caps, XST_BY_KVM, t->xcr0, 0, 0, t->xcr0, 0, 0};
	struct xst_verdict v;
	enum xst_format format = t->caps.xsavec && !rng_below(r, 8) ? XST_COMPACTED : XST_STANDARD;
	bool refused;

	memset(t->image, 0, t->bytes);
	if (!image_valid(r, &t->caps, t->xcr0, format, t->image))
		return -1;
	for (uint64_t n = rng_below(r, 4); n > 1; n--)
		image_mutate(r, &t->caps, t->xcr0, t->image);
	memset(t->image + t->full.bytes, 0, t->bytes - t->full.bytes);

	if (get(t, t->before) < 0)
		return -1;
	xst_image_check(&how, t->image, t->bytes, &v, NULL);
	refused = ioctl(t->vcpu, KVM_SET_XSAVE, t->image) < 0;
	if (refused && errno != EINVAL)
		return complain(t, "errno", 0, EINVAL, (uint64_t)errno);
	t->images++;
	t->hits[v.rule]++;
	if (refused != (v.vector != 0)) {
		printf("rule: %s\n", xst_rule_text(v.rule));
		return complain(t, "refusal", 0, v.vector != 0, refused);
	}
	if (get(t, t->after) < 0)
		return -1;
	if (refused)
		return memcmp(t->before, t->after, t->bytes)
			       ? complain(t, "a refused image changed something", 0, 0, 1)
			       : 0;
	t->accepted++;
	return compare(t, &v);
}

static int report(const struct run *t, double seconds)
{
	static const enum xst_rule ours[] = {XST_RULE_NONE, XST_RULE_KVM_XCOMP, XST_RULE_KVM_HEADER,
					     XST_RULE_KVM_BV, XST_RULE_KVM_MXCSR};
	int bad = 0;

	printf("%llu images in %.1f s (%.0f per second), %.1f %% accepted\n",
	       (unsigned long long)t->images, seconds, (double)t->images / seconds,
	       100.0 * (double)t->accepted / (double)t->images);
	for (unsigned i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		printf("%10llu  %s\n", (unsigned long long)t->hits[ours[i]],
		       xst_rule_text(ours[i]));
		if (t->hits[ours[i]] < HITS_WANTED && t->images >= IMAGES_DEFAULT) {
			printf("            fired fewer than %u times\n", HITS_WANTED);
			bad = 1;
		}
	}
	return bad;
}

int main(int argc, char **argv)
{
	static struct run t;
	uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 0) : IMAGES_DEFAULT;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	struct timespec a, b;
	int err = start(&t);

	if (err)
		return err;
	printf("seed %llu, guest XCR0 0x%llx, %zu bytes\n", (unsigned long long)seed,
	       (unsigned long long)t.xcr0, t.bytes);
	rng_seed(&t.rng, seed);
	clock_gettime(CLOCK_MONOTONIC, &a);
	while (t.images < wanted)
		if (one(&t) < 0) {
			printf("repeat with: t_kvm %llu %llu\n", (unsigned long long)wanted,
			       (unsigned long long)seed);
			return 1;
		}
	clock_gettime(CLOCK_MONOTONIC, &b);
	return report(&t, (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec));
}
