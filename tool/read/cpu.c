// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reading a CPU: find the format, collect the leaves of every logical CPU, describe the first and
 * say where the others differ from it.
 */
#include "read/cpu.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/cpu_parse.h"
#include "read/file.h"

/* The dump of a machine with a thousand logical CPUs has about 10 MB. */
#define DUMP_BYTES_MAX ((size_t)64 << 20)

int cpu_fail(struct cpu_collector *c, const char *fmt, ...)
{
	va_list ap;
	int n = snprintf(c->err, c->errlen, "%s: ",
			 strcmp(c->out->source, "-") ? c->out->source : "standard input");

	if (n >= 0 && (size_t)n < c->errlen) {
		va_start(ap, fmt);
		vsnprintf(c->err + n, c->errlen - (size_t)n, fmt, ap);
		va_end(ap);
	}
	return -1;
}

void cpu_remark(struct cpu_source *out, const char *fmt, ...)
{
	va_list ap;

	if (out->remark_count == CPU_REMARKS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(out->remarks[out->remark_count++], sizeof(out->remarks[0]), fmt, ap);
	va_end(ap);
}

static int grow(struct cpu_collector *c, void **v, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 64;
	void *p = realloc(*v, more * size);

	if (!p)
		return cpu_fail(c, "out of memory");
	*v = p;
	*room = more;
	return 0;
}

int cpu_next(struct cpu_collector *c)
{
	if (c->cpu_count && c->starts[c->cpu_count - 1] == c->count)
		return 0;
	if (c->cpu_count == c->cpu_room &&
	    grow(c, (void **)&c->starts, &c->cpu_room, sizeof(*c->starts)))
		return -1;
	c->starts[c->cpu_count++] = c->count;
	return 0;
}

const struct xst_cpuid_leaf *cpu_last(const struct cpu_collector *c)
{
	if (!c->cpu_count || c->starts[c->cpu_count - 1] == c->count)
		return NULL;
	return &c->leaves[c->count - 1];
}

int cpu_add(struct cpu_collector *c, const struct xst_cpuid_leaf *leaf)
{
	if (!c->cpu_count && cpu_next(c))
		return -1;
	if (c->count == c->room && grow(c, (void **)&c->leaves, &c->room, sizeof(*c->leaves)))
		return -1;
	c->leaves[c->count++] = *leaf;
	return 0;
}

bool cpu_line_next(const char **rest, size_t *len, struct cpu_line *line)
{
	const char *nl;

	if (!*len)
		return false;
	nl = memchr(*rest, '\n', *len);
	line->p = *rest;
	line->end = nl ? nl : *rest + *len;
	line->number++;
	*len -= (size_t)(line->end - *rest) + (nl ? 1 : 0);
	*rest = line->end + (nl ? 1 : 0);
	while (line->end > line->p && (line->end[-1] == '\r' || line->end[-1] == ' '))
		line->end--;
	return true;
}

void cpu_skip_blanks(struct cpu_line *line)
{
	while (line->p < line->end && (*line->p == ' ' || *line->p == '\t'))
		line->p++;
}

bool cpu_take(struct cpu_line *line, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(line->end - line->p) < n || memcmp(line->p, word, n))
		return false;
	line->p += n;
	return true;
}

bool cpu_take_hex(struct cpu_line *line, unsigned max, uint32_t *v)
{
	unsigned n = 0;

	*v = 0;
	for (; line->p < line->end && n < max; line->p++, n++) {
		char ch = *line->p;

		if (ch >= '0' && ch <= '9')
			*v = *v << 4 | (uint32_t)(ch - '0');
		else if (ch >= 'a' && ch <= 'f')
			*v = *v << 4 | (uint32_t)(ch - 'a' + 10);
		else if (ch >= 'A' && ch <= 'F')
			*v = *v << 4 | (uint32_t)(ch - 'A' + 10);
		else
			break;
	}
	return n > 0;
}

const char *cpu_format_name(enum cpu_format format)
{
	switch (format) {
	case CPU_HOST:
		return "this machine";
	case CPU_CPUID_R:
		return "cpuid -r";
	case CPU_INSTLATX64:
		return "InstLatx64/AIDA64";
	case CPU_LIBCPUID:
		return "libcpuid raw";
	case CPU_FIRECRACKER:
		return "Firecracker JSON";
	case CPU_JSON:
		return "xstate JSON";
	}
	return "unknown";
}

/* The first line that looks like a leaf decides; everything before it is a title. */
static int parse_text(struct cpu_collector *c, const char *text, size_t len,
		      enum cpu_format *format)
{
	const char *rest = text;
	size_t left = len;
	struct cpu_line line = {0};

