/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - the progress of a run: one line that moves for people, or one log line for each phase
 *
 * The line moves only where it is known to end on a terminal: standard error is one, mpirun's is (see below), or the
 * user says so, since nothing tells a task of srun where srun prints. All else gets lines, without escape codes.
 */
#ifndef MUSTER_COORD_PROGRESS_H
#define MUSTER_COORD_PROGRESS_H

#include "coord/options.h"
#include "util/clock.h"

#include <stdbool.h>
#include <sys/types.h>

enum muster_progress_way {
	MUSTER_WAY_LINES = 0, /* a log line for each phase */
	MUSTER_WAY_MOVING,    /* standard error is a terminal */
	MUSTER_WAY_FORWARDED, /* standard error is a pipe to a terminal, and only whole lines come through */
	MUSTER_WAY_LAUNCHER,  /* the terminal of mpirun */
};

/* ---- the terminal of the mpirun that has started this process ----
 *
 * mpirun gives its ranks pipes. On mpirun's own host the terminal of the session can still be opened: a person watches
 * it if mpirun's standard error is this terminal and mpirun runs in the foreground.
 */

struct muster_terminal {
	int fd;         /* of the terminal; -1: there is none */
	pid_t launcher; /* its process group */
};

/* No terminal for a process of another host, of srun, or of an mpirun whose standard error is a file or a pipe. */
void muster_terminal_open(struct muster_terminal *ret);
/* Whether the launcher is in the foreground: what is printed disturbs nothing else. */
bool muster_terminal_is_watched(const struct muster_terminal *terminal);
void muster_terminal_close(struct muster_terminal *terminal);

/* The numbers that /proc/PID/stat has of a process. */
struct muster_process_stat {
	char name[32];
	pid_t parent, group;
	dev_t terminal;   /* 0: none */
	pid_t foreground; /* process group in the foreground of the terminal */
};
/* text: the content of the file. False when it is not as the kernel writes it. */
bool muster_process_stat_parse(const char *text, struct muster_process_stat *ret);

/* ---- how long the rest of a run takes, for people who watch the run ----
 *
 * From what each phase usually takes on real machines (docs/dev/measurements.md), and how much faster or slower than
 * that the phases were that this run has ended. Pure: times come from the caller.
 */

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

/* ---- the progress ---- */

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
/* `ranks`: the ranks that have said hello. done[phase] of them have ended the phase or have died. Shows the first phase
 * that not all of them have ended, or the phase before it when the profile does not have it. */
void muster_progress_show(struct muster_progress *progress, const int *done, int ranks);
/* Print a line that stays. */
void muster_progress_say(struct muster_progress *progress, const char *text);
/* Clear the line. */
void muster_progress_end(struct muster_progress *progress);

#endif
