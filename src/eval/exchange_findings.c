/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_findings.c - a finding for each part that makes exchanges slow, in words
 *
 * For each part: gather finds its exchanges, the worst ones first, and the check in whose name the finding is;
 * add_finding makes the finding; mark_places notes where the part is, for the checks that come after that check;
 * block_others blocks the other checks that say the same of these exchanges.
 *
 * A finding of pairs.edge_share about GPU 2 of sim-1 observes, for example: "slow with all other GPUs that this GPU was
 * paired with; their other exchanges are as expected: 83.1 GB/s, 17 % of NVLink (478 GB/s), between sim-1 GPU 2
 * (0003:00:00.0) and sim-1 GPU 3 (000b:00:00.0); ...".
 *
 * After all checks, muster_exchanges_explain puts what exchanges have shown before the advice of slow findings about
 * the whole job. The first case that fits:
 *   a part was named, at most twice as fast as the job                   see this part first
 *   a part was named, more than twice as fast                            something else is slow as well
 *   several nodes, and no threshold for exchanges between nodes          run with --localise always
 *   one node, and one exchange is slower than the others (SLOWER), and   check the links of these two first
 *     no faster than the job (AS_SLOW)
 *   the speed of some exchange passed                                    no single part is slow
 *   no exchange was measured, and the profile is quick                   run with --profile standard
 */
#include "eval/exchanges.h"

#include "model/gpu.h"
#include "util/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 3      /* exchanges that a finding lists */
#define AS_SLOW 1.05 /* times the job's busbw: such an exchange may be what the job waits for */
#define SLOWER 0.97  /* of the median: exchanges of healthy pairs of H200 differed by 2.3 % */

static const struct muster_rank *rank_at(const struct muster_exchange_set *s, size_t number)
{
	size_t node = s->node_of[number];
	return &s->eval->run->nodes[node].ranks[number - s->eval->first_rank[node]];
}

/* ---- words ---- */

struct part_words {
	const char *observed, *action_code, *advice;
};

/* The words of a part. First index: 0 the part itself is slow, 1 a link between two such parts, 2 a link of which an
 * end may be the cause as well (undecided), 3 the part's way over NVLink to other nodes, 4 a GPU's way through a
 * network adapter that others share. Second index: the kind of part. */
