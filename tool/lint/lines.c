// SPDX-License-Identifier: BSD-2-Clause
/*
 * Source lines by libdwfl: from the object itself, or from a separate debug file found by
 * its build id. Kernel headers inline most of the protocol, so a line alone would say
 * api.h:42; the chain of inlined calls around it says whose.
 */
#include <elfutils/libdwfl.h>
#include <dwarf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lint/run.h"

static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = dwfl_build_id_find_debuginfo,
        .section_address = dwfl_offline_section_address,
};

/* The separate debug file: by build id, or at the same place below the debug folder. */
static bool debug_file(const struct lint_run *run, const struct lint_object *obj, char *buf,
                       size_t bytes)
{
	const char *dir = run->debug_dir ? run->debug_dir : "/usr/lib/debug", *p;
	char hex[41];
	size_t i;

	if (!obj->build_id_len)
		return false;
	for (i = 0; i < obj->build_id_len; i++)
		snprintf(hex + 2 * i, sizeof(hex) - 2 * i, "%02x", obj->build_id[i]);
	snprintf(buf, bytes, "%s/.build-id/%.2s/%s.debug", dir, hex, hex + 2);
	if (!access(buf, R_OK))
		return true;
	/* Debian: modules keep their path below /usr/lib/debug. */
	for (p = strstr(obj->path, "lib/modules/"); p; p = NULL) {
		snprintf(buf, bytes, "%s/%s", dir, p);
		if (!access(buf, R_OK))
			return true;
		snprintf(buf, bytes, "%s/usr/lib/debug/%s", dir, p);
		if (!access(buf, R_OK))
			return true;
	}
	/* A kernel is installed as vmlinuz-X, and what describes it as vmlinux-X. */
	if (!strncmp(obj->module, "vmlinu", 6) && strlen(obj->module) > 6) {
		snprintf(buf, bytes, "%s/boot/vmlinux%s", dir, obj->module + 7);
		if (!access(buf, R_OK))
			return true;
		snprintf(buf, bytes, "%s/vmlinux%s", dir, obj->module + 7);
		if (!access(buf, R_OK))
			return true;
	}
	snprintf(buf, bytes, "%s/%s", dir, obj->module);
	return !access(buf, R_OK);
}

/* Does the object itself hold line information? */
static bool own_lines(const struct lint_object *obj)
{
	size_t i;

	for (i = 0; i < obj->nsec; i++)
		if (!strcmp(obj->sec[i].name, ".debug_line"))
			return true;
	return false;
}

struct debug {
	Dwfl *dwfl;
	Dwfl_Module *module;
	struct lint_object *obj;
	struct lint_image *image; /* of a separate debug file */
	struct lint_opened opened;
};

static void debug_close(struct debug *d)
{
	if (d->dwfl)
		dwfl_end(d->dwfl);
	lint_opened_free(&d->opened);
	if (d->image)
		lint_image_put(d->image);
	memset(d, 0, sizeof(*d));
}

/* What came unpacked, through a pipe or out of an archive is a file for libdwfl in memory. */
static int memory_file(const struct lint_object *obj)
{
	size_t bytes = 0, done = 0;
	const char *raw = elf_rawfile(obj->elf, &bytes);
	int fd = raw ? memfd_create("object", MFD_CLOEXEC) : -1;

	while (fd >= 0 && done < bytes) {
		ssize_t n = write(fd, raw + done, bytes - done);

		if (n <= 0) {
			close(fd);
			return -1;
		}
		done += (size_t)n;
	}
	return fd;
}

static bool debug_open(const struct lint_run *run, struct lint_object *obj, struct debug *d)
{
	char path[4096], why[512];
	const struct lint_object *other;
	int fd = -1;

	debug_close(d);
	d->obj = obj;
	if (own_lines(obj)) {
		snprintf(path, sizeof(path), "%s", obj->path);
		if (!obj->image->mapped || access(path, R_OK)) {
			fd = memory_file(obj);
			if (fd < 0)
				return false;
		}
	} else {
		if (!debug_file(run, obj, path, sizeof(path)))
			return false;
		d->image = lint_image_load(path, why, sizeof(why));
		if (!d->image || !lint_objects_open(path, d->image, &d->opened))
			return false;
		/* Another build's debug file would give wrong lines. */
		other = d->opened.list[0];
		if (other->build_id_len != obj->build_id_len ||
		    memcmp(other->build_id, obj->build_id, obj->build_id_len) != 0)
			return false;
	}
	d->dwfl = dwfl_begin(&callbacks);
	if (!d->dwfl) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	dwfl_report_begin(d->dwfl);
	d->module = dwfl_report_offline(d->dwfl, obj->module, path, fd);
	if (!d->module && fd >= 0)
		close(fd);
	dwfl_report_end(d->dwfl, NULL, NULL);
	return d->module != NULL;
}

