/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An XSAVE image in memory: what a restore will do with it, new ones, and moving one elsewhere.
 *
 * An image means nothing without its layout, so the layout is always explicit: the image of a
 * foreign CPU is read with that CPU's layout and never with ours.
 *
 *	0     x87: FCW FSW FTW(abridged) FOP FIP FDP		160  XMM0..15
 *	24    MXCSR, MXCSR_MASK					416  reserved, then free for software
 *	32    ST0..7, 16 bytes each, 10 used			512  header: XSTATE_BV XCOMP_BV 0...
 *								576  extended region
 *
 * Ref: SDM vol. 1, "XSAVE Area"
 */
#ifndef XST_IMAGE_H
#define XST_IMAGE_H

#include <xst/layout.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Places in the legacy region and the header. */
#define XST_OFF_FCW        0u
#define XST_OFF_FSW        2u
#define XST_OFF_FTW        4u /* abridged: one byte */
#define XST_OFF_FOP        6u
#define XST_OFF_FIP        8u
#define XST_OFF_FCS        12u /* 32-bit form; the 64-bit form has FIP[63:32] here */
#define XST_OFF_FDP        16u
#define XST_OFF_FDS        20u
#define XST_OFF_MXCSR      24u
#define XST_OFF_MXCSR_MASK 28u
#define XST_OFF_ST         32u
#define XST_OFF_XMM        160u
#define XST_OFF_RESERVED   416u
#define XST_OFF_SOFTWARE   464u
#define XST_OFF_XSTATE_BV  512u
#define XST_OFF_XCOMP_BV   520u

/* Initial values. #RESET differs from INIT in the x87 part only. */
#define XST_FCW_INIT   0x037fu
#define XST_FCW_RESET  0x0040u
#define XST_MXCSR_INIT 0x1f80u

/* An image and what it is laid out by. Functions that take it const do not write to @area. */
struct xst_image {
	void *area;
	size_t bytes; /* of memory at @area */
	const struct xst_layout *layout;
};

enum xst_rule {
#define XST_RULE(SYM, vector, text) XST_RULE_##SYM,
#include <xst/rule.def>
	XST_RULE_COUNT
};

#define XST_VECTOR_UD     6u
#define XST_VECTOR_NM     7u
#define XST_VECTOR_GP     13u
#define XST_VECTOR_PF     14u
#define XST_VECTOR_EINVAL 255u /* not a vector: KVM_SET_XSAVE refuses */

/* Who restores. */
enum xst_restorer { XST_BY_FXRSTOR, XST_BY_XRSTOR, XST_BY_XRSTORS, XST_BY_KVM };

/* The CPU that restores, and what is in force on it at that moment. */
struct xst_restore {
	const struct xst_caps *caps;
	enum xst_restorer by;
	uint64_t xcr0, xss, xfd; /* KVM: xcr0 is what the guest may have */
	uint64_t rfbm;           /* EDX:EAX; bits that are not enabled are ignored */
	uint32_t mxcsr_mask;     /* 0: that of @caps */
	uint32_t misalign;       /* address of the area modulo 64 */
};

/* Worth saying about an image that does restore. */
enum xst_warning {
	XST_WARN_MXCSR_UNMASKED = 1u << 0, /* every SIMD exception unmasked and no flag set: a zeroed
					      area, not a program's wish */
	XST_WARN_FIP_KEPT = 1u << 1,       /* FOP, FIP, FDP of the previous owner stay */
	XST_WARN_X87_PENDING = 1u << 2,    /* #MF at the next waiting x87 instruction */
};

enum xst_mxcsr_effect { XST_MXCSR_KEPT, XST_MXCSR_LOADED, XST_MXCSR_TO_INIT };

/* What will happen. Components in neither mask keep what is in the registers. */
struct xst_verdict {
	enum xst_rule rule;
	uint32_t vector; /* 0: none */
	enum xst_format format;
	uint64_t loads; /* taken from the image */
	uint64_t inits; /* set to their initial values */
	enum xst_mxcsr_effect mxcsr;
	uint32_t warnings;
};

/**
 * xst_rule_text() - a rule in words.
 *
 * Context: any ring; never faults.
 * Return:  a static string, never NULL.
 */
const char *xst_rule_text(enum xst_rule rule);

/**
 * xst_image_check() - predict what a restore of an image does.
 * @how:     who restores, on which CPU, with what in force.
 * @area:    the image; any alignment (the one that counts is @how->misalign).
 * @bytes:   memory readable at @area.
 * @verdict: out, optional: components loaded and initialised, or the rule broken and the vector.
 * @diag:    out, optional: component, byte in the image, want and got.
 *
 * It reads the image as the hardware of @how->caps does, so a standard image must be in that CPU's
 * layout; xst_compat_image() tells whether an image of another CPU is. CR0.TS, CR0.EM and
 * CR4.OSXSAVE are taken as set up for the instruction. A restore that faults may already have
 * changed registers: its owner must be forgotten. Where two rules are broken, one that gives #PF
 * and one that gives #GP, the CPU may meet the other one first. A CPU may also read less memory
 * than RFBM spans; then it restores what is called short here.
 * The values of supervisor components are not judged: XRSTORS also refuses what WRMSR would refuse
 * (CET control bits, shadow stack pointers that are not canonical).
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_OK when it restores; XST_ERR_FAULT when it does not.
 * Ref:     SDM vol. 1, "Operation of XRSTOR", "Operation of XRSTORS"
 */
