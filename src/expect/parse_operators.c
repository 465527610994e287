/* parse_operators.c - what a check expects of its metric, and what its operators say together
 */
#include "expect/parse.h"

#include <stddef.h>
#include <string.h>

static const char *const acrosses[] = { [MUSTER_ACROSS_NODES] = "nodes", [MUSTER_ACROSS_RANKS] = "ranks" };

int muster_expect_parse_metric_value(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	static const struct {
		enum muster_json_type json;
		const char *name;
	} types[] = {
		[MUSTER_NULL] = { MUSTER_JSON_NULL, "nothing" },
		[MUSTER_NUMBER] = { MUSTER_JSON_NUMBER, "a number" },
		[MUSTER_STRING] = { MUSTER_JSON_STRING, "a string" },
		[MUSTER_BOOLEAN] = { MUSTER_JSON_BOOLEAN, "true or false" },
	};
	const struct muster_metric *metric = p->check->metric;
	struct muster_value *ret = into;
	char found[96];

	_Static_assert(PARSE_COUNT(types) == MUSTER_TYPE_COUNT, "every type has its JSON type");
	if (muster_json_type(json) != types[metric->type].json)
		return muster_expect_parse_complain(p, "%s is needed for %s, found %s", types[metric->type].name,
			metric->name, muster_expect_parse_found(json, found, sizeof found));
	if (metric->type == MUSTER_NUMBER)
		*ret = muster_number(muster_json_number(json));
	else if (metric->type == MUSTER_STRING)
		*ret = muster_string(muster_arena_string(p->expect->arena, muster_json_string(json)));
	else
		*ret = muster_boolean(muster_json_boolean(json));
	return 0;
}

int muster_expect_parse_need_label(struct muster_expect_parser *p, const char *label)
{
	const struct muster_metric *metric = p->check->metric;
	size_t count = 0;

	for (; count < MUSTER_LABELS_MAX && metric->labels[count]; count++)
		if (strcmp(metric->labels[count], label) == 0)
			return 0;
	if (count == 0)
		return muster_expect_parse_complain(
			p, "%s carries no labels, so none called \"%.60s\"", metric->name, label);
	return muster_expect_parse_complain(p, "%s carries no label \"%.60s\", only %s", metric->name, label,
		muster_expect_parse_list(metric->labels, count, p->expect->arena));
}

int muster_expect_parse_alternatives(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	struct muster_check *check = into;

	if (muster_expect_parse_need(p, json, MUSTER_JSON_ARRAY) < 0)
		return -1;
	check->one_of_count = muster_json_size(json);
	if (check->one_of_count == 0)
		return muster_expect_parse_complain(p, "at least one value is needed");
	check->one_of = muster_arena_alloc(p->expect->arena, check->one_of_count * sizeof *check->one_of);
	return muster_expect_parse_each(
		p, json, muster_expect_parse_metric_value, check->one_of, sizeof *check->one_of);
}

int muster_expect_parse_matches(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	struct muster_check *check = into;
	const char *problem;
	regex_t regex;
	char why[128];
	int code;

	if (muster_expect_parse_text(p, &check->matches, json) < 0)
		return -1;
	problem = muster_regex_problem(check->matches);
	if (problem)
		return muster_expect_parse_complain(
			p, "\"%.80s\" is too much of a regular expression: %s", check->matches, problem);
	code = regcomp(&regex, check->matches, REG_EXTENDED | REG_NOSUB);
	if (code != 0) {
		regerror(code, &regex, why, sizeof why);
		return muster_expect_parse_complain(
			p, "\"%.80s\" is no POSIX extended regular expression: %s", check->matches, why);
	}
	regfree(&regex);
	return 0;
}

static int read_by_label(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	struct muster_check *check = into;

	return muster_expect_parse_text(p, &check->by_label, json) < 0
		       ? -1
		       : muster_expect_parse_need_label(p, check->by_label);
}

static int read_by(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	struct muster_by *by = into;

	by->label_value = muster_arena_string(p->expect->arena, muster_json_key(json));
	return muster_expect_parse_metric_value(p, &by->value, json);
}

static int read_by_values(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	struct muster_check *check = into;

	if (muster_expect_parse_need(p, json, MUSTER_JSON_OBJECT) < 0)
		return -1;
	check->by_count = muster_json_size(json);
	if (check->by_count == 0)
		return muster_expect_parse_complain(p, "at least one value is needed");
	check->by = muster_arena_alloc(p->expect->arena, check->by_count * sizeof *check->by);
	return muster_expect_parse_each(p, json, read_by, check->by, sizeof *check->by);
}

int muster_expect_parse_equals_by(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	static const struct muster_expect_parse_key keys[] = {
		{ "label", read_by_label, 0, 0, 0 },
		{ "values", read_by_values, 0, 0, 0 },
	};

	if (muster_expect_parse_need(p, json, MUSTER_JSON_OBJECT) < 0 ||
		muster_expect_parse_known(p, json, keys, PARSE_COUNT(keys)) < 0)
		return -1;
	for (size_t i = 0; i < PARSE_COUNT(keys); i++)
		if (!muster_json_member(json, keys[i].name))
			return muster_expect_parse_complain(p, "both \"label\" and \"values\" are needed");
	return muster_expect_parse_members(p, json, keys, PARSE_COUNT(keys), into);
}

/* One fact has nothing beside it. */
static int need_many(struct muster_expect_parser *p)
{
	const struct muster_metric *metric = p->check->metric;

	if (metric->scope != MUSTER_SCOPE_JOB)
		return 0;
	return muster_expect_parse_complain(
		p, "%s is one fact about the whole job: there is nothing to compare", metric->name);
}

