/* SPDX-License-Identifier: Apache-2.0 */
/* worker_client.h - a supervisor's side of its worker: one command at a time, each with a deadline; a worker that
 * crashes or hangs is replaced, and its samples so far are kept
 *
 *   IDLE ──command──▶ BUSY ──"done"──────────────────────▶ DONE     the next command may follow
 *                      ├──end of the results, bad line──▶ CRASHED  another worker runs already; it knows nothing: the
 *                      └──deadline──────────────────────▶ HUNG     caller opens, takes and sends peers again
 *                                                                  (muster_probe_runner_again)
 *
 * CRASHED and HUNG say how the command ended, not the state of the new worker. After muster_worker_client_stop each
 * command is DONE at once, with the error of the stop.
 */
#ifndef MUSTER_COORD_WORKER_CLIENT_H
#define MUSTER_COORD_WORKER_CLIENT_H

#include "coord/deadlines.h"
#include "coord/message.h"
#include "json/object.h"
#include "model/record.h"
#include "util/clock.h"
#include "worker/protocol.h"

/* Where a worker's lines come from: a process (worker_process.h), or a script in tests. */
struct muster_worker_ops {
	/* Start a worker; the previous one has ended. */
	int (*start)(void *worker, struct muster_error *err);
	/* Send one line, without its newline. -1 when the worker has closed its end. */
	int (*send)(void *worker, const char *text, size_t length, struct muster_error *err);
	/* *ret: the next line without its newline, good until the next call; NULL when none has come.
	 * 1: no more lines will come. 0: the worker lives. -1: protocol error. */
	int (*next_line)(void *worker, const char **ret, size_t *ret_length, struct muster_error *err);
	/* Read what it has printed. */
	void (*read_output)(void *worker);
	/* No more commands: it may exit within grace_ms. end must follow. */
	void (*quit)(void *worker, int grace_ms);
	/* End it, and wait at most grace_ms; *ret_how says how it ended. True when it had ended by itself. */
	bool (*end)(void *worker, int grace_ms, char *ret_how, size_t size);
	/* The last line that it printed; "". */
	const char *(*last_output)(void *worker, char *out, size_t size);
	/* A descriptor to poll for lines, or -1. When the next line comes, where that is known; NULL. */
	int (*fd)(void *worker);
	double (*next_ms)(void *worker);
	/* Milliseconds that it could run and was given no CPU, since it began; 0 where nothing tells them. NULL. */
	double (*starved_ms)(void *worker);
};

enum muster_worker_state {
	MUSTER_WORKER_IDLE = 0,
	MUSTER_WORKER_BUSY,
	MUSTER_WORKER_DONE,    /* answered: see code, error */
	MUSTER_WORKER_CRASHED, /* see error: how it ended; evidence: its last output */
	MUSTER_WORKER_HUNG,    /* passed its deadline and was killed */
};

struct muster_worker_client {
	const struct muster_worker_ops *ops;
	void *worker; /* for ops */
	const struct muster_clock *clock;
	const struct muster_deadlines *deadlines;
	struct muster_arena *arena;   /* of all texts */
	struct muster_record *record; /* for samples; NULL: dropped */
	struct muster_spool *spool;   /* takes each line that has a sample or a step; NULL: none */
	const char *node;             /* for the log, as rank is; rank -1: not known yet */
	int rank;
	enum muster_worker_state state;
	double born_ms; /* when the first worker was started */
	double started_ms, until_ms;
	double starved_ms; /* until the current command */
	int deadline_ms;
	double hang_least_ms;      /* after less, the worker may only be slow */
	bool failing;              /* the worker has announced its failure: code and error have it */
	const char *cancelled_why; /* why the current command was cancelled; NULL */
	size_t heard, samples;     /* bytes and samples from the worker for the current command */
	const char *step;          /* the last step of the current command; NULL */
	const char *evidence;      /* what the worker or a library printed before; NULL */
	const char *why_skipped;   /* why later workers do not load the drivers; NULL */
	const char *skipped_at;    /* the step at which the drivers ended a worker; NULL */
	bool stopped;              /* commands are no longer sent, but answered with the code and the error at once */
	struct muster_worker_answer answer;
};

/* Start a worker. ops, worker, clock, deadlines and arena must be set. */
int muster_worker_client_start(struct muster_worker_client *client, struct muster_error *err);

/* A command for the worker: {"do": action, key: value, members of `more`}. key and type: NULL without. The caller frees
 * the text. */
char *muster_command_text(const char *action, const char *key, struct muster_value value,
	const struct muster_object_type *type, const void *more);

/* Give the worker a command. */
void muster_worker_client_command(struct muster_worker_client *client, const char *text, int deadline_ms);

/* The current command has another deadline, and after less than hang_least_ms the worker may only be slow. */
void muster_worker_client_extend(struct muster_worker_client *client, int deadline_ms, double hang_least_ms);

/* Cancel the current command: the worker has deadlines->command_cancel to answer. Does nothing when it is not busy. */
void muster_worker_client_cancel(struct muster_worker_client *client, const char *why);

/* Read what has come; returns the state. Never waits, except briefly for a process that it kills. */
enum muster_worker_state muster_worker_client_poll(struct muster_worker_client *client);
/* When to call poll next, if no line comes before; infinity: not at all. */
double muster_worker_client_next(const struct muster_worker_client *client);

/* End the worker and start no other: the current command and all later ones end with this error. */
void muster_worker_client_stop(struct muster_worker_client *client, enum muster_code code, const char *why);

/* The outcome of the current command; its strings are in the client's arena. */
struct muster_outcome muster_worker_client_outcome(const struct muster_worker_client *client, const char *probe);

/* No more commands: the worker exits by itself from now on. */
void muster_worker_client_quit(struct muster_worker_client *client);
/* The same; the worker may exit within grace_ms, and is ended then. */
void muster_worker_client_done(struct muster_worker_client *client, int grace_ms);

#endif
