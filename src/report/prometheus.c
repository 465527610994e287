/* SPDX-License-Identifier: Apache-2.0 */
/* prometheus.c - a report in Prometheus's text format, for node_exporter's textfile collector
 *
 * Every metric is a gauge: a report is a snapshot. docs/reference/prometheus.md explains all of them.
 *
 * The text, in this order: the run, its nodes, its checks, its findings, its values (prometheus_values.c). All series
 * of a metric must stand together behind its head, as the format wants, so each function walks its data once for each
 * metric.
 *
 *   # HELP muster_node_failed 1 when a check failed on the node, or the node gave no result.
 *   # TYPE muster_node_failed gauge
 *   muster_node_failed{node="gpu-1"} 0
 *   muster_node_failed{node="gpu-2"} 1
 *
 * Every different set of labels is a series that the database keeps, so the number of series is limited: findings by
 * FINDING_SERIES, values in prometheus_values.c.
 */
#include "report/prometheus.h"

#include "muster/run_data.h"
#include "slurm/node_selection.h"

#include <stdlib.h>
#include <time.h>

enum { FINDING_SERIES = 2000 }; /* node, check and status; the worst ones */

static void put_one(
	const struct muster_prometheus *page, const char *name, const char *unit, const char *help, double value)
{
	muster_prometheus_begin(page, name, unit, help);
	muster_prometheus_put(page, name, "", value);
}

/* Seconds since 1970 of an RFC 3339 time in UTC; -1 when it is none. */
static double seconds_of(const char *started)
{
	struct tm parts = { 0 };
	const char *end = started ? strptime(started, "%Y-%m-%dT%H:%M:%SZ", &parts) : NULL;
	return end && !*end ? (double)timegm(&parts) : -1;
}

static void put_run(const struct muster_prometheus *page)
{
	static const enum muster_status verdicts[] = { MUSTER_PASS, MUSTER_FAIL, MUSTER_INCONCLUSIVE };
	const struct muster_report *report = page->report;
	const struct muster_job *job = &report->run->job;
	struct muster_prometheus_labels info = { 0 };
	muster_prometheus_label(&info, "version", job->version);
	muster_prometheus_label(&info, "machine_type", report->sku);
	muster_prometheus_label(&info, "profile", job->profile);
	muster_prometheus_label(&info, "simulated", job->simulated ? "true" : "false");
	muster_prometheus_begin(page, "muster_run_info", "", "The run that all of these values are from; always 1.");
	muster_prometheus_put(page, "muster_run_info", muster_prometheus_labels_end(&info, page->arena), 1);
	muster_prometheus_begin(page, "muster_run_verdict", "", "1 for the run's verdict, 0 for the other two.");
	for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
		muster_prometheus_put_of(page, "muster_run_verdict", "verdict", muster_status_name(verdicts[i]),
			report->verdict == verdicts[i]);
	double started = seconds_of(job->started);
	if (started >= 0)
		put_one(page, "muster_run_timestamp_seconds", "seconds", "When the run started, since 1970.", started);
	put_one(page, "muster_run_duration_seconds", "seconds", "From the start of rank 0 to the last result.",
		job->elapsed_s);
	put_one(page, "muster_run_simulated", "", "1 when hardware was simulated: no value is of a real machine.",
		job->simulated);
	put_one(page, "muster_run_nodes", "", "Nodes of the run.", (double)muster_run_known_nodes(report->run));
	put_one(page, "muster_run_ranks", "", "Ranks of the run, missing ones included.", job->ranks);
	muster_prometheus_begin(
		page, "muster_run_results", "", "Results of all checks at all places, by their status.");
	for (int status = 0; status < MUSTER_STATUS_COUNT; status++)
		muster_prometheus_put_of(page, "muster_run_results", "status", muster_status_names[status],
			(double)report->count[status]);
}

