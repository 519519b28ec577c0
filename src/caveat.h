/* SPDX-License-Identifier: BSD-2-Clause */
/* Between caps.c, which reads, and caveat.c, which judges what was read. */
#ifndef SRC_CAVEAT_H
#define SRC_CAVEAT_H

#include <xst/layout.h>

/* No sub-leaf can mean more than this; larger numbers are junk and would overflow sums. */
#define XST_COMP_BYTES_MAX (1u << 24)

/* Can a component with this sub-leaf be laid out? */
static inline bool xst_comp_place_ok(const struct xst_comp_caps *c, bool user)
{
	if (!c->bytes || c->bytes >= XST_COMP_BYTES_MAX)
		return false;
	return !user || (!c->supervisor && c->offset >= XST_EXT_OFFSET &&
			 c->offset < XST_COMP_BYTES_MAX);
}

/* Add the caveats that follow from leaf 0DH as read. */
void xst_caveats_judge(struct xst_caps *caps);

#endif
