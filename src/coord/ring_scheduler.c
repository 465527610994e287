/* SPDX-License-Identifier: Apache-2.0 */
/* ring_scheduler.c - rank 0 assigns ranks to rings, round after round
 *
 * One RING barrier both ends a round and begins the next: its entries say how the last round went (ring_result), and
 * its answers are the places of the next one. Which round follows is a table at schedule(). The chart of a round is in
 * ring_scheduler.h.
 */
#include "coord/ring_scheduler.h"
#include "muster/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- how the rings of a round went, for the report and for the plan ---- */

struct ring_result {
	bool ok, fallen; /* fallen: one of its ranks can be in no further ring */
	bool lost;       /* since it began, the worker of a rank has ended in another probe */
	bool late;       /* it failed, and the only reason of any rank is that its time ran out */
	double seconds;
	int cause; /* the first rank with the highest end; -1: none */
	int alike; /* ranks with that end */
	enum muster_ring_end end;
	const char *detail;
	const struct muster_ring_ready *first; /* of the ring's first rank; NULL */
};

/* Add what one rank of the ring says. entry NULL: the rank has not entered, so its end is GONE. */
static void result_add(const struct muster_ring_scheduler *s, struct ring_result *result, int rank,
	const struct muster_ring_entry *entry)
{
	enum muster_ring_end end = entry ? entry->ready.end : MUSTER_RING_GONE;
	result->ok = result->ok && end == MUSTER_RING_OK;
	result->late =
		result->late && (end == MUSTER_RING_OK || end == MUSTER_RING_LATE || end == MUSTER_RING_CANCELLED);
	result->lost = result->lost || end == MUSTER_RING_NONE;
	result->fallen = result->fallen || !entry || entry->why || end >= MUSTER_RING_HUNG;
	if (entry && entry->ready.seconds > result->seconds)
		result->seconds = entry->ready.seconds;
	if (entry && rank == s->groups[s->group[rank]].makers[0])
		result->first = &entry->ready;
	result->alike += end == result->end;
	if (end > MUSTER_RING_OK && end > result->end) {
		result->alike = 1;
		result->cause = rank;
		result->end = end;
		result->detail = entry ? entry->ready.detail : "no further message from this rank";
	}
}

