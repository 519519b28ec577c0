/* SPDX-License-Identifier: BSD-2-Clause */
/* style.css and script.js, as bytes in the command (embed.py makes assets.c of them). */
#ifndef REPORT_ASSETS_H
#define REPORT_ASSETS_H

#include <stddef.h>

extern const char report_style[], report_script[];
extern const size_t report_style_bytes, report_script_bytes;

#endif
