/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs: one cmd_*.c each, listed in main.c. argv[0] is the verb itself; the return is an exit
 * status (ui/ui.h). */
#ifndef CMD_H
#define CMD_H

int cmd_bench(int argc, char **argv);
int cmd_cpu(int argc, char **argv);
int cmd_image(int argc, char **argv);
int cmd_lab(int argc, char **argv);
int cmd_lint(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_report(int argc, char **argv);

#endif
