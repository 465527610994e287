/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c - the verdict in words, the nodes to exclude, and what must be known about the run: for every writer
 *
 * The verdict itself is in the report; nothing is evaluated here. The words behind it (muster_verdict_text):
 *
 *   verdict        when                                     text
 *   PASS           no warning                               ""
 *   PASS           warnings                                 "2 warnings"
 *   FAIL           a check failed on nodes                  "1 of 16 nodes failed."
 *   FAIL           only the launch is wrong there           "the launch of the job is wrong on 1 of 16 nodes."
 *   FAIL           both                                     "1 of 16 nodes failed, and the launch ... on 2 more."
 *   FAIL           a check failed, but no node              "the job failed, and no single node ... the cause."
 *   FAIL           no check failed: the run is strict       "2 warnings, and with --strict a warning fails ..."
 *   FAIL           the same, without such a warning         "1 result could not be evaluated, and with --strict ..."
 *   INCONCLUSIVE   results without an answer                "no check failed, but 3 results could not be evaluated"
 *   INCONCLUSIVE   none of these either                     "no check failed, but the machine could not be evaluated"
 */
#include "report/verdict.h"

#include "muster/arena.h"
#include "muster/run_data.h"
#include "report/text_summary.h"
#include "slurm/hostlist.h"
#include "slurm/node_selection.h"
#include "slurm/command.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

/* The standings of slurm/node_selection.h: bad nodes with a fault of the machine and missing nodes are excluded. A bad
 * node without a fault has only findings about how the job was launched: the same launch would fail on other nodes,
 * too, so the node is counted apart and not excluded. */
bool muster_failed_find(const struct muster_report *report, struct muster_failed *ret)
{
	struct muster_node_selection all;
	struct muster_failed failed = { 0 };
	bool plain = true;
	muster_node_selection_make(report, NULL, 0, &all);
	failed.names = muster_calloc(all.count + 1, sizeof *failed.names);
	for (size_t i = 0; i < all.count; i++) {
		const struct muster_node_selection_entry *entry = &all.entries[i];
		if (entry->standing == MUSTER_STANDING_BAD && !entry->fault) {
			failed.launched++;
		} else if (entry->standing == MUSTER_STANDING_BAD || entry->standing == MUSTER_STANDING_MISSING) {
			failed.names[failed.count++] = entry->name;
			plain = plain && muster_slurm_name_is_plain(entry->name);
		}
	}
	if (plain)
		failed.list = muster_hostlist_compress(failed.names, failed.count);
	muster_node_selection_done(&all);
	*ret = failed;
	return report->verdict == MUSTER_FAIL && report->count[MUSTER_FAIL] > 0 && failed.count > 0 &&
	       muster_run_known_nodes(report->run) > 1;
}

void muster_failed_done(struct muster_failed *failed)
{
	free(failed->names);
	free(failed->list);
}

/* "1 of 16 nodes failed." A wrong launch is said beside it: without the failed nodes the job would fail again. */
static char *failed_text(const struct muster_report *report)
{
	char of[64];
	struct muster_failed failed;
	muster_failed_find(report, &failed);
	muster_failed_done(&failed); /* the counts stay */
	muster_text_plural(of, muster_run_known_nodes(report->run), "node");
	if (failed.count > 0 && failed.launched > 0)
		return muster_asprintf("%zu of %s failed, and the launch of the job is wrong on %zu more.",
			failed.count, of, failed.launched);
	if (failed.count > 0)
		return muster_asprintf("%zu of %s failed.", failed.count, of);
	if (failed.launched > 0)
		return muster_asprintf("the launch of the job is wrong on %zu of %s.", failed.launched, of);
	return muster_asprintf("the job failed, and no single node is known to be the cause.");
}

