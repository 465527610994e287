/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - operators that compare a value with those of other places: min_of_median, max_of_median, slower_than_peers,
 * outlier
 *
 * eval/peers.c says with which places each of them compares, and finds the median and the distances.
 *
 * slower_than_peers is the rule of Megatron-LM's gpu_sniff_test.py: an outlier is worse than the median by a share and
 * by the usual distance from the median, whichever is more.
 *
 * outlier takes the modified z-score of Iglewicz and Hoaglin (How to Detect and Handle Outliers, ASQC Quality Press,
 * 1993): 0.6745 (x - median) / MAD, where 0.6745 makes the MAD of a normal distribution its standard deviation; beyond
 * 3.5 they call x an outlier. The same for a MAD of 0, which equal values give: the mean distance from the median,
 * times 1.2533. Healthy machines can have two groups of values: near and far memory within each node, or racks with
 * different paths. So a value is no outlier when the same GPU of most other nodes, or a group among them, is as low, or
 * when many of all others are.
 */
#include "expect/describe.h"
#include "expect/parse.h"

#include <math.h>

#define PEERS_LEAST 7                     /* other values: the spread of fewer says little */
#define MAD_OF_NORMAL 0.6745              /* MAD / standard deviation */
#define MEAN_DEVIATION_OF_NORMAL 1.253314 /* standard deviation / mean deviation: sqrt(pi / 2) */
#define GROUP_OF_LIKE (1.0 / 8)           /* of the same GPU on other nodes; without other nodes, of all others */
#define GROUP_OF_ALL (1.0 / 4)

/* The metric must be one of a rank or a GPU. */
static int need_peers(struct muster_json_reader *r)
{
	const struct muster_metric *metric = muster_expect_check_at(r)->metric;
	return metric->scope == MUSTER_SCOPE_RANK || metric->scope == MUSTER_SCOPE_GPU
		       ? 0
		       : muster_json_reader_fail(r,
				 "%s is no metric of a rank or a GPU: there are no peers to compare with",
				 metric->name);
}

/* ---- min_of_median, max_of_median ---- */

static int parse_share(struct muster_json_reader *r, struct muster_operand *operand, const struct muster_json *json,
	double least, double most, const char *needed)
{
	return muster_expect_need_many(r) < 0
		       ? -1
		       : muster_expect_number_read(r, &operand->value.number, json, least, most, needed);
}

int muster_median_min_parse(struct muster_json_reader *r, void *operand, const struct muster_json *json)
{
	return parse_share(r, operand, json, nextafter(0, 1), 1, "above 0 and up to 1");
}

int muster_median_max_parse(struct muster_json_reader *r, void *operand, const struct muster_json *json)
{
	return parse_share(r, operand, json, 1, HUGE_VAL, "from 1");
}

enum muster_operator_answer muster_median_min_judge(const struct muster_question *q)
{
	bool low = muster_question_measured(q) < q->operand->value.number * q->others->median;
	return low && !q->others->why_none ? MUSTER_ANSWER_BAD : MUSTER_ANSWER_GOOD;
}

enum muster_operator_answer muster_median_max_judge(const struct muster_question *q)
{
	bool high = muster_question_measured(q) > q->operand->value.number * q->others->median;
	return high && !q->others->why_none ? MUSTER_ANSWER_BAD : MUSTER_ANSWER_GOOD;
}

/* Both as "A to B", or the one that there is: times this factor. */
static const char *shares_text(
	const struct muster_operand *min, const struct muster_operand *max, double factor, struct muster_arena *arena)
{
	const char *low = min ? muster_describe_value(muster_number(min->value.number * factor), arena) : "";
	const char *high = max ? muster_describe_value(muster_number(max->value.number * factor), arena) : "";
	return muster_arena_printf(arena, "%s%s%s", low, min && max ? " to " : "", high);
}

/* "at least 85 % of the median of this run"; with a known median "at least 22.02 GB/s (85 % of the median of this run,
 * 25.9 GB/s)". With share_of "at least 75 % of port.limit_gbps (85 % of the median of this run, 88 %)". */
