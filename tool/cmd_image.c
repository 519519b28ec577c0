// SPDX-License-Identifier: BSD-2-Clause
/* xstate image: decode an image, ask whether it restores somewhere, move it there. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd.h"
#include "image/image.h"
#include "ui/opt.h"
#include "ui/ui.h"

enum {
	OPT_FROM = 1, OPT_ON, OPT_TO, OPT_WITH, OPT_AS, OPT_THREAD, OPT_XCR0, OPT_XSS, OPT_XFD,
	OPT_RFBM, OPT_VECTORS, OPT_STANDARD, OPT_COMPACTED, OPT_DROP, OPT_OUT,
};

#define OPTS_SOURCE                                                                                \
	{OPT_FROM, 0, "from", "CPU", "the CPU whose layout the image is in: host, a dump or our "  \
				     "JSON"},                                                      \
	{OPT_AS, 0, "as", "KIND", "what the file is: raw, fxsave, core, kvm, frame, frame32 or "   \
				  "criu\n(default: found out)"},                                   \
	{OPT_THREAD, 0, "thread", "ID", "only this thread of a core"}

static const struct opt show_opts[] = {
	OPTS_SOURCE,
	{OPT_VECTORS, 'v', "vectors", "FORM", "also the vector registers: hex, f32 or f64"},
	{OPT_XCR0, 0, "xcr0", "MASK", "XCR0 that the image was made with"},
	{OPT_XSS, 0, "xss", "MASK", "IA32_XSS that belongs to the snapshot"},
	{OPT_XFD, 0, "xfd", "MASK", "IA32_XFD that belongs to the snapshot"},
	{0},
};

static const struct opt check_opts[] = {
	{OPT_ON, 0, "on", "CPU", "the CPU it is to be restored on (default: host)"},
	{OPT_WITH, 0, "with", "HOW", "fxrstor, xrstor, xrstors or kvm (default: by the image)"},
	OPTS_SOURCE,
	{OPT_XCR0, 0, "xcr0", "MASK", "XCR0 in force there (default: all it supports)"},
	{OPT_XSS, 0, "xss", "MASK", "IA32_XSS in force there (default: all it supports)"},
	{OPT_XFD, 0, "xfd", "MASK", "IA32_XFD in force there (default: 0)"},
	{OPT_RFBM, 0, "rfbm", "MASK", "EDX:EAX of the instruction (default: all ones)"},
	{0},
};

static const struct opt convert_opts[] = {
	{OPT_TO, 0, "to", "CPU", "the CPU it is to be restored on"},
	{OPT_STANDARD, 0, "standard", NULL, "write the standard format"},
	{OPT_COMPACTED, 0, "compacted", NULL, "write the compacted format"},
	{OPT_OUT, 'o', "output", "FILE", "where to; - is standard output"},
	{OPT_DROP, 0, "drop", "LIST", "live components that may be lost: AVX,PKRU,9,...\n"
				      "mxcsr: MXCSR bits that the target does not have"},
	OPTS_SOURCE,
	{OPT_XCR0, 0, "xcr0", "MASK", "components the new image has room for"},
	{OPT_XSS, 0, "xss", "MASK", "the same for supervisor components"},
	{0},
};

#define ABOUT_KINDS                                                                                \
	"FILE is a raw XSAVE or FXSAVE image, an ELF core, what KVM_GET_XSAVE(2) returned, the\n"  \
	"floating-point part of a signal frame, or a CRIU core image; - is standard input.\n"      \
	"An image of another machine is never read with this machine's layout: where the file\n"   \
	"does not say whose layout it has and CPUs differ, --from CPU is asked for.\n"

static const struct opt_usage show_usage = {
	.cmd = "xstate image show",
	.summary = "header, components and registers of an image",
	.synopsis = "FILE [options]",
	.about = ABOUT_KINDS,
	.opts = show_opts,
	.examples = "xstate image show core.1234                what the threads had in their registers\n"
		    "xstate image show vm.xsave --from zen4.txt -v f32\n",
};

static const struct opt_usage check_usage = {
	.cmd = "xstate image check",
	.summary = "will an image restore there, and if not, why",
	.synopsis = "FILE [--on CPU] [options]",
	.about = ABOUT_KINDS "Exit status 0: it restores as it is. 1: it does not.\n",
	.opts = check_opts,
	.examples = "xstate image check area.bin --from zen4.txt --on icelake.txt\n"
		    "xstate image check vm.xsave --on host --with kvm --xcr0 0xe7\n",
};

static const struct opt_usage convert_usage = {
	.cmd = "xstate image convert",
	.summary = "move an image to another CPU or format",
	.synopsis = "FILE --to CPU|--standard|--compacted -o OUT [options]",
	.about = ABOUT_KINDS "Live state is never lost unless --drop names it (exit status 1, nothing "
			     "written). Bytes\nthat mean nothing are zeros in the result.\n",
	.opts = convert_opts,
	.examples = "xstate image convert area.bin --from zen4.txt --to icelake.txt -o new.bin\n"
		    "xstate image convert core.1234 --thread 1234 --compacted -o area.bin\n",
};

/* A component by name or number; 0 when there is none. */
static uint64_t component(const char *name)
{
	uint64_t id;

	if (opt_u64(name, &id))
		return id < 63 ? XST_MASK(id) : 0;
	for (unsigned i = 0; i < 63; i++) {
		const struct xst_comp_info *info = xst_comp_info(i);

		if (info && !strcasecmp(info->text, name))
			return XST_MASK(i);
	}
	return 0;
}

