/* supervisor.h - one rank's way through the run
 *
 * What it needs of the outside is handed in: a transport with its clock, a worker, and what only the real process does
 * (signals, judging, writing). So the same code runs as a process of a job and, a thousand times over, inside one test.
 */
#ifndef MUSTER_COORD_SUPERVISOR_H
#define MUSTER_COORD_SUPERVISOR_H

#include "coord/coordinator.h"
#include "coord/node_aggregator.h"
#include "coord/worker_client.h"
#include "json/writer.h"
#include "coord/options.h"
#include "journal/write.h"

struct muster_supervisor;

/* What a real process does, and a test plays. */
struct muster_supervisor_host {
	void *arg;
	/* A signal that asks for the run's end, or 0; *ret_ms is when it came. NULL: never. */
	int (*signal)(void *arg, double *ret_ms);
	/* Whatever hangs, end the process with this exit code at this time. The last call counts. NULL: do not. */
	void (*limit)(void *arg, double until_ms, int exit_code);
	/* Rank 0, before the run: load what to expect, see that the report can be written. 0, or the exit code with
	 * which the run is cancelled. */
	int (*prepare)(void *arg, struct muster_supervisor *s);
	/* Rank 0, before the rings: what a ring of this probe must reach, as far as its own record says what this
	 * machine is. malloc'd. */
	struct muster_floors (*floors)(void *arg, struct muster_supervisor *s, const struct muster_probe *probe);
	/* Rank 0, with all records: judge, write, print; calls muster_serve_heartbeats meanwhile. The exit code. */
	int (*finalize)(void *arg, struct muster_supervisor *s);
	bool in_job; /* a job's launcher placed the ranks */
	bool quiet;  /* no progress, no log lines of rank 0 about how the run goes */
};

struct muster_supervisor {
	const struct muster_options *options;
	const struct muster_supervisor_host *host;
	struct muster_transport *transport;
	const struct muster_clock *clock;
	struct muster_deadlines deadlines;
	int rank, ranks;
	const char *node, *boot_id; /* node: as this rank says it, then as rank 0 calls it */
	double start_ms, end_ms;    /* of the whole run, by the transport's clock */
	char started[32];           /* the same moment, RFC 3339 */
	struct muster_arena *arena;
	struct muster_record record;
	struct muster_rank facts; /* rank, local_rank, GPU; the outcome of each probe so far */
	struct muster_worker_client worker;
	/* where this rank stands */
	int node_index, nodes, local_rank, *members;
	size_t member_count;
	struct muster_node_aggregator *aggregator; /* NULL unless this rank leads its node */
	struct muster_coordinator *coordinator;    /* NULL unless rank 0 */
	/* what the driver said when the GPU was taken */
	char take_code[32];
	const char *take_error;
	char *peers;                            /* the peers command, kept for a replaced worker */
	enum muster_outcome_status open_status; /* how the drivers ended a worker, when why_skipped says so */
	bool no_worker;                         /* no worker can be kept alive */
	struct muster_barrier_id at;            /* the barrier that this rank entered last */
	struct muster_barrier_id ring;          /* the ring that the worker has a part in now; kind NONE: none */
	struct muster_barrier_id cancelled;     /* the last ring that was cancelled, and why */
	char *cancelled_why;
	/* messages that the straight line waits for */
	struct muster_message membership, released, goodbye;
	double heartbeat_ms;          /* when this rank last sent one */
	double leader_heartbeat_ms;   /* when something last came from its leader */
	struct muster_message *early; /* for the aggregator, before this rank knew that it leads */
	size_t early_count;
	struct muster_journal *journal; /* NULL unless asked for */
	const char *interrupted;        /* the whole run ends early, and why; NULL */
};

/* options, host, transport, node, boot_id, started, start_ms, end_ms and the worker's ops are set by the caller, who
 * has also begun the worker (muster_probe_runner_open) if there can be one. */
void muster_supervisor_init(struct muster_supervisor *s);
void muster_supervisor_done(struct muster_supervisor *s);

/* Before the transport is there: the worker's start. */
void muster_supervisor_start_worker(struct muster_supervisor *s);
/* From hello to goodbye. Returns the exit code. ready_ms: when the transport was there. */
int muster_supervisor_run(struct muster_supervisor *s, double ready_ms);

/* ---- event_loop.c ---- */

/* One round of everything that may have happened meanwhile; sleeps until something does, or until_ms. */
void muster_supervisor_poll(struct muster_supervisor *s, double until_ms);
void muster_supervisor_receive(struct muster_supervisor *s);
/* Only send heartbeats: whatever comes now comes too late. */
void muster_serve_heartbeats(struct muster_supervisor *s);

/* End the whole run: no new command is given, records go to rank 0 and the report is made of them. Every rank hears of
 * it. */
void muster_supervisor_interrupt(struct muster_supervisor *s, const char *why);
/* Have the process ended with this exit code soon after the run's end, should it be stuck. Again when that end moved.
 */
void muster_supervisor_limit(const struct muster_supervisor *s, int exit_code);

/* Milliseconds that are left for measuring; and a command's deadline, cut to them, but never so short that a live
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

/* Tell the leader that this rank is at a barrier; ended is the phase of the run that ends with it, or NONE. */
void muster_enter(struct muster_supervisor *s, struct muster_barrier_id id, enum muster_phase ended,
	const char *payload, size_t length);
/* Enter and wait for the answer. None comes when the time is over or the leader is dead: the rank goes on alone. */
struct muster_answer muster_barrier_wait(struct muster_supervisor *s, struct muster_barrier_id id,
	enum muster_phase ended, const char *payload, size_t length);
bool muster_aggregator_is_dead(const struct muster_supervisor *s);
/* The answer that came for this barrier, if one has come. */
struct muster_answer muster_answer_of(struct muster_message *message, struct muster_barrier_id id, int rank);

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
/* End the object; the caller frees the text. */
char *muster_command_end(struct muster_command *command);
/* Begin it; the caller serves until the worker is no longer busy. */
void muster_command_start(struct muster_supervisor *s, struct muster_command *command, int deadline_ms);
enum muster_worker_state muster_command_wait(struct muster_supervisor *s);

/* Load the drivers (begun, not waited for); take a GPU; do all of it again with a new worker after one that ended. */
void muster_probe_runner_open(struct muster_supervisor *s);
void muster_probe_runner_take(struct muster_supervisor *s);
void muster_probe_runner_again(struct muster_supervisor *s);

/* Whether the probe can run now; otherwise its outcome is noted. */
bool muster_probe_may_run(struct muster_supervisor *s, const struct muster_probe *probe);
/* Have the worker do this for the probe, and note how it ended. True when it went well. */
bool muster_probe_run(struct muster_supervisor *s, const struct muster_probe *probe, const char *action);
/* The outcome noted so far; NULL when there is none. */
struct muster_outcome *muster_probe_outcome(struct muster_supervisor *s, const char *probe);
/* Note this outcome, whatever was noted before; only the times add up. */
void muster_probe_replace_outcome(struct muster_supervisor *s, struct muster_outcome outcome);
void muster_probe_not_run(struct muster_supervisor *s, const char *probe, enum muster_outcome_status status,
	const char *code, const char *why);
/* A line for the record and the journal; frees it. */
void muster_record_line_add(struct muster_supervisor *s, char *line);

/* ---- ring_participant.c ---- */

void muster_ring_participate(struct muster_supervisor *s);

#endif
