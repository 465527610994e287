/* SPDX-License-Identifier: Apache-2.0 */
/* drafts.h - the fourth stage: what becomes a finding, and what is explained by one
 *
 * drafts.c folds, results.c turns the answer of a check into a draft or has it blocked by one, causes.c makes those
 * about probes and ranks, which come first, and known_causes.c adds what the expectation file knows of a cause.
 *
 * What becomes one finding, and what its text then is:
 *   ranks of a node with the same words        "ranks 0-3: killed by signal 9"
 *   ranks of a node with the same cause        "ranks 0-2: killed by signal 9; rank 5: exit status 1"
 *   ports of a node with the same value        "ports mlx5_ib0/1, mlx5_ib1/1: DOWN"
 *   GPUs or ports that cannot be judged, for   "nvmlDeviceGetX(*): not permitted", with * for the name
 *     a reason that differs in their own name
 *   one place with other labels                "256 with bytes 67108864; 128 with bytes 8388608"
 *   what does not apply, in the whole job      "no InfiniBand port (16 nodes)"
 * Everything else stays a finding of its own. A draft is named by its place in the array, which never changes before
 * muster_findings_finish sorts them; 1 + the place is kept where 0 must stand for none.
 */
#ifndef MUSTER_EVAL_DRAFTS_H
#define MUSTER_EVAL_DRAFTS_H

#include "eval/blocks.h"

#define MUSTER_MORE_SHOWN 4 /* observations of one finding, then "and N more" */
#define MUSTER_PORTS_SHOWN 16

#define MUSTER_TEXTS_MOST 4 /* different observations of one cause; ranks beyond are only counted */
struct muster_draft_rank {
	int rank;
	unsigned char text; /* which of the draft's texts; MUSTER_TEXTS_MOST: another one */
};

/* A finding that may still grow: folded with those of other ranks, or extended by the checks that it blocks. */
struct muster_draft {
	struct muster_finding finding;
	uint32_t node, rank;             /* for the order */
	size_t check;                    /* place in the expectations; MUSTER_NO_CHECK for probes and ranks */
	const char *cause;               /* of a probe or a rank: how it ended, in a word; NULL for checks */
	struct muster_draft_rank *ranks; /* that it stands for, ascending; empty when it is not about ranks */
	size_t rank_count, rank_room;
	const char *texts[MUSTER_TEXTS_MOST]; /* with a cause: the different observations, the first one first */
	unsigned char text_count;
	int evidence_rank;    /* the rank that the finding's evidence is of */
	size_t things, nodes; /* how many findings were folded into it, and of how many nodes */
	uint32_t last_node;
	const char *ports; /* the first of several ports that it stands for, in words */
	size_t port_count;
	size_t more;         /* further observations at the same place, with other labels */
	const char *all;     /* the first few of them in words */
	const char *general; /* of an inconclusive one: what was observed, with * for the GPU or the port; or NULL */
	size_t blocked_room;
	const char *also; /* wrong values that the finding explains, in words: the first few; NULL for none */
	size_t also_count;
	const char *also_check; /* of the last one of them, and its rank */
	int also_rank;
};
#define MUSTER_NO_CHECK SIZE_MAX

/* Of one check, for its tally. */
struct muster_check_results {
	const struct muster_sample *first; /* the first value that is no number, for the common value */
	bool mixed;                        /* others had another value */
	size_t blocked_by;                 /* the draft that blocks it first */
	size_t block_count;                /* findings that block it somewhere */
};

struct muster_drafts {
	struct muster_draft *items;
	size_t count, room;
	size_t fold_start, check_start; /* the first draft of the node and of the check at hand */
	struct muster_check_results *of_check;
	/* For each rank, one for each probe and one for being missing: 1 + the draft that explains it. */
	size_t *causes, cause_width;
	size_t *known_causes; /* for each node, one for each cause of the expectations: 1 + the draft that tells it */
};
void muster_drafts_make(struct muster_eval *eval);
void muster_drafts_done(struct muster_eval *eval);

