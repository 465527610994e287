/* SPDX-License-Identifier: Apache-2.0 */
/* operators.c - the operators of a check: how each is read, judged, described and linted, and the table of them
 *
 * A judge is called for each sample: it allocates nothing, and relies on what the readers have checked.
 * eval/answers.c asks it only about values of the metric's type.
 *
 * The value of each operator in a file, and the file with its functions where that is not this one:
 *   equals                             26.1, "ACTIVE" or true: a value of the metric's type
 *   one_of                             ["A100*", "H100"]: values; texts may be patterns of fnmatch
 *   matches                            "^570\\.": a POSIX extended regular expression
 *   min_version                        "2.9.9"
 *   min, max, warn_below, warn_above   21; beside share_of a share, 0.6 (limits.c)
 *   equals_by                          {"label": "gpu", "values": {"0001:00:00.0": 16, ...}}: by the value of a label
 *   same_across                        "nodes" or "ranks" (eval/same_across.c)
 *   present                            true; or false: there must be no sample
 *   observe                            true: nothing is expected, the value is shown
 *   min_of_median, max_of_median       0.85, 1.2 (peers.c)
 *   slower_than_peers                  {"fail": 0.1, "mad": 3, "warn": 0.05} (peers.c)
 *   outlier                            {"z": 3.5, "share": 0.05} (peers.c)
 *   min_of_baseline, warn_of_baseline  0.93, 0.95, beside "baseline" (baseline.c)
 *   max_mad                            5.2, beside "baseline" (baseline.c)
 *   no_event                           {"table": "xid", "label": "code", "hours": 24} (events.c)
 */
#include "expect/operators.h"
#include "expect/describe.h"
#include "expect/parse.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PATTERN_BYTES_MAX 256 /* matching takes a time that grows with the pattern and the value */

static enum muster_operator_answer answer(bool good)
{
	return good ? MUSTER_ANSWER_GOOD : MUSTER_ANSWER_BAD;
}

/* The first values of the operator's list, with commas. label_values: the keys of equals_by in place of its values. */
static const char *list_text(const struct muster_question *q, bool label_values)
{
	const struct muster_operand *operand = q->operand;
	const char *text = "";
	for (size_t i = 0; i < operand->list_count && i < MUSTER_LIST_MOST; i++)
		text = muster_arena_printf(q->arena, "%s%s%s", text, i ? ", " : "",
			label_values ? operand->list[i].label_value : muster_question_text(q, operand->list[i].value));
	if (operand->list_count > MUSTER_LIST_MOST)
		text = muster_arena_printf(q->arena, "%s and %zu more", text, operand->list_count - MUSTER_LIST_MOST);
	return text;
}

/* The elements or members of the operator's value, each read into an item of the operand's list, in the arena. */
static int read_list(struct muster_json_reader *r, struct muster_operand *operand, const struct muster_json *json,
	muster_field_read_fn *read)
{
	operand->list_count = muster_json_size(json);
	if (operand->list_count == 0)
		return muster_json_reader_fail(r, "at least one value is needed");
	operand->list = muster_arena_alloc(r->arena, operand->list_count * sizeof *operand->list);
	return muster_json_each_read(r, json, read, operand->list, sizeof *operand->list);
}

/* ---- equals, one_of ---- */

static int equals_parse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_operand *operand = into;
	return muster_expect_metric_value_read(r, &operand->value, json);
}

static bool is_value(const struct muster_question *q, struct muster_value expected)
{
	if (expected.type == MUSTER_STRING && q->check->ignore_case)
		return strcasecmp(q->sample->value.string, expected.string) == 0;
	return muster_value_equal(q->sample->value, expected);
}

static enum muster_operator_answer equals_judge(const struct muster_question *q)
{
	return answer(is_value(q, q->operand->value));
}

static const char *equals_describe(const struct muster_question *q)
{
	return muster_question_text(q, q->operand->value);
}

static int equals_lint(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_operand *operand = into;
	return muster_limits_outside_lint(r, &operand->value, json);
}

static int read_listed(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_listed *listed = into;
	if (muster_expect_metric_value_read(r, &listed->value, json) < 0)
		return -1;
	if (listed->value.type == MUSTER_STRING && strlen(listed->value.string) > PATTERN_BYTES_MAX &&
		strpbrk(listed->value.string, "*?["))
		return muster_json_reader_fail(r, "a pattern of more than %d bytes", PATTERN_BYTES_MAX);
	return 0;
}

static int one_of_parse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	return muster_json_need(r, json, MUSTER_JSON_BIT(MUSTER_JSON_ARRAY)) < 0
		       ? -1
		       : read_list(r, into, json, read_listed);
}

