/* SPDX-License-Identifier: Apache-2.0 */
/* answers.h - the second stage: what a check says of an entry by itself, whatever else was found
 *
 * answers.c asks the operators of a check. peers.c, same_across.c, events.c and shared.c have what some of them need of
 * other entries; outcomes.c and unreached.c say the same of probes that did not end well; missing_parts.c and advice.c
 * put it into words.
 */
#ifndef MUSTER_EVAL_ANSWERS_H
#define MUSTER_EVAL_ANSWERS_H

#include "eval/entries.h"
#include "expect/describe.h"
#include "expect/operators.h"

/* What each status says here:
 *   PASS          as expected; only counted
 *   WARN, FAIL    not as expected: a finding, unless another one explains it
 *   SKIP          the check does not apply to the value, for the reason in `observed`
 *   INCONCLUSIVE  the check applies and the value proves nothing: null, of the wrong type, or measured in circumstances
 *                 that a healthy machine cannot pass in */
struct muster_check_answer {
	enum muster_status status;
	const char *expected; /* NULL: as the check says */
	const char *observed;
	const struct muster_sample *limit; /* that the value has a share of; or NULL */
	const char *evidence;              /* of an event of the log; or NULL */
	const char *advice;                /* where the check has none, or could not be judged; or NULL */
	const char *action_code;           /* of an event of the log; NULL: as the check says */
	bool unread;                       /* the source of the value could not be read */
	bool in_words;                     /* observed says all, with units */
	bool counts;                       /* a value that is not judged, and belongs to the check's values */
};

/* Whether it would be a finding of a fault: fail or warn. */
static inline bool muster_answer_is_bad(const struct muster_check_answer *answer)
{
	return answer->status == MUSTER_FAIL || answer->status == MUSTER_WARN;
}

/* What the check says of an entry: of its value, of the time after boot, of what else used the node or the GPU. */
struct muster_check_answer muster_answer_of_entry(
	const struct muster_eval *eval, size_t check, const struct muster_entry *entry);
/* What the check says of one value; limit: the value's, or NULL. */
struct muster_check_answer muster_answer_find(const struct muster_eval *eval, size_t check,
	const struct muster_sample *sample, const struct muster_sample *limit);

/* A speed of copies or of an all-reduce, as it was here and now, or the time of an all-reduce. */
bool muster_metric_is_transfer(const struct muster_metric *metric);

/* ---- peers.c: the values that a check compares a value with ---- */

/* Of a check that compares (muster_check_comparing). A value that a finding explains does not count. */
typedef bool muster_explained_fn(const struct muster_eval *eval, size_t check, struct muster_place place);
struct muster_peers *muster_peers_make(const struct muster_eval *eval, size_t check, muster_explained_fn *is_explained);
void muster_peers_free(struct muster_peers *peers);
/* All values together, of a check that compares with these. */
struct muster_others muster_peers_all(const struct muster_peers *peers);
/* What the others of a sample have. *ret_like: for an outlier, those at the same GPU of other nodes. */
struct muster_others muster_peers_others(
	const struct muster_peers *peers, const struct muster_sample *sample, struct muster_others *ret_like);
/* Why so few places can no more than warn of one of them; NULL: they can fail it. */
const char *muster_peers_few(const struct muster_eval *eval, size_t check, const struct muster_question *question,
	const struct muster_sample *limit);

/* ---- same_across.c: values that should be equal everywhere ---- */

/* A value to compare. Values of one node or rank have one tag, and follow each other. */
struct muster_compared {
	struct muster_entry entry; /* sample NULL: a node that has nothing of what others have */
	size_t tag;
};
/* What follows for one node or rank, or for the whole job. */
struct muster_compared_result {
	struct muster_place place;
	const struct muster_sample *sample; /* NULL when several values are meant */
	struct muster_check_answer answer;
	const size_t *tags; /* of the nodes or ranks that are meant */
	size_t tag_count;
};
typedef void muster_compared_fn(void *arg, const struct muster_compared_result *result);
void muster_compare_all(const struct muster_eval *eval, size_t check, const struct muster_compared *values,
	size_t count, muster_compared_fn *tell, void *arg);

/* ---- events.c: events of the kernel's log ---- */

