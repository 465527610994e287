/* eval.h - what the files of src/eval share
 *
 * evaluate.c goes through checks and places, index.c finds samples, select.h has the expectations of a run. What the
 * other files do stands above their functions.
 */
#ifndef MUSTER_EVAL_EVAL_H
#define MUSTER_EVAL_EVAL_H

#include "expect/describe.h"
#include "expect/operators.h"
#include "model/share.h"
#include "muster/arena.h"
#include "muster/evaluate.h"
#include "muster/expect.h"
#include "muster/finding.h"
#include "muster/outcome.h"
#include "muster/probe.h"

#include <stdint.h>

struct muster_node;

#define MUSTER_NOWHERE UINT32_MAX

/* A place in the run, by index: of the node, of the rank within the node, and the GPU's bus id or the port there.
 * MUSTER_NOWHERE and NULL stand for all of them. */
struct muster_place {
	uint32_t node, rank;
	const char *key;
};

struct muster_entry {
	const struct muster_sample *sample;
	uint32_t node, rank;
};

/* For each check, the samples of its metric, in order of node and rank. */
struct muster_range {
	size_t start, count;
};
struct muster_index {
	struct muster_entry *entries;
	struct muster_range *of_check;
	/* for each check: of share_of, else of what its metric is shown with; then of limit_per */
	struct muster_range (*limits)[MUSTER_LIMITS_MOST + 1];
};
void muster_index_make(struct muster_index *index, const struct muster_run *run, const struct muster_expect *expect);
void muster_index_done(struct muster_index *index);

/* The limit of a sample of the check, at the same place: the first one that is a number above 0, else one that is null,
 * else NULL. */
const struct muster_sample *muster_index_limit(
	const struct muster_index *index, size_t check, const struct muster_entry *entry);

/* What limit_per counts there; NULL: nothing is said of it. */
const struct muster_sample *muster_index_per(
	const struct muster_index *index, size_t check, const struct muster_entry *entry);

/* Whether the metric of the check has any sample at this place, whichever the check chooses. */
bool muster_index_has(const struct muster_index *index, size_t check, uint32_t node, uint32_t rank);

/* Where the sample is: at a GPU or a port, if it has such a label. */
struct muster_place muster_entry_place(const struct muster_entry *entry);

/* Goes through the samples of one check, place by place: places come in order of node and rank. */
struct muster_cursor {
	const struct muster_entry *at, *end;
};
struct muster_cursor muster_cursor_make(const struct muster_index *index, size_t check);
/* The next sample at the place that the check chooses (`where`); NULL when there is none left. */
const struct muster_entry *muster_cursor_next(
	struct muster_cursor *cursor, const struct muster_check *check, uint32_t node, uint32_t rank);

#define MUSTER_TEXTS_MOST 4 /* different observations of one cause; ranks beyond are only counted */
struct muster_finding_draft_rank {
	int rank;
	unsigned char text; /* which of the draft's texts; MUSTER_TEXTS_MOST: another one */
};

