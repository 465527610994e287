/* check.c - what a check's operands have in common
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
