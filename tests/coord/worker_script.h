/* SPDX-License-Identifier: Apache-2.0 */
/* worker_script.h - a worker that is a script: it answers commands after a while of virtual time, yields samples, takes
 * part in rings, and crashes, hangs or fails where its plan says
 */
#ifndef MUSTER_TESTS_COORD_WORKER_SCRIPT_H
#define MUSTER_TESTS_COORD_WORKER_SCRIPT_H

#include "coord/worker_client.h"
#include "job.h"
#include "random.h"

/* What the scripts of one job share: the rings under way. */
struct script_ring {
	uint64_t id; /* a hash of the ids: a large job has a million rings */
	int ranks, joined, first_node;
	bool several_nodes, bad; /* a bad node and another one are in it */
	bool traffic;            /* a round on the communicator of a ring */
	bool later;              /* of a later visit */
	struct script_ring *next;
	struct worker_script *members[]; /* that have come */
};

enum { SCRIPT_RINGS = 65536 };

struct script_job {
	struct muster_loop *loop;
	struct script_ring *rings[SCRIPT_RINGS]; /* lists, by their ids */
	int ring_count;
};

struct script_line {
	double at_ms;
	char *text;
	struct script_line *next;
};

/* What of its samples was taken by the supervisor, for the end's account. */
struct script_account {
	size_t samples;
	double sum;
};

struct worker_script {
	struct script_job *job;
	const struct rank_plan *plan;
	const struct muster_clock *clock;
	int rank, node, samples_each;
	struct random random;
	int commands;   /* given so far, by all incarnations */
	double free_ms; /* when it is through with what it was told so far */
	bool ended, hangs;
	struct script_line *first;
	char *held; /* the line that the supervisor was handed last */
	char how[64];
	int next_value;
	/* the ring that it waits in; NULL */
	struct script_ring *ring;
	int ring_index;
	double ring_until_ms;
	/* the last full ring that it was in */
	uint64_t full_id;
	int full_rank, full_ranks;
	double died_ms;            /* when it took its rank along; 0: it did not */
	int traffic, traffic_done; /* rounds so far, and rounds of the first visit that ended well */
	const struct muster_probe *probe;
	struct script_account account[MUSTER_SCOPE_COUNT]; /* of probes that are no ring's */
};

extern const struct muster_worker_ops worker_script_ops;

void worker_script_done(struct worker_script *script);
void script_job_done(struct script_job *job);

#endif
