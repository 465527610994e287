/* SPDX-License-Identifier: Apache-2.0 */
/* windows.h - one sample of all that were taken of one thing
 *
 * A speed is measured in windows, in several visits of the run, and yields a sample in each visit. With --repeat, other
 * values come several times too.
 */
#ifndef MUSTER_MODEL_WINDOWS_H
#define MUSTER_MODEL_WINDOWS_H

#include "muster/arena.h"
#include "muster/sample.h"

struct muster_run;

/* Values of a sample: in a visit, and of the whole run in a report, which has those of thousands of GPUs. */
enum { MUSTER_VALUES_MAX = 256, MUSTER_VALUES_KEPT = 36 };

enum { MUSTER_REPEATS_MAX = 20 }; /* --repeat */

/* Fold samples that differ in their value alone into one. Its value is the best one of a metric with windows; of others
 * the median where values scatter (muster_metric_scatters), else the worst. The values are kept in their order, of more
 * than MUSTER_VALUES_KEPT as many at even distances. A value replaces a null. Texts and booleans that differ stay
 * samples of their own. repeated: fold samples of metrics without windows too; wrong values are folded always, since
 * any visit may find some.
 *
 * The list of a rank is folded when its record becomes a part of the run (record.h), so that rank 0 never holds the
 * samples of all visits of all ranks; muster_run_fold folds the lists of the job and of the nodes, which grow with each
 * record, and comes after the last one. */
void muster_samples_fold(struct muster_samples *samples, bool repeated, struct muster_arena *arena);
void muster_run_fold(struct muster_run *run);

/* A sample that was measured once more at the end of the run, after the samples were folded: of a metric with windows
 * the better value counts, and both are kept; of others the worse one, such as the number of wrong values. */
void muster_samples_fold_again(
	struct muster_samples *samples, const struct muster_sample *again, struct muster_arena *arena);

#endif
