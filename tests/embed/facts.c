// SPDX-License-Identifier: BSD-2-Clause
/*
 * Facts of the library that docs/embedding.md states; t_docs.py compares.
 *
 *	facts			the sizes of a task's area, a line each: what, bytes
 *	facts NAME FIELDS...	do the fields read as the policy of that name, and are these all?
 */
#include <stdio.h>
#include <string.h>

#include <xst/policy.h>
#include <xst/system.h>

/* What the CPU has, and its components beside x87 and SSE. */
struct cpu {
	const char *what;
	bool fxsr, xsave, xsavec, xsaves;
	uint64_t xcr0, xss;
};

static const struct cpu cpus[] = {
	{"no FXSAVE", false, false, false, false, 0, 0},
	{"FXSAVE", true, false, false, false, 0, 0},
	{"XSAVE", true, true, false, false, 0x3, 0},
	{"AVX", true, true, false, false, 0x7, 0},
	{"AVX, compacted", true, true, true, true, 0x7, 0},
	{"AVX-512", true, true, false, false, 0xe7, 0},
	{"AVX-512, compacted", true, true, true, true, 0xe7, 0},
	{"AVX and MPX", true, true, false, false, 0x1f, 0},
	{"AVX, MPX and CET_U, compacted", true, true, true, true, 0x1f, 0x800},
	{"AVX, APX and CET_U, compacted", true, true, true, true, 0x80007, 0x800},
	{"AVX-512 and MPX", true, true, false, false, 0xff, 0},
	{"AVX-512, APX and CET_U, compacted", true, true, true, true, 0x800e7, 0x800},
};

/* Places as Intel's CPUs have them. */
static const struct {
	unsigned id;
	uint32_t bytes, offset;
} places[] = {{2, 256, 576},   {3, 64, 960},     {4, 64, 1024}, {5, 64, 1088},
	      {6, 512, 1152},  {7, 1024, 1664},  {11, 16, 0},   {19, 128, 960}};

static int area(const struct cpu *cpu, uint32_t *bytes)
{
	static struct xst_caps caps;
	static struct xst_system sys;
	unsigned i;
	int err;

	memset(&caps, 0, sizeof(caps));
	caps.fpu = true;
	caps.fxsr = caps.sse = cpu->fxsr;
	caps.xsave = cpu->xsave;
	caps.xsavec = caps.xgetbv1 = cpu->xsavec;
	caps.xsaves = cpu->xsaves;
	caps.xcr0 = cpu->xcr0;
	caps.xss = cpu->xss;
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct xst_comp_caps *c = &caps.comp[places[i].id];

		if (!((cpu->xcr0 | cpu->xss) & XST_MASK(places[i].id)))
			continue;
		c->bytes = places[i].bytes;
		c->offset = places[i].offset;
		c->supervisor = (cpu->xss & XST_MASK(places[i].id)) != 0;
	}
	err = xst_system_compute(&caps, XST_WANT_ALL_USER | XST_MASK_CET_U, 0, &sys, NULL);
	*bytes = sys.ctx_bytes;
	return err;
}

static int areas(void)
{
	unsigned i;

	for (i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		uint32_t bytes;
		const int err = area(&cpus[i], &bytes);

		if (err) {
			fprintf(stderr, "%s: %s\n", cpus[i].what, xst_strerror(err));
			return 1;
		}
		printf("%s\t%u\n", cpus[i].what, (unsigned)bytes);
	}
	return 0;
}

static int policy(const char *name, const char *fields)
{
	const struct xst_policy *named = xst_policy_by_name(name);
	struct xst_policy p;

	if (named && xst_policy_parse(fields, &p, NULL) == XST_OK && p.save == named->save &&
	    p.load == named->load && p.keep_owner == named->keep_owner &&
	    p.preload_after == named->preload_after && p.skip_init == named->skip_init)
		return 0;
	fprintf(stderr, "%s is not %s\n", name, fields);
	return 1;
}

int main(int argc, char **argv)
{
	int i, bad = 0;

	if (argc == 1)
		return areas();
	if (argc != 1 + 2 * (int)XST_POLICY_COUNT) {
		fprintf(stderr, "not %u policies\n", XST_POLICY_COUNT);
		return 1;
	}
	for (i = 1; i < argc; i += 2)
		bad |= policy(argv[i], argv[i + 1]);
	return bad;
}
