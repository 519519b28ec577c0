/* SPDX-License-Identifier: BSD-2-Clause */
/* cmocka with the headers it needs, in the order it needs them. */
#ifndef TESTS_UNIT_T_H
#define TESTS_UNIT_T_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
