/* SPDX-License-Identifier: Apache-2.0 */
/* bench_report.c - how long it takes to read, judge and write a report, and how that grows with the ranks
 *
 * bench_report RANKS...: for each number of ranks, one process makes a report and another one, bound to a single CPU,
 * is timed with it. With several numbers the cost per rank of each is compared with the first one's.
 * bench_report REPORT...: the same of a report that is there.
 * bench_report pairs RANKS...: what judging a run costs with the exchanges of its pairs, and without.
 */
#include "muster/report.h"

#include "eval/derive.h"
#include "muster/run.h"
#include "util/text.h"
#include "synthetic_run.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct muster_allreduce_timing {
	double read_s, judge_s, write_s, wall_s;
	double peak_mib, text_mib;
	size_t samples, findings;
	int ranks;
};

static int make_report(const char *path, int ranks, struct muster_error *err)
{
	struct muster_run run;
	synthetic_run(&run, ranks);
	struct muster_report report = { .run = &run, .sku = "Standard_ND96asr_v4", .verdict = MUSTER_INCONCLUSIVE };
	int rc = muster_report_write_json(&report, path, err);
	muster_run_done(&run);
	return rc;
}

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static size_t count_samples(const struct muster_run *run)
{
	size_t count = run->job.samples.count;
	for (size_t i = 0; i < run->node_count; i++) {
		count += run->nodes[i].samples.count;
		for (size_t j = 0; j < run->nodes[i].rank_count; j++)
			count += run->nodes[i].ranks[j].samples.count;
	}
	return count;
}

static int time_report(
	const char *path, const char *written, struct muster_allreduce_timing *ret, struct muster_error *err)
{
	struct muster_expect expect;
	struct muster_run run;
	struct muster_report report;
	struct stat status;
	double wall = muster_now_ms(), start = cpu_s();
	if (muster_report_read(path, &run, err) < 0 ||
		muster_expect_load(MUSTER_SOURCE_DIR "/configs", run.judged_as, NULL, &expect, err) < 0)
		return -1;
	double read_done = cpu_s();
	muster_evaluate(&run, &expect, false, &report);
	double judged = cpu_s();
	if (muster_report_write_json(&report, written, err) < 0)
		return -1;
	double done = cpu_s();
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	*ret = (struct muster_allreduce_timing){ .read_s = read_done - start,
		.judge_s = judged - read_done,
		.write_s = done - judged,
		.wall_s = (muster_now_ms() - wall) / 1e3,
		.peak_mib = (double)usage.ru_maxrss / 1024,
		.text_mib = stat(path, &status) == 0 ? (double)status.st_size / 1048576 : 0,
		.samples = count_samples(&run),
		.ranks = run.job.ranks,
		.findings = report.finding_count };
	muster_report_done(&report);
	muster_run_done(&run);
	muster_expect_done(&expect);
	return 0;
}

static int one_cpu(struct muster_error *err)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	int cpu = sched_getcpu();
	CPU_SET((size_t)(cpu < 0 ? 0 : cpu), &set);
	return sched_setaffinity(0, sizeof set, &set) == 0
		       ? 0
		       : muster_fail(err, MUSTER_EIO, "sched_setaffinity: %s", strerror(errno));
}

/* Run one step in a process of its own, so that its memory is its own too. */
/* ranks: 0 when the report is there. */
static int in_child(int ranks, const char *path, const char *written, struct muster_allreduce_timing *ret)
{
	int ends[2] = { -1, -1 };
	if (ret && pipe(ends) < 0)
		return -1;
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		struct muster_error err = { 0 };
		struct muster_allreduce_timing timing = { 0 };
		int rc = !ret                ? make_report(path, ranks, &err)
			 : one_cpu(&err) < 0 ? -1
					     : time_report(path, written, &timing, &err);
		if (rc == 0 && ret && write(ends[1], &timing, sizeof timing) != (ssize_t)sizeof timing)
			rc = muster_fail(&err, MUSTER_EIO, "pipe: %s", strerror(errno));
		if (rc < 0)
			fprintf(stderr, "bench_report: %s\n", err.text);
		_exit(rc == 0 ? 0 : 1);
	}
	int status = 0, rc = child < 0 ? -1 : 0;
	if (ret) {
		close(ends[1]);
		if (rc == 0 && read(ends[0], ret, sizeof *ret) != (ssize_t)sizeof *ret)
			rc = -1;
		close(ends[0]);
	}
	if (child > 0 && (waitpid(child, &status, 0) != child || status != 0))
		rc = -1;
	return rc;
}

