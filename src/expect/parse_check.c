/* SPDX-License-Identifier: Apache-2.0 */
/* parse_check.c - one check of an expectation file, by the table of its keys
 *
 * The keys of a check, and the table that has them:
 *   first_fields   metric, ignore_case, share_of: what other keys need to read their values
 *   operators      min, equals, ...: muster_expect_check_type makes a table of the rows of operators.c
 *   key_fields     all other keys, and those of first_fields once more, which are passed over
 *   when_fields    the object "when"
 *
 * muster_expect_check_read reads one check, in the order that parse.h has. It is called for each member of "checks" of
 * the merged tree, and parser->check is this check meanwhile: readers of keys get only the place of their own value.
 */
#include "expect/parse.h"
#include "muster/finding.h"
#include "muster/probe.h"
#include "muster/profile.h"
#include "util/text.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

static const char *const places[] = { "node", "rank", "gpu", "port" };
static const char *const severities[] = { [MUSTER_SEVERITY_FAIL] = "fail", [MUSTER_SEVERITY_WARN] = "warn" };

/* For a name that is no metric, and if `or_place`, no place either. */
static const char *metric_hint(
	struct muster_json_reader *r, const char *name, bool or_place, char out[MUSTER_SUGGEST_MAX])
{
	const char **names =
		muster_arena_alloc(r->arena, (PARSE_COUNT(places) + muster_metric_count()) * sizeof *names);
	size_t count = 0;
	for (size_t i = 0; i < PARSE_COUNT(places) && or_place; i++)
		names[count++] = places[i];
	for (size_t i = 0; i < muster_metric_count(); i++)
		names[count++] = muster_metric_at(i)->name;
	return muster_suggest(name, names, count, sizeof *names, out);
}

/* ---- readers of keys ---- */

static int read_metric(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const struct muster_metric **metric = into;
	char hint[MUSTER_SUGGEST_MAX];
	if (muster_json_need(r, json, MUSTER_JSON_BIT(MUSTER_JSON_STRING)) < 0)
		return -1;
	*metric = muster_metric_find(muster_json_string(json));
	if (*metric)
		return 0;
	metric_hint(r, muster_json_string(json), false, hint);
	return muster_json_reader_fail(r, "no such metric: \"%.80s\"%s", muster_json_string(json),
		*hint ? hint : " (muster metrics lists them)");
}

/* A limit that the metric can be divided by: a number in the same unit, and of the same scope, so that each value has
 * its limit at its own place. */
static int read_share_of(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const struct muster_metric *metric = muster_expect_check_at(r)->metric, *limit, **ret = into;
	if (read_metric(r, into, json) < 0)
		return -1;
	limit = *ret;
	if (!metric)
		return 0; /* which is a problem of its own */
	if (limit == metric)
		return muster_json_reader_fail(r, "%s is the metric of the check itself", limit->name);
	if (metric->type != MUSTER_NUMBER || limit->type != MUSTER_NUMBER || metric->unit != limit->unit)
		return muster_json_reader_fail(r,
			"%s (%s%s%s) is no share of %s (%s%s%s): numbers in one unit are needed", metric->name,
			muster_type_name(metric->type), *muster_metric_unit(metric) ? ", " : "",
			muster_metric_unit(metric), limit->name, muster_type_name(limit->type),
			*muster_metric_unit(limit) ? ", " : "", muster_metric_unit(limit));
	if (metric->scope != limit->scope)
		return muster_json_reader_fail(r, "%s has one value for each %s, and %s one for each %s", metric->name,
			muster_scope_name(metric->scope), limit->name, muster_scope_name(limit->scope));
	return 0;
}

/* A member of inconclusive_on: the key is a value of the metric, as muster_value_text writes it, and its value a
 * reason. */
static int read_excuse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_excuse *excuse = into;
	excuse->value = muster_arena_string(r->arena, muster_json_key(json));
	return muster_json_text_read(r, &excuse->why, json);
}

/* A member of "where": a label that the metric has, and its value, of the label's type. */
static int read_label(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_label *label = into;
	const struct muster_label_row *row = muster_label_find(muster_json_key(json));
	enum muster_json_type type = row && row->type == MUSTER_NUMBER ? MUSTER_JSON_NUMBER : MUSTER_JSON_STRING;
	if (muster_expect_need_label(r, muster_json_key(json)) < 0 ||
		muster_json_need(r, json, MUSTER_JSON_BIT(type)) < 0)
		return -1;
	label->key = muster_arena_string(r->arena, muster_json_key(json));
	return muster_json_value_read(r, &label->value, json);
}

