/* root.h - rank 0's office: who is there, who leads which node, everybody's records; dealer.h has the rings' deal */
#ifndef MUSTER_RUN_ROOT_H
#define MUSTER_RUN_ROOT_H

#include "muster/error.h"
#include "muster/probe.h"
#include "muster/report.h"
#include "run/gate.h"
#include "model/run_merge.h"
#include "run/gates.h"
#include "run/link.h"
#include "run/options.h"
#include "run/parcel.h"
#include "run/progress.h"

struct muster_root {
	int ranks;
	struct muster_run run; /* grows as records come in */
	struct muster_hello *hellos;
	bool *here;                  /* ranks whose record is in */
	int hello_count, gone_count; /* gone: before the layout */
	bool laid_out;
	int called_off; /* the exit code that everybody leaves with; 0: the run goes on */
	double hello_until_ms, limit_ms, last_limit_ms;
	double strays_until_ms; /* records of a dead leader's ranks may still come; 0 before the record gate settled */
	int *leaders;           /* of each node, by node index */
	size_t leader_count;
	struct muster_keeper keeper;
	int (*done)[MUSTER_PHASE_COUNT]; /* per leader */
	bool gathered;                   /* every record that will come is in */
	struct muster_progress progress;
	struct muster_dealer **dealers; /* for each probe; NULL until its first ring's gate settles */
	enum muster_localise localise;
	/* Whether a ring's facts (a node in JSON) fall short of what is expected of it. NULL: nobody knows. */
	bool (*is_slow)(void *arg, const struct muster_probe *probe, const char *facts);
	void *is_slow_arg;
};

/* hello_until_ms: when ranks that have not said hello are given up. */
/* limit_ms, last_limit_ms: when gates, and the one of the records, settle with those who are there. */
void muster_root_init(
	struct muster_root *root, int ranks, double hello_until_ms, double limit_ms, double last_limit_ms);
/* All of that is so much earlier. */
void muster_root_hasten(struct muster_root *root, double earlier_ms);
void muster_root_done(struct muster_root *root);

/* One parcel of answers for each leader, to be filled with a part for each rank, and then sent. */
struct muster_parcel *muster_root_begin_answers(const struct muster_root *root, int gate);
void muster_root_send_answers(const struct muster_root *root, enum muster_tag tag, struct muster_parcel *parcels);

/* A line about how the run goes. */
void muster_root_say(const struct muster_root *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* HELLO, BUNDLE, PROGRESS, ALIVE, BROKEN and GONE. */
void muster_root_message(struct muster_root *root, const struct muster_message *message);
void muster_root_poll(struct muster_root *root, double now_ms);

/* No time is left: what has come so far is the run. */
void muster_root_give_up(struct muster_root *root);

/* Everybody may go home: the answer of the record gate. */
void muster_root_goodbye(struct muster_root *root, int exit_code);

/* Before the layout: the run cannot begin (a bad expectation file). All ranks leave with this code. */
void muster_root_call_off(struct muster_root *root, int exit_code);

#endif
