// SPDX-License-Identifier: BSD-2-Clause
/*
 * Is the predictor right about this very CPU? Images are given to xst_image_check() and to the
 * real XRSTOR and FXRSTOR; both verdicts and the resulting registers must agree, up to the freedom
 * the manual gives (XINUSE may be 1 for a component that holds its initial value).
 *
 *	t_xrstor [IMAGES] [SEED]
 *
 * A fault arrives as a signal whose handler continues behind the instruction.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <xst/x87.h>
#include <xst/insn.h>

#include "images.h"

#define SKIP           77
#define HITS_WANTED    1000u
#define IMAGES_DEFAULT 300000u
#define GUARD_BYTES    4096u

/* Where a fault is expected and where to go on: labels in the assembler text below. */
extern const char probe_xrstor[], probe_fxrstor[], probe_after[];

static volatile uint64_t fault_vector;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *regs = uc->uc_mcontext.gregs;

	(void)info;
	if (regs[REG_RIP] != (greg_t)(uintptr_t)probe_xrstor &&
	    regs[REG_RIP] != (greg_t)(uintptr_t)probe_fxrstor) {
		signal(sig, SIG_DFL);
		return;
	}
	fault_vector = (uint64_t)regs[REG_TRAPNO];
	regs[REG_RIP] = (greg_t)(uintptr_t)probe_after;
}

/*
 * Load @before, restore @image with @rfbm (or by FXRSTOR), store what is in the registers to
 * @after. No compiled code runs in between, so nothing else touches a vector register.
 */
void probe(const void *before, const void *image, uint64_t rfbm, void *after, uint64_t all,
	   uint64_t by_fxrstor);
__asm__(".text\n"
	".globl probe\n"
	"probe:\n"
	"	push %rbx\n"
	"	mov %rdx, %rbx\n"
	"	mov %rcx, %r10\n"
	"	mov %r8, %rax\n"
	"	mov %r8, %rdx\n"
	"	shr $32, %rdx\n"
	"	xrstor64 (%rdi)\n"
	"	test %r9, %r9\n"
	"	jnz probe_fxrstor\n"
	"	mov %rbx, %rax\n"
	"	mov %rbx, %rdx\n"
	"	shr $32, %rdx\n"
	"probe_xrstor:\n"
	"	xrstor64 (%rsi)\n"
	"	jmp probe_after\n"
	"probe_fxrstor:\n"
	"	fxrstor64 (%rsi)\n"
	"probe_after:\n"
	"	mov %r8, %rax\n"
	"	mov %r8, %rdx\n"
	"	shr $32, %rdx\n"
	"	xsave64 (%r10)\n"
	"	fninit\n"
	"	movl $0x1f80, -8(%rsp)\n"
	"	ldmxcsr -8(%rsp)\n"
	"	pop %rbx\n"
	"	ret\n");

struct run {
	struct rng rng;
	struct xst_caps caps;
	uint64_t xcr0, xfd;
	struct xst_layout full; /* standard, all of xcr0 */
	char *pages;            /* IMAGE_ROOM bytes, then a page that faults */
	uint8_t *before, *start, *after, *want, *image;
	uint64_t images, accepted, hits[XST_RULE_COUNT], rfbm_seen[1024];
	uint64_t warned_unmasked, truncated_ok, either, read_less, lost_halves;
	/* Of a pointer the CPU keeps so many bits and extends the topmost; the manual does not say. */
	unsigned fip_bits, fdp_bits;
	bool pointers_if_pending; /* else a save writes zeros: AMD and Hygon */
};

static void *area(void)
{
	void *p = aligned_alloc(64, IMAGE_ROOM);

	if (!p)
		abort();
	memset(p, 0, IMAGE_ROOM);
	return p;
}

/* A pointer as the CPU keeps it: sign-extended from its top bit. */
static void canonical(uint8_t *p, unsigned offset, unsigned bits)
{
	int64_t v = (int64_t)(xst_get64(p, offset) << (64 - bits));

	xst_put64(p, offset, (uint64_t)(v >> (64 - bits)));
}

/* FSW and FCW as the CPU keeps them: ES and B follow from pending exceptions, FCW has bits that
 * are always 0 or 1. Applied to what we predict only. */
