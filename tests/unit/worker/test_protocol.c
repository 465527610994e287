/* SPDX-License-Identifier: Apache-2.0 */
/* test_protocol.c - an answer of a worker comes to its supervisor as it was sent */
#include "worker/protocol.h"

#include "json/object.h"

#include "check_main.h"
#include <stdlib.h>
#include <string.h>

static struct muster_arena *arena;

static void setup(void)
{
	arena = muster_arena_new();
}

static void teardown(void)
{
	muster_arena_free(arena);
}

static char *written(const struct muster_worker_answer *answer)
{
	struct muster_json_writer_text text;
	muster_json_writer_text_begin(&text);
	muster_object_write(&text.w, &muster_worker_answer_type, answer);
	return muster_json_writer_text_end(&text);
}

/* 0, or -1 as of muster_object_read. */
static int read_answer(const char *text, struct muster_worker_answer *ret)
{
	struct muster_error err;
	struct muster_json_reader reader = { .arena = arena, .err = &err };
	struct muster_json *json = NULL;
	ck_assert_msg(muster_json_parse(text, strlen(text), &json, &err) == 0, "%s", err.text);
	int rc = muster_object_read(&reader, json, &muster_worker_answer_type, ret);
	muster_json_free(json);
	return rc;
}

TEST(an_answer_is_read_as_it_was_written)
{
	struct muster_ring_figure figures[] = { { 8388608, 231.25 }, { (uint64_t)1 << 40, 0.5 } };
	const struct muster_worker_answer answer = {
		.code = "time",
		.error = "no answer\n",
		.ring_id = "00ff",
		.gpus = 8,
		.gpu = "0001:00:00.0",
		.uuid = "GPU-1",
		.path = "numa3",
		.agree = "2.30.4",
		.why_none = "",
		.simulated = true,
		.figures = figures,
		.figure_count = 2,
	};
	struct muster_worker_answer back = { .gpus = -1 };
	char *text = written(&answer);
	ck_assert_ptr_null(strchr(text, '\n'));
	ck_assert_int_eq(read_answer(text, &back), 0);
	free(text);
	ck_assert_str_eq(back.code, "time");
	ck_assert_str_eq(back.error, "no answer\n");
	ck_assert_str_eq(back.ring_id, "00ff");
	ck_assert_int_eq(back.gpus, 8);
	ck_assert_str_eq(back.gpu, "0001:00:00.0");
	ck_assert_str_eq(back.uuid, "GPU-1");
	ck_assert_str_eq(back.path, "numa3");
	ck_assert_str_eq(back.agree, "2.30.4");
	ck_assert_str_eq(back.why_none, "");
	ck_assert(back.simulated);
	ck_assert_uint_eq(back.figure_count, 2);
	ck_assert_uint_eq(back.figures[1].bytes, (uint64_t)1 << 40);
	ck_assert_double_eq(back.figures[0].rate, 231.25);
}

/* A supervisor keeps what an earlier answer said; a node without GPUs is an answer. */
TEST(what_an_answer_does_not_have_stays)
{
	struct muster_worker_answer answer = { .code = "ok", .gpus = -1 }, back = { .gpu = "g", .gpus = 4 };
	char *text = written(&answer);
	ck_assert_str_eq(text, "{\"code\": \"ok\"}");
	ck_assert_int_eq(read_answer(text, &back), 0);
	ck_assert_str_eq(back.gpu, "g");
	ck_assert_int_eq(back.gpus, 4);
	free(text);
	answer.gpus = 0;
	text = written(&answer);
	ck_assert_int_eq(read_answer(text, &back), 0);
	ck_assert_int_eq(back.gpus, 0);
	free(text);
}

static int read_visit(const char *text, int *ret)
{
	struct muster_probe_env env = { .visit = 0 };
	struct muster_error err;
	struct muster_json_reader reader = { .arena = arena, .err = &err };
	struct muster_json *json = NULL;
	ck_assert_msg(muster_json_parse(text, strlen(text), &json, &err) == 0, "%s", err.text);
	int rc = muster_object_read(&reader, json, &muster_visit_type, &env);
	muster_json_free(json);
	*ret = env.visit;
	return rc;
}

TEST(a_visit_comes_with_its_command)
{
	int visit;
	ck_assert_int_eq(read_visit("{\"do\": \"run\", \"probe\": \"gpu_copy\", \"visit\": 2}", &visit), 0);
	ck_assert_int_eq(visit, 2);
	ck_assert_int_eq(read_visit("{\"do\": \"run\", \"probe\": \"gpu_copy\"}", &visit), -1);
}

static const char *const refused[] = {
	"[]",
	"{\"code\": 7}",
	"{\"figures\": [[8, 1]]}",
	"{\"figures\": [{\"bytes\": -1, \"rate\": 1}]}",
	"{\"figures\": [{\"bytes\": 8}]}",
};

TEST_EACH(a_malformed_answer_is_refused, refused)
{
	struct muster_worker_answer back = { .gpus = -1 };
	ck_assert_int_eq(read_answer(refused[_i], &back), -1);
}

TEST_MAIN(.setup = setup, .teardown = teardown)
