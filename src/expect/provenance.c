/* provenance.c - which files a check and its keys come from
 */
#include "expect/parse.h"

#include <string.h>

static const struct muster_json *layer_check_member(const struct muster_layer *layer, const char *id)
{
	const struct muster_json *checks = muster_json_member(layer->json, "checks");
	return checks && muster_json_type(checks) == MUSTER_JSON_OBJECT ? muster_json_member(checks, id) : NULL;
}

static struct muster_origin *change_find(const struct muster_check *check, const char *key)
{
	for (size_t i = 0; i < check->change_count; i++)
		if (strcmp(check->changes[i].key, key) == 0)
			return &check->changes[i];
	return NULL;
}

/* `said` is a member of the check in a later file; there is room for it. */
static void change_note(
	struct muster_check *check, const struct muster_json *said, const char *file, struct muster_arena *arena)
{
	struct muster_origin *change = change_find(check, muster_json_key(said));
	if (!change)
		change = &check->changes[check->change_count++];
	change->key = muster_arena_string(arena, muster_json_key(said));
	change->file = file;
	change->removed = muster_json_type(said) == MUSTER_JSON_NULL;
}

static size_t change_room(const struct muster_expect_parser *p, const char *id)
{
	size_t room = 1;
	for (size_t i = 0; i < p->layer_count; i++) {
		const struct muster_json *said = layer_check_member(&p->layers[i], id);

		room += said ? muster_json_size(said) : 0;
	}
	return room;
}

/* A file that removes the check, or all checks, starts it anew. */
void muster_expect_parse_trace(struct muster_expect_parser *p)
{
	struct muster_check *check = p->check;
	struct muster_arena *arena = p->expect->arena;
	check->changes = muster_arena_alloc(arena, change_room(p, check->id) * sizeof *check->changes);
	for (size_t i = 0; i < p->layer_count; i++) {
		const struct muster_json *checks = muster_json_member(p->layers[i].json, "checks");
		const struct muster_json *said = layer_check_member(&p->layers[i], check->id);
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
			change_note(check, m, file, arena);
	}
}

const char *muster_expect_parse_file_of(const struct muster_expect_parser *p, const char *key)
{
	const struct muster_origin *change = change_find(p->check, key);
	return change ? change->file : p->check->file;
}

static size_t layer_index(const struct muster_expect_parser *p, const char *path)
{
	size_t i = 0;
	while (i < p->layer_count && strcmp(p->layers[i].path, path) != 0)
		i++;
	return i;
}

int muster_expect_parse_sources_check(struct muster_expect_parser *p)
{
	const struct muster_check *check = p->check;
	const char *file = muster_expect_parse_file_of(p, "source");
	size_t depth = p->depth, said = layer_index(p, file);
	for (size_t i = 0; i < check->change_count; i++) {
		const struct muster_origin *change = &check->changes[i];

		if (change->removed || layer_index(p, change->file) <= said || !muster_operator_find(change->key))
			continue;
		muster_expect_parse_enter(p, change->key);
		if (muster_expect_parse_go_on(p, depth,
			    muster_expect_parse_complain(
				    p, "changed without a source: the inherited source is that of %s", file)) < 0)
			return -1;
	}
	return 0;
}
