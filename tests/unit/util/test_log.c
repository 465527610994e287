/* SPDX-License-Identifier: Apache-2.0 */
/* test_log.c - lines of the log: as text, and as JSON with fields of their own */
#include "util/log.h"

#include "check_main.h"
#include "../coord/caught_stderr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct muster_label fields[] = {
	{ "check", { .type = MUSTER_STRING, .string = "copy \"h2d\"\n" } },
	{ "absent", { .type = MUSTER_NULL } },
	{ "missing", { .type = MUSTER_STRING, .string = NULL } },
	{ "value", { .type = MUSTER_NUMBER, .number = 11.25 } },
	{ "endless", { .type = MUSTER_NUMBER, .number = INFINITY } },
	{ "simulated", { .type = MUSTER_BOOLEAN, .boolean = true } },
};
static const struct muster_log_place place = {
	.node = "gpu-1", .probe = "gpu", .rank = 3, .fields = fields, .field_count = sizeof fields / sizeof *fields
};

static void setup(void)
{
	catch_stderr();
	unsetenv("SLURM_JOB_ID");
	unsetenv("SLURMD_NODENAME");
}

TEST(a_line_of_text_has_no_fields)
{
	muster_log(MUSTER_LOG_ERROR, &place, "text %d", 1);
	ck_assert_str_eq(printed(), "muster: rank 3 node gpu-1: text 1\n");
}

TEST(fields_with_a_value_stand_before_the_message)
{
	muster_log_as_json(true);
	muster_log(MUSTER_LOG_ERROR, &place, "text");
	const char *line = printed();
	ck_assert_int_eq(strncmp(line, "{\"time\": \"", 10), 0);
	ck_assert_str_eq(strchr(line, ',') + 2,
		"\"level\": \"error\", \"node\": \"gpu-1\", \"rank\": 3, \"probe\": \"gpu\", \"check\": \"copy "
		"\\\"h2d\\\"\\u000a\", \"value\": 11.25, \"simulated\": true, \"message\": \"text\"}\n");
	muster_log_as_json(false);
}

TEST(a_line_without_a_place_is_of_this_process)
{
	muster_log_as_json(true);
	muster_log_who("gpu-2", 5);
	muster_log(MUSTER_LOG_INFO, NULL, "text");
	ck_assert_str_eq(strchr(printed(), ',') + 2,
		"\"level\": \"info\", \"node\": \"gpu-2\", \"rank\": 5, \"message\": \"text\"}\n");
	struct muster_log_place self = muster_log_self();
	ck_assert_str_eq(self.node, "gpu-2");
	ck_assert_int_eq(self.rank, 5);
	muster_log_who(NULL, -1);
	muster_log_as_json(false);
}

TEST_MAIN(.setup = setup)
