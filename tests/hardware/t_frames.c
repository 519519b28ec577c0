// SPDX-License-Identifier: BSD-2-Clause
/*
 * Signal frames of this machine's own Linux: read, changed and written back by us, and honoured by
 * the real sigreturn.
 *
 *	t_frames [FRAMES] [SEED]
 *
 * A function without compiled code in between loads every register, sends itself a signal, and stores
 * every register. What the handler does to its frame decides what comes back:
 *
 *	read	the frame is the kernel's; what we read is what was loaded
 *	change	some registers are changed in it by name
 *	write	our writer makes a frame of another task over it: the same words, other registers
 *	mutate	it is broken; we and the kernel must refuse the same ones, and take the same state from
 *		the others. Known: Linux gives a 64-bit frame to XRSTOR, which also takes compacted
 *		images, does not look at header bytes 24-63, and reads on behind xstate_size;
 *		and kernels up to 6.18 want no room for the second magic number in extended_size
 */
#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "host.h"

#include <xst/reg.h>

#define FRAMES_DEFAULT 20000u
#define HEADER_TAIL    (XST_OFF_XCOMP_BV + 16) /* what XRSTOR does not look at */

void roundtrip(const void *before, void *after, uint64_t mask, long pid, long tid);
__asm__(".text\n"
	".globl roundtrip\n"
	"roundtrip:\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	mov %rsi, %rbx\n"
	"	mov %rdx, %r12\n"
	"	mov %rcx, %r13\n"
	"	mov %r12, %rax\n"
	"	mov %r12, %rdx\n"
	"	shr $32, %rdx\n"
	"	xrstor64 (%rdi)\n"
	"	mov %r13, %rdi\n"
	"	mov %r8, %rsi\n"
	"	mov $10, %edx\n"  /* SIGUSR1 */
	"	mov $234, %eax\n" /* tgkill */
	"	syscall\n"
	"	mov %r12, %rax\n"
	"	mov %r12, %rdx\n"
	"	shr $32, %rdx\n"
	"	xsave64 (%rbx)\n"
	"	fninit\n"
	"	movl $0x1f80, -8(%rsp)\n"
	"	ldmxcsr -8(%rsp)\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	ret\n");

static enum { READ, CHANGE, WRITE, MUTATE, WAYS } way;
static struct host h;
static volatile sig_atomic_t refused; /* by the kernel: SIGSEGV came instead */
static bool bad;
static int ours;     /* what we say of the mutated frame */
static bool either;  /* kernels differ in whether it is an extended frame */
static bool lenient; /* Linux may take it though we do not */
static uint64_t counts[WAYS], agreed_refused, agreed_taken, stricter, fx_only, versions;

static uint8_t before[IMAGE_ROOM] __attribute__((aligned(64)));
static uint8_t after[IMAGE_ROOM] __attribute__((aligned(64)));
static uint8_t want[IMAGE_ROOM], other[IMAGE_ROOM], kernels[IMAGE_ROOM], tried[IMAGE_ROOM];

static void complain(const char *what)
{
	bad = true;
	printf("frame %llu: %s\n",
	       (unsigned long long)(counts[0] + counts[1] + counts[2] + counts[3]), what);
	printf("magic1 0x%x extended_size %u xfeatures 0x%llx xstate_size %u magic2 0x%x XSTATE_BV "
	       "0x%llx XCOMP_BV 0x%llx MXCSR 0x%x, we say %d\n",
	       xst_get32(tried, 464), xst_get32(tried, 468),
	       (unsigned long long)xst_get64(tried, 472), xst_get32(tried, 480),
	       xst_get32(tried, h.layout.bytes),
	       (unsigned long long)xst_get64(tried, XST_OFF_XSTATE_BV),
	       (unsigned long long)xst_get64(tried, XST_OFF_XCOMP_BV),
	       xst_get32(tried, XST_OFF_MXCSR), ours);
}

/* The kernel's words, and ours for the same mask. */
static void check_words(const uint8_t *fp, const struct xst_frame *frame)
{
	if (!frame->extended || frame->xfeatures != h.mask ||
	    frame->xstate_size != h.layout.bytes ||
	    (int)frame->extended_size != xst_sigframe_bytes(&h.sys, h.mask, XST_FRAME_64, NULL))
		complain("the kernel's sizes are not ours");
	memcpy(kernels, fp, frame->extended_size);
}

