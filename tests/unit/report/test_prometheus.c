/* SPDX-License-Identifier: Apache-2.0 */
/* test_prometheus.c - a report in Prometheus's text format: names, units, labels, what is a series and what is not */
#include "muster/report.h"

#include "check_main.h"
#include "muster/probe.h"
#include "muster/run.h"
#include "report/prometheus.h"
#include "report_fixture.h"
#include "util/array.h"

#include <regex.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char *text_of(const struct muster_report *report)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	muster_report_print_prometheus(report, out);
	fclose(out);
	return text;
}

static struct muster_run run;
static struct muster_report report;
static char *text;

static void setup(void)
{
	fixture_run(&run);
	fixture_report(&report, &run);
}

static void teardown(void)
{
	free(text);
	text = NULL;
	muster_run_done(&run);
}

/* ---- names ---- */

static const struct named {
	const char *metric, *name;
	double factor;
} named[] = {
	{ "gpu.h2d_gbps", "muster_gpu_h2d_bytes_per_second", 1e9 },
	{ "port.rate_gbps", "muster_port_rate_bytes_per_second", 1.25e8 },
	{ "node.nvme_gb", "muster_node_nvme_bytes", 1e9 },
	{ "gpu.memory_mib", "muster_gpu_memory_bytes", 1048576 },
	{ "gpu.memory_bus_bits", "muster_gpu_memory_bus_bytes", 0.125 },
	{ "gpu.gemm_bf16_tflops", "muster_gpu_gemm_bf16_flops", 1e12 },
	{ "gpu.sm_clock_mhz", "muster_gpu_sm_clock_hertz", 1e6 },
	{ "node.xid_age_hours", "muster_node_xid_age_seconds", 3600 },
	{ "gpu.load_seconds", "muster_gpu_load_seconds", 1 },
	{ "rank.nccl_init_ms", "muster_rank_nccl_init_seconds", 1e-3 },
	{ "nccl.allreduce_p99_us", "muster_nccl_allreduce_p99_seconds", 1e-6 },
	{ "gpu.throttled_share", "muster_gpu_throttled_ratio", 1 },
	{ "gpu.gemm_drift", "muster_gpu_gemm_drift_ratio", 1 },
	{ "gpu.power_watts", "muster_gpu_power_watts", 1 },
	{ "gpu.temperature_celsius", "muster_gpu_temperature_celsius", 1 },
	{ "node.gpu_count", "muster_node_gpus", 1 },
	{ "port.counter_increase", "muster_port_errors_increase", 1 },
	{ "port.width", "muster_port_width", 1 },
	{ "gpu.ecc", "muster_gpu_ecc", 1 },
};

TEST_EACH(a_name_has_a_base_unit, named)
{
	const struct named *wanted = &named[_i];
	const struct muster_metric *metric = muster_metric_find(wanted->metric);
	ck_assert_ptr_nonnull(metric);
	struct muster_prometheus_name name = muster_prometheus_name_of(metric);
	ck_assert_str_eq(name.text, wanted->name);
	ck_assert_double_eq(name.factor, wanted->factor);
}

TEST(every_metric_has_a_name_of_its_own)
{
	static const char *const reserved[] = { "_total", "_count", "_sum", "_bucket", "_info" };
	regex_t rule;
	ck_assert_int_eq(regcomp(&rule, "^muster(_[a-z0-9]+)+$", REG_EXTENDED | REG_NOSUB), 0);
	for (size_t i = 0; i < muster_metric_count(); i++) {
		const struct muster_metric *metric = muster_metric_at(i);
		struct muster_prometheus_name name = muster_prometheus_name_of(metric);
		if (metric->type == MUSTER_STRING)
			continue;
		ck_assert_msg(regexec(&rule, name.text, 0, NULL, 0) == 0, "%s", name.text);
		size_t length = strlen(name.text), end = strlen(name.unit);
		ck_assert_msg(length > end && strcmp(name.text + length - end, name.unit) == 0, "%s", name.text);
		for (size_t j = 0; j < sizeof reserved / sizeof *reserved; j++) {
			size_t ending = strlen(reserved[j]);
			ck_assert_msg(strcmp(name.text + length - ending, reserved[j]) != 0, "%s", name.text);
		}
		/* a unit that has no row would stay in the name */
		ck_assert_msg(*name.unit || metric->unit == MUSTER_UNIT_NONE || metric->unit == MUSTER_UNIT_LANES, "%s",
			metric->name);
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(muster_prometheus_name_of(muster_metric_at(j)).text, name.text);
	}
	regfree(&rule);
}

