/* worker_client.h - a supervisor's work with its worker: one command at a time, each with a deadline; a worker that
 * crashes or hangs is replaced, and what it had measured stays
 */
#ifndef MUSTER_COORD_WORKER_CLIENT_H
#define MUSTER_COORD_WORKER_CLIENT_H

#include "muster/probe.h"
#include "muster/run.h"
#include "model/sample_json.h"
#include "util/subprocess.h"

enum muster_worker_client_state {
	MUSTER_WORKER_CLIENT_IDLE = 0,
	MUSTER_WORKER_CLIENT_BUSY,
	MUSTER_WORKER_CLIENT_DONE,    /* answered: see code, error */
	MUSTER_WORKER_CLIENT_CRASHED, /* see error: how it ended; evidence: its last words */
	MUSTER_WORKER_CLIENT_HUNG,    /* passed its deadline and was killed */
};

struct muster_worker_client {
	const char *program;
	char **environment; /* of every worker, as ours was at the first: MPI and what keeps it off the fabric add to it
			     */
	struct muster_subprocess proc;
	struct muster_run *record; /* one node, one rank: where samples go */
	struct muster_sample_reader reader;
	enum muster_worker_client_state state;
	double born_ms; /* when the first worker was started */
	double started_ms, until_ms;
	int deadline_ms;
	bool failing;          /* the worker has said how it is going to fail: code and error hold that */
	char off_why[400];     /* the command at hand was called off, and why; "" */
	size_t heard, samples; /* bytes and samples that the worker has given to the command at hand */
	char step[512];        /* the last step of the command at hand */
	char why_skipped[1600];
	bool stopped; /* no command is given any more: it is answered with the code and the error at once */
	/* the answer */
	char code[32]; /* "ok" or an error's code name */
	char error[1600];
	char evidence[1100]; /* what the worker or a library said before; "" */
	char ring_id[2 * MUSTER_RING_ID_BYTES + 1];
	int gpus; /* of the node, when that was asked */
	char gpu[32], uuid[48], path[64], why_none[512];
};

/* Start a worker. */
int muster_worker_client_start(
	struct muster_worker_client *crew, const char *program, struct muster_run *record, struct muster_error *err);

/* Give the worker a command (a JSON object without newline). */
void muster_worker_client_command(struct muster_worker_client *crew, const char *text, int deadline_ms);

/* The command at hand is of no use any more: the worker is told, and has MUSTER_CANCEL_MS to answer. Nothing when it
 * is not busy. */
#define MUSTER_CANCEL_MS 5000
void muster_worker_client_cancel(struct muster_worker_client *crew, const char *why);

/* Take in what has come; the state afterwards. Never waits, except briefly for a process that it kills. */
enum muster_worker_client_state muster_worker_client_poll(struct muster_worker_client *crew);

/* End the worker, whatever it does, and have no other: the command at hand and all later ones end with this error. */
void muster_worker_client_stop(struct muster_worker_client *crew, enum muster_code code, const char *why);

/* How the command at hand ended, as an outcome; its strings are interned in the record's arena. */
struct muster_outcome muster_worker_client_outcome(const struct muster_worker_client *crew, const char *probe);

/* Quit: no more commands; the process is ended. */
void muster_worker_client_dismiss(struct muster_worker_client *crew);

#endif