int muster_expect_parse_same_across(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	struct muster_check *check = into;
	int across = muster_expect_parse_one_of(p, json, acrosses, PARSE_COUNT(acrosses));
	enum muster_scope scope = check->metric->scope;

	if (across < 0 || need_many(p) < 0)
		return -1;
	check->across = (enum muster_across)across;
	if (check->across == MUSTER_ACROSS_RANKS && (scope == MUSTER_SCOPE_NODE || scope == MUSTER_SCOPE_PORT))
		return muster_expect_parse_complain(
			p, "%s is a fact about a node, not about a rank: use \"nodes\"", check->metric->name);
	return 0;
}

int muster_expect_parse_within(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	struct muster_check *check = into;

	return muster_expect_parse_text(p, &check->within, json) < 0 ? -1
								     : muster_expect_parse_need_label(p, check->within);
}

/* True is all that it can be: false would be one more way to write nothing. */
int muster_expect_parse_observe(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	(void)into;
	if (muster_expect_parse_need(p, json, MUSTER_JSON_BOOLEAN) < 0)
		return -1;
	return muster_json_boolean(json) ? 0 : muster_expect_parse_complain(p, "true is needed, or null to remove it");
}

int muster_expect_parse_min_of_median(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	double *share = into;
	char found[96];

	if (muster_expect_parse_number(p, share, json) < 0 || need_many(p) < 0)
		return -1;
	if (*share > 0 && *share <= 1)
		return 0;
	return muster_expect_parse_complain(p, "a number above 0 and up to 1 is needed, found %s",
		muster_expect_parse_found(json, found, sizeof found));
}

int muster_expect_parse_max_of_median(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	double *share = into;
	char found[96];

	if (muster_expect_parse_number(p, share, json) < 0 || need_many(p) < 0)
		return -1;
	if (*share >= 1)
		return 0;
	return muster_expect_parse_complain(
		p, "a number from 1 is needed, found %s", muster_expect_parse_found(json, found, sizeof found));
}

/* The operators that a type of metric has. */
static const char *operators_text(struct muster_expect_parser *p, enum muster_type type)
{
	const char *text = "";

	for (size_t i = 0; i < muster_expect_parse_check_key_count; i++)
		if (muster_expect_parse_check_keys[i].types & 1u << type)
			text = muster_arena_printf(p->expect->arena, "%s%s%s", text, *text ? ", " : "",
				muster_expect_parse_check_keys[i].name);
	return text;
}

int muster_expect_parse_operator_fits(struct muster_expect_parser *p, const struct muster_expect_parse_key *key)
{
	const struct muster_metric *metric = p->check->metric;

	if (key->types & 1u << metric->type)
		return 0;
	return muster_expect_parse_complain(p, "does not fit: %s is a %s, which has %s", metric->name,
		muster_type_name(metric->type), operators_text(p, metric->type));
}

/* The first of these. */
static const char *operator_name(unsigned int operators)
{
	for (size_t i = 0; i < muster_expect_parse_check_key_count; i++)
		if (muster_expect_parse_check_keys[i].op & operators)
			return muster_expect_parse_check_keys[i].name;
	return "";
}

int muster_expect_parse_operators_check(struct muster_expect_parser *p)
{
	const unsigned int exact = MUSTER_OP_EQUALS | MUSTER_OP_ONE_OF | MUSTER_OP_EQUALS_BY;
	const struct muster_check *check = p->check;
	unsigned int ops = check->operators, others = ops & ~(unsigned int)MUSTER_OP_PRESENT;

	if (!ops)
		return muster_expect_parse_complain(
			p, "nothing is expected: give one of %s", operators_text(p, check->metric->type));
	if ((ops & exact & ((ops & exact) - 1)) != 0)
		return muster_expect_parse_complain(p, "%s and %s exclude each other: set one of them to null",
			operator_name(ops & exact & ~((ops & exact) - 1)),
			operator_name(ops & exact & ((ops & exact) - 1)));
	if (ops & MUSTER_OP_OBSERVE && ops != MUSTER_OP_OBSERVE)
		return muster_expect_parse_complain(p, "observe and %s exclude each other: set one of them to null",
			operator_name(ops & ~(unsigned int)MUSTER_OP_OBSERVE));
	if (check->within && !(ops & MUSTER_OP_SAME_ACROSS && check->across == MUSTER_ACROSS_NODES)) {
		muster_expect_parse_enter(p, "within");
		return muster_expect_parse_complain(p, "says something only beside same_across: \"nodes\"");
	}
	if (check->in_words && !(ops & MUSTER_OP_MATCHES)) {
		muster_expect_parse_enter(p, "in_words");
		return muster_expect_parse_complain(p, "says something only beside matches");
	}
	if (ops & MUSTER_OP_PRESENT && !check->present && others)
		return muster_expect_parse_complain(
			p, "%s says nothing about what must not be present", operator_name(others));
	if (ops & MUSTER_OP_SAME_ACROSS && ops != MUSTER_OP_SAME_ACROSS)
		return muster_expect_parse_complain(p, "same_across stands alone: give %s a check of its own",
			operator_name(ops & ~(unsigned int)MUSTER_OP_SAME_ACROSS));
	if (ops & MUSTER_OP_MIN && ops & MUSTER_OP_MAX && check->min > check->max) {
		muster_expect_parse_enter(p, "min");
		return muster_expect_parse_complain(p, "%g is above max, %g", check->min, check->max);
	}
	return 0;
}