/* Texts may be patterns, and each also stands for itself: "GPU [x]" fits "GPU [x]", which as a pattern it does not. */
static enum muster_operator_answer one_of_judge(const struct muster_question *q)
{
	int flags = q->check->ignore_case ? FNM_CASEFOLD : 0;
	for (size_t i = 0; i < q->operand->list_count; i++) {
		struct muster_value item = q->operand->list[i].value;
		if (is_value(q, item) ||
			(item.type == MUSTER_STRING && fnmatch(item.string, q->sample->value.string, flags) == 0))
			return MUSTER_ANSWER_GOOD;
	}
	return MUSTER_ANSWER_BAD;
}

static const char *one_of_describe(const struct muster_question *q)
{
	if (q->check->in_words)
		return q->check->in_words;
	return q->operand->list_count == 1 ? list_text(q, false)
					   : muster_arena_printf(q->arena, "one of %s", list_text(q, false));
}

static int lint_listed(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_listed *listed = into;
	return muster_limits_outside_lint(r, &listed->value, json);
}

static int one_of_lint(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_operand *operand = into;
	return muster_json_each_read(r, json, lint_listed, operand->list, sizeof *operand->list);
}

/* ---- matches, min_version ---- */

static int matches_parse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_operand *operand = into;
	char why[200];
	if (muster_json_text_read(r, &operand->value.string, json) < 0)
		return -1;
	operand->regex =
		muster_regex_compile(operand->value.string, muster_expect_check_at(r)->ignore_case, why, sizeof why);
	return operand->regex ? 0 : muster_json_reader_fail(r, "\"%.80s\" is %s", operand->value.string, why);
}

static enum muster_operator_answer matches_judge(const struct muster_question *q)
{
	return answer(regexec(q->operand->regex, q->sample->value.string, 0, NULL, 0) == 0);
}

static const char *matches_describe(const struct muster_question *q)
{
	return q->check->in_words ? q->check->in_words
				  : muster_arena_printf(q->arena, "text that matches %s", q->operand->value.string);
}

static int min_version_parse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_operand *operand = into;
	if (muster_json_text_read(r, &operand->value.string, json) < 0)
		return -1;
	return muster_version_valid(operand->value.string)
		       ? 0
		       : muster_json_reader_fail(r,
				 "numbers with dots between them are needed (\"2.9.9\"), found \"%.60s\"",
				 operand->value.string);
}

static enum muster_operator_answer min_version_judge(const struct muster_question *q)
{
	return answer(muster_version_reaches(q->sample->value.string, q->operand->value.string));
}

static const char *min_version_describe(const struct muster_question *q)
{
	return muster_arena_printf(q->arena, "%s or later", q->operand->value.string);
}

/* ---- equals_by ---- */

/* A member of equals_by's "values": the key is a value of the label. */
static int read_by_value(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_listed *listed = into;
	listed->label_value = muster_arena_string(r->arena, muster_json_key(json));
	return muster_expect_metric_value_read(r, &listed->value, json);
}

static int read_by_values(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	return muster_json_need(r, json, MUSTER_JSON_BIT(MUSTER_JSON_OBJECT)) < 0
		       ? -1
		       : read_list(r, into, json, read_by_value);
}

static int equals_by_parse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	static const struct muster_field fields[] = {
		{ MUSTER_FIELD(muster_operand, label, TEXT), .read = muster_expect_label_read },
		{ .key = "values", .read = read_by_values },
	};
	static const struct muster_object_type type = MUSTER_OBJECT_TYPE(muster_operand, fields);
	return muster_object_read(r, json, &type, into);
}

/* What is listed for the sample's label; NULL when its value is not listed. */
static const struct muster_listed *find_by_label(const struct muster_question *q)
{
	const struct muster_value *label = muster_sample_label(q->sample, q->operand->label);
	char text[256];
	if (!label)
		return NULL;
	muster_value_text(*label, text, sizeof text);
	for (size_t i = 0; i < q->operand->list_count; i++)
		if (strcmp(q->operand->list[i].label_value, text) == 0)
			return &q->operand->list[i];
	return NULL;
}

/* A sample whose label is not listed is bad: the list has all that there should be. */
static enum muster_operator_answer equals_by_judge(const struct muster_question *q)
{
	const struct muster_listed *by = find_by_label(q);
	return answer(by && is_value(q, by->value));
}