int xst_image_check(const struct xst_restore *how, const void *area, size_t bytes,
		    struct xst_verdict *verdict, struct xst_diag *diag);

/**
 * xst_image_layout() - the layout an image has by its own header, on the CPU it comes from.
 * @caps:   the CPU the image was saved on.
 * @xcr0:   components its standard format may hold.
 * @area:   the image.
 * @bytes:  memory readable at @area.
 * @layout: out.
 * @diag:   out, optional.
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_OK; XST_ERR_NEED_BYTES when there is no whole header; else as
 *          xst_layout_compute().
 */
int xst_image_layout(const struct xst_caps *caps, uint64_t xcr0, const void *area, size_t bytes,
		     struct xst_layout *layout, struct xst_diag *diag);

/**
 * xst_image_fresh() - write an image of the initial configuration: what a new task starts from.
 * @image:      where; every byte of its layout is written.
 * @mxcsr_mask: value for the MXCSR_MASK field.
 * @diag:       out, optional.
 *
 * XSTATE_BV is 0, MXCSR is 1F80H and FCW 037FH even so, since a standard restore loads MXCSR
 * whatever XSTATE_BV says. A compacted image gets its XCOMP_BV.
 *
 * Context: any ring; never faults on valid memory.
 * Return:  XST_OK; XST_ERR_NEED_BYTES, nothing written.
 * Ref:     SDM vol. 1, "Initial Configuration of State Components" (XINUSE)
 */
int xst_image_fresh(const struct xst_image *image, uint32_t mxcsr_mask, struct xst_diag *diag);

/**
 * xst_image_reset() - write an image of the state after #RESET: what a new virtual CPU starts from.
 * @image:      where; every byte of its layout is written.
 * @mxcsr_mask: value for the MXCSR_MASK field.
 * @diag:       out, optional.
 *
 * As xst_image_fresh(), but FCW is 0040H and all eight registers are valid zeros (FTW 5555H).
 *
 * Context: any ring; never faults on valid memory.
 * Return:  XST_OK; XST_ERR_NEED_BYTES, nothing written.
 * Ref:     SDM vol. 3, "IA-32 and Intel 64 Processor States Following Power-up, Reset, or INIT"
 */
int xst_image_reset(const struct xst_image *image, uint32_t mxcsr_mask, struct xst_diag *diag);

/* What a conversion may give up. A zeroed struct gives up nothing. */
struct xst_convert {
	uint64_t drop;        /* live components that may be lost: they become INIT */
	uint32_t mxcsr_mask;  /* of the target CPU; 0: do not judge MXCSR, keep the field */
	bool drop_mxcsr_bits; /* clear MXCSR bits outside it instead of refusing */
};

/**
 * xst_image_convert() - move an image to another format, another CPU's layout, or a clean copy.
 * @from: the image; its header must fit its layout.
 * @to:   where; must not overlap @from. Every byte of its layout is written.
 * @how:  optional: what may be given up.
 * @diag: out, optional.
 *
 * The result restores to the same registers. Only bytes that mean something are copied: reserved
 * bytes and gaps become 0, INIT components are written out as initial values. MXCSR travels with
 * the rule of each format (loaded always in the standard one, with SSE in the compacted one).
 *
 * Context: any ring; never faults on valid memory.
 * Return:  XST_OK; XST_ERR_LIVE when state would be lost (component; MXCSR bits: SSE, offset 24);
 *          XST_ERR_INVALID when the header does not fit the layout; XST_ERR_NEED_BYTES when memory
 *          ends early on either side. On error nothing was written.
 * Ref:     SDM vol. 1, "XSAVE Area"
 */
int xst_image_convert(const struct xst_image *from, const struct xst_image *to,
		      const struct xst_convert *how, struct xst_diag *diag);

/**
 * xst_image_live() - which components of an image are not in their initial configuration.
 *
 * XSTATE_BV, and SSE where MXCSR counts though XSTATE_BV[1] is 0. An image whose memory holds no
 * header has none.
 *
 * Context: any ring; pure; never faults on valid memory.
 */
uint64_t xst_image_live(const struct xst_image *image);

/* Unaligned, little-endian accesses to images. */
static inline uint16_t xst_get16(const void *area, size_t offset)
{
	uint16_t v;

	__builtin_memcpy(&v, (const char *)area + offset, sizeof(v));
	return v;
}

static inline uint32_t xst_get32(const void *area, size_t offset)
{
	uint32_t v;

	__builtin_memcpy(&v, (const char *)area + offset, sizeof(v));
	return v;
}

static inline uint64_t xst_get64(const void *area, size_t offset)
{
	uint64_t v;

	__builtin_memcpy(&v, (const char *)area + offset, sizeof(v));
	return v;
}

static inline void xst_put16(void *area, size_t offset, uint16_t v)
{
	__builtin_memcpy((char *)area + offset, &v, sizeof(v));
}

static inline void xst_put32(void *area, size_t offset, uint32_t v)
{
	__builtin_memcpy((char *)area + offset, &v, sizeof(v));
}

static inline void xst_put64(void *area, size_t offset, uint64_t v)
{
	__builtin_memcpy((char *)area + offset, &v, sizeof(v));
}

#ifdef __cplusplus
}
#endif
#endif