static void change(uint8_t *fp)
{
	const struct xst_image image = {fp, h.layout.bytes, &h.layout};
	static const char *const names[] = {"xmm3", "ymm5", "zmm20", "k2", "st2", "mxcsr", "fcw"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct xst_reg_place place;
		uint8_t value[64];

		rng_fill(&h.rng, value, sizeof(value));
		if (!strcmp(names[i], "mxcsr"))
			xst_put32(value, 0, 0x1f80u | (xst_get32(value, 0) & 0x603fu));
		if (!strcmp(names[i], "fcw"))
			xst_put16(value, 0, (uint16_t)((value[0] & 0xc00) | 0x37f));
		if (xst_reg_find(names[i], &place) == XST_OK)
			xst_image_set(&image, names[i], value, place.bytes);
	}
}

/* The other task's frame, over the kernel's. All but the registers must come out the same. */
static void write_other(uint8_t *fp)
{
	struct xst_uabi t = h.t;

	if (xst_sigframe_write(&t, XST_FRAME_64, fp, NULL))
		complain("our frame could not be written");
	if (memcmp(fp + XST_OFF_SOFTWARE, kernels + XST_OFF_SOFTWARE, 48) ||
	    xst_get32(fp, h.layout.bytes) != xst_get32(kernels, h.layout.bytes) ||
	    memcmp(fp + XST_OFF_XCOMP_BV, kernels + XST_OFF_XCOMP_BV, 56) ||
	    (~xst_get64(fp, XST_OFF_XSTATE_BV) & XST_MASK_LEGACY))
		complain("our words are not the kernel's");
}

static void mutate(uint8_t *fp)
{
	static const uint16_t words[] = {464, 468, 472, 480};
	struct xst_frame frame;
	uint64_t bv;

	for (uint64_t n = rng_below(&h.rng, 3); n < 2; n++) {
		if (rng_below(&h.rng, 3)) {
			image_mutate(&h.rng, &h.caps, h.sys.xcr0, fp);
		} else {
			const uint32_t at = words[rng_below(&h.rng, 4)];

			xst_put32(fp, at,
				  rng_below(&h.rng, 2)
					  ? (uint32_t)rng_next(&h.rng) % (2 * h.layout.bytes)
					  : xst_get32(fp, at) ^ (1u << rng_below(&h.rng, 32)));
		}
	}
	if (!rng_below(&h.rng, 8))
		fp[h.layout.bytes] ^= 1;
	image_tame(&h.caps, fp);
	/* CPUs differ in what they keep of pointers that are not canonical. */
	xst_put32(fp, XST_OFF_FIP + 4, 0);
	xst_put32(fp, XST_OFF_FDP + 4, 0);
	memcpy(tried, fp, h.layout.bytes + XST_FRAME_MAGIC2_BYTES);
	ours = xst_sigframe_restore(&h.t, XST_FRAME_64, fp, &frame, NULL);
	bv = xst_get64(fp, XST_OFF_XSTATE_BV) & xst_get64(fp, 472);
	lenient = (xst_get64(fp, XST_OFF_XCOMP_BV) & XST_XCOMP_COMPACT) ||
		  (xst_get32(fp, 480) < h.layout.bytes && (bv & ~XST_MASK_LEGACY));
	either = xst_get32(fp, 468) - xst_get32(fp, 480) < XST_FRAME_MAGIC2_BYTES;
	for (unsigned i = HEADER_TAIL; i < XST_EXT_OFFSET; i++)
		lenient |= fp[i] != 0;
	fx_only += !ours && !frame.extended;
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	uint8_t *fp = (uint8_t *)uc->uc_mcontext.fpregs;
	struct xst_frame frame;
	struct xst_image image = {fp, h.layout.bytes, &h.layout};

	(void)sig;
	(void)info;
	if (xst_sigframe_read(fp, IMAGE_ROOM / 2, XST_FRAME_64, 0, &frame, NULL))
		complain("the kernel's frame cannot be read");
	check_words(fp, &frame);
	if (xst_uabi_set(&h.t, &image, XST_UABI_MXCSR_ALWAYS, NULL))
		complain("the kernel's frame is refused");
	host_state(&h, want);
	memcpy(after, before, sizeof(after));
	if (!host_same(&h, after, want, "read"))
		complain("what was read is not what was loaded");
	switch (way) {
	case CHANGE:
		change(fp);
		if (xst_sigframe_restore(&h.t, XST_FRAME_64, fp, &frame, NULL))
			complain("the changed frame is refused");
		break;
	case WRITE:
		host_random(&h, other);
		write_other(fp);
		break;
	case MUTATE:
		mutate(fp);
		break;
	default:
		break;
	}
	host_state(&h, want);
}

