// SPDX-License-Identifier: BSD-2-Clause
/*
 * What user mode may see, in the 32-bit lab: two-level page tables for the first 4 MiB
 * and, where there is one, the local APIC, all in 4 KiB pages, as an i386 has them.
 *
 * Ref: SDM vol. 3A, "32-Bit Paging".
 */
#include "lab.h"

#define PAGE_BYTES    4096u
#define PAGE_PRESENT  1u
#define PAGE_WRITABLE 2u
#define PAGE_USER     4u
#define PAGE_UNCACHED 0x18u
#define ENTRIES       1024u
#define APIC_PAGE     0xfee00000u
#define CR0_PAGING    (1u << 31 | 1u << 16) /* PG, WP */

extern const uint8_t __user_start[], __user_end[], __ubss_start[], __ubss_end[];
extern const uint8_t image_start[];

static uint32_t directory[ENTRIES] __attribute__((aligned(4096)));
static uint32_t low_pages[ENTRIES] __attribute__((aligned(4096)));
static uint32_t apic_pages[ENTRIES] __attribute__((aligned(4096)));

static bool within(uintptr_t address, const uint8_t *start, const uint8_t *end)
{
	return address >= (uintptr_t)start && address < (uintptr_t)end;
}

void mm_protect(void)
{
	/* Page 0 stays absent: a null pointer faults. */
	for (uint32_t i = 1; i < ENTRIES; i++) {
		uint32_t address = i * PAGE_BYTES, entry = address | PAGE_PRESENT | PAGE_WRITABLE;

		if (within(address, __ubss_start, __ubss_end))
			entry |= PAGE_USER;
		if (within(address, image_start, __user_end))
			entry &= ~PAGE_WRITABLE;
		if (within(address, __user_start, __user_end))
			entry |= PAGE_USER;
		low_pages[i] = entry;
	}
	apic_pages[APIC_PAGE / PAGE_BYTES % ENTRIES] =
		APIC_PAGE | PAGE_PRESENT | PAGE_WRITABLE | PAGE_UNCACHED;
	directory[0] = (uintptr_t)low_pages | PAGE_PRESENT | PAGE_WRITABLE | PAGE_USER;
	directory[APIC_PAGE / PAGE_BYTES / ENTRIES] =
		(uintptr_t)apic_pages | PAGE_PRESENT | PAGE_WRITABLE;
	__asm__ volatile("mov %0, %%cr3" : : "r"(directory) : "memory");
	xst_write_cr0(xst_read_cr0() | CR0_PAGING);
	__asm__ volatile("jmp 1f\n1:" : : : "memory");
}

void mm_set_present(uintptr_t address, bool present)
{
	uint32_t *entry = &low_pages[address / PAGE_BYTES];

	*entry = present ? *entry | PAGE_PRESENT : *entry & ~(uint32_t)PAGE_PRESENT;
	arch_invlpg(address);
}