/* A member of limit_where, read as one of "where": meanwhile the limit stands in the place of the check's metric. */
static int read_limit_label(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_check *check = muster_expect_check_at(r);
	const struct muster_metric *metric = check->metric;
	check->metric = check->share_of;
	int result = read_label(r, into, json);
	check->metric = metric;
	return result;
}

static int read_limit_where(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_check *check = into;
	if (muster_json_need(r, json, MUSTER_JSON_BIT(MUSTER_JSON_OBJECT)) < 0)
		return -1;
	if (!check->share_of)
		return muster_json_reader_fail(r, "says something only beside share_of");
	check->limit_where_count = muster_json_size(json);
	check->limit_where = muster_arena_alloc(r->arena, check->limit_where_count * sizeof *check->limit_where);
	return muster_json_each_read(r, json, read_limit_label, check->limit_where, sizeof *check->limit_where);
}

/* The metric of limit_per: a number that counts parts of the limit, at the same places. */
static int read_counted(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const struct muster_metric *limit = muster_expect_check_at(r)->share_of, **ret = into;
	if (!limit)
		return muster_json_reader_fail(r, "says something only beside share_of");
	if (read_metric(r, into, json) < 0)
		return -1;
	if ((*ret)->type == MUSTER_NUMBER && (*ret)->scope == limit->scope)
		return 0;
	return muster_json_reader_fail(r, "one number for each %s is needed", muster_scope_name(limit->scope));
}

/* The metric of inconclusive_while: a number of the node without labels, so that there is one for each place. */
static int read_of_node(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const struct muster_metric **ret = into;
	if (read_metric(r, into, json) < 0)
		return -1;
	if ((*ret)->type == MUSTER_NUMBER && (*ret)->scope == MUSTER_SCOPE_NODE && (*ret)->labels[0] == NULL)
		return 0;
	return muster_json_reader_fail(r, "one number for each node is needed");
}

/* The type of an object { "metric": ..., "max": ... }, whose metric `function` reads: limit_per_type, while_type. */
#define METRIC_MAX(name, function)                                                                                     \
	static const struct muster_field name##_fields[] = {                                                           \
		{ MUSTER_FIELD(muster_metric_max, metric, TEXT), .read = function },                                   \
		{ MUSTER_FIELD(muster_metric_max, max, NUMBER), .read = muster_expect_above_0_read },                  \
	};                                                                                                             \
	static const struct muster_object_type name##_type = MUSTER_OBJECT_TYPE(muster_metric_max, name##_fields)
METRIC_MAX(limit_per, read_counted);
METRIC_MAX(while, read_of_node);

/* One of these words. *ret is the word itself, of static storage, not its number. */
static int read_word(struct muster_json_reader *r, const char **ret, const struct muster_json *json,
	const char *const *words, size_t count)
{
	int word = muster_json_name_read(r, json, words, count);
	if (word < 0)
		return -1;
	*ret = words[word];
	return 0;
}

static int read_certainty(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	return read_word(r, into, json, muster_certainties, MUSTER_CERTAINTY_COUNT);
}

int muster_expect_action_code_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	return read_word(r, into, json, muster_action_codes, MUSTER_ACTION_CODE_COUNT);
}

int muster_expect_action_lint(struct muster_json_reader *r, const struct muster_json *json)
{
	const char *list = muster_action_codes[0];
	if (!((struct muster_expect_parser *)r)->problems || muster_json_member(json, "action_code"))
		return 0;
	for (size_t i = 1; i < MUSTER_ACTION_CODE_COUNT; i++)
		list = muster_arena_printf(r->arena, "%s, %s", list, muster_action_codes[i]);
	muster_json_reader_say(r, "no action_code: one of %s is needed", list);
	return muster_json_reader_go_on(r);
}