char *muster_verdict_text(const struct muster_report *report)
{
	size_t warned = report->count[MUSTER_WARN], doubtful = report->count[MUSTER_INCONCLUSIVE], failing = 0;
	char text[64];
	switch (report->verdict) {
	case MUSTER_PASS: return muster_asprintf("%s", warned > 0 ? muster_text_plural(text, warned, "warning") : "");
	case MUSTER_FAIL:
		if (report->count[MUSTER_FAIL] > 0)
			return failed_text(report);
		for (size_t i = 0; i < report->finding_count; i++) /* an inferred limit fails no run */
			failing += report->findings[i].status == MUSTER_WARN &&
				   muster_finding_fails(&report->findings[i], report->strict);
		if (failing == 0)
			return muster_asprintf("%s could not be evaluated, and with --strict this fails the run",
				muster_text_plural(text, doubtful, "result"));
		return muster_asprintf(
			"%s, and with --strict a warning fails the run", muster_text_plural(text, failing, "warning"));
	default:
		return muster_asprintf("no check failed, but %s could not be evaluated",
			doubtful > 0 ? muster_text_plural(text, doubtful, "result") : "the machine");
	}
}

bool muster_report_is_shared(const struct muster_report *report)
{
	const char *sharing = NULL; /* an option of the run: that of any rank is enough */
	for (size_t n = 0; n < report->run->node_count && !sharing; n++)
		for (size_t r = 0; r < report->run->nodes[n].rank_count && !sharing; r++)
			sharing = muster_rank_sharing(&report->run->nodes[n].ranks[r]);
	return sharing && strcmp(sharing, "asked") == 0;
}

size_t muster_report_remarks(const struct muster_report *report, const char *ret[MUSTER_REMARKS_MOST])
{
	const struct muster_job *job = &report->run->job;
	const struct {
		bool holds;
		const char *text;
	} remarks[] = {
		{ job->simulated, "SIMULATED: results come from simulated hardware, not from a real machine" },
		{ job->beside_jobs,
			"Other jobs used CPUs of the node meanwhile: a slow copy or all-reduce is inconclusive" },
		{ !job->beside_jobs && muster_report_is_shared(report),
			"Other programs may use the GPUs (--shared): slow GPUs and slow traffic are not evaluated" },
		{ job->assembled, "Built by muster assemble from files on disk: rank 0 did not write this report" },
		{ !report->sku_origin, "No expectation file for this machine type: nothing was checked" },
		{ report->observe,
			"No thresholds of this machine type: speeds are compared with the limits of links and GPUs" },
		{ report->strict == MUSTER_STRICT,
			"Strict: inconclusive results fail the run, and warnings unless the limit is inferred" },
		{ report->strict == MUSTER_STRICT_ALL,
			"Strict in all: inconclusive results and warnings fail the run" },
	};
	size_t count = 0;
	_Static_assert(sizeof remarks / sizeof *remarks <= MUSTER_REMARKS_MOST, "all of them fit");
	for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++)
		if (remarks[i].holds)
			ret[count++] = remarks[i].text;
	return count;
}

/* Findings whose source could not be read, for one reason: a row of muster_report_unmeasured(). The counts compare with
 * the last finding of the row alone: the evaluation folds such findings, so a check comes once for each reason. */
struct unmeasured {
	const struct muster_finding *first;
	size_t checks, nodes; /* nodes: besides that of the first finding */
	const char *last_check, *last_node;
};

static bool differs(const char *a, const char *b)
{
	return !a || !b || strcmp(a, b) != 0;
}

/* One line for each reason, in the order in which the reasons come, at most MUSTER_UNMEASURED_MOST. The last line says
 * how many results have further reasons. */
