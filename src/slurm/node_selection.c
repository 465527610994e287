/* SPDX-License-Identifier: Apache-2.0 */
/* node_selection.c - select the good, bad, inconclusive and missing nodes of an evaluated run
 *
 * The rules are at the top of node_selection.h. In this file, muster_node_selection_make() calls add_nodes(), adds the
 * expected names, sorts, and calls judge(). judge() calls find_suspects(), and then for each finding take_action() and,
 * if the finding fails or is inconclusive, blame().
 *
 * A finding of one node goes to that node. A finding of the whole job goes to the only node of the run, or to a suspect
 * (is_of_suspect), in which case no node gets it, because the suspect has a finding of its own already. What remains of
 * the job's findings makes none_good true.
 */
#include "slurm/node_selection.h"

#include "localize/findings.h"
#include "muster/probe.h"
#include "muster/run_data.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

#define EXCHANGE_METRIC "pair.exchange_gbps" /* of two ranks alone: its findings name the slow part */

/* The entry of a node, in entries that are sorted by name; NULL when there is none. */
static struct muster_node_selection_entry *find(const struct muster_node_selection *nodes, const char *name)
{
	const struct muster_node_selection_entry wanted = { .name = name };
	return nodes->count ? bsearch(&wanted, nodes->entries, nodes->count, sizeof wanted, muster_by_text) : NULL;
}

/* Sort the entries by name, and keep one of each name: an expected node that the run has is there twice. An entry that
 * is not MISSING decides the standing. */
static void sort(struct muster_node_selection *nodes)
{
	size_t kept = 0;
	if (nodes->count == 0)
		return;
	qsort(nodes->entries, nodes->count, sizeof *nodes->entries, muster_by_text);
	for (size_t i = 0; i < nodes->count; i++) {
		struct muster_node_selection_entry *last = kept ? &nodes->entries[kept - 1] : NULL;
		if (!last || strcmp(last->name, nodes->entries[i].name) != 0)
			nodes->entries[kept++] = nodes->entries[i];
		else if (last->standing == MUSTER_STANDING_MISSING)
			last->standing = nodes->entries[i].standing;
	}
	nodes->count = kept;
}

/* An entry for each node of the run: MISSING when all of its ranks gave no result, or when it has no rank, as assembled
 * reports have for expected nodes. The node "?" has the ranks whose node is unknown, and gets no entry. */
static void add_nodes(struct muster_node_selection *nodes, const struct muster_run *run)
{
	for (size_t i = 0; i < run->node_count; i++) {
		const struct muster_node *node = &run->nodes[i];
		size_t missing = 0;
		for (size_t j = 0; j < node->rank_count; j++)
			missing += node->ranks[j].missing != NULL;
		if (strcmp(node->name, "?") == 0)
			nodes->unplaced_ranks += missing;
		else
			nodes->entries[nodes->count++] = (struct muster_node_selection_entry){
				.name = node->name,
				.standing =
					missing == node->rank_count ? MUSTER_STANDING_MISSING : MUSTER_STANDING_GOOD,
			};
	}
}

/* Whether the finding fails the run, which a warning does with --strict. With --strict an inconclusive finding fails
 * the run too, but not its node: nothing is proved about that. */
static bool failed(const struct muster_report *report, const struct muster_finding *finding)
{
	return finding->status != MUSTER_INCONCLUSIVE && muster_finding_fails(finding, report->strict);
}

/* The probe that the finding is about, by its metric or by its check "probe.<name>"; NULL for missing ranks and other
 * findings without a probe. */
static const struct muster_probe *probe_of(const struct muster_finding *finding)
{
	const struct muster_metric *metric = muster_metric_find(finding->metric);
	if (metric)
		return muster_probe_find(muster_metric_probe(metric));
	return strncmp(finding->check, "probe.", 6) == 0 ? muster_probe_find(finding->check + 6) : NULL;
}

/* Keep the strongest action code among the worst findings of the node: a worse status replaces the code, an equal one
 * only a weaker code, and a better one nothing. */
static void take_action(struct muster_node_selection_entry *entry, const struct muster_finding *finding)
{
	int weight = muster_status_weight(finding->status);
	if (weight < entry->weight || !finding->action_code)
		return;
	if (weight > entry->weight ||
		muster_action_strength(finding->action_code) > muster_action_strength(entry->action_code))
		entry->action_code = finding->action_code;
	entry->weight = weight;
}

/* Give the node a finding that fails or is inconclusive. A finding that fails is also a fault of the machine, unless
 * its probe says otherwise: of a finding with a metric by `of_job` (how the job was launched), of a probe that did not
 * end well by `hang_advice` (where a hang is no fault of the node). A node that is MISSING stays so. */
static void blame(struct muster_node_selection_entry *entry, const struct muster_report *report,
	const struct muster_finding *finding)
{
	const struct muster_probe *probe = probe_of(finding);
	bool of_job = probe && (finding->metric ? probe->of_job : probe->hang_advice != NULL);
	bool fail = failed(report, finding);
	if (!entry->why)
		entry->why = finding; /* findings stand worst first */
	if (entry->standing != MUSTER_STANDING_MISSING)
		entry->standing = fail || entry->standing == MUSTER_STANDING_BAD ? MUSTER_STANDING_BAD
										 : MUSTER_STANDING_INCONCLUSIVE;
	if (!fail || of_job)
		return;
	entry->fault = entry->fault ? entry->fault : finding;
	entry->failures = muster_realloc(entry->failures, entry->faults + 1, sizeof(*entry->failures));
	entry->failures[entry->faults++] = finding;
}

