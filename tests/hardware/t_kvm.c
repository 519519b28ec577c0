// SPDX-License-Identifier: BSD-2-Clause
/*
 * Is the predictor right about KVM_SET_XSAVE? The same kinds of images as for XRSTOR are given to
 * xst_image_check() and to a virtual CPU that is never run; verdicts and what KVM_GET_XSAVE then
 * reads must agree. Also what KVM does with PKRU that XSTATE_BV does not name, and with XCR0.
 *
 *	t_kvm [IMAGES] [SEED]
 */
#include <stdlib.h>
#include <time.h>

#include "kvm.h"

#define HITS_WANTED    1000u
#define IMAGES_DEFAULT 100000u

struct run {
	struct rng rng;
	struct kvm k;
	uint8_t image[IMAGE_ROOM], before[IMAGE_ROOM], after[IMAGE_ROOM], want[IMAGE_ROOM];
	uint64_t images, accepted, hits[XST_RULE_COUNT];
};

static int complain(const struct run *t, const char *what, unsigned at, uint64_t want, uint64_t got)
{
	printf("image %llu: %s at %u: predicted 0x%llx, KVM 0x%llx\n",
	       (unsigned long long)t->images, what, at, (unsigned long long)want,
	       (unsigned long long)got);
	return -1;
}

/* Components as KVM hands them out again: INIT ones as initial values. */
static int compare(struct run *t, const struct xst_verdict *v)
{
	struct xst_image from = {t->image, t->k.bytes, &t->k.full};
	struct xst_image to = {t->want, t->k.bytes, &t->k.full};
	struct xst_convert drop = {t->k.full.mask & ~v->loads, 0, false};
	uint64_t keep = t->k.xcr0 & ~(v->loads | v->inits);
	uint32_t i, mxcsr;

	if (xst_image_convert(&from, &to, &drop, NULL) < 0)
		return complain(t, "conversion", 0, 0, 0);
	for (; keep; keep &= keep - 1) {
		i = (uint32_t)__builtin_ctzll(keep);
		memcpy(t->want + t->k.full.offset[i], t->before + t->k.full.offset[i],
		       t->k.full.size[i]);
	}
	for (i = XST_OFF_ST; i < t->k.full.bytes; i++) {
		if (i == XST_OFF_RESERVED)
			i = XST_EXT_OFFSET;
		if (i < t->k.full.bytes && t->want[i] != t->after[i] && !kvm_no_register(i))
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
	struct xst_restore how = {&t->k.caps, XST_BY_KVM, t->k.xcr0, 0, 0, t->k.xcr0, 0, 0};
	struct xst_verdict v;
	enum xst_format format = t->k.caps.xsavec && !rng_below(r, 8) ? XST_COMPACTED : XST_STANDARD;
	bool refused;

	memset(t->image, 0, t->k.bytes);
	if (!image_valid(r, &t->k.caps, t->k.xcr0, format, t->image))
		return -1;
	for (uint64_t n = rng_below(r, 4); n > 1; n--)
		image_mutate(r, &t->k.caps, t->k.xcr0, t->image);
	memset(t->image + t->k.full.bytes, 0, t->k.bytes - t->k.full.bytes);

	if (kvm_get(&t->k, t->before) < 0)
		return -1;
	xst_image_check(&how, t->image, t->k.bytes, &v, NULL);
	refused = kvm_set(&t->k, t->image) < 0;
	if (refused && errno != EINVAL)
		return complain(t, "errno", 0, EINVAL, (uint64_t)errno);
	t->images++;
	t->hits[v.rule]++;
	if (refused != (v.vector != 0)) {
		printf("rule: %s\n", xst_rule_text(v.rule));
		return complain(t, "refusal", 0, v.vector != 0, refused);
	}
	if (kvm_get(&t->k, t->after) < 0)
		return -1;
	if (refused)
		return memcmp(t->before, t->after, t->k.bytes)
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
	int err = kvm_start(&t.k, IMAGE_ROOM);

	if (err)
		return err;
	printf("seed %llu, guest XCR0 0x%llx, %zu bytes\n", (unsigned long long)seed,
	       (unsigned long long)t.k.xcr0, t.k.bytes);
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
