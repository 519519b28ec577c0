/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Broken twins: XST_TWIN(name) breaks one thing on purpose, and tests see that it is caught. It is
 * 0 unless XST_TWIN_<name> is defined, or a test's port defines XST_TWIN() itself.
 */
#ifndef XST_TWIN_H
#define XST_TWIN_H

#include <xst/port.h>

#ifndef XST_TWIN
#define XST_TWIN_SECOND(a, b, ...) b
#define XST_TWIN_ARGS(...)         XST_TWIN_SECOND(__VA_ARGS__, 0, 0)
#define XST_TWIN_COMMA_1           0, 1
#define XST_TWIN_JOIN(value)       XST_TWIN_ARGS(XST_TWIN_COMMA_##value)
#define XST_TWIN_VALUE(value)      XST_TWIN_JOIN(value)
#define XST_TWIN(name)             XST_TWIN_VALUE(XST_TWIN_##name)
#endif

#endif
