/* SPDX-License-Identifier: Apache-2.0 */
/* answers.c - what a check says of one value
 *
 * muster_answer_of_entry answers for a sample at its place: muster_answer_find judges the value, then everything that
 * may excuse a bad answer is asked, in the order that evaluate.c lists. Checks with same_across call
 * muster_answer_find alone, for a null, and to ask another check about a value.
 *
 * muster_answer_find takes the first case that fits:
 *   present: false                    bad: there should be no sample
 *   null                              inconclusive, or not applicable (of_null)
 *   not of the metric's type          inconclusive
 *   one of inconclusive_on            inconclusive, with the reason that the file gives
 *   share_of without a usable limit   inconclusive, or not applicable (without_share)
 *   else                              the worst answer of the operators (judge_operands)
 */
#include "eval/answers.h"

#include <string.h>

/* Why nothing can reach the limit of the entry (limit_per), in words; NULL when it can be reached, and when the place
 * has no such count. An example: limit_per has the metric pair.channels and the maximum 15. Two ranks with 16 channels
 * can reach 240 GB/s, so a limit of 450 GB/s is no measure of them. Where the count is null, it is unknown whether the
 * limit can be reached: that is a reason, too. */
static const char *limit_unreached(
	const struct muster_eval *eval, size_t at, const struct muster_entry *entry, const struct muster_sample *limit)
{
	const struct muster_check *check = &eval->checks[at];
	const struct muster_metric_max *per = &check->limit_per;
	const struct muster_sample *count = per->metric ? muster_index_per(&eval->index, at, entry) : NULL;
	if (!count || entry->sample->value.type != MUSTER_NUMBER || !muster_limit_counts(check, limit))
		return NULL;
	if (count->value.type != MUSTER_NUMBER)
		return muster_arena_printf(eval->arena, "%s has " MUSTER_NO_VALUE ": %s", per->metric->name,
			count->reason ? count->reason : "no reason given");
	if (limit->value.number <= count->value.number * per->max)
		return NULL;
	return muster_arena_printf(eval->arena, "%s is %s: too few to reach %s", per->metric->name,
		muster_describe_value(count->value, eval->arena), check->share_of->name);
}

/* The answer for a null, or for a limit that is null or (sample NULL) absent. A check that is not optional is
 * inconclusive. An optional check depends on the code of the error that kept the source from being read (`unread`):
 *   none                           not applicable: the machine or the run has no such value
 *   EABSENT, ELIB, ENOPERMISSION   not applicable: healthy machines, too, have a source that is not installed, or that
 *                                  this user may not read
 *   any other                      inconclusive: the source is there and gave no answer. With `observe` not applicable:
 *                                  what a machine of an unknown type should have cannot be told */
static struct muster_check_answer of_null(
	const struct muster_eval *eval, const struct muster_check *check, const struct muster_sample *sample)
{
	const char *unread = sample ? muster_sample_unread(sample) : NULL;
	bool usual = eval->report->observe || !unread || strcmp(unread, muster_code_name(MUSTER_EABSENT)) == 0 ||
		     strcmp(unread, muster_code_name(MUSTER_ELIB)) == 0 ||
		     strcmp(unread, muster_code_name(MUSTER_ENOPERMISSION)) == 0;
	return (struct muster_check_answer){ .status = check->optional && usual ? MUSTER_SKIP : MUSTER_INCONCLUSIVE,
		.unread = unread != NULL };
}

/* The answer where the value has no usable limit. A limit that is absent, null or not above 0 is as a null of the check
 * (of_null). Where the limit is known and lacks a label of limit_where, the check is for another kind of path: not
 * applicable. */
