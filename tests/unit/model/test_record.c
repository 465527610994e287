/* SPDX-License-Identifier: Apache-2.0 */
/* test_record.c - what the lines of a rank's record say, and the rank that is made of them
 *
 * Lines are written with ' in place of ".
 */
#include "model/record.h"
#include "model/limits.h"

#include "check_main.h"
#include "muster/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct muster_metric metrics[] = {
	{ .name = "a.job", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_JOB },
	{ .name = "a.node", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_NODE },
	{ .name = "a.port", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_PORT, .labels = { "port" } },
	{ .name = "a.rank", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_RANK },
	{ .name = "a.gpu", .type = MUSTER_NUMBER, .scope = MUSTER_SCOPE_GPU, .labels = { "gpu" } },
	{ .name = "a.speed",
		.type = MUSTER_NUMBER,
		.scope = MUSTER_SCOPE_RANK,
		.better = MUSTER_BETTER_MORE,
		.windows = "a.windows" },
};

static const struct muster_metric *find(const char *name)
{
	for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
		if (strcmp(metrics[i].name, name) == 0)
			return &metrics[i];
	return NULL;
}

static struct muster_run run;
static struct muster_record_reader *reader;
static struct muster_record_parts parts;
static struct muster_error err;

static void setup(void)
{
	muster_run_init(&run);
	reader = muster_record_reader_new(run.arena, find);
	muster_record_parts_init(&parts, 3);
	ck_assert_int_eq(parts.rank.rank, 3);
	ck_assert_int_eq(parts.rank.local_rank, -1);
}

static void teardown(void)
{
	muster_record_parts_done(&parts);
	muster_record_reader_free(reader);
	muster_record_reader_free(NULL);
	muster_run_done(&run);
}

static char *quoted(const char *text)
{
	static char copy[2048];
	snprintf(copy, sizeof copy, "%s", text);
	for (char *at = copy; *at; at++)
		*at = *at == '\'' ? '"' : *at;
	return copy;
}

/* As muster_record_line, of a text with " in its place. */
static int read_line(const char *text)
{
	struct muster_json *json;
	if (muster_json_parse(text, strlen(text), &json, &err) < 0)
		return -1;
	int rc = muster_record_line(reader, &parts, json, &err);
	muster_json_free(json);
	return rc;
}

static int line(const char *text)
{
	return read_line(quoted(text));
}

static void good(const char *text)
{
	ck_assert_msg(line(text) == 0, "%s: %s", text, err.text);
}

static void sample(const char *metric, int value)
{
	char text[128];
	snprintf(text, sizeof text, "{'sample':{'metric':'%s','value':%d%s}}", metric, value,
		strcmp(metric, "a.port") == 0  ? ",'labels':{'port':'mlx5_0/1'}"
		: strcmp(metric, "a.gpu") == 0 ? ",'labels':{'gpu':'0000:01:00.0'}"
					       : "");
	good(text);
}

/* The values of samples that count, as "1 2 3 ". */
static const char *values(const struct muster_samples *samples)
{
	static char text[128];
	size_t length = 0;
	*text = '\0';
	for (size_t i = 0; i < samples->count; i++)
		length += (size_t)snprintf(text + length, sizeof text - length, "%g ", samples->items[i].value.number);
	return text;
}

/* ---- lines as they are written ---- */

TEST(a_record_grows_by_lines)
{
	struct muster_record record = { 0 };
	char wanted[4096] = "";
	size_t length = 0;
	for (int i = 0; i < 200; i++) {
		char text[16];
		int size = snprintf(text, sizeof text, "{\"line\":%d}", i);
		if (i % 2)
			muster_record_add(&record, text, (size_t)size);
		else
			muster_record_add_sample(&record, text, (size_t)size);
		length += (size_t)snprintf(wanted + length, sizeof wanted - length, "%s\n", text);
	}
	ck_assert_uint_eq(record.length, length);
	ck_assert_mem_eq(record.bytes, wanted, length);
	ck_assert_uint_eq(record.samples, 100);
	ck_assert_uint_ge(record.room, record.length);
	muster_record_done(&record);
	ck_assert_ptr_null(record.bytes);
	ck_assert_uint_eq(record.length + record.samples, 0);
}

