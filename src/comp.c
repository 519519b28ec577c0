// SPDX-License-Identifier: BSD-2-Clause
/* Component facts as a table, the XCR0 rules as one function, and status codes in words. */
#include <stddef.h>

#include <xst/comp.h>

static const struct xst_comp_info comp_table[] = {
#define XST_COMP(id, SYM, text, kind, ts, bytes, alt, needs, together, excludes, flag, flag2, al)  \
	{ id,	 XST_KIND_##kind, (ts) != 0, (al) != 0, bytes, alt, needs, together, excludes,     \
	  flag, flag2,		  text },
#include <xst/comp.def>
};

const struct xst_comp_info *xst_comp_info(unsigned id)
{
	/* The rows 0..19 sit at their own index; only LWP does not. */
	const unsigned last = sizeof(comp_table) / sizeof(comp_table[0]) - 1;

	if (id < last)
		return &comp_table[id];
	return id == comp_table[last].id ? &comp_table[last] : NULL;
}

uint32_t xst_comp_used(unsigned id, uint32_t size)
{
	switch (id) {
#define XST_COMP_USED(SYM, used)                                                                   \
	case XST_COMP_##SYM:                                                                       \
		return size < (used) ? size : (used);
#include <xst/comp.def>
	default:
		return size;
	}
}

int xst_xcr0_check(uint64_t xcr0, uint64_t supported, struct xst_diag *diag)
{
	uint64_t rest;

	if (!(xcr0 & XST_MASK_X87))
		return xst_diag_set(diag, XST_ERR_ILLEGAL_MASK, XST_COMP_X87, 0, 1, 0,
				    "XCR0[0] (x87) must be 1");
	if (xcr0 & ~supported)
		return xst_diag_set(diag, XST_ERR_ILLEGAL_MASK, xst_mask_first(xcr0 & ~supported), 0xd00,
				    supported, xcr0, "XCR0 has a bit that the CPU does not list");
	for (rest = xcr0; rest; rest &= rest - 1) {
		unsigned id = xst_mask_first(rest);
		const struct xst_comp_info *c = xst_comp_info(id);

		if (!c || c->kind != XST_KIND_USER)
			return xst_diag_set(diag, XST_ERR_ILLEGAL_MASK, id, 0xd00, XST_MASK_USER,
					    xcr0, "not a user component");
		if ((xcr0 & c->needs) != c->needs)
			return xst_diag_set(diag, XST_ERR_ILLEGAL_MASK, id, 0, c->needs,
					    xcr0 & c->needs, "a component it needs is missing");
		if (c->together && (xcr0 & c->together) != c->together)
			return xst_diag_set(diag, XST_ERR_ILLEGAL_MASK, id, 0, c->together,
					    xcr0 & c->together,
					    "components that go together are not all there");
		if (xcr0 & c->excludes)
			return xst_diag_set(diag, XST_ERR_ILLEGAL_MASK, id, 0, 0, xcr0 & c->excludes,
					    "a component that excludes it is there");
	}
	return XST_OK;
}

int xst_xss_check(uint64_t xss, uint64_t supported, struct xst_diag *diag)
{
	uint64_t users = xss & XST_MASK_USER;

	if (users)
		return xst_diag_set(diag, XST_ERR_ILLEGAL_MASK, xst_mask_first(users), 0xd01,
				    XST_MASK_SUPER, xss,
				    "a user component belongs to XCR0, not to IA32_XSS");
	if (xss & ~supported)
		return xst_diag_set(diag, XST_ERR_ILLEGAL_MASK, xst_mask_first(xss & ~supported), 0xd01,
				    supported, xss, "IA32_XSS has a bit that the CPU does not list");
	return XST_OK;
}

uint64_t xst_xcr0_usable(uint64_t supported)
{
	uint64_t usable = supported & XST_MASK_USER, before, rest;

	if (!(usable & XST_MASK_X87))
		return 0;
	/* Dropping one component may take the ground from another: repeat until none falls. */
	do {
		before = usable;
		for (rest = before; rest; rest &= rest - 1) {
			const struct xst_comp_info *c = xst_comp_info(xst_mask_first(rest));

			if ((usable & c->needs) != c->needs ||
			    (usable & c->together) != c->together)
				usable &= ~XST_MASK(c->id);
		}
	} while (usable != before);
	return usable;
}

const char *xst_strerror(int code)
{
	switch (code) {
	case XST_OK:
		return "ok";
	case XST_ERR_UNSUPPORTED:
		return "this CPU or world cannot do it";
	case XST_ERR_NOT_ENUMERATED:
		return "component not enumerated by the CPU";
	case XST_ERR_ILLEGAL_MASK:
		return "mask breaks an enabling rule";
	case XST_ERR_OVERLAP:
		return "components overlap";
	case XST_ERR_NEED_BYTES:
		return "memory too small";
	case XST_ERR_ALIGN:
		return "area is not 64-byte aligned";
	case XST_ERR_INVALID:
		return "invalid argument";
	case XST_ERR_LEAKY:
		return "policy leaks speculatively on this CPU; needs force";
	case XST_ERR_NOT_OURS:
		return "exception was not armed by the engine";
	case XST_ERR_MISMATCH:
		return "two sources disagree";
	case XST_ERR_FAULT:
		return "restore faults";
	case XST_ERR_LIVE:
		return "live state would be lost";
	case XST_ERR_NESTED:
		return "a section inside a section";
	case XST_ERR_NOT_UP:
		return "this CPU is not up";
	case XST_ERR_DYNAMIC:
		return "dynamic component used before the context has room for it";
	case XST_ERR_DENIED:
		return "no permission for the component";
	case XST_ERR_LOCKED:
		return "permission is locked";
	case XST_ERR_GUEST_ONLY:
		return "a component that only guests have, in a host's state";
	default:
		return "unknown status";
	}
}
