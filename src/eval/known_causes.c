/* SPDX-License-Identifier: Apache-2.0 */
/* known_causes.c - a failure with one usual cause says the cause and its remedy, and is one finding of its node
 *
 * The expectation file lists the causes (`causes`): which findings each of them explains, by which facts of the rank or
 * of the node it is known, and what to do. A cause makes no finding by itself.
 *
 * The first finding of a node that a cause fits reports the cause: the finding gets the cause's name and remedy. When
 * this finding is a failure, later findings of the node that the same cause fits are blocked by it. A probe's finding
 * always reports its cause itself: each rank's probe is evidence of its own, and drafts.c folds those of a node.
 *
 * An example: "driver-compat" explains ["probe.gpu*", "affinity.*", ...] and has the fact "rank.driver_start":
 * "cuda-804". A probe of rank 3 fails, its check is "probe.gpu_copy", and rank.driver_start of rank 3 is a text that
 * matches cuda-804. So the finding's text gets "; libcuda is of a newer CUDA than the driver, ...", and its advice is
 * the cause's `action`. A later failure of an affinity check on this node is blocked by the finding.
 */
#include "eval/drafts.h"

#include <stdlib.h>
#include <string.h>

/* "nvidia_uvm: not loaded", of a sample with a label, else its value alone. */
static const char *text_of(const struct muster_sample *sample, struct muster_arena *arena)
{
	const char *value = muster_describe_value(sample->value, arena);
	return sample->label_count == 0 ? value
					: muster_arena_printf(arena, "%s: %s",
						  muster_describe_value(sample->labels[0].value, arena), value);
}

/* A sample with such a text: of the rank, for a finding about the node of its leader, or of the node. NULL: none. */
static const struct muster_sample *find_fact(const struct muster_eval *eval, const struct muster_metric *metric,
	const char *pattern, struct muster_place place)
{
	const struct muster_node *node = &eval->run->nodes[place.node];
	uint32_t rank = place.rank == MUSTER_NOWHERE ? muster_node_leader(node) : place.rank;
	const struct muster_samples *samples[] = { &node->samples,
		rank == MUSTER_NOWHERE ? &node->samples : &node->ranks[rank].samples };
	const struct muster_sample *found = NULL;
	char why[200];
	regex_t *regex = muster_regex_compile(pattern, false, why, sizeof why);
	for (size_t s = 0; s < 2; s++)
		for (size_t i = 0; i < samples[s]->count && !found; i++) {
			const struct muster_sample *sample = &samples[s]->items[i];
			if (sample->metric == metric && sample->value.type != MUSTER_NULL &&
				regexec(regex, text_of(sample, eval->arena), 0, NULL, 0) == 0)
				found = sample;
		}
	regfree(regex);
	free(regex);
	return found;
}

/* Whether the cause explains findings of this check, and each of its facts is seen at the place. In `explains`, a '*'
 * ends the part that must be equal; a text without it must be equal as a whole. */
static bool fits(
	const struct muster_eval *eval, const struct muster_cause *cause, const char *check, struct muster_place place)
{
	bool explains = false;
	for (size_t i = 0; i < cause->explain_count; i++) {
		size_t star = strcspn(cause->explains[i], "*");
		explains |= strncmp(cause->explains[i], check, star + !cause->explains[i][star]) == 0;
	}
	for (size_t i = 0; i < cause->fact_count && explains; i++)
		explains = find_fact(eval, cause->facts[i].metric, cause->facts[i].pattern, place) != NULL;
	return explains;
}

/* 1 + the draft about a probe of the rank, or of any rank of the node, that ended with the same words as this null has
 * for its reason. */
static size_t find_outcome(
	const struct muster_eval *eval, const struct muster_sample *sample, struct muster_place place)
{
	const struct muster_node *node = &eval->run->nodes[place.node];
	size_t cause = 0;
	for (size_t r = 0; r < node->rank_count && sample && sample->reason; r++)
		for (size_t i = 0; i < node->ranks[r].outcomes.count && !cause; i++) {
			const struct muster_outcome *outcome = &node->ranks[r].outcomes.items[i];
			if ((place.rank == MUSTER_NOWHERE || place.rank == r) && outcome->detail &&
				strcmp(outcome->detail, sample->reason) == 0)
				cause = muster_cause_of(eval, place.node, r)[muster_probe_number(outcome->probe)];
		}
	return cause && eval->drafts->items[cause - 1].finding.status != MUSTER_SKIP ? cause : 0;
}

/* drafts.h says what comes in and goes out. Two sources explain a finding, and the first one wins:
 *   find_outcome   a null whose reason is the very sentence with which a probe ended: that probe's finding
 *   causes         the first cause of the file that fits
 * *ret_told is set only where a cause fits. A finding about a probe may become one of the check `reported_as`. It then
 * has this check's name, metric, expectation and proof. */
size_t muster_known_cause(struct muster_eval *eval, struct muster_finding *finding, struct muster_place place,
	const struct muster_sample *sample, size_t **ret_told)
{
	size_t count = eval->expect ? eval->expect->cause_count : 0, at = 0;
	bool of_probe = strncmp(finding->check, "probe.", strlen("probe.")) == 0;
	if (place.node == MUSTER_NOWHERE)
		return 0;
	size_t outcome = finding->status == MUSTER_INCONCLUSIVE ? find_outcome(eval, sample, place) : 0;
	while (at < count && !fits(eval, &eval->expect->causes[at], finding->check, place))
		at++;
	if (outcome || at == count)
		return outcome;
	if (!eval->drafts->known_causes)
		eval->drafts->known_causes =
			muster_calloc(eval->run->node_count * count, sizeof *eval->drafts->known_causes);
	size_t *told = *ret_told = &eval->drafts->known_causes[place.node * count + at];
	if (!of_probe && *told && eval->drafts->items[*told - 1].finding.status == MUSTER_FAIL)
		return *told;

	const struct muster_cause *cause = &eval->expect->causes[at];
	const char *name =
		cause->name ? muster_describe_advice(eval, cause->name, finding, place.node, place.rank) : NULL;
	const struct muster_tally *as =
		of_probe && cause->reported_as ? muster_report_tally(eval->report, cause->reported_as) : NULL;
	if (name)
		finding->observed = muster_arena_printf(eval->arena, "%s; %s", finding->observed, name);
	finding->action_code = cause->action_code ? cause->action_code : finding->action_code;
	finding->advice = muster_describe_advice(eval, cause->action, finding, place.node, place.rank);
	for (size_t i = 0; i < cause->fact_count; i++)
		if (cause->facts[i].metric->event_part == MUSTER_EVENT_LINE)
			finding->evidence = muster_arena_string(eval->arena,
				find_fact(eval, cause->facts[i].metric, cause->facts[i].pattern, place)->value.string);
	finding->check = as ? as->check : finding->check;
	finding->proof = as ? as->proof : finding->proof;
	finding->metric = as ? as->metric : finding->metric;
	finding->expected = as ? as->expected : finding->expected;
	return 0;
}