/* What failed at a node and explains findings about the whole job. */
struct suspects {
	bool node;      /* ring.suspect: a node breaks or slows the all-reduces that it takes part in */
	bool slow_part; /* a part of a node makes its exchanges slow */
};

/* Look through all failed findings that name a node, before any finding is given to a node. */
static struct suspects find_suspects(const struct muster_report *report)
{
	struct suspects found = { 0 };
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		if (!finding->node || !failed(report, finding))
			continue;
		found.node |= strcmp(finding->check, "ring.suspect") == 0;
		found.slow_part |= finding->metric && strcmp(finding->metric, EXCHANGE_METRIC) == 0;
	}
	return found;
}

/* How many nodes the last all-reduce of all nodes without the suspects had (MUSTER_TRIAL_REST); 0 when there was none.
 */
static size_t nodes_of_rest(const struct muster_run *run, const struct muster_probe *probe)
{
	for (size_t i = run->trial_count; i-- > 0;)
		if (run->trials[i].kind == MUSTER_TRIAL_REST && strcmp(run->trials[i].probe, probe->name) == 0)
			return run->trials[i].node_count;
	return 0;
}

/* Whether a suspect explains the finding, which is about the whole job. Never for findings of the localisation's own
 * trials: what these find besides a suspect has a cause of its own. For other findings, by their probe:
 *
 *    an all-reduce with the suspects   ring.suspect explains it
 *    the all-reduce of the rest        a slow part explains its bandwidth; so it does for all, if there was no rest
 *    other traffic of the job          a slow part explains its bandwidth
 *    all others                        nothing explains it
 *
 * The label "nodes" tells the all-reduces apart: that of the rest has as many nodes as the trial of the rest had. */
static bool is_of_suspect(
	const struct muster_report *report, const struct muster_finding *finding, const struct suspects *suspects)
{
	const struct muster_probe *probe = probe_of(finding);
	if (!probe || muster_is_trial_finding(finding->check))
		return false;
	const struct muster_metric *metric = muster_metric_find(finding->metric);
	bool slow = suspects->slow_part && metric && metric->scope == MUSTER_SCOPE_JOB &&
		    metric->unit == MUSTER_UNIT_GB_PER_S;
	if (!probe->ring)
		return probe->traffic && slow;
	size_t rest = nodes_of_rest(report->run, probe);
	double nodes = muster_label_number(finding->labels, finding->label_count, "nodes");
	bool has_suspect = nodes > 0 ? nodes != (double)rest : rest == 0;
	return (suspects->node && has_suspect) || (slow && (rest == 0 || nodes == (double)rest));
}

/* Give each finding to a node, and decide whether any node can be called good. A warning that does not fail counts only
 * for the action code. A finding about the job that nothing explains makes none_good true; the first of these is the
 * worst, and is kept. A verdict that is no pass without any failed or inconclusive finding does so, too: the report
 * does not say which node to leave out. */
static void judge(struct muster_node_selection *nodes, const struct muster_report *report)
{
	const struct suspects suspects = find_suspects(report);
	bool any = false;
	for (size_t i = 0; i < report->finding_count; i++) {
		const struct muster_finding *finding = &report->findings[i];
		struct muster_node_selection_entry *entry = finding->node ? find(nodes, finding->node) : NULL;
		if (!finding->node && nodes->count == 1)
			entry = &nodes->entries[0];
		if (entry)
			take_action(entry, finding);
		if (!failed(report, finding) && finding->status != MUSTER_INCONCLUSIVE)
			continue;
		any = true;
		if (entry)
			blame(entry, report, finding);
		else if (!finding->node && !is_of_suspect(report, finding, &suspects) && !nodes->none_good) {
			nodes->job_finding = finding;
			nodes->none_good = true;
		}
	}
	if (!any && report->verdict != MUSTER_PASS)
		nodes->none_good = true;
	for (size_t i = 0; i < nodes->count && nodes->none_good; i++)
		if (nodes->entries[i].standing == MUSTER_STANDING_GOOD)
			nodes->entries[i].standing = MUSTER_STANDING_INCONCLUSIVE;
}

void muster_node_selection_make(const struct muster_report *report, const char *const *expected, size_t expected_count,
	struct muster_node_selection *ret)
{
	const struct muster_run *run = report->run;
	*ret = (struct muster_node_selection){
		.entries = muster_calloc(run->node_count + expected_count + 1, sizeof *ret->entries),
	};
	add_nodes(ret, run);
	for (size_t i = 0; i < expected_count; i++)
		ret->entries[ret->count++] = (struct muster_node_selection_entry){ .name = expected[i],
			.standing = MUSTER_STANDING_MISSING };
	sort(ret);
	for (size_t i = 0; i < ret->count; i++)
		ret->entries[i].action_code = muster_action_codes[0];
	judge(ret, report);
}

void muster_node_selection_done(struct muster_node_selection *nodes)
{
	for (size_t i = 0; i < nodes->count; i++)
		free(nodes->entries[i].failures);
	free(nodes->entries);
	*nodes = (struct muster_node_selection){ 0 };
}
