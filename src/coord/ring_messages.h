/* SPDX-License-Identifier: Apache-2.0 */
/* ring_messages.h - the messages of a ring barrier as rank 0 sees them: what each rank enters with, which ranks cannot
 * take part, and the answers, one for each leader with a part for each rank
 */
#ifndef MUSTER_COORD_RING_MESSAGES_H
#define MUSTER_COORD_RING_MESSAGES_H

#include "coord/barrier.h"
#include "coord/deadlines.h"
#include "coord/membership.h"
#include "coord/options.h"
#include "muster/probe.h"
#include "transport/transport.h"

struct muster_run;

/* What the scheduler uses; borrowed. */
struct muster_ring_context {
	struct muster_transport *transport;
	const struct muster_membership *members;
	const struct muster_deadlines *deadlines;
	struct muster_run *run; /* its trials are added here */
	bool ended;             /* the run is interrupted: no ring follows, and what the last one says proves nothing */
	double limit_ms;        /* of the barriers */
	enum muster_localise localise;
	enum muster_profile profile;
	int steps;                                /* as in struct muster_probe_env */
	uint64_t again;                           /* the probes (1 << index) that the visit MUSTER_VISITS is for */
	void (*say)(void *arg, const char *text); /* print a line about the progress */
	void *say_arg;
};

/* ---- what ranks enter with ---- */

struct muster_ring_entry {
	int rank;
	size_t node;
	struct muster_bytes payload;
	struct muster_ring_ready ready; /* points into the payload; all 0 when that is malformed */
	const char *why;                /* the reason when it cannot take part or is excluded; NULL */
	char excluded[200];             /* the text of why when it is excluded */
};

struct muster_ring_entries {
	struct muster_barrier_id barrier;
	struct muster_ring_entry *items; /* by rank, ascending */
	size_t count;
	struct muster_ring_entry **by_rank; /* of every rank of the job; NULL: it did not enter */
};

/* The ranks that entered the barrier, whose payloads are parts. with_ready: unpack each payload. */
void muster_ring_entries_read(struct muster_ring_entries *ret, const struct muster_membership *members,
	const struct muster_barrier *barrier, bool with_ready);
void muster_ring_entries_done(struct muster_ring_entries *entries);

void muster_ring_exclude(struct muster_ring_entry *entry, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Of ranks with the same GPU only the first can be in a ring. */
void muster_ring_exclude_duplicate_gpus(struct muster_ring_entries *entries);
/* The version that was kept in the first round, and stays when ranks are lost; all 0 before. */
struct muster_ring_agreed {
	char version[64];
	bool tie; /* as many ranks had another version */
};
/* Ranks whose NCCL versions differ hang in a ring, or compute wrong sums: keep the version that most ranks have. */
void muster_ring_exclude_version_mismatches(
	const struct muster_probe *probe, struct muster_ring_entries *entries, struct muster_ring_agreed *agreed);

/* ---- ids ---- */

/* Which of a ring's ids the rank with this number makes; -1: none. While a communicator starts, the maker of an id
 * meets all ranks that NCCL gives to it: one id for up to 256 ranks of the ring, at most MUSTER_RING_IDS_MAX, and each
 * is made by the first of these ranks (firstRankFromRoot of NCCL 2.28's bootstrap.cc), which is near them. */
int muster_ring_maker_index(int number, int ranks);

/* ---- answers ---- */

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