static const struct part_words words[5][4] = {
	{
		[MUSTER_PART_GPU] = { "with all other GPUs that this GPU was paired with; their other exchanges are as "
				      "expected",
			"replace-node",
			"exclude the node (srun --exclude) and check this GPU: the state and the error counters of its "
			"NVLinks, Xid lines in dmesg, its clocks, other programs on it" },
		[MUSTER_PART_NIC] = { "through this network adapter to all other nodes; their other exchanges are as "
				      "expected",
			"fix-fabric",
			"exclude the node (srun --exclude) and check this adapter: its link and error counters, its "
			"cable and switch port, the PCIe path between adapter and GPU" },
		[MUSTER_PART_NODE] = { "in most exchanges of this node; exchanges without this node are as expected",
			"investigate",
			"exclude the node (srun --exclude) and run muster on this node only; check what all its GPUs "
			"share: NVSwitches and the fabric manager within the node; network settings, switch ports and "
			"PCIe between nodes" },
		[MUSTER_PART_ALL] = { "in most exchanges of the run: all parts share the cause, or several are bad",
			"investigate",
			"two bad nodes may look like this: run muster with --localise always; otherwise check what all "
			"nodes share: the settings of NCCL, the container, the network between the nodes" },
	},
	{
		[MUSTER_PART_GPU] = { "between these two GPUs only; their other exchanges are as expected",
			"replace-node",
			"check the NVLinks between the two GPUs, or the PCIe path: state and error counters, dmesg" },
		[MUSTER_PART_NIC] = { "between these two network adapters only; their other exchanges are as expected",
			"fix-fabric",
			"check cables, switches and routing between the two adapters; until this is fixed, do not use "
			"both nodes in one job" },
		[MUSTER_PART_NODE] = { "between these two nodes only; their other exchanges are as expected",
			"fix-fabric",
			"check switches, cables and routing between the two nodes; until this is fixed, do not use "
			"both nodes in one job" },
	},
	{
		[MUSTER_PART_GPU] = { "between these two GPUs; it cannot be decided which of them is the cause, or the "
				      "link between them",
			"investigate",
			"check both GPUs: NVLinks or PCIe, clocks, Xid lines in dmesg; to find out which one, run "
			"muster on this node together with another one" },
		[MUSTER_PART_NIC] = { "between these two network adapters; it cannot be decided which of them is the "
				      "cause, or the network between them",
			"investigate",
			"to find out which one, exchange one of the two nodes for another node and run muster again: "
			"the exchanges of the cause stay as they are" },
		[MUSTER_PART_NODE] = { "between these two nodes; it cannot be decided which of them is the cause, or "
				       "the network between them",
			"investigate",
			"to find out which one, exchange one of the two nodes for another node and run muster again: "
			"the exchanges of the cause stay as they are" },
	},
	{
		[MUSTER_PART_GPU] = { "with all GPUs of other nodes that this GPU was paired with; its exchanges "
				      "within the node are as expected",
			"investigate",
			"exclude the node (srun --exclude) and check how this GPU reaches others of its NVLink domain: "
			"nvidia-smi -q (Fabric), its NVLinks and their error counters" },
		[MUSTER_PART_NODE] = { "with all nodes of the NVLink domain that this node was paired with; exchanges "
				       "within the node, and between others, are as expected",
			"investigate",
			"exclude the node (srun --exclude) and check how its GPUs reach others of the NVLink domain: "
			"nvidia-smi -q (Fabric), the nvidia-imex service, the NVLinks to the switches" },
	},
	{
		[MUSTER_PART_GPU] = { "with all GPUs of other nodes that this GPU was paired with; their other "
				      "exchanges are as expected",
			"investigate",
			"exclude the node (srun --exclude) and check the PCIe path between this GPU and its network "
			"adapter, which serves other GPUs as expected" },
	},
};

/* "sim-1 GPU 2 (0003:00:00.0) through mlx5_ib3:1" */
static const char *end_text(const struct muster_exchange_set *s, size_t rank, bool with_nic)
{
	const struct muster_node *node = &s->eval->run->nodes[s->node_of[rank]];
	const char *nic = with_nic ? s->nics[rank] : NULL;
	return muster_arena_printf(s->eval->arena, "%s %s%s%s", node->name,
		muster_node_gpu_text(s->eval->arena, node, rank_at(s, rank)->gpu), nic ? " through " : "",
		nic ? nic : "");
}

/* "9 wrong values that A received from B" */
static const char *wrong_text(const struct muster_exchange_set *s, const struct muster_pair *pair,
	const struct muster_exchange_note *note, const char *count)
{
	size_t receiver = s->eval->first_rank[note->node] + note->rank;
	size_t sender = pair->ranks[pair->ranks[0] == receiver];
	return muster_arena_printf(s->eval->arena, "%s wrong values that %s received from %s", count,
		end_text(s, receiver, pair->network), end_text(s, sender, pair->network));
}

/* "83.1 GB/s, 17 % of NVLink (478 GB/s), between A and B" */
static const char *pair_text(const struct muster_exchange_set *s, size_t at)
{
	const struct muster_pair *pair = &s->pairs[at];
	const struct muster_exchange_note *note = s->worst[at];
	const struct muster_check_answer *answer = &s->eval->exchange_notes->answers[note->answer - 1];
	struct muster_share share = { 0 };
	char of[MUSTER_SHARE_TEXT_MAX];
	if (s->metric->counts_wrong)
		return wrong_text(s, pair, note, answer->observed);
	muster_share_add(&share, note->sample->value.number, answer->limit);
	muster_share_text(&share, muster_metric_unit(s->metric), true, of);
	return muster_arena_printf(s->eval->arena, "%s%s%s between %s and %s",
		muster_describe_with_unit(note->sample->value, muster_metric_unit(s->metric), s->eval->arena),
		*of ? ", " : "", of, end_text(s, pair->ranks[0], pair->network),
		end_text(s, pair->ranks[1], pair->network));
}

