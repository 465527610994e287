/* ring_scheduler.c - rank 0 deals the rings: who shares one with whom, round after round */
#include "coord/ring_scheduler.h"

#include "util/text.h"
#include "muster/arena.h"
#include "coord/barrier_id.h"
#include "coord/message.h"
#include "coord/coordinator.h"

#include <stdlib.h>
#include <string.h>

enum {
	FULLS_MAX = 6,
	TRIAL_MS =
		10000, /* of a round of trials, or a fifth of what is left of the run; less than that is not tried: */
	TRIAL_LEAST_MS = 2000,
	LAST_RING_MS = 1500, /* left for what comes behind the last ring */
};
#define RING_SHARE 0.6 /* of the time that is left: what a ring of all may take, so that trials can follow */

struct muster_ring_scheduler *muster_ring_scheduler_new(
	const struct muster_coordinator *root, const struct muster_probe *probe)
{
	struct muster_ring_scheduler *d = muster_calloc(1, sizeof *d);
	d->probe = probe;
	d->round = -1;
	d->group = muster_calloc((size_t)root->ranks, sizeof *d->group);
	d->in = muster_calloc(root->leader_count, sizeof *d->in);
	return d;
}

void muster_ring_scheduler_free(struct muster_ring_scheduler *d)
{
	if (!d)
		return;
	muster_plan_done(&d->plan);
	free(d->plan_nodes);
	free(d->plan_groups);
	free(d->group);
	free(d->in);
	free(d->groups);
	free(d);
}

/* ---- how the last round went ---- */

struct result {
	bool ok, fallen; /* fallen: one of its ranks can take part in nothing any more */
	double seconds, rate;
	int culprit; /* the rank whose end says most, -1 when all went well */
	enum muster_ring_end end;
	const char *detail, *facts;
};

static struct result result_of(const struct muster_ring_scheduler *d, const struct muster_coordinator *root,
	size_t group, const struct muster_ring_ready *hands, size_t count)
{
	struct result result = { .ok = true, .culprit = -1, .end = MUSTER_RING_OK, .detail = "", .facts = "" };
	for (int rank = 0; rank < root->ranks; rank++) {
		if (d->group[rank] != (int)group)
			continue;
		const struct muster_ring_ready *hand = muster_ring_ready_find(hands, count, rank);
		enum muster_ring_end end = hand ? hand->end : MUSTER_RING_GONE;
		result.ok = result.ok && end == MUSTER_RING_OK;
		result.fallen = result.fallen || !hand || hand->why || end >= MUSTER_RING_HUNG;
		if (hand && hand->seconds > result.seconds)
			result.seconds = hand->seconds;
		if (hand && rank == d->groups[group].first)
			result.facts = hand->facts;
		if (end > MUSTER_RING_OK && end > result.end) {
			result.culprit = rank;
			result.end = end;
			result.detail = hand ? hand->detail : "nothing came from it any more";
		}
	}
	result.ok = result.ok && d->groups[group].ranks > 0;
	return result;
}

/* The value of the probe's rate in the facts that a ring's first rank brought; of the last one there. 0: none. */
static double rate_of(const struct muster_ring_scheduler *d, const char *facts)
{
	struct muster_run run;
	double rate = 0;
	if (!*facts)
		return 0;
	muster_run_init(&run);
	if (muster_node_from_json(&run, facts, strlen(facts), NULL) == 0)
		for (size_t i = 0; i < run.job.samples.count; i++) {
			const struct muster_sample *sample = &run.job.samples.items[i];
			if (strcmp(sample->metric->name, d->probe->ring_rate) == 0 &&
				sample->value.type == MUSTER_NUMBER)
				rate = sample->value.number;
		}
	muster_run_done(&run);
	return rate;
}

