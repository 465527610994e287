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

const char *muster_limit_unreached(
	const struct muster_eval *eval, size_t at, const struct muster_entry *entry, const struct muster_sample *limit)
{
	const struct muster_check *check = &eval->expect->checks[at];
	const struct muster_metric_max *per = &check->limit_per;
	const struct muster_sample *count = per->metric ? muster_index_per(&eval->index, at, entry) : NULL;
	struct muster_arena *arena = eval->report->arena;
	if (!count || entry->sample->value.type != MUSTER_NUMBER || !muster_limit_counts(check, limit))
		return NULL;
	if (count->value.type != MUSTER_NUMBER)
		return muster_arena_printf(arena, "%s has " MUSTER_NO_VALUE ": %s", per->metric->name,
			count->reason ? count->reason : "no reason given");
	if (limit->value.number <= count->value.number * per->max)
		return NULL;
	return muster_arena_printf(arena, "%s is %s: too few to reach %s", per->metric->name,
		muster_describe_value(count->value, arena), check->share_of->name);
}

/* A check whose value is null. What a machine may lack does not apply where it is lacking. Where a source is there and
 * cannot be read nothing is proved; one that is not installed, or that this user may not read, is so on healthy
 * machines too, and on a machine whose type is not known it cannot be told. */
static struct muster_verdict of_null(
	const struct muster_eval *eval, const struct muster_check *check, const struct muster_sample *sample)
{
	const char *unread = sample ? muster_sample_unread(sample) : NULL;
	bool usual = eval->report->observe || !unread || strcmp(unread, muster_code_name(MUSTER_EABSENT)) == 0 ||
		     strcmp(unread, muster_code_name(MUSTER_ELIB)) == 0 ||
		     strcmp(unread, muster_code_name(MUSTER_ENOPERMISSION)) == 0;
	return (struct muster_verdict){ .status = check->optional && usual ? MUSTER_SKIP : MUSTER_INCONCLUSIVE,
		.unread = unread != NULL };
}

/* Why the value cannot be held as a share of its limit: inconclusive, or not applicable. */
static struct muster_verdict without_share(const struct muster_eval *eval, const struct muster_check *check,
	const struct muster_sample *limit, struct muster_value observed)
{
	struct muster_arena *arena = eval->report->arena;
	/* exchanges without a limit are one finding for the whole job, so without the value of one exchange */
	const char *name = check->share_of->name, *value = check->optional && check->metric->is_exchange
								   ? ""
								   : muster_arena_printf(arena, ", observed %s",
									     muster_describe_value(observed, arena));
	struct muster_verdict verdict = of_null(eval, check, limit);
	if (!limit) {
		verdict.observed = muster_arena_printf(arena, "%s was not measured%s", name, value);
		return verdict;
	}
	if (limit->value.type != MUSTER_NUMBER || !(limit->value.number > 0)) {
		verdict.observed = muster_arena_printf(arena, "%s %s %s (%s)%s", name,
			limit->value.type == MUSTER_NULL ? "has" : "is", muster_describe_value(limit->value, arena),
			limit->reason ? limit->reason : "no limit", value);
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

/* Whether a number stands in a text, not as a part of a longer one. */
static bool has_number(const char *text, const char *number)
{
	static const char digits[] = "0123456789.";
	size_t length = strlen(number);
	for (const char *at = text; (at = strstr(at, number)); at += length)
		if ((at == text || !strchr(digits, at[-1])) && (!at[length] || !strchr(digits, at[length])))
			return true;
	return false;
}

/* A number that would look like the limit that it misses is written with more digits. */
static const char *observed_text(struct muster_value value, const char *expected, struct muster_arena *arena)
{
	const char *text = muster_describe_value(value, arena);
	for (int digits = 5; digits <= 17 && value.type == MUSTER_NUMBER && has_number(expected, text); digits++)
		text = muster_arena_printf(arena, "%.*g", digits, value.number);
	return text;
}

static const char null_advice[] =
	"the value could not be read, so nothing is proved: correct the cause that is observed and run again; where "
	"the machine cannot have the value, set \"optional\": true for the check in an overlay";
static const char unread_advice[] =
	"the value could not be read, so nothing is proved: correct the cause that is observed and run again; where "
	"that source never answers, remove the check in an overlay (docs/expectations.md)";

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
		verdict = of_null(eval, check, sample);
		verdict.observed = muster_arena_printf(
			arena, MUSTER_NO_VALUE ": %s", sample->reason ? sample->reason : "no reason given");
		verdict.advice = check->metric->if_null              ? check->metric->if_null
				 : check->optional && verdict.unread ? unread_advice
								     : null_advice;
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
		return without_share(eval, check, limit, value);
	} else {
		verdict = judge_operands(eval, at, sample, limit);
	}
	verdict.limit = limit;
	if (verdict.status != MUSTER_PASS && !verdict.observed)
		verdict.observed = observed_text(
			value, verdict.expected ? verdict.expected : eval->states[at].tally->expected, arena);
	return verdict;
}
