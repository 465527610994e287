/* SPDX-License-Identifier: Apache-2.0 */
/* bench_history.c - fill a history with many reports, made of one saved report in memory, and time it
 *
 * bench_history REPORT DATABASE COUNT NODES: each report has the nodes of REPORT under other names, so that each of
 * NODES nodes is measured in turn, a pair of nodes every few minutes and every node once a day. Values of speeds differ
 * by some percent, and one node in a hundred fails. Reports are added in transactions of 1,000; the last 100 one by
 * one, as `muster history add` does.
 */
#include "history/sqlite/history.h"
#include "muster/report.h"
#include "muster/run_data.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t state = 1;

/* From 0 to below 1; the same in each run (Knuth's MMIX generator). */
static double draw(void)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (double)(state >> 11) / 9007199254740992.0;
}

static void vary(struct muster_samples *samples, const struct muster_samples *original)
{
	for (size_t i = 0; i < samples->count; i++)
		if (samples->items[i].value.type == MUSTER_NUMBER && muster_metric_scatters(samples->items[i].metric))
			samples->items[i].value.number = original->items[i].value.number * (0.98 + 0.04 * draw());
}

struct bench {
	struct muster_run run, original;
	struct muster_report report, unused;
	struct muster_finding failed;
	char names[2][32], job[32], started[MUSTER_UTC_SIZE];
	int nodes;
};

/* The report of number i. */
static void make(struct bench *b, int i)
{
	int per_day = b->nodes / 2;
	muster_utc_text(1767225600 + (int64_t)i * 86400 / per_day, b->started);
	snprintf(b->job, sizeof b->job, "%d", i);
	b->run.job.started = b->started;
	b->run.job.id = b->job;
	b->run.job.simulated = false;
	vary(&b->run.job.samples, &b->original.job.samples);
	for (size_t n = 0; n < b->run.node_count && n < 2; n++) {
		snprintf(b->names[n], sizeof b->names[n], "gpu-%04d", (i % per_day) * 2 + (int)n + 1);
		b->run.nodes[n].name = b->names[n];
		vary(&b->run.nodes[n].samples, &b->original.nodes[n].samples);
		for (size_t r = 0; r < b->run.nodes[n].rank_count; r++)
			vary(&b->run.nodes[n].ranks[r].samples, &b->original.nodes[n].ranks[r].samples);
	}
	b->report.finding_count = draw() < 0.01;
	b->report.findings = &b->failed;
	b->failed = (struct muster_finding){
		.check = "copy.h2d", .status = MUSTER_FAIL, .node = b->names[0], .gpu = b->run.nodes[0].ranks[0].gpu
	};
	b->report.verdict = b->report.finding_count ? MUSTER_FAIL : MUSTER_PASS;
}

static int add(struct muster_history *h, struct bench *b, int from, int until, struct muster_error *err)
{
	for (int i = from; i < until; i++) {
		enum muster_history_added added;
		make(b, i);
		if (muster_history_add(h, &b->report, &added, err) < 0)
			return -1;
	}
	return 0;
}

static int fill(struct muster_history *h, struct bench *b, int count, struct muster_error *err)
{
	int single = count > 1000 ? 100 : 0;
	double start = muster_now_ms();
	for (int i = 0; i < count - single; i += 1000) {
		int until = i + 1000 < count - single ? i + 1000 : count - single;
		if (muster_history_exec(h, "BEGIN IMMEDIATE", err) < 0 || add(h, b, i, until, err) < 0 ||
			muster_history_exec(h, "COMMIT", err) < 0)
			return -1;
	}
	printf("%d reports in transactions of 1,000: %.2f ms each\n", count - single,
		(muster_now_ms() - start) / (count - single));
	start = muster_now_ms();
	if (add(h, b, count - single, count, err) < 0)
		return -1;
	if (single)
		printf("%d more, one transaction each: %.2f ms each\n", single, (muster_now_ms() - start) / single);
	return 0;
}

int main(int argc, char **argv)
{
	static struct bench b;
	struct muster_history *h;
	struct muster_error err;
	struct stat found;
	if (argc != 5)
		return 2;
	b.nodes = (int)strtol(argv[4], NULL, 10);
	int count = (int)strtol(argv[3], NULL, 10);
	if (muster_report_load(argv[1], &b.run, &b.report, &err) < 0 ||
		muster_report_load(argv[1], &b.original, &b.unused, &err) < 0 ||
		muster_history_open(argv[2], true, &h, &err) < 0 || fill(h, &b, count, &err) < 0) {
		fprintf(stderr, "bench_history: %s\n", err.text);
		return 1;
	}
	muster_history_close(h);
	if (stat(argv[2], &found) == 0)
		printf("size: %.0f MB, %.1f KB a report\n", (double)found.st_size / 1e6,
			(double)found.st_size / 1e3 / count);
	return 0;
}
