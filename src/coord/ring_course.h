/* ring_course.h - the rings of one probe and the traffic after them, as one rank sees them; for ring_participant.c and
 * traffic_participant.c
 */
#ifndef MUSTER_COORD_RING_COURSE_H
#define MUSTER_COORD_RING_COURSE_H

#include "coord/supervisor.h"

struct muster_ring_course {
	struct muster_supervisor *s;
	const struct muster_probe *probe; /* of the rings */
	int index, round;
	bool can;            /* at the first ring, and no worker has crashed or hung since */
	const char *why_not; /* how a worker crashed or hung */
	bool was_in;         /* in a full ring ... */
	int ranks;           /* ... of so many ranks */
	size_t from, to;     /* the samples of the last full ring */
	/* how the last round ended */
	enum muster_ring_end end;
	double seconds;
	const char *detail;
	bool first;                   /* this rank was the ring's first: the worker's figures are the ring's */
	bool full;                    /* it was a full ring */
	struct muster_outcome rounds; /* of a probe's rounds of traffic so far, all of them OK; without a probe: none */
	bool traffic;                 /* the last round was one of traffic */
};

/* Send the worker a command of this round for a probe and wait for the outcome. A worker that does not answer is
 * replaced; a failure is reported to rank 0 at once. ranks: how many share the round. */
struct muster_outcome muster_ring_command(struct muster_ring_course *course, const struct muster_probe *probe,
	struct muster_json_writer_text *command, int deadline_ms, struct muster_barrier_id ring, int ranks);
/* The time that the worker has of the deadline. */
int muster_ring_worker_ms(const struct muster_ring_course *course, int deadline_ms);
/* Remember how the round ended. */
void muster_ring_note_end(struct muster_ring_course *course, const struct muster_outcome *outcome);

/* Whether the place is one of a round of traffic, or comes while such rounds last. */
bool muster_traffic_is_place(const struct muster_ring_course *course, const struct muster_ring_place *place);
void muster_traffic_take_part(
	struct muster_ring_course *course, const struct muster_ring_place *place, struct muster_barrier_id ring);
/* The rounds are over: an outcome for each probe with traffic that has none yet. why: as in struct
 * muster_ring_place. */
void muster_traffic_end(struct muster_ring_course *course, const char *why);

#endif
