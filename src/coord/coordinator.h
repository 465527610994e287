/* coordinator.h - rank 0's office: who is there, who leads which node, everybody's records; ring_scheduler.h has the
 * rings' deal */
#ifndef MUSTER_COORD_COORDINATOR_H
#define MUSTER_COORD_COORDINATOR_H

#include "muster/error.h"
#include "muster/probe.h"
#include "muster/report.h"
#include "coord/barrier.h"
#include "model/run_merge.h"
#include "coord/barrier_id.h"
#include "transport/transport_mpi.h"
#include "coord/options.h"
#include "coord/message.h"
#include "coord/progress.h"

struct muster_coordinator {
	int ranks;
	struct muster_run run; /* grows as records come in */
	struct muster_hello *hellos;
	bool *here;                  /* ranks whose record is in */
	int hello_count, gone_count; /* gone: before the layout */
	bool laid_out;
	int cancelled; /* the exit code that everybody leaves with; 0: the run goes on */
	double hello_until_ms, limit_ms, last_limit_ms;
	double strays_until_ms; /* records of a dead leader's ranks may still come; 0 before the record barrier
				   completed */
	int *leaders;           /* of each node, by node index */
	size_t leader_count;
	struct muster_barrier_set barriers;
	int (*done)[MUSTER_PHASE_COUNT]; /* per leader */
	bool gathered;                   /* every record that will come is in */
	struct muster_progress progress;
	struct muster_ring_scheduler **dealers; /* for each probe; NULL until its first ring's barrier settles */
	enum muster_localise localise;
	/* Whether a ring's facts (a node in JSON) fall short of what is expected of it. NULL: nobody knows. */
	bool (*is_slow)(void *arg, const struct muster_probe *probe, const char *facts);
	void *is_slow_arg;
};

/* hello_until_ms: when ranks that have not said hello are given up. */
/* limit_ms, last_limit_ms: when barriers, and the one of the records, complete with those who are there. */
void muster_coordinator_init(
	struct muster_coordinator *root, int ranks, double hello_until_ms, double limit_ms, double last_limit_ms);
/* All of that is so much earlier. */
void muster_coordinator_advance_deadlines(struct muster_coordinator *root, double earlier_ms);
void muster_coordinator_done(struct muster_coordinator *root);

/* One parcel of answers for each leader, to be filled with a part for each rank, and then sent. */
struct muster_message_writer *muster_coordinator_begin_answers(const struct muster_coordinator *root, int barrier);
void muster_coordinator_send_answers(
	const struct muster_coordinator *root, enum muster_tag tag, struct muster_message_writer *parcels);

/* A line about how the run goes. */
void muster_coordinator_log(const struct muster_coordinator *root, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* HELLO, REDUCE, PROGRESS, HEARTBEAT, RING_FAILED and PEER_DIED. */
void muster_coordinator_message(struct muster_coordinator *root, const struct muster_message *message);
void muster_coordinator_poll(struct muster_coordinator *root, double now_ms);

/* No time is left: what has come so far is the run. */
void muster_coordinator_give_up(struct muster_coordinator *root);

/* Everybody may go home: the answer of the record barrier. */
void muster_coordinator_release(struct muster_coordinator *root, int exit_code);

/* Before the layout: the run cannot begin (a bad expectation file). All ranks leave with this code. */
void muster_coordinator_cancel(struct muster_coordinator *root, int exit_code);

#endif
