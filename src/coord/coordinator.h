/* coordinator.h - rank 0's part for all others: who is there, barriers of the whole job, records, goodbye
 *
 * ring_scheduler.h has the rings. A record is read when it comes, and becomes a part of the run.
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
	bool *recorded, *orphan; /* by rank: its record is in; it came past its leader */
	int recorded_count;
	bool closed;   /* hellos are over: the membership is known, or the run was cancelled */
	int cancelled; /* the exit code that everyone leaves with; 0: the run goes on */
	double end_ms; /* of the whole run */
	double hello_until_ms, limit_ms, record_limit_ms;
	double orphans_until_ms; /* records past dead leaders may still come; 0 before the record barrier was complete
				  */
	double looked_ms[2];     /* when it was last looked up whose record is in, and whose leader is dead */
	struct muster_barrier_set barriers;
	struct muster_progress_news *progress_of; /* of each node */
	int done[MUSTER_PHASE_COUNT];             /* ranks of the job that have ended each phase */
	bool gathered;                            /* every record that will come is in */
	struct muster_progress progress;
	struct muster_ring_context rings;
	struct muster_ring_scheduler *
		*schedulers; /* for each probe; NULL before its first ring's barrier was complete */
};

/* Times are by the transport's clock. hello_until_ms: when ranks that have not said hello are given up. */
void muster_coordinator_init(struct muster_coordinator *c, struct muster_transport *transport,
	const struct muster_deadlines *deadlines, double end_ms, double hello_until_ms, enum muster_localise localise);
void muster_coordinator_done(struct muster_coordinator *c);
/* The run ends this much earlier. */
void muster_coordinator_hasten(struct muster_coordinator *c, double earlier_ms);

/* Every message that comes to rank 0. -1 with err when it is malformed: then it counts for nothing. */
int muster_coordinator_message(
	struct muster_coordinator *c, const struct muster_message *message, struct muster_error *err);
void muster_coordinator_poll(struct muster_coordinator *c, double now_ms);
double muster_coordinator_next(const struct muster_coordinator *c, double now_ms);

/* No time is left: what has come so far is the run. */
void muster_coordinator_give_up(struct muster_coordinator *c);

/* The answer of the record barrier, to every rank that is there. */
void muster_coordinator_goodbye(struct muster_coordinator *c, int exit_code);

/* Before the membership: the run cannot begin (a bad expectation file). All ranks leave with this code. */
void muster_coordinator_cancel(struct muster_coordinator *c, int exit_code);

#endif