TEST_LOOP(an_outcome_is_read_as_it_was_written, 0, 3)
{
	const struct muster_outcome outcome = {
		.probe = "gpu_copy",
		.status = MUSTER_OUTCOME_HUNG,
		.detail = "no answer after 30 s",
		.step = "copying \"x\"",
		.evidence = "last words",
		.ring = 2,
		.partner = _i,
		.elapsed_ms = 30000,
	};
	char *text = muster_record_outcome_line(&outcome), partner[32];
	snprintf(partner, sizeof partner, "\"partner\": %d", _i - 1); /* in a line, the rank itself */
	ck_assert_int_eq(strstr(text, _i ? partner : "partner") != NULL, _i > 0);
	ck_assert_int_eq(read_line(text), 0);
	free(text);
	ck_assert_uint_eq(parts.rank.outcomes.count, 1);
	const struct muster_outcome *read = parts.rank.outcomes.items;
	ck_assert_str_eq(read->probe, "gpu_copy");
	ck_assert_int_eq(read->status, MUSTER_OUTCOME_HUNG);
	ck_assert_ptr_null(read->code);
	ck_assert_str_eq(read->detail, "no answer after 30 s");
	ck_assert_str_eq(read->step, "copying \"x\"");
	ck_assert_str_eq(read->evidence, "last words");
	ck_assert_int_eq(read->ring, 2);
	ck_assert_int_eq(read->partner, _i);
	ck_assert_double_eq(read->elapsed_ms, 30000);
	ck_assert_ptr_null(parts.died);
}

TEST(a_rank_is_read_as_it_was_written)
{
	const struct muster_rank rank = { .rank = 3, .local_rank = 1, .gpu = "0000:01:00.0", .gpu_uuid = "GPU-1" };
	char *text = muster_record_rank_line(&rank, "n1", true);
	ck_assert_int_eq(read_line(text), 0);
	free(text);
	ck_assert_int_eq(parts.rank.local_rank, 1);
	ck_assert_str_eq(parts.rank.gpu, "0000:01:00.0");
	ck_assert_str_eq(parts.rank.gpu_uuid, "GPU-1");
	ck_assert_str_eq(parts.node, "n1");
	ck_assert(parts.simulated);
	good("{'about_rank':{'rank':3,'local_rank':0,'simulated':false}}"); /* the last one counts */
	ck_assert_int_eq(parts.rank.local_rank, 0);
	ck_assert_ptr_null(parts.rank.gpu);
	ck_assert_ptr_null(parts.rank.gpu_uuid);
	ck_assert_ptr_null(parts.node);
	ck_assert(!parts.simulated);
}

TEST(what_is_kept_is_read_as_it_was_written)
{
	for (int value = 0; value < 5; value++)
		sample("a.rank", value);
	char *text = muster_record_kept_line(2, SIZE_MAX, false);
	ck_assert_str_eq(text, "{\"kept\": 2, \"job\": false}");
	ck_assert_int_eq(read_line(text), 0);
	free(text);
	ck_assert_str_eq(values(&parts.samples), "0 1 ");
	text = muster_record_kept_line(0, SIZE_MAX, true);
	ck_assert_str_eq(text, "{\"kept\": 0, \"job\": true}");
	free(text);
}

TEST(samples_from_the_middle_can_be_dropped)
{
	for (int value = 0; value < 6; value++)
		sample("a.rank", value);
	char *text = muster_record_kept_line(1, 4, false);
	ck_assert_str_eq(text, "{\"kept\": 1, \"until\": 4, \"job\": false}");
	ck_assert_int_eq(read_line(text), 0);
	free(text);
	ck_assert_str_eq(values(&parts.samples), "0 4 5 ");
	sample("a.rank", 6);
	ck_assert_int_eq(read_line("{\"kept\": 5, \"until\": 6}"), 0); /* as they came, not as they are left */
	ck_assert_str_eq(values(&parts.samples), "0 4 6 ");
}

/* ---- what lines do ---- */

TEST(the_last_outcome_of_a_probe_counts)
{
	good("{'outcome':{'probe':'p','status':'crashed','detail':'signal 11','elapsed_ms':1}}");
	good("{'outcome':{'probe':'q','status':'ok','elapsed_ms':2}}");
	good("{'outcome':{'probe':'p','status':'ok','elapsed_ms':3}}");
	ck_assert_uint_eq(parts.rank.outcomes.count, 2);
	ck_assert_str_eq(parts.rank.outcomes.items[0].probe, "p");
	ck_assert_int_eq(parts.rank.outcomes.items[0].status, MUSTER_OUTCOME_OK);
	ck_assert_double_eq(parts.rank.outcomes.items[0].elapsed_ms, 3);
	ck_assert_str_eq(parts.rank.outcomes.items[1].probe, "q");
	ck_assert_str_eq(parts.died, "p");
}