/* Of every ring of the last round, in the order of their numbers; malloc'd. They point into the entries. */
static struct ring_result *make_results(
	const struct muster_ring_scheduler *s, const struct muster_ring_entries *entries)
{
	struct ring_result *results = muster_calloc(s->group_count + 1, sizeof *results);
	for (size_t i = 0; i < s->group_count; i++)
		results[i] = (struct ring_result){
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
static struct muster_ring_figure figure_of(const struct ring_result *result, double bytes)
{
	struct muster_ring_figure found = { 0 };
	for (size_t i = 0; result->first && i < result->first->figure_count; i++) {
		struct muster_ring_figure figure = muster_ring_figure_at(result->first, i);
		if (bytes == 0 || (double)figure.bytes == bytes)
			found = figure;
	}
	return found;
}

/* The rank that failed and how: "rank 3: it broke". Of ranks that only waited for others none is named: "4 ranks:
 * ...". */
static const char *why_failed(const struct ring_result *result, struct muster_arena *arena)
{
	bool waited = result->end == MUSTER_RING_LATE || result->end == MUSTER_RING_REMOTE;
	if (result->cause < 0)
		return "none of its ranks can take part";
	return waited && result->alike > 1 ? muster_arena_printf(arena, "%d ranks: %s", result->alike, result->detail)
					   : muster_arena_printf(arena, "rank %d: %s", result->cause, result->detail);
}

/* Add a ring of these nodes (indices in the plan) to the report and to the plan. Of the last full ring the rate
 * with the trials' message size is taken. */
static void note_ring(struct muster_ring_scheduler *s, const struct ring_result *result, const size_t *nodes,
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
		.why = result->ok ? NULL : why_failed(result, run->arena),
	};
	trial.nodes = muster_arena_alloc(run->arena, (count + 1) * sizeof *trial.nodes);
	for (size_t i = 0; i < count; i++)
		trial.nodes[i] = s->context->members->names[s->plan_nodes[nodes[i]]];
	muster_run_add_trial(run, trial);
	muster_plan_note(&s->plan, nodes, count,
		(struct muster_plan_result){
			.status = rest && count > 2 && !result->ok ? MUSTER_TRIAL_FAILED : trial.status,
			.seconds = rest ? 0 : seconds, /* it has more messages than a trial */
		});
	if (!rest && figure.bytes > 0)
		s->trial_bytes = (double)figure.bytes;
}

/* Add all trials of the last round to the report and to the plan. */
static void note_trials(struct muster_ring_scheduler *s, const struct muster_ring_entries *entries)
{
	struct ring_result *results = make_results(s, entries);
	size_t(*nodes)[2] = muster_calloc(s->group_count + 1, sizeof *nodes); /* of each group: one or two */
	size_t *counts = muster_calloc(s->group_count + 1, sizeof *counts);
	for (size_t i = 0; i < s->plan.nodes; i++) {
		size_t group = s->plan_groups[i];
		if (group != MUSTER_NO_GROUP)
			nodes[group][counts[group]++] = i;
	}
	for (size_t group = 0; group < s->group_count; group++)
		note_ring(s, &results[group], nodes[group], counts[group],
			counts[group] == 1 ? MUSTER_TRIAL_ALONE : MUSTER_TRIAL_PAIR);
	free(counts);
	free(nodes);
	free(results);
}

/* A full ring has ended: the one before the trials (for the plan), or the one after them (for the report too). */
static void note_full(struct muster_ring_scheduler *s, const struct ring_result *result)
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

enum { FULLS_MAX = 6 };

struct muster_ring_scheduler *muster_ring_scheduler_new(
	const struct muster_ring_context *context, const struct muster_probe *probe, int index)
{
	struct muster_ring_scheduler *s = muster_calloc(1, sizeof *s);
	s->context = context;
	s->probe = probe;
	s->index = index;
	s->round = -1;
	s->group = muster_calloc((size_t)context->members->ranks, sizeof *s->group);
	s->in = muster_calloc(context->members->node_count + 1, sizeof *s->in);
	return s;
}

void muster_ring_scheduler_free(struct muster_ring_scheduler *s)
{
	if (!s)
		return;
	muster_plan_done(&s->plan);
	muster_ring_traffic_done(&s->traffic);
	free(s->plan_nodes);
	free(s->plan_groups);
	free(s->group);
	free(s->in);
	free(s->groups);
	free(s);
}

/* ---- scheduling ---- */

/* Whether another full ring may follow. */
static bool may_repeat(const struct muster_ring_scheduler *s, double now_ms)
{
	return s->fulls < FULLS_MAX && muster_ring_time_left(s->context, now_ms) >= s->context->deadlines->trial_least;
}

/* The probe's own deadline and ring_per_rank for each rank. With localisation it is no longer than the time left, and a
 * ring that trials may follow gets ring_share of that time. 0: too little is left for a ring. */
static double full_deadline(const struct muster_ring_scheduler *s, double now_ms)
{
	const struct muster_deadlines *deadlines = s->context->deadlines;
	double most = muster_ring_time_left(s->context, now_ms), ranks = s->context->members->ranks;
	double own = s->probe->deadline_ms + deadlines->ring_per_rank * ranks;
	if (s->context->localise == MUSTER_LOCALISE_OFF || ranks == 1)
		return own;
	if (most < deadlines->trial_least)
		return 0;
	if (!s->localised)
		most *= deadlines->ring_share;
	return fmin(most, own);
}

/* The time for the next round of trials: what slow rings need may be more than the usual deadline. 0: too little is
 * left, and a ring that runs out of time tells nothing. The plan counts unscaled time of workers. */
static double trial_deadline(struct muster_ring_scheduler *s, double now_ms)
{
	const struct muster_deadlines *d = s->context->deadlines;
	double left_ms = muster_ring_time_left(s->context, now_ms), wanted_ms = fmin(left_ms / 5, d->trial);
	double worker_ms = d->scale * muster_plan_round_ms(&s->plan, (wanted_ms - d->worker_margin) / d->scale,
					      (left_ms - d->worker_margin) / d->scale);
	return worker_ms + d->worker_margin >= d->trial_least ? worker_ms + d->worker_margin : 0;
}

/* Start a round, without rings so far. */
static void begin_round(struct muster_ring_scheduler *s, bool trial, size_t groups)
{
	s->round++;
	s->trial = trial;
	s->part = MUSTER_RING_WHOLE;
	free(s->groups);
	s->groups = muster_calloc(groups + 1, sizeof *s->groups);
	s->group_count = groups;
	for (int rank = 0; rank < s->context->members->ranks; rank++)
		s->group[rank] = -1;
}

/* How many ranks and nodes each ring has. */
static void count_groups(struct muster_ring_scheduler *s)
{
	for (size_t node = 0; node < s->context->members->node_count; node++) {
		size_t count;
		int last = -1;
		const int *ranks = muster_membership_ranks(s->context->members, node, &count);
		for (size_t i = 0; i < count; i++) {
			if (s->group[ranks[i]] < 0)
				continue;
			struct muster_ring_group *group = &s->groups[s->group[ranks[i]]];
			group->ranks++;
			group->nodes += s->group[ranks[i]] != last; /* the ranks of a node are all in one group */
			last = s->group[ranks[i]];
		}
	}
}

/* Give each rank its place by s->group; ranks without a group are idle, or excluded. */
static void send_places(struct muster_ring_scheduler *s, const struct muster_ring_entries *entries, double deadline_ms)
{
	struct muster_packer *answers = muster_ring_answers_begin(s->context, entries->barrier);
	int *places = muster_calloc(s->group_count + 1, sizeof *places);
	count_groups(s);
	for (size_t i = 0; i < entries->count; i++) {
		const struct muster_ring_entry *entry = &entries->items[i];
		int group = s->group[entry->rank];
		struct muster_ring_place place = {
			.role = s->trial ? MUSTER_ROLE_IDLE : MUSTER_ROLE_EXCLUDED,
			.why = entry->why,
		};
		if (group >= 0)
			place = (struct muster_ring_place){
				.role = MUSTER_ROLE_MEMBER,
				.ring = {
					.rank = places[group]++,
					.ranks = s->groups[group].ranks,
					.nodes = s->groups[group].nodes,
					.trial = s->trial,
					.part = s->part,
				},
				.deadline_ms = (int)deadline_ms,
			};
		int maker = group >= 0 ? muster_ring_maker_index(place.ring.rank, place.ring.ranks) : -1;
		if (maker >= 0)
			s->groups[group].makers[s->groups[group].maker_count++] = entry->rank;
		muster_ring_answers_add(answers, entry, place);
	}
	muster_ring_answers_send(s->context, MUSTER_TAG_SCATTER, answers);
	free(places);
}

/* A ring of all ranks that can take part. After trials only those on nodes with s->in. Without trials s->in is ignored,
 * since a node without it was merely late for the last ring. part REST: of the ranks that have begun it. */
static void schedule_full(
	struct muster_ring_scheduler *s, struct muster_ring_entries *entries, enum muster_ring_part part, double now_ms)
{
	bool *in = muster_calloc(s->context->members->node_count + 1, sizeof *in);
	double deadline_ms = full_deadline(s, now_ms);
	for (size_t i = 0; part == MUSTER_RING_REST && i < entries->count; i++)
		if (!entries->items[i].why && s->group[entries->items[i].rank] < 0)
			muster_ring_exclude(&entries->items[i], "excluded from the all-reduce: the rank was too late");
	begin_round(s, false, 1);
	s->part = part;
	s->fulls += part != MUSTER_RING_REST;
	s->stands = false;
	for (size_t i = 0; i < entries->count; i++) {
		struct muster_ring_entry *entry = &entries->items[i];
		if (!entry->why && deadline_ms <= 0)
			entry->why = "no time left before the run's deadline";
		if (!entry->why && s->localised && !s->in[entry->node])
			muster_ring_exclude(entry, "excluded from the last all-reduce, which fails with this node");
		if (entry->why)
			continue;
		s->group[entry->rank] = 0;
		in[entry->node] = true;
	}
	free(s->in);
	s->in = in;
	send_places(s, entries, deadline_ms);
}

static void schedule_nothing(struct muster_ring_scheduler *s, const struct muster_ring_entries *entries)
{
	struct muster_packer *answers = muster_ring_answers_begin(s->context, entries->barrier);
	for (size_t i = 0; i < entries->count; i++) {
		const struct muster_ring_entry *entry = &entries->items[i];
		const char *why = muster_ring_traffic_why_not(&s->traffic, entry);
		muster_ring_answers_add(
			answers, entry, (struct muster_ring_place){ .role = MUSTER_ROLE_OVER, .why = why });
	}
	muster_ring_answers_send(s->context, MUSTER_TAG_SCATTER, answers);
	s->over = true;
}

/* Trials are over: a last full ring of the nodes that work, unless that ring was already run. */
static void schedule_rest(struct muster_ring_scheduler *s, struct muster_ring_entries *entries, double now_ms)
{
	bool *rest = muster_calloc(s->plan.nodes + 1, sizeof *rest);
	size_t left = muster_plan_rest(&s->plan, rest);
	bool other = false;
	s->localised = true;
	for (size_t i = 0; i < s->plan.nodes; i++)
		other = other || rest[i] != s->in[s->plan_nodes[i]];
	if (left > 0 && other && may_repeat(s, now_ms)) {
		for (size_t i = 0; i < s->plan.nodes; i++)
			s->in[s->plan_nodes[i]] = rest[i];
		muster_ring_say(s->context, "an all-reduce of the remaining %zu nodes", left);
		schedule_full(s, entries, MUSTER_RING_WHOLE, now_ms);
	} else {
		schedule_nothing(s, entries);
	}
	free(rest);
}

static void schedule_trials(struct muster_ring_scheduler *s, struct muster_ring_entries *entries, double now_ms)
{
	double deadline_ms = trial_deadline(s, now_ms);
	size_t nodes = s->context->members->node_count, groups = 0;
	if (deadline_ms > 0 && s->round + 2 < MUSTER_RING_ROUNDS_MAX)
		groups = muster_plan_next(&s->plan, s->plan_groups);
	if (groups == 0) {
		schedule_rest(s, entries, now_ms);
		return;
	}
	size_t *group_of_node = muster_calloc(nodes + 1, sizeof *group_of_node);
	for (size_t i = 0; i < nodes; i++)
		group_of_node[i] = MUSTER_NO_GROUP;
	for (size_t i = 0; i < s->plan.nodes; i++)
		group_of_node[s->plan_nodes[i]] = s->plan_groups[i];
	begin_round(s, true, groups);
	s->stands = false;
	for (size_t i = 0; i < entries->count; i++) {
		const struct muster_ring_entry *entry = &entries->items[i];
		if (!entry->why && group_of_node[entry->node] != MUSTER_NO_GROUP)
			s->group[entry->rank] = (int)group_of_node[entry->node];
	}
	free(group_of_node);
	muster_ring_say(s->context, "localisation all-reduces: %zu", groups);
	send_places(s, entries, deadline_ms);
}

/* Trials use the nodes of the last full ring: plan_nodes has, for each node of the plan, its index in the job. */
static void start_localising(struct muster_ring_scheduler *s)
{
	size_t all = s->context->members->node_count, nodes = 0;
	s->plan_nodes = muster_calloc(all + 1, sizeof *s->plan_nodes);
	s->plan_groups = muster_calloc(all + 1, sizeof *s->plan_groups);
	for (size_t i = 0; i < all; i++)
		if (s->in[i])
			s->plan_nodes[nodes++] = i;
	muster_plan_init(&s->plan, nodes);
	s->localising = true;
}

/* After a full ring that is not repeated, and after each round of traffic: traffic first, as long as the communicator
 * of the ring stands. */
static void schedule_next(struct muster_ring_scheduler *s, struct muster_ring_entries *entries, double now_ms)
{
	if (s->round + 2 < MUSTER_RING_ROUNDS_MAX &&
		muster_ring_traffic_next(&s->traffic, s->context, entries, now_ms)) {
		s->round++;
		return;
	}
	s->traffic.going = false;
	if (s->trials_follow && s->visit == 0)
		schedule_trials(s, entries, now_ms);
	else
		schedule_nothing(s, entries);
}

static void schedule_after_full(struct muster_ring_scheduler *s, struct muster_ring_entries *entries, double now_ms)
{
	struct ring_result *results = make_results(s, entries), result = results[0];
	enum muster_localise localise = s->context->localise;
	size_t nodes = 0;
	for (size_t i = 0; i < s->context->members->node_count; i++)
		nodes += s->in[i];
	bool wanted = !result.ok || (localise == MUSTER_LOCALISE_ALWAYS && !s->localising);
	if (!result.ok && s->groups[0].ranks > 0)
		muster_ring_say(s->context, "the all-reduce of %d ranks failed: %s", s->groups[0].ranks,
			why_failed(&result, s->context->run->arena));
	s->trials_follow = wanted && localise != MUSTER_LOCALISE_OFF && (s->localising || nodes > 1);
	if (result.ok && !s->traffic.begun) {
		muster_ring_traffic_begin(&s->traffic, s->context, s->group);
		s->stands = true;
	}
	if (!result.ok && result.fallen && may_repeat(s, now_ms)) {
		schedule_full(s, entries, MUSTER_RING_WHOLE, now_ms);
	} else {
		if (s->trials_follow && !s->localising)
			start_localising(s);
		if (s->trials_follow || s->localised)
			note_full(s, &result);
		schedule_next(s, entries, now_ms);
	}
	free(results);
}

/* The ring that has begun goes on if all its ranks still can. If a worker has died since, in its copies say, the ring
 * begins anew, with the rank's next worker or without the rank: the ring has not failed, whatever NCCL said to those
 * that waited for that worker. Else a rank that failed in the beginning itself has failed in the ring. */
static void schedule_after_begin(struct muster_ring_scheduler *s, struct muster_ring_entries *entries, double now_ms)
{
	struct ring_result *results = make_results(s, entries), result = results[0];
	free(results);
	if (s->groups[0].ranks == 0 || (result.end > MUSTER_RING_CANCELLED && !result.lost)) {
		schedule_after_full(s, entries, now_ms);
		return;
	}
	schedule_full(s, entries, result.ok && !result.fallen ? MUSTER_RING_REST : MUSTER_RING_WHOLE, now_ms);
}

/* A later visit: windows of traffic alone, if the communicator of the ring that had traffic stands. Its rounds count
 * from 0 again. */
static void begin_visit(struct muster_ring_scheduler *s, int visit)
{
	s->visit = visit;
	s->round = -1;
	s->over = false;
	if (s->stands)
		muster_ring_traffic_visit(&s->traffic, visit);
}

/* What the round before was decides which round is next:
 *
 *   before this                         next
 *   nothing (round < 0)                 a full ring of all ranks that can take part begins
 *   a full ring that has begun          the rest of it; if a worker has died since, a whole full ring; if a rank has
 *                                       failed in it, as after a failed full ring
 *   a full ring, some ranks lost        a full ring without them, up to FULLS_MAX
 *   a full ring, well                   rounds of traffic, as long as there are any
 *   a full ring, failed; traffic over   trials, if localise asks for them and there are several nodes; else over
 *   trials                              trials, as the plan says; then a full ring of the nodes that work
 *   a later visit                       rounds of traffic, if the communicator stands; else over
 *   anything, and the run is interrupted  over
 */
static void schedule(struct muster_ring_scheduler *s, const struct muster_barrier *barrier, double now_ms)
{
	struct muster_ring_entries entries;
	if (barrier->id.visit > s->visit)
		begin_visit(s, barrier->id.visit);
	muster_ring_entries_read(&entries, s->context->members, barrier, true);
	if (!s->traffic.going || s->round < 0) { /* else the entries are brief */
		muster_ring_exclude_duplicate_gpus(&entries);
		muster_ring_exclude_version_mismatches(s->probe, &entries, &s->agreed);
	}
	if (s->context->ended) {
		s->traffic.going = false;
		schedule_nothing(s, &entries);
	} else if (s->traffic.going) {
		muster_ring_traffic_note(&s->traffic, s->context, &entries);
		schedule_next(s, &entries, now_ms);
	} else if (s->visit > 0) {
		schedule_nothing(s, &entries);
	} else if (s->round < 0) {
		schedule_full(s, &entries, MUSTER_RING_BEGIN, now_ms);
	} else if (s->part == MUSTER_RING_BEGIN) {
		schedule_after_begin(s, &entries, now_ms);
	} else if (!s->trial) {
		schedule_after_full(s, &entries, now_ms);
	} else {
		note_trials(s, &entries);
		schedule_trials(s, &entries, now_ms);
	}
	muster_ring_entries_done(&entries);
}

/* The ids of a ring, one after the other. Returns their length; 0 when one of them was not made. */
static size_t join_ids(const struct muster_ring_group *group, const struct muster_ring_entries *entries,
	char ret[MUSTER_RING_IDS_TEXT])
{
	size_t length = 0;
	for (int i = 0; i < group->maker_count; i++) {
		const struct muster_ring_entry *maker = entries->by_rank[group->makers[i]];
		size_t more = maker ? maker->payload.length : 0;
		if (more == 0 || more > MUSTER_RING_IDS_TEXT - length)
			return 0;
		memcpy(ret + length, maker->payload.bytes, more);
		length += more;
	}
	return length;
}

/* Each ring's ids to all of its ranks; none to an idle rank, and none when the round of this barrier is over. */
static void send_ids(const struct muster_ring_scheduler *s, const struct muster_barrier *barrier)
{
	struct muster_ring_entries entries;
	struct muster_packer *answers = muster_ring_answers_begin(s->context, barrier->id);
	char ids[MUSTER_RING_IDS_TEXT];
	bool going = barrier->id.round == s->round && barrier->id.visit == s->visit;
	muster_ring_entries_read(&entries, s->context->members, barrier, false);
	for (size_t i = 0; i < entries.count; i++) {
		const struct muster_ring_entry *entry = &entries.items[i];
		int group = going ? s->group[entry->rank] : -1;
		size_t length = group < 0 ? 0 : join_ids(&s->groups[group], &entries, ids);
		muster_pack_part(&answers[entry->node], entry->rank, ids, length);
	}
	muster_ring_answers_send(s->context, MUSTER_TAG_SCATTER, answers);
	muster_ring_entries_done(&entries);
}

void muster_ring_scheduler_complete(
	struct muster_ring_scheduler *s, const struct muster_barrier *barrier, double now_ms)
{
	if (barrier->id.kind == MUSTER_BARRIER_RING_ID)
		send_ids(s, barrier);
	else
		schedule(s, barrier, now_ms);
}

void muster_ring_scheduler_late_answer(
	const struct muster_ring_scheduler *s, struct muster_barrier_id barrier, struct muster_packer *p)
{
	if (barrier.kind != MUSTER_BARRIER_RING)
		return;
	bool over = barrier.visit > 0 || (s && s->over && barrier.round > s->round);
	const struct muster_ring_place place = {
		.role = over ? MUSTER_ROLE_OVER : MUSTER_ROLE_EXCLUDED,
		.why = over ? "" : "excluded from the all-reduce: its node was too late",
	};
	muster_pack_ring_place(p, &place);
}

/* ---- rings that have failed ---- */

static void cancel(struct muster_ring_scheduler *s, int rank, const char *why)
{
	const struct muster_membership *members = s->context->members;
	const struct muster_barrier_id id = { MUSTER_BARRIER_RING, s->index, s->round, s->visit };
	int group = s->group[rank];
	if (s->traffic.going)
		muster_ring_traffic_failed(&s->traffic, s->context, id, rank, why);
	if (s->traffic.going || group < 0 || s->groups[group].cancelled)
		return;
	struct muster_packer *answers = muster_ring_answers_begin(s->context, id);
	s->groups[group].cancelled = true;
	for (int other = 0; other < members->ranks; other++)
		if (other != rank && s->group[other] == group)
			muster_ring_answers_text(s->context, answers, other, why);
	muster_ring_answers_send(s->context, MUSTER_TAG_CANCEL, answers);
}

void muster_ring_scheduler_failed(struct muster_ring_scheduler *s, const struct muster_ring_failed *failed)
{
	if (failed->rank < s->context->members->ranks && !s->over && failed->ring.round == s->round &&
		failed->ring.visit == s->visit)
		cancel(s, failed->rank, failed->why);
}

void muster_ring_scheduler_lost_node(struct muster_ring_scheduler *s, size_t node, const char *why)
{
	size_t count;
	const int *ranks = muster_membership_ranks(s->context->members, node, &count);
	for (size_t i = 0; s->round >= 0 && !s->over && i < count; i++)
		cancel(s, ranks[i], why);
}
