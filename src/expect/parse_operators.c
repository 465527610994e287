/* SPDX-License-Identifier: Apache-2.0 */
/* parse_operators.c - what a check expects of its metric, and what its operators say together
 *
 * muster_expect_operator_read is called for each key of a check that is the name of an operator, and adds an operand to
 * the check. When all keys are read, two functions look at the operators together:
 *   muster_expect_operators_check   what makes no sense, for every command that loads the file: no operator; two that
 *                                   name exact values (equals and one_of); a key without the operator that it changes
 *                                   (within without same_across); what a row's `beside` refuses (min above max)
 *   muster_expect_operators_lint    what makes sense and is probably a mistake, for lint alone: what a row's `lint`
 *                                   says (warn_below 8 has no effect beside min 9)
 */
#include "expect/parse.h"

#include <math.h>
#include <string.h>

struct muster_check *muster_expect_check_at(struct muster_json_reader *r)
{
	return ((struct muster_expect_parser *)r)->check;
}

/* Into a struct muster_value. The caller has made sure that the check has a metric. */
int muster_expect_metric_value_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	static const enum muster_json_type types[] = {
		[MUSTER_NUMBER] = MUSTER_JSON_NUMBER,
		[MUSTER_STRING] = MUSTER_JSON_STRING,
		[MUSTER_BOOLEAN] = MUSTER_JSON_BOOLEAN,
	};
	const struct muster_metric *metric = muster_expect_check_at(r)->metric;
	enum muster_json_type type = types[metric->type];
	char found[96];
	_Static_assert(PARSE_COUNT(types) == MUSTER_TYPE_COUNT, "every type has its JSON type");
	if (muster_json_type(json) != type)
		return muster_json_reader_fail(r, "%s is needed for %s, found %s", muster_json_type_name(type),
			metric->name, muster_json_shown(json, found, sizeof found));
	return muster_json_value_read(r, into, json);
}

int muster_expect_need_label(struct muster_json_reader *r, const char *label)
{
	const struct muster_metric *metric = muster_expect_check_at(r)->metric;
	const char *all = "";
	if (!metric)
		return 0; /* which is a problem of its own */
	for (size_t i = 0; i < MUSTER_LABELS_MAX && metric->labels[i]; i++) {
		if (strcmp(metric->labels[i], label) == 0)
			return 0;
		all = muster_arena_printf(r->arena, "%s%s%s", all, *all ? ", " : "", metric->labels[i]);
	}
	if (!*all)
		return muster_json_reader_fail(
			r, "%s has no labels, so it has no label \"%.60s\"", metric->name, label);
	return muster_json_reader_fail(r, "%s has no label \"%.60s\", only %s", metric->name, label, all);
}

int muster_expect_label_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const char **label = into;
	return muster_json_text_read(r, into, json) < 0 ? -1 : muster_expect_need_label(r, *label);
}

int muster_expect_need_many(struct muster_json_reader *r)
{
	const struct muster_metric *metric = muster_expect_check_at(r)->metric;
	return metric->scope != MUSTER_SCOPE_JOB
		       ? 0
		       : muster_json_reader_fail(
				 r, "%s has one value for the whole job: there is nothing to compare", metric->name);
}

/* The operators that a type of metric has. */
static const char *list_operators(struct muster_json_reader *r, enum muster_type type)
{
	const char *text = "";
	for (size_t i = 0; i < muster_operator_count; i++)
		if (muster_operators[i].types & 1u << type)
			text = muster_arena_printf(
				r->arena, "%s%s%s", text, *text ? ", " : "", muster_operators[i].name);
	return text;
}

/* The operands of a check lie in the order of the rows of operators.c, whatever the order in the file: texts, and the
 * order in which operators are asked, do not depend on the file. An operator of one type of metric only gets this type
 * for its value before it is parsed (operators.h). */
int muster_expect_operator_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_check *check = into;
	const struct muster_metric *metric = check->metric;
	struct muster_operand operand = { .operator= muster_operator_find(muster_json_key(json)) };
	if (!metric)
		return 0; /* which is a problem of its own */
	if (!(operand.operator->types & 1u << metric->type))
		return muster_json_reader_fail(r, "does not fit: %s is a %s, which has %s", metric->name,
			muster_type_name(metric->type), list_operators(r, metric->type));
	if (operand.operator->types == 1u << metric->type)
		operand.value.type = metric->type;
	if (operand.operator->parse(r, &operand, json) < 0)
		return -1;
	if (!check->operands)
		check->operands = muster_arena_alloc(r->arena, muster_operator_count * sizeof *check->operands);
	size_t at = check->operand_count++;
	for (; at > 0 && check->operands[at - 1].operator> operand.operator; at--)
		check->operands[at] = check->operands[at - 1];
	check->operands[at] = operand;
	return 0;
}

