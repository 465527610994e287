/* get.c - typed members of an object, with the JSON path of what is wrong */
#include "json/json.h"

#include "muster/arena.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 1 with the member when it is there and of that type, 0 when absent, -1 otherwise. */
static int get(const struct muster_json *object, const char *path, const char *key, enum muster_json_type type,
	const struct muster_json **ret, struct muster_error *err)
{
	const struct muster_json *member = muster_json_member(object, key);
	if (!member)
		return 0;
	enum muster_json_type found = muster_json_type(member);
	if (found != type) {
		char *text = found == MUSTER_JSON_STRING ? muster_asprintf("\"%.60s\"", muster_json_string(member))
							 : muster_strdup(muster_json_type_name(found));
		muster_fail(err, MUSTER_EUSAGE, "%s.%s: %s is needed, found %s", path, key, muster_json_type_name(type),
			text);
		free(text);
		return -1;
	}
	*ret = member;
	return 1;
}

int muster_json_get_string(
	const struct muster_json *object, const char *path, const char *key, const char **ret, struct muster_error *err)
{
	const struct muster_json *member;
	int found = get(object, path, key, MUSTER_JSON_STRING, &member, err);
	if (found == 1)
		*ret = muster_json_string(member);
	return found;
}

int muster_json_get_number(
	const struct muster_json *object, const char *path, const char *key, double *ret, struct muster_error *err)
{
	const struct muster_json *member;
	int found = get(object, path, key, MUSTER_JSON_NUMBER, &member, err);
	if (found == 1)
		*ret = muster_json_number(member);
	return found;
}

int muster_json_get_int(
	const struct muster_json *object, const char *path, const char *key, int *ret, struct muster_error *err)
{
	double number;
	int found = muster_json_get_number(object, path, key, &number, err);
	if (found != 1)
		return found;
	if (number < INT_MIN || number > INT_MAX || number < trunc(number) || number > trunc(number))
		return muster_fail(
			err, MUSTER_EUSAGE, "%s.%s: a whole number is needed, found %.10g", path, key, number);
	*ret = (int)number;
	return 1;
}

int muster_json_get_boolean(
	const struct muster_json *object, const char *path, const char *key, bool *ret, struct muster_error *err)
{
	const struct muster_json *member;
	int found = get(object, path, key, MUSTER_JSON_BOOLEAN, &member, err);
	if (found == 1)
		*ret = muster_json_boolean(member);
	return found;
}

int muster_json_get_object(const struct muster_json *object, const char *path, const char *key,
	const struct muster_json **ret, struct muster_error *err)
{
	return get(object, path, key, MUSTER_JSON_OBJECT, ret, err);
}

int muster_json_get_array(const struct muster_json *object, const char *path, const char *key,
	const struct muster_json **ret, struct muster_error *err)
{
	return get(object, path, key, MUSTER_JSON_ARRAY, ret, err);
}

int muster_json_only_keys(
	const struct muster_json *object, const char *path, const char *const *keys, struct muster_error *err)
{
	for (const struct muster_json *member = muster_json_first(object); member; member = muster_json_next(member)) {
		const char *const *key = keys;
		while (*key && strcmp(*key, muster_json_key(member)) != 0)
			key++;
		if (*key)
			continue;
		char allowed[512] = "";
		size_t used = 0;
		for (key = keys; *key && used < sizeof allowed; key++)
			used += (size_t)snprintf(
				allowed + used, sizeof allowed - used, "%s%s", key == keys ? "" : ", ", *key);
		return muster_fail(err, MUSTER_EUSAGE, "%s: unknown key \"%.100s\"; allowed are: %s", path,
			muster_json_key(member), allowed);
	}
	return 0;
}
