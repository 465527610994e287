/* parts.c - a text in parts, of which one at a time becomes a tree */
#include "model/run_json.h"

#include "model/limits.h"

#include <string.h>

/* Errors of syntax have a line and a column, which count from the start of the part. */
static int name_part(const struct muster_json_path *at, struct muster_error *err)
{
	char path[MUSTER_JSON_PATH_TEXT_MAX];
	if (!err || !at->up || err->text[0] == '$') /* the root's lines are the file's; or the path is there already */
		return -1;
	return muster_wrap(err, "%s, lines counted from its start", muster_json_path_text(at, path));
}

int muster_json_part_parse(struct muster_json_part part, const struct muster_json_path *at, struct muster_json **ret,
	struct muster_error *err)
{
	if (part.length > MUSTER_RUN_PART_BYTES_MAX)
		return place_fail(at, err, "%zu bytes, at most %d are allowed", part.length, MUSTER_RUN_PART_BYTES_MAX);
	return muster_json_parse(part.text, part.length, ret, err) < 0 ? name_part(at, err) : 0;
}

struct split {
	const struct muster_json_path *at;
	const struct muster_json_field *fields;
	size_t count;
	struct muster_json_part *parts;
};

static int split_member(
	void *arg, const char *key, size_t index, const char *value, size_t length, struct muster_error *err)
{
	const struct split *split = arg;
	size_t i = 0;
	(void)index;
	while (i < split->count && strcmp(split->fields[i].key, key) != 0)
		i++;
	if (i == split->count)
		return place_fail(split->at, err, "unknown key \"%.100s\"", key);
	if (split->parts[i].text)
		return place_fail(split->at, err, "the key \"%s\" stands twice in one object", key);
	split->parts[i] = (struct muster_json_part){ value, length };
	return 0;
}

int muster_json_part_fields(struct muster_json_part part, const struct muster_json_path *at,
	const struct muster_json_field *fields, size_t count, struct muster_json_part *ret, struct muster_error *err)
{
	struct split split = { .at = at, .fields = fields, .count = count, .parts = ret };
	memset(ret, 0, count * sizeof *ret);
	if (muster_json_split_object(part.text, part.length, split_member, &split, err) < 0)
		return name_part(at, err);
	for (size_t i = 0; i < count; i++)
		if (fields[i].required && !ret[i].text)
			return place_fail(at, err, "the key \"%s\" is missing", fields[i].key);
	return 0;
}

struct elements {
	const struct muster_json_path *at;
	muster_json_element_read *read;
	struct muster_run_reader *reader;
};

static int read_element(
	void *arg, const char *key, size_t index, const char *value, size_t length, struct muster_error *err)
{
	(void)key;
	const struct elements *elements = arg;
	const struct muster_json_path here = { .up = elements->at, .index = index };
	struct muster_json *json = NULL;
	if (index >= MUSTER_RUN_NODES_MAX)
		return place_fail(elements->at, err, "more than %d elements", MUSTER_RUN_NODES_MAX);
	int rc = muster_json_part_parse((struct muster_json_part){ value, length }, &here, &json, err);
	if (rc == 0)
		rc = elements->read(elements->reader, json, &here, err);
	muster_json_free(json);
	return rc;
}

int muster_json_part_elements(struct muster_json_part part, const struct muster_json_path *at,
	muster_json_element_read *read, struct muster_run_reader *reader, struct muster_error *err)
{
	struct elements elements = { .at = at, .read = read, .reader = reader };
	if (muster_json_split_array(part.text, part.length, read_element, &elements, err) < 0)
		return name_part(at, err);
	return 0;
}
