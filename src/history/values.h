/* SPDX-License-Identifier: Apache-2.0 */
/* values.h - every number of a run that is worth comparing with the same number of other runs
 *
 * A number is worth that when its metric is no mere fact (muster/metric.h). Its key says what was measured: the metric
 * and those labels that are neither a place nor a peer, as
 * "nccl.allreduce_busbw_gbps{bytes=536870912,nodes=2,ranks=16}" or "gpu.h2d_gbps". Node and part say where.
 *
 * So a value has two coordinates besides the time: the key, by which runs are compared, and node and part, by which the
 * machine is found again. A sample of an exchange of rank 3 with a peer has the key
 * "pair.exchange_gbps{kind=rail,...}", the node of rank 3, and the GPU of rank 3 as its part; the peer is in neither,
 * as another job has other peers.
 */
#ifndef MUSTER_HISTORY_VALUES_H
#define MUSTER_HISTORY_VALUES_H

#include "util/utc.h"
#include "muster/evaluate.h"

#include <stdint.h>

/* Where values come from. Texts belong to the report or the database, and live as long as the call of the visitor. */
struct muster_history_report {
	int64_t started;          /* seconds since 1970, UTC; MUSTER_HISTORY_NEVER when the report does not say */
	const char *job;          /* Slurm's job id, or NULL */
	const char *machine_type; /* the name that the report was evaluated as; NULL when unknown */
	const char *profile;      /* "quick", "standard", "full" */
	const char *version;      /* of the muster that measured; NULL when unknown */
	bool simulated;
	bool beside_jobs; /* other jobs used the node meanwhile: a low speed proves nothing */
	size_t nodes;     /* whose name is known */
	enum muster_status verdict;
};

#define MUSTER_HISTORY_NEVER INT64_MIN

struct muster_history_value {
	const struct muster_history_report *report; /* the same pointer for all values of one report in a row */
	const struct muster_metric *metric;         /* never NULL */
	const char *key;
	const char *node; /* NULL: of the whole job */
	/* Bus id of the GPU, "mlx5_ib0/1" of a port, the device of another label that is a place, "local rank 3" of a
	 * rank without a GPU; NULL: of the whole node or job. One part can have several values under one key: a GPU
	 * exchanges data with several peers, and two MIG instances share a bus id. */
	const char *part;
	double value; /* finite */
};

/* Return -1 to end the walk, with err filled in or not. */
typedef int muster_history_visit_fn(void *arg, const struct muster_history_value *value, struct muster_error *err);

/* Call visit for each value of a report that was read or evaluated: those of the job, then node by node. What the run
 * could not measure (null) has no value. 0, or -1 when visit returned that. Uses of the report: run, sku and verdict.
 */
int muster_history_values(
	const struct muster_report *report, muster_history_visit_fn *visit, void *arg, struct muster_error *err);

/* The report as the values point to it. Texts are the report's. */
void muster_history_describe(const struct muster_report *report, struct muster_history_report *ret);

/* The key of a metric with these labels, interned in the arena. A text of letters, digits and "_./:+-" that is no
 * number stands as it is, any other one in quotes as in JSON. */
const char *muster_history_key(struct muster_arena *arena, const struct muster_metric *metric,
	const struct muster_label *labels, size_t label_count);

/* The way back: the metric and labels of a key. -1 with err (MUSTER_EUSAGE) when it is no key, or this muster does not
 * know its metric. Labels have room for MUSTER_LABELS_MAX; texts go to the arena. */
int muster_history_key_read(struct muster_arena *arena, const char *key, const struct muster_metric **ret_metric,
	struct muster_label *ret_labels, size_t *ret_label_count, struct muster_error *err);

#endif
