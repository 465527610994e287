/* ring_results.c - how the rings of a round went, for the report and for the plan */
#include "coord/ring_results.h"

#include <stdlib.h>

static void result_add(const struct muster_ring_scheduler *s, struct muster_ring_result *result, int rank,
	const struct muster_ring_entry *entry)
{
	enum muster_ring_end end = entry ? entry->ready.end : MUSTER_RING_GONE;
	result->ok = result->ok && end == MUSTER_RING_OK;
	result->late =
		result->late && (end == MUSTER_RING_OK || end == MUSTER_RING_LATE || end == MUSTER_RING_CANCELLED);
	result->fallen = result->fallen || !entry || entry->why || end >= MUSTER_RING_HUNG;
	if (entry && entry->ready.seconds > result->seconds)
		result->seconds = entry->ready.seconds;
	if (entry && rank == s->groups[s->group[rank]].first)
		result->first = &entry->ready;
	result->alike += end == result->end;
	if (end > MUSTER_RING_OK && end > result->end) {
		result->alike = 1;
		result->cause = rank;
		result->end = end;
		result->detail = entry ? entry->ready.detail : "no further message from this rank";
	}
}

struct muster_ring_result *muster_ring_results(
	const struct muster_ring_scheduler *s, const struct muster_ring_entries *entries)
{
	struct muster_ring_result *results = muster_calloc(s->group_count + 1, sizeof *results);
	for (size_t i = 0; i < s->group_count; i++)
		results[i] = (struct muster_ring_result){
			.ok = s->groups[i].ranks > 0, .late = true, .cause = -1, .end = MUSTER_RING_OK, .detail = ""
		};
	for (int rank = 0; rank < s->context->members->ranks; rank++)
		if (s->group[rank] >= 0)
			result_add(s, &results[s->group[rank]], rank, entries->by_rank[rank]);
	for (size_t i = 0; i < s->group_count; i++)
		results[i].late = results[i].late && !results[i].ok && s->groups[i].ranks > 0;
	return results;
}

/* The figure of the largest message that was measured, or of the message of this size; all 0: none. */
static struct muster_ring_figure figure_of(const struct muster_ring_result *result, double bytes)
{
	struct muster_ring_figure found = { 0 };
	for (size_t i = 0; result->first && i < result->first->figure_count; i++) {
		struct muster_ring_figure figure = muster_ring_figure_at(result->first, i);
		if (bytes == 0 || (double)figure.bytes == bytes)
			found = figure;
	}
	return found;
}

char *muster_ring_why(const struct muster_ring_result *result)
{
	bool waited = result->end == MUSTER_RING_LATE || result->end == MUSTER_RING_REMOTE;
	if (result->cause < 0)
		return muster_strdup("none of its ranks can take part");
	return waited && result->alike > 1 ? muster_asprintf("%d ranks: %s", result->alike, result->detail)
					   : muster_asprintf("rank %d: %s", result->cause, result->detail);
}

/* Add a ring of these nodes to the report and to the plan. */
static void note_ring(struct muster_ring_scheduler *s, const struct muster_ring_result *result, const size_t *nodes,
	size_t count, enum muster_trial_kind kind)
{
	struct muster_run *run = s->context->run;
	bool rest = kind == MUSTER_TRIAL_REST;
	struct muster_ring_figure figure = figure_of(result, rest ? s->trial_bytes : 0);
	/* unscaled, as the report has it, and as localize/ compares it with its constants */
	double seconds = result->seconds / s->context->deadlines->scale;
	struct muster_trial trial = {
		.probe = s->probe->name,
		.status = result->ok     ? MUSTER_TRIAL_OK
			  : result->late ? MUSTER_TRIAL_LATE
					 : MUSTER_TRIAL_FAILED,
		.bytes = (double)figure.bytes,
		.busbw_gbps = figure.rate,
		.seconds = seconds,
		.node_count = count,
		.kind = kind,
	};
	trial.nodes = muster_arena_alloc(run->arena, (count + 1) * sizeof *trial.nodes);
	for (size_t i = 0; i < count; i++)
		trial.nodes[i] = s->context->members->names[s->plan_nodes[nodes[i]]];
	char *why = result->ok ? NULL : muster_ring_why(result);
	trial.why = why ? muster_arena_string(run->arena, why) : NULL;
	free(why);
	muster_run_add_trial(run, trial);
	muster_plan_note(&s->plan, nodes, count,
		(struct muster_plan_result){
			.status = rest && count > 2 && !result->ok ? MUSTER_TRIAL_FAILED : trial.status,
			.seconds = rest ? 0 : seconds, /* it has more messages than a trial */
		});
	if (!rest && figure.bytes > 0)
		s->trial_bytes = (double)figure.bytes;
}

void muster_ring_note_trials(struct muster_ring_scheduler *s, const struct muster_ring_entries *entries)
{
	struct muster_ring_result *results = muster_ring_results(s, entries);
	size_t *nodes = muster_calloc(s->plan.nodes + 1, sizeof *nodes);
	size_t *first = muster_calloc(s->group_count + 2, sizeof *first);
	for (size_t i = 0; i < s->plan.nodes; i++) /* count, then place: nodes by their group */
		if (s->plan_groups[i] != MUSTER_NO_GROUP)
			first[s->plan_groups[i] + 2]++;
	for (size_t i = 2; i < s->group_count + 2; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < s->plan.nodes; i++)
		if (s->plan_groups[i] != MUSTER_NO_GROUP)
			nodes[first[s->plan_groups[i] + 1]++] = i;
	for (size_t group = 0; group < s->group_count; group++) {
		size_t count = first[group + 1] - first[group];
		note_ring(s, &results[group], nodes + first[group], count,
			count == 1 ? MUSTER_TRIAL_ALONE : MUSTER_TRIAL_PAIR);
	}
	free(first);
	free(nodes);
	free(results);
}

void muster_ring_note_full(struct muster_ring_scheduler *s, const struct muster_ring_result *result)
{
	size_t *nodes = muster_calloc(s->plan.nodes + 1, sizeof *nodes), count = 0;
	for (size_t i = 0; i < s->plan.nodes; i++)
		if (s->in[s->plan_nodes[i]])
			nodes[count++] = i;
	if (s->localised)
		note_ring(s, result, nodes, count, MUSTER_TRIAL_REST);
	else if (count > 2) /* one or two have trials of their own */
		muster_plan_note(&s->plan, nodes, count,
			(struct muster_plan_result){ .status = result->ok ? MUSTER_TRIAL_OK : MUSTER_TRIAL_FAILED });
	free(nodes);
}