static void put_nodes(const struct muster_prometheus *page)
{
	struct muster_node_selection nodes;
	muster_node_selection_make(page->report, NULL, 0, &nodes);
	if (nodes.count > 0)
		muster_prometheus_begin(page, "muster_node_failed", "",
			"1 when a check failed on the node, or the node gave no result.");
	for (size_t i = 0; i < nodes.count; i++) {
		enum muster_standing standing = nodes.entries[i].standing;
		muster_prometheus_put_of(page, "muster_node_failed", "node", nodes.entries[i].name,
			standing == MUSTER_STANDING_BAD || standing == MUSTER_STANDING_MISSING);
	}
	if (nodes.count > 0)
		muster_prometheus_begin(page, "muster_node_inconclusive", "",
			"1 when no check failed on the node and a required one could not be evaluated.");
	for (size_t i = 0; i < nodes.count; i++)
		muster_prometheus_put_of(page, "muster_node_inconclusive", "node", nodes.entries[i].name,
			nodes.entries[i].standing == MUSTER_STANDING_INCONCLUSIVE);
	bool first = true;
	for (size_t i = 0; i < nodes.count; i++) {
		struct muster_prometheus_labels labels = { 0 };
		if (muster_action_strength(nodes.entries[i].action_code) == 0)
			continue;
		if (first)
			muster_prometheus_begin(page, "muster_node_action", "",
				"What to do about a node with findings, for the worst of them "
				"(docs/reference/action-codes.md).");
		first = false;
		muster_prometheus_label(&labels, "node", nodes.entries[i].name);
		muster_prometheus_label(&labels, "action_code", nodes.entries[i].action_code);
		muster_prometheus_put(
			page, "muster_node_action", muster_prometheus_labels_end(&labels, page->arena), 1);
	}
	muster_node_selection_done(&nodes);
}

/* ---- checks ---- */

static void put_checks(const struct muster_prometheus *page)
{
	const struct muster_report *report = page->report;
	bool first = true;
	for (size_t i = 0; i < report->tally_count; i++) {
		for (int status = 0; status < MUSTER_STATUS_COUNT; status++) {
			const struct muster_tally *tally = &report->tallies[i];
			struct muster_prometheus_labels labels = { 0 };
			if (tally->count[status] == 0 || status == MUSTER_SKIP)
				continue;
			if (first)
				muster_prometheus_begin(page, "muster_check_results", "",
					"Results of a check at all places, by their status; without what does not "
					"apply.");
			first = false;
			muster_prometheus_label(&labels, "check", tally->check);
			muster_prometheus_label(&labels, "status", muster_status_names[status]);
			muster_prometheus_put(page, "muster_check_results",
				muster_prometheus_labels_end(&labels, page->arena), (double)tally->count[status]);
		}
	}
}

/* How many findings each node has of each check, status and action code. Findings stand worst first, so those beyond
 * the limit are the least bad; how many these are is a metric of its own. */
static void put_findings(struct muster_prometheus *page)
{
	const struct muster_report *report = page->report;
	size_t left = 0;
	page->count = 0;
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		struct muster_prometheus_labels labels = { 0 };
		if (finding->status == MUSTER_PASS || finding->status == MUSTER_SKIP)
			continue;
		if (page->count >= FINDING_SERIES) {
			left++;
			continue;
		}
		muster_prometheus_label(&labels, "node", finding->node);
		muster_prometheus_label(&labels, "check", finding->check);
		muster_prometheus_label(&labels, "status", muster_status_name(finding->status));
		muster_prometheus_label(&labels, "action_code", finding->action_code);
		muster_prometheus_add(page,
			(struct muster_prometheus_series){
				.name = "", .labels = muster_prometheus_labels_end(&labels, page->arena), .value = 1 });
	}
	muster_prometheus_fold(page);
	if (page->count > 0)
		muster_prometheus_begin(page, "muster_findings", "",
			"Findings: results that are not a pass, by node and check; without a node those of the whole "
			"job.");
	for (size_t i = 0; i < page->count; i++)
		muster_prometheus_put(page, "muster_findings", page->series[i].labels, page->series[i].value);
	put_one(page, "muster_findings_not_exported", "", "Findings that are only in the report: there were too many.",
		(double)left);
}

void muster_report_print_prometheus(const struct muster_report *report, FILE *out)
{
	struct muster_prometheus page = { .report = report, .out = out, .arena = muster_arena_new() };
	put_run(&page);
	put_nodes(&page);
	put_checks(&page);
	put_findings(&page);
	muster_prometheus_values(&page);
	free(page.series);
	muster_arena_free(page.arena);
}
