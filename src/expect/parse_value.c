/* parse_value.c - single values of an expectation file, and objects by a table of their keys
 */
#include "expect/parse.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *muster_expect_parse_found(const struct muster_json *json, char *out, size_t size)
{
	char number[64];
	switch (muster_json_type(json)) {
	case MUSTER_JSON_STRING: snprintf(out, size, "\"%.60s\"", muster_json_string(json)); break;
	case MUSTER_JSON_NUMBER:
		snprintf(out, size, "%s",
			muster_value_text(muster_number(muster_json_number(json)), number, sizeof number));
		break;
	case MUSTER_JSON_BOOLEAN: snprintf(out, size, "%s", muster_json_boolean(json) ? "true" : "false"); break;
	default: snprintf(out, size, "%s", muster_json_type_name(muster_json_type(json))); break;
	}
	return out;
}

int muster_expect_parse_need(struct muster_expect_parser *p, const struct muster_json *json, enum muster_json_type type)
{
	char found[96];
	if (muster_json_type(json) == type)
		return 0;
	return muster_expect_parse_complain(p, "%s is needed, found %s", muster_json_type_name(type),
		muster_expect_parse_found(json, found, sizeof found));
}

const char *muster_expect_parse_list(const char *const *names, size_t count, struct muster_arena *arena)
{
	const char *text = "";
	for (size_t i = 0; i < count; i++)
		text = muster_arena_printf(arena, "%s%s%s", text, i ? ", " : "", names[i]);
	return text;
}

int muster_expect_parse_one_of(
	struct muster_expect_parser *p, const struct muster_json *json, const char *const *names, size_t count)
{
	char found[96];
	for (size_t i = 0; muster_json_type(json) == MUSTER_JSON_STRING && i < count; i++)
		if (strcmp(names[i], muster_json_string(json)) == 0)
			return (int)i;
	return muster_expect_parse_complain(p, "one of %s is needed, found %s",
		muster_expect_parse_list(names, count, p->expect->arena),
		muster_expect_parse_found(json, found, sizeof found));
}

int muster_expect_parse_text(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	const char **ret = into;
	if (muster_expect_parse_need(p, json, MUSTER_JSON_STRING) < 0)
		return -1;
	if (!*muster_json_string(json))
		return muster_expect_parse_complain(p, "must not be empty");
	*ret = muster_arena_string(p->expect->arena, muster_json_string(json));
	return 0;
}

int muster_expect_parse_number(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	double *ret = into;
	if (muster_expect_parse_need(p, json, MUSTER_JSON_NUMBER) < 0)
		return -1;
	*ret = muster_json_number(json);
	return 0;
}

int muster_expect_parse_boolean(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	bool *ret = into;
	if (muster_expect_parse_need(p, json, MUSTER_JSON_BOOLEAN) < 0)
		return -1;
	*ret = muster_json_boolean(json);
	return 0;
}

int muster_expect_parse_count(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	int *ret = into;
	double number;
	char found[96];
	if (muster_expect_parse_number(p, &number, json) < 0)
		return -1;
	if (!(number >= 1 && number <= INT_MAX) || number > (double)(int)number)
		return muster_expect_parse_complain(p, "a whole number from 1 is needed, found %s",
			muster_expect_parse_found(json, found, sizeof found));
	*ret = (int)number;
	return 0;
}

int muster_expect_parse_span(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	static const struct muster_expect_parse_key keys[] = {
		{ "min", muster_expect_parse_count, offsetof(struct muster_span, min) },
		{ "max", muster_expect_parse_count, offsetof(struct muster_span, max) },
	};
	struct muster_span *span = into;
	if (muster_json_type(json) == MUSTER_JSON_NUMBER) {
		if (muster_expect_parse_count(p, &span->min, json) < 0)
			return -1;
		span->max = span->min;
		return 0;
	}
	if (muster_json_type(json) != MUSTER_JSON_OBJECT)
		return muster_expect_parse_complain(p, "a number is needed, or an object with min and max");
	if (muster_expect_parse_object(p, json, keys, PARSE_COUNT(keys), span) < 0)
		return -1;
	if (span->max && span->min > span->max)
		return muster_expect_parse_complain(p, "min %d is above max %d", span->min, span->max);
	return 0;
}

int muster_expect_parse_each(struct muster_expect_parser *p, const struct muster_json *json,
	muster_expect_parse_reader *read, void *items, size_t item_size)
{
	bool is_array = muster_json_type(json) == MUSTER_JSON_ARRAY;
	size_t at = 0, depth = p->depth;
	for (const struct muster_json *e = muster_json_first(json); e; e = muster_json_next(e), at++) {
		if (is_array)
			muster_expect_parse_enter_element(p, at);
		else
			muster_expect_parse_enter(p, muster_json_key(e));
		if (muster_expect_parse_go_on(p, depth, read(p, (char *)items + at * item_size, e)) < 0)
			return -1;
	}
	return 0;
}

int muster_expect_parse_known(struct muster_expect_parser *p, const struct muster_json *object,
	const struct muster_expect_parse_key *keys, size_t count)
{
	const char *allowed = "";
	size_t depth = p->depth;
	for (size_t i = 0; i < count; i++)
		allowed = muster_arena_printf(p->expect->arena, "%s%s%s", allowed, i ? ", " : "", keys[i].name);
	for (const struct muster_json *m = muster_json_first(object); m; m = muster_json_next(m)) {
		size_t i = 0;

		while (i < count && strcmp(keys[i].name, muster_json_key(m)) != 0)
			i++;
		if (i < count)
			continue;
		muster_expect_parse_enter(p, muster_json_key(m));
		if (muster_expect_parse_go_on(
			    p, depth, muster_expect_parse_complain(p, "unknown key, allowed are %s", allowed)) < 0)
			return -1;
	}
	return 0;
}

int muster_expect_parse_members(struct muster_expect_parser *p, const struct muster_json *object,
	const struct muster_expect_parse_key *keys, size_t count, void *into)
{
	size_t depth = p->depth;
	for (size_t i = 0; i < count; i++) {
		const struct muster_json *member = muster_json_member(object, keys[i].name);

		if (!member || !keys[i].read)
			continue;
		muster_expect_parse_enter(p, keys[i].name);
		if (muster_expect_parse_go_on(p, depth, keys[i].read(p, (char *)into + keys[i].offset, member)) < 0)
			return -1;
	}
	return 0;
}

int muster_expect_parse_object(struct muster_expect_parser *p, const struct muster_json *json,
	const struct muster_expect_parse_key *keys, size_t count, void *into)
{
	if (muster_expect_parse_need(p, json, MUSTER_JSON_OBJECT) < 0 ||
		muster_expect_parse_known(p, json, keys, count) < 0)
		return -1;
	return muster_expect_parse_members(p, json, keys, count, into);
}
