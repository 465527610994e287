/* SPDX-License-Identifier: Apache-2.0 */
/* findings.c - findings from localisation all-reduces: which node, link or partition breaks the full all-reduce
 *
 * blame.c finds the cause; this file reports it with the evidence, the strongest first. Each probe with rings has
 * trials of its own. Nodes are numbered three times here: by their place in the run, among those that were tried
 * (blame.c's numbers), and in the order of their names, by which trials of a saved report are matched with nodes.
 *
 * What is reported, in this order (names of enum kind):
 *   ring.suspect   NODE_ALONE        a node whose own all-reduce failed
 *   ring.suspect   NODE_WITH_OTHERS  a node that fails with nodes that work with others
 *   ring.split     SPLIT             groups of nodes that work within, and not with each other
 *   ring.link      LINK              two nodes that work with others and not with each other
 *   ring.link      PAIRS             one finding for all pairs that fail, where a node or the link may be the cause
 *   ring.suspect   REST              the nodes that are left do not work together either; REST_LATE: inconclusive
 *   ring.suspect   NOTHING           none of the above, although there were trials: skipped
 */
#include "localize/findings.h"

#include "expect/describe.h"
#include "localize/blame.h"
#include "muster/run_data.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

#define WHY_SHOWN 160 /* bytes of why a trial failed: a library's words may be many */

/* The trials of one probe. */
struct trial_set {
	const struct muster_run *run;
	struct muster_arena *arena;
	muster_trial_finding_fn *tell;
	void *arg;     /* of tell */
	size_t number; /* the probe's */
	const struct muster_probe *probe;
	const char **names; /* of the nodes that were tried, in the run's order */
	size_t name_count;
	struct name *nodes; /* all of the run, sorted by name */
	size_t *places;     /* of each node of the run: its place in the names; SIZE_MAX: it was not tried */
	struct muster_attempt *attempts;
	const struct muster_trial **trials; /* of each attempt */
	size_t attempt_count;
	const struct muster_trial *rest; /* the last full ring after trials; NULL */
	struct muster_suspects suspects;
	size_t found; /* findings so far */
};

struct name {
	const char *name;
	size_t index; /* of the node in the run */
};

/* NULL when no node has the name. */
static struct name *find_node(const struct trial_set *d, const char *name)
{
	const struct name key = { .name = name };
	return bsearch(&key, d->nodes, d->run->node_count, sizeof *d->nodes, muster_by_text);
}

static void sort_nodes(struct trial_set *d)
{
	const struct muster_run *run = d->run;
	d->nodes = muster_arena_alloc(d->arena, run->node_count * sizeof *d->nodes);
	for (size_t n = 0; n < run->node_count; n++)
		d->nodes[n] = (struct name){ run->nodes[n].name, n };
	qsort(d->nodes, run->node_count, sizeof *d->nodes, muster_by_text);
}

/* The seconds of the last trial of these nodes; 0 when there was none. The last full ring has more to do than a trial,
 * so that its own time says nothing of how long a trial takes. */
static double seconds_before(const struct trial_set *d, size_t first, size_t last)
{
	for (size_t i = d->attempt_count; i-- > 0;)
		if (d->attempts[i].nodes[0] == first && d->attempts[i].nodes[1] == last)
			return d->attempts[i].seconds;
	return 0;
}

/* Fill the set: nodes that were tried, the attempts (rings of one or two of them), and the last full ring. First
 * attempts have places of the run; when all tried nodes are known, these become blame.c's numbers. A trial of a node
 * that the run does not have is ignored. */
