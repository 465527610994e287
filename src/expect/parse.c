/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c - from a merged expectation file to checks that make sense
 *
 * Every complaint names the file that said it last, the JSON path, and what is allowed there.
 *
 * The order of reading, and why:
 *   measurements     checks name them in measured_on
 *   all other keys   in the file's order. A check with no_event keeps a pointer to its table of events, whose entries
 *                    may stand behind the check
 *   of "checks"      each check (parse_check.c); then what each of them names in `after` and `also_after`, since the
 *                    other check may stand behind; then whether these lead back to a check; at last place.c
 */
#include "expect/parse.h"
#include "expect/load.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The reader's go_on: hand the problem in r->err to lint, and go on with 0; -1 ends the reading. The last problem of
 * MUSTER_PROBLEMS_MAX ends it too, and muster_expect_lint reports this one. */
static int take_problem(struct muster_json_reader *r)
{
	struct muster_problems *problems = ((struct muster_expect_parser *)r)->problems;
	if (!problems || problems->count + 1 >= MUSTER_PROBLEMS_MAX)
		return -1;
	problems->count++;
	problems->tell(problems->arg, r->err->text);
	return 0;
}

struct muster_expect_parser muster_expect_parser_make(const struct muster_layer *layers, size_t layer_count,
	struct muster_arena *arena, struct muster_problems *problems, struct muster_error *err)
{
	return (struct muster_expect_parser){
		.json = { .arena = arena, .err = err, .file = muster_expect_file_at, .go_on = take_problem },
		.layers = layers,
		.layer_count = layer_count,
		.problems = problems,
	};
}

/* ---- the order of the checks ---- */

/* True when some file has a check of that name, though another may have removed it. */
static bool id_ever_was(const struct muster_expect_parser *p, const char *id)
{
	for (size_t i = 0; i < p->layer_count; i++)
		if (muster_layer_check(&p->layers[i], id))
			return true;
	return false;
}

/* The index of the check `id`, which the key names; -1 where id is NULL, and where some file has removed the check:
 * then nothing comes before. An id that no file ever had is a problem. */
static int find_named(struct muster_json_reader *r, const char *key, const char *id, int *ret)
{
	const struct muster_expect_parser *p = (struct muster_expect_parser *)r;
	const struct muster_expect *expect = p->expect;
	char hint[MUSTER_SUGGEST_MAX];
	*ret = -1;
	for (size_t i = 0; id && i < expect->check_count; i++)
		if (strcmp(expect->checks[i].id, id) == 0)
			*ret = (int)i;
	if (!id || *ret >= 0 || id_ever_was(p, id))
		return 0;
	return muster_json_reader_fail_member(r, key, "there is no check \"%.64s\"%s", id,
		muster_suggest(id, expect->checks, expect->check_count, sizeof *expect->checks, hint));
}

/* Find the checks that this one comes after. */
static int find_after(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_check *check = into;
	(void)json;
	check->also_after = -1;
	if (find_named(r, "after", check->after_id, &check->after) < 0)
		return -1;
	return find_named(r, "also_after", check->also_after_id, &check->also_after);
}

/* Whether following what the check number `from` comes after leads to the other check; seen: those that do not. */
static bool leads_to(const struct muster_expect *expect, int from, const struct muster_check *to, bool *seen)
{
	if (from < 0 || seen[from])
		return false;
	const struct muster_check *check = &expect->checks[from];
	seen[from] = true;
	return check == to || leads_to(expect, check->after, to, seen) || leads_to(expect, check->also_after, to, seen);
}

/* Following what a check comes after must not lead back to it. */
static int check_circle(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const struct muster_expect *expect = ((struct muster_expect_parser *)r)->expect;
	struct muster_check *check = into;
	bool *seen = muster_calloc(expect->check_count + 1, sizeof *seen);
	bool after = leads_to(expect, check->after, check, seen),
	     circle = after || leads_to(expect, check->also_after, check, seen);
	(void)json;
	free(seen);
	if (!circle)
		return 0;
	*(after ? &check->after : &check->also_after) = -1; /* the others of the circle need not say it again */
	return muster_json_reader_fail_member(
		r, after ? "after" : "also_after", "the \"after\" of these checks form a circle");
}

/* The later passes go over the same JSON members as the first one, so that problems have the right path. */
static int read_checks(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_expect *expect = into;
	const size_t size = sizeof *expect->checks;
	if (muster_json_need(r, json, MUSTER_JSON_BIT(MUSTER_JSON_OBJECT)) < 0)
		return -1;
	expect->check_count = muster_json_size(json);
	expect->checks = muster_arena_alloc(r->arena, (expect->check_count + 1) * size);
	if (muster_json_each_read(r, json, muster_expect_check_read, expect->checks, size) < 0 ||
		muster_json_each_read(r, json, find_after, expect->checks, size) < 0)
		return -1;
	if (muster_json_each_read(r, json, check_circle, expect->checks, size) < 0)
		return -1;
	muster_expect_place(expect);
	return 0;
}

