/* fields.c - strict reading of JSON objects */
#include "json/fields.h"

#include "model/limits.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *muster_json_path_text(const struct muster_json_path *at, char out[MUSTER_JSON_PATH_TEXT_MAX])
{
	if (!at->up) {
		snprintf(out, MUSTER_JSON_PATH_TEXT_MAX, "$");
		return out;
	}
	muster_json_path_text(at->up, out);
	size_t used = strlen(out);
	if (at->key)
		snprintf(out + used, MUSTER_JSON_PATH_TEXT_MAX - used, ".%.60s", at->key);
	else
		snprintf(out + used, MUSTER_JSON_PATH_TEXT_MAX - used, "[%zu]", at->index);
	return out;
}

void muster_json_path_fail(const struct muster_json_path *at, struct muster_error *err, const char *format, ...)
{
	char path[MUSTER_JSON_PATH_TEXT_MAX], text[MUSTER_ERROR_TEXT_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	muster_fail(err, MUSTER_EUSAGE, "%s: %s", muster_json_path_text(at, path), text);
}

/* "a number or null" */
static void types_text(unsigned int types, char *out, size_t size)
{
	size_t used = 0;
	out[0] = '\0';
	for (enum muster_json_type type = MUSTER_JSON_NULL; type <= MUSTER_JSON_OBJECT; type++) {
		if (!(types & 1u << type) || used >= size)
			continue;
		used += (size_t)snprintf(
			out + used, size - used, "%s%s", used ? " or " : "", muster_json_type_name(type));
	}
}

int muster_json_field_check(
	const struct muster_json *json, const struct muster_json_path *at, unsigned int types, struct muster_error *err)
{
	enum muster_json_type type = muster_json_type(json);
	if (!(types & 1u << type)) {
		char allowed[128];
		types_text(types, allowed, sizeof allowed);
		return place_fail(at, err, "%s is needed, found %s", allowed, muster_json_type_name(type));
	}
	if (type == MUSTER_JSON_STRING && !(types & FIELD_LONG) &&
		strlen(muster_json_string(json)) > MUSTER_RUN_STRING_MAX)
		return place_fail(at, err, "a string of %zu bytes, at most %d are allowed",
			strlen(muster_json_string(json)), MUSTER_RUN_STRING_MAX);
	return 0;
}

static int unknown_key(const char *key, const struct muster_json_path *at, const struct muster_json_field *fields,
	size_t count, struct muster_error *err)
{
	char allowed[512] = "";
	size_t used = 0;
	for (size_t i = 0; i < count && used < sizeof allowed; i++)
		used += (size_t)snprintf(
			allowed + used, sizeof allowed - used, "%s%s", i == 0 ? "" : ", ", fields[i].key);
	return place_fail(at, err, "unknown key \"%.100s\"; allowed are: %s", key, allowed);
}

int muster_json_fields_read(const struct muster_json *json, const struct muster_json_path *at,
	const struct muster_json_field *fields, size_t count, const struct muster_json **ret, struct muster_error *err)
{
	if (muster_json_field_check(json, at, FIELD_OBJECT, err) < 0)
		return -1;
	memset(ret, 0, count * sizeof(*ret));
	for (const struct muster_json *member = muster_json_first(json); member; member = muster_json_next(member)) {
		const char *key = muster_json_key(member);
		size_t i = 0;
		while (i < count && strcmp(fields[i].key, key) != 0)
			i++;
		if (i == count)
			return unknown_key(key, at, fields, count, err);
		struct muster_json_path here = { .up = at, .key = fields[i].key };
		if (muster_json_field_check(member, &here, fields[i].types, err) < 0)
			return -1;
		ret[i] = member;
	}
	for (size_t i = 0; i < count; i++)
		if (fields[i].required && !ret[i])
			return place_fail(at, err, "the key \"%s\" is missing", fields[i].key);
	return 0;
}

const char *muster_json_field_text(struct muster_arena *arena, const struct muster_json *json)
{
	return json ? muster_arena_string(arena, muster_json_string(json)) : NULL;
}

struct muster_value muster_json_field_value(struct muster_arena *arena, const struct muster_json *json)
{
	switch (muster_json_type(json)) {
	case MUSTER_JSON_NUMBER: return muster_number(muster_json_number(json));
	case MUSTER_JSON_STRING: return muster_string(muster_json_field_text(arena, json));
	case MUSTER_JSON_BOOLEAN: return muster_boolean(muster_json_boolean(json));
	default: return muster_null();
	}
}

int muster_json_field_int(const struct muster_json *json, const struct muster_json_path *at, int low, int high,
	int *ret, struct muster_error *err)
{
	double number = muster_json_number(json);
	if (number < low || number > high || number < trunc(number) || number > trunc(number))
		return place_fail(at, err, "a whole number from %d to %d is needed, found %.10g", low, high, number);
	*ret = (int)number;
	return 0;
}
