/* run_merge.h - many ranks' records become one run */
#ifndef MUSTER_MODEL_RUN_MERGE_H
#define MUSTER_MODEL_RUN_MERGE_H

#include "muster/error.h"
#include "muster/run.h"

/* What rank 0 knows of a rank from its hello. */
struct muster_hello {
	bool here;
	const char *node; /* NULL until it said hello; "<name>#2" when it is the second host of this name */
	const char *host; /* the kernel's name for this start of it */
	int node_index;
};

/* A leader's or a rank's record: its node is added and folded. here has one entry for each of the job's ranks; ranks
 * beyond it and ranks that are there already are errors. */
int muster_run_merge(
	struct muster_run *run, const char *text, size_t length, bool *here, int ranks, struct muster_error *err);

/* Every rank that nothing came from is put where it belongs, with the reason; nodes are sorted by their lowest rank. */
void muster_run_add_missing(struct muster_run *run, const struct muster_hello *hellos, const bool *here, int ranks);

#endif
