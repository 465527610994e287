/* SPDX-License-Identifier: Apache-2.0 */
/* test_key.c - keys of values and times, written and read back */
#include "check_main.h"
#include "eval_fixture.h"

#include "history/values.h"

static const char *const keys[] = {
	"gpu.h2d_gbps",
	"nccl.allreduce_busbw_gbps{bytes=8589934592,nodes=2,ranks=16}",
	"pair.exchange_gbps{kind=rail,transport=NET/IB/GDRDMA}",
	/* texts that would be taken for a number, or end the key */
	"port.counter{link_layer=\"7\",counter=\"a b\"}",
	"port.counter{link_layer=\"\",counter=\"x,y}\"}",
	"port.counter{link_layer=\"nan\",counter=\"\\\"\\\\\\u001b\"}",
};

TEST_EACH(a_key_reads_back_as_metric_and_labels, keys)
{
	struct muster_arena *arena = muster_arena_new();
	const struct muster_metric *metric;
	struct muster_label labels[MUSTER_LABELS_MAX];
	size_t count;
	struct muster_error err;
	ck_assert_msg(muster_history_key_read(arena, keys[_i], &metric, labels, &count, &err) == 0, "%s", err.text);
	ck_assert_str_eq(muster_history_key(arena, metric, labels, count), keys[_i]);
	muster_arena_free(arena);
}

static const struct {
	const char *key, *error;
} bad[] = {
	{ "gpu.nothing", "\"gpu.nothing\" is no metric of this muster" },
	{ "", "\"\" is no metric of this muster" },
#define LABELS "after the metric, labels as in \"{bytes=8388608,nodes=2}\" are needed"
	{ "gpu.h2d_gbps{", "\"gpu.h2d_gbps{\": " LABELS },
	{ "gpu.h2d_gbps{}", "\"gpu.h2d_gbps{}\": " LABELS },
	{ "gpu.h2d_gbps{a=1", "\"gpu.h2d_gbps{a=1\": " LABELS },
	{ "gpu.h2d_gbps{a=1}x", "\"gpu.h2d_gbps{a=1}x\": " LABELS },
	{ "gpu.h2d_gbps{a=}", "\"gpu.h2d_gbps{a=}\": " LABELS },
	{ "gpu.h2d_gbps{a=\"b}", "\"gpu.h2d_gbps{a=\"b}\": " LABELS },
	{ "gpu.h2d_gbps{a=\"\\", "\"gpu.h2d_gbps{a=\"\\\": " LABELS },
	{ "gpu.h2d_gbps{a=1,}", "\"gpu.h2d_gbps{a=1,}\": " LABELS },
	{ "gpu.h2d_gbps{a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1}",
		"\"gpu.h2d_gbps{a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1}\": " LABELS },
};

TEST_EACH(what_is_no_key_is_an_error, bad)
{
	struct muster_arena *arena = muster_arena_new();
	const struct muster_metric *metric;
	struct muster_label labels[MUSTER_LABELS_MAX];
	size_t count;
	struct muster_error err;
	ck_assert_int_eq(muster_history_key_read(arena, bad[_i].key, &metric, labels, &count, &err), -1);
	ck_assert_str_eq(err.text, bad[_i].error);
	muster_arena_free(arena);
}

static const struct {
	const char *text;
	int64_t time; /* -1: no time */
} times[] = {
	{ "1970-01-01T00:00:00Z", 0 },
	{ "2026-11-23T12:24:01Z", 1795436641 },
	{ "2024-02-29T23:59:59Z", 1709251199 },
	{ "9999-12-31T23:59:59Z", 253402300799 },
	{ "2023-02-29T00:00:00Z", -1 },
	{ "2023-02-28T24:00:00Z", -1 },
	{ "2023-02-28T00:00:60Z", -1 },
	{ "1969-12-31T23:59:59Z", -1 },
	{ "2023-02-28 00:00:00Z", -1 },
	{ "2023-02-28T00:00:00", -1 },
	{ "2023-02-28T00:00:00Zx", -1 },
	{ "2023-2-28T00:00:00Z", -1 },
	{ "", -1 },
};

TEST_EACH(a_time_reads_back, times)
{
	int64_t time = -7;
	char text[MUSTER_UTC_SIZE];
	ck_assert_int_eq(muster_utc_read(times[_i].text, &time), times[_i].time < 0 ? -1 : 0);
	ck_assert_int_eq(time, times[_i].time < 0 ? -7 : times[_i].time);
	if (times[_i].time >= 0)
		ck_assert_str_eq(muster_utc_text(time, text), times[_i].text);
}

TEST_LOOP(a_time_that_cannot_be_is_unknown, 0, 4)
{
	static const int64_t never[] = { MUSTER_HISTORY_NEVER, -1, 253402300800, INT64_MAX };
	char text[MUSTER_UTC_SIZE];
	ck_assert_str_eq(muster_utc_text(never[_i], text), "unknown");
}

TEST_MAIN(.setup = NULL)
