/* parse_operators.c - what a check expects of its metric, and what its operators say together
 */
#include "expect/parse.h"

#include <string.h>

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
			p, "%s has no labels, so it has no label \"%.60s\"", metric->name, label);
	return muster_expect_parse_complain(p, "%s has no label \"%.60s\", only %s", metric->name, label,
		muster_expect_parse_list(metric->labels, count, p->expect->arena));
}

int muster_expect_parse_need_many(struct muster_expect_parser *p)
{
	const struct muster_metric *metric = p->check->metric;
	if (metric->scope != MUSTER_SCOPE_JOB)
		return 0;
	return muster_expect_parse_complain(
		p, "%s has one value for the whole job: there is nothing to compare", metric->name);
}

int muster_expect_parse_within(struct muster_expect_parser *p, void *into, const struct muster_json *json)
{
	struct muster_check *check = into;
	return muster_expect_parse_text(p, &check->within, json) < 0 ? -1
								     : muster_expect_parse_need_label(p, check->within);
}

/* The operators that a type of metric has. */
static const char *operators_text(struct muster_expect_parser *p, enum muster_type type)
{
	const char *text = "";
	for (size_t i = 0; i < muster_operator_count; i++)
		if (muster_operators[i].types & 1u << type)
			text = muster_arena_printf(
				p->expect->arena, "%s%s%s", text, *text ? ", " : "", muster_operators[i].name);
	return text;
}

static int operator_read(
	struct muster_expect_parser *p, const struct muster_operator *operator, const struct muster_json * json)
{
	struct muster_check *check = p->check;
	const struct muster_metric *metric = check->metric;
	struct muster_operand *operand = &check->operands[check->operand_count];
	if (!(operator->types & 1u << metric->type))
		return muster_expect_parse_complain(p, "does not fit: %s is a %s, which has %s", metric->name,
			muster_type_name(metric->type), operators_text(p, metric->type));
	*operand = (struct muster_operand){ .operator= operator};
	if (operator->parse(p, operand, json) < 0)
		return -1;
	check->operand_count++;
	return 0;
}

int muster_expect_parse_operators(struct muster_expect_parser *p, const struct muster_json *check)
{
	size_t depth = p->depth;
	p->check->operands = muster_arena_alloc(p->expect->arena, muster_json_size(check) * sizeof *p->check->operands);
	for (size_t i = 0; i < muster_operator_count; i++) {
		const struct muster_json *member = muster_json_member(check, muster_operators[i].name);

		if (!member)
			continue;
		muster_expect_parse_enter(p, muster_operators[i].name);
		if (muster_expect_parse_go_on(p, depth, operator_read(p, &muster_operators[i], member)) < 0)
			return -1;
	}
	return 0;
}

/* Keys that change how an operator works, which must be there. */
static int companions_check(struct muster_expect_parser *p)
{
	const struct muster_check *check = p->check;
	const struct muster_operand *peers = muster_check_operand(check, MUSTER_OF_PEERS);
	bool any_case = false, worded = false;
	for (size_t i = 0; i < check->operand_count; i++) {
		any_case = any_case || check->operands[i].operator->any_case;
		worded = worded || check->operands[i].operator->worded;
	}
	if (check->within && !(peers && peers->peers == MUSTER_SCOPE_NODE)) {
		muster_expect_parse_enter(p, "within");
		return muster_expect_parse_complain(p, "is only allowed with same_across: \"nodes\"");
	}
	if (check->in_words && !worded) {
		muster_expect_parse_enter(p, "in_words");
		return muster_expect_parse_complain(p, "says something only beside one_of or matches");
	}
	if (check->ignore_case && !(any_case && check->metric->type == MUSTER_STRING)) {
		muster_expect_parse_enter(p, "ignore_case");
		return muster_expect_parse_complain(p,
			"says something only beside an operator that compares strings: equals, "
			"one_of, matches or equals_by");
	}
	return 0;
}

int muster_expect_parse_operators_check(struct muster_expect_parser *p)
{
	const struct muster_check *check = p->check;
	const char *exact = NULL;
	if (check->operand_count == 0)
		return muster_expect_parse_complain(
			p, "no operator: give one of %s", operators_text(p, check->metric->type));
	for (size_t i = 0; i < check->operand_count; i++) {
		const struct muster_operator *operator= check->operands[i].operator;

		if (exact && operator->exact)
			return muster_expect_parse_complain(
				p, "%s and %s exclude each other: set one of them to null", exact, operator->name);
		exact = operator->exact ? operator->name : exact;
	}
	if (companions_check(p) < 0)
		return -1;
	for (size_t i = 0; i < check->operand_count; i++) {
		const struct muster_operand *operand = &check->operands[i];

		if (operand->operator->beside && operand->operator->beside(p, operand) < 0)
			return -1;
	}
	return 0;
}

int muster_expect_parse_operators_lint(struct muster_expect_parser *p)
{
	const struct muster_check *check = p->check;
	size_t depth = p->depth;
	for (size_t i = 0; i < check->operand_count; i++) {
		const struct muster_operand *operand = &check->operands[i];

		if (!operand->operator->lint)
			continue;
		muster_expect_parse_enter(p, operand->operator->name);
		if (muster_expect_parse_go_on(p, depth, operand->operator->lint(p, operand)) < 0)
			return -1;
	}
	return 0;
}
