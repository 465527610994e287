/* judge.c - evaluate one check on one value
 */
#include "eval/eval.h"
#include "eval/exchanges.h"

#include <string.h>

/* The first of these labels that the sample does not have; NULL when it has all. */
static const struct muster_label *unmet_label(
	const struct muster_label *labels, size_t count, const struct muster_sample *sample)
{
	for (size_t i = 0; i < count; i++) {
		const struct muster_value *label = muster_sample_label(sample, labels[i].key);
		if (!label || !muster_value_equal(*label, labels[i].value))
			return &labels[i];
	}
	return NULL;
}

bool muster_sample_chosen(const struct muster_check *check, const struct muster_sample *sample)
{
	return !unmet_label(check->where, check->where_count, sample);
}

enum muster_status muster_check_status(const struct muster_check *check)
{
	return check->severity == MUSTER_SEVERITY_WARN ? MUSTER_WARN : MUSTER_FAIL;
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

bool muster_limit_counts(const struct muster_check *check, const struct muster_sample *limit)
{
	return limit && limit->value.type == MUSTER_NUMBER && limit->value.number > 0 &&
	       !unmet_label(check->limit_where, check->limit_where_count, limit);
}

/* Why the value cannot be held as a share of its limit: inconclusive, or not applicable. */
static struct muster_verdict without_share(const struct muster_check *check, const struct muster_sample *limit,
	struct muster_value observed, struct muster_arena *arena)
{
	/* exchanges without a limit are one finding for the whole job, so without the value of one exchange */
	const char *name = check->share_of->name, *value = check->optional && check->metric->is_exchange
								   ? ""
								   : muster_arena_printf(arena, ", observed %s",
									     muster_describe_value(observed, arena));
	struct muster_verdict verdict = { .status = check->optional ? MUSTER_SKIP : MUSTER_INCONCLUSIVE };
	if (!limit) {
		verdict.observed = muster_arena_printf(arena, "%s was not measured%s", name, value);
		return verdict;
	}
	if (limit->value.type != MUSTER_NUMBER || !(limit->value.number > 0)) {
		verdict.observed = muster_arena_printf(arena, "%s is %s (%s)%s", name,
			muster_describe_value(limit->value, arena), limit->reason ? limit->reason : "no limit", value);
		return verdict;
	}
	const struct muster_label *wanted = unmet_label(check->limit_where, check->limit_where_count, limit);
	const struct muster_value *label = muster_sample_label(limit, wanted->key);
	verdict.status = MUSTER_SKIP;
	verdict.observed = muster_arena_printf(arena, "%s has %s %s and not %s%s", name, wanted->key,
		label ? muster_describe_value(*label, arena) : "unknown", muster_describe_value(wanted->value, arena),
		value);
	return verdict;
}

/* Ask each operator; the worst answer counts. */
static struct muster_verdict judge_operands(const struct muster_eval *eval, size_t at,
	const struct muster_sample *sample, const struct muster_sample *limit)
{
	const struct muster_check *check = &eval->expect->checks[at];
	const struct muster_check_state *state = &eval->states[at];
	struct muster_arena *arena = eval->report->arena;
	struct muster_verdict verdict = { .status = MUSTER_PASS };
	const char *lack = muster_check_calibrated(check) ? NULL : state->median.why_none;
	struct muster_others others = { 0 }, like = { 0 };
	if (state->like)
		like = muster_others_find(state->like, sample);
	if (state->others) {
		others = muster_others_find(state->others, sample);
		lack = others.why_none ? others.why_none : muster_peers_lack(check, others.count + 1, arena);
	}
	if (lack && !state->like)
		return (struct muster_verdict){ .status = MUSTER_SKIP, .observed = lack, .counts = true };
	struct muster_question question = { .check = check,
		.sample = sample,
		.median = &state->median,
		.others = state->others ? &others : NULL,
		.like = state->like ? &like : NULL,
		.limit = check->share_of ? limit->value.number : 0,
		.arena = arena };
	for (size_t i = 0; i < check->operand_count; i++) {
		const struct muster_operator *operator= check->operands[i].operator;
		question.operand = &check->operands[i];
		enum muster_operator_answer answer = operator->judge ? operator->judge(&question) : MUSTER_ANSWER_GOOD;
		if (answer == MUSTER_ANSWER_GOOD)
			continue;
		bool warns = answer == MUSTER_ANSWER_WARN || operator->warns;
		const char *few = warns ? NULL : muster_peers_few(eval, at, &question, limit);
		if (verdict.status != MUSTER_FAIL)
			verdict.status = warns || few ? MUSTER_WARN : muster_check_status(check);
		if (operator->each_sample)
			verdict.expected = operator->describe(&question);
		if (few && verdict.status == MUSTER_WARN)
			verdict.expected = muster_arena_printf(
				arena, "%s; %s", verdict.expected ? verdict.expected : state->tally->expected, few);
		if (operator->stand)
			verdict.observed = operator->stand(&question);
	}
	return verdict;
}

/* A number that would look like the limit that it misses is written with more digits. */
static const char *observed_text(
	const struct muster_check *check, struct muster_value value, struct muster_arena *arena)
{
	const char *text = muster_describe_value(value, arena);
	for (size_t i = 0; i < check->operand_count && value.type == MUSTER_NUMBER; i++) {
		struct muster_value limit = check->operands[i].value;
		if (limit.type == MUSTER_NUMBER && !muster_value_equal(limit, value) &&
			strcmp(muster_describe_value(limit, arena), text) == 0)
			return muster_arena_printf(arena, "%.17g", value.number);
	}
	return text;
}

struct muster_verdict muster_judge_sample(const struct muster_eval *eval, size_t at, const struct muster_sample *sample,
	const struct muster_sample *limit)
{
	const struct muster_check *check = &eval->expect->checks[at];
	struct muster_arena *arena = eval->report->arena;
	struct muster_verdict verdict = { .status = MUSTER_PASS };
	const struct muster_operand *presence = muster_check_operand(check, MUSTER_OF_PRESENCE);
	struct muster_value value = sample->value;
	const char *why;
	if (presence && !presence->value.boolean) {
		verdict.status = muster_check_status(check);
	} else if (value.type == MUSTER_NULL) {
		verdict.status = check->optional ? MUSTER_SKIP : MUSTER_INCONCLUSIVE;
		verdict.observed =
			muster_arena_printf(arena, "null: %s", sample->reason ? sample->reason : "no reason given");
		return verdict;
	} else if (value.type != check->metric->type) {
		verdict.status = MUSTER_INCONCLUSIVE; /* only a report from elsewhere can hold such a value */
		verdict.observed = muster_arena_printf(arena, "a %s instead of a %s", muster_type_name(value.type),
			muster_type_name(check->metric->type));
		return verdict;
	} else if ((why = muster_check_excuse(check, value))) {
		verdict.status = MUSTER_INCONCLUSIVE;
		verdict.observed = muster_arena_printf(arena, "%s: %s", muster_describe_value(value, arena), why);
		return verdict;
	} else if (check->share_of && !muster_limit_counts(check, limit)) {
		return without_share(check, limit, value, arena);
	} else {
		verdict = judge_operands(eval, at, sample, limit);
	}
	verdict.limit = limit;
	if (verdict.status != MUSTER_PASS && !verdict.observed)
		verdict.observed = observed_text(check, value, arena);
	return verdict;
}
