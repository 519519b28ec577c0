// SPDX-License-Identifier: BSD-2-Clause
/*
 * What user mode may see: page tables for the first 4 MiB in 4 KiB pages.
 *
 * boot.S left an identity map of supervisor pages. Here the image's ring-3 part
 * becomes user pages, all with protection key 0 (PKRU guards user pages only, so
 * without them it would have no effect at all), and kernel code read-only.
 *
 * Ref: SDM vol. 3A, "4-Level Paging and 5-Level Paging"; "Protection Keys".
 */
#include "lab.h"

#define PAGE_BYTES      4096u
#define PAGE_PRESENT    1u
#define PAGE_WRITABLE   2u
#define PAGE_USER       4u
#define SMALL_MAP_BYTES 0x400000u

extern uint64_t boot_pd_low[];
extern const uint8_t __user_start[], __user_end[], __ubss_start[], __ubss_end[];
extern const uint8_t image_start[];

static uint64_t small_pages[SMALL_MAP_BYTES / PAGE_BYTES] __attribute__((aligned(4096)));

static bool within(uintptr_t address, const uint8_t *start, const uint8_t *end)
{
	return address >= (uintptr_t)start && address < (uintptr_t)end;
}

void mm_protect(void)
{
	for (uintptr_t address = 0; address < SMALL_MAP_BYTES; address += PAGE_BYTES) {
		uint64_t entry = address | PAGE_PRESENT | PAGE_WRITABLE;

		if (within(address, __ubss_start, __ubss_end))
			entry |= PAGE_USER;
		if (within(address, image_start, __user_end))
			entry &= ~(uint64_t)PAGE_WRITABLE;
		if (within(address, __user_start, __user_end))
			entry |= PAGE_USER;
		small_pages[address / PAGE_BYTES] = entry;
	}
	small_pages[0] = 0; /* a null pointer faults */
	for (unsigned i = 0; i < SMALL_MAP_BYTES / 0x200000; i++)
		boot_pd_low[i] =
			(uintptr_t)&small_pages[i * 512] | PAGE_PRESENT | PAGE_WRITABLE | PAGE_USER;
	__asm__ volatile("mov %%cr3, %%rax; mov %%rax, %%cr3" : : : "rax", "memory");
}

void mm_set_present(uintptr_t address, bool present)
{
	uint64_t *entry = &small_pages[address / PAGE_BYTES];

	*entry = present ? *entry | PAGE_PRESENT : *entry & ~(uint64_t)PAGE_PRESENT;
	arch_invlpg(address);
}
