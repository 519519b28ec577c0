// SPDX-License-Identifier: BSD-2-Clause
/*
 * Text out, and the end of the emulator.
 *
 * Port 0xE9 is the debug console of QEMU and Bochs: there it reads back as 0xE9.
 * Elsewhere the text goes to COM1. A line is formatted first and written under
 * a lock, so lines of two CPUs never mix.
 */
#include "lab.h"

#define PORT_DEBUG        0xe9
#define PORT_COM1         0x3f8
#define PORT_QEMU_EXIT    0xf4
#define PORT_BOCHS_DEVICE 0x8900

#define QEMU_EXIT_OK   0x10 /* status 33 */
#define QEMU_EXIT_FAIL 3    /* status 7 */

static bool use_debug_port;
static struct spinlock console_lock;
static uint32_t ending; /* the first CPU to end the lab wins */

void console_init(void)
{
	use_debug_port = arch_inb(PORT_DEBUG) == PORT_DEBUG;
	if (use_debug_port)
		return;
	arch_outb(PORT_COM1 + 1, 0);    /* no interrupts */
	arch_outb(PORT_COM1 + 3, 0x80); /* divisor latch */
	arch_outb(PORT_COM1 + 0, 1);    /* 115200 baud */
	arch_outb(PORT_COM1 + 1, 0);
	arch_outb(PORT_COM1 + 3, 3); /* 8n1 */
	arch_outb(PORT_COM1 + 2, 7); /* FIFO on */
}

bool console_is_debug_port(void)
{
	return use_debug_port;
}

static void put(char c)
{
	if (use_debug_port) {
		arch_outb(PORT_DEBUG, (uint8_t)c);
		return;
	}
	for (unsigned spin = 0; spin < 100000 && !(arch_inb(PORT_COM1 + 5) & 0x20); spin++)
		arch_pause();
	arch_outb(PORT_COM1, (uint8_t)c);
}

static void put_text(const char *text)
{
	while (*text)
		put(*text++);
}

struct sink {
	char *out;
	size_t size, used;
};

static void sink_put(struct sink *sink, char c)
{
	if (sink->used + 1 < sink->size)
		sink->out[sink->used] = c;
	sink->used++;
}

static void sink_number(struct sink *sink, uint64_t value, unsigned base, unsigned width, char pad)
{
	char digits[24];
	unsigned n = 0;

	do {
		digits[n++] = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	for (unsigned i = n; i < width; i++)
		sink_put(sink, pad);
	while (n)
		sink_put(sink, digits[--n]);
}

/* %s %c %d %u %x with l, ll and a zero-padded width; what the lab uses. */
size_t format_text(char *out, size_t size, const char *format, va_list list)
{
	struct sink sink = {out, size, 0};

	for (; *format; format++) {
		unsigned width = 0, longs = 0;
		char pad = ' ';

		if (*format != '%') {
			sink_put(&sink, *format);
			continue;
		}
		format++;
		if (*format == '0')
			pad = '0';
		while (*format >= '0' && *format <= '9')
			width = width * 10 + (unsigned)(*format++ - '0');
		while (*format == 'l') {
			longs++;
			format++;
		}
		switch (*format) {
		case 's':
			for (const char *text = va_arg(list, const char *); *text; text++)
				sink_put(&sink, *text);
			break;
		case 'c':
			sink_put(&sink, (char)va_arg(list, int));
			break;
		case 'd': {
			int64_t value = longs ? va_arg(list, int64_t) : va_arg(list, int);

			if (value < 0)
				sink_put(&sink, '-');
			sink_number(&sink, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10,
				    width, pad);
			break;
		}
		case 'u':
		case 'x': {
			uint64_t value = longs ? va_arg(list, uint64_t) : va_arg(list, uint32_t);

			sink_number(&sink, value, *format == 'u' ? 10 : 16, width, pad);
			break;
		}
		default:
			sink_put(&sink, *format);
		}
	}
	if (size)
		out[sink.used < size ? sink.used : size - 1] = '\0';
	return sink.used;
}

void print(const char *format, ...)
{
	char line[512];
	va_list list;

	va_start(list, format);
	format_text(line, sizeof(line), format, list);
	va_end(list);
	print_text(line);
}

void print_text(const char *text)
{
	spin_lock(&console_lock);
	put_text(text);
	spin_unlock(&console_lock);
}

/*
 * The last line is the verdict; the runner believes nothing else. Bochs: 'D'
 * returns to the debugger (a debugger build then quits with status 0), the word
 * ends every build.
 */
static _Noreturn void end(bool ok)
{
	put_text(ok ? "EXIT OK\n" : "EXIT FAIL\n");
	arch_outl(PORT_QEMU_EXIT, ok ? QEMU_EXIT_OK : QEMU_EXIT_FAIL);
	if (ok)
		arch_outb(PORT_BOCHS_DEVICE, 'D');
	for (const char *word = "Shutdown"; *word; word++)
		arch_outb(PORT_BOCHS_DEVICE, (uint8_t)*word);
	arch_halt();
}

void lab_exit(bool ok)
{
	if (__atomic_exchange_n(&ending, 1, __ATOMIC_ACQ_REL))
		arch_halt();
	spin_lock(&console_lock);
	end(ok);
}

void panic(const char *format, ...)
{
	char reason[320];
	va_list list;

	if (__atomic_exchange_n(&ending, 1, __ATOMIC_ACQ_REL))
		arch_halt();
	va_start(list, format);
	format_text(reason, sizeof(reason), format, list);
	va_end(list);
	/* Another CPU may have died holding the lock: wait a while, then take the console. */
	for (unsigned spin = 0; spin < 1000000; spin++) {
		if (!__atomic_exchange_n(&console_lock.taken, 1, __ATOMIC_ACQUIRE))
			break;
		arch_pause();
	}
	put_text("\n{\"lab\":\"panic\",\"reason\":\"");
	for (const char *text = reason; *text; text++) {
		if (*text == '"' || *text == '\\')
			put('\\');
		put(*text);
	}
	put_text("\"}\n");
	end(false);
}
