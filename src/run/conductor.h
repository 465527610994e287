/* conductor.h - what one rank knows while it goes through the run, and what the files of its way share
 *
 * conduct.c walks the straight line; serve.c waits for others and serves them meanwhile; errand.c sends the worker on
 * its errands; rings.c holds the rings; conclude.c is the end on rank 0.
 */
#ifndef MUSTER_RUN_CONDUCTOR_H
#define MUSTER_RUN_CONDUCTOR_H

#include "json/writer.h"
#include "eval/select.h"
#include "run/conduct.h"
#include "run/crew.h"
#include "run/gates.h"
#include "run/leader.h"
#include "run/root.h"
#include "journal/write.h"

enum { MUSTER_SHORT_DEADLINE_MS = 5000 }; /* of commands that only pass something on */

struct muster_conductor {
	const struct muster_options *options;
	int rank, ranks;
	bool silent; /* another process, started beside this one as a job of its own, writes and prints */
	const char *node;
	double start_ms, end_ms; /* of the whole run, by this process's clock */
	char started[32];        /* the same moment, RFC 3339 */
	struct muster_run record;
	struct muster_crew crew;
	/* where this rank stands */
	int node_index, nodes, local_rank, *members;
	size_t member_count;
	struct muster_leader *leader; /* NULL unless this rank leads its node */
	struct muster_root *root;     /* NULL unless rank 0 */
	/* what the driver said when the GPU was taken */
	char take_code[32], take_error[1600];
	char *peers;                            /* the peers command, kept for a replaced worker */
	enum muster_outcome_status open_status; /* how the drivers ended a worker, when why_skipped says so */
	bool hopeless;                          /* no worker can be kept alive */
	int ring_gate;                          /* of the ring that the worker has a part in now; 0: none */
	int stopped_gate;                       /* of the last ring that was called off, and why */
	char stopped_why[400];
	/* messages that the straight line waits for */
	struct muster_message layout, passed;
	double alive_ms;        /* when this rank last gave a sign of life */
	double leader_heard_ms; /* when its leader did */
	/* ranks that heard of the layout before their leader did, and are at its first gate */
	struct muster_message *early;
	size_t early_count;
	struct muster_selection choice; /* rank 0: what to expect */
	struct muster_journal *spool;   /* NULL unless asked for */
	char *run_name;                 /* of it */
	const char *interrupted;        /* the whole run ends early, and why; NULL */
};

/* ---- serve.c ---- */

/* One round of everything that may have happened meanwhile; sleeps shortly when nothing has. */
void muster_serve(struct muster_conductor *c);
void muster_serve_receive(struct muster_conductor *c);
/* Only give signs of life: whatever comes now comes too late. */
void muster_serve_life(struct muster_conductor *c);

/* End the whole run: no new command is given, records go to rank 0 and the report is made of them. Every rank hears of
 * it. */
void muster_interrupt(struct muster_conductor *c, const char *why);

/* Have the process ended with this exit code 5 s after the run's end, should it be stuck. Again when that end has
 * moved. */
void muster_limit(const struct muster_conductor *c, int exit_code);

/* Milliseconds that are left for measuring; and a command's deadline, cut to them, but never so short that a live
 * worker could not answer. */
int muster_time_left(const struct muster_conductor *c);
int muster_bounded(const struct muster_conductor *c, int wanted_ms);

/* Tell the leader that this rank is at a gate; ended_phase is the phase of the run that ends with it, or -1. */
void muster_arrive(struct muster_conductor *c, int id, int ended_phase, const char *payload, size_t length);

/* Arrive and wait until the gate opens. The answer's text, malloc'd; NULL when none came until until_ms or the leader
 * is dead. */
char *muster_wait_at(
	struct muster_conductor *c, int id, int ended_phase, const char *payload, size_t length, double until_ms);

/* The same for all gates but the last: "" when there is no answer, and the rank goes on alone. */
char *muster_pass_gate(struct muster_conductor *c, int id, int ended_phase, const char *payload, size_t length);
bool muster_leader_is_dead(const struct muster_conductor *c);

/* ---- errand.c ---- */

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
void muster_command_start(struct muster_conductor *c, struct muster_command *command, int deadline_ms);
enum muster_crew_state muster_command_wait(struct muster_conductor *c);

/* Load the drivers (begun, not waited for); take a GPU; do all of it again with a new worker after one that ended. */
void muster_errand_open(struct muster_conductor *c);
void muster_errand_take(struct muster_conductor *c);
void muster_errand_again(struct muster_conductor *c);

/* Whether the probe can run now; otherwise its outcome is noted. */
bool muster_errand_may_run(struct muster_conductor *c, const struct muster_probe *probe);
/* Have the worker do this for the probe, and note how it ended. True when it went well. */
bool muster_errand_run(struct muster_conductor *c, const struct muster_probe *probe, const char *action);
/* The same for a command that was started already. */
bool muster_errand_end(struct muster_conductor *c, const struct muster_probe *probe);
/* The outcome noted so far; NULL when there is none. */
struct muster_outcome *muster_errand_outcome(struct muster_conductor *c, const char *probe);
/* Note this outcome, whatever was noted before; only the times add up. */
void muster_errand_replace(struct muster_conductor *c, struct muster_outcome outcome);
void muster_errand_not_run(struct muster_conductor *c, const char *probe, enum muster_outcome_status status,
	const char *code, const char *why);

/* ---- rings.c ---- */

void muster_rings_run(struct muster_conductor *c);

/* ---- conclude.c, on rank 0 ---- */

/* Before the run: load what to expect, see that the report can be written. False: the run is called off. A machine type
 * that nobody knows is measured all the same, and inconclusive; a bad file calls the run off. */
bool muster_conclude_prepare(struct muster_conductor *c);
/* For root.h: whether a ring falls short of what is expected, as far as rank 0 knows by itself what this machine is. */
bool muster_conclude_is_slow(void *conductor, const struct muster_probe *probe, const char *facts);
/* Once all records are in (or overdue): judge, write, print, and give signs of life meanwhile. Returns the exit code.
 */
int muster_conclude(struct muster_conductor *c);
/* The same at once, without MPI. */
int muster_conclude_alone(struct muster_conductor *c);
/* How long after the run's end the report may take. */
double muster_conclude_limit_ms(const struct muster_conductor *c);

#endif