/* Each ${...} in an advice is a place or a metric. */
int muster_expect_advice_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const char **advice = into;
	char hint[MUSTER_SUGGEST_MAX];
	if (muster_json_text_read(r, into, json) < 0)
		return -1;
	for (const char *at = *advice; (at = strstr(at, "${"));) {
		const char *end = strchr(at, '}'), *name;
		if (!end)
			return muster_json_reader_fail(r, "a placeholder without closing brace: \"%.40s\"", at);
		name = muster_arena_string_n(r->arena, at + 2, (size_t)(end - at) - 2);
		if (!muster_text_among(name, places, PARSE_COUNT(places)) && !muster_metric_find(name)) {
			muster_json_reader_say(r,
				"the placeholder ${%.80s} must be node, rank, gpu, port or a metric%s", name,
				metric_hint(r, name, true, hint));
			if (muster_json_reader_go_on(r) < 0)
				return -1;
		}
		at = end;
	}
	return 0;
}

/* ---- when ---- */

static const struct muster_field span_fields[] = {
	{ MUSTER_FIELD(muster_span, min, INT), .low = 1, .optional = true },
	{ MUSTER_FIELD(muster_span, max, INT), .low = 1, .optional = true },
};
static const struct muster_object_type span_type = MUSTER_OBJECT_TYPE(muster_span, span_fields);

int muster_expect_span_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_span *span = into;
	if (muster_json_type(json) == MUSTER_JSON_NUMBER) {
		int result = muster_json_int_read(r, json, 1, INT_MAX, &span->min);
		span->max = span->min;
		return result;
	}
	if (muster_json_type(json) != MUSTER_JSON_OBJECT)
		return muster_json_reader_fail(r, "a number is needed, or an object with min and max");
	if (muster_object_read(r, json, &span_type, span) < 0)
		return -1;
	return span->max && span->min > span->max
		       ? muster_json_reader_fail(r, "min %d is above max %d", span->min, span->max)
		       : 0;
}

static int read_profile(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	unsigned int *profiles = into;
	int profile = muster_json_name_read(r, json, muster_profile_names, MUSTER_PROFILE_COUNT);
	if (profile >= 0)
		*profiles |= 1u << profile;
	return profile < 0 ? -1 : 0;
}

/* One profile, or a list of them, as bits. */
static int read_profiles(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	if (muster_json_type(json) != MUSTER_JSON_ARRAY)
		return read_profile(r, into, json);
	if (muster_json_size(json) == 0)
		return muster_json_reader_fail(r, "at least one profile is needed");
	return muster_json_each_read(r, json, read_profile, into, 0);
}

/* What the run must measure: one name. */
static int read_measure(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	int measure = muster_json_name_read(r, json, muster_measure_names, MUSTER_MEASURE_COUNT);
	if (measure >= 0)
		*(int *)into = 1 << measure;
	return measure < 0 ? -1 : 0;
}

static const struct muster_field when_fields[] = {
	{ MUSTER_FIELD_AS(muster_check, "nodes", when_nodes, OBJECT), .read = muster_expect_span_read,
		.optional = true },
	{ MUSTER_FIELD_AS(muster_check, "ranks", when_ranks, OBJECT), .read = muster_expect_span_read,
		.optional = true },
	{ MUSTER_FIELD_AS(muster_check, "profile", when_profiles, NAME), .read = read_profiles, .optional = true },
	{ MUSTER_FIELD_AS(muster_check, "domains", when_domains, OBJECT), .read = muster_expect_span_read,
		.optional = true },
	{ MUSTER_FIELD_AS(muster_check, "measures", when_measures, NAME), .read = read_measure, .optional = true },
};
static const struct muster_object_type when_type = MUSTER_OBJECT_TYPE(muster_check, when_fields);

/* ---- the tables ---- */

/* Read first: others depend on them. */
static const struct muster_field first_fields[] = {
	{ MUSTER_FIELD(muster_check, metric, TEXT), .read = read_metric, .optional = true },
	{ MUSTER_FIELD(muster_check, ignore_case, BOOLEAN), .optional = true },
	{ MUSTER_FIELD(muster_check, share_of, TEXT), .read = read_share_of, .optional = true },
};
static const struct muster_object_type first_type = MUSTER_OBJECT_TYPE_OPEN(muster_check, first_fields);