static void as_hardware_keeps(const struct run *t, uint8_t *p)
{
	unsigned fcw = xst_get16(p, XST_OFF_FCW), fsw = xst_get16(p, XST_OFF_FSW);

	canonical(p, XST_OFF_FIP, t->fip_bits);
	canonical(p, XST_OFF_FDP, t->fdp_bits);
	if (t->pointers_if_pending && !xst_x87_pending(p))
		memset(p + XST_OFF_FOP, 0, XST_OFF_MXCSR - XST_OFF_FOP);
	xst_put16(p, XST_OFF_FCW, (uint16_t)((fcw & 0x1f3fu) | 0x40u));
	fsw &= 0x7f7fu;
	if (xst_x87_pending(p))
		fsw |= 0x8080u;
	xst_put16(p, XST_OFF_FSW, (uint16_t)fsw);
}

/* What the registers must be: from the verdict, the image, and what was there before. */
static int predict(struct run *t, const struct xst_restore *how, const struct xst_verdict *v,
		   const uint8_t *image, size_t bytes)
{
	struct xst_layout layout;
	struct xst_image from = {(void *)(uintptr_t)image, bytes, &layout};
	struct xst_image to = {t->want, IMAGE_ROOM, &t->full};
	struct xst_convert drop = {t->full.mask & ~v->loads, 0, false};
	uint8_t *fx = t->image + IMAGE_ROOM;
	struct xst_diag d;
	uint64_t rest;
	uint32_t mxcsr;

	if (how->by == XST_BY_FXRSTOR) {
		/* An XSAVE image around it. */
		memcpy(fx, image, XST_LEGACY_BYTES);
		memset(fx + XST_LEGACY_BYTES, 0, XST_HEADER_BYTES);
		xst_put64(fx, XST_OFF_XSTATE_BV, XST_MASK_LEGACY);
		from.area = fx;
		from.bytes = XST_EXT_OFFSET;
	}
	if (xst_image_layout(&t->caps, t->xcr0, from.area, from.bytes, &layout, &d) < 0 ||
	    xst_image_convert(&from, &to, &drop, &d) < 0) {
		printf("an image that restores cannot be converted: %s\n", d.rule);
		return -1;
	}
	mxcsr = xst_get32(t->start, XST_OFF_MXCSR);
	if (v->mxcsr == XST_MXCSR_LOADED)
		mxcsr = xst_get32(from.area, XST_OFF_MXCSR);
	if (v->mxcsr == XST_MXCSR_TO_INIT)
		mxcsr = XST_MXCSR_INIT;
	xst_put32(t->want, XST_OFF_MXCSR, mxcsr);
	xst_put32(t->want, XST_OFF_MXCSR_MASK, t->caps.mxcsr_mask);
	for (rest = t->xcr0 & ~(v->loads | v->inits); rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctzll(rest);

		memcpy(t->want + t->full.offset[i], t->start + t->full.offset[i], t->full.size[i]);
		if (i == XST_COMP_X87) {
			xst_put32(t->want, XST_OFF_MXCSR, mxcsr);
			xst_put32(t->want, XST_OFF_MXCSR_MASK, t->caps.mxcsr_mask);
		}
	}
	as_hardware_keeps(t, t->want);
	return 0;
}

static int complain(struct run *t, const struct xst_restore *how, const char *what, uint64_t want,
		    uint64_t got)
{
	printf("image %llu: %s: predicted 0x%llx, the CPU 0x%llx (%s, rfbm 0x%llx, misalign %u)\n",
	       (unsigned long long)t->images, what, (unsigned long long)want,
	       (unsigned long long)got, how->by == XST_BY_FXRSTOR ? "fxrstor" : "xrstor",
	       (unsigned long long)how->rfbm, how->misalign);
	return -1;
}

static int compare(struct run *t, const struct xst_restore *how, const struct xst_verdict *v)
{
	const uint64_t before_bv = xst_get64(t->start, XST_OFF_XSTATE_BV);
	const uint64_t bv = xst_get64(t->after, XST_OFF_XSTATE_BV);
	uint64_t kept = t->xcr0 & ~(v->loads | v->inits);
	uint32_t i;

	for (i = 0; i < t->full.bytes; i++) {
		if (i == XST_OFF_RESERVED)
			i = XST_EXT_OFFSET; /* nothing of the registers */
		if (i < t->full.bytes && t->want[i] != t->after[i]) {
			printf("byte %u\n", i);
			return complain(t, how, "register contents", t->want[i], t->after[i]);
		}
	}
	/* XINUSE: 0 only for initial values, which the comparison above has seen to; what was not
	 * touched stays, but SSE may follow MXCSR. */
	if ((bv ^ before_bv) & kept & ~XST_MASK_SSE)
		return complain(t, how, "XINUSE of what was kept", before_bv & kept, bv & kept);
	if (bv & ~t->xcr0)
		return complain(t, how, "XINUSE", t->xcr0, bv);
	for (i = 0; i < 63; i++) {
		uint64_t bit = XST_MASK(i);

		if ((v->loads & ~bv & bit) && i >= 2) {
			/* Loaded and not in use: only when the image held the initial value. */
			for (uint32_t b = 0; b < t->full.size[i]; b++)
				if (t->after[t->full.offset[i] + b])
					return complain(t, how, "XINUSE of what was loaded", bit, bv);
		}
	}
	return 0;
}

