// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every legal XCR0 with every IA32_XSS, both formats, on several CPUs, against a recomputation that
 * shares nothing with the library: its own rules for XCR0, its own reading of the leaves, and
 * offsets found one component at a time instead of in a walk.
 */
#include "../unit/t.h"

#include <xst/layout.h>

#include "fleet.h"

struct plain {
	uint32_t size[64], offset[64], ecx[64];
};

/* XSETBV's rules as the manual lists them. */
static bool plain_legal(uint64_t x)
{
	bool x87 = x & 1, sse = x >> 1 & 1, avx = x >> 2 & 1;
	unsigned mpx = x >> 3 & 3, avx512 = x >> 5 & 7, amx = x >> 17 & 3;
	bool apx = x >> 19 & 1;

	if (!x87 || (avx && !sse))
		return false;
	if (mpx == 1 || mpx == 2)
		return false;
	if (avx512 && (avx512 != 7 || !avx))
		return false;
	if (amx == 1 || amx == 2)
		return false;
	return !(apx && mpx);
}

static void read_plain(const struct cpu_source *src, struct plain *p)
{
	size_t i;

	memset(p, 0, sizeof(*p));
	for (i = 0; i < src->leaf_count; i++) {
		const struct xst_cpuid_leaf *l = &src->leaves[i];

		if (l->leaf != 0xd || l->subleaf < 2 || l->subleaf > 63)
			continue;
		p->size[l->subleaf] = l->eax;
		p->offset[l->subleaf] = l->ebx;
		p->ecx[l->subleaf] = l->ecx;
	}
}

/* Where component i begins: the end of the nearest one below, rounded up if i wants it. */
static uint32_t plain_begin(const struct plain *p, uint64_t mask, int i)
{
	int below = i - 1;
	uint32_t at;

	while (below > 1 && !(mask >> below & 1))
		below--;
	at = below <= 1 ? 576 : plain_begin(p, mask, below) + p->size[below];
	return p->ecx[i] & 2 ? (at + 63) / 64 * 64 : at;
}

static uint32_t plain_standard_size(const struct plain *p, uint64_t mask)
{
	uint32_t end = 576;
	int i;

	for (i = 63; i > 1; i--)
		if (mask >> i & 1 && p->offset[i] + p->size[i] > end)
			end = p->offset[i] + p->size[i];
	return end;
}

static void check_standard(const struct xst_caps *caps, const struct plain *p, uint64_t mask)
{
	struct xst_layout l;
	int i;

	assert_int_equal(xst_layout_compute(caps, mask, XST_STANDARD, &l, NULL), XST_OK);
	assert_int_equal(l.mask, mask);
	assert_int_equal(l.bytes, plain_standard_size(p, mask));
	for (i = 2; i < 63; i++)
		if (mask >> i & 1) {
			assert_int_equal(l.offset[i], p->offset[i]);
			assert_int_equal(l.size[i], p->size[i]);
		}
}

static void check_compacted(const struct xst_caps *caps, const struct plain *p, uint64_t mask)
{
	struct xst_layout l;
	int i, last = 0;

	assert_int_equal(xst_layout_compute(caps, mask, XST_COMPACTED, &l, NULL), XST_OK);
	for (i = 2; i < 63; i++)
		if (mask >> i & 1) {
			assert_int_equal(l.offset[i], plain_begin(p, mask, i));
			assert_int_equal(l.size[i], p->size[i]);
			last = i;
		}
	assert_int_equal(l.bytes, last ? plain_begin(p, mask, last) + p->size[last] : 576);
}

/* What a guest with this profile is shown must sum up the same. */
static void check_leaf(const struct xst_caps *caps, const struct plain *p, uint64_t xcr0,
		       uint64_t xss)
{
	struct xst_cpuid_leaf l;

	assert_int_equal(xst_caps_leaf_d(caps, xcr0, xss, xcr0, xss, 0, &l, NULL), XST_OK);
	assert_int_equal((uint64_t)l.edx << 32 | l.eax, xcr0);
	assert_int_equal(l.ecx, plain_standard_size(p, xcr0));
	assert_int_equal(l.ebx, l.ecx);
	assert_int_equal(xst_caps_leaf_d(caps, xcr0, xss, 1, 0, 0, &l, NULL), XST_OK);
	assert_int_equal(l.ebx, 576);
}

