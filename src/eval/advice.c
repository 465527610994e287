/* SPDX-License-Identifier: Apache-2.0 */
/* advice.c - what a finding advises, with its places filled in
 *
 * Advices of the expectation file, and names and actions of its causes, may have ${...}: a place of the finding (node,
 * rank, gpu, port), or a metric, whose value near the finding is shown. "reset GPU ${gpu} of ${node}" becomes "reset
 * GPU 2 (0003:00:00.0) of sim-1". What is not known becomes "?". The reader of the file has refused all other names.
 */
#include "eval/answers.h"
#include "model/gpu.h"

#include <stdlib.h>
#include <string.h>

/* False when both samples carry a label and differ in it: the candidate is about another GPU, port or size. */
static bool about_the_same(const struct muster_sample *candidate, const struct muster_finding *finding)
{
	for (size_t i = 0; i < candidate->label_count; i++) {
		const struct muster_label *label = &candidate->labels[i];
		for (size_t j = 0; j < finding->label_count; j++)
			if (strcmp(label->key, finding->labels[j].key) == 0 &&
				!muster_value_equal(label->value, finding->labels[j].value))
				return false;
	}
	return true;
}

static const struct muster_sample *find_sample(
	const struct muster_samples *samples, const struct muster_metric *metric, const struct muster_finding *finding)
{
	for (size_t i = 0; i < samples->count; i++)
		if (samples->items[i].metric == metric && about_the_same(&samples->items[i], finding))
			return &samples->items[i];
	return NULL;
}

/* The metric's value for what the finding is about: on the same rank, else the same node, else the whole job. */
static const char *metric_text(const struct muster_eval *eval, const char *name, const struct muster_finding *finding,
	uint32_t node, uint32_t rank)
{
	const struct muster_run *run = eval->run;
	const struct muster_metric *metric = muster_metric_find(name);
	const struct muster_node *its_node = node == MUSTER_NOWHERE ? NULL : &run->nodes[node];
	const struct muster_samples *places[] = {
		its_node && rank != MUSTER_NOWHERE ? &its_node->ranks[rank].samples : NULL,
		its_node ? &its_node->samples : NULL,
		&run->job.samples,
	};
	const struct muster_sample *sample = NULL;
	for (size_t i = 0; metric && !sample && i < sizeof places / sizeof *places; i++)
		sample = places[i] ? find_sample(places[i], metric, finding) : NULL;
	return sample && sample->value.type != MUSTER_NULL ? muster_describe_value(sample->value, eval->arena) : "?";
}

/* The finding's GPU, else the one that its rank took; NULL: neither. */
static const char *gpu_of(
	const struct muster_eval *eval, const struct muster_finding *finding, uint32_t node, uint32_t rank)
{
	return finding->gpu || node == MUSTER_NOWHERE || rank == MUSTER_NOWHERE
		       ? finding->gpu
		       : eval->run->nodes[node].ranks[rank].gpu;
}

static const char *placeholder_text(const struct muster_eval *eval, const char *name,
	const struct muster_finding *finding, uint32_t node, uint32_t rank)
{
	const char *value;
	if (strcmp(name, "node") == 0)
		value = finding->node;
	else if (strcmp(name, "gpu") == 0)
		value = gpu_of(eval, finding, node, rank);
	else if (strcmp(name, "port") == 0)
		value = finding->port;
	else if (strcmp(name, "rank") != 0)
		value = metric_text(eval, name, finding, node, rank);
	else
		value = finding->rank < 0 ? NULL : muster_arena_printf(eval->arena, "%d", finding->rank);
	return value ? value : "?";
}

const char *muster_describe_advice(const struct muster_eval *eval, const char *advice,
	const struct muster_finding *finding, uint32_t node, uint32_t rank)
{
	/* in a sentence, index and bus id; any other ${gpu}, as in the command "-i ${gpu}", is the bus id alone */
	static const char prose[] = "GPU ${gpu}";
	const char *text = "", *open, *close;
	while ((open = strstr(advice, "${")) && (close = strchr(open, '}'))) {
		const char *name = muster_arena_string_n(eval->arena, open + 2, (size_t)(close - open) - 2),
			   *begin = open - advice < 4 ? open : open - 4;
		if (node != MUSTER_NOWHERE && strncmp(begin, prose, sizeof prose - 1) == 0)
			text = muster_arena_printf(eval->arena, "%s%.*s%s", text, (int)(begin - advice), advice,
				muster_node_gpu_text(
					eval->arena, &eval->run->nodes[node], gpu_of(eval, finding, node, rank)));
		else
			text = muster_arena_printf(eval->arena, "%s%.*s%s", text, (int)(open - advice), advice,
				placeholder_text(eval, name, finding, node, rank));
		advice = close + 1;
	}
	return muster_arena_printf(eval->arena, "%s%s", text, advice);
}
