/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why a text is no JSON, for people. Jansson's own words are about its grammar: "'[' or '{'
 * expected near end of file".
 */
#ifndef READ_JSON_WHY_H
#define READ_JSON_WHY_H

#include <jansson.h>

/**
 * json_why() - why a text is no JSON, a clause.
 * @error: what Jansson said.
 * @begin: the first character of the document, 0 when there is none.
 */
static inline const char *json_why(const json_error_t *error, char begin)
{
	if (begin != '{' && begin != '[')
		return "no document begins here";
	switch (json_error_code(error)) {
	case json_error_premature_end_of_input:
		return "it ends in the middle of a document";
	case json_error_invalid_utf8:
		return "it holds bytes that are not UTF-8";
	case json_error_duplicate_key:
		return "an object has one key twice";
	case json_error_numeric_overflow:
		return "a number is too large";
	case json_error_stack_overflow:
		return "it is nested too deeply";
	case json_error_null_character:
	case json_error_null_byte_in_key:
		return "a text holds a 0 byte";
	case json_error_out_of_memory:
		return "memory is short";
	default:
		return "it breaks off or is mistyped";
	}
}

#endif
