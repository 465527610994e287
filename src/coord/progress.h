/* progress.h - one line on a terminal's stderr that says how far the run is; plain lines when stderr is no terminal */
#ifndef MUSTER_COORD_PROGRESS_H
#define MUSTER_COORD_PROGRESS_H

#include "util/clock.h"

#include <stdbool.h>

struct muster_progress {
	const struct muster_clock *clock;
	bool terminal, shown;
	bool silent;     /* say nothing */
	int phase, done; /* what was shown last */
	double start_ms, shown_ms;
};

/* Whether what rank 0 prints ends on a terminal. mpirun gives ranks a terminal of its own as standard output whatever
 * becomes of it, so both streams must be one; a wrapper that knows better sets MUSTER_TERMINAL to 1 or 0. */
bool muster_on_terminal(void);

void muster_progress_init(struct muster_progress *progress, const struct muster_clock *clock);
/* done[phase] ranks of `ranks` have ended each phase; shows the first phase that not all of them have ended. */
void muster_progress_show(struct muster_progress *progress, const int *done, int ranks);
/* A line that stays, beside what is shown. */
void muster_progress_say(const struct muster_progress *progress, const char *text);
/* Clear the line. */
void muster_progress_end(struct muster_progress *progress);

#endif
