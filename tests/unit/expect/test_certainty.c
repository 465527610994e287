/* SPDX-License-Identifier: Apache-2.0 */
/* test_certainty.c - where values were seen, and what an inferred one may do */
#include "check_main.h"
#include "expect/describe.h"
#include "unit/expect/loaded.h"

#define MEASURED(checks)                                                                                               \
	"{'schema_version':1,'name':'t','measurements':{"                                                              \
	"'pair':{'machine':'8 x A','nodes':{'min':2,'max':3},'gpus':{'min':16,'max':24},'software':'NCCL 2.18',"       \
	"'source':'a page'},"                                                                                          \
	"'one':{'machine':'B','gpus':1,'source':'a log'},"                                                             \
	"'single':{'machine':'8 x A','nodes':1,'gpus':8,'source':'a page'},"                                           \
	"'many':{'machine':'8 x A','nodes':{'min':10,'max':12},'gpus':{'min':80},'source':'a page'}},"                 \
	"'checks':{" checks "}}"
#define CODE "'action_code':'none',"
#define RING CODE "'metric':'nccl.allreduce_busbw_gbps','source':'s',"
#define COPY CODE "'metric':'gpu.h2d_gbps','source':'s',"

TEST(what_a_value_was_measured_on_is_told)
{
	put("x.json", MEASURED("'a':{" COPY "'min':9,'measured_on':'pair'},'b':{" COPY "'min':9,'measured_on':'one'},"
			       "'c':{" COPY "'min':9,'measured_on':'two of mine'},'d':{" COPY "'min':9}"));
	load("x.json", NULL);
	static const char *const told[] = { "8 x A: 2 to 3 nodes, 16 to 24 GPUs, NCCL 2.18 (a page)",
		"B: 1 GPU (a log)", "two of mine", NULL };
	for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
		ck_assert_pstr_eq(muster_describe_measured_on(&expect.checks[i], expect.arena), told[i]);
		ck_assert_int_eq(expect.checks[i].measured != NULL, i < 2);
	}
}

static const struct {
	const char *measurement, *said;
} wrong[] = {
	{ "3", "$.measurements.a: an object is needed, found 3" },
	{ "{'gpus':1,'source':'s'}", "$.measurements.a: the key \"machine\" is missing" },
	{ "{'machine':'','gpus':1,'source':'s'}", "$.measurements.a.machine: must not be empty" },
	{ "{'machine':'m','gpus':0,'source':'s'}", "$.measurements.a.gpus: a whole number from 1 is needed, found 0" },
	{ "{'machine':'m','gpus':1}", "$.measurements.a: the key \"source\" is missing" },
	{ "{'machine':'m','gpus':1,'source':'s','day':1}", "$.measurements.a.day: unknown key, allowed are machine, " },
};

TEST_EACH(a_measurement_says_all_of_itself, wrong)
{
	char text[512];
	snprintf(text, sizeof text,
		"{'schema_version':1,'name':'t','measurements':{'a':%s},'checks':{'c':{" COPY "'min':1}}}",
		wrong[_i].measurement);
	ck_assert_int_lt(load_from("/none", put("x.json", text), NULL), 0);
	ck_assert_msg(strstr(err.text, wrong[_i].said), "%s", err.text);
}

#define AN_INFERRED "an inferred speed or time may only warn: use "
#define NOT_SEEN "a speed or time that may fail needs measured_on: the id of one of \"measurements\""
#define BEYOND "\"when\" reaches runs of more or fewer nodes than "

