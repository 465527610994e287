/* parse_path.c - the JSON path of a problem in an expectation file, and which of the merged files contains it
 */
#include "expect/parse.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool plain_key(const char *key)
{
	if (!isalpha((unsigned char)*key) && *key != '_')
		return false;
	for (; *key; key++)
		if (!isalnum((unsigned char)*key) && *key != '_')
			return false;
	return true;
}

const char *muster_path_member(const char *path, const char *key, struct muster_arena *arena)
{
	if (plain_key(key))
		return muster_arena_printf(arena, "%s.%s", path, key);
	return muster_arena_printf(arena, "%s[\"%.100s\"]", path, key);
}

void muster_expect_parse_enter(struct muster_expect_parser *p, const char *key)
{
	p->steps[p->depth++] = (struct muster_expect_parse_step){ .key = key };
}

void muster_expect_parse_enter_element(struct muster_expect_parser *p, size_t index)
{
	p->steps[p->depth++] = (struct muster_expect_parse_step){ .index = index };
}

void muster_expect_parse_leave(struct muster_expect_parser *p)
{
	p->depth--;
}

int muster_expect_parse_go_on(struct muster_expect_parser *p, size_t depth, int result)
{
	if (result < 0 && muster_problem_take(p->problems, p->err) < 0)
		return -1;
	p->depth = depth;
	return 0;
}

/* How many steps of the path lead somewhere in this layer. */
static size_t layer_depth(const struct muster_expect_parser *p, const struct muster_layer *layer)
{
	const struct muster_json *at = layer->json;
	size_t depth = 0;
	for (; depth < p->depth; depth++) {
		const struct muster_expect_parse_step *step = &p->steps[depth];
		enum muster_json_type type = muster_json_type(at);
		if (step->key) {
			at = type == MUSTER_JSON_OBJECT ? muster_json_member(at, step->key) : NULL;
		} else if (type == MUSTER_JSON_ARRAY) {
			at = muster_json_first(at);
			for (size_t i = 0; at && i < step->index; i++)
				at = muster_json_next(at);
		} else {
			at = NULL;
		}
		if (!at)
			break;
	}
	return depth;
}

/* The file that has the last word on the value at hand, or on what comes nearest to it. */
static const char *layer_blame(const struct muster_expect_parser *p)
{
	const struct muster_layer *best = &p->layers[0];
	size_t deepest = 0;
	for (size_t i = 0; i < p->layer_count; i++) {
		size_t depth = layer_depth(p, &p->layers[i]);

		if (depth >= deepest) {
			best = &p->layers[i];
			deepest = depth;
		}
	}
	return best->path;
}

int muster_expect_parse_complain(struct muster_expect_parser *p, const char *format, ...)
{
	struct muster_arena *arena = p->expect->arena;
	const char *path = "$";
	char what[512];
	va_list args;
	for (size_t i = 0; i < p->depth; i++) {
		if (p->steps[i].key)
			path = muster_path_member(path, p->steps[i].key, arena);
		else
			path = muster_arena_printf(arena, "%s[%zu]", path, p->steps[i].index);
	}
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	return muster_fail(p->err, MUSTER_EUSAGE, "%s: %s: %s", layer_blame(p), path, what);
}
