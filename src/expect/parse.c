/* parse.c - from a merged expectation file to checks that make sense
 *
 * Every complaint names the file that said it last, the JSON path, and what is allowed there.
 */
#include "expect/parse.h"
#include "util/suggest.h"

#include <stddef.h>
#include <string.h>

/* True when some file has a check of that name, though another may have removed it. */
static bool id_ever_was(const struct muster_expect_parser *p, const char *id)
{
	for (size_t i = 0; i < p->layer_count; i++) {
		const struct muster_json *checks = muster_json_member(p->layers[i].json, "checks");

		if (checks && muster_json_type(checks) == MUSTER_JSON_OBJECT && muster_json_member(checks, id))
			return true;
	}
	return false;
}

static int resolve_after(struct muster_expect_parser *p, size_t at)
{
	struct muster_check *checks = p->expect->checks;
	char near[300];
	checks[at].after = -1;
	if (!p->afters[at])
		return 0;
	for (size_t i = 0; i < p->expect->check_count; i++)
		if (strcmp(checks[i].id, p->afters[at]) == 0)
			checks[at].after = (int)i;
	if (checks[at].after >= 0 || id_ever_was(p, p->afters[at]))
		return 0;
	muster_suggest(
		p->afters[at], p->expect->check_count, muster_expect_parse_check_id, checks, 2, near, sizeof near);
	muster_expect_parse_enter(p, checks[at].id);
	muster_expect_parse_enter(p, "after");
	return muster_expect_parse_complain(p, "there is no check \"%.64s\"%s%s%s", p->afters[at],
		*near ? "; did you mean " : "", near, *near ? "?" : "");
}

/* Following what a check comes after must end somewhere. */
static int circle_check(struct muster_expect_parser *p, size_t at)
{
	const struct muster_check *checks = p->expect->checks;
	size_t steps = 0;
	for (int next = checks[at].after; next >= 0; next = checks[next].after) {
		if (++steps <= p->expect->check_count)
			continue;
		muster_expect_parse_enter(p, checks[at].id);
		muster_expect_parse_enter(p, "after");
		return muster_expect_parse_complain(p, "the \"after\" of these checks form a circle");
	}
	return 0;
}

static int read_checks(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	struct muster_expect *expect = into;
	size_t depth = p->depth;
	if (muster_expect_parse_need(p, json, MUSTER_JSON_OBJECT) < 0)
		return -1;
	expect->check_count = muster_json_size(json);
	expect->checks = muster_arena_alloc(expect->arena, (expect->check_count + 1) * sizeof *expect->checks);
	p->afters = muster_arena_alloc(expect->arena, (expect->check_count + 1) * sizeof *p->afters);
	if (muster_expect_parse_each(p, json, muster_expect_parse_check, expect->checks, sizeof *expect->checks) < 0)
		return -1;
	for (size_t i = 0; i < expect->check_count; i++)
		if (muster_expect_parse_go_on(p, depth, resolve_after(p, i)) < 0)
			return -1;
	for (size_t i = 0; i < expect->check_count; i++)
		if (circle_check(p, i) < 0)
			return -1;
	return 0;
}

/* A list of strings, with its length. */
static int read_texts(
	struct muster_expect_parser *p, const struct muster_json *json, const char ***ret, size_t *ret_count)
{
	if (muster_expect_parse_need(p, json, MUSTER_JSON_ARRAY) < 0)
		return -1;
	*ret_count = muster_json_size(json);
	*ret = muster_arena_alloc(p->expect->arena, (*ret_count + 1) * sizeof **ret);
	return muster_expect_parse_each(p, json, muster_expect_parse_text, *ret, sizeof **ret);
}

static int read_vm_sizes(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	struct muster_expect *expect = into;
	return read_texts(p, json, &expect->vm_sizes, &expect->vm_size_count);
}

static int read_gpu_names(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	struct muster_expect *expect = into;
	return read_texts(p, json, &expect->gpu_names, &expect->gpu_name_count);
}

static int read_identify(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	static const struct muster_expect_parse_key keys[] = {
		{ "vm_size", read_vm_sizes, 0 },
		{ "gpu_name", read_gpu_names, 0 },
		{ "gpu_count", muster_expect_parse_count, offsetof(struct muster_expect, gpu_count) },
	};
	return muster_expect_parse_object(p, json, keys, PARSE_COUNT(keys), into);
}

int muster_expect_parse(const struct muster_json *merged, const struct muster_layer *layers, size_t layer_count,
	struct muster_expect *expect, struct muster_problems *problems, struct muster_error *err)
{
	static const struct muster_expect_parse_key keys[] = {
		{ "schema_version", NULL, 0 }, /* this and extends are each file's own affair */
		{ "name", muster_expect_parse_text, offsetof(struct muster_expect, name) },
		{ "title", muster_expect_parse_text, offsetof(struct muster_expect, title) },
		{ "extends", NULL, 0 },
		{ "observe", muster_expect_parse_boolean, offsetof(struct muster_expect, observe) },
		{ "identify", read_identify, 0 },
		{ "checks", read_checks, 0 },
	};
	struct muster_expect_parser p = {
		.layers = layers, .layer_count = layer_count, .expect = expect, .problems = problems, .err = err
	};
	if (muster_expect_parse_object(&p, merged, keys, PARSE_COUNT(keys), expect) < 0)
		return -1;
	if (!expect->check_count)
		return muster_expect_parse_complain(&p, "no checks: every run would pass");
	return 0;
}
