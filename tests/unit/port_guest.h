/* SPDX-License-Identifier: BSD-2-Clause */
/* The port of the tests of guests: a broken twin chosen at run time, by name. */
#ifndef TESTS_UNIT_PORT_GUEST_H
#define TESTS_UNIT_PORT_GUEST_H

#include <string.h>

#include "port_model.h"

extern const char *guest_twin; /* NULL: none */

#define XST_TWIN(name) (guest_twin && !strcmp(guest_twin, #name))

#endif