static const char *equals_by_describe(const struct muster_question *q)
{
	const struct muster_operand *operand = q->operand;
	const struct muster_listed *by = q->sample ? find_by_label(q) : NULL;
	if (!q->sample)
		return muster_arena_printf(q->arena, "as listed for each %s", operand->label);
	if (by)
		return muster_question_text(q, by->value);
	return muster_arena_printf(q->arena, "not allowed here; allowed are %s", list_text(q, true));
}

/* ---- same_across ---- */

static int same_across_parse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	static const char *const names[] = { "nodes", "ranks" };
	const struct muster_metric *metric = muster_expect_check_at(r)->metric;
	struct muster_operand *operand = into;
	int peers = muster_json_name_read(r, json, names, PARSE_COUNT(names));
	if (peers < 0 || muster_expect_need_many(r) < 0)
		return -1;
	operand->peers = peers == 0 ? MUSTER_SCOPE_NODE : MUSTER_SCOPE_RANK;
	if (peers == 1 && (metric->scope == MUSTER_SCOPE_NODE || metric->scope == MUSTER_SCOPE_PORT))
		return muster_json_reader_fail(
			r, "%s is a metric of a node, not of a rank: use \"nodes\"", metric->name);
	return 0;
}

/* The first operator of the check that is not this one; NULL when it stands alone. */
static const char *other_name(const struct muster_check *check, const struct muster_operand *operand)
{
	for (size_t i = 0; i < check->operand_count; i++)
		if (&check->operands[i] != operand)
			return check->operands[i].operator->name;
	return NULL;
}

/* "the same on all nodes within each cluster" */
static const char *same_across_describe(const struct muster_question *q)
{
	const char *within = q->check->within;
	return muster_arena_printf(q->arena, "the same on all %ss%s%s", muster_scope_name(q->operand->peers),
		within ? " within each " : "", within ? within : "");
}

/* ---- present, observe ---- */

static int present_parse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_operand *operand = into;
	operand->value.type = MUSTER_BOOLEAN;
	return muster_json_boolean_read(r, &operand->value.boolean, json);
}

static int present_beside(
	struct muster_json_reader *r, const struct muster_check *check, const struct muster_operand *operand)
{
	const char *other = other_name(check, operand);
	return other && !operand->value.boolean
		       ? muster_json_reader_fail(r, "%s is not allowed with present: false", other)
		       : 0;
}

static const char *present_describe(const struct muster_question *q)
{
	if (q->check->operand_count > 1)
		return "";
	return q->operand->value.boolean ? "present" : "not present";
}

/* Only true is allowed: false would be one more way to say nothing. */
static int observe_parse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const struct muster_operand *operand = into;
	if (present_parse(r, into, json) < 0)
		return -1;
	return operand->value.boolean ? 0 : muster_json_reader_fail(r, "true is needed, or null to remove it");
}

static int observe_beside(
	struct muster_json_reader *r, const struct muster_check *check, const struct muster_operand *operand)
{
	const char *other = other_name(check, operand);
	return other ? muster_json_reader_fail(r, "observe and %s exclude each other: set one of them to null", other)
		     : 0;
}

static const char *observe_describe(const struct muster_question *q)
{
	(void)q;
	return "no threshold";
}

/* ---- operators that stand alone ---- */

/* Beside observe, observe_beside says the problem. */
static int alone_beside(
	struct muster_json_reader *r, const struct muster_check *check, const struct muster_operand *operand)
{
	const char *other = other_name(check, operand);
	return other && !muster_check_operand(check, MUSTER_OF_NOTHING)
		       ? muster_json_reader_fail(r, "%s must be the only operator: give %s a check of its own",
				 operand->operator->name, other)
		       : 0;
}

/* ---- the table ---- */

#define NUMBERS (1u << MUSTER_NUMBER)
#define STRINGS (1u << MUSTER_STRING)
#define ALL (NUMBERS | STRINGS | 1u << MUSTER_BOOLEAN)

/* The functions of a row; rows that are described together share the function for that. */
#define SAYS(name) .parse = name##_parse, .describe = name##_describe
#define JUDGES(name) SAYS(name), .judge = name##_judge
#define LIMIT(side)                                                                                                    \
	.types = NUMBERS, .shared = true, .parse = muster_limit_parse, .judge = muster_limit_##side##_judge,           \
	.describe = muster_limits_describe
#define COMPARES(with, name, described)                                                                                \
	.types = NUMBERS, .kind = MUSTER_OF_##with, .uncalibrated = true, .parse = muster_##name##_parse,              \
	.judge = muster_##name##_judge, .describe = muster_##described##_describe
#define BASELINE(read, name)                                                                                           \
	.types = NUMBERS, .gives_way = true, .parse = muster_baseline_##read##_parse,                                  \
	.beside = muster_baseline_beside, .judge = muster_baseline_##name##_judge, .stand = muster_baseline_stand,     \
	.describe = muster_baseline_describe

