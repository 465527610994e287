/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.h - the third stage: what was found already and explains the answer of a check at a place
 *
 * Each check keeps the places where it failed, warned or was blocked. A check that names it in `after` or `also_after`,
 * and checks of speeds where it `slows` them, look there before their answer becomes a finding.
 *
 * An example: ring.busbw is after copy.h2d, which is after gpu.pcie_width. gpu.pcie_width fails at one GPU of sim-2.
 *   copy.h2d at this GPU fails too: blocked. Its place is noted with the draft of gpu.pcie_width, so the chain goes on.
 *   copy.h2d at the other GPUs: nothing failed there, so each answer counts.
 *   ring.busbw of the job: the worst place anywhere blocks it, because the job has no narrower place.
 * A failure of a whole node is `wider` than a rank or a GPU there. Where a check passes all the same, what comes after
 * it at this place is not blocked by the failure: the part was seen to work. A block that is not wider goes on through
 * a check that passes, since the check may look at another property of the same broken part.
 */
#ifndef MUSTER_EVAL_BLOCKS_H
#define MUSTER_EVAL_BLOCKS_H

#include "eval/answers.h"

/* A finding that failed blocks every answer but a pass, one that only warned blocks warnings. */
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

/* Of one check. */
struct muster_failures {
	bool wanted;                    /* another check comes after this one, or it slows others */
	struct muster_failed_place *at; /* in order of node, once it is sorted */
	size_t count, room;
	struct muster_block worst; /* the first of the worst of them: what blocks a check of the whole job */
};

void muster_blocks_make(struct muster_eval *eval);
void muster_blocks_done(struct muster_eval *eval);

/* Remember a place where a check did not pass. Sorted when the check is done. */
void muster_block_note(struct muster_eval *eval, size_t check, struct muster_place place, struct muster_block by);
void muster_blocks_sort(struct muster_eval *eval, size_t check);

/* What the checks named by `after` and `also_after` have for this check at a place. */
struct muster_block muster_block_find(const struct muster_eval *eval, size_t check, struct muster_place place);
/* What failed on the node somewhere in the chain of checks that this one comes after: a GPU that no rank uses may be
 * missing because of it, though all ranks that have a GPU are as they should be. A port depends on no other port. */
struct muster_block muster_block_of_unseen(const struct muster_eval *eval, size_t check, struct muster_place place);
/* Where the number of GPUs failed at the head of the chain, though the checks between passed at this place, and
 * explains what this check says of the rank. */
struct muster_block muster_block_of_missing_gpu(
	const struct muster_eval *eval, size_t check, struct muster_place place, enum muster_status status);
/* What checks with `slows` found where it slows down what this check measures at a place. */
struct muster_block muster_block_slowing(const struct muster_eval *eval, size_t check, struct muster_place place);

/* Whether a block stops an answer of this status. */
bool muster_block_stops(struct muster_block block, enum muster_status status);
/* Whether an answer is so bad that what blocks it does not explain it. */
bool muster_block_falls_short(const struct muster_eval *eval, size_t check, const struct muster_entry *entry,
	const struct muster_check_answer *answer);

#endif
