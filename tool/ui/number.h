/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers and ranges in words and tables. A range whose ends print alike says nothing, and one with
 * two ways of writing cannot be read: "0.013 to 0.013", "15 to 2.6e+02".
 */
#ifndef UI_NUMBER_H
#define UI_NUMBER_H

#include <stddef.h>

#define NUMBER_TEXT 64 /* has room for any of these */

/**
 * number_text() - @x without an exponent, with @digits that count, and all those before the point:
 * 0.013, 1.3, 13, 260 for 2 digits. 0 digits: a whole number.
 * range_text() - both ends, as many digits more as it takes to tell them apart. Where two do not, the
 * ends are one number.
 * @between: " to ", "-".
 *
 * Return: @buf, of NUMBER_TEXT bytes; for what is not finite, "?".
 */
const char *number_text(char buf[NUMBER_TEXT], double x, unsigned digits);
const char *range_text(char buf[NUMBER_TEXT], double low, double high, const char *between,
		       unsigned digits);

#endif
