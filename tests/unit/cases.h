/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that carry the id of a real bug report; tests/cases.tsv lists which file has which. */
#ifndef TESTS_UNIT_CASES_H
#define TESTS_UNIT_CASES_H

#define CASE(id, function) {id, function, NULL, NULL, NULL}

#endif
