/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - what a check's operands have in common, and which of them has what is looked for
 */
#include "expect/operators.h"

#include <stdlib.h>
#include <string.h>

const struct muster_operand *muster_check_operand(const struct muster_check *check, enum muster_operator_kind kind)
{
	for (size_t i = 0; i < check->operand_count; i++)
		if (check->operands[i].operator->kind == kind)
			return &check->operands[i];
	return NULL;
}

const struct muster_operand *muster_check_comparing(const struct muster_check *check)
{
	const struct muster_operand *found = muster_check_operand(check, MUSTER_OF_MEDIAN);
	found = found ? found : muster_check_operand(check, MUSTER_OF_OTHERS);
	return found ? found : muster_check_operand(check, MUSTER_OF_FLEET);
}

const struct muster_operand *muster_check_operand_named(const struct muster_check *check, const char *operator)
{
	for (size_t i = 0; i < check->operand_count; i++)
		if (strcmp(check->operands[i].operator->name, operator) == 0)
			return &check->operands[i];
	return NULL;
}

bool muster_check_calibrated(const struct muster_check *check)
{
	for (size_t i = 0; i < check->operand_count; i++)
		if (!check->operands[i].operator->uncalibrated)
			return true;
	return false;
}

/* SOFT, what may be chance: counts of errors; comparisons with other places; speeds, times, and other numbers of
 * windows, unless an exact value is asked for (equals, one_of, equals_by). HARD: everything else, events of the
 * kernel's log among it, although their metric is an age. */
enum muster_proof muster_check_proof(const struct muster_check *check)
{
	const struct muster_metric *metric = check->metric;
	bool exact = muster_check_operand(check, MUSTER_OF_EVENT);
	for (size_t i = 0; i < check->operand_count; i++)
		exact = exact || check->operands[i].operator->exact;
	bool scatters = muster_metric_scatters(metric) || muster_units[metric->unit].time || metric->windows ||
			metric->is_steadiness;
	return metric->counts_errors || muster_check_comparing(check) || (scatters && !exact) ? MUSTER_PROOF_SOFT
											      : MUSTER_PROOF_HARD;
}

const char *muster_check_action(const struct muster_check *check)
{
	return check->action_code ? check->action_code : "investigate";
}

void muster_check_done(struct muster_check *check)
{
	for (size_t i = 0; i < check->operand_count; i++) {
		regex_t *regex = check->operands[i].regex;
		if (regex)
			regfree(regex);
		free(regex);
	}
	check->operand_count = 0;
}