/* Complete the answer on the age of an event that is no pass; of other checks it is left as it is. */
void muster_event_tell(const struct muster_eval *eval, const struct muster_check *check,
	const struct muster_entry *entry, struct muster_check_answer *answer);
/* The answer where the log of a node has no such event: a pass, if the log was read, and reaches back to the boot or as
 * far as events count. False when nothing is known of the log: a report of an older muster. */
bool muster_event_none(const struct muster_eval *eval, const struct muster_check *check, uint32_t node,
	struct muster_check_answer *ret);
/* The worst Xid that the kernel of the node logged while muster ran, one of the given GPU (or NULL) first. */
struct muster_event_during {
	const char *name, *gpu; /* "Xid 79, GPU has fallen off the bus"; NULL: there was none */
	const char *line;       /* NULL: not known */
	bool own;               /* of the given GPU */
};
struct muster_event_during muster_event_find_during(const struct muster_expect *expect, const struct muster_node *node,
	const char *gpu, struct muster_arena *arena);

/* ---- shared.c: speeds of GPUs that other programs use too ---- */

/* Where another program must be to slow down what the metric measures at this place. False: no program does. */
bool muster_speed_reach(const struct muster_metric *metric, struct muster_place place, struct muster_place *ret);
/* Leave a speed unjudged where the GPU is shared on purpose. */
void muster_answer_of_shared(
	const struct muster_eval *eval, size_t check, struct muster_place place, struct muster_check_answer *answer);

/* ---- outcomes.c: what the end of a probe on one rank says of the rank and its node ---- */

/* How much the checks of this run want a probe. */
enum muster_want { MUSTER_UNWANTED = 0, MUSTER_OPTIONAL, MUSTER_WANTED };

/* It crashed or hung. */
bool muster_outcome_ended_badly(const struct muster_outcome *outcome);
bool muster_outcome_has_code(const struct muster_outcome *outcome, enum muster_code code);
/* What an outcome that is not OK says. */
struct muster_check_answer muster_outcome_answer(const struct muster_run *run, const struct muster_outcome *outcome,
	enum muster_want want, struct muster_arena *arena);
/* Whether that is proved: a call that failed is, one that hung is not. */
enum muster_proof muster_outcome_proof(const struct muster_outcome *outcome);
/* How much the end of a rank in a ring says about that rank. All ranks of a ring fail when one does, so the rank with
 * the highest weight is taken for the cause, and the others are not at fault:
 *   5  its worker crashed, or nothing came from it
 *   4  its worker hung and had to be killed
 *   3  its own library failed (lib, vendor), it lacks a permission, or it has an error that no other rank can cause
 *   2  its library says that another process or the network failed (remote)
 *   1  its time was over while it waited for others (time, stalled)
 *   0  it was cancelled, or never began */
int muster_outcome_weight(const struct muster_outcome *outcome);
#define MUSTER_WAITED 1 /* weight of a rank that waited for others until its time was over */

/* unreached.c: what the ranks' lists of unconnected ranks, made before an all-to-all, say together. */
struct muster_unreached {
	uint32_t node, rank; /* what did not connect; MUSTER_NOWHERE: several nodes, or several ranks of the node */
	const char *observed, *advice; /* NULL: no rank has a list */
};
size_t muster_unreached_probe(void); /* the number of the probe whose ranks have such lists */
struct muster_unreached muster_unreached_find(const struct muster_run *run, struct muster_arena *arena);

/* ---- missing_parts.c, advice.c: words ---- */

/* The observation of a check that did not pass on a node, with the GPUs or ports that are missing. */
const char *muster_describe_observed(
	const struct muster_eval *eval, const struct muster_check *check, uint32_t node, const char *observed);
/* Whether GPUs that are missing on the node, which this check of their number found, explain what a probe of the launch
 * or of affinity says of a rank: the rank has another GPU than on a complete node, or ranks must share one. */
bool muster_missing_gpu_explains(const struct muster_eval *eval, size_t count_check, const struct muster_metric *metric,
	struct muster_place place);
/* An advice with its ${...} filled in; the arena's. */
const char *muster_describe_advice(const struct muster_eval *eval, const char *advice,
	const struct muster_finding *finding, uint32_t node, uint32_t rank);

#endif
