/* slowed.c - speeds of GPUs that other programs use too: explained by what was found of these programs, or not judged
 *
 * A check with `slows` finds other programs. How far they reach depends on the speed: kernels of the GPU itself are
 * slow on that GPU, copies and exchanges on its whole node (GPUs share paths and host memory), and what all ranks do
 * together is as slow as the slowest of them. A wrong result is never excused.
 */
#include "eval/eval.h"

#include "muster/arena.h"
#include "muster/run_data.h"

#include <string.h>

static bool is_speed_of_gpus(const struct muster_metric *metric)
{
	const struct muster_probe *probe = muster_probe_find(muster_metric_probe(metric));
	return probe && probe->needs_gpu && !probe->of_storage && (probe->together || probe->ring || probe->traffic) &&
	       (muster_metric_scatters(metric) || metric->is_steadiness);
}

/* Where a program must be to slow down what the metric measures at this place. */
static struct muster_place reach(const struct muster_metric *metric, struct muster_place place)
{
	const struct muster_probe *probe = muster_probe_find(muster_metric_probe(metric));
	if (metric->scope == MUSTER_SCOPE_JOB || (probe->traffic_shape == MUSTER_TRAFFIC_ALL && !metric->windows))
		return (struct muster_place){ MUSTER_NOWHERE, MUSTER_NOWHERE, NULL };
	bool alone = probe->soaks || (metric->windows && strcmp(metric->windows, "products") == 0);
	return alone ? place : (struct muster_place){ place.node, MUSTER_NOWHERE, NULL };
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

void muster_verdict_of_shared(
	const struct muster_eval *eval, size_t at, struct muster_place place, struct muster_verdict *verdict)
{
	const struct muster_run *run = eval->run;
	const struct muster_metric *metric = eval->expect->checks[at].metric;
	if ((verdict->status != MUSTER_FAIL && verdict->status != MUSTER_WARN) || !is_speed_of_gpus(metric))
		return;
	const struct muster_place from = reach(metric, place);
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++) {
			bool reaches = (from.node == MUSTER_NOWHERE || from.node == n) &&
				       (from.rank == MUSTER_NOWHERE || from.rank == r);
			const char *sharing = reaches ? sharing_of(&run->nodes[n].ranks[r]) : NULL;
			if (!sharing)
				continue;
			*verdict = (struct muster_verdict){ .status = MUSTER_SKIP, .counts = true };
			verdict->observed = muster_arena_printf(eval->report->arena,
				"recorded, not evaluated: other programs may use the GPU (%s)", sharing);
			return;
		}
}

bool muster_result_slowed(
	struct muster_eval *eval, size_t at, struct muster_place place, struct muster_verdict *verdict)
{
	const struct muster_check *check = &eval->expect->checks[at];
	if ((verdict->status != MUSTER_FAIL && verdict->status != MUSTER_WARN) || !is_speed_of_gpus(check->metric))
		return false;
	struct muster_block block = muster_block_slowing(eval, reach(check->metric, place));
	if (block.status == MUSTER_PASS)
		return false;
	if (!muster_block_stops(block, verdict->status)) { /* a failure, beside what is only a warning */
		const char *expected = verdict->expected ? verdict->expected : eval->states[at].tally->expected;
		verdict->status = MUSTER_INCONCLUSIVE;
		verdict->expected =
			muster_arena_printf(eval->report->arena, "%s, without another program on the GPU (%s)",
				expected ? expected : "another value", eval->expect->checks[block.check].id);
		return false;
	}
	block.check = at;
	muster_failed_at_add(&eval->states[at], place, block);
	muster_result_block(eval, at, block.draft);
	return true;
}