static void note_trial(
	struct muster_ring_scheduler *d, struct muster_coordinator *root, size_t group, const struct result *result)
{
	struct muster_run *run = &root->run;
	struct muster_trial trial = {
		.probe = d->probe->name,
		.status = result->ok ? MUSTER_TRIAL_OK : MUSTER_TRIAL_FAILED,
		.busbw_gbps = rate_of(d, result->facts),
		.seconds = result->seconds,
	};
	size_t *nodes = muster_calloc(d->plan.nodes, sizeof *nodes);
	for (size_t i = 0; i < d->plan.nodes; i++)
		if (d->plan_groups[i] == group)
			nodes[trial.node_count++] = i;
	trial.nodes = muster_arena_alloc(run->arena, (trial.node_count + 1) * sizeof *trial.nodes);
	for (size_t i = 0; i < trial.node_count; i++)
		trial.nodes[i] = root->hellos[root->leaders[d->plan_nodes[nodes[i]]]].node;
	trial.kind = trial.node_count == 1   ? MUSTER_TRIAL_ALONE
		     : trial.node_count == 2 ? MUSTER_TRIAL_PAIR
					     : MUSTER_TRIAL_GROUP;
	if (!result->ok)
		trial.why = result->culprit < 0
				    ? "none of its ranks can take part"
				    : muster_arena_printf(run->arena, "rank %d: %s", result->culprit, result->detail);
	muster_run_add_trial(run, trial);
	muster_plan_note(&d->plan, nodes, trial.node_count,
		(struct muster_plan_result){
			.status = trial.status, .seconds = trial.seconds, .gbps = trial.busbw_gbps });
	free(nodes);
}

/* ---- dealing ---- */

static double time_left(const struct muster_coordinator *root)
{
	return root->limit_ms - muster_now_ms() - LAST_RING_MS;
}

static int full_deadline(const struct muster_ring_scheduler *d, const struct muster_coordinator *root)
{
	double left = time_left(root), wanted = d->probe->deadline_ms;
	double share = root->localise == MUSTER_LOCALISE_OFF || root->ranks == 1 ? wanted
		       : d->localized                                            ? left
										 : RING_SHARE * left;
	return (int)(share < wanted ? (share > 0 ? share : 0) : wanted);
}

/* Start a round without any ring in it. */
static void begin_round(
	struct muster_ring_scheduler *d, const struct muster_coordinator *root, bool trial, size_t groups)
{
	d->round++;
	d->trial = trial;
	free(d->groups);
	d->groups = muster_calloc(groups, sizeof *d->groups);
	d->group_count = groups;
	for (int rank = 0; rank < root->ranks; rank++)
		d->group[rank] = -1;
}

/* Give each hand its place by d->group, those without a group `otherwise` or why not. */
static void send_places(struct muster_ring_scheduler *d, const struct muster_coordinator *root, int barrier,
	const struct muster_ring_ready *hands, size_t count, int deadline_ms)
{
	struct muster_message_writer *parcels = muster_coordinator_begin_answers(root, barrier);
	bool *seen = muster_calloc(root->leader_count * (d->group_count + 1), sizeof *seen);
	for (size_t i = 0; i < count; i++) {
		int group = d->group[hands[i].rank];
		if (group < 0)
			continue;
		struct muster_ring_group *one = &d->groups[group];
		bool *node = &seen[hands[i].node * d->group_count + (size_t)group];
		if (one->ranks++ == 0)
			one->first = hands[i].rank;
		one->nodes += !*node;
		*node = true;
	}
	int *places = muster_calloc(d->group_count, sizeof *places);
	for (size_t i = 0; i < count; i++) {
		const struct muster_ring_ready *hand = &hands[i];
		int group = d->group[hand->rank];
		char *answer = group >= 0 ? muster_asprintf("+%d %d %d %d %d", places[group]++, d->groups[group].ranks,
						    d->groups[group].nodes, d->trial, deadline_ms)
			       : d->trial ? muster_strdup("=")
					  : muster_asprintf("-%s", hand->why ? hand->why : "");
		muster_message_add(&parcels[hand->node], hand->rank, answer, strlen(answer));
		free(answer);
	}
	muster_coordinator_send_answers(root, MUSTER_TAG_SCATTER, parcels);
	free(places);
	free(seen);
}

/* A ring of everyone who can take part; nodes: of these nodes only, by index, unless NULL. */
static void deal_full(struct muster_ring_scheduler *d, const struct muster_coordinator *root, int barrier,
	struct muster_ring_ready *hands, size_t count, const bool *nodes)
{
	begin_round(d, root, false, 1);
	d->fulls++;
	memset(d->in, 0, root->leader_count * sizeof *d->in);
	for (size_t i = 0; i < count; i++) {
		if (!hands[i].why && nodes && !nodes[hands[i].node])
			muster_ring_ready_leave_out(
				&hands[i], "left out of the last ring%s, which would not work with this node", "", 0);
		if (hands[i].why)
			continue;
		d->group[hands[i].rank] = 0;
		d->in[hands[i].node] = true;
	}
	send_places(d, root, barrier, hands, count, full_deadline(d, root));
}

