/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - operators that hold a number against a fixed limit
 *
 * With share_of, the number is the value divided by the limit metric at the same place, and the limits of the check are
 * shares: 0.6 of gpu.pcie_limit_gbps. eval/answers.c sees to it that the limit is a number above 0.
 */
#include "expect/parse.h"
#include "expect/describe.h"

#include <math.h>

/* The operand's number as a text shows it: a share in per cent, without the sign; "" for no operand. */
static const char *number_of(const struct muster_question *q, const struct muster_operand *operand)
{
	if (!operand)
		return "";
	return muster_describe_value(
		q->check->share_of ? muster_number(operand->value.number * 100) : operand->value, q->arena);
}

/* ---- min, max, warn_below, warn_above ---- */

int muster_limit_parse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_operand *operand = into;
	return muster_json_number_read(r, &operand->value.number, json);
}

double muster_question_measured(const struct muster_question *q)
{
	return q->check->share_of ? q->sample->value.number / q->limit : q->sample->value.number;
}

const char *muster_question_text(const struct muster_question *q, struct muster_value value)
{
	return muster_describe_with_unit(value, muster_metric_unit(q->check->metric), q->arena);
}

const char *muster_question_unit(const struct muster_question *q)
{
	const struct muster_metric *of = q->check->share_of;
	return of ? muster_arena_printf(q->arena, "%% of %s", of->name) : muster_metric_unit(q->check->metric);
}

enum muster_operator_answer muster_limit_min_judge(const struct muster_question *q)
{
	return muster_question_measured(q) < q->operand->value.number ? MUSTER_ANSWER_BAD : MUSTER_ANSWER_GOOD;
}

enum muster_operator_answer muster_limit_max_judge(const struct muster_question *q)
{
	return muster_question_measured(q) > q->operand->value.number ? MUSTER_ANSWER_BAD : MUSTER_ANSWER_GOOD;
}

/* "at least 21 GB/s (warning below 24)"; of shares "at least 60 % of gpu.pcie_limit_gbps (warning below 70 %)". All
 * four operators share this function, so it is called once for a check. min and max: "from 20 to 24 GB/s"; warnings
 * alone: "warning below 24 GB/s". */
const char *muster_limits_describe(const struct muster_question *q)
{
	const struct muster_operand *min = muster_check_operand_named(q->check, "min"),
				    *max = muster_check_operand_named(q->check, "max");
	const struct muster_operand *below = muster_check_operand_named(q->check, "warn_below");
	const struct muster_operand *above = muster_check_operand_named(q->check, "warn_above");
	const struct muster_metric *of = q->check->share_of;
	const char *unit = muster_question_unit(q);
	const char *blank = *unit ? " " : "", *per_cent = of ? " %" : "";
	const char *limits = muster_arena_printf(q->arena, "%s%s%s%s%s%s",
		min && max ? "from "
		: min      ? "at least "
		: max      ? "at most "
			   : "",
		number_of(q, min), min && max ? " to " : "", number_of(q, max), min || max ? blank : "",
		min || max ? unit : "");
	const char *warnings = muster_arena_printf(q->arena, "%s%s%s%s%s", below || above ? "warning " : "",
		below ? "below " : "", number_of(q, below),
		below && above ? " and above "
		: above        ? "above "
			       : "",
		number_of(q, above));
	if (*limits && *warnings)
		return muster_arena_printf(q->arena, "%s (%s%s)", limits, warnings, per_cent);
	return *limits ? limits : muster_arena_printf(q->arena, "%s%s%s", warnings, blank, unit);
}

int muster_limit_min_beside(
	struct muster_json_reader *r, const struct muster_check *check, const struct muster_operand *min)
{
	const struct muster_operand *max = muster_check_operand_named(check, "max");
	return !max || min->value.number <= max->value.number
		       ? 0
		       : muster_json_reader_fail_member(
				 r, "min", "%g is above max, %g", min->value.number, max->value.number);
}

/* A limit that contradicts another one, and the effect: "8 has no effect: min is 9" (the limit, text, the other limit,
 * tail). */
struct conflict {
	const char *other; /* the operator of the other limit */
	bool below;        /* they conflict when the limit lies below the other one; else above */
	bool or_equal;     /* or when both are equal */
	const char *text, *tail;
};

/* A later file has moved the other limit past this one: the problem is said of the other limit, since that file is the
 * one to look at. */
static void say_at_other(struct muster_json_reader *r, const struct muster_operand *operand,
	const struct conflict *conflict, double bound)
{
	const struct muster_json_path *at = r->at;
	r->at = at->up;
	muster_json_reader_say_member(r, conflict->other, "the inherited %s, %g, %s%g%s", operand->operator->name,
		operand->value.number, conflict->text, bound, conflict->tail);
	r->at = at;
}

/* Say each conflict of the operand with another limit of the check. 0, or -1 when a problem ends the reading. */
static int lint_conflicts(struct muster_json_reader *r, const struct muster_operand *operand,
	const struct conflict *conflicts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct conflict *conflict = &conflicts[i];
		const struct muster_operand *other =
			muster_check_operand_named(muster_expect_check_at(r), conflict->other);
		if (!other)
			continue;
		double limit = operand->value.number, bound = other->value.number;
		double beyond = conflict->below ? bound - limit : limit - bound;
		if (beyond < 0 || (!conflict->or_equal && beyond <= 0))
			continue;
		if (muster_expect_said_later(r, conflict->other, operand->operator->name))
			say_at_other(r, operand, conflict, bound);
		else
			muster_json_reader_say(r, "%g %s%g%s", limit, conflict->text, bound, conflict->tail);
		if (muster_json_reader_go_on(r) < 0)
			return -1;
	}
	return 0;
}

int muster_limit_warn_below_lint(struct muster_json_reader *r, void *operand, const struct muster_json *json)
{
	static const struct conflict conflicts[] = {
		{ "min", true, true, "has no effect: min is ", "" },
		{ "max", false, false, "always warns: max is ", "" },
		{ "warn_above", false, false, "is above warn_above, ", ": every value warns" },
	};
	(void)json;
	return lint_conflicts(r, operand, conflicts, PARSE_COUNT(conflicts));
}

int muster_limit_warn_above_lint(struct muster_json_reader *r, void *operand, const struct muster_json *json)
{
	static const struct conflict conflicts[] = {
		{ "max", false, true, "has no effect: max is ", "" },
		{ "min", true, false, "always warns: min is ", "" },
	};
	(void)json;
	return lint_conflicts(r, operand, conflicts, PARSE_COUNT(conflicts));
}

int muster_limits_outside_lint(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const struct muster_check *check = muster_expect_check_at(r);
	const struct muster_operand *min = muster_check_operand_named(check, "min"),
				    *max = muster_check_operand_named(check, "max");
	const struct muster_value *value = into;
	(void)json;
	if (value->type != MUSTER_NUMBER ||
		((!min || value->number >= min->value.number) && (!max || value->number <= max->value.number)))
		return 0;
	return muster_json_reader_fail(r, "%g is outside min and max", value->number);
}
