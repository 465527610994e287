/* outlier.c - outlier: a speed that is far below those of the other GPUs of the run
 *
 * The modified z-score of Iglewicz and Hoaglin (How to Detect and Handle Outliers, ASQC Quality Press, 1993):
 * 0.6745 (x - median) / MAD, where 0.6745 makes the MAD of a normal distribution its standard deviation; beyond 3.5
 * they call x an outlier. The same for a MAD of 0, which equal values give: the mean distance from the median,
 * times 1.2533.
 *
 * Healthy machines can have two groups of values: near and far memory within each node, or racks with different paths.
 * So a value is no outlier when the same GPU of most other nodes, or a group among them, is as low, or when many of all
 * others are.
 */
#include "expect/limits.h"

#include "expect/describe.h"
#include "expect/parse.h"

#include <math.h>

#define PEERS_LEAST 7                     /* other values: the spread of fewer says little */
#define MAD_OF_NORMAL 0.6745              /* MAD / standard deviation */
#define MEAN_DEVIATION_OF_NORMAL 1.253314 /* standard deviation / mean deviation: sqrt(pi / 2) */
#define GROUP_OF_LIKE (1.0 / 8)           /* of the same GPU on other nodes; without other nodes, of all others */
#define GROUP_OF_ALL (1.0 / 4)

int muster_outlier_parse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	static const struct muster_field fields[] = {
		{ MUSTER_FIELD_AS(muster_operand, "z", value.number, NUMBER), .read = muster_expect_above_0_read },
		{ MUSTER_FIELD_AS(muster_operand, "share", warn, NUMBER), .read = muster_expect_share_read },
	};
	static const struct muster_object_type type = MUSTER_OBJECT_TYPE(muster_operand, fields);
	const struct muster_metric *metric = muster_expect_check_at(r)->metric;
	if (muster_expect_need_peers(r) < 0)
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
