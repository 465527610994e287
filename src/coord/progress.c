/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - the progress of a run: one line that moves for people, or one log line for each phase
 *
 *   the first of these that holds          way          what is printed on standard error
 *   the log is JSON, or progress is off    LINES        with `off` nothing, else a log line for each phase
 *   a terminal, or MUSTER_TERMINAL=1       MOVING       the line over itself: CLEAR, no newline
 *   the option says `line`                 FORWARDED    whole lines: UP and CLEAR, the line, a newline. But LINES where
 *                                                       these codes could end in a file or between labels
 *   mpirun prints on this terminal, and    LAUNCHER     as MOVING, but on the terminal itself, while it is watched
 *     MUSTER_TERMINAL is not set
 *   none                                   LINES        "muster: 1.5 s: all-reduce", once for each phase
 *
 * The line: "  1.6 s  all-reduce: 5 of 8 ranks done, about 2 s left".
 */
#include "coord/message.h"
#include "progress.h"
#include "util/env.h"
#include "util/log.h"
#include "util/text.h"

#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
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

/* The first row of the table at the top that holds. */
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

/* Print to where the line moves. On the terminal of mpirun nothing is printed while mpirun is in the background. */
static void __attribute__((format(printf, 2, 3))) print(const struct muster_progress *progress, const char *format, ...)
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

/* Called in each turn of rank 0, so that the line is printed at most every TERMINAL_EVERY_MS (FORWARDED_EVERY_MS
 * through a pipe), and at once when the phase changes. */
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

/* ---- the terminal of the mpirun that has started this process ---- */

enum { ANCESTORS_MOST = 8 }; /* a shell script or two between mpirun and this process */

/* Processes that start ranks on their own host, and forward what these print. */
static const char launchers[] = "mpirun mpiexec orterun prterun mpiexec.hydra mpirun.real";

bool muster_process_stat_parse(const char *text, struct muster_process_stat *ret)
{
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	int parent, group, session, terminal, foreground;
	char state;
	if (!name || !end || end < name ||
		sscanf(end + 1, " %c %d %d %d %d %d", &state, &parent, &group, &session, &terminal, &foreground) != 6)
		return false;
	unsigned int device = (unsigned int)terminal; /* proc(5): the minor number is in bits 31 to 20 and 7 to 0 */
	*ret = (struct muster_process_stat){
		.parent = parent,
		.group = group,
		.terminal = makedev(device >> 8 & 0xfff, (device & 0xff) | (device >> 12 & 0xfff00)),
		.foreground = foreground,
	};
	snprintf(ret->name, sizeof ret->name, "%.*s", (int)(end - name - 1), name + 1);
	return true;
}

static bool read_stat(pid_t pid, struct muster_process_stat *ret)
{
	char path[64], text[1024];
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	return muster_read_line(path, text, sizeof text, NULL) == 0 && muster_process_stat_parse(text, ret);
}

/* The nearest launcher among the ancestors; 0 when there is none. */
static pid_t find_launcher(struct muster_process_stat *ret)
{
	pid_t pid = getppid();
	for (int i = 0; i < ANCESTORS_MOST && pid > 1 && read_stat(pid, ret); i++) {
		if (muster_text_has_word(launchers, ret->name))
			return pid;
		pid = ret->parent;
	}
	return 0;
}

/* Whether its standard error is this terminal. */
static bool prints_on(pid_t pid, dev_t terminal)
{
	char path[64];
	struct stat status;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, STDERR_FILENO);
	return stat(path, &status) == 0 && S_ISCHR(status.st_mode) && status.st_rdev == terminal;
}

/* The terminal of this session, if an mpirun among the ancestors has the same one as its standard error. */
void muster_terminal_open(struct muster_terminal *ret)
{
	struct muster_process_stat self, launcher;
	struct termios modes;
	*ret = (struct muster_terminal){ .fd = -1 };
	pid_t pid = find_launcher(&launcher);
	if (pid == 0 || !read_stat(getpid(), &self) || self.terminal == 0 || self.terminal != launcher.terminal ||
		!prints_on(pid, launcher.terminal))
		return;
	ret->launcher = launcher.group;
	ret->fd = open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	/* with tostop, the terminal would stop a process that is not in the foreground */
	if (ret->fd >= 0 &&
		(tcgetattr(ret->fd, &modes) < 0 || (modes.c_lflag & TOSTOP) || !muster_terminal_is_watched(ret)))
		muster_terminal_close(ret);
}

bool muster_terminal_is_watched(const struct muster_terminal *terminal)
{
	return terminal->fd >= 0 && tcgetpgrp(terminal->fd) == terminal->launcher;
}

void muster_terminal_close(struct muster_terminal *terminal)
{
	if (terminal->fd >= 0)
		close(terminal->fd);
	terminal->fd = -1;
}

/* ---- how long the rest of a run takes, for people who watch the run ---- */

#define SECOND 1000.0
#define STEP_MS 5.0       /* a training step of the profile standard */
#define LONG_STEP_MS 20.0 /* of the profile full, or when the user sets how many */
#define MOST_PACE 4.0     /* slower than that is a fault of one phase, and says nothing about others */
#define LEAST_PACE 0.5
#define SIMULATED_PACE 0.2
#define SIMULATED_LEAST_PACE 0.01
/* What tests of disks take where one gives 5 GB/s: how often the bytes of a node pass, in each phase. */
#define DISK_BYTES_PER_MS 5e6
static const double disk_passes[MUSTER_PHASE_COUNT] = {
	[MUSTER_PHASE_INVENTORY] = 4, /* twice written, twice read */
	[MUSTER_PHASE_COPIES] = 4,    /* written; read alone, beside products, by cuFile */
	[MUSTER_PHASE_TRAFFIC] = 1,   /* of a broadcast, in the profiles with traffic */
};
#define MINUTES_FROM (120 * SECOND)

