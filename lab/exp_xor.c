// SPDX-License-Identifier: BSD-2-Clause
/*
 * `xor`: RAID's parity of 4 KiB blocks, one section a block, with one to four sources, by AVX, by SSE with
 * prefetch and by plain SSE. No control word matters to it, so none may be loaded: the points say how many
 * instructions of that kind ran. Every result is compared with one by general registers.
 */
#include "engine.h"
#include "experiment.h"
#include "report.h"
#include "sections.h"

#define BLOCK   4096u
#define BLOCKS  16u
#define SOURCES 4u

static const struct way {
	const char *name;
	xor_fn *run;
	bool avx;
} ways[] = {
	{"avx", xor_avx, true},
	{"sse with prefetch", xor_sse_prefetch, false},
	{"generic sse", xor_sse, false},
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* The prefetch reaches beyond the end. */
static uint64_t source[SOURCES][BLOCK / 8 + 64], target[BLOCK / 8 + 64], want[BLOCK / 8];
static const struct way *now;
static unsigned sources;
static uint64_t blocks, wrong;

struct job {
	const struct way *way;
	const void *from[SOURCES];
};

static void inside(void *argument)
{
	const struct job *job = argument;

	job->way->run(target, job->from, sources, BLOCK);
}

static void xor_work(struct cpu *cpu)
{
	struct job job = {now, {source[0], source[1], source[2], source[3]}};

	if (!now)
		return;
	for (unsigned b = 0; b < BLOCKS; b++) {
		for (unsigned i = 0; i < BLOCK / 8; i++) {
			target[i] = want[i] = mix64(args.seed + 8 * blocks + i);
			for (unsigned s = 0; s < sources; s++)
				want[i] ^= source[s][i];
		}
		section_run(cpu, XST_CONTEXT_TASK, 0, inside, &job);
		for (unsigned i = 0; i < BLOCK / 8; i++)
			wrong += target[i] != want[i];
		blocks++;
	}
}

static bool usable(const struct way *way)
{
	return !way->avx || (lab_system.mask & XST_MASK_AVX);
}

static bool xor_phase(unsigned number)
{
	struct task_spec spec = {.program = user_worker, .loops = args.loops, .use = USE_ALWAYS};
	const unsigned last = number - 1;

	lab_total = WAYS * SOURCES * args.loops;
	if (number == 0) {
		for (unsigned s = 0; s < SOURCES; s++)
			for (unsigned i = 0; i < BLOCK / 8; i++)
				source[s][i] = mix64(args.seed ^ ((uint64_t)s << 40 | i)) | 1;
		report_point_start();
	} else if (usable(&ways[last / SOURCES])) {
		report_point_begin();
		report_field_text("way", ways[last / SOURCES].name);
		report_field("sources", last % SOURCES + 1);
		report_point_end();
	}
	while (number < WAYS * SOURCES && !usable(&ways[number / SOURCES]))
		number++;
	if (number >= WAYS * SOURCES)
		return false;
	now = &ways[number / SOURCES];
	sources = number % SOURCES + 1;
	task_create_user(&spec);
	return true;
}

static const char *xor_verdict(void)
{
	struct xst_counters sum;

	engine_sum_counters(&sum);
	if (wrong)
		return "a parity is wrong";
	if (!blocks)
		return "no block was worked on";
	if (sum.kernel_init_x87 || sum.kernel_init_mxcsr)
		return "a control word was loaded for integer work";
	return sections_verdict();
}

static void xor_report(void)
{
	report_field("blocks", blocks);
	report_field("wrong_words", wrong);
}

const struct experiment exp_xor = {
	.name = "xor",
	.summary = "parity of 4 KiB blocks, a section each",
	.loops = 8,
	.min_cpus = 1,
	.max_cpus = 1,
	.phase = xor_phase,
	.kernel_work = xor_work,
	.verdict = xor_verdict,
	.report = xor_report,
};