static void deal_nothing(struct muster_ring_scheduler *d, const struct muster_coordinator *root, int barrier,
	const struct muster_ring_ready *hands, size_t count)
{
	struct muster_message_writer *parcels = muster_coordinator_begin_answers(root, barrier);
	for (size_t i = 0; i < count; i++)
		muster_message_add(&parcels[hands[i].node], hands[i].rank, ".", 1);
	muster_coordinator_send_answers(root, MUSTER_TAG_SCATTER, parcels);
	d->over = true;
}

static void deal_rest(struct muster_ring_scheduler *d, struct muster_coordinator *root, int barrier,
	struct muster_ring_ready *hands, size_t count)
{
	bool *rest = muster_calloc(d->plan.nodes, sizeof *rest),
	     *nodes = muster_calloc(root->leader_count, sizeof *nodes);
	size_t left = muster_plan_rest(&d->plan, rest);
	bool other = false;
	d->localized = true;
	for (size_t i = 0; i < d->plan.nodes; i++) {
		nodes[d->plan_nodes[i]] = rest[i];
		other = other || rest[i] != d->in[d->plan_nodes[i]];
	}
	if (left > 0 && other && d->fulls < FULLS_MAX && time_left(root) >= TRIAL_LEAST_MS) {
		muster_coordinator_log(root, "a ring of the %zu nodes that are left", left);
		deal_full(d, root, barrier, hands, count, nodes);
	} else {
		deal_nothing(d, root, barrier, hands, count);
	}
	free(rest);
	free(nodes);
}

static void deal_trials(struct muster_ring_scheduler *d, struct muster_coordinator *root, int barrier,
	struct muster_ring_ready *hands, size_t count)
{
	double deadline = time_left(root) / 5 < TRIAL_MS ? time_left(root) / 5 : TRIAL_MS;
	size_t groups = deadline < TRIAL_LEAST_MS || d->round + 2 >= MUSTER_RING_ROUNDS_MAX
				? 0
				: muster_plan_next(&d->plan, d->plan_groups);
	if (groups == 0) {
		deal_rest(d, root, barrier, hands, count);
		return;
	}
	size_t *team_of_node = muster_calloc(root->leader_count, sizeof *team_of_node);
	for (size_t i = 0; i < root->leader_count; i++)
		team_of_node[i] = MUSTER_NO_GROUP;
	for (size_t i = 0; i < d->plan.nodes; i++)
		team_of_node[d->plan_nodes[i]] = d->plan_groups[i];
	begin_round(d, root, true, groups);
	for (size_t i = 0; i < count; i++)
		if (!hands[i].why && team_of_node[hands[i].node] != MUSTER_NO_GROUP)
			d->group[hands[i].rank] = (int)team_of_node[hands[i].node];
	muster_coordinator_log(root, "trial rings to find the culprit: %zu", groups);
	send_places(d, root, barrier, hands, count, (int)deadline);
	free(team_of_node);
}

/* Trials are among the nodes of the ring that has just been made. */
static void start_scouting(struct muster_ring_scheduler *d, const struct muster_coordinator *root)
{
	size_t nodes = 0;
	d->plan_nodes = muster_calloc(root->leader_count, sizeof *d->plan_nodes);
	d->plan_groups = muster_calloc(root->leader_count, sizeof *d->plan_groups);
	for (size_t i = 0; i < root->leader_count; i++)
		if (d->in[i])
			d->plan_nodes[nodes++] = i;
	muster_plan_init(&d->plan, nodes);
	d->localizing = true;
}

static void note_full(struct muster_ring_scheduler *d, bool ok, bool slow)
{
	size_t *nodes = muster_calloc(d->plan.nodes, sizeof *nodes), count = 0;
	for (size_t i = 0; i < d->plan.nodes; i++)
		if (d->in[d->plan_nodes[i]])
			nodes[count++] = i;
	if (count > 2) /* one or two have trials of their own */
		muster_plan_note(&d->plan, nodes, count,
			(struct muster_plan_result){
				.status = ok ? MUSTER_TRIAL_OK : MUSTER_TRIAL_FAILED, .slow = slow });
	free(nodes);
}