/* The kernel refused a frame: what is in the registers is fresh, and nothing to compare. */
static void on_refusal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	refused = 1;
}

static void one(void)
{
	host_random(&h, before);
	memset(before + XST_OFF_RESERVED, 0, XST_OFF_XSTATE_BV - XST_OFF_RESERVED);
	refused = 0;
	ours = XST_OK;
	lenient = either = false;
	counts[way]++;
	memset(after + XST_OFF_XSTATE_BV, 0, XST_HEADER_BYTES);
	roundtrip(before, after, h.sys.xcr0, getpid(), syscall(SYS_gettid));
	if (either) {
		versions++;
		return;
	}
	if (way == MUTATE && ours && !refused && lenient) {
		stricter++;
		return;
	}
	if ((ours != XST_OK) != (refused != 0)) {
		printf("we say %d, the kernel %s it\n", ours, refused ? "refuses" : "takes");
		complain("verdicts differ");
		return;
	}
	if (way == MUTATE && refused)
		agreed_refused++;
	if (refused)
		return;
	agreed_taken += way == MUTATE;
	if (!host_same(&h, want, after, "came back"))
		complain("what came back is not what the frame said");
}

int main(int argc, char **argv)
{
	const uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 0) : FRAMES_DEFAULT;
	const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t stack = {.ss_size = 1u << 18};
	int skip = host_start(&h, 0);
	uint32_t rest;

	if (skip)
		return skip;
	stack.ss_sp = malloc(stack.ss_size);
	if (!stack.ss_sp || sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &sa, NULL))
		return 1;
	sa.sa_sigaction = on_refusal;
	sigaction(SIGSEGV, &sa, NULL);
	printf("seed %llu, mask 0x%llx, %u bytes\n", (unsigned long long)seed,
	       (unsigned long long)h.mask, h.layout.bytes);
	rest = (uint32_t)getauxval(AT_MINSIGSTKSZ);
	printf("AT_MINSIGSTKSZ %u, ours for a 32-bit frame and 736 bytes beside it %u\n", rest,
	       xst_sigframe_stack_bytes(
		       (uint32_t)xst_sigframe_bytes(&h.sys, h.mask, XST_FRAME_32, NULL), 736));
	rng_seed(&h.rng, seed);
	for (uint64_t n = 0; n < wanted && !bad; n++) {
		way = n % 8 < 4 ? MUTATE : n % 8 == 4 ? READ : n % 8 == 5 ? CHANGE : WRITE;
		one();
	}
	printf("%llu frames read only, %llu changed, %llu written by us, %llu mutated\n",
	       (unsigned long long)counts[READ], (unsigned long long)counts[CHANGE],
	       (unsigned long long)counts[WRITE], (unsigned long long)counts[MUTATE]);
	printf("of the mutated ones both refused %llu and took %llu (%llu as FXSAVE only); %llu "
	       "are "
	       "refused by us and taken by XRSTOR, %llu are another frame for another kernel\n",
	       (unsigned long long)agreed_refused, (unsigned long long)agreed_taken,
	       (unsigned long long)fx_only, (unsigned long long)stricter,
	       (unsigned long long)versions);
	if (bad)
		printf("repeat with: t_frames %llu %llu\n", (unsigned long long)wanted,
		       (unsigned long long)seed);
	if (wanted >= FRAMES_DEFAULT && (agreed_refused < 1000 || agreed_taken < 1000))
		bad = true;
	return bad;
}
