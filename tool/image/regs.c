// SPDX-License-Identifier: BSD-2-Clause
/* Registers as people read them: x87 as numbers, control words bit by bit, vectors on demand. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <xst/reg.h>
#include <xst/x87.h>

#include "image/image.h"
#include "ui/table.h"
#include "ui/ui.h"

/* A register's value, or false when the image cannot have it. */
static bool get(const struct image_thread *t, const char *name, void *value, size_t room)
{
	struct xst_image image = image_of(t);

	memset(value, 0, room);
	return xst_image_get(&image, name, value, &room) == XST_OK;
}

static uint64_t get_u64(const struct image_thread *t, const char *name)
{
	uint64_t v;

	get(t, name, &v, sizeof(v));
	return v;
}

static const char *const flags[] = {"IE", "DE", "ZE", "OE", "UE", "PE"};

/* "IE ZE" for bits 0-5 of @bits. */
static void flag_names(unsigned bits, char *buf, size_t size)
{
	size_t n = 0;

	snprintf(buf, size, "none");
	for (unsigned i = 0; i < 6; i++)
		if (bits & (1u << i) && n < size)
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? " " : "", flags[i]);
}

static const char *rounding(unsigned rc)
{
	static const char *const names[] = {"to nearest", "down", "up", "toward zero"};

	return names[rc & 3];
}

static void control_words(const struct image_thread *t)
{
	static const char *const precision[] = {"24", "reserved", "53", "64"};
	unsigned fcw = (unsigned)get_u64(t, "fcw"), fsw = (unsigned)get_u64(t, "fsw");
	unsigned mxcsr = (unsigned)get_u64(t, "mxcsr");
	char masked[32], raised[32];

	flag_names(fcw, masked, sizeof(masked));
	printf("  FCW   %04x  masked: %s, precision %s bits, rounding %s\n", fcw, masked,
	       precision[(fcw >> 8) & 3], rounding(fcw >> 10));
	flag_names(fsw, raised, sizeof(raised));
	printf("  FSW   %04x  TOP %u, raised: %s%s%s, C3-C0 %u%u%u%u\n", fsw, (fsw >> 11) & 7, raised,
	       fsw & 0x40 ? ", stack fault" : "",
	       fsw & 0x3f & ~fcw ? ", an unmasked exception is pending" : "", (fsw >> 14) & 1,
	       (fsw >> 10) & 1, (fsw >> 9) & 1, (fsw >> 8) & 1);
	printf("  FOP   %04x  ", (unsigned)get_u64(t, "fop"));
	if (t->wide)
		printf("FIP %016" PRIx64 "  FDP %016" PRIx64 "\n", get_u64(t, "fip"),
		       get_u64(t, "fdp"));
	else
		printf("FIP %04x:%08x  FDP %04x:%08x\n", (unsigned)get_u64(t, "fcs"),
		       (uint32_t)get_u64(t, "fip"), (unsigned)get_u64(t, "fds"),
		       (uint32_t)get_u64(t, "fdp"));
	flag_names(mxcsr >> 7, masked, sizeof(masked));
	flag_names(mxcsr, raised, sizeof(raised));
	printf("  MXCSR %04x  masked: %s, raised: %s, rounding %s%s%s%s\n", mxcsr, masked, raised,
	       rounding(mxcsr >> 13), mxcsr & 0x40 ? ", DAZ" : "", mxcsr & 0x8000 ? ", FZ" : "",
	       mxcsr & 0x20000 ? ", MM" : "");
}

/* The image with x87 as it would be loaded, for the tags: INIT reads as empty. */
static uint16_t tag_word(const struct image_thread *t)
{
	if (!(xst_get64(t->area, XST_OFF_XSTATE_BV) & XST_MASK_X87))
		return 0xffff;
	return xst_x87_tag_word(t->area);
}

static long double st_value(const uint8_t *st)
{
	long double v = 0;

	memcpy(&v, st, 10);
	return v;
}

static void x87_stack(const struct image_thread *t)
{
	static const char *const tags[] = {"valid", "zero", "special", "empty"};
	unsigned top = ((unsigned)get_u64(t, "fsw") >> 11) & 7, full = tag_word(t);

	for (unsigned i = 0; i < 8; i++) {
		unsigned tag = (full >> (2 * ((top + i) & 7))) & 3;
		char name[8];
		uint8_t st[10];

		if (tag == XST_TAG_EMPTY)
			continue;
		snprintf(name, sizeof(name), "st%u", i);
		if (!get(t, name, st, sizeof(st)))
			continue;
		printf("  ST%u   %04x %016" PRIx64 "  %-8s %.21Lg\n", i, xst_get16(st, 8),
		       xst_get64(st, 0), tags[tag], st_value(st));
	}
}

static void pkru(const struct image_thread *t)
{
	uint32_t v = (uint32_t)get_u64(t, "pkru");
	bool any = false;

	if (!(t->layout.mask & XST_MASK_PKRU))
		return;
	printf("  PKRU  %08x  ", v);
	for (unsigned key = 0; key < 16; key++) {
		unsigned bits = (v >> (2 * key)) & 3;

		if (bits) {
			printf("%skey %u %s", any ? ", " : "", key,
			       bits & 1 ? "no access" : "read only");
			any = true;
		}
	}
	printf("%s\n", any ? "" : "every key readable and writable");
}

