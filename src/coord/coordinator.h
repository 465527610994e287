/* SPDX-License-Identifier: Apache-2.0 */
/* coordinator.h - rank 0's work for the whole job: membership, barriers of the job, records, goodbye
 *
 * The rings are in ring_scheduler.h. Each record is read when it arrives, and becomes a part of the run: rank 0 holds
 * each fact once, in the run, and no record after the turn that took its message.
 *
 *   state        fields                      what is taken, and how it ends
 *   hellos       !closed                     HELLO; when all ranks are here or have died, or at hello_until_ms
 *   running      closed                      REDUCE of rings, PROGRESS, RING_FAILED, and the first records
 *   late records late_until_ms > 0           the RECORD barrier is complete; ranks that live (heartbeats) are
 *                                            waited for, since their leader may be dead or was late
 *   gathered     gathered                    no more records; finalize. muster_coordinator_again leads back to running,
 *                                            at most once, with visit = MUSTER_VISITS
 *   cancelled    closed, cancelled != 0      the run did not begin: every hello is answered with the exit code
 */
#ifndef MUSTER_COORD_COORDINATOR_H
#define MUSTER_COORD_COORDINATOR_H

#include "coord/ring_scheduler.h"
#include "model/record.h"
#include "coord/progress.h"

struct muster_coordinator {
	struct muster_transport *transport;
	const struct muster_deadlines *deadlines;
	int ranks;
	struct muster_run run; /* grows as records come in */
	struct muster_record_reader *reader;
	struct muster_membership members;
	bool *recorded; /* by rank: the record has arrived */
	int recorded_count;
	bool closed;   /* hellos are over: the membership is known, or the run was cancelled */
	int cancelled; /* the exit code of every rank; 0: the run goes on */
	double end_ms; /* of the whole run */
	double hello_until_ms;
	bool announced;       /* a leader sent the records of its node, and announced that another one follows */
	double late_until_ms; /* wait for late records of ranks that live; 0: the record barrier is not complete */
	double looked_ms[2];  /* time of the last search for missing records, and for dead leaders */
	struct muster_barrier_set barriers;
	struct muster_progress_news *progress_of; /* of each node */
	int done[MUSTER_PHASE_COUNT];             /* ranks of the job that have ended each phase, or have died */
	bool gathered;                            /* no more records are taken */
	int visit; /* the records that are gathered are those of this visit, or of all up to it */
	struct muster_progress progress;
	struct muster_ring_context rings;
	struct muster_ring_scheduler **schedulers; /* for each probe; NULL before its first ring */
};

/* Times are by the transport's clock. hello_until_ms: ranks without a hello by then are missing. */
void muster_coordinator_init(struct muster_coordinator *c, struct muster_transport *transport,
	const struct muster_deadlines *deadlines, double end_ms, double hello_until_ms,
	const struct muster_options *options);
void muster_coordinator_done(struct muster_coordinator *c);
/* Move the end of the run forward by so much. */
void muster_coordinator_hasten(struct muster_coordinator *c, double earlier_ms);

/* Take a message to rank 0. -1 with err when the message is malformed: of a message of parts, those before the
 * malformed one have been taken; else nothing changes. */
int muster_coordinator_message(
	struct muster_coordinator *c, const struct muster_message *message, struct muster_error *err);
void muster_coordinator_poll(struct muster_coordinator *c, double now_ms);
/* When to call poll next, if no message comes before; infinity: not at all. */
double muster_coordinator_next(const struct muster_coordinator *c, double now_ms);

/* Take no more records; ranks without one are missing. */
void muster_coordinator_give_up(struct muster_coordinator *c);

/* Answer the record barrier, to every rank of the membership: the run is over. */
void muster_coordinator_goodbye(struct muster_coordinator *c);
/* The same: these probes (1 << index) measure their windows once more, and records of that follow. */
void muster_coordinator_again(struct muster_coordinator *c, uint64_t probes);

/* Before the membership: the run cannot begin (a bad expectation file). All ranks exit with this code. */
void muster_coordinator_cancel(struct muster_coordinator *c, int exit_code);

#endif