/* A key that changes how an operator works needs one of the operators that heed it:
 *   within        same_across
 *   baseline      min_of_baseline, warn_of_baseline, max_mad
 *   in_words      rows with `worded`
 *   share_of      rows with `shared`, and none with `exact`
 *   ignore_case   rows with `any_case`, of a metric that is a text
 */
static int check_companions(struct muster_json_reader *r, const struct muster_check *check)
{
	const struct muster_operand *peers = muster_check_operand(check, MUSTER_OF_PEERS);
	bool any_case = false, worded = false, shared = false, of_baseline = false;
	for (size_t i = 0; i < check->operand_count; i++) {
		any_case = any_case || check->operands[i].operator->any_case;
		worded = worded || check->operands[i].operator->worded;
		shared = shared || check->operands[i].operator->shared;
		of_baseline = of_baseline || check->operands[i].operator->beside == muster_baseline_beside;
	}
	if (check->within && !peers)
		return muster_json_reader_fail_member(r, "within", "is only allowed with same_across");
	if (check->baseline.count > 0 && !of_baseline)
		return muster_json_reader_fail_member(
			r, "baseline", "says something only beside min_of_baseline, warn_of_baseline or max_mad");
	if (check->in_words && !worded)
		return muster_json_reader_fail_member(r, "in_words", "says something only beside one_of or matches");
	if (check->share_of && !shared)
		return muster_json_reader_fail_member(r, "share_of",
			"says something only beside min, max, warn_below, warn_above, min_of_median, max_of_median or "
			"outlier");
	for (size_t i = 0; check->share_of && i < check->operand_count; i++)
		if (check->operands[i].operator->exact)
			return muster_json_reader_fail_member(r, "share_of",
				"does not fit beside %s, which is a value and no share: give it a check of its own",
				check->operands[i].operator->name);
	if (check->ignore_case && !(any_case && check->metric->type == MUSTER_STRING))
		return muster_json_reader_fail_member(r, "ignore_case",
			"says something only beside an operator that compares strings: equals, one_of, matches or "
			"equals_by");
	return 0;
}

int muster_expect_operators_check(struct muster_json_reader *r)
{
	const struct muster_check *check = muster_expect_check_at(r);
	const char *exact = NULL;
	if (check->operand_count == 0)
		return muster_json_reader_fail(
			r, "no operator: give one of %s", list_operators(r, check->metric->type));
	for (size_t i = 0; i < check->operand_count; i++) {
		const struct muster_operator *operator= check->operands[i].operator;
		if (exact && operator->exact)
			return muster_json_reader_fail(
				r, "%s and %s exclude each other: set one of them to null", exact, operator->name);
		exact = operator->exact ? operator->name : exact;
	}
	if (check_companions(r, check) < 0)
		return -1;
	for (size_t i = 0; i < check->operand_count; i++) {
		const struct muster_operator *operator= check->operands[i].operator;
		if (operator->beside && operator->beside(r, check, &check->operands[i]) < 0)
			return -1;
	}
	return 0;
}

int muster_expect_operators_lint(struct muster_json_reader *r, const struct muster_json *json)
{
	const struct muster_check *check = muster_expect_check_at(r);
	for (size_t i = 0; i < check->operand_count; i++) {
		const struct muster_operator *operator= check->operands[i].operator;
		if (operator->lint && muster_json_member_read(r, operator->name, 0, operator->lint, &check->operands[i],
			    muster_json_member(json, operator->name)) < 0)
			return -1;
	}
	return 0;
}

/* ---- numbers that several operators bound in the same way ---- */

int muster_expect_number_read(struct muster_json_reader *r, double *number, const struct muster_json *json,
	double least, double most, const char *needed)
{
	if (muster_json_number_read(r, number, json) < 0)
		return -1;
	return *number >= least && *number <= most
		       ? 0
		       : muster_json_reader_fail(r, "a number %s is needed, found %.10g", needed, *number);
}

/* nextafter: the bounds themselves, 0 and 1, are refused. */
int muster_expect_share_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	return muster_expect_number_read(r, into, json, nextafter(0, 1), nextafter(1, 0), "above 0 and below 1");
}

int muster_expect_above_0_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	return muster_expect_number_read(r, into, json, nextafter(0, 1), HUGE_VAL, "above 0");
}

int muster_expect_from_0_read(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	return muster_expect_number_read(r, into, json, 0, HUGE_VAL, "from 0");
}
