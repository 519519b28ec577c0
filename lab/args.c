// SPDX-License-Identifier: BSD-2-Clause
/*
 * The command line. The runner patches it into a copy of the image behind a
 * magic that occurs once; without a patch the defaults hold.
 *
 * Words are key=value, separated by spaces. Anything unknown ends the run: a typing
 * error must not become a measurement of something else.
 */
#include "lab.h"
#include "experiment.h"
#include "ring3.h"

#define COMMAND_BYTES 1008

/* In boot.S: one for the whole image, whichever kernel runs. */
extern const volatile struct {
	char magic[16];
	char text[COMMAND_BYTES];
} command_line;

struct args args = {
	.experiment = "yield",
	.policy = "deferred",
	.cpus = 1,
	.tick = 100000,
	.use = 20,
	.tasks = 4,
	.seed = 0x5eed,
	.preempt = -1,
};

const struct xst_policy *policies[MAX_POLICIES];
unsigned policy_count;
static struct xst_policy policy_store[MAX_POLICIES];
static char policy_text[COMMAND_BYTES + 1]; /* their names */

static char text[COMMAND_BYTES + 1];

bool text_equal(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

static const struct {
	const char *key;
	uint64_t least, most;
} numbers[] = {
#define ARG(key, least, most, option) { #key, least, most },
#include "args.def"
#undef ARG
};
_Static_assert(LAB_MAX_CPUS == 4 && MAX_TASKS == 16, "args.def has other limits");

/* Decimal or 0x...; refuses what is no number or not one that args.def allows. */
static uint64_t number(const char *key, const char *value)
{
	const char *at = value;
	uint64_t base = 10, result = 0;

	if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
		base = 16;
		at += 2;
	}
	if (!*at)
		panic("argument %s: '%s' is not a number", key, value);
	for (; *at; at++) {
		uint64_t d = (uint64_t)digit(*at);

		if (d >= base)
			panic("argument %s: '%s' is not a number", key, value);
		if (result > (UINT64_MAX - d) / base)
			panic("argument %s: '%s' is too large", key, value);
		result = result * base + d;
	}
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (text_equal(numbers[i].key, key) &&
		    (result < numbers[i].least || result > numbers[i].most))
			panic("argument %s: '%s' is not from %llu to %llu", key, value,
			      (unsigned long long)numbers[i].least,
			      (unsigned long long)numbers[i].most);
	return result;
}

static void set(const char *key, const char *value)
{
	if (text_equal(key, "experiment"))
		args.experiment = value;
	else if (text_equal(key, "policy"))
		args.policy = value;
	else if (text_equal(key, "cpus"))
		args.cpus = (uint32_t)number(key, value);
	else if (text_equal(key, "tick"))
		args.tick = (uint32_t)number(key, value);
	else if (text_equal(key, "watchdog"))
		args.watchdog = (uint32_t)number(key, value);
	else if (text_equal(key, "use"))
		args.use = (uint32_t)number(key, value);
	else if (text_equal(key, "cet"))
		args.cet = number(key, value);
	else if (text_equal(key, "ferr"))
		args.ferr = number(key, value);
	else if (text_equal(key, "mode")) /* boot.S looked at it: which of the two kernels runs */
		(void)number(key, value);
	else if (text_equal(key, "tasks"))
		args.tasks = (uint32_t)number(key, value);
	else if (text_equal(key, "seed"))
		args.seed = number(key, value);
	else if (text_equal(key, "loops"))
		args.loops = number(key, value);
	else if (text_equal(key, "preempt"))
		args.preempt = (int)number(key, value);
	else
		panic("unknown argument '%s'", key);
}

/* Splits text[] in place; the values stay there for the rest of the run. */
void args_parse(void)
{
	char *at = text;

	for (unsigned i = 0; i < COMMAND_BYTES; i++)
		text[i] = command_line.text[i];
	while (*at) {
		char *key = at, *value = NULL;

		if (*at == ' ') {
			at++;
			continue;
		}
		for (; *at && *at != ' '; at++) {
			if (*at == '=' && !value) {
				*at = '\0';
				value = at + 1;
			}
		}
		if (*at)
			*at++ = '\0';
		if (!value)
			panic("argument '%s' has no value", key);
		set(key, value);
	}
}

/* args.policy stays whole for the report; what the policies call themselves is a copy. */
void args_policies(void)
{
	const char *list = args.policy;
	char *to = policy_text;

	while (list) {
		struct xst_diag diag = {0};
		const char *name = to, *at = list;
		size_t length;

		list = xst_policy_item(list, &length);
		while (length--)
			*to++ = *at++;
		*to++ = '\0';
		if (policy_count == MAX_POLICIES)
			panic("more than %u policies", MAX_POLICIES);
		if (xst_policy_parse(name, &policy_store[policy_count], &diag))
			panic("policy '%s': %s", name, diag.rule);
		policies[policy_count] = &policy_store[policy_count];
		policy_count++;
	}
}
