/* slower.c - slower_than_peers: a number compared with the median of the other ranks with the same GPU model
 *
 * The rule is that of Megatron-LM's gpu_sniff_test.py: an outlier is worse than the median by a share and by the usual
 * distance from the median, whichever is more.
 */
#include "expect/limits.h"

#include "expect/describe.h"
#include "expect/parse.h"

#include <math.h>
#include <string.h>

int muster_slower_parse(struct muster_json_reader *r, void *into, const struct muster_json *json)
{
	static const struct muster_field fields[] = {
		{ MUSTER_FIELD_AS(muster_operand, "fail", value.number, NUMBER), .read = muster_expect_share_read },
		{ MUSTER_FIELD(muster_operand, warn, NUMBER), .read = muster_expect_share_read, .optional = true },
		{ MUSTER_FIELD(muster_operand, mad, NUMBER), .read = muster_expect_from_0_read, .optional = true },
	};
	static const struct muster_object_type type = MUSTER_OBJECT_TYPE(muster_operand, fields);
	return muster_expect_need_peers(r) < 0 ? -1 : muster_object_read(r, json, &type, into);
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
