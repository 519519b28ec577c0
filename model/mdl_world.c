// SPDX-License-Identifier: BSD-2-Clause
/* The variables of the model: which software CPU the bring-up code runs on, and the port's. */
#include "port_model.h"
#include "world_model.h"

struct mdl_cpu *mdl_current;
void (*mdl_misuse)(const struct xst_cpu *cpu, const struct xst_section_report *report);
uint64_t mdl_clock;
