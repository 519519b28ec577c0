/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where each component of a mask lies, standard and compacted, on any CPU.
 */
#ifndef XST_LAYOUT_H
#define XST_LAYOUT_H

#include <xst/caps.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The fixed part of every XSAVE area. Ref: SDM vol. 1, "XSAVE Area". */
#define XST_LEGACY_BYTES  512u
#define XST_HEADER_OFFSET 512u
#define XST_HEADER_BYTES  64u
#define XST_EXT_OFFSET    576u /* first byte of the extended region */
#define XST_AREA_ALIGN    64u
#define XST_XCOMP_COMPACT (1ULL << 63)

enum xst_format { XST_STANDARD, XST_COMPACTED };

struct xst_layout {
	uint64_t mask;
	enum xst_format format;
	uint32_t bytes; /* of the whole area: 576 or more */
	/* Indexed by component; valid only for bits in @mask. x87 and SSE: their part of the legacy
	 * region (0 and 160). */
	uint32_t offset[64];
	uint32_t size[64];
};

/**
 * xst_layout_compute() - offsets and size of @mask in @format on the CPU @caps.
 * @caps:   the CPU.
 * @mask:   components wanted; supervisor ones in the compacted format only. x87 and SSE may be
 *          left out: the legacy region and the header are always there.
 * @format: XST_STANDARD or XST_COMPACTED.
 * @layout: out; undefined on error.
 * @diag:   out, optional.
 *
 * The size is the furthest end, not the end of the highest component: APX (19) lies at 960.
 *
 * Context: any ring; pure; never faults.
 * Return:  XST_OK; XST_ERR_UNSUPPORTED when the CPU has no such format; XST_ERR_NOT_ENUMERATED when
 *          a component has no size on this CPU, or is a supervisor one and @format is standard;
 *          XST_ERR_OVERLAP when two components claim the same bytes.
 * Ref:     SDM vol. 1, "Extended Region of an XSAVE Area"
 */
int xst_layout_compute(const struct xst_caps *caps, uint64_t mask, enum xst_format format,
		       struct xst_layout *layout, struct xst_diag *diag);

/**
 * xst_layout_legacy() - the layout of the legacy region and the header alone, which is everybody's.
 * @layout: out; standard format, 576 bytes.
 * @mask:   a subset of XST_MASK_LEGACY.
 *
 * Context: any ring; pure; never faults.
 */
void xst_layout_legacy(struct xst_layout *layout, uint64_t mask);

#ifdef __cplusplus
}
#endif
#endif