/* Keys that are no operators. */
static const struct muster_field key_fields[] = {
	{ .key = "metric", .read = muster_expect_nothing_read, .optional = true },
	{ .key = "ignore_case", .read = muster_expect_nothing_read, .optional = true },
	{ .key = "share_of", .read = muster_expect_nothing_read, .optional = true },
	{ .key = "limit_where", .read = read_limit_where, .optional = true },
	{ MUSTER_FIELD(muster_check, limit_per, OBJECT), .object = &limit_per_type, .optional = true },
	{ MUSTER_FIELD(muster_check, within, TEXT), .read = muster_expect_label_read, .optional = true },
	{ MUSTER_FIELD(muster_check, uniform, BOOLEAN), .optional = true },
	{ MUSTER_FIELD(muster_check, baseline, OBJECT), .object = &muster_baseline_type, .optional = true },
	{ MUSTER_FIELD(muster_check, in_words, TEXT), .least = 1, .optional = true },
	{ MUSTER_FIELD(muster_check, inconclusive_while, OBJECT), .object = &while_type, .optional = true },
	{ MUSTER_FIELD(muster_check, inconclusive_on, OBJECT), MUSTER_FIELD_MANY(muster_check, inconclusive_on_count),
		MUSTER_FIELD_MEMBERS(read_excuse, muster_excuse), .optional = true },
	{ MUSTER_FIELD(muster_check, where, LABELS), MUSTER_FIELD_MANY(muster_check, where_count),
		MUSTER_FIELD_MEMBERS(read_label, muster_label), .optional = true },
	{ .key = "when", .type = MUSTER_FIELD_OBJECT, .object = &when_type, .optional = true },
	{ MUSTER_FIELD_AS(muster_check, "after", after_id, TEXT), .least = 1, .optional = true },
	{ MUSTER_FIELD_AS(muster_check, "also_after", also_after_id, TEXT), .least = 1, .optional = true },
	{ MUSTER_FIELD(muster_check, anywhere, BOOLEAN), .optional = true },
	{ MUSTER_FIELD(muster_check, slows, BOOLEAN), .optional = true },
	{ MUSTER_FIELD(muster_check, severity, NAME), MUSTER_FIELD_NAMES(severities), .optional = true },
	{ MUSTER_FIELD(muster_check, optional, BOOLEAN), .optional = true },
	{ MUSTER_FIELD(muster_check, source, TEXT), .least = 1, .optional = true },
	{ MUSTER_FIELD(muster_check, certainty, TEXT), .read = read_certainty, .optional = true },
	{ MUSTER_FIELD(muster_check, advice, TEXT), .read = muster_expect_advice_read, .optional = true },
	{ MUSTER_FIELD(muster_check, title, TEXT), .least = 1, .optional = true },
	{ MUSTER_FIELD(muster_check, measured_on, TEXT), MUSTER_EXPECT_SHORT_TEXT },
	{ MUSTER_FIELD(muster_check, proof, NAME), MUSTER_FIELD_NAMES(muster_proof_names), .optional = true },
	{ MUSTER_FIELD(muster_check, action_code, TEXT), .read = muster_expect_action_code_read, .optional = true },
};
static const struct muster_object_type keys_type = MUSTER_OBJECT_TYPE(muster_check, key_fields);

struct muster_object_type muster_expect_check_type(struct muster_arena *arena)
{
	struct muster_field *fields = muster_arena_alloc(arena, muster_operator_count * sizeof *fields);
	for (size_t i = 0; i < muster_operator_count; i++)
		fields[i] = (struct muster_field){
			.key = muster_operators[i].name, .read = muster_expect_operator_read, .optional = true
		};
	return (struct muster_object_type){ .fields = fields,
		.count = muster_operator_count,
		.size = sizeof(struct muster_check),
		.base = &keys_type };
}

/* ---- the check ---- */

/* Ids go into reports, job logs and command lines as they are. */
static int check_id(struct muster_json_reader *r, const char *id)
{
	static const char *const taken[] = { "rank.missing", "node.missing", "run.interrupted", "sku.unknown",
		"ring.suspect", "ring.link", "ring.split" }; /* the last three: localize/findings.c */
	size_t good = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789._-");
	if (!*id || id[good] || strlen(id) > 64)
		return muster_json_reader_fail(r, "a check's name has 1 to 64 of a to z, 0 to 9, '.', '_' and '-'");
	if (strncmp(id, "probe.", strlen("probe.")) != 0 && !muster_text_among(id, taken, PARSE_COUNT(taken)))
		return 0;
	return muster_json_reader_fail(r,
		"this name is reserved for muster's own findings (probes, missing ranks and nodes, "
		"interrupted runs, unknown machine types, localisation)");
}

