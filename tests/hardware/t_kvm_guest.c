// SPDX-License-Identifier: BSD-2-Clause
/*
 * Do guest.h's copies and KVM's agree? A virtual CPU of the engine, on a software CPU that is
 * described as this one is, and one of KVM are given the same images: what one refuses the other
 * refuses, and what they then give out is the same. What is copied out of a guest whose registers
 * were in use is taken by KVM.
 *
 *	t_kvm_guest [IMAGES] [SEED]
 */
#include <stdlib.h>
#include <time.h>

#include <xst/bringup.h>
#include <xst/guest.h>

#include "kvm.h"
#include "port_guest.h"
#include "world_model.h"

#define IMAGES_DEFAULT 10000u

const char *guest_twin;

struct run {
	struct rng rng;
	struct kvm k;
	struct xst_system sys;
	struct mdl_cpu hw;
	struct xst_cpu cpu;
	struct xst_perm perm;
	struct xst_guest guest;
	XST_AREA(area, IMAGE_ROOM);
	uint8_t image[IMAGE_ROOM], ours[IMAGE_ROOM], theirs[IMAGE_ROOM];
	uint64_t images, accepted;
};

/* There is one CPU only. */
void mdl_fetch(struct xst_cpu *cpu, uint32_t home, struct xst_ctx *ctx)
{
	(void)cpu;
	(void)home;
	(void)ctx;
	abort();
}

/* The same CPU in software, and a guest that may have what KVM's may. */
static int start(struct run *t)
{
	struct xst_diag d;
	int err = kvm_start(&t->k, IMAGE_ROOM);

	if (err)
		return err;
	mdl_reset(&t->hw, &t->k.caps);
	mdl_current = &t->hw;
	t->cpu.world = &t->hw;
	err = xst_system_init(&t->sys, t->k.xcr0);
	if (!err)
		err = xst_cpu_init(&t->sys, &t->cpu, 0);
	if (err) {
		printf("skipped: CPUID gives no usable layout (%s)\n", xst_strerror(err));
		return SKIP;
	}
	xst_perm_init(&t->sys, &t->perm);
	if (t->k.xcr0 & t->sys.dynamic)
		err = xst_perm_request(&t->sys, &t->perm, XST_PERM_GUEST, XST_COMP_TILEDATA, NULL,
				       &d);
	if (!err)
		err = xst_guest_init(&t->sys, &t->perm, &t->guest, t->area, sizeof(t->area), &d);
	if (err || (t->guest.mask & XST_MASK_USER) != t->k.xcr0) {
		printf("skipped: KVM's guests may have 0x%llx, ours 0x%llx here\n",
		       (unsigned long long)t->k.xcr0, (unsigned long long)t->guest.mask);
		return SKIP;
	}
	xst_guest_load(&t->cpu, &t->guest);
	return xst_guest_set_xcr0(&t->cpu, &t->guest, t->k.xcr0, &d);
}

static int complain(const struct run *t, const char *what, unsigned at, uint64_t ours, uint64_t kvm)
{
	printf("image %llu: %s at %u: ours 0x%llx, KVM's 0x%llx\n", (unsigned long long)t->images,
	       what, at, (unsigned long long)ours, (unsigned long long)kvm);
	return -1;
}

static int copy_out(struct run *t, uint8_t *to)
{
	return xst_guest_copy_out(&t->cpu, &t->guest, to, t->k.bytes, NULL);
}

/* Both give out what they hold. @mxcsr: Linux may hand out an older one where AVX came without
 * SSE. */
