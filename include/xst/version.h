/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which libxst this is, and what that promises.
 *
 * Within one major number a program that compiled and worked goes on doing both after it is built
 * anew: functions, fields and their meaning stay, new ones come. Structs may grow, so headers and
 * library must be of one version: xst_version() tells. While the major number is 0, a minor one may
 * change anything; CHANGELOG.md says what it did. Images in memory and on disk are laid out by the
 * CPU and stay what they are whatever the version.
 */
#ifndef XST_VERSION_H
#define XST_VERSION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define XST_VERSION_MAJOR  0
#define XST_VERSION_MINOR  1
#define XST_VERSION_PATCH  0
#define XST_VERSION_STRING "0.1.0"

/* A version as one number, to compare with. */
#define XST_VERSION_OF(major, minor, patch) ((major) << 16 | (minor) << 8 | (patch))
#define XST_VERSION XST_VERSION_OF(XST_VERSION_MAJOR, XST_VERSION_MINOR, XST_VERSION_PATCH)

/**
 * xst_version() - the version that the library was built as; XST_VERSION is that of the headers.
 *
 * Context: any ring; never faults.
 */
uint32_t xst_version(void);

#ifdef __cplusplus
}
#endif
#endif