static void fill_trial_set(struct trial_set *d)
{
	const struct muster_run *run = d->run;
	bool *tried = muster_arena_alloc(d->arena, run->node_count * sizeof *tried);
	sort_nodes(d);
	d->places = muster_arena_alloc(d->arena, run->node_count * sizeof *d->places);
	d->names = muster_arena_alloc(d->arena, run->node_count * sizeof *d->names);
	d->attempts = muster_arena_alloc(d->arena, run->trial_count * sizeof *d->attempts);
	d->trials = muster_arena_alloc(d->arena, run->trial_count * sizeof *d->trials);
	for (size_t i = 0; i < run->trial_count; i++) {
		const struct muster_trial *trial = &run->trials[i];
		if (strcmp(trial->probe, d->probe->name) != 0 || trial->node_count < 1)
			continue;
		bool is_rest = trial->kind == MUSTER_TRIAL_REST;
		if (is_rest && run->job.interrupted && trial->status != MUSTER_TRIAL_OK)
			continue; /* the end of the run broke it */
		if (is_rest)
			d->rest = trial;
		if (trial->node_count > 2)
			continue;
		const struct name *first = find_node(d, trial->nodes[0]);
		const struct name *last = find_node(d, trial->nodes[trial->node_count - 1]);
		if (!first || !last)
			continue;
		tried[first->index] = tried[last->index] = true;
		double seconds = is_rest ? seconds_before(d, first->index, last->index) : trial->seconds;
		d->trials[d->attempt_count] = trial;
		d->attempts[d->attempt_count++] = (struct muster_attempt){
			.nodes = { first->index, last->index },
			.status = trial->status,
			.seconds = seconds,
		};
	}
	for (size_t n = 0; n < run->node_count; n++) {
		d->places[n] = tried[n] ? d->name_count : SIZE_MAX;
		if (tried[n])
			d->names[d->name_count++] = run->nodes[n].name;
	}
	for (size_t i = 0; i < d->attempt_count; i++)
		for (size_t end = 0; end < 2; end++)
			d->attempts[i].nodes[end] = d->places[d->attempts[i].nodes[end]];
}

/* ---- words ---- */

static const char *gbps_text(const struct trial_set *d, double gbps)
{
	return muster_describe_with_unit(muster_number(gbps), "GB/s", d->arena);
}

/* Why this trial failed. */
static const char *why_text(const struct trial_set *d, const struct muster_trial *trial)
{
	return muster_arena_printf(
		d->arena, "%.*s%s", WHY_SHOWN, trial->why, strlen(trial->why) > WHY_SHOWN ? "..." : "");
}

/* "alone 231 GB/s", "works alone" */
static const char *alone_text(const struct trial_set *d, size_t node)
{
	const struct muster_suspect *one = &d->suspects.nodes[node];
	if (one->alone == MUSTER_UNTRIED)
		return "single-node all-reduce not tried";
	double gbps = d->trials[one->trial]->busbw_gbps;
	return gbps > 0 ? muster_arena_printf(d->arena, "single-node all-reduce %s", gbps_text(d, gbps))
			: "its single-node all-reduce works";
}

/* ---- what is reported ---- */

enum kind { NODE_ALONE, NODE_WITH_OTHERS, LINK, SPLIT, PAIRS, REST, REST_LATE, NOTHING, KINDS };

static const struct {
	const char *check, *expected, *advice;
	enum muster_status status;
	const char *action_code;
} kinds[] = {
	[NODE_ALONE] = { "ring.suspect", "the all-reduce on this node alone works",
		"exclude the node (srun --exclude) and run muster on this node only; check its GPUs and their "
		"connections: NVLink, Xid lines in dmesg, the other findings of the node",
		MUSTER_FAIL, "investigate" },
	[NODE_WITH_OTHERS] = { "ring.suspect", "all-reduces of this node with another node work",
		"exclude the node (srun --exclude) and check its connection to the other nodes: its InfiniBand links "
		"and their error counters, its switch port, P_Keys, mlx5 lines in dmesg",
		MUSTER_FAIL, "fix-fabric" },
	[LINK] = { "ring.link", "nodes that work with other nodes also work with each other",
		"check switches, cables and routing between the two nodes; until this is fixed, do not use both nodes "
		"in one job",
		MUSTER_FAIL, "fix-fabric" },
	[SPLIT] = { "ring.split", "all nodes work with each other",
		"check the switches, the cables between switches and the partitions (P_Key, placement group) between "
		"the groups; until this is fixed, run each job within one group",
		MUSTER_FAIL, "fix-fabric" },
	[PAIRS] = { "ring.link", "nodes that work alone also work with each other",
		"run muster on each of these nodes together with nodes that are known to work", MUSTER_FAIL,
		"investigate" },
	[REST] = { "ring.suspect", "the nodes that are not suspected work together",
		"run muster again on the remaining nodes, without the suspected ones", MUSTER_FAIL, "retry" },
	[REST_LATE] = { "ring.suspect", "the nodes that are not suspected work together",
		"run muster again on the remaining nodes, without the suspected ones, with a longer --deadline",
		MUSTER_INCONCLUSIVE, "retry" },
	[NOTHING] = { "ring.suspect", "all-reduces on few nodes work", NULL, MUSTER_SKIP, "none" },
};
_Static_assert(sizeof kinds / sizeof *kinds == KINDS, "every kind has its words");

