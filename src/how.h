/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of an event is known beforehand: the build's choices, the policy's bits, the way through
 * switch.c. Private to the engine.
 */
#ifndef XST_HOW_H
#define XST_HOW_H

#include <xst/switch.h>

/*
 * A primitive takes the CPU's bits and returns them changed, or, where it is the last thing an
 * event does (finish_*), writes them back. So the compiler can fold what a caller knows about them,
 * and the common case is straight code without a call, made of the same lines as all others.
 */
typedef uint32_t bits_t;
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* A build for one family (-DXST_ONLY_INSN=XST_INSN_XSAVES, say) contains that family's instructions
 * only; bring-up refuses a machine that would choose another one. */
#ifdef XST_ONLY_INSN
#define insn_of(b) ((enum xst_insn)(XST_ONLY_INSN))
#else
#define insn_of(b) ((enum xst_insn)XST_B_INSN_OF(b))
#endif

/* The ways of switch.c are a quarter of the engine's code, and only save instructions. A build for
 * size (-Os) does without them, and so does one for 32-bit CPUs, whose caches are small and whose
 * save forms take longest; -DXST_SMALL=0 or 1 says it explicitly. */
#ifndef XST_SMALL
#if defined(__OPTIMIZE_SIZE__) || !defined(__x86_64__)
#define XST_SMALL 1
#else
#define XST_SMALL 0
#endif
#endif

/* What a section's short path in kernel.h must not be taken for. */
#if defined(XST_CLOCK) || defined(XST_CHECK_SECTIONS)
#define XST_SECTION_AT_REST XST_SECTION_WATCHED
#define XST_SECTION_AT_WORK XST_SECTION_WATCHED_BUSY
#else
#define XST_SECTION_AT_REST XST_SECTION_IDLE
#define XST_SECTION_AT_WORK XST_SECTION_BUSY
#endif

/* Off the short path: one copy each, and out of the way. */
#define XST_COLD     __attribute__((noinline, cold, unused))
#define XST_NOINLINE __attribute__((noinline, unused))

/* What makes a switch more than one save and one load at most. */
#define B_RARE (XST_B_DISPLACED | XST_B_APART | XST_B_DIRTY)

#define XST_B_POLICY                                                                               \
	(XST_B_LOAD_RETURN | XST_B_LOAD_USE | XST_B_DISPLACED | XST_B_KEEP | XST_B_SKIP_INIT)
#define B_WAYS (0x3fu << 19) /* all of them */

/*
 * What a caller knows beforehand. Where these are constants, the compiler follows them to the end;
 * it does not follow single bits of a word past a branch.
 *   plain   none of B_RARE is set, and the task whose registers are looked for has an area and no home
 *   steady  the event ends with the bits it began with
 *   policy  the policy's bits
 *   insn    the save form
 *   once    save and load come with nothing between: what cpu->mask was, @mask, does for both
 */
struct how {
	bool plain, steady;
	bits_t policy;
	enum xst_insn insn;
	bool once;
	uint64_t mask;
};

/* Nothing is known: look at the bits. */
ALWAYS_INLINE struct how how_general(bits_t b)
{
	const struct how how = {false, false, b & XST_B_POLICY, insn_of(b), false, 0};

	return how;
}

static inline bits_t xst_policy_bits(const struct xst_system *sys, const struct xst_policy *p)
{
	return (p->load == XST_LOAD_RETURN ? XST_B_LOAD_RETURN : 0u) |
	       (p->load == XST_LOAD_FIRST_USE ? XST_B_LOAD_USE : 0u) |
	       (p->save == XST_SAVE_DISPLACED ? XST_B_DISPLACED : 0u) |
	       (p->keep_owner ? XST_B_KEEP : 0u) |
	       (p->skip_init && sys->xgetbv1 ? XST_B_SKIP_INIT : 0u);
}

/* The ways through switch.c: kinds of policies. Deferred has two: the older forms would pay for
 * being asked for behind the newest at each of its three events. */
enum { WAY_EAGER, WAY_KEEP, WAY_DEFER, WAY_USE, WAY_SKIP, WAY_DEFER_OLD };

#define SKIP_POLICY (XST_B_LOAD_RETURN | XST_B_KEEP | XST_B_SKIP_INIT)

/* The save forms in which WAY_SKIP is worth its code: those of CPUs that can tell what is INIT. */
#ifdef XST_ONLY_INSN
#define HAS_WAY_SKIP(insn) 0
#else
#define HAS_WAY_SKIP(insn) ((insn) >= XST_INSN_XSAVEOPT)
#endif

/* The older forms that were made in numbers, in a build for all forms: WAY_DEFER_OLD. */
#ifdef XST_ONLY_INSN
#define IS_OLD(insn) 0
#else
#define IS_OLD(insn) ((insn) == XST_INSN_XSAVEOPT || (insn) == XST_INSN_FXSAVE)
#endif

/* All that follows from the policy: its bits, and its way. */
static inline bits_t xst_way_bits(const struct xst_system *sys, const struct xst_policy *p)
{
	const bits_t b = xst_policy_bits(sys, p);

	if ((b & B_RARE) || sys->apart)
		return b;
	/* The one kind that is worth it: as the policy auto. */
	if (b & XST_B_SKIP_INIT)
		return b == SKIP_POLICY && HAS_WAY_SKIP(sys->insn) ? b | XST_B_WAY(WAY_SKIP) : b;
	if (b & XST_B_LOAD_USE)
		return b | XST_B_WAY(WAY_USE);
	if (!(b & XST_B_LOAD_RETURN))
		return b | XST_B_WAY(b & XST_B_KEEP ? WAY_KEEP : WAY_EAGER);
	if (!(b & XST_B_KEEP))
		return b;
	return b | (IS_OLD(sys->insn) ? XST_B_WAY(WAY_DEFER_OLD) : XST_B_WAY(WAY_DEFER));
}

#endif