TEST(samples_that_are_not_kept_do_not_count)
{
	sample("a.rank", 0);
	sample("a.job", 1);
	sample("a.rank", 2);
	sample("a.job", 3);
	good("{'kept':2,'job':true}"); /* and those of the job */
	ck_assert_str_eq(values(&parts.samples), "0 1 3 ");
	sample("a.rank", 4);
	good("{'kept':5,'job':false}"); /* counted as they came: all, but what is gone stays so */
	ck_assert_str_eq(values(&parts.samples), "0 1 3 4 ");
	good("{'kept':3,'job':false}");
	ck_assert_str_eq(values(&parts.samples), "0 1 ");
	sample("a.rank", 5);
	good("{'kept':5}");
	ck_assert_str_eq(values(&parts.samples), "0 1 ");
	ck_assert_uint_eq(parts.came, 6);
	good("{'kept':6}");
	ck_assert_int_eq(line("{'kept':7}"), -1);
	good("{'kept':0}");
	ck_assert_uint_eq(parts.samples.count, 0);
}

static const char *const refused[] = {
	"",
	"{",
	"[]",
	"1",
	"{}",
	"{'later':1}",
	"{'sample':1}",
	"{'sample':{'metric':'a.rank'}}",
	"{'sample':{'metric':'a.none','value':1}}",
	"{'sample':{'metric':'a.rank','value':'text'}}",
	"{'sample':{'metric':'a.rank','value':1,'labels':{'port':'x'}}}",
	"{'sample':{'metric':'a.gpu','value':1}}",
	"{'sample':{'metric':'a.rank','value':1,'values':[1,2]}}",
	"{'outcome':{'probe':'p'}}",
	"{'outcome':{'probe':'p','status':'fine','elapsed_ms':1}}",
	"{'outcome':{'probe':'p','status':'error','elapsed_ms':1}}",
	"{'about_rank':{'rank':2,'local_rank':0,'simulated':true}}",
	"{'about_rank':{'rank':3,'simulated':true}}",
	"{'about_rank':{'rank':3,'local_rank':0}}",
	"{'about_rank':{'rank':3,'local_rank':-2,'simulated':true}}",
	"{'kept':-1}",
	"{'kept':1.5}",
	"{'kept':'1'}",
	"{'kept':2,'job':true}",
	"{'kept':1,'job':true} x",
};

TEST_EACH(a_line_that_is_refused_changes_nothing, refused)
{
	sample("a.rank", 7);
	good("{'outcome':{'probe':'p','status':'ok','elapsed_ms':1}}");
	good("{'about_rank':{'rank':3,'local_rank':1,'gpu':'g','simulated':false}}");
	err = (struct muster_error){ 0 };
	int rc = line(refused[_i]);
	ck_assert_msg(rc == 1 || (rc == -1 && *err.text), "%s", refused[_i]);
	ck_assert_str_eq(values(&parts.samples), "7 ");
	ck_assert_uint_eq(parts.came, 1);
	ck_assert_uint_eq(parts.rank.outcomes.count, 1);
	ck_assert_int_eq(parts.rank.outcomes.items[0].status, MUSTER_OUTCOME_OK);
	ck_assert_int_eq(parts.rank.local_rank, 1);
	ck_assert_str_eq(parts.rank.gpu, "g");
	ck_assert(!parts.simulated);
	ck_assert_ptr_null(parts.died);
	ck_assert_ptr_null(parts.malformed);
}

TEST(a_rank_line_of_another_rank_says_whose_it_is)
{
	ck_assert_int_eq(line("{'about_rank':{'rank':2,'local_rank':0,'simulated':true}}"), -1);
	ck_assert_msg(strstr(err.text, "rank 2") && strstr(err.text, "rank 3"), "%s", err.text);
}

