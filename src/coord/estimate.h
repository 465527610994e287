/* estimate.h - how long the rest of a run takes, for people who watch the run
 *
 * From what each phase usually takes on real machines (docs/dev/measurements.md), and how much faster or slower than
 * that the phases were that this run has ended. Pure: times come from the caller.
 */
#ifndef MUSTER_COORD_ESTIMATE_H
#define MUSTER_COORD_ESTIMATE_H

#include "coord/options.h"

struct muster_estimate {
	/* milliseconds of each phase: for as long as the user asked; and what depends on the machine */
	double asked[MUSTER_PHASE_COUNT], usual[MUSTER_PHASE_COUNT];
	double began_ms;           /* the phase that runs */
	double took, took_usually; /* phases that have ended and say something about later ones */
	double pace, least_pace;   /* this run's time by the usual one, before a phase has ended; and its lower bound */
	int phase;
};

struct muster_time_left {
	double ms;     /* never negative */
	bool at_least; /* the phase that runs already takes longer than expected */
};

/* simulated: hardware whose clocks run faster than time. */
void muster_estimate_init(
	struct muster_estimate *ret, const struct muster_options *options, int ranks, bool simulated, double now_ms);
/* This phase runs now; all before it have ended. Never goes back. */
void muster_estimate_phase(struct muster_estimate *estimate, int phase, double now_ms);
struct muster_time_left muster_estimate_left(const struct muster_estimate *estimate, double now_ms);

/* "about 3 s left", "at least 20 s left", "about 4 min left", "less than 1 s left". Returns out. */
enum { MUSTER_TIME_LEFT_MAX = 48 };
const char *muster_time_left_text(struct muster_time_left left, char out[MUSTER_TIME_LEFT_MAX]);

#endif
