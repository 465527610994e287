/* progress.c - the progress of a run: one line on a terminal's stderr, or one log line for each phase */
#include "progress.h"

#include "util/log.h"
#include "coord/message.h"
#include "util/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TERMINAL_EVERY_MS = 100 };

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

void muster_progress_init(struct muster_progress *progress, const struct muster_clock *clock)
{
	*progress = (struct muster_progress){
		.clock = clock, .terminal = muster_on_terminal(), .start_ms = muster_clock_now(clock), .phase = -1
	};
}

/* The profile quick puts no load on the GPUs, and measures no traffic after the all-reduce. */
static bool has_phase(const struct muster_progress *progress, int phase)
{
	return !progress->quick || (phase != MUSTER_PHASE_LOAD && phase != MUSTER_PHASE_TRAFFIC);
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
	double now = muster_clock_now(progress->clock), seconds = (now - progress->start_ms) / 1e3;
	if (progress->terminal) {
		if (now - progress->shown_ms < TERMINAL_EVERY_MS && phase == progress->phase)
			return;
		fprintf(stderr, "\r\033[K%5.1f s  %s: %d of %d ranks done", seconds, phase_names[phase], done[phase],
			ranks);
		progress->shown_ms = now;
		progress->shown = true;
	} else if (phase > progress->phase) {
		muster_log(MUSTER_LOG_INFO, NULL, "%.1f s: %s", seconds, phase_names[phase]);
	}
	progress->phase = phase;
	fflush(stderr);
}

void muster_progress_say(const struct muster_progress *progress, const char *text)
{
	if (progress->silent)
		return;
	if (progress->terminal && progress->shown)
		fputs("\r\033[K", stderr);
	muster_log(MUSTER_LOG_INFO, NULL, "%.1f s: %s", (muster_clock_now(progress->clock) - progress->start_ms) / 1e3,
		text);
}

void muster_progress_end(struct muster_progress *progress)
{
	if (progress->terminal && progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
	fflush(stderr);
}