TEST(no_more_outcomes_than_the_limit)
{
	char text[128];
	for (int i = 0; i < MUSTER_RUN_OUTCOMES_MAX; i++) {
		snprintf(text, sizeof text, "{'outcome':{'probe':'p%d','status':'ok','elapsed_ms':1}}", i);
		good(text);
	}
	parts.malformed = "before";
	ck_assert_int_eq(line("{'outcome':{'probe':'x','status':'crashed','detail':'d','elapsed_ms':1}}"), -1);
	ck_assert_uint_eq(parts.rank.outcomes.count, MUSTER_RUN_OUTCOMES_MAX);
	ck_assert_ptr_null(parts.died);
	ck_assert_ptr_null(parts.spoiled);
	good("{'outcome':{'probe':'p5','status':'crashed','detail':'d','elapsed_ms':1}}"); /* not one more */
	ck_assert_int_eq(parts.rank.outcomes.items[5].status, MUSTER_OUTCOME_CRASHED);
}

TEST(no_more_samples_than_the_limit_also_when_few_are_kept)
{
	static const char text[] = "{\"sample\":{\"metric\":\"a.rank\",\"value\":1}}";
	static const char none[] = "{\"kept\":0}";
	for (int i = 0; i < MUSTER_RUN_SAMPLES_MAX; i++) {
		ck_assert_int_eq(read_line(text), 0);
		if (i == MUSTER_RUN_SAMPLES_MAX / 2)
			ck_assert_int_eq(read_line(none), 0);
	}
	ck_assert_int_eq(read_line(text), -1);
	ck_assert_msg(strstr(err.text, "more than 100000 samples"), "%s", err.text);
	ck_assert_uint_eq(parts.samples.count, MUSTER_RUN_SAMPLES_MAX / 2 - 1);
	ck_assert_uint_eq(parts.came, MUSTER_RUN_SAMPLES_MAX);
}

/* ---- whole records ---- */

static void read_record(const char *text)
{
	const char *copy = quoted(text);
	muster_record_read(reader, copy, strlen(copy), &parts);
}

static void merge(void)
{
	muster_record_merge(&run, 0, &parts);
	ck_assert_ptr_null(parts.samples.items);
	ck_assert_ptr_null(parts.numbers);
	ck_assert_ptr_null(parts.rank.outcomes.items);
}

TEST(samples_go_where_their_scope_says)
{
	muster_run_add_node(&run, "n0");
	read_record("{'sample':{'metric':'a.gpu','labels':{'gpu':'0000:01:00.0'},'value':1}}\n"
		    "\n{'sample':{'metric':'a.rank','value':2}}\n"
		    "{'sample':{'metric':'a.port','labels':{'port':'mlx5_0/1'},'value':3}}\n"
		    "{'sample':{'metric':'a.node','value':4}}\n"
		    "{'sample':{'metric':'a.job','value':5}}\n"
		    "{'about_rank':{'rank':3,'local_rank':1,'gpu':'0000:01:00.0','simulated':true}}\n"
		    "{'outcome':{'probe':'p','status':'ok','elapsed_ms':1}}"); /* no newline */
	ck_assert_ptr_null(parts.malformed);
	merge();
	ck_assert_str_eq(values(&run.job.samples), "5 ");
	ck_assert_str_eq(values(&run.nodes[0].samples), "3 4 ");
	ck_assert_uint_eq(run.nodes[0].rank_count, 1);
	const struct muster_rank *rank = run.nodes[0].ranks;
	ck_assert_str_eq(values(&rank->samples), "1 2 ");
	ck_assert_int_eq(rank->rank, 3);
	ck_assert_int_eq(rank->local_rank, 1);
	ck_assert_str_eq(rank->gpu, "0000:01:00.0");
	ck_assert_ptr_null(rank->missing);
	ck_assert_uint_eq(rank->outcomes.count, 1);
	ck_assert(run.job.simulated && run.nodes[0].simulated);
}

/* Rank 0 holds the records of thousands of ranks: one sample of each speed, and not one of each visit. */
TEST(the_windows_of_a_rank_are_one_sample_of_its_run)
{
	muster_run_add_node(&run, "n0");
	read_record("{'sample':{'metric':'a.speed','value':7}}\n"
		    "{'sample':{'metric':'a.rank','value':1}}\n"
		    "{'sample':{'metric':'a.speed','value':9}}\n"
		    "{'sample':{'metric':'a.speed','value':8}}\n"
		    "{'outcome':{'probe':'p','status':'ok','elapsed_ms':1}}\n");
	merge();
	const struct muster_samples *samples = &run.nodes[0].ranks[0].samples;
	ck_assert_str_eq(values(samples), "9 1 ");
	ck_assert_uint_eq(samples->room, 2);
	ck_assert_uint_eq(samples->items[0].value_count, 3);
}