/* ---- what is written ---- */

static const char *const lines[] = {
	"muster_run_info{version=\"0.2.0\",machine_type=\"Standard_ND96asr_v4\",profile=\"standard\",simulated="
	"\"true\"} 1\n",
	"muster_run_verdict{verdict=\"pass\"} 0\nmuster_run_verdict{verdict=\"fail\"} 1\n"
	"muster_run_verdict{verdict=\"inconclusive\"} 0\n",
	"muster_run_timestamp_seconds 1738324800\n",
	"muster_run_duration_seconds 4.25\n",
	"muster_run_simulated 1\n",
	"muster_run_nodes 2\n",
	"muster_run_ranks 16\n",
	"muster_run_results{status=\"pass\"} 43\nmuster_run_results{status=\"warn\"} 2\n",
	"muster_node_failed{node=\"sim-1\"} 1\nmuster_node_failed{node=\"sim-2\"} 1\n",
	"muster_check_results{check=\"copy.h2d\",status=\"pass\"} 13\n"
	"muster_check_results{check=\"copy.h2d\",status=\"fail\"} 1\n",
	"\nmuster_findings{check=\"ring.busbw\",status=\"warn\"} 1\n",
	"\nmuster_findings{node=\"sim-1\",check=\"copy.h2d\",status=\"fail\",action_code=\"reset-gpu\"} 1\n",
	"\nmuster_node_action{node=\"sim-1\",action_code=\"reset-gpu\"} 1\n",
	"\nmuster_findings_not_exported 0\n",
	"# HELP muster_gpu_h2d_bytes_per_second host to device, alone on its path\n"
	"# UNIT muster_gpu_h2d_bytes_per_second bytes_per_second\n"
	"# TYPE muster_gpu_h2d_bytes_per_second gauge\n"
	"muster_gpu_h2d_bytes_per_second{node=\"sim-1\",gpu=\"0001:00:00.0\"} ",
	"\nmuster_gpu_remap_failed{node=\"sim-1\",gpu=\"000b:00:00.0\"} 0\n",
	"\nmuster_gpu_ecc{node=\"sim-1\",gpu=\"000b:00:00.0\"} 1\n",
	"\nmuster_rank_nccl_init_seconds{node=\"sim-2\",rank=\"9\"} ",
	"\nmuster_port_rate_bytes_per_second{node=\"sim-1\",port=\"mlx5_ib3/1\",link_layer=\"",
};

TEST_EACH(the_report_is_there, lines)
{
	text = text_of(&report);
	ck_assert_msg(strstr(text, lines[_i]), "%s", lines[_i]);
}

TEST(every_series_is_there_once_and_after_its_type)
{
	text = text_of(&report);
	char name[128] = "", *lines_of[8192];
	size_t count = 0;
	for (char *at = text, *end; (end = strchr(at, '\n')); at = end + 1) {
		*end = '\0';
		if (sscanf(at, "# TYPE %127s gauge", name) == 1 || *at == '#')
			continue;
		size_t length = strlen(name);
		ck_assert_msg(strncmp(at, name, length) == 0 && strchr("{ ", at[length]), "%s after %s", at, name);
		*strrchr(at, ' ') = '\0';
		lines_of[count++] = at;
		ck_assert_uint_lt(count, sizeof lines_of / sizeof *lines_of);
	}
	qsort(lines_of, count, sizeof *lines_of, muster_by_text);
	for (size_t i = 1; i < count; i++)
		ck_assert_str_ne(lines_of[i - 1], lines_of[i]);
	ck_assert_uint_gt(count, 500);
}

