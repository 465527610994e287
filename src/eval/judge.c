/* judge.c - one value against one check
 */
#include "eval/eval.h"

#include <string.h>

bool muster_sample_chosen(const struct muster_check *check, const struct muster_sample *sample)
{
	for (size_t i = 0; i < check->where_count; i++) {
		const struct muster_value *label = muster_sample_label(sample, check->where[i].key);

		if (!label || !muster_value_equal(*label, check->where[i].value))
			return false;
	}
	return true;
}

enum muster_status muster_check_status(const struct muster_check *check)
{
	return check->severity == MUSTER_SEVERITY_WARN ? MUSTER_WARN : MUSTER_FAIL;
}

static bool is_one_of(const struct muster_check *check, struct muster_value value)
{
	for (size_t i = 0; i < check->one_of_count; i++)
		if (muster_value_equal(value, check->one_of[i]))
			return true;
	return false;
}

bool muster_check_calibrated(const struct muster_check *check)
{
	return (check->operators & ~(unsigned int)MUSTER_OPS_UNCALIBRATED) != 0;
}

/* True when the value is too far from the median of its like. */
static bool is_outlier(const struct muster_check *check, const struct muster_median *median, double number)
{
	unsigned int ops = check->operators;

	if (median->why_none)
		return false;
	return (ops & MUSTER_OP_MIN_OF_MEDIAN && number < check->min_of_median * median->value) ||
	       (ops & MUSTER_OP_MAX_OF_MEDIAN && number > check->max_of_median * median->value);
}

/* True when the value is on the wrong side of an operator that condemns. */
static bool is_bad(const struct muster_check *check, const struct muster_check_state *state, struct muster_value value)
{
	unsigned int ops = check->operators;

	return (ops & MUSTER_OP_EQUALS && !muster_value_equal(value, check->equals)) ||
	       (ops & MUSTER_OP_ONE_OF && !is_one_of(check, value)) ||
	       (ops & MUSTER_OP_MIN && value.number < check->min) ||
	       (ops & MUSTER_OP_MAX && value.number > check->max) ||
	       (ops & MUSTER_OPS_OF_MEDIAN && is_outlier(check, &state->median, value.number)) ||
	       (ops & MUSTER_OP_MATCHES && state->has_regex && regexec(&state->regex, value.string, 0, NULL, 0) != 0);
}

static bool is_doubtful(const struct muster_check *check, struct muster_value value)
{
	return (check->operators & MUSTER_OP_WARN_BELOW && value.number < check->warn_below) ||
	       (check->operators & MUSTER_OP_WARN_ABOVE && value.number > check->warn_above);
}

const char *muster_check_excuse(const struct muster_check *check, struct muster_value value)
{
	char text[256];

	if (check->inconclusive_on_count == 0)
		return NULL;
	muster_value_text(value, text, sizeof text);
	for (size_t i = 0; i < check->inconclusive_on_count; i++)
		if (strcmp(check->inconclusive_on[i].value, text) == 0)
			return check->inconclusive_on[i].why;
	return NULL;
}

/* equals_by: what the sample's label stands for; NULL when the label's value is not listed. */
static const struct muster_by *by_find(const struct muster_check *check, const struct muster_sample *sample)
{
	const struct muster_value *label = muster_sample_label(sample, check->by_label);
	char text[256];

	if (!label)
		return NULL;
	muster_value_text(*label, text, sizeof text);
	for (size_t i = 0; i < check->by_count; i++)
		if (strcmp(check->by[i].label_value, text) == 0)
			return &check->by[i];
	return NULL;
}

static struct muster_verdict judge_by(
	const struct muster_check *check, const struct muster_sample *sample, struct muster_arena *arena)
{
	const struct muster_by *by = by_find(check, sample);
	const char *list = "";

	if (by && muster_value_equal(by->value, sample->value))
		return (struct muster_verdict){ .status = MUSTER_PASS };
	if (by)
		return (struct muster_verdict){ muster_check_status(check),
			muster_describe_with_unit(by->value, check->metric->unit, arena),
			muster_describe_value(sample->value, arena) };
	for (size_t i = 0; i < check->by_count && i < MUSTER_LIST_MOST; i++)
		list = muster_arena_printf(arena, "%s%s%s", list, i ? ", " : "", check->by[i].label_value);
	if (check->by_count > MUSTER_LIST_MOST)
		list = muster_arena_printf(arena, "%s and %zu more", list, check->by_count - MUSTER_LIST_MOST);
	return (struct muster_verdict){ muster_check_status(check),
		muster_arena_printf(arena, "not expected here: allowed are %s", list),
		muster_describe_value(sample->value, arena) };
}

struct muster_verdict muster_judge_sample(const struct muster_check *check, const struct muster_check_state *state,
	const struct muster_sample *sample, struct muster_arena *arena)
{
	struct muster_verdict verdict = { .status = MUSTER_PASS };
	struct muster_value value = sample->value;
	const char *why;

	if (check->operators & MUSTER_OP_PRESENT && !check->present) {
		verdict.status = muster_check_status(check);
	} else if (value.type == MUSTER_NULL) {
		verdict.status = check->optional ? MUSTER_SKIP : MUSTER_INCONCLUSIVE;
		verdict.observed =
			muster_arena_printf(arena, "null: %s", sample->reason ? sample->reason : "no reason given");
		return verdict;
	} else if (value.type != check->metric->type) {
		verdict.status = MUSTER_INCONCLUSIVE; /* only a report from elsewhere can hold such a value */
		verdict.observed = muster_arena_printf(arena, "a %s where a %s belongs", muster_type_name(value.type),
			muster_type_name(check->metric->type));
		return verdict;
	} else if ((why = muster_check_excuse(check, value))) {
		verdict.status = MUSTER_INCONCLUSIVE;
		verdict.observed = muster_arena_printf(arena, "%s: %s", muster_describe_value(value, arena), why);
		return verdict;
	} else if (check->operators & MUSTER_OP_EQUALS_BY) {
		verdict = judge_by(check, sample, arena);
	}
	if (verdict.status == MUSTER_PASS && is_bad(check, state, value))
		verdict.status = muster_check_status(check);
	if (verdict.status == MUSTER_PASS && is_doubtful(check, value))
		verdict.status = MUSTER_WARN;
	if (verdict.status != MUSTER_PASS && !verdict.observed)
		verdict.observed = muster_describe_value(value, arena);
	return verdict;
}
