// SPDX-License-Identifier: BSD-2-Clause
/*
 * Things that happen again in the lab.
 *
 *     t_replay GROUP IMAGES    GROUP: sequences again
 *
 * sequences: random walks of the explorer on real registers, which must hold what its software CPU
 * predicted after each event: the model judged by the emulators. XST_EXPLORE names the explorer.
 * again: a corruption prints the engine's last events, and its seed brings it back.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_test.h"

static char text[LAB_SEQUENCE_MAX + 1];

/* What the explorer prints becomes the sequence of the runs to come. */
__attribute__((format(printf, 1, 2))) static bool explore(const char *fmt, ...)
{
	const char *program = getenv("XST_EXPLORE");
	char args[300], command[800];
	va_list ap;
	size_t used = 0;
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(args, sizeof(args), fmt, ap);
	va_end(ap);
	snprintf(command, sizeof(command), "'%s' %s", program ? program : "", args);
	f = program ? popen(command, "r") : NULL;
	if (f)
		used = fread(text, 1, sizeof(text) - 1, f);
	text[used] = '\0';
	sequence = text;
	if (f && !pclose(f) && used && used < sizeof(text) - 1)
		return true;
	expect(false, "the explorer prints a sequence that fits: %s", args);
	return false;
}

/* What is switched on each machine, and the form that it is saved in there. */
static const struct {
	const char *machine, *insn, *comps, *extra;
} kinds[] = {
	{ "qemu:max", "xsaveopt", "x87,sse,avx,pkru", NULL },
	{ "bochs:tigerlake", "xsaves", "x87,sse,avx,pkru", NULL },
	{ "bochs:tigerlake", "xsaves", "sse,cet,pkru", "cet=1" },
	{ "bochs:ryzen", "xsaves", "x87,sse,avx", NULL },
};

/* Early loads come after one used slot, as in the explorer, and not after five. */
static const char *const starts[] = { "eager", "eager-keep", "lazy", "load=use,preload=1",
				      "load=use,keep,preload=1", "deferred", "laziest", "auto" };

#define STARTS (sizeof(starts) / sizeof(starts[0]))

static struct lab_job replay(const char *image, const struct lab_machine *m, const char *policy)
{
	struct lab_job j = job("replay", policy, m);

	run(image, &j, 1, QUIET_MS);
	return j;
}

static void agree(size_t kind, const struct lab_machine *m)
{
	uint64_t events = 0, values = 0, walks = 0, traps = 0, loads = 0;
	bool ok = true;

	extra = kinds[kind].extra;
	for (size_t s = 0; s <= STARTS; s++) {
		/* The last one turns the knob. */
		const char *policy = s < STARTS ? starts[s] : "eager,lazy,deferred,laziest,auto";
		struct lab_job j;

		if (!explore("--policy '%s' %s --empty --spoil --insn %s --comps %s --walk 60 --sequences 4 "
			     "--seed %u", policy, s < STARTS ? "" : "--knob", kinds[kind].insn,
			     kinds[kind].comps, 0x5eed + (unsigned)(kind * 100 + s)))
			return;
		j = replay("lab", m, s < STARTS ? policy : "eager");
		ok = j.result.status == LAB_OK;
		if (!ok) {
			expect(false, "%s of %s on %s: %s", policy, kinds[kind].comps, m->name,
			       j.result.reason);
			discard(&j);
			return;
		}
		events += get(&j, "events");
		values += get(&j, "passes");
		walks += get(&j, "sequences");
		traps += get(&j, "replayed_traps");
		loads += get(&j, "replayed_loads");
		release(&j, 1);
	}
	expect(walks == 36 && events == 2160 && traps >= 25 && loads >= 100,
	       "%s, %s: %llu sequences, %llu events with %llu loads and %llu traps, and %llu values as "
	       "predicted", m->name, kinds[kind].comps, (unsigned long long)walks,
	       (unsigned long long)events, (unsigned long long)loads, (unsigned long long)traps,
	       (unsigned long long)values);
}

/* There and back: the registers that were left behind are old. */
static const char there_and_back[] =
	"--policy deferred --comps sse --replay - <<'END'\n"
	"switch cpu0 A\nreturn cpu0\nuse cpu0 sse\nswitch cpu0 -\n"
	"migrate cpu1 A\nreturn cpu1\nuse cpu1 sse\nswitch cpu1 -\n"
	"migrate cpu0 A\nreturn cpu0\nEND\n";