static long unavailable(void)
{
	static const char start[] = "muster_values{state=\"unavailable\"} ";
	const char *line = strstr(text, start);
	ck_assert_ptr_nonnull(line);
	return strtol(line + strlen(start), NULL, 10);
}

TEST(what_is_not_known_has_no_series)
{
	text = text_of(&report);
	long before = unavailable();
	free(text);
	struct muster_sample *sample = &run.nodes[0].samples.items[0];
	size_t i = 0;
	while (strcmp(sample[i].metric->name, "node.memory_mib") != 0)
		i++;
	sample[i].value = muster_null();
	sample[i].reason = "no /proc";
	run.job.started = NULL;
	text = text_of(&report);
	ck_assert_ptr_null(strstr(text, "muster_node_memory_bytes{node=\"sim-1\"}"));
	ck_assert_ptr_nonnull(strstr(text, "muster_node_memory_bytes{node=\"sim-2\"}"));
	ck_assert_int_eq(unavailable(), before + 1);
	ck_assert_ptr_null(strstr(text, "muster_run_timestamp_seconds"));
}

TEST(a_name_of_a_node_ends_nothing)
{
	run.nodes[0].name = "a\"} 1\nmuster_run_simulated 0 # \\ \xff\x1b[31m";
	text = text_of(&report);
	ck_assert_uint_eq(fixture_count(text, "\nmuster_run_simulated "), 1);
	ck_assert_ptr_nonnull(strstr(text, "\nmuster_gpu_ecc{node=\"a\\\"} 1\\\\nmuster_run_simulated 0 # \\\\ \\\\xff"
					   "\\\\x1b[31m\",gpu=\"0001:00:00.0\"} 1\n"));
	ck_assert_ptr_null(strchr(text, '\x1b'));
	ck_assert_ptr_null(strchr(text, '\xff'));
}

/* ---- how many series ---- */

static void add(struct muster_samples *samples, const char *metric, double number, const struct muster_label *labels,
	size_t count)
{
	muster_samples_add(samples, (struct muster_sample){ .metric = muster_metric_find(metric),
					    .value = muster_number(number),
					    .labels = labels,
					    .label_count = (unsigned int)count });
}

TEST(peers_are_folded_into_the_worst)
{
	static const struct muster_label to[2][3] = {
		{ { "kind", { .type = MUSTER_STRING, .string = "odd" } },
			{ "peer_node", { .type = MUSTER_STRING, .string = "x" } },
			{ "peer_gpu", { .type = MUSTER_STRING, .string = "1" } } },
		{ { "kind", { .type = MUSTER_STRING, .string = "odd" } },
			{ "peer_node", { .type = MUSTER_STRING, .string = "y" } },
			{ "peer_gpu", { .type = MUSTER_STRING, .string = "2" } } },
	};
	struct muster_samples *samples = &run.nodes[0].ranks[0].samples;
	for (size_t i = 0; i < 2; i++) {
		add(samples, "pair.exchange_gbps", i ? 3 : 20, to[i], 3);
		add(samples, "pair.exchange_limit_gbps", i ? 50 : 25, to[i], 3);
		add(samples, "pair.exchange_us", i ? 7 : 30, to[i], 3);
		add(samples, "pair.exchange_wrong", i ? 2 : 0, to[i], 3);
	}
	text = text_of(&report);
	ck_assert_ptr_null(strstr(text, "peer_"));
#define PLACE "{node=\"sim-1\",rank=\"0\",kind=\"odd\"} "
	ck_assert_ptr_nonnull(strstr(text, "\nmuster_pair_exchange_bytes_per_second" PLACE "3000000000\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nmuster_pair_exchange_limit_bytes_per_second" PLACE "25000000000\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nmuster_pair_exchange_seconds" PLACE "3e-05\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nmuster_pair_exchange_wrong" PLACE "2\n"));
}

TEST(ranks_that_share_a_gpu_are_told_apart)
{
	run.nodes[0].ranks[1].gpu = run.nodes[0].ranks[0].gpu;
	text = text_of(&report);
	ck_assert_ptr_nonnull(strstr(text, "\nmuster_gpu_ecc{node=\"sim-1\",rank=\"0\",gpu=\"0001:00:00.0\"} 1\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nmuster_gpu_ecc{node=\"sim-1\",rank=\"1\",gpu=\""));
	ck_assert_ptr_nonnull(strstr(text, "\nmuster_gpu_ecc{node=\"sim-1\",gpu=\""));
}

