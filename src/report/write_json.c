/* SPDX-License-Identifier: Apache-2.0 */
/* write_json.c - the report as JSON
 *
 * The layout is that of docs/report.schema.json: one sample, one probe outcome, one check, one "where" on a line, so
 * that two reports can be compared line by line. What is absent is left out; only a sample's or finding's value may be
 * null.
 *
 * Findings, checks and counts are written by the tables that read them (read_findings.c), the run by model/run_json.h.
 * What else is here repeats in short what follows from these, for scripts and people who look at the first lines: the
 * summary, and the slowest ranks. So the run, by far the largest part, comes last.
 *
 *   "summary": { "nodes": 2, "ranks": 16, "missing_ranks": [], "failed_nodes": ["sim-2"],
 *     "actions": [ {"node": "sim-2", "action_code": "fix-fabric"} ],
 *     "kinds": [ {"check": "ib.state", "status": "fail", "action_code": "fix-fabric", "count": 1, "nodes": 1, ...} ],
 *     "count": {"pass": 735, "fail": 1, ...} },
 *   "slowest": { "rank.compute_ms": [ {"rank": 11, "node": "sim-2", "gpu": "000b:00:00.0", "value": 6.1}, ... ] }
 */
#include "muster/report.h"

#include "muster/run_data.h"
#include "util/file.h"
#include "json/writer.h"
#include "model/gpu.h"
#include "model/run_json.h"
#include "report/kinds.h"
#include "report/read_findings.h"
#include "slurm/node_selection.h"
#include "report/slowest.h"
#include "report/verdict.h"
#include "model/limits.h"
#include "util/version.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void write_count(struct muster_json_writer *w, const char *key, size_t count)
{
	muster_json_writer_pair(w, key, muster_number((double)count));
}

/* The names of nodes that a failed finding names, each once. By place, all findings of a node follow each other; in the
 * report those of localisation come before those of all nodes. */
static void write_failed_nodes(struct muster_json_writer *w, const struct muster_report *report)
{
	const char *last = NULL;
	size_t count;
	const struct muster_finding **findings = muster_findings_by_place(report, &count);
	muster_json_writer_key(w, "failed_nodes");
	int saved = muster_json_writer_line_begin(w);
	muster_json_writer_array(w);
	for (size_t i = 0; i < count; i++) {
		const struct muster_finding *finding = findings[i];
		if (finding->status != MUSTER_FAIL || !finding->node || strcmp(finding->node, "?") == 0 ||
			(last && strcmp(last, finding->node) == 0))
			continue;
		last = finding->node;
		muster_json_writer_string(w, last);
	}
	free(findings);
	muster_json_writer_array_end(w);
	muster_json_writer_line_end(w, saved);
}

/* Each node with something to do, and its strongest action code. */
static void write_actions(struct muster_json_writer *w, const struct muster_report *report)
{
	struct muster_node_selection nodes;
	muster_node_selection_make(report, NULL, 0, &nodes);
	muster_json_writer_array_of(w, "actions");
	int saved = muster_json_writer_line_begin(w);
	for (size_t i = 0; i < nodes.count; i++) {
		if (muster_action_strength(nodes.entries[i].action_code) == 0)
			continue;
		muster_json_writer_object(w);
		muster_json_writer_text(w, "node", nodes.entries[i].name);
		muster_json_writer_text(w, "action_code", nodes.entries[i].action_code);
		muster_json_writer_object_end(w);
	}
	muster_json_writer_line_end(w, saved);
	muster_json_writer_array_end(w);
	muster_node_selection_done(&nodes);
}

/* Kinds of faults (report/kinds.h), one on a line, for scripts that need no single finding. */
static void write_kinds(struct muster_json_writer *w, const struct muster_report *report)
{
	struct muster_arena *arena = muster_arena_new();
	struct muster_kinds kinds;
	muster_kinds_find(report, arena, &kinds);
	muster_json_writer_array_of(w, "kinds");
	int saved = muster_json_writer_line_begin(w);
	for (const struct muster_kind *kind = kinds.items; kind < kinds.items + kinds.count; kind++) {
		muster_json_writer_object(w);
		muster_json_writer_text(w, "check", kind->check);
		muster_json_writer_text(w, "status", muster_status_name(kind->status));
		muster_json_writer_text(w, "action_code", kind->action_code);
		write_count(w, "count", kind->count);
		write_count(w, "nodes", kind->node_count);
		muster_json_writer_text(w, "node_list", kind->node_list);
		muster_json_writer_object_end(w);
	}
	muster_json_writer_line_end(w, saved);
	muster_json_writer_array_end(w);
	muster_arena_free(arena);
}

/* Ranks from which nothing came, or not all that they had to measure. */
static void write_missing_ranks(struct muster_json_writer *w, const struct muster_run *run)
{
	muster_json_writer_key(w, "missing_ranks");
	int saved = muster_json_writer_line_begin(w);
	muster_json_writer_array(w);
	for (size_t i = 0; i < run->node_count; i++)
		for (size_t j = 0; j < run->nodes[i].rank_count; j++)
			if (run->nodes[i].ranks[j].missing || run->nodes[i].ranks[j].unfinished)
				muster_json_writer_number(w, run->nodes[i].ranks[j].rank);
	muster_json_writer_array_end(w);
	muster_json_writer_line_end(w, saved);
}