static int bench(const char *directory, const char *path, int ranks, double *first_us)
{
	struct muster_allreduce_timing t;
	char *written = muster_asprintf("%s/out.json", directory);
	int rc = in_child(ranks, path, written, &t);
	unlink(written);
	free(written);
	if (rc < 0)
		return -1;
	ranks = t.ranks;
	double cpu = t.read_s + t.judge_s + t.write_s, us = cpu / ranks * 1e6;
	printf("%7d ranks, %9zu samples, %6.0f MiB of JSON, %zu findings: read %.2f + judge %.2f + write %.2f = %.2f s "
	       "of "
	       "CPU (%.2f s wall), peak %.0f MiB, %.1f us a rank",
		ranks, t.samples, t.text_mib, t.findings, t.read_s, t.judge_s, t.write_s, cpu, t.wall_s, t.peak_mib,
		us);
	if (*first_us > 0)
		printf(", %.2f times the first", us / *first_us);
	else
		*first_us = us;
	putchar('\n');
	return 0;
}

static int bench_made(const char *directory, int ranks, double *first_us)
{
	char *path = muster_asprintf("%s/in.json", directory);
	int rc = in_child(ranks, path, NULL, NULL);
	if (rc == 0)
		rc = bench(directory, path, ranks, first_us);
	unlink(path);
	free(path);
	return rc;
}

/* ---- exchanges of pairs ---- */

static void drop_exchanges(struct muster_samples *samples)
{
	size_t kept = 0;
	for (size_t i = 0; i < samples->count; i++)
		if (strncmp(samples->items[i].metric->name, "pair.", strlen("pair.")) != 0)
			samples->items[kept++] = samples->items[i];
	samples->count = kept;
}

static void add_exchange(struct muster_run *run, size_t node, size_t rank, const char *kind, struct muster_rank *peer)
{
	static const struct {
		const char *metric;
		double value;
	} values[] = { { "pair.exchange_us", 12.5 }, { "pair.exchange_wrong", 0 } };
	struct muster_rank *own = &run->nodes[node].ranks[rank];
	bool edge = strcmp(kind, "edge") == 0;
	size_t peer_node = (size_t)peer->rank / SYNTHETIC_PER_NODE;
	const struct muster_label labels[] = {
		{ "kind", muster_string(kind) },
		{ "peer_node", muster_string(run->nodes[peer_node].name) },
		{ "peer_gpu", muster_string(peer->gpu) },
		{ "nic", edge ? muster_string("none")
			      : muster_string(muster_arena_printf(run->arena, "mlx5_ib%zu:1", rank)) },
		{ "transport", muster_string(edge ? "P2P/CUMEM" : "NET/IB/GDRDMA") },
	};
	enum { LABELS = sizeof labels / sizeof *labels };
	struct muster_label *kept = muster_arena_alloc(run->arena, sizeof labels);
	memcpy(kept, labels, sizeof labels);
	struct muster_sample sample = { .metric = muster_metric_find("pair.exchange_bytes"),
		.labels = kept,
		.label_count = LABELS,
		.value = muster_number(64 << 20) };
	muster_samples_add(&own->samples, sample);
	sample = (struct muster_sample){ .metric = muster_metric_find("pair.exchange_gbps"),
		.labels = kept,
		.label_count = LABELS,
		.value = muster_number((edge ? 166.0 : 23.9) * (1 - (double)(own->rank % 97) / 9973)) };
	muster_samples_add(&own->samples, sample);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		sample.metric = muster_metric_find(values[i].metric);
		sample.value = muster_number(values[i].value);
		muster_samples_add(&own->samples, sample);
	}
}

