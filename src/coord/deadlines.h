/* deadlines.h - every time that ranks wait for each other, on one drawn timeline
 *
 * A run ends at `end`, by every rank's own clock: rank 0 says in the membership how much time is left. What must be
 * over before what:
 *
 *   start        start + 1/3         end-5000   -4500  -4000   -3000   -1000    end   +3500   +4500  +5000  +6500
 *     |-- MPI_Init --|-- hello --|      |         |      |       |       |       |      |       |      |      |
 *     |                          |      |         |      |       |       |       |  report   leave  limit of the
 *     |                          |      |         |      |       |       |       |  written         process
 *     |                          |      |         |      |       |       rank 0 takes no more records
 *     |                          |      |         |      |       node aggregators send the records that they have
 *     |                          |      |         |      members stop waiting at barriers
 *     |                          |      |         rank 0 completes barriers with those that entered
 *     |                          |      node aggregators do so; nothing new is measured
 *     all known ranks have said hello, or are missing
 *
 * A member that is alive is waited for until these limits; one that was silent for `silence` is dead. All are
 * milliseconds.
 */
#ifndef MUSTER_COORD_DEADLINES_H
#define MUSTER_COORD_DEADLINES_H

struct muster_deadlines {
	/* how ranks know that others live */
	double heartbeat_every, silence;
	/* the start */
	double hello_least;    /* for hellos after MPI_Init, at least this, ... */
	double hello_share;    /* ... this part of the whole deadline, ... */
	double hello_per_rank; /* ... and this much for each rank: all connect to rank 0 */
	double start_share;    /* the part of the whole deadline that MPI_Init may take */
	/* before the run's end */
	double barrier_aggregator, barrier_coordinator, barrier_member;
	double record_aggregator, record_coordinator;
	double gather_reserve; /* nothing new is measured after it */
	/* after the run's end */
	double report, report_per_rank, leave, finalize, finalize_least, limit;
	double interrupted; /* an interrupted run ends after this at the latest */
	double journal;     /* what is not on disk yet */
	/* the worker */
	double command_least, command_short, command_open, command_cancel;
	/* the all-reduce over all ranks, and the smaller ones that look for the cause */
	double trial, trial_least, last_ring;
	double ring_share; /* of the time that is left: the most that a full ring takes when trials may follow */
	/* how long one turn of a rank's loop may take in messages before it serves everything else; how long it sleeps
	 * when nothing comes; how often a leader says how far its node is */
	double turn, idle, progress_every;
	double scale; /* what all of the above was multiplied by, but for the last line */
};

/* scale: 1 in every real run. */
void muster_deadlines_init(struct muster_deadlines *ret, double scale);

/* The scale of a run: 1, or in simulated runs what $MUSTER_TEST_TIME_SCALE says (0.05 to 1), so that tests need not
 * wait for real deadlines. */
double muster_deadlines_scale(void);

/* How long after the run's end the report of so many ranks may take. */
double muster_deadlines_report(const struct muster_deadlines *d, int ranks);

/* Until when ranks may say hello, when the run began at start, lasts whole, and MPI was there at ready. */
double muster_deadlines_hello(
	const struct muster_deadlines *d, double start_ms, double whole_ms, double ready_ms, int ranks);

#endif
