/* progress.h - the progress of a run: one line that moves for people, or one log line for each phase
 *
 * The line moves only where it is known to end on a terminal: standard error is one, mpirun's is (terminal.h), or the
 * user says so, since nothing tells a task of srun where srun prints. All else gets lines, without escape codes.
 */
#ifndef MUSTER_COORD_PROGRESS_H
#define MUSTER_COORD_PROGRESS_H

#include "coord/estimate.h"
#include "coord/terminal.h"
#include "util/clock.h"

#include <stdbool.h>

enum muster_progress_way {
	MUSTER_WAY_LINES = 0, /* a log line for each phase */
	MUSTER_WAY_MOVING,    /* standard error is a terminal */
	MUSTER_WAY_FORWARDED, /* standard error is a pipe to a terminal, and only whole lines come through */
	MUSTER_WAY_LAUNCHER,  /* the terminal of mpirun */
};

struct muster_progress {
	const struct muster_clock *clock;
	enum muster_progress_way way;
	struct muster_terminal terminal;
	struct muster_estimate estimate;
	bool shown;  /* the line stands on the terminal */
	bool silent; /* print nothing */
	bool quick;  /* the profile: without load and traffic */
	int phase;   /* what was shown last */
	double start_ms, shown_ms;
};

/* Whether the output of rank 0 ends on a terminal, for colours. mpirun gives ranks a pseudo-terminal as standard output
 * even when its own output is a file, so both streams must be terminals; a wrapper can set MUSTER_TERMINAL to 1 or 0.
 */
bool muster_on_terminal(void);

/* ranks: of the whole job. */
void muster_progress_init(struct muster_progress *progress, const struct muster_clock *clock,
	const struct muster_options *options, int ranks);
/* done[phase] ranks of `ranks` have ended each phase; shows the first phase that not all of them have
 * ended, or the phase before it when the profile does not have it. */
void muster_progress_show(struct muster_progress *progress, const int *done, int ranks);
/* Print a line that stays. */
void muster_progress_say(struct muster_progress *progress, const char *text);
/* Clear the line. */
void muster_progress_end(struct muster_progress *progress);

#endif
