/* paths.c - "paths" of an expectation file: what must be there on all nodes
 */
#include "expect/paths.h"

#include "expect/parse.h"
#include "muster/probe.h"
#include "util/utf8.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { PATHS_MAX = 64 };

struct entry {
	const char *path;
	bool content;
};
static const struct muster_field entry_fields[] = {
	{ MUSTER_FIELD(entry, path, TEXT) },
	{ MUSTER_FIELD(entry, content, BOOLEAN), .optional = true },
};
static const struct muster_object_type entry_type = MUSTER_OBJECT_TYPE(entry, entry_fields);

int muster_expect_path_check(const char *path, struct muster_error *err)
{
	if (path[0] != '/')
		return muster_fail(err, MUSTER_EUSAGE, "an absolute path is needed, found \"%.80s\"", path);
	if (strlen(path) >= PATH_MAX)
		return muster_fail(err, MUSTER_EUSAGE, "a path has less than %d bytes", PATH_MAX);
	return muster_utf8_has_control(path) ? muster_fail(err, MUSTER_EUSAGE, "a control character in a path") : 0;
}

/* const char *: the path, with the mark before it where the content of its files counts too. */
static int read_path(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct entry entry = { 0 };
	struct muster_error why;
	const bool is_object = muster_json_type(json) == MUSTER_JSON_OBJECT;
	int result = is_object ? muster_object_read(r, json, &entry_type, &entry)
			       : muster_json_text_read(r, &entry.path, json);
	if (result < 0)
		return -1;
	if (entry.path && muster_expect_path_check(entry.path, &why) < 0)
		return is_object ? muster_json_reader_fail_member(r, "path", "%s", why.text)
				 : muster_json_reader_fail(r, "%s", why.text);
	*(const char **)into = muster_arena_printf(
		r->arena, "%s%s", entry.content ? MUSTER_PATH_CONTENT : "", entry.path ? entry.path : "/");
	return 0;
}

int muster_expect_paths_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_expect *expect = into;
	if (muster_json_need(r, json, MUSTER_JSON_BIT(MUSTER_JSON_ARRAY)) < 0)
		return -1;
	if (muster_json_size(json) > PATHS_MAX)
		return muster_json_reader_fail(r, "more than %d paths", PATHS_MAX);
	expect->paths = muster_arena_alloc(r->arena, (muster_json_size(json) + 1) * sizeof *expect->paths);
	if (muster_json_each_read(r, json, read_path, expect->paths, sizeof *expect->paths) < 0)
		return -1;
	expect->path_count = muster_json_size(json);
	return 0;
}
