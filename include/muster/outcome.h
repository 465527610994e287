/* SPDX-License-Identifier: Apache-2.0 */
/* outcome.h - how each probe ended; implemented by src/model/run.c */
#ifndef MUSTER_OUTCOME_H
#define MUSTER_OUTCOME_H

#include <stddef.h>

/* How a probe ended on one rank. */
enum muster_outcome_status {
	MUSTER_OUTCOME_OK = 0,
	MUSTER_OUTCOME_ERROR,   /* it said that it could not tell, and why */
	MUSTER_OUTCOME_CRASHED, /* its worker died: signal or exit status */
	MUSTER_OUTCOME_HUNG,    /* it passed its deadline and was killed */
	MUSTER_OUTCOME_NOT_RUN, /* it could not start (no GPU, excluded from the all-reduce, no time left) */
	MUSTER_OUTCOME_COUNT
};

/* Of one probe on one rank, over all its commands: times add up, and the first status that is not OK stays, since what
 * fails later often fails because of that. Of rings only the last full one counts. All texts are in the arena of who
 * holds the outcome. */
struct muster_outcome {
	const char *probe;
	enum muster_outcome_status status;
	const char *code;   /* muster_code_name of the error when status is ERROR or NOT_RUN; else NULL */
	const char *detail; /* one sentence; NULL when status is OK */
	const char *step;   /* the last step before it crashed or hung; NULL if none is known */
	/* Text of a library or a process that may explain it, and that may differ where the cause is the same: the end
	 * of a log, the last output. NULL if there is none. */
	const char *evidence;
	int ring; /* how many ranks shared the last ring of all, or round of traffic, that it was in; 0: it was in none
		   */
	int partner; /* of a round of two: 1 + the other rank; 0: it was none of two */
	double elapsed_ms;
};

struct muster_outcomes {
	struct muster_outcome *items;
	size_t count, room;
};

/* The outcome of the probe; NULL: the rank neither ran it nor should have. */
struct muster_outcome *muster_outcomes_find(const struct muster_outcomes *outcomes, const char *probe);
void muster_outcomes_add(struct muster_outcomes *outcomes, struct muster_outcome outcome);

extern const char *const muster_outcome_names[MUSTER_OUTCOME_COUNT]; /* "ok", "error", "crashed", "hung", "not_run" */
/* The name of an outcome; "unknown" for what has none. */
const char *muster_outcome_name(enum muster_outcome_status status);

#endif