	while (cpu_line_next(&rest, &left, &line)) {
		cpu_skip_blanks(&line);
		if (cpu_is_cpuid_r(line)) {
			*format = CPU_CPUID_R;
			return cpu_parse_cpuid_r(c, text, len);
		}
		if (cpu_is_instlatx64(line)) {
			*format = CPU_INSTLATX64;
			return cpu_parse_instlatx64(c, text, len);
		}
		if (cpu_is_libcpuid(line)) {
			*format = CPU_LIBCPUID;
			return cpu_parse_libcpuid(c, text, len);
		}
	}
	return cpu_fail(c, "not a CPUID dump (known: cpuid -r, InstLatx64/AIDA64, libcpuid raw, "
			   "Firecracker JSON, xstate JSON)");
}

static int parse(struct cpu_collector *c, const char *text, size_t len)
{
	size_t i = 0;

	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		i = 3;
	while (i < len && strchr(" \t\r\n", text[i]) && text[i])
		i++;
	if (i == len)
		return cpu_fail(c, "the file is empty");
	if (text[i] == '{' || text[i] == '[')
		return cpu_parse_json(c, text + i, len - i, &c->out->format);
	return parse_text(c, text, len, &c->out->format);
}

/* Two answers to one question: a spliced or damaged dump, of which neither can be believed. */
static int check_twice(struct cpu_collector *c, size_t first, size_t last)
{
	size_t i, j;

	for (i = first; i < last; i++)
		for (j = first; j < i; j++) {
			const struct xst_cpuid_leaf *a = &c->leaves[i], *b = &c->leaves[j];

			if (a->leaf != b->leaf || a->subleaf != b->subleaf ||
			    (a->eax == b->eax && a->ebx == b->ebx && a->ecx == b->ecx &&
			     a->edx == b->edx))
				continue;
			/* Only what is used must be unambiguous; leaf 2 and the like may vary. */
			if (a->leaf != 0xd && a->leaf != 1 && a->leaf != 7 && a->leaf != 0)
				continue;
			return cpu_fail(c, "leaf %#x sub-leaf %#x is there twice with different "
					   "values", a->leaf, a->subleaf);
		}
	return 0;
}

#define LEAVES_PER_CPU_MAX 4096

static int describe(struct cpu_collector *c)
{
	struct cpu_source *out = c->out;
	struct xst_caps other;
	struct xst_diag diag;
	unsigned differ = 0;
	size_t i, end;

	if (c->cpu_count > 1 && c->starts[c->cpu_count - 1] == c->count)
		c->cpu_count--; /* a header at the very end */
	for (i = 0; i < c->cpu_count; i++) {
		end = i + 1 < c->cpu_count ? c->starts[i + 1] : c->count;
		if (end - c->starts[i] > LEAVES_PER_CPU_MAX)
			return cpu_fail(c, "more than %d leaves for one CPU", LEAVES_PER_CPU_MAX);
		if (check_twice(c, c->starts[i], end))
			return -1;
		if (xst_caps_from_leaves(c->leaves + c->starts[i], end - c->starts[i],
					 &out->extra, i ? &other : &out->caps, &diag))
			return cpu_fail(c, "%s", diag.rule);
		if (i && xst_caps_agree(&out->caps, &other, &diag) && !differ++)
			cpu_remark(out, "logical CPU number %zu disagrees with the first: %s "
					"(component %u: %#llx there, %#llx here)", i, diag.rule,
				   diag.component, (unsigned long long)diag.got,
				   (unsigned long long)diag.want);
	}
	if (differ > 1)
		cpu_remark(out, "%u logical CPUs in all disagree with the first", differ);
	out->cpus = (unsigned)c->cpu_count;
	out->leaf_count = c->cpu_count > 1 ? c->starts[1] : c->count;
	out->leaves = c->leaves;
	c->leaves = NULL;
	return 0;
}

static void begin(struct cpu_collector *c, const char *spec, struct cpu_source *out, char *err,
		  size_t errlen)
{
	memset(out, 0, sizeof(*out));
	memset(c, 0, sizeof(*c));
	out->source = spec;
	c->out = out;
	c->err = err;
	c->errlen = errlen;
}

static int finish(struct cpu_collector *c, int result)
{
	if (!result)
		result = describe(c);
	free(c->leaves);
	free(c->starts);
	return result;
}

int read_cpu_text(const char *spec, const char *text, size_t len, struct cpu_source *out,
		  char *err, size_t errlen)
{
	struct cpu_collector c;

	begin(&c, spec, out, err, errlen);
	return finish(&c, parse(&c, text, len));
}

int read_cpu(const char *spec, struct cpu_source *out, char *err, size_t errlen)
{
	struct cpu_collector c;
	char *text;
	size_t len;
	int result;

	if (!strcmp(spec, "host")) {
		begin(&c, spec, out, err, errlen);
		return finish(&c, cpu_read_host(&c));
	}
	memset(out, 0, sizeof(*out));
	out->source = spec;
	if (read_file(spec, DUMP_BYTES_MAX, &text, &len, err, errlen))
		return -1;
	result = read_cpu_text(spec, text, len, out, err, errlen);
	free(text);
	return result;
}

void read_cpu_free(struct cpu_source *src)
{
	free(src->leaves);
	src->leaves = NULL;
	src->leaf_count = 0;
}