/* The bits of @v under @mask, side by side. */
static unsigned dense(uint64_t v, uint64_t mask)
{
	unsigned out = 0, n = 0;

	for (; mask; mask &= mask - 1, n++)
		if (v & mask & -mask)
			out |= 1u << n;
	return out;
}

/* Memory ends within a component that is asked for but not loaded: the CPU need not read it. */
static bool may_restore(const struct xst_restore *how, const void *image, size_t room)
{
	struct xst_restore less = *how;

	if (room < XST_EXT_OFFSET)
		return false;
	less.rfbm &= xst_get64(image, XST_OFF_XSTATE_BV);
	return xst_image_check(&less, image, room, NULL, NULL) == XST_OK;
}

/*
 * pvm-fip-32: the hypervisor may come in between, and if it saves the guest's registers in the 32-bit
 * form (without REX.W), FIP and FDP lose their upper halves. It happens to one image in some hundred
 * thousand, never twice to the same.
 */
static bool lost_halves(const struct run *t)
{
	static const unsigned halves[] = {XST_OFF_FIP + 4, XST_OFF_FDP + 4};
	uint32_t want = 0, after = 0;
	bool differ = false;

	for (unsigned i = 0; i < 2; i++) {
		want |= xst_get32(t->want, halves[i]);
		after |= xst_get32(t->after, halves[i]);
		differ |= memcmp(t->want + halves[i], t->after + halves[i], 4) != 0;
	}
	return differ && (!want || !after);
}

/* How the CPU itself stores what is there before the image. */
static void store_start(struct run *t)
{
	memset(t->start + XST_HEADER_OFFSET, 0, XST_HEADER_BYTES);
	probe(t->before, t->before, 0, t->start, t->xcr0, 0);
}

/* One image: where it lies, what it is, both verdicts. */
static int one(struct run *t)
{
	struct rng *r = &t->rng;
	struct xst_restore how = {&t->caps, XST_BY_XRSTOR, t->xcr0, 0, t->xfd, 0, 0, 0};
	enum xst_format format = t->caps.xsavec && rng_below(r, 2) ? XST_COMPACTED : XST_STANDARD;
	struct xst_verdict v;
	struct xst_diag d;
	size_t room = IMAGE_ROOM, bytes;
	uint8_t *image;
	int err;

	if (!rng_below(r, 10))
		how.by = XST_BY_FXRSTOR;
	/* Every subset of XCR0 in turn, under whatever bits are not enabled. */
	how.rfbm = rng_subset(r, t->xcr0) | (rng_next(r) & ~t->xcr0);
	bytes = image_valid(r, &t->caps, t->xcr0, format, t->image);
	for (uint64_t n = rng_below(r, 4); n > 1; n--)
		image_mutate(r, &t->caps, t->xcr0, t->image);
	if (!rng_below(r, 12))
		how.misalign = (uint32_t)rng_below(r, 64);
	if (!rng_below(r, 6)) {
		/* The image ends at the guard page, perhaps too early. */
		room = rng_below(r, (bytes + 127) / 64) * 64;
		if (how.misalign)
			room += 64 - how.misalign;
	}
	image = (uint8_t *)t->pages + IMAGE_ROOM - room;
	if (room == IMAGE_ROOM) {
		image += how.misalign;
		room -= how.misalign;
	}
	memcpy(image, t->image, bytes < room ? bytes : room);
	/* FXRSTOR may or may not read the bytes that software may use. */
	if (how.by == XST_BY_FXRSTOR && room < XST_LEGACY_BYTES && room > XST_OFF_RESERVED)
		return 0;

	err = xst_image_check(&how, image, room, &v, &d);
	memset(t->after + XST_HEADER_OFFSET, 0, XST_HEADER_BYTES);
	fault_vector = 0;
	probe(t->before, image, how.rfbm, t->after, t->xcr0, how.by == XST_BY_FXRSTOR);
	t->images++;
	t->hits[v.rule]++;
	/* Two things wrong: which is met first is the CPU's choice. */
	if (v.vector == XST_VECTOR_GP && fault_vector == XST_VECTOR_PF && room < t->full.bytes)
		t->either++;
	else if (v.rule == XST_RULE_SHORT && !fault_vector && may_restore(&how, image, room))
		t->read_less++;
	else if (fault_vector != v.vector || (err != 0) != (v.vector != 0)) {
		printf("rule: %s\n", xst_rule_text(v.rule));
		return complain(t, &how, "vector", v.vector, fault_vector);
	}
	if (err)
		return 0;
	t->accepted++;
	if (how.by == XST_BY_XRSTOR)
		t->rfbm_seen[dense(how.rfbm, t->xcr0) % 1024]++;
	t->warned_unmasked += (v.warnings & XST_WARN_MXCSR_UNMASKED) != 0;
	t->truncated_ok += room < bytes;
	if (predict(t, &how, &v, image, room) < 0)
		return -1;
	if (lost_halves(t)) {
		t->lost_halves++;
		store_start(t);
		probe(t->before, image, how.rfbm, t->after, t->xcr0, how.by == XST_BY_FXRSTOR);
		if (predict(t, &how, &v, image, room) < 0)
			return -1;
	}
	return compare(t, &how, &v);
}

