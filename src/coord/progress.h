/* progress.h - the progress of a run: one line on a terminal's stderr, or one log line for each phase */
#ifndef MUSTER_COORD_PROGRESS_H
#define MUSTER_COORD_PROGRESS_H

#include "util/clock.h"

#include <stdbool.h>

struct muster_progress {
	const struct muster_clock *clock;
	bool terminal, shown;
	bool silent;     /* print nothing */
	bool quick;      /* the profile: without load and traffic */
	int phase, done; /* what was shown last */
	double start_ms, shown_ms;
};

/* Whether the output of rank 0 ends on a terminal. mpirun gives ranks a pseudo-terminal as standard output even when
 * its own output is a file, so both streams must be terminals; a wrapper can set MUSTER_TERMINAL to 1 or 0. */
bool muster_on_terminal(void);

void muster_progress_init(struct muster_progress *progress, const struct muster_clock *clock);
/* done[phase] ranks of `ranks` have ended each phase; shows the first phase that not all of them have
 * ended, or the phase before it when the profile does not have it. */
void muster_progress_show(struct muster_progress *progress, const int *done, int ranks);
/* Print a line that stays. */
void muster_progress_say(const struct muster_progress *progress, const char *text);
/* Clear the line. */
void muster_progress_end(struct muster_progress *progress);

#endif
