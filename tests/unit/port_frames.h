/* SPDX-License-Identifier: BSD-2-Clause */
/* The port of the tests of frames: user memory that ends somewhere, so that accesses fault. */
#ifndef TESTS_UNIT_PORT_FRAMES_H
#define TESTS_UNIT_PORT_FRAMES_H

#include <stddef.h>

#include "port_model.h"

/* 0, or not 0 where the range is not all within the user memory that is there. What is there before
 * the first missing byte is copied all the same, as real hardware does. */
int test_copy_to_user(void *dst, const void *src, size_t bytes);
int test_copy_from_user(void *dst, const void *src, size_t bytes);

#define XST_COPY_TO_USER(dst, src, bytes)   test_copy_to_user(dst, src, bytes)
#define XST_COPY_FROM_USER(dst, src, bytes) test_copy_from_user(dst, src, bytes)

#endif
