/* split.c - a large text in parts, each of which may become a tree of its own */
#include "json/json.h"
#include "json/scan.h"

#include "muster/arena.h"

#include <stdlib.h>
#include <string.h>

/* The byte after the string whose opening quote is at `at`, or length + 1 when the string has no end. */
static size_t behind_string(const char *text, size_t at, size_t length)
{
	const char *stop = text + length, *quote = text + at;
	while ((quote = memchr(quote + 1, '"', (size_t)(stop - quote - 1)))) {
		const char *before = quote;
		while (before[-1] == '\\') /* ends at the opening quote at the latest */
			before--;
		if ((quote - before) % 2 == 0)
			return (size_t)(quote - text) + 1;
	}
	return length + 1;
}

/* What ends a stretch of no interest inside a value. */
static const bool structural[256] = { ['"'] = 1, ['{'] = 1, ['}'] = 1, ['['] = 1, [']'] = 1 };

/* The end of the value at `at`, by brackets and quotes alone. */
static int value_end(const char *text, size_t at, size_t length, size_t *ret, struct muster_error *err)
{
	size_t start = at, depth = 0;
	do {
		if (depth > 0)
			while (at < length && !structural[(unsigned char)text[at]])
				at++;
		if (at >= length)
			break;
		switch (text[at]) {
		case '"':
			start = depth > 0 ? start : at;
			at = behind_string(text, at, length);
			if (at > length)
				return muster_json_fail_at(text, start, err, "string without an end");
			break;
		case '{':
		case '[':
			depth++;
			at++;
			break;
		case '}':
		case ']':
			if (depth > 0) {
				depth--;
				at++;
			}
			break;
		default: /* a number or a word */
			while (at < length && !structural[(unsigned char)text[at]] && !strchr(", \t\r\n", text[at]))
				at++;
			break;
		}
	} while (depth > 0);
	if (depth > 0 || at == start)
		return muster_json_fail_at(text, start, err, depth > 0 ? "never closed" : "a value is needed");
	*ret = at;
	return 0;
}

static size_t skip_blanks(const char *text, size_t at, size_t length)
{
	while (at < length && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n'))
		at++;
	return at;
}

static int split(const char *text, size_t length, char open, char close, muster_json_part_fn *part, void *arg,
	struct muster_error *err)
{
	size_t at = skip_blanks(text, 0, length);
	if (at >= length || text[at] != open)
		return muster_json_fail_at(text, at, err, open == '{' ? "an object is needed" : "an array is needed");
	at = skip_blanks(text, at + 1, length);
	for (size_t index = 0; at < length && (text[at] != close || index > 0); index++) {
		char *key = NULL;
		size_t end;
		if (open == '{') {
			if (text[at] != '"')
				return muster_json_fail_at(text, at, err, "a key in quotes is needed");
			if (muster_json_string_end(text, at, length, &end, err) < 0)
				return -1;
			key = muster_asprintf("%.*s", (int)(end - at - 2 < 256 ? end - at - 2 : 256), text + at + 1);
			at = skip_blanks(text, end, length);
			if (at >= length || text[at] != ':') {
				free(key);
				return muster_json_fail_at(text, at, err, "a ':' is needed");
			}
			at = skip_blanks(text, at + 1, length);
		}
		int bad = value_end(text, at, length, &end, err) < 0 ||
			  part(arg, key, index, text + at, end - at, err) < 0;
		free(key);
		if (bad)
			return -1;
		at = skip_blanks(text, end, length);
		if (at < length && text[at] == close)
			break;
		if (at >= length || text[at] != ',')
			return muster_json_fail_at(text, at, err, "a ',' or '%c' is needed", close);
		at = skip_blanks(text, at + 1, length);
	}
	if (at >= length)
		return muster_json_fail_at(text, length, err, "the text ends too early");
	at = skip_blanks(text, at + 1, length);
	return at == length ? 0 : muster_json_fail_at(text, at, err, "more text behind the end");
}

int muster_json_split_object(
	const char *text, size_t length, muster_json_part_fn *member, void *arg, struct muster_error *err)
{
	return split(text, length, '{', '}', member, arg, err);
}

int muster_json_split_array(
	const char *text, size_t length, muster_json_part_fn *element, void *arg, struct muster_error *err)
{
	return split(text, length, '[', ']', element, arg, err);
}