const char *muster_medians_describe(const struct muster_question *q)
{
	const struct muster_operand *min = muster_check_operand_named(q->check, "min_of_median");
	const struct muster_operand *max = muster_check_operand_named(q->check, "max_of_median");
	const struct muster_metric *whole = q->check->share_of;
	const char *bound = min && max ? "from" : min ? "at least" : "at most";
	const char *unit = muster_question_unit(q);
	const char *shares = shares_text(min, max, 100, q->arena);
	const struct muster_others *all = q->others;
	if (!all || all->why_none)
		return muster_arena_printf(q->arena, "%s %s %% of the median of this run%s%s%s", bound, shares,
			all ? " (not evaluated: " : "", all ? all->why_none : "", all ? ")" : "");
	double middle = all->median * (whole ? 100 : 1);
	return muster_arena_printf(q->arena, "%s %s%s%s (%s %% of the median of this run, %s)", bound,
		shares_text(min, max, middle, q->arena), *unit ? " " : "", unit, shares,
		muster_describe_with_unit(muster_number(middle), whole ? "%" : unit, q->arena));
}

/* ---- slower_than_peers ---- */

int muster_slower_parse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	static const struct muster_field fields[] = {
		{ MUSTER_FIELD_AS(muster_operand, "fail", value.number, NUMBER), .read = muster_expect_share_read },
		{ MUSTER_FIELD(muster_operand, warn, NUMBER), .read = muster_expect_share_read, .optional = true },
		{ MUSTER_FIELD(muster_operand, mad, NUMBER), .read = muster_expect_from_0_read, .optional = true },
	};
	static const struct muster_object_type type = MUSTER_OBJECT_TYPE(muster_operand, fields);
	return need_peers(r) < 0 ? -1 : muster_object_read(r, json, &type, into);
}

int muster_slower_lint(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	const struct muster_operand *operand = into;
	(void)json;
	return operand->warn < operand->value.number ? 0
						     : muster_json_reader_fail(r, "warn, %g, has no effect: fail is %g",
							       operand->warn, operand->value.number);
}

/* How far from the median a value may be, for this share of it. */
static double allowed(const struct muster_operand *operand, const struct muster_others *others, double share)
{
	return fmax(share * others->median, operand->mad * others->deviation);
}

enum muster_operator_answer muster_slower_judge(const struct muster_question *q)
{
	const struct muster_others *others = q->others;
	double value = q->sample->value.number;
	if (others->why_none)
		return MUSTER_ANSWER_GOOD;
	double behind = muster_units[q->check->metric->unit].time ? value - others->median : others->median - value;
	if (behind > allowed(q->operand, others, q->operand->value.number))
		return MUSTER_ANSWER_BAD;
	return q->operand->warn > 0 && behind > allowed(q->operand, others, q->operand->warn) ? MUSTER_ANSWER_WARN
											      : MUSTER_ANSWER_GOOD;
}

/* "at most 10 % slower than the median of the other ranks with the same GPU model (warning from 5 %)"; of a sample "at
 * most 11 ms (10 % more than 10 ms, the median of the 7 other ranks with NVIDIA H200; warning above 5 %)" */
const char *muster_slower_describe(const struct muster_question *q)
{
	const struct muster_operand *operand = q->operand;
	const struct muster_others *others = q->others;
	struct muster_arena *arena = q->arena;
	const char *warning = "", *unit = muster_metric_unit(q->check->metric);
	if (operand->warn > 0)
		warning = muster_arena_printf(arena, "warning above %g %%", operand->warn * 100);
	if (!q->sample || !others || others->why_none)
		return muster_arena_printf(arena,
			"at most %g %% slower than the median of the other ranks with the same GPU model%s%s%s",
			operand->value.number * 100, *warning ? " (" : "", warning, *warning ? ")" : "");
	bool more = muster_units[q->check->metric->unit].time;
	double away = allowed(operand, others, operand->value.number),
	       bound = more ? others->median + away : others->median - away;
	return muster_arena_printf(arena,
		"%s %.4g%s%s (%.3g %% %s than %.4g, the median of the %zu other ranks with %s%s%s)",
		more ? "at most" : "at least", bound, *unit ? " " : "", unit, 100 * away / others->median,
		more ? "more" : "less", others->median, others->count, others->model, *warning ? "; " : "", warning);
}