/* Two edges and, with two nodes or more, two rails of each rank. */
static void add_exchanges(struct muster_run *run)
{
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			struct muster_node *node = &run->nodes[n];
			size_t ranks = node->rank_count, nodes = run->node_count;
			add_exchange(run, n, r, "edge", &node->ranks[(r + 1) % ranks]);
			add_exchange(run, n, r, "edge", &node->ranks[(r + ranks - 1) % ranks]);
			add_exchange(run, n, r, "rail", &run->nodes[(n + 1) % nodes].ranks[r]);
			add_exchange(run, n, r, "rail", &run->nodes[(n + nodes - 1) % nodes].ranks[r]);
		}
}

/* The time of deriving and judging, us a rank; a negative number when the configuration cannot be read. */
static double judge_us(int ranks, bool pairs, size_t *ret_findings)
{
	struct muster_expect expect;
	struct muster_run run;
	struct muster_report report;
	struct muster_error err;
	if (muster_expect_load(MUSTER_SOURCE_DIR "/configs", "Standard_ND96asr_v4", NULL, &expect, &err) < 0) {
		fprintf(stderr, "bench_report: %s\n", err.text);
		return -1;
	}
	synthetic_run(&run, ranks);
	for (size_t n = 0; n < run.node_count; n++)
		for (size_t r = 0; r < run.nodes[n].rank_count; r++)
			drop_exchanges(&run.nodes[n].ranks[r].samples);
	if (pairs)
		add_exchanges(&run);
	double start = cpu_s();
	muster_run_derive(&run);
	muster_evaluate(&run, &expect, false, &report);
	double us = (cpu_s() - start) / ranks * 1e6;
	*ret_findings = report.finding_count;
	muster_report_done(&report);
	muster_run_done(&run);
	muster_expect_done(&expect);
	return us;
}

/* Whole nodes only. */
static int bench_pairs(int ranks)
{
	size_t findings, all;
	ranks -= ranks % SYNTHETIC_PER_NODE;
	double without = judge_us(ranks, false, &findings), with = judge_us(ranks, true, &all);
	if (without <= 0 || with < 0)
		return -1;
	printf("%7d ranks: judged in %.1f us a rank (%zu findings), with exchanges in %.1f (%zu findings): %.1f more, "
	       "%.2f times\n",
		ranks, without, findings, with, all, with - without, with / without);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("usage: bench_report [pairs] RANKS... | REPORT...\n", stderr);
		return 2;
	}
	const char *base = getenv("TMPDIR");
	char *directory = muster_asprintf("%s/muster-bench-XXXXXX", base ? base : "/tmp");
	double first_us = 0;
	if (!mkdtemp(directory)) {
		fprintf(stderr, "bench_report: %s: %s\n", directory, strerror(errno));
		free(directory);
		return 1;
	}
	int rc = 0;
	bool pairs = strcmp(argv[1], "pairs") == 0;
	for (int i = pairs ? 2 : 1; i < argc && rc == 0; i++) {
		struct muster_error err;
		long ranks;
		if (strchr(argv[i], '.')) {
			first_us = 0;
			rc = bench(directory, argv[i], 0, &first_us);
		} else if (muster_parse_int(argv[i], 1, 1 << 22, &ranks, "RANKS", &err) < 0) {
			fprintf(stderr, "bench_report: %s\n", err.text);
			rc = -1;
		} else {
			rc = pairs ? bench_pairs((int)ranks) : bench_made(directory, (int)ranks, &first_us);
		}
	}
	rmdir(directory);
	free(directory);
	return rc == 0 ? 0 : 1;
}