/* Take a finding in, about a check (its index) or, with MUSTER_NO_CHECK, about a probe or a rank. One that differs in
 * nothing but the rank from another of its node (since fold_here) becomes one with it; so do ranks of a node with the
 * same cause (NULL: none), whatever they say of it; one that does not apply for the same reason (since check_here); and
 * one about the same place as the one before but with other labels. Returns its place. */
size_t muster_draft_add(struct muster_eval *eval, struct muster_finding finding, struct muster_place place,
	size_t check, const char *cause);
void muster_draft_fold_here(struct muster_eval *eval);  /* a new node */
void muster_draft_check_here(struct muster_eval *eval); /* a new check */
/* True when the finding did not list the check yet. Checks must come one after the other. */
bool muster_draft_block(struct muster_eval *eval, size_t draft, const char *check);
/* What the check, which the finding blocks, observed on a rank: a number of wrong values. Of each check and rank the
 * first number is kept. check is the tally's. */
void muster_draft_explain(struct muster_eval *eval, size_t draft, const char *check, int rank, const char *observed);

/* ---- causes.c: trial rings, probes that did not end well, ranks and nodes from which nothing came ---- */

void muster_causes_judge(struct muster_eval *eval);

/* The row of a rank in the table of causes, one for each probe (by muster_probe_number()), and the last one, for being
 * missing. */
size_t *muster_cause_of(const struct muster_eval *eval, size_t node, size_t rank);
size_t *muster_cause_of_missing(const struct muster_eval *eval, size_t node, size_t rank);

/* known_causes.c: 1 + the draft that tells the cause of the finding already; 0: none does. Then what is known of the
 * cause is added to the finding, and *ret_told, if set, is where 1 + its draft is to be kept. sample: the value, or
 * NULL. */
size_t muster_known_cause(struct muster_eval *eval, struct muster_finding *finding, struct muster_place place,
	const struct muster_sample *sample, size_t **ret_told);

/* ---- results.c: what came out for one check at one place; sample may be NULL ---- */

/* Count it, and keep it as a finding unless it is a pass, or a known cause is told already. */
void muster_result_take(struct muster_eval *eval, size_t check, struct muster_place place,
	const struct muster_sample *sample, struct muster_check_answer answer);
/* An evaluated value: the tally keeps lowest and highest, also as shares of limit (or NULL), or the common value. */
void muster_result_value(
	struct muster_eval *eval, size_t check, const struct muster_sample *sample, const struct muster_sample *limit);
/* The check is not evaluated at one place because of a finding, which then lists it. Counted as blocked, or as not
 * applicable where the finding itself says no more than that. */
void muster_result_block(struct muster_eval *eval, size_t check, size_t draft);
/* Whether `after`, or GPUs that are missing, explain it: then it is blocked. What comes after this check is blocked by
 * the same finding, unless a failure of the whole node has left this place as it should be. */
bool muster_result_blocked(
	struct muster_eval *eval, size_t check, struct muster_place place, enum muster_status status);
/* Whether another program on a GPU, which has a finding, explains a speed that is bad: then it is blocked. Beside a
 * mere warning, a failure is inconclusive. */
bool muster_result_slowed(
	struct muster_eval *eval, size_t check, struct muster_place place, struct muster_check_answer *answer);
/* Whether a finding about a probe or a rank explains that there is no sample at a place: then it is blocked. */
bool muster_result_explained(struct muster_eval *eval, size_t check, uint32_t node, uint32_t rank);
/* Nothing came from any rank of the node: each place there is blocked. */
void muster_result_node_missing(struct muster_eval *eval, size_t check, uint32_t node);
/* There is no sample where there should be one: never a pass. */
void muster_result_missing(struct muster_eval *eval, size_t check, uint32_t node, uint32_t rank);

#endif