/* In the order in which the operands of a check lie: they are asked, described and named in messages in this order. */
const struct muster_operator muster_operators[] = {
	{ .name = "equals", .types = ALL, .exact = true, .any_case = true, .lint = equals_lint, JUDGES(equals) },
	{ .name = "one_of",
		.types = ALL,
		.exact = true,
		.any_case = true,
		.worded = true,
		.lint = one_of_lint,
		JUDGES(one_of) },
	{ .name = "matches", .types = STRINGS, .any_case = true, .worded = true, JUDGES(matches) },
	{ .name = "min_version", .types = STRINGS, JUDGES(min_version) },
	{ .name = "min", .beside = muster_limit_min_beside, LIMIT(min) },
	{ .name = "max", LIMIT(max) },
	{ .name = "warn_below", .warns = true, .lint = muster_limit_warn_below_lint, LIMIT(min) },
	{ .name = "warn_above", .warns = true, .lint = muster_limit_warn_above_lint, LIMIT(max) },
	{ .name = "equals_by",
		.types = ALL,
		.kind = MUSTER_OF_LABEL,
		.exact = true,
		.any_case = true,
		.each_sample = true,
		JUDGES(equals_by) },
	{ .name = "same_across", .types = ALL, .kind = MUSTER_OF_PEERS, .beside = alone_beside, SAYS(same_across) },
	{ .name = "present", .types = ALL, .kind = MUSTER_OF_PRESENCE, .beside = present_beside, SAYS(present) },
	{ .name = "observe",
		.types = ALL,
		.kind = MUSTER_OF_NOTHING,
		.uncalibrated = true,
		.beside = observe_beside,
		SAYS(observe) },
	{ .name = "min_of_median", .shared = true, COMPARES(MEDIAN, median_min, medians) },
	{ .name = "max_of_median", .shared = true, COMPARES(MEDIAN, median_max, medians) },
	{ .name = "slower_than_peers",
		.each_sample = true,
		.beside = alone_beside,
		.lint = muster_slower_lint,
		COMPARES(OTHERS, slower, slower) },
	{ .name = "outlier",
		.shared = true,
		.gives_way = true,
		.beside = alone_beside,
		.stand = muster_outlier_stand,
		COMPARES(FLEET, outlier, outlier) },
	{ .name = "min_of_baseline", BASELINE(share, min) },
	{ .name = "warn_of_baseline", .warns = true, .lint = muster_baseline_warn_lint, BASELINE(share, min) },
	{ .name = "max_mad", BASELINE(mad, mad) },
	{ .name = "no_event",
		.types = NUMBERS,
		.kind = MUSTER_OF_EVENT,
		.each_sample = true,
		.beside = alone_beside,
		JUDGES(muster_no_event) },
};
const size_t muster_operator_count = sizeof muster_operators / sizeof *muster_operators;

const struct muster_operator *muster_operator_find(const char *name)
{
	for (size_t i = 0; i < muster_operator_count; i++)
		if (strcmp(muster_operators[i].name, name) == 0)
			return &muster_operators[i];
	return NULL;
}

/* ---- versions of numbers with dots between them ---- */

#define DIGITS "0123456789"

bool muster_version_valid(const char *text)
{
	for (;; text++) {
		size_t digits = strspn(text, DIGITS);
		text += digits;
		if (digits == 0 || !*text)
			return digits > 0;
		if (*text != '.')
			return false;
	}
}

/* The number at *at: its digits without leading zeros, and how many they are; 0 for the number 0 and for none at all.
 * *at moves behind the number. Numbers are compared by their digits, so a version of any length does not overflow. */
static size_t take_number(const char **at, const char **ret_digits)
{
	size_t length;
	*at += strspn(*at, "0");
	*ret_digits = *at;
	length = strspn(*at, DIGITS);
	*at += length;
	return length;
}

/* Behind the dot at `at` when another number follows, else the end. */
static const char *next_number(const char *at)
{
	return *at == '.' && strspn(at + 1, DIGITS) > 0 ? at + 1 : "";
}

bool muster_version_reaches(const char *version, const char *least)
{
	if (strspn(version, DIGITS) == 0)
		return false;
	while (*version || *least) {
		const char *has, *needs;
		size_t length = take_number(&version, &has), least_length = take_number(&least, &needs);
		int order = length != least_length ? (length > least_length ? 1 : -1) : strncmp(has, needs, length);
		if (order)
			return order > 0;
		version = next_number(version);
		least = next_number(least);
	}
	return true;
}
