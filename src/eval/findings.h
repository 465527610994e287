/* SPDX-License-Identifier: Apache-2.0 */
/* findings.h - the last stage: findings in the report, with a tally of each check and the verdict
 *
 * The verdict is FAIL when a finding fails the run (muster_finding_fails: by its status, and by how strict the user
 * is), else INCONCLUSIVE when anything required could not be judged, else PASS. Without expectations it is never PASS.
 * Counts: a PASS, a BLOCKED, and a SKIP beside judged values are results without a finding, counted where they come
 * out. All others are counted here, so that a finding that stands for several results counts once.
 */
#ifndef MUSTER_EVAL_FINDINGS_H
#define MUSTER_EVAL_FINDINGS_H

#include "eval/drafts.h"

/* Before all others: a tally for each check, which says whether the check applies to this run at all. */
void muster_tallies_make(struct muster_eval *eval);
/* A check is done at all places. */
void muster_tally_finish(struct muster_eval *eval, size_t check);
/* A finding for each thing that an option asked for and of which no check had a result. After all checks. */
void muster_findings_add_asked(struct muster_eval *eval);
/* Sort, count, hand over to the report, and find the verdict. */
void muster_findings_finish(struct muster_eval *eval);

#endif