/* ---- outlier ---- */

int muster_outlier_parse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	static const struct muster_field fields[] = {
		{ MUSTER_FIELD_AS(muster_operand, "z", value.number, NUMBER), .read = muster_expect_above_0_read },
		{ MUSTER_FIELD_AS(muster_operand, "share", warn, NUMBER), .read = muster_expect_share_read },
	};
	static const struct muster_object_type type = MUSTER_OBJECT_TYPE(muster_operand, fields);
	const struct muster_metric *metric = muster_expect_check_at(r)->metric;
	if (need_peers(r) < 0)
		return -1;
	if (muster_metric_worse(metric) != MUSTER_WORSE_BELOW)
		return muster_json_reader_fail(r, "does not fit: a lower %s is not the worse one", metric->name);
	return muster_object_read(r, json, &type, into);
}

/* -INFINITY when all others are equal. */
static double score(const struct muster_question *q)
{
	const struct muster_others *others = q->others;
	double spread = others->deviation > 0 ? others->deviation / MAD_OF_NORMAL
					      : others->mean_deviation * MEAN_DEVIATION_OF_NORMAL;
	return spread > 0 ? (muster_question_measured(q) - others->median) / spread : -INFINITY;
}

/* Whether more than this share of them is low. */
static bool are_group(const struct muster_others *others, double share)
{
	return (double)others->bad > share * (double)others->count;
}

enum muster_operator_answer muster_outlier_judge(const struct muster_question *q)
{
	const struct muster_others *others = q->others, *like = q->like;
	double part = 1 - q->operand->warn;
	bool has_like = !like->why_none;
	if (others->why_none || others->count < PEERS_LEAST || muster_question_measured(q) >= part * others->median)
		return MUSTER_ANSWER_GOOD;
	if (are_group(others, has_like ? GROUP_OF_ALL : GROUP_OF_LIKE))
		return MUSTER_ANSWER_GOOD;
	if (has_like && (muster_question_measured(q) >= part * like->median || are_group(like, GROUP_OF_LIKE)))
		return MUSTER_ANSWER_GOOD;
	return score(q) < -q->operand->value.number ? MUSTER_ANSWER_WARN : MUSTER_ANSWER_GOOD;
}

/* "the lowest of 128 values, 10.3 % below the median of the others, 26.1 (z -6.2): 23.4"; with share_of the median is
 * one of shares, "55 % of pair.exchange_limit_gbps" */
const char *muster_outlier_stand(const struct muster_question *q)
{
	const struct muster_others *others = q->others;
	const struct muster_metric *whole = q->check->share_of;
	double z = score(q);
	const char *rank = others->lower == 0
				   ? muster_arena_printf(q->arena, "the lowest of %zu values", others->count + 1)
				   : muster_arena_printf(q->arena, "with %zu of %zu values below it", others->lower,
					     others->count + 1);
	const char *distance = isfinite(z) ? muster_arena_printf(q->arena, "z %.1f", z) : "the others are all equal";
	return muster_arena_printf(q->arena, "%s, %.3g %% below the median of the others, %.4g%s%s (%s): %s", rank,
		100 * (1 - muster_question_measured(q) / others->median), others->median * (whole ? 100 : 1),
		whole ? " % of " : "", whole ? whole->name : "", distance,
		muster_describe_value(q->sample->value, q->arena));
}

const char *muster_outlier_describe(const struct muster_question *q)
{
	return muster_arena_printf(q->arena,
		"no outlier: at most %g %% below the median of the other GPUs of the same model and machine type, or a "
		"modified z-score of at least -%g (of %d others or more)",
		q->operand->warn * 100, q->operand->value.number, PEERS_LEAST);
}