/* A check without a metric is often meant as a patch of an inherited check, under a mistyped name: a check with a
 * similar name, which stands before this one, is suggested. */
static int fail_without_metric(struct muster_json_reader *r, const struct muster_check *check)
{
	const struct muster_check *checks = ((struct muster_expect_parser *)r)->expect->checks;
	char hint[MUSTER_SUGGEST_MAX];
	muster_suggest(check->id, checks, (size_t)(check - checks), sizeof *checks, hint);
	return muster_json_reader_fail(
		r, "no metric is given%s%s", *hint ? ", and no check of this name is inherited" : "", hint);
}

/* in_words stays only where the file that said it also said last which pattern it describes: the words of one file do
 * not hold for a pattern that another file has set. Where a later file has removed the pattern, the words go too. Words
 * that never had a pattern stay, for check_companions to refuse. */
static void drop_foreign_words(struct muster_check *check)
{
	const char *file = muster_expect_file_of(check, "in_words");
	bool any = false, own = true;
	for (size_t i = 0; i < check->operand_count; i++)
		any = any || check->operands[i].operator->worded;
	for (size_t i = 0; check->in_words && i < muster_operator_count; i++) {
		const char *name = muster_operators[i].name;
		if (muster_operators[i].worded && (!any || muster_check_operand_named(check, name)))
			own = own && strcmp(file, muster_expect_file_of(check, name)) == 0;
	}
	if (!own)
		check->in_words = NULL;
}

/* How sure one file is of its value says nothing of the value that a later file puts in its place. */
static void drop_foreign_certainty(struct muster_json_reader *r, struct muster_check *check)
{
	for (size_t i = 0; i < muster_operator_count; i++) {
		const char *name = muster_operators[i].name;
		if (!muster_check_operand_named(check, name))
			continue;
		if (muster_expect_said_later(r, name, "certainty"))
			check->certainty = NULL;
		if (muster_expect_said_later(r, name, "measured_on"))
			check->measured_on = NULL;
	}
}

/* A value that is wanted and proves nothing would never pass. */
static int lint_excuses(struct muster_json_reader *r, const struct muster_check *check)
{
	const struct muster_operand *wanted = muster_check_operand_named(check, "equals");
	char text[256];
	if (!wanted)
		return 0;
	muster_value_text(wanted->value, text, sizeof text);
	for (size_t i = 0; i < check->inconclusive_on_count; i++) {
		if (strcmp(check->inconclusive_on[i].value, text) != 0)
			continue;
		muster_json_reader_say_member(r, "inconclusive_on",
			"\"%.80s\" is the value that equals asks for: this check could never pass", text);
		if (muster_json_reader_go_on(r) < 0)
			return -1;
	}
	return 0;
}

/* The struct muster_check stays usable after a problem that lint goes on from. Without a metric, and after any problem
 * of the check's own keys, what needs all of them is not looked at: it would only say the same problem once more. */
int muster_expect_check_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_expect_parser *p = (struct muster_expect_parser *)r;
	struct muster_check *check = into;
	size_t before = p->problems ? p->problems->count : 0;
	p->check = check;
	check->id = muster_arena_string(r->arena, muster_json_key(json));
	if (check_id(r, check->id) < 0 && muster_json_reader_go_on(r) < 0)
		return -1;
	if (muster_object_read(r, json, &first_type, check) < 0 ||
		muster_object_read(r, json, &p->check_type, check) < 0)
		return -1;
	if (!muster_json_member(json, "metric"))
		return fail_without_metric(r, check);
	if (!check->metric)
		return 0;
	if (!muster_json_member(json, "source"))
		return muster_json_reader_fail(r, "no source: give the source of the expected value");
	if (p->problems && p->problems->count > before)
		return 0; /* the operators cannot be compared with each other */
	if (!muster_json_member(json, "proof"))
		check->proof = muster_check_proof(check);
	muster_expect_trace(p);
	drop_foreign_words(check);
	drop_foreign_certainty(r, check);
	check->measured = muster_measurement_find(p->expect, check->measured_on);
	if (muster_expect_operators_check(r) < 0)
		return -1;
	if (p->problems && (muster_expect_operators_lint(r, json) < 0 || lint_excuses(r, check) < 0 ||
				   muster_expect_certainty_lint(r) < 0 || muster_expect_sources_lint(p) < 0 ||
				   muster_expect_action_lint(r, json) < 0))
		return -1;
	return 0;
}
