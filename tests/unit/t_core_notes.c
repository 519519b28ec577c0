// SPDX-License-Identifier: BSD-2-Clause
/* Core notes written by the library, in a core file made around them, and read by the command's
 * reader: every thread's registers come back, in a layout that no table knows. */
#include "t.h"

#include <elf.h>
#include <stdlib.h>

#include <xst/reg.h>
#include <xst/regset.h>

#include "cpus.h"
#include "image/image.h"

#define PRSTATUS_BYTES 336u
#define PID_AT	       32u
#define ROOM	       65536u

static uint8_t core[ROOM], area[IMAGE_ROOM] __attribute__((aligned(64))), scratch[IMAGE_ROOM];
static uint8_t set[IMAGE_ROOM];
static size_t used;

static void note(uint32_t type, const void *contents, size_t bytes)
{
	struct xst_diag d;
	int n = xst_regset_put_note(type, contents, bytes, core + used, ROOM - used, &d);

	assert_true(n > 0);
	used += (size_t)n;
}

/* An ELF header and one program header, PT_NOTE; the notes follow. */
static void begin(void)
{
	const Elf64_Ehdr e = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					  ELFDATA2LSB, EV_CURRENT},
			      .e_type = ET_CORE,
			      .e_machine = EM_X86_64,
			      .e_version = EV_CURRENT,
			      .e_phoff = sizeof(e),
			      .e_ehsize = sizeof(e),
			      .e_phentsize = sizeof(Elf64_Phdr),
			      .e_phnum = 1};

	memset(core, 0, sizeof(core));
	memcpy(core, &e, sizeof(e));
	used = sizeof(e) + sizeof(Elf64_Phdr);
}

static void finish(void)
{
	const size_t at = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
	const Elf64_Phdr p = {
		.p_type = PT_NOTE, .p_offset = at, .p_filesz = used - at, .p_align = 4};

	memcpy(core + sizeof(Elf64_Ehdr), &p, sizeof(p));
}

static void thread(const struct xst_uabi *t, uint32_t pid, uint32_t pkru)
{
	uint8_t status[PRSTATUS_BYTES] = {0};
	struct xst_layout l;
	struct xst_image image = {set, sizeof(set), &l};
	int bytes;

	xst_put32(status, PID_AT, pid);
	assert_int_equal(xst_uabi_layout(t->sys, 0, &l, NULL), XST_OK);
	assert_int_equal(xst_image_fresh(&image, 0xffff, NULL), XST_OK);
	memset(set + XST_OFF_XMM, (int)pid, 256);
	memset(set + l.offset[XST_COMP_HI16_ZMM], (int)(pid ^ 0x55), 1024);
	xst_put32(set, XST_OFF_MXCSR, 0x1f80 | (pid & 0x3f));
	xst_put32(set, l.offset[XST_COMP_PKRU], pkru);
	xst_put64(set, XST_OFF_XSTATE_BV,
		  XST_MASK_LEGACY | XST_MASK(XST_COMP_HI16_ZMM) | XST_MASK_PKRU);
	assert_int_equal(xst_uabi_set(t, &image, XST_UABI_MXCSR_ALWAYS, NULL), XST_OK);
	note(NT_PRSTATUS, status, sizeof(status));
	bytes = xst_regset_get(t, XST_REGSET_FPX, 0, set, sizeof(set), NULL);
	note(XST_NT_FPREGSET, set, (size_t)bytes);
	bytes = xst_regset_get(t, XST_REGSET_XSTATE, 0, set, sizeof(set), NULL);
	assert_int_equal(bytes, l.bytes);
	note(XST_NT_X86_XSTATE, set, (size_t)bytes);
}

static void expect_register(const struct image_thread *t, const char *name, uint8_t byte)
{
	const struct xst_image image = image_of(t);
	uint8_t value[XST_REG_MAX_BYTES];
	size_t room = sizeof(value);

	assert_int_equal(xst_image_get(&image, name, value, &room), XST_OK);
	for (size_t i = 0; i < room; i++)
		assert_int_equal(value[i], byte);
}

static void written_and_read(void **state)
{
	static struct xst_system sys;
	struct xst_caps caps = cpu_intel(0x2e7);
	struct xst_ctx ctx = {.area = area, .last_cpu = XST_NO_CPU, .home = XST_NO_CPU};
	struct xst_uabi t = {
		.sys = &sys, .ctx = &ctx, .scratch = scratch, .scratch_bytes = sizeof(scratch)};
	struct image_request r = {.cmd = "test", .path = "core"};
	struct image_file f;
	uint8_t records[256];
	char err[512] = "";
	int bytes;

	(void)state;
	/* Offsets that no CPU has had so far: only the layout note can tell them. */
	caps.pku = true;
	caps.comp[XST_COMP_HI16_ZMM].offset = 2048;
	caps.comp[XST_COMP_PKRU].offset = 4096;
	assert_int_equal(xst_system_compute(&caps, XST_WANT_ALL_USER, 0, &sys, NULL), XST_OK);
	xst_fresh_image(sys.insn, sys.mask, area, sys.layout.bytes);
	begin();
	thread(&t, 7, 0x54);
	bytes = xst_regset_put_layout(&caps, 0x2e7, records, sizeof(records), NULL);
	assert_int_equal(bytes, 5 * 16);
	note(XST_NT_X86_XSAVE_LAYOUT, records, (size_t)bytes);
	thread(&t, 0x28, 0x550);
	finish();
	assert_int_equal(read_image_bytes("core", IMAGE_AUTO, core, used, &f, err, sizeof(err)), 0);
	assert_int_equal(f.kind, IMAGE_CORE);
	assert_int_equal(f.count, 2);
	for (size_t i = 0; i < 2; i++) {
		struct image_thread *thread_read = &f.threads[i];
		const uint8_t pid = i ? 0x28 : 7;
		const struct xst_image image = image_of(thread_read);
		uint32_t value = 0;
		size_t room = sizeof(value);

		assert_int_equal(thread_read->id, pid);
		assert_true(thread_read->xcr0 == 0x2e7);
		assert_int_equal(image_resolve(&r, thread_read, err, sizeof(err)), 0);
		assert_true(thread_read->placed);
		expect_register(thread_read, "xmm9", pid);
		expect_register(thread_read, "zmm21", pid ^ 0x55);
		expect_register(thread_read, "k3", 0);
		assert_int_equal(xst_image_get(&image, "pkru", &value, &room), XST_OK);
		assert_int_equal(value, i ? 0x550 : 0x54);
		room = sizeof(value);
		assert_int_equal(xst_image_get(&image, "mxcsr", &value, &room), XST_OK);
		assert_int_equal(value, 0x1f80u | (pid & 0x3f));
	}
	read_image_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_and_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