/* A rank that died during a localisation all-reduce, and one that died during a probe. */
TEST(samples_without_a_decision_do_not_count)
{
	muster_run_add_node(&run, "n0");
	read_record("{'sample':{'metric':'a.rank','value':1}}\n"
		    "{'outcome':{'probe':'p','status':'ok','elapsed_ms':1}}\n"
		    "{'sample':{'metric':'a.rank','value':2}}\n"
		    "{'kept':2,'job':false}\n"
		    "{'sample':{'metric':'a.rank','value':3}}\n"
		    "{'sample':{'metric':'a.node','value':4}}\n"
		    "{'about_rank':{'rank':3,'local_rank':1,'simulated':false}}\n");
	merge();
	ck_assert_str_eq(values(&run.nodes[0].ranks[0].samples), "1 2 ");
	ck_assert_uint_eq(run.nodes[0].samples.count, 0);
	muster_record_parts_init(&parts, 4);
	read_record("{'sample':{'metric':'a.rank','value':5}}\n");
	merge();
	ck_assert_uint_eq(run.nodes[0].ranks[1].samples.count, 0);
}

TEST(one_simulated_rank_makes_the_node_and_the_job_simulated)
{
	muster_run_add_node(&run, "n0");
	muster_run_add_node(&run, "n1");
	read_record("{'about_rank':{'rank':3,'local_rank':1,'simulated':true}}\n");
	merge();
	muster_record_parts_init(&parts, 4);
	read_record("{'about_rank':{'rank':4,'local_rank':2,'simulated':false}}\n");
	merge();
	muster_record_parts_init(&parts, 5);
	muster_record_merge(&run, 1, &parts);
	ck_assert(run.job.simulated && run.nodes[0].simulated && !run.nodes[1].simulated);
	ck_assert_uint_eq(run.nodes[0].rank_count, 2);
	ck_assert_int_eq(run.nodes[1].ranks[0].local_rank, -1);
}

TEST(a_malformed_line_spoils_the_probe_that_is_noted_next)
{
	muster_run_add_node(&run, "n0");
	read_record("{'outcome':{'probe':'p','status':'ok','elapsed_ms':1}}\n"
		    "{'sample':{'metric':'a.rank','value':1}}\n"
		    "{'sample':{'metric':'a.none','value':1}}\n" /* of q */
		    "nonsense\n"                                 /* the first one is named */
		    "{'sample':{'metric':'a.rank','value':2}}\n"
		    "{'outcome':{'probe':'q','status':'ok','elapsed_ms':1}}\n"
		    "{'outcome':{'probe':'r','status':'ok','elapsed_ms':1}}\n");
	ck_assert_ptr_nonnull(parts.malformed);
	ck_assert_msg(strstr(parts.malformed, "a.none"), "%s", parts.malformed);
	ck_assert_str_eq(parts.spoiled, "q");
	merge();
	const struct muster_rank *rank = run.nodes[0].ranks;
	ck_assert_str_eq(values(&rank->samples), "1 2 ");
	ck_assert_int_eq(rank->outcomes.items[0].status, MUSTER_OUTCOME_OK);
	ck_assert_int_eq(rank->outcomes.items[1].status, MUSTER_OUTCOME_ERROR);
	ck_assert_str_eq(rank->outcomes.items[1].code, muster_code_name(MUSTER_EPROTOCOL));
	ck_assert_msg(strncmp(rank->outcomes.items[1].detail, "a malformed line from the worker: ", 34) == 0 &&
			      strstr(rank->outcomes.items[1].detail, "a.none"),
		"%s", rank->outcomes.items[1].detail);
	ck_assert_int_eq(rank->outcomes.items[2].status, MUSTER_OUTCOME_OK);
}

TEST(a_probe_that_went_wrong_keeps_its_own_words)
{
	muster_run_add_node(&run, "n0");
	read_record("nonsense\n{'outcome':{'probe':'q','status':'crashed','detail':'signal 11','elapsed_ms':1}}\n");
	ck_assert_str_eq(parts.spoiled, "q");
	merge();
	const struct muster_outcome *outcome = run.nodes[0].ranks[0].outcomes.items;
	ck_assert_int_eq(outcome->status, MUSTER_OUTCOME_CRASHED);
	ck_assert_str_eq(outcome->detail, "signal 11");
}

TEST_MAIN(.setup = setup, .teardown = teardown, .timeout = 200)