/* A new state to start from. */
static void renew(struct run *t)
{
	image_valid(&t->rng, &t->caps, t->xcr0, XST_STANDARD, t->before);
	xst_put64(t->before, XST_OFF_XSTATE_BV, rng_subset(&t->rng, t->xcr0 & ~t->xfd));
	memcpy(t->pages, t->before, t->full.bytes);
	store_start(t);
}

/* How many bits of the pointer @odd it takes to get what is at @offset: an address's, or all. */
static unsigned kept_bits(const struct run *t, unsigned offset, uint64_t odd)
{
	static const unsigned sizes[] = {48, 57};
	uint8_t p[8];

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		xst_put64(p, 0, odd);
		canonical(p, 0, sizes[i]);
		if (xst_get64(p, 0) == xst_get64(t->after, offset))
			return sizes[i];
	}
	return 64;
}

/* Pointers that are not canonical, or belong to no exception: freedoms, so ask. */
static void ask_about_pointers(struct run *t)
{
	const uint64_t odd = 0x5a5a5a5a5a5a5a5au;

	memset(t->image, 0, IMAGE_ROOM);
	xst_put64(t->image, XST_OFF_XSTATE_BV, XST_MASK_X87);
	/* An exception is pending, so that CPUs with the FIP leak load the pointers too. */
	xst_put16(t->image, XST_OFF_FSW, 1);
	xst_put64(t->image, XST_OFF_FIP, odd);
	xst_put64(t->image, XST_OFF_FDP, odd);
	xst_put32(t->image, XST_OFF_MXCSR, XST_MXCSR_INIT);
	memset(t->after, 0, IMAGE_ROOM);
	probe(t->image, t->image, XST_MASK_X87, t->after, t->xcr0, 0);
	t->fip_bits = kept_bits(t, XST_OFF_FIP, odd);
	t->fdp_bits = kept_bits(t, XST_OFF_FDP, odd);
	xst_put16(t->image, XST_OFF_FSW, 0);
	memset(t->after, 0, IMAGE_ROOM);
	probe(t->image, t->image, XST_MASK_X87, t->after, t->xcr0, 0);
	t->pointers_if_pending = !xst_get64(t->after, XST_OFF_FIP);
	printf("pointers of %u and %u bits%s\n", t->fip_bits, t->fdp_bits,
	       t->pointers_if_pending ? ", saved while an exception is pending" : "");
}

static const char *unreachable(const struct run *t, enum xst_rule rule)
{
	switch (rule) {
	case XST_RULE_NO_INSTRUCTION:
		return "the CPU has both instructions";
	case XST_RULE_NOT_COMPACTED:
		return "XRSTORS is for ring 0";
	case XST_RULE_NO_COMPACTION:
		return t->caps.xsavec ? "the CPU has the compacted format" : NULL;
	case XST_RULE_HEADER_COMPACT:
	case XST_RULE_XCOMP_ENABLED:
	case XST_RULE_BV_XCOMP:
		return t->caps.xsavec ? NULL : "the CPU has no compacted format";
	case XST_RULE_XFD:
		return t->xfd ? NULL : "no component here is disabled by IA32_XFD";
	case XST_RULE_KVM_XCOMP:
	case XST_RULE_KVM_HEADER:
	case XST_RULE_KVM_BV:
	case XST_RULE_KVM_MXCSR:
		return "KVM's rule, see t_kvm";
	default:
		return NULL;
	}
}

