// SPDX-License-Identifier: BSD-2-Clause
/* The one variable of the model: which software CPU the bring-up code runs on. */
#include "world_model.h"

struct mdl_cpu *mdl_current;
