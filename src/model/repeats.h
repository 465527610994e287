/* repeats.h - what becomes of measurements that were repeated */
#ifndef MUSTER_MODEL_REPEATS_H
#define MUSTER_MODEL_REPEATS_H

#include "muster/run.h"

enum { MUSTER_REPEATS_MAX = 20 };

/* Fold samples that differ in their value alone into one sample. Its value is the median where values scatter
 * (muster_metric_scatters), else the worst value of all repeats; all numbers are kept beside the value. A null gives
 * way to a value of another repeat. Texts and booleans that differ stay samples of their own. */
void muster_run_fold_repeats(struct muster_run *run);

#endif