static unsigned long check_cpu(const struct cpu_source *src)
{
	const struct xst_caps *caps = &src->caps;
	bool compacted = caps->xsavec || caps->xsaves;
	struct plain p;
	uint64_t xcr0, xss, all = caps->xcr0;
	unsigned long masks = 0;

	read_plain(src, &p);
	for (xcr0 = all;; xcr0 = (xcr0 - 1) & all) {
		bool legal = plain_legal(xcr0);

		assert_int_equal(xst_xcr0_check(xcr0, all, NULL) == XST_OK, legal);
		if (legal) {
			check_standard(caps, &p, xcr0);
			for (xss = caps->xss; compacted; xss = (xss - 1) & caps->xss) {
				check_compacted(caps, &p, xcr0 | xss);
				masks++;
				if (!xss)
					break;
			}
			check_leaf(caps, &p, xcr0, caps->xss);
			masks++;
		}
		if (!xcr0)
			break;
	}
	return masks;
}

static unsigned long check_dump(const char *name)
{
	char path[512], file[128], err[256];
	struct cpu_source src;
	unsigned long masks;

	snprintf(file, sizeof(file), "cpuid/dumps/%s", name);
	assert_non_null(shared_path(file, path, sizeof(path)));
	if (read_cpu(path, &src, err, sizeof(err)))
		fail_msg("%s", err);
	masks = check_cpu(&src);
	assert_true(masks > 1);
	read_cpu_free(&src);
	return masks;
}

/* All of the collection that have XSAVE and a dump with all sub-leaves. */
static void real_cpus(void **state)
{
	struct fleet *f = fleet_read();
	unsigned long masks = 0;
	unsigned i, cpus = 0;

	(void)state;
	for (i = 0; i < f->count; i++)
		if (f->caps[i].xsave && !(f->caps[i].caveats & XST_CAVEAT_EMPTY_SUBLEAF)) {
			masks += check_dump(f->name[i]);
			cpus++;
		}
	print_message("%u CPUs, %lu layouts\n", cpus, masks);
	assert_true(cpus >= 10);
	free(f);
}

/* APX has no dump yet: Emerald Rapids with component 19 in the old place of MPX. */
static void apx(void **state)
{
	char path[512], err[256];
	struct cpu_source src;
	unsigned long masks;
	size_t i;

	(void)state;
	assert_non_null(shared_path("cpuid/dumps/intel-emeraldrapids-03-c06f2.txt", path,
				    sizeof(path)));
	if (read_cpu(path, &src, err, sizeof(err)))
		fail_msg("%s", err);
	for (i = 0; i < src.leaf_count; i++) {
		struct xst_cpuid_leaf *l = &src.leaves[i];

		if (l->leaf == 0xd && l->subleaf == 0)
			l->eax |= 1u << 19;
		/* PASID gives its line to APX: the dump has no more room. */
		if (l->leaf == 0xd && l->subleaf == 1)
			l->ecx &= ~(1u << 10);
		if (l->leaf == 0xd && l->subleaf == 10)
			*l = (struct xst_cpuid_leaf){ 0xd, 19, 128, 960, 0, 0 };
	}
	assert_int_equal(xst_caps_from_leaves(src.leaves, src.leaf_count, NULL, &src.caps, NULL),
			 XST_OK);
	masks = check_cpu(&src);
	print_message("with APX: %lu layouts\n", masks);
	read_cpu_free(&src);
}

/* The rules over all user components that exist, supported or not. */
static void xcr0_rules(void **state)
{
	uint64_t all = XST_MASK_USER, x;
	unsigned long legal = 0, illegal = 0;
	struct xst_diag d;

	(void)state;
	for (x = all;; x = (x - 1) & all) {
		int err = xst_xcr0_check(x, all, &d);

		assert_int_equal(err == XST_OK, plain_legal(x));
		if (err)
			assert_true(d.component < 64 && d.rule[0]);
		/* The usable part of any set is legal but for MPX beside APX, and is the set itself
		 * when that was legal. */
		if (!err)
			assert_int_equal(xst_xcr0_usable(x), x);
		else if (xst_xcr0_usable(x) && !(x >> 19 & 1))
			assert_true(plain_legal(xst_xcr0_usable(x)));
		err ? illegal++ : legal++;
		if (!x)
			break;
	}
	print_message("%lu legal, %lu illegal\n", legal, illegal);
	assert_int_equal(legal + illegal, 1ul << __builtin_popcountll(all));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_cpus),
		cmocka_unit_test(apx),
		cmocka_unit_test(xcr0_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