/* After a ring of all. */
static void go_on(struct muster_ring_scheduler *d, struct muster_coordinator *root, int barrier,
	struct muster_ring_ready *hands, size_t count)
{
	struct result result = result_of(d, root, 0, hands, count);
	size_t nodes = 0;
	for (size_t i = 0; i < root->leader_count; i++)
		nodes += d->in[i];
	bool slow = result.ok && root->localise != MUSTER_LOCALISE_OFF && root->is_slow &&
		    root->is_slow(root->is_slow_arg, d->probe, result.facts);
	bool curious = root->localise == MUSTER_LOCALISE_ALWAYS && !d->localizing;
	if (!result.ok && d->groups[0].ranks > 0)
		muster_coordinator_log(root, "the ring of %d ranks failed: rank %d: %s", d->groups[0].ranks,
			result.culprit, result.detail);
	else if (slow)
		muster_coordinator_log(root, "the ring of %d ranks is slow", d->groups[0].ranks);
	if (!result.ok && result.fallen && d->fulls < FULLS_MAX && time_left(root) >= TRIAL_LEAST_MS) {
		bool *before = muster_calloc(root->leader_count, sizeof *before);
		memcpy(before, d->in, root->leader_count * sizeof *before);
		deal_full(d, root, barrier, hands, count, before);
		free(before);
	} else if ((d->localizing || nodes > 1) && root->localise != MUSTER_LOCALISE_OFF &&
		   (!result.ok || slow || curious)) {
		if (!d->localizing)
			start_scouting(d, root);
		note_full(d, result.ok, slow);
		deal_trials(d, root, barrier, hands, count);
	} else {
		deal_nothing(d, root, barrier, hands, count);
	}
}

static void deal_places(
	struct muster_ring_scheduler *d, struct muster_coordinator *root, const struct muster_barrier *barrier)
{
	size_t count;
	struct muster_ring_ready *hands = muster_ring_ready_of(root, barrier, &count);
	muster_ring_ready_read(hands, count);
	muster_ring_ready_leave_out_duplicate_gpus(hands, count);
	muster_ring_ready_leave_out_mismatches(d->probe, hands, count);
	if (d->round < 0) {
		deal_full(d, root, barrier->id, hands, count, NULL);
	} else if (!d->trial) {
		go_on(d, root, barrier->id, hands, count);
	} else {
		for (size_t group = 0; group < d->group_count; group++) {
			struct result result = result_of(d, root, group, hands, count);
			note_trial(d, root, group, &result);
		}
		deal_trials(d, root, barrier->id, hands, count);
	}
	muster_ring_ready_free(hands, count);
}

/* Each ring's id to all of its ranks. */
static void deal_ids(const struct muster_ring_scheduler *d, const struct muster_coordinator *root,
	const struct muster_barrier *barrier)
{
	size_t count;
	struct muster_ring_ready *hands = muster_ring_ready_of(root, barrier, &count);
	struct muster_message_writer *parcels = muster_coordinator_begin_answers(root, barrier->id);
	for (size_t i = 0; i < count; i++) {
		int group = d->group[hands[i].rank];
		const struct muster_ring_ready *first =
			group < 0 ? NULL : muster_ring_ready_find(hands, count, d->groups[group].first);
		const char *id = first ? first->text : "";
		muster_message_add(&parcels[hands[i].node], hands[i].rank, id, strlen(id));
	}
	muster_coordinator_send_answers(root, MUSTER_TAG_SCATTER, parcels);
	muster_ring_ready_free(hands, count);
}

void muster_ring_scheduler_complete(
	struct muster_ring_scheduler *d, struct muster_coordinator *root, const struct muster_barrier *barrier)
{
	if (muster_barrier_is_ring_id(barrier->id))
		deal_ids(d, root, barrier);
	else
		deal_places(d, root, barrier);
}

const char *muster_ring_scheduler_late_answer(const struct muster_ring_scheduler *d, int barrier)
{
	return muster_barrier_is_ring_id(barrier) ? ""
	       : d && d->over && muster_barrier_ring_round(barrier) > d->round
		       ? "."
		       : "-left out of the ring: its node came too late";
}

void muster_ring_scheduler_broken(
	struct muster_ring_scheduler *d, const struct muster_coordinator *root, int rank, int barrier, const char *why)
{
	if (rank < 0 || rank >= root->ranks || d->over || muster_barrier_ring_round(barrier) != d->round ||
		d->group[rank] < 0 || d->groups[d->group[rank]].cancelled)
		return;
	struct muster_message_writer *parcels = muster_coordinator_begin_answers(root, barrier);
	d->groups[d->group[rank]].cancelled = true;
	for (int other = 0; other < root->ranks; other++)
		if (other != rank && d->group[other] == d->group[rank])
			muster_message_add(&parcels[root->hellos[other].node_index], other, why, strlen(why));
	muster_coordinator_send_answers(root, MUSTER_TAG_CANCEL_RANKS, parcels);
}
