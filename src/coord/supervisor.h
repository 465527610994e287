/* SPDX-License-Identifier: Apache-2.0 */
/* supervisor.h - one rank of a run, from hello to goodbye
 *
 * The caller provides the transport with its clock, the worker, and what only a real process does (signals, evaluation,
 * writing). So the same code runs as a process of a job, and a thousand times inside one test.
 *
 * A rank has up to three parts: its own course (supervisor.c, probe_runner.c, ring_participant.c), the aggregator of
 * its node on the lowest rank of each node, and the coordinator on rank 0. The parts of one process exchange the same
 * messages as those of two processes.
 *
 *   what fails                 who notices, and how                    what follows
 *   a worker                   its supervisor: end of the pipe,        worker_client.h starts another worker; samples
 *                              or the command's deadline               so far stay; the probe's outcome says how
 *   a supervisor               its leader: silence                     barriers are complete without it; it is missing
 *                                                                      in the report, unless its spool is found
 *   a leader                   its members and rank 0: silence         members go on alone, records go to rank 0
 *   rank 0                     leaders and members: no goodbye         each ends at the run's end, inconclusive
 *   disk, evaluation           rank 0: end of the report's time        finalize.c gives the thread up
 *   anything else that hangs   SIGALRM (muster_supervisor_limit)       the process exits with the code set last
 */
#ifndef MUSTER_COORD_SUPERVISOR_H
#define MUSTER_COORD_SUPERVISOR_H

#include "coord/coordinator.h"
#include "coord/node_aggregator.h"
#include "coord/worker_client.h"
#include "coord/options.h"
#include "spool/write.h"

struct muster_supervisor;

/* What a real process does, and a test replaces. */
struct muster_supervisor_host {
	void *arg; /* theirs */
	/* A signal that asks for the run's end, or 0; *ret_ms: when it came. NULL: never. */
	int (*signal)(const struct muster_supervisor *s, double *ret_ms);
	/* End the process with this exit code at this time, whatever hangs. The last call counts. NULL: do not. */
	void (*limit)(const struct muster_supervisor *s, double until_ms, int exit_code);
	/* Rank 0, before the run: load the expectations, check that the report can be written. 0, or the exit code
	 * with which the run is cancelled. */
	int (*prepare)(struct muster_supervisor *s);
	/* Rank 0, with all records: evaluate; the probes (1 << index) with a speed that is too low. NULL: none. */
	uint64_t (*too_slow)(struct muster_supervisor *s);
	/* Rank 0, then: evaluate, write, print; calls muster_serve_heartbeats meanwhile. The exit code. */
	int (*finalize)(struct muster_supervisor *s);
	bool in_job; /* a job's launcher placed the ranks */
	bool quiet;  /* rank 0 prints no progress and logs no malformed messages */
};

struct muster_supervisor {
	const struct muster_options *options;
	const struct muster_supervisor_host *host;
	struct muster_transport *transport;
	const struct muster_clock *clock;
	struct muster_deadlines deadlines;
	int rank, ranks;
	const char *node, *boot_id; /* node: this process's name for its node, then the name from rank 0 */
	double start_ms, end_ms;    /* of the whole run, by the transport's clock */
	double end_error_ms;        /* by so much later the run may end in truth: this rank was stopped meanwhile */
	char started[32];           /* the same moment, RFC 3339 */
	struct muster_arena *arena; /* of all texts that outlive a message or a command: to the end of the run */
	/* All that this rank measured, kept until the goodbye: if the leader dies with the record, the rank sends it to
	 * rank 0 itself. */
	struct muster_record record;
	struct muster_rank facts; /* rank, local_rank, GPU; the outcome of each probe so far */
	struct muster_worker_client worker;
	/* the node */
	int node_index, nodes, local_rank, *members;
	int turn, turns; /* of the GPUs that share a path */
	size_t member_count;
	struct muster_node_aggregator *aggregator; /* NULL unless this rank leads its node */
	struct muster_coordinator *coordinator;    /* NULL unless rank 0 */
	/* the error when the GPU was taken */
	const char *take_code, *take_error;
	char *peers;                            /* the peers command, kept for a replaced worker */
	enum muster_outcome_status open_status; /* how the drivers ended a worker, when why_skipped is set */
	bool cold_driver;                       /* the NVIDIA driver may have to start first */
	bool no_worker;                         /* every worker died */
	int replaced;                           /* workers, after a crash or a hang */
	struct muster_ring_course *courses;     /* of each probe with rings; NULL before the first */
	struct muster_barrier_id at;            /* the barrier that this rank entered last */
	struct muster_barrier_id ring;          /* the ring of the worker's command now; kind NONE: none */
	struct muster_barrier_id unanswered;    /* the last ring barrier that this rank left without an answer */
	struct muster_barrier_id cancelled;     /* the last ring that was cancelled, and why */
	const char *cancelled_why;
	/* messages that supervisor.c waits for */
	struct muster_message membership, released, goodbye;
	double heartbeat_ms;          /* when this rank last sent one */
	double leader_heartbeat_ms;   /* when a message last came from its leader */
	struct muster_message *early; /* for the aggregator, before this rank knew that it is the leader */
	size_t early_count;
	size_t recorded;            /* bytes of the record that have been sent */
	double measured_ms;         /* when they were */
	struct muster_spool *spool; /* NULL without --spool */
	bool soaking;               /* the worker's command ends early, with its figures, when it is cancelled */
	const char *interrupted;    /* why the whole run ends early; NULL */
};

