/* SPDX-License-Identifier: Apache-2.0 */
/* test_progress.c - the progress of a run on standard error: one line that moves, or one line for each phase */
#include "coord/progress.h"

#include "caught_stderr.h"
#include "check_main.h"
#include "coord/message.h"
#include "util/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double now_ms;

static double shown(const struct muster_clock *clock)
{
	(void)clock;
	return now_ms;
}
static const struct muster_clock hands = { .now_ms = shown };

static struct muster_progress progress;

static struct muster_options options;

static void init(void)
{
	now_ms = 5000;
	muster_progress_init(&progress, &hands, &options, 8);
	now_ms += 1500;
}

/* Standard error goes to a file; `terminal` is what $MUSTER_TERMINAL says. */
static void start(const char *terminal)
{
	catch_stderr();
	setenv("MUSTER_TERMINAL", terminal, 1);
	options = (struct muster_options){ .profile = MUSTER_STANDARD };
	init();
}

/* The line without the time that is left, which is behind it. */
static void check_line(const char *start_of_it, const char *end)
{
	char left[MUSTER_TIME_LEFT_MAX], wanted[256];
	muster_time_left_text(muster_estimate_left(&progress.estimate, now_ms), left);
	snprintf(wanted, sizeof wanted, "%s, %s%s", start_of_it, left, end);
	ck_assert_str_eq(printed(), wanted);
}

static void show(int start_done, int drivers_done, int inventory_done)
{
	const int done[MUSTER_PHASE_COUNT] = { start_done, drivers_done, inventory_done };
	muster_progress_show(&progress, done, 8);
}

TEST(quick_has_no_load_and_no_traffic)
{
	int done[MUSTER_PHASE_COUNT] = { 8, 8, 8, 8 };
	start("0");
	progress.quick = true;
	muster_progress_show(&progress, done, 8);
	ck_assert_str_eq(printed(), "muster: 1.5 s: host and device copies\n");
	done[MUSTER_PHASE_LOAD] = 8;
	muster_progress_show(&progress, done, 8);
	ck_assert_str_eq(printed(), "muster: 1.5 s: all-reduce\n");
	done[MUSTER_PHASE_RING] = 8;
	muster_progress_show(&progress, done, 8);
	ck_assert_str_eq(printed(), "");
	progress.quick = false;
	muster_progress_show(&progress, done, 8);
	ck_assert_str_eq(printed(), "muster: 1.5 s: traffic between ranks\n");
}

TEST(without_a_terminal_each_phase_is_a_line_once)
{
	start("0");
	show(3, 0, 0);
	ck_assert_str_eq(printed(), "muster: 1.5 s: starting ranks\n");
	show(7, 0, 0);
	ck_assert_str_eq(printed(), "");
	show(8, 0, 0);
	ck_assert_str_eq(printed(), "muster: 1.5 s: loading drivers\n");
	now_ms += 500;
	show(8, 8, 8); /* a phase that was over at once is not shown */
	ck_assert_str_eq(printed(), "muster: 2.0 s: host and device copies\n");
	show(8, 8, 7); /* never back */
	ck_assert_str_eq(printed(), "");
	muster_progress_say(&progress, "localisation all-reduces: 4");
	muster_progress_end(&progress);
	ck_assert_str_eq(printed(), "muster: 2.0 s: localisation all-reduces: 4\n");
}

TEST(the_last_phase_is_shown_when_all_have_ended_it)
{
	const int done[MUSTER_PHASE_COUNT] = { 8, 8, 8, 8, 8 };
	start("0");
	muster_progress_show(&progress, done, 8);
	ck_assert_str_eq(printed(), "muster: 1.5 s: all-reduce\n");
}

#define CLEAR "\r\033[K"

TEST(on_a_terminal_one_line_moves)
{
	start("1");
	show(3, 0, 0);
	check_line(CLEAR "  1.5 s  starting ranks: 3 of 8 ranks done", "");
	now_ms += 99;
	show(4, 0, 0); /* too soon */
	ck_assert_str_eq(printed(), "");
	now_ms += 1;
	show(5, 0, 0);
	check_line(CLEAR "  1.6 s  starting ranks: 5 of 8 ranks done", "");
	show(8, 2, 0); /* another phase is shown at once */
	check_line(CLEAR "  1.6 s  loading drivers: 2 of 8 ranks done", "");
	muster_progress_say(&progress, "the all-reduce of 8 ranks is slow");
	ck_assert_str_eq(printed(), CLEAR "muster: 1.6 s: the all-reduce of 8 ranks is slow\n");
	now_ms += 100;
	show(8, 3, 0);
	check_line(CLEAR "  1.7 s  loading drivers: 3 of 8 ranks done", "");
	muster_progress_end(&progress);
	ck_assert_str_eq(printed(), CLEAR);
	muster_progress_end(&progress); /* nothing left to clear */
	muster_progress_say(&progress, "more");
	ck_assert_str_eq(printed(), "muster: 1.7 s: more\n");
}

