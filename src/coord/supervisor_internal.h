/* supervisor_internal.h - what one rank knows while it goes through the run, and what the files of its way share
 *
 * supervisor.c walks the straight line; event_loop.c waits for others and serves them meanwhile; probe_runner.c sends
 * the worker on its errands; ring_participant.c holds the rings; finalize.c is the end on rank 0.
 */
#ifndef MUSTER_COORD_SUPERVISOR_INTERNAL_H
#define MUSTER_COORD_SUPERVISOR_INTERNAL_H

#include "json/writer.h"
#include "eval/select.h"
#include "coord/supervisor.h"
#include "coord/worker_client.h"
#include "coord/barrier_id.h"
#include "coord/node_aggregator.h"
#include "coord/coordinator.h"
#include "journal/write.h"

enum { MUSTER_SHORT_DEADLINE_MS = 5000 }; /* of commands that only pass something on */

struct muster_supervisor {
	const struct muster_options *options;
	int rank, ranks;
	bool silent; /* another process, started beside this one as a job of its own, writes and prints */
	const char *node;
	double start_ms, end_ms; /* of the whole run, by this process's clock */
	char started[32];        /* the same moment, RFC 3339 */
	struct muster_run record;
	struct muster_worker_client crew;
	/* where this rank stands */
	int node_index, nodes, local_rank, *members;
	size_t member_count;
	struct muster_node_aggregator *leader; /* NULL unless this rank leads its node */
	struct muster_coordinator *root;       /* NULL unless rank 0 */
	/* what the driver said when the GPU was taken */
	char take_code[32], take_error[1600];
	char *peers;                            /* the peers command, kept for a replaced worker */
	enum muster_outcome_status open_status; /* how the drivers ended a worker, when why_skipped says so */
	bool no_worker;                         /* no worker can be kept alive */
	int ring_gate;                          /* of the ring that the worker has a part in now; 0: none */
	int stopped_gate;                       /* of the last ring that was called off, and why */
	char stopped_why[400];
	/* messages that the straight line waits for */
	struct muster_message layout, passed;
	double alive_ms;                /* when this rank last gave a sign of life */
	double aggregator_heartbeat_ms; /* when its leader did */
	/* ranks that heard of the layout before their leader did, and are at its first barrier */
	struct muster_message *early;
	size_t early_count;
	struct muster_selection choice; /* rank 0: what to expect */
	struct muster_journal *spool;   /* NULL unless asked for */
	char *run_name;                 /* of it */
	const char *interrupted;        /* the whole run ends early, and why; NULL */
};

/* ---- event_loop.c ---- */

/* One round of everything that may have happened meanwhile; sleeps shortly when nothing has. */
void muster_supervisor_poll(struct muster_supervisor *c);
void muster_supervisor_receive(struct muster_supervisor *c);
/* Only give signs of life: whatever comes now comes too late. */
void muster_supervisor_heartbeat(struct muster_supervisor *c);

/* End the whole run: no new command is given, records go to rank 0 and the report is made of them. Every rank hears of
 * it. */
void muster_supervisor_interrupt(struct muster_supervisor *c, const char *why);

/* Have the process ended with this exit code 5 s after the run's end, should it be stuck. Again when that end has
 * moved. */
void muster_supervisor_limit(const struct muster_supervisor *c, int exit_code);

/* Milliseconds that are left for measuring; and a command's deadline, cut to them, but never so short that a live
 * worker could not answer. */
int muster_supervisor_time_left(const struct muster_supervisor *c);
int muster_supervisor_bounded(const struct muster_supervisor *c, int wanted_ms);

/* Tell the leader that this rank is at a barrier; ended_phase is the phase of the run that ends with it, or -1. */
void muster_barrier_enter(struct muster_supervisor *c, int id, int ended_phase, const char *payload, size_t length);

/* Arrive and wait until the barrier opens. The answer's text, malloc'd; NULL when none came until until_ms or the
 * leader is dead. */
char *muster_barrier_wait(
	struct muster_supervisor *c, int id, int ended_phase, const char *payload, size_t length, double until_ms);

/* The same for all barriers but the last: "" when there is no answer, and the rank goes on alone. */
char *muster_barrier_pass(struct muster_supervisor *c, int id, int ended_phase, const char *payload, size_t length);
bool muster_aggregator_is_dead(const struct muster_supervisor *c);

/* ---- probe_runner.c ---- */

/* A command object for the worker: {"do": action, ...}. */
struct muster_command {
	char *text;
	size_t length;
	FILE *out;
	struct muster_json_writer w;
};

void muster_command_begin(struct muster_command *command, const char *action);
void muster_command_text(struct muster_command *command, const char *key, const char *text);
void muster_command_number(struct muster_command *command, const char *key, double number);
/* Begin it; the caller serves until the crew is no longer busy. */
void muster_command_start(struct muster_supervisor *c, struct muster_command *command, int deadline_ms);
enum muster_worker_client_state muster_command_wait(struct muster_supervisor *c);

/* Load the drivers (begun, not waited for); take a GPU; do all of it again with a new worker after one that ended. */
void muster_probe_runner_open(struct muster_supervisor *c);
void muster_probe_runner_take(struct muster_supervisor *c);
void muster_probe_runner_again(struct muster_supervisor *c);

/* Whether the probe can run now; otherwise its outcome is noted. */
bool muster_probe_runner_may_run(struct muster_supervisor *c, const struct muster_probe *probe);
/* Have the worker do this for the probe, and note how it ended. True when it went well. */
bool muster_probe_runner_run(struct muster_supervisor *c, const struct muster_probe *probe, const char *action);
/* The same for a command that was started already. */
bool muster_probe_runner_end(struct muster_supervisor *c, const struct muster_probe *probe);
/* The outcome noted so far; NULL when there is none. */
struct muster_outcome *muster_probe_runner_outcome(struct muster_supervisor *c, const char *probe);
/* Note this outcome, whatever was noted before; only the times add up. */
void muster_probe_runner_replace(struct muster_supervisor *c, struct muster_outcome outcome);
void muster_probe_runner_not_run(struct muster_supervisor *c, const char *probe, enum muster_outcome_status status,
	const char *code, const char *why);

/* ---- ring_participant.c ---- */

void muster_ring_participate(struct muster_supervisor *c);

/* ---- finalize.c, on rank 0 ---- */

/* Before the run: load what to expect, see that the report can be written. False: the run is called off. A machine type
 * that nobody knows is measured all the same, and inconclusive; a bad file calls the run off. */
bool muster_finalize_prepare(struct muster_supervisor *c);
/* For coordinator.h: whether a ring falls short of what is expected, as far as rank 0 knows by itself what this machine
 * is. */
bool muster_finalize_is_slow(void *conductor, const struct muster_probe *probe, const char *facts);
/* Once all records are in (or overdue): judge, write, print, and give signs of life meanwhile. Returns the exit code.
 */
int muster_finalize(struct muster_supervisor *c);
/* The same at once, without MPI. */
int muster_finalize_alone(struct muster_supervisor *c);
/* How long after the run's end the report may take. */
double muster_finalize_limit_ms(const struct muster_supervisor *c);

#endif