/* The caller sets options, host, transport, clock, deadlines, node, boot_id, started, start_ms, end_ms, and the
 * worker's ops. */
void muster_supervisor_init(struct muster_supervisor *s);
void muster_supervisor_done(struct muster_supervisor *s);

/* Start the worker and the driver's load, before the transport is open. */
void muster_supervisor_start_worker(struct muster_supervisor *s);
/* From hello to goodbye. Returns the exit code. ready_ms: when the transport was open. */
int muster_supervisor_run(struct muster_supervisor *s, double ready_ms);

/* ---- event_loop.c ---- */

/* One turn: sleep until something happens, or until_ms, and handle it. */
void muster_supervisor_poll(struct muster_supervisor *s, double until_ms);
void muster_supervisor_receive(struct muster_supervisor *s);
/* Send heartbeats; drop every message, which is too late now. */
void muster_serve_heartbeats(struct muster_supervisor *s);

/* End the whole run early, on every rank: no new command starts, and the report is made of the records so far. */
void muster_supervisor_interrupt(struct muster_supervisor *s, const char *why);
/* End the process with this exit code soon after the run's end, if it hangs. Call it again when the end has moved. */
void muster_supervisor_limit(const struct muster_supervisor *s, int exit_code);

/* Milliseconds that are left for measuring; and a command's deadline within them, but never so short that a healthy
 * worker could not answer. */
int muster_supervisor_time_left(const struct muster_supervisor *s);
int muster_supervisor_bounded(const struct muster_supervisor *s, double wanted_ms);

/* The answer of a barrier; here is false when there is none. */
struct muster_answer {
	struct muster_message message;
	struct muster_bytes bytes;
	bool here;
};
void muster_answer_done(struct muster_answer *answer);

/* Enter a barrier; ended: this phase of the run and all before it have ended for this rank, or NONE. */
void muster_enter(struct muster_supervisor *s, struct muster_barrier_id id, enum muster_phase ended,
	const char *payload, size_t length);
/* Enter and wait for the answer. There is none when the time is over or the leader is dead: the rank goes on alone. */
struct muster_answer muster_barrier_wait(struct muster_supervisor *s, struct muster_barrier_id id,
	enum muster_phase ended, const char *payload, size_t length);
bool muster_aggregator_is_dead(const struct muster_supervisor *s);
/* The answer to this barrier, if the message is one; takes the message. */
struct muster_answer muster_answer_of(struct muster_message *message, struct muster_barrier_id id, int rank);

/* ---- probe_runner.c ---- */

/* Send the command to the worker, and free its text; wait until the worker is not busy. */
void muster_command_start(struct muster_supervisor *s, char *text, int deadline_ms);
enum muster_worker_state muster_command_wait(struct muster_supervisor *s);

/* The driver may have to start first: the command that runs, and later ones that use it, have a longer deadline. */
void muster_probe_runner_cold(struct muster_supervisor *s);
/* Load the drivers (without waiting); take a GPU; do both again with a new worker after a crash or a hang. */
void muster_probe_runner_open(struct muster_supervisor *s);
void muster_probe_runner_take(struct muster_supervisor *s);
void muster_probe_runner_again(struct muster_supervisor *s);

/* Whether the probe can run now; otherwise its outcome is set. */
bool muster_probe_may_run(struct muster_supervisor *s, const struct muster_probe *probe);
/* Have the worker do this for the probe, and set its outcome. True when that is OK. */
bool muster_probe_run(struct muster_supervisor *s, const struct muster_probe *probe, const char *action, int visit);
/* While the worker is busy, for so many seconds, have rank 0 say now and then how many are left. */
void muster_probe_say_time_left(struct muster_supervisor *s, const char *what, int seconds);
/* A probe has one outcome: the first failure stays, times add up. */
void muster_probe_add_outcome(struct muster_supervisor *s, struct muster_outcome outcome);
/* Replace the outcome; only the times add up. */
void muster_probe_replace_outcome(struct muster_supervisor *s, struct muster_outcome outcome);
void muster_probe_not_run(struct muster_supervisor *s, const char *probe, enum muster_outcome_status status,
	const char *code, const char *why);
/* A line for the record and the spool; frees it. */
void muster_record_line_add(struct muster_supervisor *s, char *line);

/* ---- ring_participant.c ---- */

/* Begin the first ring of this probe: its ranks agree on an id, and NCCL makes the communicator while other probes run.
 * Whatever comes in between, muster_ring_participate goes on from there. */
void muster_ring_begin(struct muster_supervisor *s, const struct muster_probe *probe);
/* Wait for the communicators that have begun, before a probe that must have the GPU for itself. */
void muster_ring_await(struct muster_supervisor *s);
/* Whether a ring has begun in this worker and is not awaited yet. */
bool muster_ring_is_starting(const struct muster_supervisor *s);
/* The rings and rounds of traffic of this visit; the first visit has the rings. */
void muster_ring_participate(struct muster_supervisor *s, int visit);
/* A message with the answer of a barrier. When this rank has given that barrier up and the answer makes it a member of
 * a ring, rank 0 is told that it takes no part. */
void muster_ring_late_answer(struct muster_supervisor *s, const struct muster_message *message);

#endif
