// SPDX-License-Identifier: BSD-2-Clause
/* Permissions for dynamic components: pure data, decided before anything is allocated. */
#include <xst/perm.h>

#include "twin.h"

void xst_perm_init(const struct xst_system *sys, struct xst_perm *perm)
{
	perm->host = sys->host.mask;
	perm->guest = sys->guest.mask;
	perm->guest_locked = false;
}


/* Has a stack of @bytes room for a frame with all of @mask? */
static int check_room(const struct xst_system *sys, uint64_t mask, uint32_t overhead,
		      uint64_t bytes, struct xst_diag *diag)
{
	struct xst_layout image;
	int err = xst_layout_compute(&sys->caps, mask & XST_MASK_USER, XST_STANDARD, &image, diag);
	uint64_t need;

	if (err)
		return err;
	need = (uint64_t)overhead + image.bytes;
	if (bytes >= need)
		return XST_OK;
	return xst_diag_set(diag, XST_ERR_NEED_BYTES, XST_COMP_TILEDATA, 0, need, bytes,
			    "the alternate signal stack has no room for a frame with it");
}

int xst_perm_check_stack(const struct xst_system *sys, const struct xst_perm *perm,
			 uint32_t overhead, uint64_t bytes, struct xst_diag *diag)
{
	if (!(perm->host & sys->dynamic))
		return XST_OK;
	return check_room(sys, perm->host, overhead, bytes, diag);
}

int xst_perm_request(const struct xst_system *sys, struct xst_perm *perm, enum xst_perm_of of,
		     unsigned component, const struct xst_perm_stacks *stacks,
		     struct xst_diag *diag)
{
	const bool guest = of == XST_PERM_GUEST;
	uint64_t *mask = guest ? &perm->guest : &perm->host;
	uint64_t wanted;
	int err;

	if (component > 63 || !(XST_MASK(component) & XST_MASK_DYNAMIC))
		return xst_diag_set(diag, XST_ERR_INVALID, component, 0, XST_MASK_DYNAMIC,
				    component, "not a component that is asked for");
	if (!(XST_MASK(component) & sys->dynamic))
		return xst_diag_set(diag, XST_ERR_UNSUPPORTED, component, 0, XST_MASK(component),
				    sys->dynamic, "this machine does not enable the component");
	wanted = *mask | XST_MASK(component);
	if (wanted == *mask)
		return XST_OK;
	if (guest && perm->guest_locked)
		return xst_diag_set(diag, XST_ERR_LOCKED, component, 0, wanted, *mask,
				    "a vCPU exists: what guests may have is settled");
	if (!guest && stacks && stacks->smallest) {
		err = check_room(sys, wanted, stacks->overhead, stacks->smallest, diag);
		if (err)
			return err;
	}
	if (XST_TWIN(SUPER_LOST))
		wanted &= XST_MASK_USER;
	*mask = wanted;
	return XST_OK;
}
