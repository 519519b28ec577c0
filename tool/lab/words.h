/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run of the lab means, in sentences. */
#ifndef LAB_WORDS_H
#define LAB_WORDS_H

#include <stdio.h>

#include "lab/run.h"

/**
 * lab_words() - say for each experiment which policy did least work, and why; then
 * what the numbers are not.
 */
void lab_words(FILE *out, const struct lab_plan *plan);

#endif