/* What lint says of one check; NULL: nothing. */
static const struct {
	const char *check, *said;
} rules[] = {
	{ COPY "'min':9,'certainty':'inferred'", AN_INFERRED "warn_below" },
	{ CODE "'metric':'rank.nccl_init_ms','source':'s','max':9,'certainty':'inferred'", AN_INFERRED "warn_above" },
	{ COPY "'min':9,'certainty':'inferred','severity':'warn'", NULL },
	{ COPY "'warn_below':9,'certainty':'inferred'", NULL },
	{ COPY "'min':9,'certainty':'measured'", NOT_SEEN },
	{ COPY "'min':9,'certainty':'threshold','measured_on':'elsewhere'", NOT_SEEN },
	{ COPY "'min':9,'certainty':'measured','measured_on':'pair'", NULL },
	{ COPY "'min':9", NULL }, /* a site's own */
	{ COPY "'share_of':'gpu.pcie_limit_gbps','min':0.5,'certainty':'inferred'", AN_INFERRED "warn_below" },
	{ COPY "'min_of_median':0.5,'certainty':'inferred'", NULL },
	/* facts: a count, the rate of a link */
	{ CODE "'metric':'node.gpu_count','source':'s','min':8,'certainty':'inferred'", NULL },
	{ CODE "'metric':'gpu.nvlink_gbps','source':'s','min':26,'certainty':'specified'", NULL },
	{ CODE "'metric':'gpu.nvlink_gbps','source':'s','min':26,'certainty':'inferred'", AN_INFERRED "warn_below" },
	{ COPY "'min':26,'certainty':'specified'", NOT_SEEN },
	/* in the same regime, where the nodes matter: one, 2 to 8, or more up to as many as were measured */
	{ RING "'min':9,'certainty':'measured','measured_on':'pair','when':{'nodes':2}", NULL },
	{ RING "'min':9,'certainty':'measured','measured_on':'pair','when':{'nodes':{'min':2,'max':8}}", NULL },
	{ RING "'min':9,'certainty':'measured','measured_on':'pair','when':{'nodes':{'min':2,'max':9}}", BEYOND },
	{ RING "'min':9,'certainty':'measured','measured_on':'pair','when':{'nodes':{'min':2}}", BEYOND },
	{ RING "'min':9,'certainty':'measured','measured_on':'pair','when':{'nodes':1}", BEYOND },
	{ RING "'min':9,'certainty':'measured','measured_on':'pair'", BEYOND },
	{ RING "'min':9,'certainty':'measured','measured_on':'many','when':{'nodes':{'min':9,'max':12}}", NULL },
	{ RING "'min':9,'certainty':'measured','measured_on':'many','when':{'nodes':{'min':8,'max':12}}", BEYOND },
	{ RING "'min':9,'certainty':'measured','measured_on':'many','when':{'nodes':{'min':9,'max':13}}", BEYOND },
	{ RING "'min':9,'certainty':'measured','measured_on':'single','when':{'nodes':1}", NULL },
	{ RING "'min':9,'certainty':'measured','measured_on':'single','when':{'nodes':{'max':2}}", BEYOND },
	{ RING "'min':9,'certainty':'measured','measured_on':'one'", NULL },
	{ CODE "'metric':'pair.exchange_gbps','source':'s','min':9,'certainty':'measured','measured_on':'pair'",
		BEYOND },
	/* peers of the same run */
	{ CODE "'metric':'pair.exchange_gbps','source':'s','share_of':'pair.exchange_usual_gbps','min':0.5,"
	       "'certainty':'inferred'",
		NULL },
};

static void keep(void *arg, const char *problem)
{
	char *text = arg;
	snprintf(text, 512, "%s", problem);
}

TEST_EACH(a_speed_may_fail_where_it_was_measured, rules)
{
	char text[2048], said[512] = "";
	snprintf(text, sizeof text, MEASURED("'c':{%s}"), rules[_i].check);
	size_t count = muster_expect_lint("/none", put("x.json", text), NULL, keep, said);
	ck_assert_msg(
		count == (rules[_i].said != NULL) && strstr(said, rules[_i].said ? rules[_i].said : ""), "%s", said);
}

static const struct {
	const char *check;
	bool only_warns;
} which[] = {
	{ COPY "'warn_below':9,'certainty':'inferred'", true },
	{ COPY "'min':9,'severity':'warn','certainty':'inferred'", true },
	{ COPY "'warn_below':9,'certainty':'measured'", false },
	{ COPY "'min':9,'certainty':'measured'", false },
	{ COPY "'min_of_median':0.9,'severity':'warn','certainty':'inferred'", false },
	{ CODE "'metric':'node.gpu_count','source':'s','warn_below':8,'certainty':'inferred'", false },
};

TEST_EACH(what_cannot_fail_yet_is_an_inferred_speed, which)
{
	ck_assert_int_eq(muster_check_only_warns(load_check(which[_i].check)), which[_i].only_warns);
}

TEST(a_value_of_the_site_is_not_inferred)
{
	put("x.json", MEASURED("'a':{" COPY "'warn_below':9,'certainty':'inferred','measured_on':'one'}"));
	put("site.json", "{'checks':{'a':{'min':7,'source':'here'}}}");
	load("x.json", "site.json");
	ck_assert_ptr_null(expect.checks[0].certainty);
	ck_assert_ptr_null(expect.checks[0].measured_on);
	ck_assert_ptr_null(expect.checks[0].measured);
	put("site.json", "{'checks':{'a':{'title':'t'}}}");
	load("x.json", "site.json");
	ck_assert_str_eq(expect.checks[0].certainty, "inferred");
	ck_assert_ptr_nonnull(expect.checks[0].measured);
}

TEST_MAIN(.setup = fixture_open, .teardown = loaded_done)