static bool get_drop(struct opt_parser *p, struct image_request *r)
{
	const char *list = p->arg;
	char item[32];
	uint64_t mask;

	while (opt_item(&list, item, sizeof(item))) {
		if (!strcasecmp(item, "mxcsr")) {
			r->drop_mxcsr = true;
			continue;
		}
		mask = component(item);
		if (!mask)
			break;
		r->drop |= mask;
	}
	if (!list)
		return true;
	opt_bad(p, "a list of components (names or numbers), or mxcsr");
	return false;
}

static bool get_mask(struct opt_parser *p, struct opt_mask *m)
{
	m->given = true;
	return opt_get_u64(p, 0, UINT64_MAX, &m->mask);
}

static bool get_kind(struct opt_parser *p, enum image_kind *kind)
{
	for (int k = IMAGE_RAW; k < IMAGE_KINDS; k++)
		if (!strcmp(p->arg, image_kind_name((enum image_kind)k))) {
			*kind = (enum image_kind)k;
			return true;
		}
	opt_bad(p, "raw, fxsave, core, kvm, frame, frame32 or criu");
	return false;
}

static bool get_with(struct opt_parser *p, enum xst_restorer *with)
{
	static const char *const names[] = {"fxrstor", "xrstor", "xrstors", "kvm"};

	for (int i = 0; i < 4; i++)
		if (!strcmp(p->arg, names[i])) {
			*with = (enum xst_restorer)i;
			return true;
		}
	opt_bad(p, "fxrstor, xrstor, xrstors or kvm");
	return false;
}

static bool get_vectors(struct opt_parser *p, enum vectors *v)
{
	*v = !strcmp(p->arg, "hex")   ? VECTORS_HEX
	     : !strcmp(p->arg, "f32") ? VECTORS_F32
	     : !strcmp(p->arg, "f64") ? VECTORS_F64
				      : VECTORS_NONE;
	if (*v)
		return true;
	opt_bad(p, "hex, f32 or f64");
	return false;
}

/* The command line; CPUs are read later, when everything else is known to be right. */
struct words {
	const char *from, *on;
};

static bool take_option(int id, struct opt_parser *p, struct image_request *r, struct words *w)
{
	switch (id) {
	case OPT_FROM:
		w->from = p->arg;
		return true;
	case OPT_ON:
	case OPT_TO:
		w->on = p->arg;
		return true;
	case OPT_WITH:
		return get_with(p, &r->with);
	case OPT_AS:
		return get_kind(p, &r->as);
	case OPT_THREAD:
		r->has_thread = true;
		return opt_get_u64(p, 0, UINT32_MAX, &r->thread);
	case OPT_XCR0:
		return get_mask(p, &r->xcr0);
	case OPT_XSS:
		return get_mask(p, &r->xss);
	case OPT_XFD:
		return get_mask(p, &r->xfd);
	case OPT_RFBM:
		return get_mask(p, &r->rfbm);
	case OPT_VECTORS:
		return get_vectors(p, &r->vectors);
	case OPT_STANDARD:
		r->to_standard = true;
		return true;
	case OPT_COMPACTED:
		r->to_compacted = true;
		return true;
	case OPT_DROP:
		return get_drop(p, r);
	case OPT_OUT:
		r->out = p->arg;
		return true;
	default:
		return false;
	}
}