/* ---- findings ---- */

bool muster_exchange_note_worse(
	const struct muster_metric *metric, const struct muster_exchange_note *a, const struct muster_exchange_note *b)
{
	double x = a->sample->value.number, y = b->sample->value.number;
	int order = muster_status_weight(a->status) - muster_status_weight(b->status);
	if (order != 0)
		return order > 0;
	return metric->better == MUSTER_BETTER_MORE ? x < y : x > y;
}

/* What belongs to a part. */
struct report {
	const struct muster_part *part;
	size_t count, shown[SHOWN]; /* exchanges: how many, and the first few pairs, the worst ones first */
	size_t check;               /* the first check, in the file's order, that is as bad about the worst exchange */
	struct muster_place place;  /* of the finding */
	size_t draft;
	bool by_nic; /* all these exchanges go through NICs */
};

static const struct part_words *words_of(const struct report *report)
{
	const struct muster_part *part = report->part;
	bool only_nic = report->by_nic && part->kind == MUSTER_PART_GPU;
	return &words[part->between_nodes ? 3 : part->link ? 1 + part->undecided : only_nic ? 4 : 0][part->kind];
}

/* Whether a part explains the exchange, and a check warned of the exchange or failed it. */
static bool is_bad(const struct muster_exchange_set *s, size_t pair)
{
	return s->pairs[pair].part > 0 && s->worst[pair]->answer > 0;
}

/* Whether an exchange of the part is listed before another one: those where the part was seen come first. */
static bool is_before(const struct muster_exchange_set *s, const struct muster_part *part, size_t a, size_t b)
{
	bool a_seen = s->pairs[a].network == part->network, b_seen = s->pairs[b].network == part->network;
	return a_seen != b_seen ? a_seen : muster_exchange_note_worse(s->metric, s->worst[a], s->worst[b]);
}

/* reports: one for each part, by its number. shown is filled by insertion: each exchange moves up past those that are
 * not as bad. */
static void gather(const struct muster_exchange_set *s, struct report *reports)
{
	for (size_t i = 0; i < s->pair_count; i++) {
		if (!is_bad(s, i))
			continue;
		struct report *report = &reports[s->pairs[i].part - 1];
		size_t known = report->count < SHOWN ? report->count : SHOWN, at = known;
		for (; at > 0 && is_before(s, report->part, i, report->shown[at - 1]); at--)
			if (at < SHOWN)
				report->shown[at] = report->shown[at - 1];
		if (at < SHOWN)
			report->shown[at] = i;
		report->count++;
		report->by_nic &= s->pairs[i].network;
	}
	for (size_t i = 0; i < s->half_count; i++) {
		const struct muster_exchange_half *half = &s->halves[i];
		if (!is_bad(s, half->pair))
			continue;
		struct report *report = &reports[s->pairs[half->pair].part - 1];
		if (report->shown[0] == half->pair && half->note->status == s->worst[half->pair]->status &&
			half->note->check < report->check)
			report->check = half->note->check;
	}
}

/* Where a part is:
 *   GPU                   its node, rank and bus id
 *   NIC                   its node, and its port where NCCL names a single one
 *   node                  the node
 *   link within a node    the node
 *   link between nodes    nowhere: it is at neither of them
 *   ALL                   nowhere
 */