/* Seconds on 4 to 8 GPUs: H100 and H200, docs/dev/measurements.md. Quick has no load and no traffic. */
static const double usual_s[MUSTER_PROFILE_COUNT][MUSTER_PHASE_COUNT] = {
	[MUSTER_QUICK] = { 0.2, 0.8, 0.2, 0.3, 0, 0.8, 0 },
	[MUSTER_STANDARD] = { 0.2, 0.8, 0.2, 0.3, 0.7, 0.9, 0.5 },
	[MUSTER_FULL] = { 0.2, 0.8, 0.2, 0.3, 1.5, 2.5, 0.8 },
};
/* What ranks add: they all report to rank 0, and NCCL connects them. */
static const double usual_ms_of_rank[MUSTER_PHASE_COUNT] = { [MUSTER_PHASE_START] = 1, [MUSTER_PHASE_RING] = 1 };

void muster_estimate_init(
	struct muster_estimate *ret, const struct muster_options *options, int ranks, bool simulated, double now_ms)
{
	int repeats = options->repeats > 1 ? options->repeats : 1;
	*ret = (struct muster_estimate){
		.began_ms = now_ms,
		.pace = simulated ? SIMULATED_PACE : 1,
		.least_pace = simulated ? SIMULATED_LEAST_PACE : LEAST_PACE,
	};
	for (int phase = 0; phase < MUSTER_PHASE_COUNT; phase++)
		ret->usual[phase] = usual_s[options->profile][phase] * SECOND + usual_ms_of_rank[phase] * ranks;
	ret->usual[MUSTER_PHASE_COPIES] *= repeats;
	bool broadcast = options->measures >> MUSTER_MEASURE_BROADCAST & 1;
	for (int phase = 0; options->storage && !simulated && phase < MUSTER_PHASE_COUNT; phase++)
		if (phase != MUSTER_PHASE_TRAFFIC || broadcast)
			ret->usual[phase] += disk_passes[phase] * (double)options->storage_bytes / DISK_BYTES_PER_MS;
	if (options->profile == MUSTER_QUICK)
		return;
	ret->asked[MUSTER_PHASE_LOAD] = options->soak_s * SECOND;
	if (ranks > 1)
		ret->asked[MUSTER_PHASE_TRAFFIC] = options->steps * (options->long_steps ? LONG_STEP_MS : STEP_MS);
}

/* The phases from the last one to this one have ended together. The time of all phases since the inventory, without
 * what the user asked for (a soak, training steps), divided by their usual time, is the pace of later phases. The pace
 * stays between least_pace and MOST_PACE. */
void muster_estimate_phase(struct muster_estimate *estimate, int phase, double now_ms)
{
	double elapsed = now_ms - estimate->began_ms, usual = 0, asked = 0;
	if (phase <= estimate->phase)
		return;
	for (int i = estimate->phase; i < phase; i++) {
		usual += estimate->usual[i];
		asked += estimate->asked[i];
	}
	/* ranks that start, and drivers that load, say nothing about later phases: both are slow the first time */
	if (estimate->phase >= MUSTER_PHASE_INVENTORY) {
		estimate->took += fmax(elapsed - asked, 0);
		estimate->took_usually += usual;
	}
	if (estimate->took_usually > 0)
		estimate->pace = fmin(fmax(estimate->took / estimate->took_usually, estimate->least_pace), MOST_PACE);
	estimate->phase = phase;
	estimate->began_ms = now_ms;
}

/* In all, as far as is known now. */
static double expected(const struct muster_estimate *estimate, int phase)
{
	double pace = phase == MUSTER_PHASE_START ? 1 : estimate->pace;
	return estimate->asked[phase] + estimate->usual[phase] * pace;
}

struct muster_time_left muster_estimate_left(const struct muster_estimate *estimate, double now_ms)
{
	double rest = 0, elapsed = now_ms - estimate->began_ms;
	double now = expected(estimate, estimate->phase) - elapsed;
	for (int phase = estimate->phase + 1; phase < MUSTER_PHASE_COUNT; phase++)
		rest += expected(estimate, phase);
	return (struct muster_time_left){ .ms = rest + fmax(now, 0), .at_least = now < 0 };
}

const char *muster_time_left_text(struct muster_time_left left, char out[MUSTER_TIME_LEFT_MAX])
{
	const char *word = left.at_least ? "at least" : "about";
	double seconds = round(left.ms / SECOND);
	if (left.at_least && seconds < 1)
		snprintf(out, MUSTER_TIME_LEFT_MAX, "longer than usual");
	else if (seconds < 1)
		snprintf(out, MUSTER_TIME_LEFT_MAX, "less than 1 s left");
	else if (left.ms < MINUTES_FROM)
		snprintf(out, MUSTER_TIME_LEFT_MAX, "%s %.0f s left", word, seconds);
	else
		snprintf(out, MUSTER_TIME_LEFT_MAX, "%s %.0f min left", word, round(seconds / 60));
	return out;
}