/* node: NULL for what is not about one node. */
static void report(struct trial_set *d, enum kind kind, const char *node, const char *observed)
{
	d->found++;
	d->tell(d->arg, d->number,
		(struct muster_finding){
			.check = kinds[kind].check,
			.status = kinds[kind].status,
			.node = node,
			.rank = -1,
			.metric = d->probe->ring_rate,
			.expected = kinds[kind].expected,
			.observed = observed,
			.unit = "",
			.advice = kinds[kind].advice,
			.action_code = kinds[kind].action_code,
		});
}

/* ---- nodes ---- */

/* Appends "all-reduce sim-2 + sim-1 failed" for one partner of the node. */
static const char *attempt_text(
	const struct trial_set *d, const char *text, size_t node, const struct muster_edge *edge)
{
	return muster_arena_printf(d->arena, "%s%s%s + %s failed", text, *text ? ", " : "all-reduce ", d->names[node],
		d->names[muster_edge_other(edge, node)]);
}

/* "all-reduce sim-2 + sim-1 failed, sim-2 + sim-3 failed; sim-1 and sim-3 work with other nodes; single-node all-reduce
 * 231 GB/s; last error: ...": the partners with which the node failed, good ones first, and the error of the last
 * attempt with a good one. */
static void report_by_partners(struct trial_set *d, size_t node)
{
	const struct muster_suspects *s = &d->suspects;
	const char *failed = "", *good = "", *others = "", *why = NULL;
	size_t good_count = 0, other_count = 0;
	for (size_t i = s->first_edge[node]; i < s->first_edge[node + 1]; i++) {
		const struct muster_edge *edge = &s->edges[s->node_edges[i]];
		size_t other = muster_edge_other(edge, node);
		if (!edge->failed)
			continue;
		if (muster_suspects_good(s, other)) {
			if (good_count++ < MUSTER_LIST_MOST) {
				failed = attempt_text(d, failed, node, edge);
				good = muster_arena_printf(
					d->arena, "%s%s%s", good, *good ? " and " : "", d->names[other]);
			}
			why = why_text(d, d->trials[edge->trial]);
		} else if (other_count++ < MUSTER_LIST_MOST) {
			others = attempt_text(d, others, node, edge);
		}
	}
	report(d, NODE_WITH_OTHERS, d->names[node],
		muster_arena_printf(d->arena, "%s; %s work%s with other nodes%s%s; %s; last error: %s", failed, good,
			good_count == 1 ? "s" : "", *others ? "; " : "", others, alone_text(d, node), why ? why : "?"));
}

struct rated {
	size_t node, weight;
};

static int by_weight(const void *a, const void *b)
{
	const struct rated *x = a, *y = b;
	int order = muster_sizes_order(&y->weight, &x->weight, 1);
	return order ? order : muster_sizes_order(&x->node, &y->node, 1);
}

/* Nodes that fail alone first, then those that failed with most others. */
static void report_nodes(struct trial_set *d)
{
	const struct muster_suspects *s = &d->suspects;
	struct rated *rated = muster_arena_alloc(d->arena, s->node_count * sizeof *rated);
	size_t count = 0;
	for (size_t i = 0; i < s->node_count; i++)
		if (muster_suspects_suspected(s, i))
			rated[count++] = (struct rated){ i,
				s->nodes[i].blame == MUSTER_BLAME_ALONE ? SIZE_MAX : s->nodes[i].failed };
	qsort(rated, count, sizeof *rated, by_weight);
	for (size_t i = 0; i < count; i++) {
		size_t node = rated[i].node;
		if (rated[i].weight == SIZE_MAX)
			report(d, NODE_ALONE, d->names[node],
				muster_arena_printf(d->arena, "its single-node all-reduce failed: %s",
					why_text(d, d->trials[s->nodes[node].trial])));
		else
			report_by_partners(d, node);
	}
}

