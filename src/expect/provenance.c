/* SPDX-License-Identifier: Apache-2.0 */
/* provenance.c - which files a value, a check and its keys come from
 *
 * The merged tree does not say it, so the path of a value is followed in each layer: the last layer in which the path
 * leads furthest is the file to look at. A value that a later file removed is found in that file, as the null there.
 *
 * An example: a.json has copy.h2d with "min": 21 and a source. site.json extends it with "copy.h2d": { "min": 25 }.
 *   file of $.checks.copy.h2d.min      site.json: both files have it, and the later one counts
 *   file of $.checks.copy.h2d.source   a.json, in which the path leads one step further than in site.json
 *   the check's file                   a.json, the first one that has the check
 *   its changes                        min, by site.json. Lint says that the source, of a.json, is not that of 25
 */
#include "expect/parse.h"

#include <string.h>

/* ---- the value that is being read ---- */

/* The value at the path in a file, or NULL; *ret_depth: how many steps of the path lead somewhere there. */
static const struct muster_json *follow(
	const struct muster_json *top, const struct muster_json_path *at, size_t *ret_depth)
{
	*ret_depth = 0;
	if (!at)
		return top;
	const struct muster_json *json = follow(top, at->up, ret_depth);
	enum muster_json_type type = json ? muster_json_type(json) : MUSTER_JSON_NULL;
	if (type == MUSTER_JSON_OBJECT && at->key) {
		json = muster_json_member(json, at->key);
	} else if (type == MUSTER_JSON_ARRAY && !at->key) {
		json = muster_json_first(json);
		for (size_t i = 0; json && i < at->index; i++)
			json = muster_json_next(json);
	} else {
		json = NULL;
	}
	*ret_depth += json != NULL;
	return json;
}

const char *muster_expect_file_at(const struct muster_json_reader *r)
{
	const struct muster_expect_parser *p = (const struct muster_expect_parser *)r;
	const struct muster_layer *best = p->layers;
	size_t deepest = 0, depth;
	for (size_t i = 0; i < p->layer_count; i++) {
		follow(p->layers[i].json, r->at, &depth);
		if (depth >= deepest) {
			best = &p->layers[i];
			deepest = depth;
		}
	}
	return best->path;
}

/* ---- a check ---- */

const struct muster_json *muster_layer_check(const struct muster_layer *layer, const char *id)
{
	const struct muster_json *checks = muster_json_member(layer->json, "checks");
	return checks && muster_json_type(checks) == MUSTER_JSON_OBJECT ? muster_json_member(checks, id) : NULL;
}

static struct muster_origin *find_change(const struct muster_check *check, const char *key)
{
	for (size_t i = 0; i < check->change_count; i++)
		if (strcmp(check->changes[i].key, key) == 0)
			return &check->changes[i];
	return NULL;
}

/* `said` is a member of the check in a later file; there is room for it. */
static void note_change(
	struct muster_check *check, const struct muster_json *said, const char *file, struct muster_arena *arena)
{
	struct muster_origin *change = find_change(check, muster_json_key(said));
	if (!change)
		change = &check->changes[check->change_count++];
	*change = (struct muster_origin){
		.key = muster_arena_string(arena, muster_json_key(said)),
		.file = file,
		.removed = muster_json_type(said) == MUSTER_JSON_NULL,
	};
}

/* How many members the check has in all files together. */
static size_t count_members(const struct muster_expect_parser *p, const char *id)
{
	size_t count = 0;
	for (size_t i = 0; i < p->layer_count; i++) {
		const struct muster_json *said = muster_layer_check(&p->layers[i], id);
		count += said ? muster_json_size(said) : 0;
	}
	return count;
}

/* Fill the check's `file` and `changes` from all layers. The first file with the check is its file, and each key in a
 * later one is a change. A file that removes the check, or all checks, makes the next file with the check the first. */
void muster_expect_trace(struct muster_expect_parser *p)
{
	struct muster_check *check = p->check;
	struct muster_arena *arena = p->json.arena;
	check->changes = muster_arena_alloc(arena, count_members(p, check->id) * sizeof *check->changes);
	for (size_t i = 0; i < p->layer_count; i++) {
		const struct muster_json *checks = muster_json_member(p->layers[i].json, "checks");
		const struct muster_json *said = muster_layer_check(&p->layers[i], check->id);
		const char *file = muster_arena_string(arena, p->layers[i].path);
		if (!checks || (!said && muster_json_type(checks) == MUSTER_JSON_OBJECT))
			continue;
		if (!said || muster_json_type(said) != MUSTER_JSON_OBJECT) {
			check->file = said && muster_json_type(said) != MUSTER_JSON_NULL ? file : NULL;
			check->change_count = 0;
			continue;
		}
		if (!check->file) {
			check->file = file;
			continue;
		}
		for (const struct muster_json *m = muster_json_first(said); m; m = muster_json_next(m))
			note_change(check, m, file, arena);
	}
}

const char *muster_expect_file_of(const struct muster_check *check, const char *key)
{
	const struct muster_origin *change = find_change(check, key);
	return change ? change->file : check->file;
}

static size_t layer_index(const struct muster_expect_parser *p, const char *path)
{
	size_t i = 0;
	while (i < p->layer_count && strcmp(p->layers[i].path, path) != 0)
		i++;
	return i;
}

bool muster_expect_said_later(const struct muster_json_reader *r, const char *key, const char *other)
{
	const struct muster_expect_parser *p = (const struct muster_expect_parser *)r;
	return layer_index(p, muster_expect_file_of(p->check, key)) >
	       layer_index(p, muster_expect_file_of(p->check, other));
}

int muster_expect_sources_lint(struct muster_expect_parser *p)
{
	const struct muster_check *check = p->check;
	const char *file = muster_expect_file_of(check, "source");
	size_t said = layer_index(p, file);
	for (size_t i = 0; i < check->change_count; i++) {
		const struct muster_origin *change = &check->changes[i];
		if (change->removed || layer_index(p, change->file) <= said || !muster_operator_find(change->key))
			continue;
		muster_json_reader_say_member(
			&p->json, change->key, "changed without a source: the inherited source is that of %s", file);
		if (muster_json_reader_go_on(&p->json) < 0)
			return -1;
	}
	return 0;
}
