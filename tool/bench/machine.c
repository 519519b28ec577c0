// SPDX-License-Identifier: BSD-2-Clause
/*
 * The machine as the kernel and CPUID describe it. What cannot be read stays empty and is written
 * as null: an unknown microcode is a fact too.
 */
#include "machine.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/utsname.h>

#include <xst/insn.h>

#define VULNERABILITIES "/sys/devices/system/cpu/vulnerabilities"

static void read_line(const char *path, char *out, size_t room)
{
	FILE *f = fopen(path, "re");

	out[0] = 0;
	if (!f)
		return;
	if (!fgets(out, (int)room, f))
		out[0] = 0;
	out[strcspn(out, "\n")] = 0;
	fclose(f);
}

/* The first line "microcode : 0x..." of /proc/cpuinfo. */
static void read_microcode(char *out, size_t room)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512];

	out[0] = 0;
	while (f && fgets(line, sizeof(line), f)) {
		const char *value = strchr(line, ':');

		if (strncmp(line, "microcode", 9) || !value)
			continue;
		snprintf(out, room, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
		break;
	}
	if (f)
		fclose(f);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void read_mitigations(struct bench_machine *m)
{
	struct dirent **list;
	int n = scandir(VULNERABILITIES, &list, NULL, by_name);

	for (int i = 0; i < n; i++) {
		char path[sizeof(VULNERABILITIES) + 258];

		if (list[i]->d_name[0] != '.' && m->mitigations < MACHINE_MITIGATIONS) {
			snprintf(m->mitigation[m->mitigations].name, sizeof(m->mitigation[0].name),
				 "%.31s", list[i]->d_name);
			snprintf(path, sizeof(path), VULNERABILITIES "/%s", list[i]->d_name);
			read_line(path, m->mitigation[m->mitigations].text,
				  sizeof(m->mitigation[0].text));
			m->mitigations++;
		}
		free(list[i]);
	}
	if (n >= 0)
		free(list);
}

static void read_hypervisor(const struct xst_caps *caps, char out[13])
{
	uint32_t a, name[3] = {0};

	if (caps->hypervisor)
		xst_cpuid(0x40000000u, 0, &a, &name[0], &name[1], &name[2]);
	memcpy(out, name, 12);
	out[12] = 0;
	if (caps->hypervisor && !out[0])
		memcpy(out, "unnamed", 8);
}

static bool tsc_is_invariant(void)
{
	uint32_t a, b, c, d;

	xst_cpuid(0x80000000u, 0, &a, &b, &c, &d);
	if (a < 0x80000007u)
		return false;
	xst_cpuid(0x80000007u, 0, &a, &b, &c, &d);
	return d & (1u << 8);
}

void machine_read(const struct xst_caps *caps, struct bench_machine *m)
{
	struct utsname u;
	time_t now = time(NULL);
	struct tm utc;
	const char *brand = caps->brand;

	memset(m, 0, sizeof(*m));
	while (*brand == ' ')
		brand++;
	snprintf(m->cpu, sizeof(m->cpu), "%s", brand);
	snprintf(m->vendor, sizeof(m->vendor), "%s", caps->vendor);
	m->family = caps->family;
	m->model = caps->model;
	m->stepping = caps->stepping;
	read_line("/proc/sys/kernel/random/boot_id", m->boot, sizeof(m->boot));
	read_microcode(m->microcode, sizeof(m->microcode));
	if (uname(&u) == 0)
		snprintf(m->kernel, sizeof(m->kernel), "%s %s", u.release, u.version);
	read_hypervisor(caps, m->hypervisor);
	read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		  m->clocksource, sizeof(m->clocksource));
	if (gmtime_r(&now, &utc))
		strftime(m->date, sizeof(m->date), "%Y-%m-%dT%H:%M:%SZ", &utc);
	m->cpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	m->tsc_invariant = tsc_is_invariant();
	read_mitigations(m);
}

static const char *or_null(const char *s)
{
	return s[0] ? s : NULL;
}

void machine_json(const struct bench_machine *m, double tick_hz, struct jw *w)
{
	jw_object(w, "machine");
	jw_string(w, "cpu", m->cpu);
	jw_string(w, "vendor", m->vendor);
	jw_u64(w, "family", m->family);
	jw_u64(w, "model", m->model);
	jw_u64(w, "stepping", m->stepping);
	jw_string(w, "microcode", or_null(m->microcode));
	jw_string(w, "kernel", or_null(m->kernel));
	jw_string(w, "hypervisor", or_null(m->hypervisor));
	jw_u64(w, "cpus", m->cpus);
	jw_string(w, "date", m->date);
	jw_f64(w, "tsc_hz", tick_hz);
	jw_bool(w, "tsc_invariant", m->tsc_invariant);
	jw_string(w, "clocksource", or_null(m->clocksource));
	jw_object(w, "mitigations");
	for (unsigned i = 0; i < m->mitigations; i++)
		jw_string(w, m->mitigation[i].name, m->mitigation[i].text);
	jw_end(w);
	jw_end(w);
}

void machine_print(const struct bench_machine *m, double tick_hz, FILE *out)
{
	unsigned open = 0;

	for (unsigned i = 0; i < m->mitigations; i++)
		open += !strncmp(m->mitigation[i].text, "Vulnerable", 10);
	fprintf(out, "%s (%s family %u model %u stepping %u, microcode %s)\n", m->cpu, m->vendor,
		m->family, m->model, m->stepping, m->microcode[0] ? m->microcode : "unknown");
	fprintf(out, "Linux %s\n", m->kernel);
	fprintf(out, "%s, %u CPUs, %u of %u known vulnerabilities without mitigation\n",
		m->hypervisor[0] ? m->hypervisor : "no hypervisor", m->cpus, open, m->mitigations);
	fprintf(out, "TSC %.3f MHz, %s, clocksource %s\n", tick_hz * 1e-6,
		m->tsc_invariant ? "invariant" : "not invariant", m->clocksource);
}