size_t muster_report_unmeasured(const struct muster_report *report, char *ret[MUSTER_UNMEASURED_MOST])
{
	struct unmeasured rows[MUSTER_UNMEASURED_MOST] = { 0 };
	size_t count = 0, left_out = 0;
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		size_t at = 0;
		if (finding->status != MUSTER_SKIP || !finding->unread || !finding->observed)
			continue;
		while (at < count && strcmp(rows[at].first->observed, finding->observed) != 0)
			at++;
		if (at == MUSTER_UNMEASURED_MOST) {
			left_out++;
			continue;
		}
		struct unmeasured *row = &rows[at];
		count += at == count;
		row->first = row->first ? row->first : finding;
		row->checks += differs(row->last_check, finding->check);
		row->nodes += finding->node && differs(row->first->node, finding->node) &&
			      differs(row->last_node, finding->node);
		row->last_check = finding->check;
		row->last_node = finding->node;
	}
	static const char none[] = MUSTER_NO_VALUE ": ";
	for (size_t at = 0; at < count; at++) {
		const struct muster_finding *first = rows[at].first;
		const char *why =
			first->observed + (strncmp(first->observed, none, strlen(none)) == 0 ? strlen(none) : 0);
		char more[64];
		size_t length;
		FILE *line = muster_memory_open(&ret[at], &length);
		fputs(first->check, line);
		if (rows[at].checks > 1)
			fprintf(line, " and %s", muster_text_plural(more, rows[at].checks - 1, "more check"));
		if (first->node)
			fprintf(line, " on %s", first->node);
		if (rows[at].nodes > 0)
			fprintf(line, " and %s", muster_text_plural(more, rows[at].nodes, "more node"));
		fprintf(line, ": %s", why);
		if (left_out > 0 && at + 1 == count)
			fprintf(line, "; and %s for other reasons", muster_text_plural(more, left_out, "more result"));
		muster_memory_close(line);
	}
	return count;
}

/* Tallies count results as the report does, except in a file that was changed: so the sum is limited, because writers
 * subtract it from the passes. */
size_t muster_report_recorded(const struct muster_report *report)
{
	size_t count = 0;
	for (size_t i = 0; i < report->tally_count; i++)
		if (report->tallies[i].uncalibrated)
			count += report->tallies[i].count[MUSTER_PASS];
	return count < report->count[MUSTER_PASS] ? count : report->count[MUSTER_PASS];
}

/* ---- the order of findings ---- */

/* A finding while they are sorted twice: by node, to learn the worst status and the first finding of each node; then in
 * the final order. A place is a node, or the whole job. */
struct entry {
	const struct muster_finding *finding;
	int weight, place_weight; /* of the finding's status; of the worst status at its place */
	size_t index, place;      /* in the report: of the finding; of the first finding at its place */
};

/* Findings about the whole job come before all nodes. */
static int compare_nodes(const struct entry *x, const struct entry *y)
{
	const char *a = x->finding->node, *b = y->finding->node;
	return a && b ? strcmp(a, b) : !b - !a;
}

static int by_node(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = compare_nodes(x, y);
	return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* The place with the worst status first; of places that are as bad, that whose finding the report has first. */
static int by_place(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->place_weight != y->place_weight)
		return y->place_weight - x->place_weight;
	if (x->place != y->place)
		return x->place > y->place ? 1 : -1;
	if (x->weight != y->weight)
		return y->weight - x->weight;
	return (x->index > y->index) - (x->index < y->index);
}

const struct muster_finding **muster_findings_by_place(const struct muster_report *report, size_t *ret_count)
{
	struct entry *entries = muster_calloc(report->finding_count + 1, sizeof *entries);
	size_t count = 0;
	for (size_t i = 0; i < report->finding_count; i++) {
		int weight = muster_status_weight(report->findings[i].status);
		if (weight >= muster_status_weight(MUSTER_WARN))
			entries[count++] =
				(struct entry){ .finding = &report->findings[i], .weight = weight, .index = i };
	}
	qsort(entries, count, sizeof *entries, by_node);
	for (size_t i = 0, end; i < count; i = end) {
		int worst = entries[i].weight;
		for (end = i; end < count && compare_nodes(&entries[i], &entries[end]) == 0; end++)
			worst = entries[end].weight > worst ? entries[end].weight : worst;
		for (size_t j = i; j < end; j++) {
			entries[j].place = entries[i].index;
			entries[j].place_weight = worst;
		}
	}
	qsort(entries, count, sizeof *entries, by_place);
	const struct muster_finding **sorted = muster_calloc(count + 1, sizeof(*sorted));
	for (size_t i = 0; i < count; i++)
		sorted[i] = entries[i].finding;
	free(entries);
	*ret_count = count;
	return sorted;
}
