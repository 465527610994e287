/* ring_answers.h - what rank 0's ring scheduler uses, and its messages: one for each leader, with a part for each rank
 */
#ifndef MUSTER_COORD_RING_ANSWERS_H
#define MUSTER_COORD_RING_ANSWERS_H

#include "coord/deadlines.h"
#include "coord/options.h"
#include "coord/ring_ready.h"
#include "muster/run.h"
#include "transport/transport.h"

/* What the scheduler uses; borrowed. */
struct muster_ring_context {
	struct muster_transport *transport;
	const struct muster_membership *members;
	const struct muster_deadlines *deadlines;
	struct muster_run *run; /* its trials are added here */
	double limit_ms;        /* of the barriers */
	enum muster_localise localise;
	enum muster_profile profile;
	int steps;                                /* as in struct muster_probe_env */
	void (*say)(void *arg, const char *text); /* print a line about the progress */
	void *say_arg;
};

/* Messages without parts so far, one for each node. _send takes and sends them; CANCEL only where there is a part. */
struct muster_packer *muster_ring_answers_begin(
	const struct muster_ring_context *context, struct muster_barrier_id barrier);
void muster_ring_answers_add(
	struct muster_packer *answers, const struct muster_ring_entry *entry, struct muster_ring_place place);
/* A text for a rank, such as why its ring is cancelled. */
void muster_ring_answers_text(
	const struct muster_ring_context *context, struct muster_packer *answers, int rank, const char *text);
void muster_ring_answers_send(
	const struct muster_ring_context *context, enum muster_tag tag, struct muster_packer *answers);

/* Print a line about the progress. */
void muster_ring_say(const struct muster_ring_context *context, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Milliseconds until the last round of the rings must have ended. */
double muster_ring_time_left(const struct muster_ring_context *context, double now_ms);

#endif