/* The widest form of vector register @n that the image can have. */
static size_t vector(const struct image_thread *t, unsigned n, char *name, size_t size,
		     uint8_t *value)
{
	static const struct {
		char letter;
		size_t bytes;
		uint64_t needs;
	} forms[] = {{'z', 64, 0x40}, {'y', 32, 0x4}, {'x', 16, 0x2}};

	for (unsigned i = 0; i < 3; i++) {
		if (n < 16 && !(t->layout.mask & forms[i].needs))
			continue;
		snprintf(name, size, "%cmm%u", forms[i].letter, n);
		if (get(t, name, value, 64))
			return forms[i].bytes;
	}
	return 0;
}

static bool all_zero(const uint8_t *p, size_t n)
{
	while (n--)
		if (p[n])
			return false;
	return true;
}

static void vector_text(const uint8_t *v, size_t bytes, enum vectors how)
{
	size_t i;

	if (how == VECTORS_HEX) {
		for (i = bytes; i--;)
			printf("%02x%s", v[i], i && !(i % 8) ? "_" : "");
		return;
	}
	for (i = 0; i < bytes; i += how == VECTORS_F32 ? 4 : 8) {
		if (how == VECTORS_F32) {
			float f;

			memcpy(&f, v + i, 4);
			printf("%s%.9g", i ? " " : "", (double)f);
		} else {
			double d;

			memcpy(&d, v + i, 8);
			printf("%s%.17g", i ? " " : "", d);
		}
	}
}

static void vectors_text(const struct image_thread *t, enum vectors how)
{
	for (unsigned n = 0; n < 32; n++) {
		uint8_t v[64];
		char name[8];
		size_t bytes = vector(t, n, name, sizeof(name), v);

		if (!bytes || all_zero(v, bytes))
			continue;
		printf("  %-5s ", name);
		vector_text(v, bytes, how);
		printf("\n");
	}
	for (unsigned n = 0; n < 8; n++) {
		uint64_t k;
		char name[8];

		snprintf(name, sizeof(name), "k%u", n);
		if (get(t, name, &k, sizeof(k)) && k)
			printf("  %-5s %016" PRIx64 "\n", name, k);
	}
}

void image_registers(const struct image_thread *t, enum vectors how)
{
	control_words(t);
	x87_stack(t);
	pkru(t);
	if (t->has_ssp)
		printf("  SSP   %016" PRIx64 "\n", t->ssp);
	if (how != VECTORS_NONE)
		vectors_text(t, how);
}

static void hex_json(struct jw *w, const char *name, const uint8_t *v, size_t bytes)
{
	char text[2 * XST_REG_MAX_BYTES + 3] = "0x";

	for (size_t i = 0; i < bytes; i++)
		snprintf(text + 2 + 2 * i, 3, "%02x", v[bytes - 1 - i]);
	jw_string(w, name, text);
}

static void register_json(struct jw *w, const struct image_thread *t, const char *name)
{
	uint8_t v[XST_REG_MAX_BYTES];
	struct xst_reg_place place;

	if (!xst_reg_find(name, &place) && get(t, name, v, sizeof(v)))
		hex_json(w, name, v, place.bytes);
}

void image_registers_json(struct jw *w, const struct image_thread *t, enum vectors how)
{
	static const char *const fixed[] = {"fcw", "fsw", "ftw", "fop", "mxcsr", "mxcsr_mask",
					    "pkru", "bndcfgu", "bndstatus", "tilecfg", "u_cet",
					    "pl3_ssp", "pl0_ssp", "pl1_ssp", "pl2_ssp"};
	static const struct {
		const char *name;
		unsigned first, last;
	} numbered[] = {{"st", 0, 7}, {"k", 0, 7}, {"bnd", 0, 3}, {"r", 16, 31}};
	char name[16];

	jw_object(w, "registers");
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		register_json(w, t, fixed[i]);
	if (t->wide) {
		register_json(w, t, "fip");
		register_json(w, t, "fdp");
	} else {
		jw_mask(w, "fip", (uint32_t)get_u64(t, "fip"));
		jw_mask(w, "fdp", (uint32_t)get_u64(t, "fdp"));
		register_json(w, t, "fcs");
		register_json(w, t, "fds");
	}
	jw_mask(w, "tag_word", tag_word(t));
	if (t->has_ssp)
		jw_mask(w, "ssp", t->ssp);
	for (size_t i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++)
		for (unsigned n = numbered[i].first; n <= numbered[i].last; n++) {
			snprintf(name, sizeof(name), "%s%u", numbered[i].name, n);
			register_json(w, t, name);
		}
	for (unsigned n = 0; n < 32 && how != VECTORS_NONE; n++) {
		uint8_t v[64];

		if (vector(t, n, name, sizeof(name), v))
			register_json(w, t, name);
	}
	jw_end(w);
}