static int get_cpu(const struct image_request *r, const char *spec, struct cpu_source *cpu,
		   bool *has)
{
	char err[256];

	if (!spec)
		return UI_OK;
	*has = true;
	if (read_cpu(spec, cpu, err, sizeof(err)))
		return ui_error(r->cmd, UI_USAGE, "%s", err);
	return UI_OK;
}

/* Keep the thread asked for, and decide on every layout. */
static int settle(const struct image_request *r, struct image_file *f)
{
	char err[512];
	size_t kept = 0;

	for (size_t i = 0; i < f->count && r->has_thread; i++)
		if (f->threads[i].id == r->thread) {
			struct image_thread found = f->threads[i];

			f->threads[i] = f->threads[0];
			f->threads[0] = found;
			kept = 1;
			break;
		}
	if (r->has_thread && !kept)
		return ui_error(r->cmd, UI_USAGE, "%s has no thread %" PRIu64, f->path, r->thread);
	for (size_t i = 0; i < (r->has_thread ? 1 : f->count); i++)
		if (image_resolve(r, &f->threads[i], err, sizeof(err)))
			return ui_error(r->cmd, UI_USAGE, "%s: %s", f->path, err);
	return UI_OK;
}

static int run(const struct opt_usage *usage, int argc, char **argv,
	       int (*verb)(const struct image_request *r, struct image_file *f))
{
	struct image_request r = {.cmd = usage->cmd, .with = (enum xst_restorer)(XST_BY_KVM + 1)};
	struct image_file f = {0};
	struct words w = {NULL, NULL};
	struct opt_parser p;
	char err[512];
	size_t all;
	int id, status;

	opt_begin(&p, usage, argc, argv);
	while ((id = opt_next(&p)) != OPT_END) {
		if (id == OPT_STOP)
			return p.status;
		if (id == OPT_ARG && r.path)
			return ui_error(r.cmd, UI_USAGE, "one file only, but %s came after %s",
					p.arg, r.path);
		if (id == OPT_ARG)
			r.path = p.arg;
		else if (!take_option(id, &p, &r, &w))
			return p.status;
	}
	if (!r.path)
		return ui_error(r.cmd, UI_USAGE, "which file? (see %s --help)", r.cmd);
	if (verb == image_check && !w.on)
		w.on = "host";
	if (verb == image_convert && (r.to_standard && r.to_compacted))
		return ui_error(r.cmd, UI_USAGE, "--standard or --compacted, not both");
	if (verb == image_convert && !w.on && !r.to_standard && !r.to_compacted)
		return ui_error(r.cmd, UI_USAGE, "where to? --to CPU, --standard or --compacted");
	if (verb == image_convert && !r.out)
		return ui_error(r.cmd, UI_USAGE, "-o OUT is needed (- is standard output)");
	if (verb == image_convert && ui.json && !strcmp(r.out, "-"))
		return ui_error(r.cmd, UI_USAGE, "the image and JSON cannot both go to standard output");

	status = get_cpu(&r, w.from, &r.from, &r.has_from);
	if (!status)
		status = get_cpu(&r, w.on, &r.on, &r.has_on);
	if (!status && read_image(r.path, r.as, &f, err, sizeof(err)))
		status = ui_error(r.cmd, UI_USAGE, "%s", err);
	all = f.count;
	if (!status)
		status = settle(&r, &f);
	if (!status) {
		f.count = r.has_thread ? 1 : f.count;
		status = verb(&r, &f);
		f.count = all;
	}
	read_image_free(&f);
	if (r.has_from)
		read_cpu_free(&r.from);
	if (r.has_on)
		read_cpu_free(&r.on);
	return status;
}

static int show(int argc, char **argv)
{
	return run(&show_usage, argc, argv, image_show);
}

static int check(int argc, char **argv)
{
	return run(&check_usage, argc, argv, image_check);
}

static int convert(int argc, char **argv)
{
	return run(&convert_usage, argc, argv, image_convert);
}

int cmd_image(int argc, char **argv)
{
	static const struct opt_verb verbs[] = {
		{"show", "header, components and registers", show},
		{"check", "will it restore, on which CPU, why not", check},
		{"convert", "move it to another CPU or format", convert},
		{NULL, NULL, NULL},
	};
	static const struct opt_usage usage = {
		.cmd = "xstate image",
		.summary = "decode an image, ask whether it restores, move it elsewhere",
		.synopsis = "show|check|convert FILE [options]",
		.about = ABOUT_KINDS,
		.examples = "xstate image show core.1234\n"
			    "xstate image check core.1234 --on host\n",
	};

	return opt_dispatch(&usage, verbs, argc, argv);
}
