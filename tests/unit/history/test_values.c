/* SPDX-License-Identifier: Apache-2.0 */
/* test_values.c - which numbers of a run are worth comparing, under which key, and where */
#include "check_main.h"
#include "run_text.h"

#include "history/values.h"
#include "muster/run.h"
#include "util/text.h"

static int print_value(void *arg, const struct muster_history_value *value, struct muster_error *err)
{
	(void)err;
	fprintf(arg, "%s %s %s %.15g\n", value->node ? value->node : "job", value->part ? value->part : "-", value->key,
		value->value);
	return 0;
}

static char *values_of(const char *lines)
{
	struct muster_run run;
	char *text;
	size_t length;
	run_text(&run, lines);
	const struct muster_report report = { .run = &run, .sku = "type" };
	FILE *out = muster_memory_open(&text, &length);
	ck_assert_int_eq(muster_history_values(&report, print_value, out, NULL), 0);
	muster_memory_close(out);
	muster_run_done(&run);
	return text;
}

#define GPU "a/0 = 0001:00:00.0 u\n"
static const struct {
	const char *run, *values;
} cases[] = {
	{ GPU "a/0 gpu.h2d_gbps gpu=0001:00:00.0 26.1\n", "a 0001:00:00.0 gpu.h2d_gbps 26.1\n" },
	/* facts, texts and what was not measured have no value */
	{ GPU "a/0 gpu.memory_mib gpu=0001:00:00.0 40960\na/0 gpu.name gpu=0001:00:00.0 'A100\n"
	      "a/0 gpu.h2d_gbps gpu=0001:00:00.0 -\n",
		"" },
	/* the job comes first; its labels are all part of the key, in the catalogue's order */
	{ "a node.gpu_count 8\njob nccl.allreduce_busbw_gbps bytes=8388608 nodes=2 ranks=16 167.5\n",
		"job - nccl.allreduce_busbw_gbps{bytes=8388608,nodes=2,ranks=16} 167.5\na - node.gpu_count 8\n" },
	/* an exchange is of the GPU of its rank, whatever adapter and peer it used */
	{ GPU "a/0 pair.exchange_gbps kind=rail peer_node=b peer_gpu=g nic=mlx5_ib0:1 transport=NET/IB/GDRDMA 20\n",
		"a 0001:00:00.0 pair.exchange_gbps{kind=rail,transport=NET/IB/GDRDMA} 20\n" },
	{ "a/0 rank.compute_ms 7\na/1 rank.compute_ms 8\n",
		"a local rank 0 rank.compute_ms 7\na local rank 1 rank.compute_ms 8\n" },
	{ "a port.rate_gbps port=mlx5_ib0/1 link_layer=InfiniBand 200\n",
		"a mlx5_ib0/1 port.rate_gbps{link_layer=InfiniBand} 200\n" },
	/* the name of a limit's origin is no part of its key: the limit of one GPU is one series */
	{ GPU "a/0 gpu.pcie_limit_gbps gpu=0001:00:00.0 link=PCIe 26\n", "a 0001:00:00.0 gpu.pcie_limit_gbps 26\n" },
	/* of repeats the value that is evaluated */
	{ GPU "a/0 gpu.h2d_gbps gpu=0001:00:00.0 26,25,24\n", "a 0001:00:00.0 gpu.h2d_gbps 26\n" },
	/* no node */
	{ "?/0 rank.compute_ms 7\n", "" },
};

TEST_EACH(numbers_that_are_no_facts_have_a_key_and_a_place, cases)
{
	char *text = values_of(cases[_i].run);
	ck_assert_str_eq(text, cases[_i].values);
	free(text);
}

static int stop_at_second(void *arg, const struct muster_history_value *value, struct muster_error *err)
{
	(void)value;
	return ++*(int *)arg == 2 ? muster_fail(err, MUSTER_EIO, "full") : 0;
}

TEST(the_walk_ends_where_the_visitor_says)
{
	struct muster_run run;
	struct muster_error err;
	int calls = 0;
	run_text(&run, "a node.gpu_count 8\na node.ib_ports 8\nb node.gpu_count 8\n");
	const struct muster_report report = { .run = &run };
	ck_assert_int_eq(muster_history_values(&report, stop_at_second, &calls, &err), -1);
	ck_assert_int_eq(calls, 2);
	ck_assert_str_eq(err.text, "full");
	muster_run_done(&run);
}

TEST(the_report_of_a_value_says_when_and_what)
{
	struct muster_run run;
	struct muster_history_report described;
	char text[MUSTER_UTC_SIZE];
	run_text(&run, "a node.gpu_count 8\nb node.gpu_count 8\n?/0 missing gone\n");
	run.job.started = "2026-11-23T12:24:01Z";
	run.job.profile = "quick";
	run.job.id = "17";
	const struct muster_report report = { .run = &run, .sku = "type", .verdict = MUSTER_FAIL };
	muster_history_describe(&report, &described);
	ck_assert_str_eq(muster_utc_text(described.started, text), "2026-11-23T12:24:01Z");
	ck_assert_int_eq(described.started, 1795436641);
	ck_assert_str_eq(described.machine_type, "type");
	ck_assert_str_eq(described.profile, "quick");
	ck_assert_str_eq(described.job, "17");
	ck_assert_uint_eq(described.nodes, 2);
	ck_assert_int_eq(described.verdict, MUSTER_FAIL);
	run.job.started = "yesterday";
	muster_history_describe(&report, &described);
	ck_assert(described.started == MUSTER_HISTORY_NEVER);
	muster_run_done(&run);
}

TEST_MAIN(.setup = NULL)