static void set_place(const struct muster_exchange_set *s, const struct muster_part *part,
	struct muster_finding *finding, struct muster_place *place)
{
	size_t nodes[2], ends = part->link ? 2 : 1;
	*place = (struct muster_place){ MUSTER_NOWHERE, MUSTER_NOWHERE, NULL };
	if (part->kind == MUSTER_PART_ALL)
		return;
	for (size_t end = 0; end < ends; end++)
		nodes[end] = part->kind == MUSTER_PART_NODE ? part->ends[end] : s->node_of[part->ends[end]];
	if (part->link && nodes[0] != nodes[1])
		return;
	place->node = (uint32_t)nodes[0];
	finding->node = s->eval->run->nodes[nodes[0]].name;
	if (part->link || part->kind == MUSTER_PART_NODE)
		return;
	if (part->kind == MUSTER_PART_GPU) {
		place->rank = (uint32_t)(part->ends[0] - s->eval->first_rank[nodes[0]]);
		finding->rank = rank_at(s, part->ends[0])->rank;
		finding->gpu = rank_at(s, part->ends[0])->gpu;
		return;
	}
	const char *nic = s->nics[part->ends[0]]; /* as NCCL has it: mlx5_ib3:1 */
	size_t colon = nic ? strcspn(nic, ":") : 0;
	if (nic && nic[colon] && !strchr(nic, '+'))
		finding->port = muster_arena_printf(s->eval->arena, "%.*s/%s", (int)colon, nic, nic + colon + 1);
}

static const char *observed_text(const struct muster_exchange_set *s, const struct report *report)
{
	const char *text = muster_arena_printf(s->eval->arena,
		"%s %s: ", s->metric->counts_wrong ? "wrong values" : "slow", words_of(report)->observed);
	for (size_t i = 0; i < report->count && i < SHOWN; i++)
		text = muster_arena_printf(
			s->eval->arena, "%s%s%s", text, i ? "; " : "", pair_text(s, report->shown[i]));
	return report->count > SHOWN
		       ? muster_arena_printf(s->eval->arena, "%s; and %zu more", text, report->count - SHOWN)
		       : text;
}

/* The finding is that of the check `report->check`, with the worst exchange's value and status. The first failure of a
 * speed, else the first warning, is kept as `named`: the part to which slow findings of the whole job lead. */
static void add_finding(const struct muster_exchange_set *s, struct report *report)
{
	struct muster_eval *eval = s->eval;
	const struct muster_part *part = report->part;
	const struct part_words *said = words_of(report);
	const struct muster_exchange_note *worst = s->worst[report->shown[0]];
	const struct muster_check_answer *answer = &eval->exchange_notes->answers[worst->answer - 1];
	struct muster_tally *tally = &eval->tallies[report->check];
	size_t *named = &eval->exchange_notes->named;
	struct muster_finding finding = {
		.check = tally->check,
		.status = answer->status,
		.rank = -1,
		.metric = tally->metric,
		.expected = answer->expected ? answer->expected : tally->expected,
		.observed = observed_text(s, report),
		.value = worst->sample->value,
		.unit = "",
		.source = tally->source,
		.certainty = tally->certainty,
		.proof = tally->proof,
		.action_code = said->action_code,
		.uncalibrated = tally->uncalibrated,
		.advice = said->advice,
	};
	set_place(s, part, &finding, &report->place);
	muster_draft_check_here(eval); /* no other finding is the same */
	report->draft = muster_draft_add(eval, finding, report->place, report->check, NULL);
	tally->count[finding.status]++;
	if (s->metric->counts_wrong)
		return; /* wrong values are not slow */
	if (*named == 0 ||
		(finding.status == MUSTER_FAIL && eval->drafts->items[*named - 1].finding.status != MUSTER_FAIL))
		*named = report->draft + 1;
}

static void mark_place(struct muster_eval *eval, const struct report *report, struct muster_place place)
{
	struct muster_block block = { eval->drafts->items[report->draft].finding.status, report->draft, report->check,
		false };
	muster_block_note(eval, report->check, place, block);
}

