/* worker_client.h - a supervisor's work with its worker: one command at a time, each with a deadline; a worker that
 * crashes or hangs is replaced, and what it had measured stays
 */
#ifndef MUSTER_COORD_WORKER_CLIENT_H
#define MUSTER_COORD_WORKER_CLIENT_H

#include "coord/deadlines.h"
#include "coord/message.h"
#include "model/record.h"
#include "util/clock.h"

/* Where a worker's lines come from: a process (worker_process.h), or a script in tests. */
struct muster_worker_ops {
	/* Start one; the one before has ended. */
	int (*start)(void *worker, struct muster_error *err);
	/* Send one line, without its newline. -1 when nobody listens. */
	int (*send)(void *worker, const char *text, size_t length, struct muster_error *err);
	/* *ret: the next line without its newline, good until the next call; NULL when none has come.
	 * 1: there will be no more. 0: the worker lives. -1: what came is no line. */
	int (*next_line)(void *worker, const char **ret, size_t *ret_length, struct muster_error *err);
	/* Take over what it printed. */
	void (*read_output)(void *worker);
	/* No more commands: it may end by itself within grace_ms. end must follow. */
	void (*quit)(void *worker, int grace_ms);
	/* End it, and wait at most grace_ms; *ret_how says how it ended. True when it had ended by itself. */
	bool (*end)(void *worker, int grace_ms, char *ret_how, size_t size);
	/* The last line that it printed; "". */
	const char *(*last_output)(void *worker, char *out, size_t size);
	/* What can be polled for lines; -1. And when the next line will be there, where that is known. */
	int (*fd)(void *worker);
	double (*next_ms)(void *worker);
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
	struct muster_record *record; /* where samples go; NULL: nowhere */
	/* Each line with a sample, and each step, as it came; NULL. */
	void (*tee)(void *arg, const char *line, size_t length);
	void *tee_arg;
	const char *node; /* for the log; rank: likewise, -1 when not known yet */
	int rank;
	enum muster_worker_state state;
	double born_ms; /* when the first worker was started */
	double started_ms, until_ms;
	int deadline_ms;
	bool failing;          /* the worker has said how it is going to fail: code and error hold that */
	char *cancelled_why;   /* the command at hand was cancelled, and why; NULL */
	size_t heard, samples; /* bytes and samples that the worker has given to the command at hand */
	char *step;            /* the last step of the command at hand; NULL */
	char *why_skipped;     /* later workers leave the drivers alone, and why; NULL */
	bool stopped;          /* no command is given any more: it is answered with the code and the error at once */
	bool simulated;        /* it has a stand-in library loaded */
	/* the answer */
	char code[32];  /* "ok" or an error's code name */
	char *error;    /* NULL: none */
	char *evidence; /* what the worker or a library said before; NULL */
	char *ring_id;  /* NULL: none */
	int gpus;       /* of the node, when that was asked */
	char gpu[32], uuid[48], path[64], agree[48];
	char *why_none;                     /* why it has no GPU; NULL */
	struct muster_ring_figure *figures; /* of the command at hand, at most MUSTER_RING_FIGURES_MAX */
	size_t figure_count;
};

/* ops, worker, clock and deadlines must be set. Start a worker. */
int muster_worker_client_start(struct muster_worker_client *client, struct muster_error *err);

/* Give the worker a command (a JSON object without newline). */
void muster_worker_client_command(struct muster_worker_client *client, const char *text, int deadline_ms);

/* The command at hand is of no use any more: the worker is told, and has deadlines->command_cancel to answer. Nothing
 * when it is not busy. */
void muster_worker_client_cancel(struct muster_worker_client *client, const char *why);

/* Take in what has come; the state afterwards. Never waits, except briefly for a process that it kills. */
enum muster_worker_state muster_worker_client_poll(struct muster_worker_client *client);
/* When poll has something to do, if no line comes before: a moment, or infinity. */
double muster_worker_client_next(const struct muster_worker_client *client);

/* End the worker, whatever it does, and have no other: the command at hand and all later ones end with this error. */
void muster_worker_client_stop(struct muster_worker_client *client, enum muster_code code, const char *why);

/* How the command at hand ended, as an outcome; its strings are interned in the arena. */
struct muster_outcome muster_worker_client_outcome(
	const struct muster_worker_client *client, const char *probe, struct muster_arena *arena);

/* No more commands; the worker is ended, given grace_ms to do so by itself, and everything freed. */
void muster_worker_client_done(struct muster_worker_client *client, int grace_ms);

#endif