static int compare(struct run *t, bool mxcsr)
{
	uint32_t i;

	if (copy_out(t, t->ours) || kvm_get(&t->k, t->theirs) < 0)
		return complain(t, "no copy", 0, 0, 0);
	/* Bits that no register has: the byte beside the tags, FOP has 11. */
	t->theirs[XST_OFF_FTW + 1] = 0;
	t->theirs[XST_OFF_FOP + 1] &= 7;
	for (i = 0; i < t->k.full.bytes; i++) {
		if (i == XST_OFF_MXCSR && !mxcsr)
			i += 4;
		if (i == XST_OFF_MXCSR_MASK)
			i += 4;
		if (i == XST_OFF_RESERVED)
			i = XST_EXT_OFFSET;
		if (i < t->k.full.bytes && t->ours[i] != t->theirs[i] && !kvm_no_register(i))
			return complain(t, "contents", i, t->ours[i], t->theirs[i]);
	}
	return 0;
}

/* An image, mostly broken in some way, for both. */
static int same_verdict(struct run *t)
{
	struct rng *r = &t->rng;
	uint64_t bv;
	bool refused;
	int err;

	memset(t->image, 0, t->k.bytes);
	image_valid(r, &t->k.caps, t->k.xcr0,
		    t->k.caps.xsavec && !rng_below(r, 8) ? XST_COMPACTED : XST_STANDARD, t->image);
	for (uint64_t n = rng_below(r, 4); n > 1; n--)
		image_mutate(r, &t->k.caps, t->k.xcr0, t->image);
	memset(t->image + t->k.full.bytes, 0, t->k.bytes - t->k.full.bytes);
	refused = kvm_set(&t->k, t->image) < 0;
	if (refused && errno != EINVAL)
		return complain(t, "errno", 0, EINVAL, (uint64_t)errno);
	err = xst_guest_copy_in(&t->cpu, &t->guest, t->image, t->k.bytes, NULL);
	if (refused != (err != 0))
		return complain(t, "refusal", 0, err != 0, refused);
	if (refused)
		return 0;
	t->accepted++;
	bv = xst_get64(t->image, XST_OFF_XSTATE_BV);
	return compare(t, !(bv & XST_MASK_AVX) || (bv & XST_MASK_SSE));
}

/* The guest runs and changes its registers; KVM takes what it holds then. */
static int taken(struct run *t)
{
	uint64_t rest = rng_subset(&t->rng, t->k.xcr0 & XST_MASK_TS_GUARDED & ~XST_MASK_X87);

	xst_guest_enter(&t->cpu, &t->guest);
	for (; rest; rest &= rest - 1) {
		const unsigned i = xst_mask_first(rest);

		if (rng_below(&t->rng, 3)) {
			rng_fill(&t->rng, mdl_reg(&t->hw, i), mdl_reg_bytes(&t->hw, i));
			mdl_wrote(&t->hw, i);
		} else {
			mdl_init(&t->hw, i);
		}
	}
	xst_guest_exit(&t->cpu, &t->guest);
	if (copy_out(t, t->image))
		return complain(t, "no copy", 0, 0, 0);
	if (kvm_set(&t->k, t->image) < 0)
		return complain(t, "KVM refuses a copy", 0, 0, (uint64_t)errno);
	return compare(t, xst_get64(t->image, XST_OFF_XSTATE_BV) & XST_MASK_SSE);
}

int main(int argc, char **argv)
{
	static struct run t;
	uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 0) : IMAGES_DEFAULT;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	int err = start(&t);

	if (err)
		return err;
	printf("seed %llu, guest XCR0 0x%llx, %zu bytes, saved with %s\n", (unsigned long long)seed,
	       (unsigned long long)t.k.xcr0, t.k.bytes, xst_insn_name(t.sys.insn));
	rng_seed(&t.rng, seed);
	for (; t.images < wanted; t.images++)
		if (same_verdict(&t) < 0 || taken(&t) < 0) {
			printf("repeat with: t_kvm_guest %llu %llu\n", (unsigned long long)wanted,
			       (unsigned long long)seed);
			return 1;
		}
	printf("%llu images, %llu accepted; KVM took every copy\n", (unsigned long long)t.images,
	       (unsigned long long)t.accepted);
	/* Of each verdict enough, or nothing was seen. */
	return t.hw.surprise || (wanted >= 1000 && (t.accepted < wanted / 5 ||
						    t.images - t.accepted < wanted / 5));
}