/* What comes after the check is blocked at the part, or at both ends of a link. */
static void mark_places(const struct muster_exchange_set *s, const struct report *reports, size_t count)
{
	struct muster_eval *eval = s->eval;
	for (size_t i = 0; i < count; i++)
		if (!reports[i].part->link)
			mark_place(eval, &reports[i], reports[i].place);
	for (size_t i = 0; i < s->pair_count; i++) {
		const struct report *report = s->pairs[i].part ? &reports[s->pairs[i].part - 1] : NULL;
		for (size_t end = 0; end < 2 && report && report->part->link; end++) {
			size_t rank = s->pairs[i].ranks[end], node = s->node_of[rank];
			mark_place(eval, report,
				(struct muster_place){
					(uint32_t)node, (uint32_t)(rank - eval->first_rank[node]), NULL });
		}
	}
	for (size_t i = 0; i < count; i++)
		muster_blocks_sort(eval, reports[i].check);
}

/* Other checks that say the same of an exchange are blocked by the finding. */
static void block_others(const struct muster_exchange_set *s, const struct report *reports)
{
	for (size_t check = 0; check < s->eval->expect->check_count; check++) {
		if (s->eval->checks[check].metric != s->metric)
			continue;
		for (size_t i = 0; i < s->half_count; i++) {
			const struct muster_exchange_half *half = &s->halves[i];
			const struct report *report =
				s->pairs[half->pair].part ? &reports[s->pairs[half->pair].part - 1] : NULL;
			if (half->note->check == check && half->note->answer && report && report->check != check)
				muster_result_block(s->eval, check, report->draft);
		}
	}
}

void muster_exchanges_report(struct muster_exchange_set *s, const struct muster_slow_parts *parts)
{
	struct report *reports = muster_calloc(parts->count + 1, sizeof *reports);
	for (size_t i = 0; i < parts->count; i++)
		reports[i] = (struct report){ .part = &parts->items[i], .check = SIZE_MAX, .by_nic = true };
	gather(s, reports);
	for (size_t i = 0; i < parts->count; i++)
		add_finding(s, &reports[i]);
	mark_places(s, reports, parts->count);
	block_others(s, reports);
	free(reports);
}

/* ---- what explains findings about the whole job ---- */

/* "pairs.edge_share on sim-2, GPU 2 (0003:00:00.0)" */
static const char *name_of(const struct muster_eval *eval, const struct muster_draft *draft)
{
	const struct muster_finding *finding = &draft->finding;
	const struct muster_node *node = draft->node == MUSTER_NOWHERE ? NULL : &eval->run->nodes[draft->node];
	return muster_arena_printf(eval->arena, "%s%s%s%s%s", finding->check, finding->node ? " on " : "",
		finding->node ? finding->node : "", finding->gpu ? ", " : "",
		finding->gpu ? muster_node_gpu_text(eval->arena, node, finding->gpu) : "");
}

/* A bandwidth that all ranks of the job have together. */
static bool is_of_job(const struct muster_metric *metric)
{
	const struct muster_probe *probe = muster_probe_find(muster_metric_probe(metric));
	return metric->scope == MUSTER_SCOPE_JOB && probe && (probe->ring || probe->traffic) &&
	       metric->unit == MUSTER_UNIT_GB_PER_S;
}

/* Whether a threshold of the limit of a link applied to some exchange between two nodes. */
static bool are_judged_between_nodes(const struct muster_eval *eval)
{
	const struct muster_exchange_notes *notes = eval->exchange_notes;
	for (size_t i = 0; i < notes->count; i++) {
		const struct muster_exchange_note *note = &notes->items[i];
		const struct muster_check *check = &eval->checks[note->check];
		if (muster_check_calibrated(check) && check->limit_where_count > 0 &&
			strcmp(muster_sample_label_text(note->sample, "peer_node"),
				eval->run->nodes[note->node].name) != 0)
			return true;
	}
	return false;
}

/* The median of the exchanges that the note's check is about. */
static double median_beside(const struct muster_exchange_notes *notes, const struct muster_exchange_note *note)
{
	double *values = muster_calloc(notes->count, sizeof *values);
	size_t count = 0;
	for (size_t i = 0; i < notes->count; i++)
		if (notes->items[i].check == note->check && notes->items[i].sample->value.type == MUSTER_NUMBER)
			values[count++] = notes->items[i].sample->value.number;
	double median = muster_median_of(values, count);
	free(values);
	return median;
}