/* Address of a finding in the debug file: the same function, the same offset in it. */
static bool address_of(const struct debug *d, const struct lint_finding *f, Dwarf_Addr *addr)
{
	int n = dwfl_module_getsymtab(d->module), i;
	const struct lint_section *s = &d->obj->sec[f->sec];
	Dwarf_Addr bias;

	if (!d->obj->relocatable) {
		/* libdwfl gives what can be loaded anywhere a place of its own. */
		if (!dwfl_module_getdwarf(d->module, &bias))
			return false;
		*addr = s->addr + f->off + bias;
		return true;
	}
	for (i = 1; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr at;
		const char *name =
		        dwfl_module_getsym_info(d->module, i, &sym, &at, NULL, NULL, NULL);

		/* Static functions share names: size and offset in the section must agree too. */
		if (name && !strcmp(name, f->function) &&
		    GELF_ST_TYPE(sym.st_info) != STT_SECTION) {
			uint32_t fn = lint_func_at(d->obj, f->sec, f->off);

			if (fn != NO_FUNC && sym.st_size && sym.st_size != d->obj->func[fn].size)
				continue;
			*addr = at + f->func_off;
			return true;
		}
	}
	return false;
}

static const char *tail(const char *path)
{
	const char *p;

	/* Build folders differ; what is below the source tree does not. */
	for (p = path; !strncmp(p, "../", 3); p += 3)
		;
	p = strstr(path, "/./") ? strstr(path, "/./") + 3 : p;
	return p;
}

static char *source_of(struct debug *d, Dwarf_Addr addr)
{
	Dwfl_Line *line = dwfl_module_getsrc(d->module, addr);
	const char *file = line ? dwfl_lineinfo(line, NULL, NULL, NULL, NULL, NULL) : NULL;
	int number = 0;
	Dwarf_Addr bias;
	Dwarf_Die *cu, *scopes = NULL;
	char buf[1024];
	size_t used;
	int n, i;

	if (!file)
		return NULL;
	dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	used = (size_t)snprintf(buf, sizeof(buf), "%s:%d", tail(file), number);
	cu = dwfl_module_addrdie(d->module, addr, &bias);
	n = cu ? dwarf_getscopes(cu, addr - bias, &scopes) : 0;
	if (n > 0) {
		Dwarf_Die *chain = NULL;
		int m = dwarf_getscopes_die(&scopes[0], &chain);

		for (i = 0; i < m && used < sizeof(buf); i++) {
			Dwarf_Attribute attr;
			Dwarf_Word w, index;
			Dwarf_Files *files;
			const char *from = NULL;

			if (dwarf_tag(&chain[i]) != DW_TAG_inlined_subroutine)
				continue;
			if (dwarf_attr(&chain[i], DW_AT_call_file, &attr) &&
			    !dwarf_formudata(&attr, &index) && !dwarf_getsrcfiles(cu, &files, NULL))
				from = dwarf_filesrc(files, index, NULL, NULL);
			if (!from || !dwarf_attr(&chain[i], DW_AT_call_line, &attr) ||
			    dwarf_formudata(&attr, &w))
				continue;
			used += (size_t)snprintf(buf + used, sizeof(buf) - used,
			                         " (inlined at %s:%u)", tail(from), (unsigned)w);
		}
		free(chain);
	}
	free(scopes);
	return strdup(buf);
}

void lint_lines(struct lint_run *run)
{
	struct lint_findings *all = &run->graph->found;
	struct debug d = {0};
	bool open = false;
	size_t i;

	for (i = 0; i < all->n; i++) {
		struct lint_finding *f = &all->list[i];
		Dwarf_Addr addr;

		if (f->known)
			continue;
		if (d.obj != f->lint_object)
			open = debug_open(run, f->lint_object, &d);
		if (open && address_of(&d, f, &addr))
			f->source = source_of(&d, addr);
		lint_clean(f->source);
	}
	debug_close(&d);
}
