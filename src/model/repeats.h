/* repeats.h - what becomes of measurements that were repeated */
#ifndef MUSTER_MODEL_REPEATS_H
#define MUSTER_MODEL_REPEATS_H

#include "muster/run.h"

enum { MUSTER_REPEATS_MAX = 20 };

/* Make one sample of those that differ in nothing but their value: of what scatters the median, of what counts the
 * worst. All the numbers are kept beside it. What could not be had in one repeat and could in another is had; texts and
 * booleans that differ stay, each for itself. */
void muster_run_fold_repeats(struct muster_run *run);

#endif