/* ---- what lies between nodes ---- */

static void report_links(struct trial_set *d)
{
	const struct muster_suspects *s = &d->suspects;
	for (size_t i = 0; i < s->edge_count; i++) {
		const struct muster_edge *edge = &s->edges[i];
		if (s->links[i])
			report(d, LINK, NULL,
				muster_arena_printf(d->arena,
					"the all-reduce %s + %s failed, and each of the two works with other nodes: %s",
					d->names[edge->a], d->names[edge->b], why_text(d, d->trials[edge->trial])));
	}
}

/* "sim-[1-4] | sim-[5-8]: nodes of one group work with each other, ..." */
static void report_split(struct trial_set *d)
{
	const struct muster_suspects *s = &d->suspects;
	const char **names = muster_arena_alloc(d->arena, s->node_count * sizeof *names);
	const char *parts = "";
	size_t across = 0;
	for (size_t i = 0; i < s->edge_count; i++)
		across += s->edges[i].failed && muster_suspects_across(s, &s->edges[i]);
	for (size_t p = 0; p < s->component_count; p++) {
		size_t count = 0;
		for (size_t i = 0; i < s->node_count; i++)
			if (s->nodes[i].component == s->components[p])
				names[count++] = d->names[i];
		parts = muster_arena_printf(
			d->arena, "%s%s%s", parts, p ? " | " : "", muster_describe_nodes(names, count, d->arena));
	}
	report(d, SPLIT, NULL,
		muster_arena_printf(d->arena,
			"%s: nodes of one group work with each other, and no pair of nodes from different groups works "
			"(%zu such pairs were tried)",
			parts, across));
}

/* Pairs that fail, and no telling which of the two it is. */
static void report_pairs(struct trial_set *d)
{
	const struct muster_suspects *s = &d->suspects;
	const char *pairs = "";
	size_t count = 0, last = 0;
	for (size_t i = 0; i < s->edge_count; i++) {
		if (muster_suspects_explain(s, i))
			continue;
		if (count++ < MUSTER_LIST_MOST)
			pairs = muster_arena_printf(d->arena, "%s%s%s + %s", pairs, *pairs ? ", " : "",
				d->names[s->edges[i].a], d->names[s->edges[i].b]);
		last = i;
	}
	if (count == 0)
		return;
	if (count > MUSTER_LIST_MOST)
		pairs = muster_arena_printf(d->arena, "%s and %zu more", pairs, count - MUSTER_LIST_MOST);
	report(d, PAIRS, NULL,
		muster_arena_printf(d->arena,
			"all-reduces of two nodes fail (%s), and each of these nodes works alone: the "
			"localisation could not decide which node or connection is at fault: %s",
			pairs, why_text(d, d->trials[s->edges[last].trial])));
}

/* Whether what is known to be bad is in the last full ring. */
static bool rest_is_explained(const struct trial_set *d)
{
	bool *in = muster_arena_alloc(d->arena, d->name_count * sizeof *in);
	for (size_t i = 0; i < d->rest->node_count; i++) {
		const struct name *name = find_node(d, d->rest->nodes[i]);
		if (name && d->places[name->index] != SIZE_MAX)
			in[d->places[name->index]] = true;
	}
	return muster_suspects_explain_ring(&d->suspects, in);
}

/* The last full ring has no suspect in it, and did not work. One of two nodes or of one is an attempt like others,
 * unless it ran out of time. */
static void report_rest(struct trial_set *d)
{
	const struct muster_trial *rest = d->rest;
	bool late = rest && rest->status == MUSTER_TRIAL_LATE;
	if (!rest || rest->status == MUSTER_TRIAL_OK || (!late && rest->node_count <= 2) || rest_is_explained(d))
		return;
	report(d, late ? REST_LATE : REST, NULL,
		muster_arena_printf(d->arena, "the all-reduce of the remaining nodes %s %s: %s",
			muster_describe_nodes(rest->nodes, rest->node_count, d->arena),
			late ? "ran out of time, so it is unknown whether they work together"
			     : "failed too, and the localisation could not decide which node or connection is at fault",
			why_text(d, rest)));
}

