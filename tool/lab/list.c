// SPDX-License-Identifier: BSD-2-Clause
/* What `xstate lab list` prints: experiments, policies, emulators. */
#include "lab/list.h"

#include <xst/policy.h>

#include "lab/experiment.h"
#include "lab/machine.h"
#include "ui/json.h"
#include "ui/table.h"

static const char *load_word(const struct xst_policy *p)
{
	return p->load == XST_LOAD_SWITCH_IN ? "switch-in" :
	       p->load == XST_LOAD_RETURN    ? "return to user" :
					       "first use";
}

void lab_list_people(FILE *out)
{
	struct table *t = table_new();

	table_column(t, "experiment", TABLE_LEFT);
	table_column(t, "CPUs", TABLE_RIGHT);
	table_column(t, "what happens", TABLE_WRAP);
	for (const struct lab_experiment *e = lab_experiments; e->name; e++) {
		if (e->hidden)
			continue;
		table_cell_styled(t, e->standard ? UI_GOOD : UI_PLAIN, "%s", e->name);
		table_cell(t, "%u", e->cpus);
		table_cell(t, "%s", e->summary);
	}
	table_print(t, out);
	table_free(t);
	fputc('\n', out);

	t = table_new();
	table_column(t, "policy", TABLE_LEFT);
	table_column(t, "loads at", TABLE_LEFT);
	table_column(t, "keeps owner", TABLE_LEFT);
	table_column(t, "preloads after", TABLE_RIGHT);
	for (unsigned i = 0; i < XST_POLICY_COUNT; i++) {
		const struct xst_policy *p = xst_policy_at(i);

		table_cell(t, "%s", p->name);
		table_cell(t, "%s", load_word(p));
		table_cell(t, "%s", p->keep_owner ? "yes" : "no");
		if (p->preload_after)
			table_cell(t, "%u slots", (unsigned)p->preload_after);
		else
			table_cell(t, "-");
	}
	table_print(t, out);
	table_free(t);
	fputc('\n', out);

	t = table_new();
	table_column(t, "emulator", TABLE_LEFT);
	table_column(t, "version", TABLE_LEFT);
	table_column(t, "", TABLE_WRAP);
	for (int e = 0; e < LAB_EMULATORS; e++) {
		const struct lab_tool *tool = lab_tool((enum lab_emulator)e);

		table_cell(t, "%s", tool->name);
		table_cell(t, "%s", tool->usable ? tool->version : "-");
		table_cell_styled(t, tool->usable ? UI_GOOD : UI_WARN, "%s",
				  tool->usable ? "ready" : tool->reason);
	}
	table_print(t, out);
	table_free(t);
}

void lab_list_json(FILE *out)
{
	struct jw w;

	jw_begin(&w, out, ui.pretty);
	jw_object(&w, NULL);
	jw_string(&w, "schema", "xstate.lab-list/1");
	jw_array(&w, "experiments");
	for (const struct lab_experiment *e = lab_experiments; e->name; e++) {
		if (e->hidden)
			continue;
		jw_object(&w, NULL);
		jw_string(&w, "name", e->name);
		jw_string(&w, "summary", e->summary);
		jw_u64(&w, "cpus", e->cpus);
		jw_bool(&w, "standard", e->standard);
		jw_end(&w);
	}
	jw_end(&w);
	jw_array(&w, "policies");
	for (unsigned i = 0; i < XST_POLICY_COUNT; i++) {
		const struct xst_policy *p = xst_policy_at(i);

		jw_object(&w, NULL);
		jw_string(&w, "name", p->name);
		jw_string(&w, "load", load_word(p));
		jw_bool(&w, "keep_owner", p->keep_owner);
		jw_u64(&w, "preload_after_slots", p->preload_after);
		jw_bool(&w, "leaky", xst_policy_leaky(p));
		jw_end(&w);
	}
	jw_end(&w);
	jw_array(&w, "emulators");
	for (int e = 0; e < LAB_EMULATORS; e++) {
		const struct lab_tool *tool = lab_tool((enum lab_emulator)e);

		jw_object(&w, NULL);
		jw_string(&w, "name", tool->name);
		jw_bool(&w, "usable", tool->usable);
		jw_string(&w, "version", *tool->version ? tool->version : NULL);
		jw_string(&w, "reason", tool->usable ? NULL : tool->reason);
		jw_end(&w);
	}
	jw_end(&w);
	jw_end(&w);
	jw_finish(&w);
}