static int report(const struct run *t, double seconds)
{
	int bad = 0;
	uint64_t subsets = 0;

	printf("%llu images in %.1f s (%.0f per second), %.1f %% restore\n",
	       (unsigned long long)t->images, seconds, (double)t->images / seconds,
	       100.0 * (double)t->accepted / (double)t->images);
	printf("%llu restored from memory shorter than the layout, %llu with all SIMD exceptions "
	       "unmasked\n",
	       (unsigned long long)t->truncated_ok, (unsigned long long)t->warned_unmasked);
	printf("%llu broke two rules and met the other one first, %llu were read less of than asked\n",
	       (unsigned long long)t->either, (unsigned long long)t->read_less);
	if (t->lost_halves)
		printf("%llu lost the upper halves of FIP and FDP on the way (pvm-fip-32), and were tried again\n",
		       (unsigned long long)t->lost_halves);
	/* More often it would be something else. */
	if (t->lost_halves > t->images / 5000 + 1)
		bad = 1;
	for (unsigned i = 0; i < XST_RULE_COUNT; i++) {
		const char *why = unreachable(t, (enum xst_rule)i);

		if (why && !t->hits[i]) {
			printf("%10s  %s (%s)\n", "-", xst_rule_text((enum xst_rule)i), why);
			continue;
		}
		printf("%10llu  %s\n", (unsigned long long)t->hits[i],
		       xst_rule_text((enum xst_rule)i));
		if (t->hits[i] < HITS_WANTED && t->images >= IMAGES_DEFAULT) {
			printf("            fired fewer than %u times\n", HITS_WANTED);
			bad = 1;
		}
	}
	for (unsigned i = 0; i < 1024; i++)
		subsets += t->rfbm_seen[i] != 0;
	printf("%llu of %llu different RFBM restored\n", (unsigned long long)subsets,
	       1ull << __builtin_popcountll(t->xcr0));
	return bad;
}

static int start(struct run *t)
{
	static uint8_t fx[512] __attribute__((aligned(64)));
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t stack = {.ss_size = 1u << 17};

	if (xst_caps_native(&t->caps) < 0 || !t->caps.xsave || !t->caps.osxsave) {
		printf("skipped: this CPU or kernel has no XSAVE\n");
		return SKIP;
	}
	xst_fxsave(fx);
	if (xst_get32(fx, XST_OFF_MXCSR_MASK))
		t->caps.mxcsr_mask = xst_get32(fx, XST_OFF_MXCSR_MASK);
	t->xcr0 = xst_xgetbv(0) & XST_MASK_USER;
	/* Without permission the kernel keeps tile data disabled. */
	t->xfd = t->caps.xfd ? t->xcr0 & XST_MASK_TILEDATA : 0;
	if (xst_layout_compute(&t->caps, t->xcr0, XST_STANDARD, &t->full, NULL) < 0 ||
	    t->full.bytes > IMAGE_ROOM) {
		printf("skipped: CPUID gives no usable layout\n");
		return SKIP;
	}
	t->pages = mmap(NULL, IMAGE_ROOM + GUARD_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t->pages == MAP_FAILED || mprotect(t->pages + IMAGE_ROOM, GUARD_BYTES, PROT_NONE))
		return 1;
	t->before = area();
	t->start = area();
	t->after = area();
	t->want = area();
	t->image = aligned_alloc(64, IMAGE_ROOM + XST_EXT_OFFSET);
	stack.ss_sp = malloc(stack.ss_size);
	if (!t->image || !stack.ss_sp || sigaltstack(&stack, NULL))
		return 1;
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGILL, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	return 0;
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
	printf("seed %llu, XCR0 0x%llx, MXCSR_MASK 0x%x\n", (unsigned long long)seed,
	       (unsigned long long)t.xcr0, t.caps.mxcsr_mask);
	ask_about_pointers(&t);
	rng_seed(&t.rng, seed);
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (uint64_t n = 0; t.images < wanted; n++) {
		if (n % 64 == 0)
			renew(&t);
		if (one(&t) < 0) {
			printf("repeat with: t_xrstor %llu %llu\n", (unsigned long long)wanted,
			       (unsigned long long)seed);
			return 1;
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	return report(&t, (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec));
}
