/* SPDX-License-Identifier: Apache-2.0 */
/* shared.c - speeds of GPUs that other programs use too: explained by what was found of these programs, or not judged
 *
 * A check with `slows` finds other programs. How far they reach depends on the speed: kernels of the GPU itself are
 * slow on that GPU, copies and exchanges on its whole node (GPUs share paths and host memory), and what all ranks do
 * together is as slow as the slowest of them. A wrong result is never excused.
 *
 * Two cases: a program that should not be there is a finding, which explains slow speeds (muster_result_slowed). Where
 * the GPU is shared on purpose, by the user's word or by MPS, MIG or shards, there is nothing to find, and a speed is
 * recorded without being judged.
 */
#include "eval/answers.h"

#include <string.h>

static bool is_speed_of_gpus(const struct muster_metric *metric)
{
	const struct muster_probe *probe = muster_probe_find(muster_metric_probe(metric));
	return probe && probe->needs_gpu && !probe->of_storage && (probe->together || probe->ring || probe->traffic) &&
	       (muster_metric_scatters(metric) || metric->is_steadiness);
}

bool muster_speed_reach(const struct muster_metric *metric, struct muster_place place, struct muster_place *ret)
{
	const struct muster_probe *probe = muster_probe_find(muster_metric_probe(metric));
	*ret = (struct muster_place){ place.node, MUSTER_NOWHERE, NULL };
	if (!is_speed_of_gpus(metric))
		return false;
	if (metric->scope == MUSTER_SCOPE_JOB || (probe->traffic_shape == MUSTER_TRAFFIC_ALL && !metric->windows))
		ret->node = MUSTER_NOWHERE;
	else if (probe->soaks || metric->within_gpu)
		*ret = place;
	return true;
}

const char *muster_rank_sharing(const struct muster_rank *rank)
{
	const char *sharing = muster_sample_text(&rank->samples, "rank.gpu_sharing", NULL);
	return sharing && strcmp(sharing, "exclusive") != 0 ? sharing : NULL;
}

const struct muster_sample *muster_rank_users(const struct muster_rank *rank, size_t *at)
{
	while (*at < rank->samples.count) {
		const struct muster_sample *sample = &rank->samples.items[(*at)++];
		if (strcmp(sample->metric->name, "gpu.foreign_process") == 0 && sample->value.type == MUSTER_STRING &&
			strcmp(sample->value.string, "none") != 0)
			return sample;
	}
	return NULL;
}

/* How others share the rank's GPU, if that is on purpose and the user has said so or programs were seen; else NULL. */
static const char *sharing_of(const struct muster_rank *rank)
{
	const char *sharing = muster_rank_sharing(rank);
	size_t at = 0;
	return sharing && (strcmp(sharing, "asked") == 0 || muster_rank_users(rank, &at)) ? sharing : NULL;
}

void muster_answer_of_shared(
	const struct muster_eval *eval, size_t at, struct muster_place place, struct muster_check_answer *answer)
{
	const struct muster_run *run = eval->run;
	const struct muster_metric *metric = eval->checks[at].metric;
	struct muster_place from;
	if (!muster_answer_is_bad(answer) || !muster_speed_reach(metric, place, &from))
		return;
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			bool reaches = (from.node == MUSTER_NOWHERE || from.node == n) &&
				       (from.rank == MUSTER_NOWHERE || from.rank == r);
			const char *sharing = reaches ? sharing_of(&run->nodes[n].ranks[r]) : NULL;
			if (!sharing)
				continue;
			*answer = (struct muster_check_answer){ .status = MUSTER_SKIP, .counts = true };
			answer->observed = muster_arena_printf(
				eval->arena, "recorded, not evaluated: other programs may use the GPU (%s)", sharing);
			return;
		}
}
