// SPDX-License-Identifier: BSD-2-Clause
/*
 * The local APIC: the periodic timer, waking another CPU, starting the others. CPUs
 * without one have the PIT behind the PIC.
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
#define ICR_NMI             0x00004400u

#define AP_TRAMPOLINE 0x8000u

#define PIC_MASTER      0x20
#define PIC_MASTER_DATA 0x21
#define PIC_SLAVE       0xa0
#define PIC_SLAVE_DATA  0xa1
#define PIC_EOI         0x20
#define PIC_CASCADE     2
#define PIT_CHANNEL_0   0x40
#define PIT_COMMAND     0x43
#define PIT_PERIODIC    0x34
#define PORT_X87_BUSY   0xf0

#define LINT_EXTERNAL 0x700u
/* An emulator's instructions, which stand in for LAPIC counts, to one PIT count. */
#define PIT_SLOWER 64u
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

static bool present;
static uint8_t pic_mask_master = 0xff, pic_mask_slave = 0xff;

/* Vectors from VECTOR_IRQ0 on. Ref: Intel 8259A data sheet, initialization command words. */
static void pic_init(void)
{
	arch_outb(PIC_MASTER, 0x11);
	arch_outb(PIC_SLAVE, 0x11);
	arch_outb(PIC_MASTER_DATA, VECTOR_IRQ0);
	arch_outb(PIC_SLAVE_DATA, VECTOR_IRQ0 + 8);
	arch_outb(PIC_MASTER_DATA, 1 << PIC_CASCADE);
	arch_outb(PIC_SLAVE_DATA, PIC_CASCADE);
	arch_outb(PIC_MASTER_DATA, 1);
	arch_outb(PIC_SLAVE_DATA, 1);
	arch_outb(PIC_MASTER_DATA, pic_mask_master);
	arch_outb(PIC_SLAVE_DATA, pic_mask_slave);
}

static void pic_unmask(unsigned irq)
{
	if (irq < 8) {
		pic_mask_master = (uint8_t)(pic_mask_master & ~(1u << irq));
		arch_outb(PIC_MASTER_DATA, pic_mask_master);
	} else {
		pic_mask_slave = (uint8_t)(pic_mask_slave & ~(1u << (irq - 8)));
		arch_outb(PIC_SLAVE_DATA, pic_mask_slave);
		pic_unmask(PIC_CASCADE);
	}
}

bool apic_present(void)
{
	return present;
}

void apic_x87_irq(void)
{
	if (apic_present())
		apic_write(APIC_LVT_LINT0, LINT_EXTERNAL);
	pic_unmask(VECTOR_IRQ13 - VECTOR_IRQ0);
}

void apic_x87_irq_end(void)
{
	arch_outb(PORT_X87_BUSY, 0);
	arch_outb(PIC_SLAVE, PIC_EOI);
	arch_outb(PIC_MASTER, PIC_EOI);
}

void apic_pit_irq_end(void)
{
	arch_outb(PIC_MASTER, PIC_EOI);
}

static void pit_start(uint32_t count)
{
	count /= PIT_SLOWER;
	if (count > 0xffff)
		count = 0xffff;
	arch_outb(PIT_COMMAND, PIT_PERIODIC);
	arch_outb(PIT_CHANNEL_0, (uint8_t)count);
	arch_outb(PIT_CHANNEL_0, (uint8_t)(count >> 8));
	pic_unmask(0);
}

void apic_init(void)
{
	uint32_t r[4];

	arch_cpuid(1, 0, r);
	present = r[3] & (1u << 9);
	pic_init();
	if (!present)
		return;
	apic_write(APIC_SPURIOUS, APIC_ENABLE | VECTOR_SPURIOUS);
	apic_write(APIC_LVT_LINT0, LVT_MASKED);
	apic_write(APIC_LVT_TIMER, LVT_MASKED);
}

uint32_t apic_own_id(void)
{
	return apic_present() ? apic_read(APIC_ID) >> 24 : 0;
}

void apic_timer_start(uint32_t count)
{
	if (!apic_present()) {
		pit_start(count);
		return;
	}
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
	/* Without one there is one CPU only, which its timer wakes. */
	if (!apic_present())
		return;
	while (apic_read(APIC_ICR_LOW) & ICR_PENDING)
		arch_pause();
	apic_write(APIC_ICR_HIGH, high);
	apic_write(APIC_ICR_LOW, low);
}

#ifdef __x86_64__
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
#endif

void apic_send_vector(uint32_t apic_id, uint32_t vector)
{
	apic_send(apic_id << 24, ICR_FIXED | vector);
}

void apic_send_nmi(uint32_t apic_id)
{
	apic_send(apic_id << 24, ICR_NMI);
}