/* It can fail: a broken engine is found out, and so is a wrong prediction. */
static void disagree(size_t kind, const struct lab_machine *m)
{
	static const struct {
		const char *image, *policy, *why;
	} twins[] = {
		{ "twin-skip-save", "eager", "should be" },
		{ "twin-skip-restore", "deferred", "should be" },
		{ "twin-no-ts", "lazy", "should be set" },
	};
	struct lab_job j;
	char *value;

	extra = kinds[kind].extra;
	for (size_t t = 0; t < sizeof(twins) / sizeof(twins[0]); t++) {
		if (!explore("--policy %s --insn %s --comps sse --walk 110 --sequences 4 --seed 1",
			     twins[t].policy, kinds[kind].insn))
			return;
		j = replay(twins[t].image, m, twins[t].policy);
		expect(j.result.status == LAB_FAILED && strstr(j.result.reason, twins[t].why),
		       "%s disagrees on %s: %s", twins[t].image, m->name, j.result.reason);
		discard(&j);
	}
	if (!explore("%s", there_and_back))
		return;
	j = replay("twin-stale-owner", m, "deferred");
	expect(j.result.status == LAB_FAILED && strstr(j.result.reason, "sse should be A"),
	       "twin-stale-owner disagrees on %s: %s", m->name, j.result.reason);
	discard(&j);
	value = strstr(text, "sse=A");
	if (value)
		value[4] = 'B';
	j = replay("lab", m, "deferred");
	expect(value && j.result.status == LAB_FAILED && strstr(j.result.reason, "sse should be B"),
	       "a wrong prediction is found out on %s: %s", m->name, j.result.reason);
	discard(&j);
}

/* What once was found by the explorer is found in order here, too. */
static void counterexamples(const struct lab_machine *m)
{
	const char *file = getenv("XST_COUNTEREXAMPLE");
	struct lab_job j;

	extra = NULL;
	if (!explore("--policy auto --comps sse --spoil --replay '%s'", file ? file : ""))
		return;
	j = replay("lab", m, "auto");
	expect(j.result.status == LAB_OK && get(&j, "events") >= 7,
	       "the sequence that once was a counterexample, on %s", m->name);
	release(&j, 1);
}

static void sequences(const struct lab_machine *machines, size_t count)
{
	for (size_t m = 0; m < count; m++)
		counterexamples(&machines[m]);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (size_t m = 0; m < count; m++) {
			if (strcmp(machines[m].name, kinds[k].machine))
				continue;
			agree(k, &machines[m]);
			if (k < 2)
				disagree(k, &machines[m]);
		}
	}
	extra = sequence = NULL;
}

/* The lines about the corruption and what led to it, of a run that failed on purpose. */
static size_t read_story(const struct lab_job *j, char *story, size_t size, unsigned *events)
{
	char path[PATH_MAX + 16], line[1000];
	size_t used = 0;
	FILE *f;

	*events = 0;
	snprintf(path, sizeof(path), "%s/output", j->kept);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		bool event = strstr(line, "\"lab\":\"event\"") != NULL;

		*events += event;
		if ((event || strstr(line, "\"lab\":\"corruption\"")) && used < size)
			used += (size_t)snprintf(story + used, size - used, "%s", line);
	}
	if (f)
		fclose(f);
	return used;
}

static void again(const struct lab_machine *machines, size_t count)
{
	static char stories[3][32768];
	static const uint64_t seeds[3] = { SEED, SEED, SEED + 1 };

	for (size_t m = 0; m < count; m++) {
		unsigned events[3];

		for (size_t i = 0; i < 3; i++) {
			struct lab_job j = job("pipe", "deferred", &machines[m]);

			test_seed = seeds[i];
			run("twin-skip-save", &j, 1, QUIET_MS);
			read_story(&j, stories[i], sizeof(stories[i]), &events[i]);
			if (i == 0)
				expect(j.result.corruption_lines && strstr(stories[0], "return-to-user"),
				       "a corruption on %s is followed by the engine's last events",
				       machines[m].name);
			discard(&j);
		}
		expect(events[0] >= 3 && events[0] == events[1] && !strcmp(stories[0], stories[1]),
		       "the same seed brings it back on %s, to the last of %u events", machines[m].name,
		       events[0]);
		expect(strcmp(stories[0], stories[2]) != 0, "another seed has other values on %s",
		       machines[m].name);
	}
	test_seed = SEED;
}

static const struct lab_group groups[] = {
	{ "sequences", sequences, 3 },
	{ "again", again, 3 },
};

int main(int argc, char **argv)
{
	return lab_test_main(argc, argv, groups, sizeof(groups) / sizeof(groups[0]));
}
