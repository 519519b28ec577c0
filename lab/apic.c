// SPDX-License-Identifier: BSD-2-Clause
/*
 * The local APIC: the periodic timer, waking another CPU, starting the others.
 *
 * There is no BIOS, so nothing has been set up: both PICs are masked here, and
 * the CPUs are found by broadcasting INIT and SIPI and seeing who answers.
 *
 * Ref: SDM vol. 3A, "Local APIC"; "MP Initialization Protocol Algorithm".
 */
#include "lab.h"

#define APIC_BASE         0xfee00000u
#define APIC_ID           0x020
#define APIC_EOI          0x0b0
#define APIC_SPURIOUS     0x0f0
#define APIC_ICR_LOW      0x300
#define APIC_ICR_HIGH     0x310
#define APIC_LVT_TIMER    0x320
#define APIC_LVT_LINT0    0x350
#define APIC_TIMER_COUNT  0x380
#define APIC_TIMER_DIVIDE 0x3e0

#define APIC_ENABLE         0x100u
#define VECTOR_SPURIOUS     0xffu
#define LVT_PERIODIC        (1u << 17)
#define LVT_MASKED          (1u << 16)
#define DIVIDE_BY_1         0xbu
#define ICR_PENDING         (1u << 12)
#define ICR_INIT_ALL_OTHERS 0x000c4500u
#define ICR_SIPI_ALL_OTHERS 0x000c4600u
#define ICR_FIXED           0x00004000u

#define AP_TRAMPOLINE 0x8000u

#define PIC_MASTER_DATA 0x21
#define PIC_SLAVE_DATA  0xa1
#define PORT_DELAY      0x80

extern const uint8_t ap_trampoline[], ap_trampoline_end[];

static uint32_t apic_read(uint32_t reg)
{
	return *(volatile uint32_t *)(uintptr_t)(APIC_BASE + reg);
}

static void apic_write(uint32_t reg, uint32_t value)
{
	*(volatile uint32_t *)(uintptr_t)(APIC_BASE + reg) = value;
}

void apic_init(void)
{
	arch_outb(PIC_MASTER_DATA, 0xff);
	arch_outb(PIC_SLAVE_DATA, 0xff);
	apic_write(APIC_SPURIOUS, APIC_ENABLE | VECTOR_SPURIOUS);
	apic_write(APIC_LVT_LINT0, LVT_MASKED);
	apic_write(APIC_LVT_TIMER, LVT_MASKED);
}

uint32_t apic_own_id(void)
{
	return apic_read(APIC_ID) >> 24;
}

void apic_timer_start(uint32_t count)
{
	apic_write(APIC_TIMER_DIVIDE, DIVIDE_BY_1);
	apic_write(APIC_LVT_TIMER, LVT_PERIODIC | VECTOR_TIMER);
	apic_write(APIC_TIMER_COUNT, count);
}

void apic_end_of_interrupt(void)
{
	apic_write(APIC_EOI, 0);
}

static void apic_send(uint32_t high, uint32_t low)
{
	while (apic_read(APIC_ICR_LOW) & ICR_PENDING)
		arch_pause();
	apic_write(APIC_ICR_HIGH, high);
	apic_write(APIC_ICR_LOW, low);
}

/* An access to the delay port takes about a microsecond on real machines. */
static void delay(uint32_t microseconds)
{
	while (microseconds--)
		arch_outb(PORT_DELAY, 0);
}

void apic_start_others(void)
{
	uint8_t *to = (uint8_t *)(uintptr_t)AP_TRAMPOLINE;

	for (const uint8_t *from = ap_trampoline; from < ap_trampoline_end;)
		*to++ = *from++;
	apic_send(0, ICR_INIT_ALL_OTHERS);
	delay(10000);
	for (unsigned i = 0; i < 2; i++) {
		apic_send(0, ICR_SIPI_ALL_OTHERS | (AP_TRAMPOLINE >> 12));
		delay(200);
	}
}

void apic_send_vector(uint32_t apic_id, uint32_t vector)
{
	apic_send(apic_id << 24, ICR_FIXED | vector);
}
