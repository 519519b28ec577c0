// SPDX-License-Identifier: BSD-2-Clause
#include "record/stop.h"

#include <stdio.h>

#include "ui/ui.h"

struct record_stop record_stop;

/* perf takes it as the end of the recording, and ends the command. */
static void stop(int number)
{
	record_stop.by = number;
	if (record_stop.running)
		kill(record_stop.running, SIGINT);
}

void record_stop_catch(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction new = { .sa_handler = stop }, old;

	sigemptyset(&new.sa_mask);
	sigemptyset(&record_stop.caught);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!sigaction(numbers[i], NULL, &old) && old.sa_handler != SIG_IGN &&
		    !sigaction(numbers[i], &new, NULL))
			sigaddset(&record_stop.caught, numbers[i]);
}

int record_tell_unstarted(const char *cmd, const char *command)
{
	return ui_error(cmd, 128 + record_stop.by, "stopped by signal %d before %s was started: nothing "
			"is written", (int)record_stop.by, command);
}

void record_tell_end(const char *command, int status)
{
	if (record_stop.by)
		ui_note("stopped by signal %d: the trace ends there", (int)record_stop.by);
	else if (status)
		ui_note("%s ended with status %d", command, status);
}
