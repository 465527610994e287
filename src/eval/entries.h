/* SPDX-License-Identifier: Apache-2.0 */
/* entries.h - the first stage of an evaluation: for each check, the samples of its metric, place by place
 *
 * Each stage has one header, and hands one type to the next one. A stage uses only those above it. evaluate.c takes
 * each check through all of them:
 *
 *   entries.h   struct muster_entry         a sample of the check's metric, and its place in the run
 *   answers.h   struct muster_check_answer  what the check says of it: a status, what is expected and observed
 *   blocks.h    struct muster_block         a finding that explains the answer already
 *   drafts.h    struct muster_draft         a finding that still grows, by other ranks and by the checks that it blocks
 *   findings.h  struct muster_finding       sorted and counted, in the report
 *
 * The life of one finding. A run has gpu.h2d_gbps 11.2 on ranks 2 and 3 of sim-2, and the file says
 * "copy.h2d": { "metric": "gpu.h2d_gbps", "min": 21, "after": "gpu.pcie_width" }.
 *   1. An entry for each rank: the sample, node 1, rank 2 (or 3) of that node. Its place adds the GPU's bus id.
 *   2. The answer is FAIL, because 11.2 is below 21. Nothing excuses it: the node has not just booted, no other job ran
 *      beside this one, no other program used the GPU.
 *   3. gpu.pcie_width was judged before, since `after` names it. Had it failed at this GPU or on the whole node, the
 *      answer would be blocked: counted, and listed under the finding of gpu.pcie_width. It has passed here.
 *   4. The answer becomes a draft. The answer of rank 3 is about another GPU, so it becomes a draft of its own. Answers
 *      that differ in the rank alone, such as a wrong variable of the launch, become one draft for ranks 2-3.
 *   5. The place is noted, so that checks which name copy.h2d in their `after` find it in step 3.
 *   6. When all checks are done, drafts are sorted, worst first, and get their final text: two findings of sim-2.
 *
 * Memory: the arrays of a stage live from its _make to its _done in muster_evaluate. Texts are the report's arena's,
 * and live as long as the report; labels and values of samples stay the run's.
 */
#ifndef MUSTER_EVAL_ENTRIES_H
#define MUSTER_EVAL_ENTRIES_H

#include "model/share.h"
#include "muster/arena.h"
#include "muster/evaluate.h"
#include "muster/expect.h"
#include "muster/outcome.h"
#include "muster/probe.h"
#include "muster/run_data.h"

#include <stdint.h>

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

/* For each check, the samples of its metric, in order of node and rank; those of the job (MUSTER_NOWHERE) are its only
 * ones. Checks of one metric share one range: `where` is applied by the cursor. */
struct muster_range {
	size_t start, count;
};
struct muster_index {
	struct muster_entry *entries;
	struct muster_range *of_check;
	/* for each check: of share_of, else of what its metric is shown with; then of limit_per */
	struct muster_range (*limits)[MUSTER_LIMITS_MOST + 1];
};

/* What every stage is given. Each pointer at the end belongs to the stage of its header, and only that one and later
 * ones look behind it. */
struct muster_eval {
	const struct muster_run *run;
	const struct muster_expect *expect; /* NULL: nothing is known of this machine */
	struct muster_report *report;
	struct muster_arena *arena;        /* the report's: of all texts */
	const struct muster_check *checks; /* of expect */
	struct muster_tally *tallies;      /* the report's, one for each check */
	struct muster_index index;
	size_t *first_rank; /* for each node, the ranks in the nodes before it */
	size_t rank_count;
	struct muster_peers **peers;                  /* answers.h: for each check, of those that compare */
	struct muster_failures *failures;             /* blocks.h: for each check */
	struct muster_drafts *drafts;                 /* drafts.h */
	struct muster_exchange_notes *exchange_notes; /* exchanges.h: what checks say of exchanges; or NULL */
};

void muster_entries_make(struct muster_eval *eval);
void muster_entries_done(struct muster_eval *eval);

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

/* Whether the check is about the sample (`where`). */
bool muster_sample_chosen(const struct muster_check *check, const struct muster_sample *sample);
/* The first of these labels that the sample does not have; NULL when it has all. */
const struct muster_label *muster_label_unmet(
	const struct muster_label *labels, size_t count, const struct muster_sample *sample);

/* What a check makes of a value that is bad: fail or warn. */
enum muster_status muster_check_status(const struct muster_check *check);
/* Why the value proves nothing (inconclusive_on); NULL when it does. */
const char *muster_check_excuse(const struct muster_check *check, struct muster_value value);
/* Whether the limit of a value is known, and one that limit_where chooses. */
bool muster_limit_counts(const struct muster_check *check, const struct muster_sample *limit);

/* ---- facts of ranks ---- */

/* Whether the metric has its samples at a node, and not at a rank. */
static inline bool muster_is_of_node(const struct muster_metric *metric)
{
	return metric->scope == MUSTER_SCOPE_NODE || metric->scope == MUSTER_SCOPE_PORT;
}

/* Index of the lowest rank of the node from which something came; MUSTER_NOWHERE when there is none. */
uint32_t muster_node_leader(const struct muster_node *node);
/* The probe's number; the number of probes for one that this muster does not know. */
size_t muster_probe_number(const char *name);
/* The model of the rank's GPU in words; a slice of a GPU (MIG) is a model of its own. */
const char *muster_gpu_model(const struct muster_rank *rank, struct muster_arena *arena);

#endif
