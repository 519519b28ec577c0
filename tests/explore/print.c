// SPDX-License-Identifier: BSD-2-Clause
/* Counterexamples: printing, and reading them back. */
#include "print.h"
#include "steps.h"

const char *check_name(enum check check)
{
	static const char *const names[] = {"none",
#define CHECK_NAME(name, text) #name,
					    CHECKS(CHECK_NAME)};

	return names[check];
}

const char *check_text(enum check check)
{
	static const char *const texts[] = {"",
#define CHECK_TEXT(name, text) text,
					    CHECKS(CHECK_TEXT)};

	return texts[check];
}

void session_begin(struct session *s, struct machine *m, const struct state *root)
{
	unsigned i;

	s->m = m;
	for (i = 0; i < CTXS; i++)
		s->names.task[i] = (uint8_t)i;
	for (i = 0; i < CPUS; i++)
		s->names.cpu[i] = (uint8_t)i;
	machine_unpack(m, root);
}

static void rename_machine(struct session *s)
{
	struct naming change, old = s->names;
	struct state packed;
	unsigned i;

	machine_pack(s->m, &packed, &change);
	machine_unpack(s->m, &packed);
	for (i = 0; i < s->m->ctxs; i++)
		s->names.task[i] = old.task[change.task[i]];
	for (i = 0; i < CPUS; i++)
		s->names.cpu[i] = old.cpu[change.cpu[i]];
}

enum check session_step(struct session *s, const struct step *step)
{
	const enum check broken = search_step(s->m, step);

	if (!broken)
		rename_machine(s);
	return broken;
}

/* A, B, C are tasks, X and Y guests. */
static char task_letter(const struct session *s, unsigned t)
{
	if (t >= CTXS)
		return '-';
	return (char)(t < TASKS ? 'A' + s->names.task[t] : 'X' + s->names.task[t] - (int)TASKS);
}

static const char *const needs[] = {"0", "x87", "mxcsr", "x87+mxcsr"};
static const char *const controls[] = {"xcr0=x87", "xcr0=sse",  "xcr0=all",  "xss=0",     "xss=all",
				       "xfd=0",    "xfd=tiles", "xfd_err=0", "forbidden"};
static const char *const deeds[] = {"nothing", "xrstor", "xfd_err=0", "xfd=0",    "xfd=tiles",
				    "xss=0",   "xss=all", "xcr0=x87", "xcr0=sse", "xcr0=all"};
_Static_assert(sizeof(controls) / sizeof(controls[0]) == CONTROLS, "each has a name");
_Static_assert(sizeof(deeds) / sizeof(deeds[0]) == DEED_WRITE, "so has each of these");

/* How an event on a guest is meant. */
static const char *how_word(const char *event, unsigned how)
{
	static const char *const resets[] = {"reset", "init"}, *const cets[] = {"good", "bad"};
	static const char *const copies[] = {"all", "empty", "bad", "short"};

	if (!strcmp(event, "reset"))
		return resets[how];
	return strcmp(event, "cet") ? copies[how] : cets[how];
}

static void print_deed(FILE *out, unsigned deed)
{
	if (deed < DEED_WRITE)
		fprintf(out, " %s", deeds[deed]);
	else
		fprintf(out, " %s %s", deed < DEED_CLEAR ? "write" : "clear",
			comp_name[(deed - DEED_WRITE) % COMPS]);
}

/* Arguments that name a guest, or what one does. */
static void print_guest_arg(FILE *out, const struct session *s, const struct event *e, unsigned arg)
{
	switch (e->arg) {
	case ARG_DEED:
		print_deed(out, arg);
		break;
	case ARG_GUEST:
		fprintf(out, " %c", task_letter(s, TASKS + arg));
		break;
	case ARG_GUEST_HOW:
		fprintf(out, " %c %s", task_letter(s, TASKS + arg % GUESTS),
			how_word(e->name, arg / GUESTS));
		break;
	case ARG_CONTROL:
		fprintf(out, " %c %s", task_letter(s, TASKS + arg % GUESTS), controls[arg / GUESTS]);
		break;
	default:
		break;
	}
}

