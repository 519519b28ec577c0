/* SPDX-License-Identifier: BSD-2-Clause */
/* events.bpf.c as clang compiled it. */
#ifndef RECORD_ASSETS_H
#define RECORD_ASSETS_H

#include <stddef.h>

extern const char record_events[];
extern const size_t record_events_bytes;

#endif