static void write_slow_rank(struct muster_json_writer *w, const struct muster_slow_rank *slow)
{
	muster_json_writer_object(w);
	muster_json_writer_pair(w, "rank", muster_number(slow->rank->rank));
	muster_json_writer_text(w, "node", slow->node->name);
	muster_json_writer_text(w, "gpu", slow->rank->gpu);
	int index = muster_node_gpu_index(slow->node, slow->rank->gpu);
	if (index >= 0)
		muster_json_writer_pair(w, "gpu_index", muster_number(index));
	muster_json_writer_pair(w, "value", muster_number(slow->value));
	muster_json_writer_object_end(w);
}

/* "slowest": of each figure the slowest ranks; absent when no figure has two ranks. */
static void write_slowest(struct muster_json_writer *w, const struct muster_run *run)
{
	struct muster_slowest slowest[MUSTER_SLOWEST_FIGURES];
	size_t count = muster_slowest_find(run, slowest);
	if (count == 0)
		return;
	muster_json_writer_object_of(w, "slowest");
	for (size_t i = 0; i < count; i++) {
		const struct muster_shown *as = slowest[i].as;
		char key[64]; /* of an exchange, its kind too: "pair.exchange_gbps.rail" */
		snprintf(key, sizeof key, "%s%s%s", slowest[i].metric->name, as->value ? "." : "",
			as->value ? as->value : "");
		muster_json_writer_array_of(w, key);
		int saved = muster_json_writer_line_begin(w);
		for (size_t j = 0; j < slowest[i].count; j++)
			write_slow_rank(w, &slowest[i].ranks[j]);
		muster_json_writer_line_end(w, saved);
		muster_json_writer_array_end(w);
	}
	muster_json_writer_object_end(w);
}

static void write_report(struct muster_json_writer *w, const struct muster_report *report)
{
	muster_json_writer_object(w);
	muster_json_writer_pair(w, "schema_version", muster_number(MUSTER_REPORT_SCHEMA_VERSION));
	muster_json_writer_pair(w, "muster", muster_string(muster_version));
	muster_json_writer_pair(w, "verdict", muster_string(muster_status_name(report->verdict)));
	muster_json_writer_pair(w, "simulated", muster_boolean(report->run->job.simulated));
	muster_json_writer_key(w, "strict");
	muster_strictness_write(w, &(int){ (int)report->strict });
	muster_json_writer_object_of(w, "sku");
	muster_json_writer_pair(w, "name", muster_string(report->sku ? report->sku : "unknown"));
	muster_json_writer_text(w, "origin", report->sku_origin);
	muster_json_writer_pair(w, "observe", muster_boolean(report->observe));
	muster_json_writer_object_end(w);

	muster_json_writer_object_of(w, "summary");
	write_count(w, "nodes", muster_run_known_nodes(report->run));
	muster_json_writer_pair(w, "ranks", muster_number(report->run->job.ranks));
	if (report->domains)
		write_count(w, "domains", report->domains);
	write_missing_ranks(w, report->run);
	write_failed_nodes(w, report);
	write_actions(w, report);
	write_kinds(w, report);
	char *unmeasured[MUSTER_UNMEASURED_MOST];
	size_t unmeasured_count = muster_report_unmeasured(report, unmeasured);
	if (unmeasured_count > 0)
		muster_json_writer_array_of(w, "not_measured");
	for (size_t i = 0; i < unmeasured_count; i++) {
		muster_json_writer_string(w, unmeasured[i]);
		free(unmeasured[i]);
	}
	if (unmeasured_count > 0)
		muster_json_writer_array_end(w);
	muster_json_writer_key(w, "count");
	int saved = muster_json_writer_line_begin(w);
	muster_object_write(w, &muster_counts_type, report->count);
	muster_json_writer_line_end(w, saved);
	muster_json_writer_object_end(w);

	write_slowest(w, report->run);

	muster_json_writer_array_of(w, "findings");
	for (size_t i = 0; i < report->finding_count; i++)
		muster_object_write(w, &muster_finding_type, &report->findings[i]);
	muster_json_writer_array_end(w);

	muster_json_writer_array_of(w, "checks");
	saved = muster_json_writer_line_begin(w);
	for (size_t i = 0; i < report->tally_count; i++)
		muster_object_write(w, &muster_tally_type, &report->tallies[i]);
	muster_json_writer_line_end(w, saved);
	muster_json_writer_array_end(w);

	muster_json_writer_key(w, "run");
	muster_run_write(w, report->run);
	muster_json_writer_object_end(w);
}

int muster_report_print_json(const struct muster_report *report, FILE *out, struct muster_error *err)
{
	struct muster_json_writer writer;
	muster_json_writer_init(&writer, out, MUSTER_WRITER_DEPTH_MAX);
	errno = 0;
	write_report(&writer, report);
	if (fflush(out) != 0 || ferror(out))
		return muster_fail(err, MUSTER_EIO, "%s", errno ? strerror(errno) : "write error");
	return 0;
}

int muster_report_write_json(const struct muster_report *report, const char *path, struct muster_error *err)
{
	struct muster_file file;
	if (muster_file_open(&file, path, err) < 0)
		return muster_wrap(err, "report");
	if (muster_report_print_json(report, file.out, err) < 0) {
		muster_file_abandon(&file);
		return muster_wrap(err, "report: %s", path);
	}
	return muster_file_commit(&file, err) < 0 ? muster_wrap(err, "report") : 0;
}