void print_step(FILE *out, const struct session *s, const struct step *step)
{
	const struct event *e = &events[step->event];

	fprintf(out, "%s cpu%u", e->name, s->names.cpu[step->cpu]);
	switch (e->arg) {
	case ARG_TASK:
		if (!strcmp(e->name, "new") && step->arg >= TASKS)
			fprintf(out, " %c without-area", task_letter(s, step->arg % TASKS));
		else
			fprintf(out, " %c", task_letter(s, step->arg));
		break;
	case ARG_COMP:
		fprintf(out, " %s", comp_name[step->arg]);
		break;
	case ARG_TASK_COMP:
		fprintf(out, " %c %s", task_letter(s, step->arg / COMPS), comp_name[step->arg % COMPS]);
		break;
	case ARG_POLICY:
		fprintf(out, " %s", s->m->cfg->policy[step->arg].name);
		break;
	case ARG_NEED:
		fprintf(out, " %s", needs[step->arg]);
		break;
	default:
		print_guest_arg(out, s, e, step->arg);
		break;
	}
	if (step->answers)
		fprintf(out, " ?%x", step->answers);
}

/* The arguments of @e are few: print each, and take the one that reads like the line. */
bool parse_step(const char *line, const struct session *s, struct step *step)
{
	char text[128];
	unsigned e, c, a, answers = 0;
	size_t length = strcspn(line, "\r\n|");
	const char *question = memchr(line, '?', length);

	if (question) {
		if (sscanf(question + 1, "%x", &answers) != 1)
			return false;
		length = (size_t)(question - line);
	}
	while (length && line[length - 1] == ' ')
		length--;
	for (e = 0; e < event_count; e++)
		for (c = 0; c < CPUS; c++)
			for (a = 0; a < events[e].args; a++) {
				FILE *out;

				*step = (struct step){(uint8_t)e, (uint8_t)c, (uint8_t)a, 0, 0};
				if (events[e].arg == ARG_POLICY && a >= s->m->cfg->policies)
					continue;
				out = fmemopen(text, sizeof(text), "w");
				if (!out)
					return false;
				print_step(out, s, step);
				fclose(out);
				if (strlen(text) == length && !memcmp(text, line, length)) {
					step->answers = answers;
					return events[e].can(s->m, c, a);
				}
			}
	return false;
}

/* Whose value is it? */
static void print_token(FILE *out, const struct session *s, unsigned k, uint8_t token)
{
	unsigned t;

	if (token == TOKEN_INIT) {
		fputc('0', out);
		return;
	}
	for (t = 0; t < s->m->ctxs; t++)
		if (s->m->alive[t] && s->m->want[t][k] == token) {
			fputc(task_letter(s, t), out);
			return;
		}
	fputc('?', out);
}

static void print_cpu(FILE *out, const struct session *s, unsigned c)
{
	static const char *const modes[] = {"kernel", "user", "off", "section"};
	struct machine *m = s->m;
	const struct xst_cpu *cpu = &m->cpu[c];
	unsigned k;

	fprintf(out, " | cpu%u %c %s", s->names.cpu[c], task_letter(s, machine_task(m, cpu->cur)),
		modes[m->mode[c]]);
	if (m->mode[c] == OFFLINE)
		return;
	fprintf(out, " %s owner=%c%s%s", cpu->policy.name, machine_kernels(m, c) ? 'K' : task_letter(s, machine_task(m, cpu->owner)),
		m->hw[c].cr0 & MDL_CR0_TS ? " TS" : "", cpu->bits & XST_B_DIRTY ? " only-copy" : "");
	for (k = 0; k < COMPS; k++)
		if (machine_has(m, k) && (m->cfg->comps >> k & 1u)) {
			fprintf(out, " %s=", comp_name[k]);
			print_token(out, s, k, *machine_reg(m, c, k));
		}
}

void print_machine(FILE *out, const struct session *s)
{
	struct machine *m = s->m;
	unsigned i, t, k;

	for (i = 0; i < CPUS; i++)
		print_cpu(out, s, s->names.cpu[0] == i ? 0 : 1);
	fputs(" | images", out);
	for (i = 0; i < m->ctxs; i++) {
		for (t = 0; s->names.task[t] != i; t++)
			;
		if (!m->alive[t] || !m->ctx[t]->area)
			continue;
		fprintf(out, " %c:", task_letter(s, t));
		for (k = 0; k < COMPS; k++)
			if (machine_owns(m, t, k) && (m->cfg->comps >> k & 1u))
				print_token(out, s, k, machine_image(m, t, k));
	}
}

void print_path(FILE *out, struct machine *m, const struct search *search)
{
	struct session s;
	unsigned i;

	session_begin(&s, m, &search->root);
	fprintf(out, "# begins with:");
	print_machine(out, &s);
	fputc('\n', out);
	for (i = 0; i < search->path_length; i++) {
		const struct session before = s;
		char text[128];
		FILE *line = fmemopen(text, sizeof(text), "w");

		if (!line)
			return;
		print_step(line, &before, &search->path[i]);
		fclose(line);
		(void)session_step(&s, &search->path[i]);
		fprintf(out, "%-24s", text);
		print_machine(out, &s);
		fputc('\n', out);
	}
}