static struct muster_check_answer without_share(const struct muster_eval *eval, const struct muster_check *check,
	const struct muster_sample *limit, struct muster_value observed)
{
	/* exchanges without a limit become one finding for the whole job, so the text has no value of a single one */
	const char *name = check->share_of->name,
		   *value = check->optional && check->metric->is_exchange
				    ? ""
				    : muster_arena_printf(eval->arena, ", observed %s",
					      muster_describe_value(observed, eval->arena));
	struct muster_check_answer answer = of_null(eval, check, limit);
	if (!limit) {
		answer.observed = muster_arena_printf(eval->arena, "%s was not measured%s", name, value);
		return answer;
	}
	if (limit->value.type != MUSTER_NUMBER || !(limit->value.number > 0)) {
		answer.observed = muster_arena_printf(eval->arena, "%s %s %s (%s)%s", name,
			limit->value.type == MUSTER_NULL ? "has" : "is",
			muster_describe_value(limit->value, eval->arena), limit->reason ? limit->reason : "no limit",
			value);
		return answer;
	}
	const struct muster_label *wanted = muster_label_unmet(check->limit_where, check->limit_where_count, limit);
	const struct muster_value *label = muster_sample_label(limit, wanted->key);
	answer.status = MUSTER_SKIP;
	answer.observed = muster_arena_printf(eval->arena, "%s has %s %s and not %s%s", name, wanted->key,
		label ? muster_describe_value(*label, eval->arena) : "unknown",
		muster_describe_value(wanted->value, eval->arena), value);
	return answer;
}

/* Ask each operator; the worst answer counts. A failure that rests on a comparison of fewer than six places is a
 * warning (peers.c), and `expected` then says so. Texts are those of the last operator that objects and has a text of
 * its own; else they stay NULL, and the caller fills them in. */