#define UP "\033[A"

/* Standard error is a pipe, as under srun. */
static void start_piped(void)
{
	start("0");
	unsetenv("MUSTER_TERMINAL");
	unsetenv("SLURM_LABELIO");
	unsetenv("ENVIRONMENT");
	setenv("TERM", "xterm", 1);
	options.progress = MUSTER_PROGRESS_LINE;
	int ends[2];
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	ck_assert_int_ge(dup2(ends[1], STDERR_FILENO), 0);
	caught = fdopen(ends[0], "r");
}

static const char *piped(void)
{
	fflush(stderr);
	ssize_t length = read(fileno(caught), caught_text, sizeof caught_text - 1);
	caught_text[length > 0 ? length : 0] = '\0';
	return caught_text;
}

TEST(through_a_pipe_whole_lines_move)
{
	char wanted[256], left[MUSTER_TIME_LEFT_MAX];
	const int done[MUSTER_PHASE_COUNT] = { 3 };
	start_piped();
	init();
	ck_assert_int_eq(progress.way, MUSTER_WAY_FORWARDED);
	for (int i = 0; i < 2; i++) {
		muster_progress_show(&progress, done, 8);
		muster_time_left_text(muster_estimate_left(&progress.estimate, now_ms), left);
		snprintf(wanted, sizeof wanted, "%s" CLEAR "  %.1f s  starting ranks: 3 of 8 ranks done, %s\n",
			i ? UP : "", i ? 2.0 : 1.5, left);
		ck_assert_str_eq(piped(), wanted);
		now_ms += 499;
		muster_progress_show(&progress, done, 8); /* too soon */
		ck_assert_str_eq(piped(), "");
		now_ms += 1;
	}
	muster_progress_say(&progress, "more");
	ck_assert_str_eq(piped(), UP CLEAR "muster: 2.5 s: more\n");
	muster_progress_show(&progress, done, 8);
	ck_assert_int_eq(strncmp(piped(), CLEAR, strlen(CLEAR)), 0); /* not over the line that stays */
	muster_progress_end(&progress);
	ck_assert_str_eq(piped(), UP CLEAR);
}

static const struct {
	const char *name, *value;
	bool moves;
} surroundings[] = {
	{ "SLURM_LABELIO", "1", false }, { "SLURM_LABELIO", "0", true }, { "ENVIRONMENT", "BATCH", false },
	{ "TERM", "dumb", false }, { "TERM", "xterm-256color", true },
	{ "MUSTER_TERMINAL", "0", true }, /* it is a pipe, and the user knows where it ends */
};

TEST_EACH(no_escape_codes_where_they_could_end_in_a_file, surroundings)
{
	start_piped();
	setenv(surroundings[_i].name, surroundings[_i].value, 1);
	init();
	ck_assert_int_eq(progress.way, surroundings[_i].moves ? MUSTER_WAY_FORWARDED : MUSTER_WAY_LINES);
}

TEST(a_pipe_or_a_file_alone_gets_lines)
{
	start_piped();
	options.progress = MUSTER_PROGRESS_AUTO;
	init();
	ck_assert_int_eq(progress.way, MUSTER_WAY_LINES);
	options.progress = MUSTER_PROGRESS_LINE;
	ck_assert_int_ge(dup2(fileno(tmpfile()), STDERR_FILENO), 0);
	init();
	ck_assert_int_eq(progress.way, MUSTER_WAY_LINES);
}

TEST(off_is_off)
{
	start("1");
	options.progress = MUSTER_PROGRESS_OFF;
	init();
	show(3, 0, 0);
	muster_progress_say(&progress, "more");
	muster_progress_end(&progress);
	ck_assert_str_eq(printed(), "");
}

TEST(silent_progress_prints_nothing)
{
	start("1");
	progress.silent = true;
	show(3, 0, 0);
	muster_progress_say(&progress, "more");
	muster_progress_end(&progress);
	ck_assert_str_eq(printed(), "");
}

TEST(json_lines_are_never_for_a_terminal)
{
	setenv("MUSTER_TERMINAL", "1", 1);
	ck_assert(muster_on_terminal());
	muster_log_as_json(true);
	ck_assert(!muster_on_terminal());
	muster_log_as_json(false);
	setenv("MUSTER_TERMINAL", "0", 1);
	ck_assert(!muster_on_terminal());
	unsetenv("MUSTER_TERMINAL");
	ck_assert_int_ge(dup2(fileno(tmpfile()), STDOUT_FILENO), 0);
	ck_assert(!muster_on_terminal()); /* a file */
}

TEST_MAIN(.setup = NULL)