/* ---- the frame ---- */

int muster_expect_nothing_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	(void)r, (void)into, (void)json;
	return 0;
}

static int read_name(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const char **name = into;
	if (muster_json_text_read(r, into, json) < 0)
		return -1;
	if (!**name)
		return muster_json_reader_fail(r, "must not be empty");
	return strchr(*name, '/') ? muster_json_reader_fail(r, "must not contain '/': --sku would take it for a path")
				  : 0;
}

#define TEXTS .read = muster_json_text_read, .size = sizeof(const char *)

static const struct muster_field identify_fields[] = {
	{ MUSTER_FIELD_AS(muster_expect, "vm_size", vm_sizes, TEXT), TEXTS,
		MUSTER_FIELD_MANY(muster_expect, vm_size_count), .optional = true },
	{ MUSTER_FIELD_AS(muster_expect, "gpu_name", gpu_names, TEXT), TEXTS,
		MUSTER_FIELD_MANY(muster_expect, gpu_name_count), .optional = true },
	{ MUSTER_FIELD(muster_expect, gpu_count, INT), .low = 1, .optional = true },
};
static const struct muster_object_type identify_type = MUSTER_OBJECT_TYPE(muster_expect, identify_fields);

static int read_events(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_expect *expect = into;
	return muster_event_tables_read(r, expect->events, json);
}

/* Read first: checks name them. The type is open, so that all other keys are left for `fields`. */
static const struct muster_field first_fields[] = {
	{ MUSTER_FIELD(muster_expect, measurements, OBJECT), MUSTER_FIELD_MANY(muster_expect, measurement_count),
		MUSTER_FIELD_MEMBERS(muster_measurement_read, muster_measurement), .optional = true },
};
static const struct muster_object_type first_type = MUSTER_OBJECT_TYPE_OPEN(muster_expect, first_fields);

static const struct muster_field fields[] = {
	{ .key = "schema_version", .read = muster_expect_nothing_read, .optional = true },
	{ MUSTER_FIELD(muster_expect, name, TEXT), .read = read_name, .optional = true },
	{ MUSTER_FIELD(muster_expect, title, TEXT), .least = 1, .optional = true },
	{ .key = "extends", .read = muster_expect_nothing_read, .optional = true },
	{ MUSTER_FIELD(muster_expect, observe, BOOLEAN), .optional = true },
	{ .key = "identify", .type = MUSTER_FIELD_OBJECT, .object = &identify_type, .optional = true },
	{ .key = "events", .read = read_events, .optional = true },
	{ MUSTER_FIELD(muster_expect, causes, OBJECT), MUSTER_FIELD_MANY(muster_expect, cause_count),
		MUSTER_FIELD_MEMBERS(muster_cause_read, muster_cause), .optional = true },
	{ .key = "measurements", .read = muster_expect_nothing_read, .optional = true },
	{ .key = "paths", .read = muster_expect_paths_read, .optional = true },
	{ .key = "checks", .read = read_checks, .optional = true },
};
static const struct muster_object_type file_type = MUSTER_OBJECT_TYPE(muster_expect, fields);

/* A file of events for others to extend: of no machine type. A run does not take it (eval/select.c). */
static bool is_part(const struct muster_expect *expect)
{
	bool has_events = false;
	for (size_t i = 0; i < MUSTER_EVENT_TABLE_COUNT; i++)
		has_events = has_events || expect->events[i].count > 0;
	return has_events && !expect->observe && !expect->vm_size_count && !expect->gpu_name_count;
}

int muster_expect_parse(const struct muster_json *merged, const struct muster_layer *layers, size_t layer_count,
	struct muster_expect *expect, struct muster_problems *problems, struct muster_error *err)
{
	struct muster_expect_parser p = muster_expect_parser_make(layers, layer_count, expect->arena, problems, err);
	p.expect = expect;
	expect->events = muster_event_tables_new(expect->arena);
	p.check_type = muster_expect_check_type(expect->arena);
	if (muster_object_read(&p.json, merged, &first_type, expect) < 0 ||
		muster_object_read(&p.json, merged, &file_type, expect) < 0)
		return -1;
	return expect->check_count || is_part(expect)
		       ? 0
		       : muster_json_reader_fail(&p.json, "no checks: every run would pass");
}
