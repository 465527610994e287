/* SPDX-License-Identifier: Apache-2.0 */
/* baseline.c - min_of_baseline, warn_of_baseline, max_mad: a number compared with a learned median
 *
 * The rule is that of slower_than_peers: a value is bad when it is worse than the median by more than the share and by
 * more than the multiple of the usual distance from the median. A MAD of almost 0 makes no noise fail.
 *
 * By numbers: median 26.1, MAD 0.12, min_of_baseline 0.93, max_mad 5.2. The share allows 0.07 x 26.1 = 1.83, the MAD
 * allows 5.2 x 0.12 = 0.62. The larger one counts: a value below 24.27 is bad. history/baseline.h says where the shares
 * of a learned overlay come from.
 */
#include "expect/describe.h"
#include "expect/parse.h"

#include <limits.h>
#include <math.h>

static const struct muster_field fields[] = {
	{ MUSTER_FIELD(muster_baseline, median, NUMBER), .read = muster_expect_above_0_read }, /* 0 has no share */
	{ MUSTER_FIELD(muster_baseline, mad, NUMBER), .read = muster_expect_from_0_read },
	{ MUSTER_FIELD_AS(muster_baseline, "n", count, SIZE), .low = 1, .high = INT_MAX },
};
const struct muster_object_type muster_baseline_type = MUSTER_OBJECT_TYPE(muster_baseline, fields);

/* A metric of which no value is worse than another cannot be compared. */
static int need_worse(struct muster_json_reader *r)
{
	const struct muster_metric *metric = muster_expect_check_at(r)->metric;
	return muster_metric_worse(metric) != MUSTER_WORSE_NEITHER
		       ? 0
		       : muster_json_reader_fail(
				 r, "does not fit: neither a higher nor a lower %s is the worse one", metric->name);
}

int muster_baseline_share_parse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_operand *operand = into;
	return need_worse(r) < 0 ? -1 : muster_expect_share_read(r, &operand->value.number, json);
}

int muster_baseline_mad_parse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	struct muster_operand *operand = into;
	return need_worse(r) < 0 ? -1 : muster_expect_above_0_read(r, &operand->value.number, json);
}

static const struct muster_operand *find(const struct muster_check *check, const char *name)
{
	return muster_check_operand_named(check, name);
}

int muster_baseline_beside(
	struct muster_json_reader *r, const struct muster_check *check, const struct muster_operand *operand)
{
	if (check->baseline.count == 0)
		return muster_json_reader_fail_member(r, operand->operator->name,
			"needs a baseline beside it: {\"median\": 26.1, \"mad\": 0.12, \"n\": 480}");
	if (check->share_of)
		return muster_json_reader_fail_member(r, "share_of",
			"does not fit beside %s: the baseline is of values, not of shares", operand->operator->name);
	if (check->baseline.mad <= 0 && !find(check, "min_of_baseline") && !find(check, "warn_of_baseline"))
		return muster_json_reader_fail_member(r, operand->operator->name,
			"needs min_of_baseline beside it: the MAD is 0, so every difference would fail");
	return 0;
}

int muster_baseline_warn_lint(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const struct muster_operand *warn = into, *min = find(muster_expect_check_at(r), "min_of_baseline");
	(void)json;
	return !min || warn->value.number > min->value.number
		       ? 0
		       : muster_json_reader_fail(
				 r, "%g has no effect: min_of_baseline is %g", warn->value.number, min->value.number);
}

/* How much worse than the median a value may be, by this share of it (or NULL) and by max_mad. */
static double allowed(const struct muster_check *check, const struct muster_operand *share)
{
	const struct muster_operand *mad = find(check, "max_mad");
	const struct muster_baseline *baseline = &check->baseline;
	return fmax(
		share ? (1 - share->value.number) * baseline->median : 0, mad ? mad->value.number * baseline->mad : 0);
}

static double worse_by(const struct muster_question *q)
{
	double above = q->sample->value.number - q->check->baseline.median;
	return muster_metric_worse(q->check->metric) == MUSTER_WORSE_ABOVE ? above : -above;
}

enum muster_operator_answer muster_baseline_min_judge(const struct muster_question *q)
{
	return worse_by(q) > allowed(q->check, q->operand) ? MUSTER_ANSWER_BAD : MUSTER_ANSWER_GOOD;
}

/* Beside a share, max_mad is part of what the share allows. */
enum muster_operator_answer muster_baseline_mad_judge(const struct muster_question *q)
{
	if (find(q->check, "min_of_baseline") || find(q->check, "warn_of_baseline"))
		return MUSTER_ANSWER_GOOD;
	return worse_by(q) > allowed(q->check, NULL) ? MUSTER_ANSWER_BAD : MUSTER_ANSWER_GOOD;
}

/* "10.3 % below 26.1, the median of 480 earlier values, which is 22 times their MAD (0.12): 23.4" */
const char *muster_baseline_stand(const struct muster_question *q)
{
	const struct muster_baseline *baseline = &q->check->baseline;
	double away = q->sample->value.number - baseline->median;
	const char *mads = baseline->mad > 0 ? muster_arena_printf(q->arena, ", which is %.3g times their MAD (%.3g)",
						       fabs(away) / baseline->mad, baseline->mad)
					     : " (MAD 0)";
	return muster_arena_printf(q->arena, "%.3g %% %s %.4g, the median of %zu earlier values%s: %s",
		100 * fabs(away) / baseline->median, away < 0 ? "below" : "above", baseline->median, baseline->count,
		mads, muster_describe_value(q->sample->value, q->arena));
}

/* "at least 24.27 GB/s (7 % less than the median of 480 earlier values, 26.1; warning below 24.8)"; of times "at most"
 * and "more" */
const char *muster_baseline_describe(const struct muster_question *q)
{
	const struct muster_check *check = q->check;
	const struct muster_baseline *baseline = &check->baseline;
	const struct muster_operand *min = find(check, "min_of_baseline"), *warn = find(check, "warn_of_baseline");
	const char *unit = muster_metric_unit(check->metric), *warning = "";
	bool above = muster_metric_worse(check->metric) == MUSTER_WORSE_ABOVE, only_warns = warn && !min;
	double most = allowed(check, only_warns ? warn : min), sign = above ? 1 : -1;
	if (warn && min)
		warning = muster_arena_printf(q->arena, "; warning %s %.4g", above ? "above" : "below",
			baseline->median + sign * allowed(check, warn));
	return muster_arena_printf(q->arena, "%s %.4g%s%s (%.3g %% %s than the median of %zu earlier values, %.4g%s)",
		only_warns ? above ? "warning above" : "warning below"
		: above    ? "at most"
			   : "at least",
		baseline->median + sign * most, *unit ? " " : "", unit, 100 * most / baseline->median,
		above ? "more" : "less", baseline->count, baseline->median, warning);
}
