// SPDX-License-Identifier: BSD-2-Clause
/* Names and small numbers that several parts of `xstate cpu` print. */
#include <stdio.h>
#include <string.h>

#include <xst/layout.h>

#include "cpu/cpu.h"

const char *cpu_comp_name(unsigned id, char buf[16])
{
	const struct xst_comp_info *info = xst_comp_info(id);

	if (info)
		return info->text;
	snprintf(buf, 16, "comp%u", id);
	return buf;
}

const char *cpu_mask_names(uint64_t mask, char *buf, size_t size)
{
	size_t n = 0;
	char name[16];

	snprintf(buf, size, "none");
	for (; mask && n < size; mask &= mask - 1) {
		unsigned id = (unsigned)__builtin_ctzll(mask);

		if (xst_comp_info(id))
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? " " : "",
					      cpu_comp_name(id, name));
		else
			n += (size_t)snprintf(buf + n, size - n, "%sbit %u", n ? " " : "", id);
	}
	return buf;
}

const char *cpu_title(const struct cpu_source *src, char *buf, size_t size)
{
	const struct xst_caps *c = &src->caps;
	const char *brand = c->brand;

	while (*brand == ' ')
		brand++;
	if (*brand)
		snprintf(buf, size, "%s", brand);
	else
		snprintf(buf, size, "%s family %#x model %#x", c->vendor[0] ? c->vendor : "unknown",
			 c->family, c->model);
	for (size_t n = strlen(buf); n && buf[n - 1] == ' '; n--)
		buf[n - 1] = '\0';
	/* A dump's registers may hold anything; a brand is ASCII, and no end of a comment. */
	for (char *p = buf; *p; p++)
		if (*p < ' ' || *p > '~' || (*p == '*' && p[1] == '/'))
			*p = '?';
	return buf;
}

uint64_t cpu_user_mask(const struct cpu_source *src)
{
	return xst_caps_placed(&src->caps) & src->caps.xcr0;
}

/*
 * Linux states in AT_MINSIGSTKSZ the worst case over its 32- and 64-bit frames: the user state,
 * the end marker, room to align it, the fsave header and the largest frame around it. The part
 * beside the state is the same on all machines; real ones state 1776 (for 832 bytes), 2032 (1088),
 * 3376 (2440), 3632 (2688 and 2696) and 11952 (11008).
 */
#define SIGFRAME_BESIDE_STATE 936u
#define SIGFRAME_ALIGN        16u

uint32_t cpu_signal_stack_bytes(uint32_t area_bytes)
{
	return (area_bytes + SIGFRAME_BESIDE_STATE + SIGFRAME_ALIGN - 1) & ~(SIGFRAME_ALIGN - 1);
}
