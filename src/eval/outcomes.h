/* outcomes.h - what the end of a probe on one rank says of the rank and its node: for causes.c */
#ifndef MUSTER_EVAL_OUTCOMES_H
#define MUSTER_EVAL_OUTCOMES_H

#include "muster/arena.h"
#include "muster/finding.h"
#include "muster/run.h"

/* How much the checks of this run want a probe. */
enum muster_want { MUSTER_UNWANTED = 0, MUSTER_OPTIONAL, MUSTER_WANTED };

/* It crashed or hung. */
bool muster_outcome_ended_badly(const struct muster_outcome *outcome);
bool muster_outcome_has_code(const struct muster_outcome *outcome, enum muster_code code);

/* The status of the finding about an outcome that is not OK, its observation and its advice (NULL: none). */
enum muster_status muster_outcome_judge(
	const struct muster_run *run, const struct muster_outcome *outcome, enum muster_want want);
const char *muster_outcome_text(
	const struct muster_outcome *outcome, enum muster_want want, struct muster_arena *arena);
const char *muster_outcome_advice(const struct muster_outcome *outcome);

#define MUSTER_WAITED 1 /* weight of a rank that waited for others until its time was over */

/* How much the end of a rank in a ring says about that rank; 0: nothing, it only ended with the others. */
int muster_outcome_weight(const struct muster_outcome *outcome);

#endif
