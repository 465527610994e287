/* SPDX-License-Identifier: Apache-2.0 */
/* test_noise.c - recorded noise: what a file may say, and how long an operation then takes */
#include "check_main.h"

#include "sim/noise.h"
#include "util/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER MUSTER_SOURCE_DIR "/src/sim/noise"

static char path[] = "/tmp/muster-test-XXXXXX";

static void start(void)
{
	close(mkstemp(path));
}

static void end(void)
{
	unlink(path);
}

static int read_text(const char *text, struct muster_sim_noise *ret, struct muster_error *err)
{
	FILE *out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	ck_assert_int_eq(fclose(out), 0);
	return muster_sim_noise_read(path, ret, err);
}

/* Two GPUs: calm for 10 ms, ten times as long for 20 ms, then twice as long until 40 ms; and always calm. */
static const char example[] = "# a comment\n\ncopies\n0 1\r\n10 10\n30 2\n40 1\ncopies\n0\t1 \n40 1\n";

static const struct {
	enum muster_sim_noise_kind kind;
	size_t gpu;
	double begins_ms, ms, takes_ms;
} operations[] = {
	{ MUSTER_SIM_NOISE_COPIES, 0, 0, 1, 1 },
	{ MUSTER_SIM_NOISE_COPIES, 0, 10, 1, 10 },
	{ MUSTER_SIM_NOISE_COPIES, 0, 9.5, 1, 5.5 },
	{ MUSTER_SIM_NOISE_COPIES, 0, 5, 12, 35 },  /* 5 calm, 2 in 20 ms, 5 in 10 ms */
	{ MUSTER_SIM_NOISE_COPIES, 0, 39, 1.5, 2 }, /* the series begins again */
	{ MUSTER_SIM_NOISE_COPIES, 0, 40 * 9 + 9.5, 1, 5.5 },
	{ MUSTER_SIM_NOISE_COPIES, 0, -30.5, 1, 5.5 }, /* 9.5 before the start */
	{ MUSTER_SIM_NOISE_COPIES, 0, 0, 1700, 4000 }, /* 17 in each 40 ms */
	{ MUSTER_SIM_NOISE_COPIES, 1, 10, 1, 1 },      /* the other GPU's own series */
	{ MUSTER_SIM_NOISE_COPIES, 2, 10, 1, 10 },     /* as GPU 0 */
	{ MUSTER_SIM_NOISE_MEMORY, 0, 10, 1, 1 },      /* no series */
	{ MUSTER_SIM_NOISE_NONE, 0, 10, 1, 1 },
	{ MUSTER_SIM_NOISE_COPIES, 0, 10, 0, 0 },
};

TEST_EACH(an_operation_gets_on_at_the_rate_of_each_moment, operations)
{
	struct muster_sim_noise noise;
	struct muster_error err;
	ck_assert_msg(read_text(example, &noise, &err) == 0, "%s", err.text);
	double takes = muster_sim_noise_seconds(&noise, operations[_i].kind, operations[_i].gpu,
		operations[_i].begins_ms / 1e3, operations[_i].ms / 1e3);
	ck_assert_double_eq_tol(takes * 1e3, operations[_i].takes_ms, 1e-6);
	ck_assert(isinf(muster_sim_noise_seconds(&noise, MUSTER_SIM_NOISE_COPIES, 0, 0, (double)INFINITY)));
	muster_sim_noise_done(&noise);
}

static const struct {
	const char *text, *said;
} wrong[] = {
	{ "", ":1: no series" },
	{ "# nothing\n", ":2: no series" },
	{ "0 1\n", ":1: the name of a series is needed: copies, memory" },
	{ "copies\n0 1\n", ":3: the last series has less than two rows" },
	{ "copies\n0 1\nproduct\n", ":3: the series before has less than two rows; found \"product\"" },
	{ "copies\n1 1\n", ":2: the first time of a series is 0; found \"1 1\"" },
	{ "copies\n0 1\n5 1\n5 2\n", ":4: each time is later than the one before; found \"5 2\"" },
	{ "copies\n0 1\n5\n", ":3: a time in ms, up to a day, and a factor from 0.01 to 10000 are needed" },
	{ "copies\n0 0\n", ":2: a time in ms" },
	{ "copies\n0 10001\n", ":2: a time in ms" },
	{ "copies\n0 nan\n", ":2: a time in ms" },
	{ "copies\n0 1 2\n", ":2: a time in ms" },
	{ "copies\n0 1\n86400001 1\n", ":3: a time in ms" },
	{ "copies\n0 1\n5 1\nlaunch\n", "exchange or step; found \"launch\"" },
};

TEST_EACH(a_wrong_line_is_named, wrong)
{
	struct muster_sim_noise noise;
	struct muster_error err;
	ck_assert_int_eq(read_text(wrong[_i].text, &noise, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
	ck_assert_msg(strncmp(err.text, path, strlen(path)) == 0 && strstr(err.text, wrong[_i].said), "%s", err.text);
}

TEST(a_file_has_a_limit)
{
	struct muster_sim_noise noise;
	struct muster_error err;
	ck_assert_int_eq(truncate(path, (16 << 20) + 1), 0);
	ck_assert_int_eq(muster_sim_noise_read(path, &noise, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EUSAGE);
}

TEST(each_name_of_the_folder_can_be_played)
{
	static const char *const names[] = { "noisy-a", "noisy-b", "quiet" };
	struct muster_arena *arena = muster_arena_new();
	struct muster_sim_noise noise;
	struct muster_error err;
	ck_assert_str_eq(muster_sim_noise_list(FOLDER, arena), "noisy-a, noisy-b, quiet, ");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *found = muster_sim_noise_find(FOLDER, names[i], arena, &err);
		ck_assert_msg(found && muster_sim_noise_read(found, &noise, &err) == 0, "%s", err.text);
		for (enum muster_sim_noise_kind kind = 1; kind < MUSTER_SIM_NOISE_KINDS; kind++) {
			double hour = muster_sim_noise_seconds(&noise, kind, 0, 0, 3600);
			ck_assert_msg(hour > 3500 && hour < 5400, "%s, series %d: %g s", names[i], (int)kind, hour);
		}
		muster_sim_noise_done(&noise);
	}
	ck_assert_ptr_null(muster_sim_noise_find(FOLDER, "noisy-z", arena, &err));
	ck_assert_str_eq(err.text, "--noise: noisy-a, noisy-b, quiet, or a file is needed, found \"noisy-z\"");
	ck_assert_ptr_null(muster_sim_noise_find(FOLDER, "../noise/quiet", arena, &err));
	ck_assert_ptr_null(muster_sim_noise_find(FOLDER, "/tmp", arena, &err));
	muster_arena_free(arena);
}

TEST_MAIN(.setup = start, .teardown = end)
