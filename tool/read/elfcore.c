// SPDX-License-Identifier: BSD-2-Clause
/*
 * ELF core files: every thread's NT_X86_XSTATE, or what older kernels wrote instead, and the
 * layout note where there is one. Ref: elf(5), core(5); Linux, include/uapi/linux/elf.h
 */
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>

#include <xst/regset.h>
#include <xst/x87.h>

#include "read/image.h"

#define NOTES_MAX   (256u << 20)
#define THREADS_MAX 32768u
#define PID_AT_64   32u /* pr_pid in struct elf_prstatus */
#define PID_AT_32   24u

/* A thread whose notes are being collected. */
struct pending {
	bool open;
	uint32_t pid;
	const uint8_t *xstate, *fpregset, *prxfpreg;
	size_t xstate_bytes, fpregset_bytes, prxfpreg_bytes;
	bool has_ssp;
	uint64_t ssp;
};

struct core {
	struct image_file *file;
	bool wide; /* 64-bit processes */
	const uint8_t *layout;
	size_t layout_bytes;
	struct pending now;
	char *err;
	size_t errlen;
};

static int put_thread(struct core *c)
{
	struct pending *p = &c->now;
	struct image_thread *t = NULL;
	uint8_t fx[XST_LEGACY_BYTES] = {0};

	if (!p->open)
		return 0;
	p->open = false;
	if (c->file->count >= THREADS_MAX) {
		snprintf(c->err, c->errlen, "%s: more than %u threads", c->file->path, THREADS_MAX);
		return -1;
	}
	if (p->xstate_bytes >= XST_EXT_OFFSET) {
		t = image_add(c->file, p->xstate, p->xstate_bytes, c->err, c->errlen);
		if (t) {
			t->xcr0 = xst_regset_xcr0(p->xstate, p->xstate_bytes);
			if (!is_linux_xcr0(t->xcr0))
				t->xcr0 = 0;
			t->sized = true;
		}
	} else if (p->prxfpreg_bytes >= XST_LEGACY_BYTES) {
		t = image_add_fxsave(c->file, p->prxfpreg, XST_MASK_LEGACY, c->err, c->errlen);
	} else if (p->fpregset_bytes >= XST_LEGACY_BYTES) {
		t = image_add_fxsave(c->file, p->fpregset, XST_MASK_LEGACY, c->err, c->errlen);
	} else if (p->fpregset_bytes >= XST_FNSAVE_BYTES) {
		/* A 32-bit process on a machine without FXSAVE, or a writer that knew no better. */
		xst_put32(fx, XST_OFF_MXCSR, XST_MXCSR_INIT);
		xst_fnsave_to_fxsave(p->fpregset, false, fx);
		t = image_add_fxsave(c->file, fx, XST_MASK_X87, c->err, c->errlen);
	} else {
		return 0; /* a thread that had no such registers saved */
	}
	if (!t)
		return -1;
	t->id = p->pid;
	t->wide = c->wide;
	t->has_ssp = p->has_ssp;
	t->ssp = p->ssp;
	return 0;
}

static int take(struct core *c, const char *owner, uint32_t type, const uint8_t *desc, size_t bytes)
{
	size_t pid_at = c->wide ? PID_AT_64 : PID_AT_32;
	bool linux_note = !strcmp(owner, "LINUX");

	if (!strcmp(owner, "CORE") && type == NT_PRSTATUS) {
		if (put_thread(c) < 0)
			return -1;
		c->now = (struct pending){.open = true};
		if (bytes >= pid_at + 4)
			c->now.pid = xst_get32(desc, pid_at);
		return 0;
	}
	if (!strcmp(owner, "CORE") && type == XST_NT_FPREGSET) {
		c->now.fpregset = desc;
		c->now.fpregset_bytes = bytes;
	} else if (linux_note && type == XST_NT_PRXFPREG) {
		c->now.prxfpreg = desc;
		c->now.prxfpreg_bytes = bytes;
	} else if (linux_note && type == XST_NT_X86_XSTATE) {
		c->now.xstate = desc;
		c->now.xstate_bytes = bytes;
	} else if (linux_note && type == XST_NT_X86_SHSTK && bytes >= 8) {
		c->now.has_ssp = true;
		c->now.ssp = xst_get64(desc, 0);
	} else if (linux_note && type == XST_NT_X86_XSAVE_LAYOUT) {
		c->layout = desc;
		c->layout_bytes = bytes;
	}
	return 0;
}