/* Within a node: no exchange is below its threshold, but one is slower than the others, and no faster than the whole
 * job, which may wait for a link that an exchange does not fill. NULL: there is none. */
static const char *explain_by_slowest(const struct muster_eval *eval, const struct muster_finding *slow)
{
	const struct muster_exchange_notes *notes = eval->exchange_notes;
	const struct muster_exchange_note *slowest = NULL;
	double share = SLOWER;
	for (size_t i = 0; i < notes->count; i++) {
		const struct muster_exchange_note *note = &notes->items[i];
		if (note->sample->metric->counts_wrong || note->sample->value.type != MUSTER_NUMBER ||
			note->sample->value.number > AS_SLOW * slow->value.number)
			continue;
		double own = note->sample->value.number / median_beside(notes, note);
		if (own < share) {
			share = own;
			slowest = note;
		}
	}
	if (!slowest)
		return NULL;
	const struct muster_node *node = &eval->run->nodes[slowest->node];
	return muster_arena_printf(eval->arena,
		"no exchange of two ranks is below its threshold, but one is slower than the others and no faster than "
		"the whole job, %.3g GB/s between %s and %s: check the links of these two first",
		slowest->sample->value.number, muster_node_gpu_text(eval->arena, node, node->ranks[slowest->rank].gpu),
		muster_node_gpu_text(eval->arena, node, muster_sample_label_text(slowest->sample, "peer_gpu")));
}

/* What to do about a slow finding of the whole job where exchanges of pairs were measured. */
static const char *explain(const struct muster_eval *eval, const struct muster_finding *slow)
{
	const struct muster_exchange_notes *notes = eval->exchange_notes;
	if (notes->named) {
		const struct muster_draft *draft = &eval->drafts->items[notes->named - 1];
		const struct muster_finding *part = &draft->finding;
		/* the job does at least half of what its slowest exchange does */
		if (part->value.number > 2 * slow->value.number)
			return muster_arena_printf(eval->arena,
				"see %s too, but %.3g GB/s there do not explain %.3g GB/s here: something else is "
				"slow, run muster with --localise always",
				name_of(eval, draft), part->value.number, slow->value.number);
		return muster_arena_printf(
			eval->arena, "see %s first: this part makes the whole job slow", name_of(eval, draft));
	}
	if (muster_label_number(slow->labels, slow->label_count, "nodes") > 1 && !are_judged_between_nodes(eval))
		return "no threshold applies to the exchanges between the nodes: run muster with --localise always to "
		       "find the slow node";
	const char *slowest = eval->run->node_count == 1 ? explain_by_slowest(eval, slow) : NULL;
	if (slowest)
		return slowest;
	for (size_t i = 0; i < notes->count; i++)
		if (notes->items[i].status == MUSTER_PASS && !notes->items[i].sample->metric->counts_wrong)
			return "all exchanges between pairs of ranks are as fast as expected, so no single part is "
			       "slow: compare the settings of NCCL";
	return NULL;
}

void muster_exchanges_explain(struct muster_eval *eval)
{
	const struct muster_exchange_notes *notes = eval->exchange_notes;
	for (size_t i = 0; i < eval->drafts->count; i++) {
		struct muster_finding *finding = &eval->drafts->items[i].finding;
		const struct muster_check *check = eval->drafts->items[i].check == MUSTER_NO_CHECK
							   ? NULL
							   : &eval->checks[eval->drafts->items[i].check];
		const char *more = NULL, *own = finding->advice;
		if (!check || !is_of_job(check->metric) ||
			(finding->status != MUSTER_FAIL && finding->status != MUSTER_WARN))
			continue;
		if (notes && notes->count > 0)
			more = explain(eval, finding);
		else if (eval->run->job.profile &&
			 strcmp(eval->run->job.profile, muster_profile_names[MUSTER_QUICK]) == 0)
			more = "to find the slow part, run muster with --profile standard";
		if (more)
			finding->advice = own ? muster_arena_printf(eval->arena, "%s; %s", more, own) : more;
	}
}
