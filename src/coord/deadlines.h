/* SPDX-License-Identifier: Apache-2.0 */
/* deadlines.h - all time constants of a run, on one timeline
 *
 * A run ends at `end`, by every rank's own clock: the membership message contains the time that is left. The order:
 *
 *   start        start + 1/3         end-5000   -4500  -4000   -3000   -1000    end   +3500   +4500  +5000  +6500
 *     |-- MPI_Init --|-- hello --|      |         |      |       |       |       |      |       |      |      |
 *     |                          |      |         |      |       |       |       |  report   leave  limit of the
 *     |                          |      |         |      |       |       |       |  written         process
 *     |                          |      |         |      |       |       rank 0 takes no more records
 *     |                          |      |         |      |       node aggregators send the records that they have
 *     |                          |      |         |      members stop waiting at barriers
 *     |                          |      |         rank 0 completes barriers with the nodes that have entered
 *     |                          |      node aggregators complete barriers with the members that have entered;
 *     |                          |      no new command starts
 *     ranks without a hello are missing
 *
 * Living members are waited for until these limits. A member is dead after `silence` without a message. All values are
 * milliseconds.
 */
#ifndef MUSTER_COORD_DEADLINES_H
#define MUSTER_COORD_DEADLINES_H

#include <stdbool.h>

struct muster_deadlines {
	/* how ranks find out that another rank is dead */
	double heartbeat_every, silence;
	/* the start */
	/* time for hellos after MPI_Init: the largest of hello_least, hello_share of the whole deadline, and
	 * hello_per_rank for each rank (all connect to rank 0) */
	double hello_least, hello_share, hello_per_rank;
	double hello_interrupted; /* time for hellos after an interruption, at most */
	double start_share;       /* the part of the whole deadline that MPI_Init may take */
	/* before the run's end */
	double barrier_aggregator, barrier_coordinator, barrier_member;
	double record_aggregator, record_coordinator;
	double gather_reserve; /* no new command starts after it */
	double again_least;    /* with less left, nothing is measured once more */
	/* after the run's end */
	double report, report_per_rank, leave, finalize, finalize_least, limit;
	double interrupted; /* time that an interrupted run has left */
	double spool;       /* for writing the rest of the spool */
	/* the worker */
	double command_least, command_short, command_open, command_cancel;
	double open_cold;  /* like command_open, for a driver that may have to start first */
	double hang_least; /* of all probes, the shortest deadline: after less, a worker without an answer may only be
			      slow */
	/* the all-reduce over all ranks, and the smaller ones that look for the cause */
	double trial, trial_least, last_ring;
	double ring_per_rank; /* by so much longer than its probe's deadline a full ring may take for each rank */
	double pair;          /* for two ranks that exchange data: a first connection takes seconds */
	double worker_margin; /* how much sooner than its supervisor a worker gives up a ring */
	double ring_share;    /* of the time that is left: the most that a full ring may take when trials can follow */
	/* not scaled: how long one turn of a rank's loop may spend on messages; how often a leader reports the
	 * progress of its node */
	double turn, progress_every;
	double scale; /* the factor of all times above */
};

/* scale: 1 in every real run. */
void muster_deadlines_init(struct muster_deadlines *ret, double scale);

/* The scale of a run: 1, or in simulated runs $MUSTER_TEST_TIME_SCALE (0.05 to 1), so that tests need not wait for real
 * deadlines. */
double muster_deadlines_scale(bool simulated);

/* Time for the report of so many ranks, after the run's end. */
double muster_deadlines_report(const struct muster_deadlines *d, int ranks);

/* When hellos are over: of a run that began at start_ms and may take whole_ms, whose MPI_Init returned at ready_ms. */
double muster_deadlines_hello(
	const struct muster_deadlines *d, double start_ms, double whole_ms, double ready_ms, int ranks);

#endif