static int take_notes(struct core *c, Elf_Data *data)
{
	size_t at = 0, name, desc;
	GElf_Nhdr nhdr;

	while (at < data->d_size && (at = gelf_getnote(data, at, &nhdr, &name, &desc)) > 0) {
		const char *owner = (const char *)data->d_buf + name;
		char text[8] = "";

		if (nhdr.n_namesz && nhdr.n_namesz <= sizeof(text))
			memcpy(text, owner, nhdr.n_namesz - 1);
		if (take(c, text, nhdr.n_type, (const uint8_t *)data->d_buf + desc,
			 nhdr.n_descsz) < 0)
			return -1;
	}
	return 0;
}

/* The layout note holds for every thread. */
static int apply_layout(struct core *c)
{
	struct xst_diag d;

	for (size_t i = 0; c->layout && i < c->file->count; i++) {
		struct image_thread *t = &c->file->threads[i];

		if (t->wrapped)
			continue;
		if (xst_regset_layout_note(c->layout, c->layout_bytes, t->xcr0, &t->layout, &d)) {
			snprintf(c->err, c->errlen, "%s: %s (byte %u of NT_X86_XSAVE_LAYOUT)",
				 c->file->path, d.rule, d.offset);
			return -1;
		}
		t->placed = true;
		t->layout_by = "the core's NT_X86_XSAVE_LAYOUT note";
		if (t->layout.bytes > IMAGE_ROOM) {
			snprintf(c->err, c->errlen,
				 "%s: NT_X86_XSAVE_LAYOUT describes %u bytes, more than any XSAVE "
				 "area has", c->file->path, t->layout.bytes);
			return -1;
		}
	}
	return 0;
}

static int read_elf(struct image_file *f, Elf *elf, char *err, size_t errlen)
{
	struct core c = {.file = f, .err = err, .errlen = errlen};
	GElf_Ehdr ehdr;
	size_t count;

	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &ehdr)) {
		snprintf(err, errlen, "%s: not an ELF file", f->path);
		return -1;
	}
	if (ehdr.e_type != ET_CORE) {
		snprintf(err, errlen, "%s: an ELF file, but no core", f->path);
		return -1;
	}
	if (ehdr.e_machine != EM_X86_64 && ehdr.e_machine != EM_386) {
		snprintf(err, errlen, "%s: a core of another architecture (ELF machine %u)",
			 f->path, ehdr.e_machine);
		return -1;
	}
	c.wide = ehdr.e_machine == EM_X86_64 && gelf_getclass(elf) == ELFCLASS64;
	if (elf_getphdrnum(elf, &count)) {
		snprintf(err, errlen, "%s: the core's program headers are damaged", f->path);
		return -1;
	}
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr ph;
		Elf_Data *data;

		if (!gelf_getphdr(elf, (int)i, &ph)) {
			snprintf(err, errlen, "%s: the core is cut off within its program headers",
				 f->path);
			return -1;
		}
		if (ph.p_type != PT_NOTE || !ph.p_filesz)
			continue;
		if (ph.p_filesz > NOTES_MAX || (int64_t)ph.p_offset < 0) {
			snprintf(err, errlen, "%s: the core's notes have an impossible size",
				 f->path);
			return -1;
		}
		data = elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz,
					    ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		if (!data) {
			snprintf(err, errlen, "%s: the core is cut off within its notes", f->path);
			return -1;
		}
		if (take_notes(&c, data) < 0)
			return -1;
	}
	if (put_thread(&c) < 0 || apply_layout(&c) < 0)
		return -1;
	if (!f->count) {
		snprintf(err, errlen, "%s: the core holds no floating-point registers", f->path);
		return -1;
	}
	return 0;
}

int read_core(struct image_file *f, const uint8_t *data, size_t bytes, char *err, size_t errlen)
{
	Elf *elf;
	int ret;

	elf_version(EV_CURRENT);
	elf = elf_memory((char *)(uintptr_t)data, bytes);
	ret = read_elf(f, elf, err, errlen);
	elf_end(elf);
	return ret;
}

int read_core_fd(struct image_file *f, int fd, char *err, size_t errlen)
{
	Elf *elf;
	int ret;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	ret = read_elf(f, elf, err, errlen);
	elf_end(elf);
	return ret;
}