/* " (from 58 GB/s on a to 231 GB/s on b)": of nodes alone; "" when no rate is known. */
static const char *rates_text(const struct trial_set *d)
{
	const struct muster_trial *slowest = NULL, *fastest = NULL;
	for (size_t i = 0; i < d->name_count; i++) {
		const struct muster_suspect *one = &d->suspects.nodes[i];
		const struct muster_trial *trial = one->alone == MUSTER_PASSED ? d->trials[one->trial] : NULL;
		if (!trial || trial->busbw_gbps <= 0)
			continue;
		if (!slowest || trial->busbw_gbps < slowest->busbw_gbps)
			slowest = trial;
		if (!fastest || trial->busbw_gbps > fastest->busbw_gbps)
			fastest = trial;
	}
	return slowest ? muster_arena_printf(d->arena, " (from %s on %s to %s on %s)",
				 gbps_text(d, slowest->busbw_gbps), slowest->nodes[0],
				 gbps_text(d, fastest->busbw_gbps), fastest->nodes[0])
		       : "";
}

/* Whether the all-reduce of all nodes failed on any rank. */
static bool full_failed(const struct trial_set *d)
{
	for (size_t n = 0; n < d->run->node_count; n++)
		for (size_t r = 0; r < d->run->nodes[n].rank_count; r++) {
			const struct muster_outcomes *outcomes = &d->run->nodes[n].ranks[r].outcomes;
			for (size_t i = 0; i < outcomes->count; i++)
				if (strcmp(outcomes->items[i].probe, d->probe->name) == 0 &&
					outcomes->items[i].ring > 0 && outcomes->items[i].status != MUSTER_OUTCOME_OK)
					return true;
		}
	return false;
}

/* No cause was found: how many trials there were, how fast nodes alone were, how many trials had too little time. */
static void report_nothing(struct trial_set *d)
{
	const struct muster_suspects *s = &d->suspects;
	const char *late = "", *more = "";
	size_t alone = 0;
	for (size_t i = 0; i < d->name_count; i++)
		alone += s->nodes[i].alone == MUSTER_PASSED;
	if (s->not_tried > 0)
		late = muster_arena_printf(d->arena, "; %zu more ran out of time without a result", s->not_tried);
	if (d->name_count > 2 && s->edge_count == d->name_count * (d->name_count - 1) / 2 && full_failed(d))
		more = "; the all-reduce of all nodes fails, and every pair of nodes works: the fault needs more than "
		       "two nodes";
	report(d, NOTHING, NULL,
		muster_arena_printf(d->arena,
			"no node is suspected: the all-reduces of %zu single node%s%s and %zu pair%s of nodes all "
			"work%s%s",
			alone, alone == 1 ? "" : "s", rates_text(d), s->edge_count, s->edge_count == 1 ? "" : "s", late,
			more));
}

/* ---- all of it ---- */

/* Each kind looks only at what those before it have left: pairs are those that no node, link or split explains. */
static void judge_trial_set(struct trial_set *d)
{
	muster_suspects_find(d->attempts, d->attempt_count, d->name_count, &d->suspects);
	report_nodes(d);
	if (d->suspects.split)
		report_split(d);
	report_links(d);
	report_pairs(d);
	report_rest(d);
	if (d->found == 0 && d->attempt_count > 0)
		report_nothing(d);
}

bool muster_is_trial_finding(const char *check)
{
	for (size_t kind = 0; kind < KINDS; kind++)
		if (strcmp(kinds[kind].check, check) == 0)
			return true;
	return false;
}

void muster_localize_findings(
	const struct muster_run *run, struct muster_arena *arena, muster_trial_finding_fn *tell, void *arg)
{
	for (size_t i = 0; i < muster_probe_count(); i++) {
		const struct muster_probe *probe = muster_probe_at(i);
		struct trial_set set = {
			.run = run, .arena = arena, .tell = tell, .arg = arg, .number = i, .probe = probe
		};
		if (!probe->ring || run->trial_count == 0)
			continue;
		fill_trial_set(&set);
		judge_trial_set(&set);
		muster_suspects_done(&set.suspects);
	}
}
