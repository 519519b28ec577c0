/* SPDX-License-Identifier: BSD-2-Clause */
/* What `xstate lab list` prints. */
#ifndef LAB_LIST_H
#define LAB_LIST_H

#include <stdio.h>

void lab_list_people(FILE *out);
void lab_list_json(FILE *out); /* xstate.lab-list/1 */

#endif