static struct muster_check_answer judge_operands(const struct muster_eval *eval, size_t at,
	const struct muster_sample *sample, const struct muster_sample *limit)
{
	const struct muster_check *check = &eval->checks[at];
	const struct muster_peers *peers = eval->peers[at];
	struct muster_check_answer answer = { .status = MUSTER_PASS };
	struct muster_others others = { 0 }, like = { 0 };
	if (!peers && muster_check_comparing(check))
		others.why_none = "not judged yet"; /* same_across.c asks a check that comes later */
	if (peers)
		others = muster_peers_others(peers, sample, &like);
	/* outlier needs many other values: with few of them it passes, and does not count as not applicable */
	if (others.why_none && !muster_check_calibrated(check) && !muster_check_operand(check, MUSTER_OF_FLEET))
		return (struct muster_check_answer){
			.status = MUSTER_SKIP, .observed = others.why_none, .counts = true
		};
	struct muster_question question = { .check = check,
		.sample = sample,
		.others = &others,
		.like = &like,
		.limit = check->share_of ? limit->value.number : 0,
		.arena = eval->arena };
	for (size_t i = 0; i < check->operand_count; i++) {
		const struct muster_operator *operator= check->operands[i].operator;
		question.operand = &check->operands[i];
		enum muster_operator_answer said = operator->judge ? operator->judge(&question) : MUSTER_ANSWER_GOOD;
		if (said == MUSTER_ANSWER_GOOD)
			continue;
		bool warns = said == MUSTER_ANSWER_WARN || operator->warns;
		const char *few = warns ? NULL : muster_peers_few(eval, at, &question, limit);
		if (answer.status != MUSTER_FAIL)
			answer.status = warns || few ? MUSTER_WARN : muster_check_status(check);
		if (operator->each_sample)
			answer.expected = operator->describe(&question);
		if (few && answer.status == MUSTER_WARN)
			answer.expected = muster_arena_printf(eval->arena, "%s; %s",
				answer.expected ? answer.expected : eval->tallies[at].expected, few);
		if (operator->stand)
			answer.observed = operator->stand(&question);
	}
	return answer;
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

/* A number that would look like the limit that it misses is written with more digits: 20.9996 below a limit of 21 is
 * "21" with four digits, and "20.9996" with six. */
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

struct muster_check_answer muster_answer_find(const struct muster_eval *eval, size_t at,
	const struct muster_sample *sample, const struct muster_sample *limit)
{
	const struct muster_check *check = &eval->checks[at];
	struct muster_check_answer answer = { .status = MUSTER_PASS };
	const struct muster_operand *presence = muster_check_operand(check, MUSTER_OF_PRESENCE);
	struct muster_value value = sample->value;
	const char *why;
	if (presence && !presence->value.boolean) {
		answer.status = muster_check_status(check);
	} else if (value.type == MUSTER_NULL) {
		answer = of_null(eval, check, sample);
		answer.observed = muster_arena_printf(
			eval->arena, MUSTER_NO_VALUE ": %s", sample->reason ? sample->reason : "no reason given");
		answer.advice = check->metric->if_null             ? check->metric->if_null
				: check->optional && answer.unread ? unread_advice
								   : null_advice;
		return answer;
	} else if (value.type != check->metric->type) {
		answer.status = MUSTER_INCONCLUSIVE; /* only a report from elsewhere can hold such a value */
		answer.observed = muster_arena_printf(eval->arena, "a %s instead of a %s", muster_type_name(value.type),
			muster_type_name(check->metric->type));
		return answer;
	} else if ((why = muster_check_excuse(check, value))) {
		answer.status = MUSTER_INCONCLUSIVE;
		answer.observed =
			muster_arena_printf(eval->arena, "%s: %s", muster_describe_value(value, eval->arena), why);
		return answer;
	} else if (check->share_of && !muster_limit_counts(check, limit)) {
		return without_share(eval, check, limit, value);
	} else {
		answer = judge_operands(eval, at, sample, limit);
	}
	answer.limit = limit;
	if (answer.status != MUSTER_PASS && !answer.observed)
		answer.observed = observed_text(
			value, answer.expected ? answer.expected : eval->tallies[at].expected, eval->arena);
	return answer;
}

/* inconclusive_while: a bad answer proves nothing while a number of the node is at most `max`, such as the hours since
 * it booted. A node without this number is not excused. */
static void excuse_for_now(const struct muster_eval *eval, const struct muster_check *check,
	const struct muster_entry *entry, struct muster_check_answer *answer)
{
	const struct muster_metric_max *now = &check->inconclusive_while;
	if (!muster_answer_is_bad(answer) || !now->metric || entry->node == MUSTER_NOWHERE)
		return;
	double value = muster_sample_number(&eval->run->nodes[entry->node].samples, now->metric->name, now->max + 1);
	if (value > now->max)
		return;
	answer->status = MUSTER_INCONCLUSIVE;
	answer->observed = muster_arena_printf(eval->arena, "%s, while %s is %.2g",
		answer->observed ? answer->observed : "another value", now->metric->name, value);
}

/* A clock or a link's own speed is no transfer, nor is that of the memory of a GPU under load: jobs on other GPUs do
 * not use it. */
bool muster_metric_is_transfer(const struct muster_metric *metric)
{
	const struct muster_probe *probe = muster_probe_find(muster_metric_probe(metric));
	return probe && (probe->together || probe->ring || probe->traffic) && !probe->soaks &&
	       muster_units[metric->unit].transfer;
}

/* The memory bandwidth that other jobs use is missing in a transfer: a slow one is no proof of a fault. */
static void excuse_beside_jobs(const struct muster_eval *eval, size_t at, struct muster_check_answer *answer)
{
	const char *expected = answer->expected ? answer->expected : eval->tallies[at].expected;
	if (!muster_answer_is_bad(answer) || !eval->run->job.beside_jobs ||
		!muster_metric_is_transfer(eval->checks[at].metric))
		return;
	answer->status = MUSTER_INCONCLUSIVE;
	answer->expected = muster_arena_printf(
		eval->arena, "%s, without other jobs on the node", expected ? expected : "another value");
}

struct muster_check_answer muster_answer_of_entry(
	const struct muster_eval *eval, size_t at, const struct muster_entry *entry)
{
	const struct muster_check *check = &eval->checks[at];
	const struct muster_sample *limit = muster_index_limit(&eval->index, at, entry);
	const char *unreached = limit_unreached(eval, at, entry, limit);
	if (unreached)
		return (struct muster_check_answer){ .status = MUSTER_SKIP, .observed = unreached };
	struct muster_check_answer answer = muster_answer_find(eval, at, entry->sample, limit);
	excuse_for_now(eval, check, entry, &answer);
	muster_event_tell(eval, check, entry, &answer);
	excuse_beside_jobs(eval, at, &answer);
	muster_answer_of_shared(eval, at, muster_entry_place(entry), &answer);
	return answer;
}
