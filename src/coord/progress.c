/* progress.c - the progress of a run: one line that moves for people, or one log line for each phase */
#include "progress.h"

#include "util/log.h"
#include "coord/message.h"
#include "util/env.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TERMINAL_EVERY_MS = 100, FORWARDED_EVERY_MS = 500 };

#define CLEAR "\r\033[K"
#define UP "\033[A" /* to the line before: srun forwards a text when its line is whole */

static const char *const phase_names[] = {
	[MUSTER_PHASE_START] = "starting ranks",
	[MUSTER_PHASE_DRIVERS] = "loading drivers",
	[MUSTER_PHASE_INVENTORY] = "inventory: launch, system, GPU, affinity, links",
	[MUSTER_PHASE_COPIES] = "host and device copies",
	[MUSTER_PHASE_LOAD] = "memory and matrix products of all GPUs",
	[MUSTER_PHASE_RING] = "all-reduce",
	[MUSTER_PHASE_TRAFFIC] = "traffic between ranks",
};
_Static_assert(sizeof phase_names / sizeof *phase_names == MUSTER_PHASE_COUNT, "every phase has a name");

bool muster_on_terminal(void)
{
	const char *told = muster_env(MUSTER_ENV_TERMINAL);
	if (muster_log_is_json())
		return false;
	if (told)
		return strcmp(told, "1") == 0;
	return isatty(1) == 1 && isatty(2) == 1;
}

/* Whether escape codes that are sent through a pipe could end in a file, or between labels. */
static bool may_end_in_file(void)
{
	const char *batch = getenv("ENVIRONMENT"), *label = getenv("SLURM_LABELIO"), *term = getenv("TERM");
	struct stat status;
	return fstat(STDERR_FILENO, &status) < 0 || S_ISREG(status.st_mode) ||
	       (batch && strcmp(batch, "BATCH") == 0) || /* Slurm sets it for a batch script, whose output is a file */
	       (label && strcmp(label, "0") != 0) || (term && strcmp(term, "dumb") == 0);
}

static enum muster_progress_way choose_way(const struct muster_options *options, struct muster_terminal *terminal)
{
	const char *told = muster_env(MUSTER_ENV_TERMINAL);
	if (muster_log_is_json() || options->progress == MUSTER_PROGRESS_OFF)
		return MUSTER_WAY_LINES;
	if (told ? strcmp(told, "1") == 0 : isatty(STDERR_FILENO) == 1)
		return MUSTER_WAY_MOVING;
	if (options->progress == MUSTER_PROGRESS_LINE)
		return may_end_in_file() ? MUSTER_WAY_LINES : MUSTER_WAY_FORWARDED;
	if (!told)
		muster_terminal_open(terminal);
	return terminal->fd >= 0 ? MUSTER_WAY_LAUNCHER : MUSTER_WAY_LINES;
}

void muster_progress_init(struct muster_progress *progress, const struct muster_clock *clock,
	const struct muster_options *options, int ranks)
{
	double now = muster_clock_now(clock);
	*progress = (struct muster_progress){
		.clock = clock,
		.terminal.fd = -1,
		.quick = options->profile == MUSTER_QUICK,
		.silent = options->progress == MUSTER_PROGRESS_OFF,
		.start_ms = now,
		.phase = -1,
	};
	progress->way = choose_way(options, &progress->terminal);
	muster_estimate_init(&progress->estimate, options, ranks, muster_env(MUSTER_ENV_SIM_CLUSTER) != NULL, now);
}

/* The profile quick puts no load on the GPUs, and measures no traffic after the all-reduce. */
static bool has_phase(const struct muster_progress *progress, int phase)
{
	return !progress->quick || (phase != MUSTER_PHASE_LOAD && phase != MUSTER_PHASE_TRAFFIC);
}

/* To where the line moves. What comes between is of others. */
static void print(const struct muster_progress *progress, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void print(const struct muster_progress *progress, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (progress->way != MUSTER_WAY_LAUNCHER)
		vfprintf(stderr, format, args);
	else if (muster_terminal_is_watched(&progress->terminal))
		vdprintf(progress->terminal.fd, format, args);
	va_end(args);
	fflush(stderr);
}

static void clear(struct muster_progress *progress)
{
	if (progress->shown)
		print(progress, progress->way == MUSTER_WAY_FORWARDED ? UP CLEAR : CLEAR);
	progress->shown = false;
}

static void show_line(struct muster_progress *progress, const char *phase, int done, int ranks, double now)
{
	char left[MUSTER_TIME_LEFT_MAX];
	bool forwarded = progress->way == MUSTER_WAY_FORWARDED;
	print(progress, "%s%s%5.1f s  %s: %d of %d ranks done, %s%s", forwarded && progress->shown ? UP : "", CLEAR,
		(now - progress->start_ms) / 1e3, phase, done, ranks,
		muster_time_left_text(muster_estimate_left(&progress->estimate, now), left), forwarded ? "\n" : "");
	progress->shown_ms = now;
	progress->shown = true;
}

void muster_progress_show(struct muster_progress *progress, const int *done, int ranks)
{
	int phase = 0;
	if (progress->silent)
		return;
	while (phase + 1 < MUSTER_PHASE_COUNT && done[phase] >= ranks)
		phase++;
	while (!has_phase(progress, phase))
		phase--;
	double now = muster_clock_now(progress->clock);
	muster_estimate_phase(&progress->estimate, phase, now);
	if (progress->way != MUSTER_WAY_LINES) {
		int every = progress->way == MUSTER_WAY_FORWARDED ? FORWARDED_EVERY_MS : TERMINAL_EVERY_MS;
		if (now - progress->shown_ms >= every || phase != progress->phase)
			show_line(progress, phase_names[phase], done[phase], ranks, now);
	} else if (phase > progress->phase) {
		muster_log(MUSTER_LOG_INFO, NULL, "%.1f s: %s", (now - progress->start_ms) / 1e3, phase_names[phase]);
	}
	progress->phase = phase;
}

void muster_progress_say(struct muster_progress *progress, const char *text)
{
	double seconds = (muster_clock_now(progress->clock) - progress->start_ms) / 1e3;
	if (progress->silent)
		return;
	clear(progress);
	if (progress->way == MUSTER_WAY_LAUNCHER) /* by the pipe of mpirun it would come later than the line */
		print(progress, "muster: %.1f s: %s\n", seconds, text);
	else
		muster_log(MUSTER_LOG_INFO, NULL, "%.1f s: %s", seconds, text);
}

void muster_progress_end(struct muster_progress *progress)
{
	clear(progress);
	muster_terminal_close(&progress->terminal);
	if (progress->way == MUSTER_WAY_LAUNCHER)
		progress->way = MUSTER_WAY_LINES;
}