/* A finding that may still grow: folded with those of other ranks, or extended by the checks that it blocks. */
struct muster_finding_draft {
	struct muster_finding finding;
	uint32_t node, rank;                     /* for the order */
	size_t check;                            /* place in the expectations; MUSTER_NO_CHECK for probes and ranks */
	const char *cause;                       /* of a probe or a rank: how it ended, in a word; NULL for checks */
	struct muster_finding_draft_rank *ranks; /* that it stands for, ascending; empty when it is not about ranks */
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

/* What blocks a check at a place: a finding that failed blocks every result but a pass, one that only warned blocks
 * warnings. */
struct muster_block {
	enum muster_status status; /* of the finding: FAIL or WARN; PASS: nothing blocks it */
	size_t draft;
	size_t check; /* the last one of the chain that did not pass */
	bool wider;   /* that failed on the whole node or job, and this is a rank, a GPU or a port there */
};

struct muster_failed_place {
	struct muster_place place;
	struct muster_block by;
};

struct muster_check_state {
	bool done;                          /* begun */
	bool judged;                        /* done to the end */
	struct muster_median median;        /* found only for checks that ask for it */
	struct muster_others_index *others; /* of checks that ask for it; else NULL */
	struct muster_others_index *like;   /* of outliers: those at the same GPU of other nodes */
	struct muster_tally *tally;
	const struct muster_sample *first;     /* the first evaluated sample, for the tally's common value */
	bool mixed;                            /* others had another value */
	bool has_dependents;                   /* another check comes after this one, so its failed_at are kept */
	struct muster_failed_place *failed_at; /* where it failed, warned or was blocked, in order of node */
	size_t failed_count, failed_room;
	struct muster_block worst; /* the first of the worst of them: what blocks a check of the whole job */
	size_t blocked_by;         /* the draft that blocks it first */
	size_t block_count;        /* findings that block it somewhere */
};

struct muster_eval {
	const struct muster_run *run;
	const struct muster_expect *expect; /* NULL: nothing is known of this machine */
	struct muster_report *report;
	struct muster_index index;
	struct muster_check_state *states;
	struct muster_finding_draft *drafts;
	size_t draft_count, draft_room, fold_start, check_start;
	struct muster_broken_ring *broken; /* while outcomes are evaluated */
	size_t broken_count;
	struct muster_exchange_notes *exchange_notes; /* what checks say of exchanges: see exchanges.h; NULL */
	bool any_missing;                             /* likewise: a rank is */
	bool many_missing;                            /* so many ranks that a slow start is likelier than faults */
	size_t missing_cause;                         /* 1 + the first draft about a missing rank; 0: none */
	size_t unreached_cause; /* 1 + the draft about an all-to-all that could not connect all ranks; 0: there is none
				 */
	size_t end_cause;       /* 1 + the draft about a run that was ended early; 0: it was not */
	size_t *ring_cause; /* for each probe: 1 + the draft that names the cause of its failed all-reduces; 0: unknown
			     */
	size_t *first_rank; /* for each node, the ranks in the nodes before it */
	size_t rank_count;
	size_t *causes; /* for each rank, one for each probe and one for being missing: 1 + the draft that explains it
			 */
	size_t cause_width;
	size_t *known_causes; /* for each node, one for each cause of the expectations: 1 + the draft that tells it */
};

/* asked.c: a finding for each thing that an option asked for and of which no check had a result. After all checks. */
void muster_judge_asked(struct muster_eval *eval);

/* finding_builder.c: take a finding in, about a check (its index) or, with MUSTER_NO_CHECK, about a probe or a rank.
 * One that differs in nothing but the rank from another of its node (since fold_here) becomes one with it; so do ranks
 * of a node with the same cause (NULL: none), whatever they say of it; one that does not apply for the same reason
 * (since check_here); and one about the same place as the one before but with other labels. Returns its place. */
size_t muster_finding_draft_add(struct muster_eval *eval, struct muster_finding finding, struct muster_place place,
	size_t check, const char *cause);
/* True when the finding did not list the check yet. Checks must come one after the other. */
bool muster_finding_draft_block(struct muster_eval *eval, size_t draft, const char *check);
/* What the check, which the finding blocks, observed on a rank: a number of wrong values. Of each check and rank the
 * first number is kept. check is the tally's. */
void muster_finding_draft_explain(
	struct muster_eval *eval, size_t draft, const char *check, int rank, const char *observed);
void muster_finding_draft_fold_here(struct muster_eval *eval);  /* a new node */
void muster_finding_draft_check_here(struct muster_eval *eval); /* a new check */
void muster_finding_drafts_finish(struct muster_eval *eval);    /* sort, count, hand over to the report */

/* causes.c: findings about probes and missing ranks, and the table of causes. */
void muster_judge_outcomes(struct muster_eval *eval);

/* cause_find.c: the row of a rank in the table of causes, one for each probe (by muster_probe_number()), and the last
 * one, for being missing: 1 + the draft that explains it. */
size_t *muster_cause_of(const struct muster_eval *eval, size_t node, size_t rank);
size_t *muster_cause_of_missing(const struct muster_eval *eval, size_t node, size_t rank);
/* The probe's number; the number of probes for one that this muster does not know. */
size_t muster_probe_number(const char *name);
/* 1 + the draft that explains why a metric has no sample at a place; 0 when none does. */
size_t muster_cause_find(
	const struct muster_eval *eval, const struct muster_metric *metric, uint32_t node, uint32_t rank);
/* The rank's first outcome of the probe; NULL: the rank neither ran the probe nor should have. */
const struct muster_outcome *muster_rank_outcome(const struct muster_rank *rank, const char *probe);
/* Index of the lowest rank of the node from which something came; MUSTER_NOWHERE when there is none. */
uint32_t muster_node_leader(const struct muster_node *node);

/* known_causes.c: 1 + the draft that tells the cause of the finding already; 0: none does. Then what is known of the
 * cause is added to the finding, and *ret_told, if set, is where 1 + its draft is to be kept. sample: the value, or
 * NULL. */
size_t muster_known_cause(struct muster_eval *eval, struct muster_finding *finding, struct muster_place place,
	const struct muster_sample *sample, size_t **ret_told);

/* unreached.c: what the ranks' lists of unconnected ranks, made before an all-to-all, say together. */
struct muster_unreached {
	uint32_t node, rank; /* what did not connect; MUSTER_NOWHERE: several nodes, or several ranks of the node */
	const char *observed, *advice; /* NULL: no rank has a list */
};
struct muster_unreached muster_unreached_find(const struct muster_run *run, struct muster_arena *arena);

/* judge.c: evaluate one check on one value. Sets observed, and expected unless the text of the check is enough. */
struct muster_verdict {
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
/* limit: the value's, or NULL. */
struct muster_verdict muster_judge_sample(const struct muster_eval *eval, size_t at, const struct muster_sample *sample,
	const struct muster_sample *limit);
/* peers.c: why so few places, the own one counted, judge none of them, or no more than warn of one; NULL: they do. */
const char *muster_peers_lack(const struct muster_check *check, size_t places, struct muster_arena *arena);
const char *muster_peers_few(const struct muster_eval *eval, size_t at, const struct muster_question *question,
	const struct muster_sample *limit);
/* derive_usual.c: the ranks whose exchanges the limit is the median of, `most` at most; 0: it is no such limit. */
size_t muster_exchange_usual_ranks(
	const struct muster_eval *eval, size_t at, const struct muster_sample *limit, size_t most);
/* Whether the entry is at another place than the one before it, or NULL. */
bool muster_peers_is_next(const struct muster_entry *last, const struct muster_entry *entry);
/* events.c: complete the verdict on the age of an event of the log that is no pass; of other checks it is left as it
 * is. */
void muster_event_tell(const struct muster_eval *eval, const struct muster_check *check,
	const struct muster_entry *entry, struct muster_verdict *verdict);
/* The verdict where the log of a node has no such event: a pass, if the log was read, and reaches back to the boot or
 * as far as events count. False when nothing is known of the log: a report of an older muster. */
bool muster_event_none(
	const struct muster_eval *eval, const struct muster_check *check, uint32_t node, struct muster_verdict *ret);
/* The worst Xid that the kernel of the node logged while muster ran, one of the given GPU (or NULL) first. */
struct muster_event_during {
	const char *name, *gpu; /* "Xid 79, GPU has fallen off the bus"; NULL: there was none */
	const char *line;       /* NULL: not known */
	bool own;               /* of the given GPU */
};
struct muster_event_during muster_event_find_during(const struct muster_expect *expect, const struct muster_node *node,
	const char *gpu, struct muster_arena *arena);
/* missing_parts.c: the observation of a check that did not pass on a node, with the GPUs or ports that are missing. */
const char *muster_describe_observed(
	const struct muster_eval *eval, const struct muster_check *check, uint32_t node, const char *observed);
/* Whether the metric is a number of GPUs of a node. */
bool muster_counts_gpus(const struct muster_metric *metric);
/* Whether GPUs that are missing on the node, which this check of their number found, explain what a probe of the launch
 * or of affinity says of a rank: the rank has another GPU than on a complete node, or ranks must share one. */
bool muster_missing_gpu_explains(const struct muster_eval *eval, size_t count_check, const struct muster_metric *metric,
	struct muster_place place);
/* What a check makes of a value that is bad: fail or warn. */
enum muster_status muster_check_status(const struct muster_check *check);
/* Why the value proves nothing (inconclusive_on); NULL when it does. */
const char *muster_check_excuse(const struct muster_check *check, struct muster_value value);
/* Whether the limit of a value is known, and one that limit_where chooses. */
bool muster_limit_counts(const struct muster_check *check, const struct muster_sample *limit);
/* Why nothing can reach the limit of the entry (limit_per), in words; NULL when it can be reached. */
const char *muster_limit_unreached(
	const struct muster_eval *eval, size_t at, const struct muster_entry *entry, const struct muster_sample *limit);
bool muster_sample_chosen(const struct muster_check *check, const struct muster_sample *sample);

/* results.c: count what came out for one thing, and keep it as a finding unless it is a pass. sample may be NULL. */
void muster_result_take(struct muster_eval *eval, size_t check, struct muster_place place,
	const struct muster_sample *sample, struct muster_verdict verdict);
/* An evaluated value: the tally keeps lowest and highest, also as shares of limit (or NULL), or the common value. */
void muster_result_value(
	struct muster_eval *eval, size_t check, const struct muster_sample *sample, const struct muster_sample *limit);
/* The check is not evaluated at one place because of a finding, which then lists it. Counted as blocked, or as not
 * applicable where the finding itself says no more than that. */
void muster_result_block(struct muster_eval *eval, size_t check, size_t draft);
/* Whether a finding about a probe or a rank explains that there is no sample at a place: the check is then blocked. */
bool muster_result_explained(struct muster_eval *eval, size_t check, uint32_t node, uint32_t rank);
/* Nothing came from any rank of the node: each place there is blocked. */
void muster_result_node_missing(struct muster_eval *eval, size_t check, uint32_t node);
/* There is no sample where there should be one: never a pass. */
void muster_result_missing(struct muster_eval *eval, size_t check, uint32_t node, uint32_t rank);

/* depends_on.c: remember a place where a check failed or warned, for the checks that name it in `after`. Sorted when
 * the check is done. */
void muster_failed_at_add(struct muster_check_state *state, struct muster_place place, struct muster_block by);
void muster_failed_at_sort(struct muster_check_state *state);
/* What the check named by `after` has for this check at a place. */
struct muster_block muster_block_find(const struct muster_eval *eval, size_t check, struct muster_place place);
/* The index of the check named by `after`; -1: none. Checks of baselines and outliers between the two (expect/place.c)
 * that do not apply to the run are passed over. */
int muster_check_after(const struct muster_eval *eval, size_t check);
/* Whether that blocks a result of this status. */
bool muster_block_stops(struct muster_block block, enum muster_status status);
/* Both, and counted. What comes after this check is then blocked by the same finding, unless a failure of the whole
 * node has left this place as it should be. */
bool muster_result_blocked(
	struct muster_eval *eval, size_t check, struct muster_place place, enum muster_status status);

/* The worst of what checks with `slows` found at a place, or anywhere, for node MUSTER_NOWHERE. */
struct muster_block muster_block_slowing(const struct muster_eval *eval, struct muster_place place);
/* slowed.c: leave a speed unjudged where the GPU is shared on purpose; whether another program, which has a finding,
 * explains a speed that is bad, and counted. Beside a mere warning, a failure is inconclusive. */
void muster_verdict_of_shared(
	const struct muster_eval *eval, size_t check, struct muster_place place, struct muster_verdict *verdict);
bool muster_result_slowed(
	struct muster_eval *eval, size_t check, struct muster_place place, struct muster_verdict *verdict);

/* median.c */
struct muster_median muster_median_find(const struct muster_eval *eval, size_t check);
/* Whether a value of the check counts for its median: not where it is null, excused or blocked. *ret: the value, or
 * with share_of its share. */
bool muster_median_takes(const struct muster_eval *eval, size_t check, const struct muster_entry *entry, double *ret);

/* others.c: the model of the rank's GPU in words; a slice of a GPU (MIG) is a model of its own. */
const char *muster_gpu_model(const struct muster_rank *rank, struct muster_arena *arena);
/* The values of a check by GPU model, and what the other ranks with the model of a sample's rank have. */
enum muster_others_of {
	MUSTER_OTHERS_OF_MODEL,
	MUSTER_OTHERS_OF_TYPE,  /* and on nodes with the same VM size */
	MUSTER_OTHERS_OF_PLACE, /* and with the same bus id; of an exchange, both of its ends */
};
struct muster_others_index *muster_others_make(const struct muster_eval *eval, size_t check, enum muster_others_of of);
struct muster_others muster_others_find(const struct muster_others_index *others, const struct muster_sample *sample);
void muster_others_free(struct muster_others_index *others);

/* same_across.c */
void muster_judge_across(struct muster_eval *eval, size_t check);

/* advice.c; the string is the arena's */
const char *muster_describe_advice(const struct muster_eval *eval, const char *advice,
	const struct muster_finding *finding, uint32_t node, uint32_t rank);

/* ---- what the end of a probe on one rank says of the rank and its node: for causes.c ---- */

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
/* What to do, for programs, and whether it is proved: a call that failed is, one that hung is not. */
const char *muster_outcome_action(const struct muster_outcome *outcome);
enum muster_proof muster_outcome_proof(const struct muster_outcome *outcome);

#define MUSTER_WAITED 1 /* weight of a rank that waited for others until its time was over */

/* How much the end of a rank in a ring says about that rank; 0: nothing, it only ended with the others. */
int muster_outcome_weight(const struct muster_outcome *outcome);

#endif