TEST(error_counters_that_are_0_and_facts_about_ranks_are_only_counted)
{
	text = text_of(&report);
	ck_assert_ptr_null(strstr(text, "muster_port_errors"));
	ck_assert_ptr_null(strstr(text, "muster_rank_local_rank"));
	ck_assert_ptr_null(strstr(text, "muster_values{state=\"zero_errors\"} 0\n"));
	ck_assert_ptr_null(strstr(text, "muster_values{state=\"not_exported\"} 0\n"));
	free(text);
	struct muster_samples *samples = &run.nodes[1].samples;
	for (size_t i = 0; i < samples->count; i++)
		if (strcmp(samples->items[i].metric->name, "port.counter_increase") == 0)
			samples->items[i].value = muster_number(3);
	text = text_of(&report);
	ck_assert_ptr_nonnull(strstr(text, "\nmuster_port_errors_increase{node=\"sim-2\",port=\""));
	ck_assert_ptr_null(strstr(text, "\nmuster_port_errors_increase{node=\"sim-1\""));
}

TEST(of_many_nodes_only_values_of_the_job)
{
	for (int nodes = 16; nodes <= 17; nodes++) {
		struct muster_run many;
		synthetic_run(&many, nodes * SYNTHETIC_PER_NODE);
		report.run = &many;
		char *page = text_of(&report);
		ck_assert_uint_eq(fixture_count(page, "\nmuster_gpu_ecc{"), nodes == 16 ? 16 * SYNTHETIC_PER_NODE : 0);
		ck_assert_uint_eq(fixture_count(page, "\nmuster_node_failed{"), (size_t)nodes);
		ck_assert_ptr_nonnull(strstr(page, "\nmuster_nccl_allreduce_busbw_bytes_per_second{"));
		free(page);
		muster_run_done(&many);
	}
}

TEST(of_very_many_findings_the_worst)
{
	enum { MANY = 2100 };
	static struct muster_finding findings[MANY];
	static char names[MANY][16];
	for (size_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof names[i], "n%zu", i);
		findings[i] = (struct muster_finding){
			.check = "c", .node = names[i], .rank = -1, .status = i < 2050 ? MUSTER_FAIL : MUSTER_WARN
		};
	}
	report.findings = findings;
	report.finding_count = MANY;
	text = text_of(&report);
	ck_assert_uint_eq(fixture_count(text, "\nmuster_findings{"), 2000);
	ck_assert_ptr_null(strstr(text, "status=\"warn\"} 1\n# HELP"));
	ck_assert_ptr_nonnull(strstr(text, "\nmuster_findings_not_exported 100\n"));
}

/* ---- the file ---- */

TEST(the_file_is_whole_and_readable_for_all)
{
	char directory[] = "/tmp/muster-test-XXXXXX", path[64];
	struct muster_error err;
	struct stat status;
	ck_assert_ptr_nonnull(mkdtemp(directory));
	umask(077);
	ck_assert_int_eq(muster_report_check_textfile(directory, &err), 0);
	ck_assert_int_eq(muster_report_write_textfile(&report, directory, &err), 0);
	snprintf(path, sizeof path, "%s/muster.prom", directory);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0644);
	text = text_of(&report);
	ck_assert_int_eq(status.st_size, (long)strlen(text));
	ck_assert_int_eq(muster_report_check_textfile(path, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "muster.prom: a directory is needed"));
	unlink(path);
	ck_assert_int_eq(rmdir(directory), 0); /* nothing else was there */
	ck_assert_int_eq(muster_report_check_textfile(directory, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, "No such file or directory"));
	ck_assert_int_eq(muster_report_write_textfile(&report, directory, &err), -1);
	ck_assert_ptr_nonnull(strstr(err.text, directory));
}

TEST_MAIN(.setup = setup, .teardown = teardown)
