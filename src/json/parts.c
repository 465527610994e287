/* parts.c - a text in parts, of which one at a time becomes a tree */
#include "json/parts.h"

#include <string.h>

static int name_part(struct muster_json_reader *r)
{
	char path[MUSTER_JSON_PATH_MAX];
	if (!r->err || !r->at || r->err->text[0] == '$') /* the root's lines are the file's; or the path is there */
		return -1;
	return muster_wrap(r->err, "%s, lines counted from its start", muster_json_path_text(r->at, path));
}

struct split {
	struct muster_json_reader *reader;
	const struct muster_object_type *type;
	struct muster_json_part *parts;
};

static int split_member(
	void *arg, const char *key, size_t index, const char *value, size_t length, struct muster_error *err)
{
	const struct split *split = arg;
	size_t i = 0;
	(void)index;
	(void)err;
	while (i < split->type->count && strcmp(split->type->fields[i].key, key) != 0)
		i++;
	if (i == split->type->count)
		return muster_json_unknown_fail(split->reader, split->type, 0, key);
	if (split->parts[i].text)
		return muster_json_reader_fail(split->reader, "the key \"%s\" occurs twice in one object", key);
	split->parts[i] = (struct muster_json_part){ value, length };
	return 0;
}

int muster_json_part_split(struct muster_json_reader *r, struct muster_json_part part,
	const struct muster_object_type *type, struct muster_json_part *ret)
{
	struct split split = { .reader = r, .type = type, .parts = ret };
	memset(ret, 0, type->count * sizeof *ret);
	if (muster_json_split_object(part.text, part.length, split_member, &split, r->err) < 0)
		return name_part(r);
	for (size_t i = 0; i < type->count; i++)
		if (!type->fields[i].optional && !ret[i].text)
			return muster_json_reader_fail(r, "the key \"%s\" is missing", type->fields[i].key);
	return 0;
}

static int parse_and_read(
	struct muster_json_reader *r, struct muster_json_part part, const struct muster_field *field, void *into)
{
	struct muster_json *json = NULL;
	if (r->part_max && part.length > r->part_max)
		return muster_json_reader_fail(r, "%zu bytes, at most %zu are allowed", part.length, r->part_max);
	if (muster_json_parse(part.text, part.length, &json, r->err) < 0)
		return name_part(r);
	int rc = muster_field_read(r, field, into, json);
	muster_json_free(json);
	return rc;
}

struct elements {
	struct muster_json_reader *reader;
	const struct muster_field *field;
	void *into;
};

static int read_element(
	void *arg, const char *key, size_t index, const char *value, size_t length, struct muster_error *err)
{
	const struct elements *elements = arg;
	struct muster_json_reader *r = elements->reader;
	const struct muster_json_path here = { .up = r->at, .index = index };
	(void)key;
	(void)err;
	if (index >= elements->field->most)
		return muster_json_reader_fail(r, "more than %zu elements", elements->field->most);
	r->at = &here;
	int rc = parse_and_read(r, (struct muster_json_part){ value, length }, elements->field, elements->into);
	r->at = here.up;
	return rc;
}

int muster_json_part_read(
	struct muster_json_reader *r, struct muster_json_part part, const struct muster_field *field, void *base)
{
	const struct muster_json_path here = { .up = r->at, .key = field->key };
	void *into = (char *)base + field->offset;
	struct elements elements = { .reader = r, .field = field, .into = into };
	int rc;
	r->at = &here;
	if (!field->many)
		rc = parse_and_read(r, part, field, into);
	else if ((rc = muster_json_split_array(part.text, part.length, read_element, &elements, r->err)) < 0)
		name_part(r);
	r->at = here.up;
	return rc;
}
