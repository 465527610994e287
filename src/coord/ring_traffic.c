/* SPDX-License-Identifier: Apache-2.0 */
/* ring_traffic.c - rank 0 assigns rounds of traffic to the ranks of the full ring that went well last
 *
 * Two numberings meet here: a rank is numbered in the job, a member in the ring, as NCCL's communicator numbers it
 * (`members` and `items` translate). One RING barrier both ends a round and begins the next: muster_ring_traffic_note
 * takes from its entries how the last round ended, muster_ring_traffic_next answers it with the next round. Between the
 * two barriers, from the answer on, the round is `under_way`, and muster_ring_traffic_failed may cancel it.
 *
 * A member that is `out` stays out, since its communicator is aborted. The failure that says most about the cause is
 * kept (`cause`), because a round of all ranks that cannot run any more must name one rank, and most members fail only
 * because others did.
 *
 *   shape   rounds of a probe             who has no place                          a failure cancels
 *   PAIRS   those of localize/pairs.h     members without a partner that is in      the partner's round
 *   ALL     traffic_rounds, at least 1    all members, as soon as one is out        the round of all
 *   EACH    traffic_rounds, at least 1    members that are lost                     nothing
 */
#include "coord/ring_scheduler.h"

#include "coord/send.h"
#include "muster/run_data.h"

#include <math.h>
#include <stdlib.h>

enum { NO_PARTNER = -1 };

void muster_ring_traffic_done(struct muster_ring_traffic *t)
{
	if (t->begun)
		muster_pairs_done(&t->pairs);
	free(t->items);
	free(t->members);
	free(t->peers);
	*t = (struct muster_ring_traffic){ 0 };
}

/* The members' nodes and positions. A rank that is not in the ring leaves its position empty, so that a rail joins GPUs
 * of one place on all nodes. */
static void plan_pairs(struct muster_ring_traffic *t, const struct muster_ring_context *context)
{
	struct muster_pairs_member *places = muster_calloc(t->count + 1, sizeof *places);
	for (size_t node = 0; node < context->members->node_count; node++) {
		size_t count;
		const int *ranks = muster_membership_ranks(context->members, node, &count);
		for (size_t i = 0; i < count; i++)
			if (t->members[ranks[i]] >= 0)
				places[t->members[ranks[i]]] = (struct muster_pairs_member){ node, i };
	}
	static const enum muster_pairs_plan plans[MUSTER_PROFILE_COUNT] = {
		[MUSTER_QUICK] = MUSTER_PAIRS_RAILS,
		[MUSTER_STANDARD] = MUSTER_PAIRS_EDGES,
		[MUSTER_FULL] = MUSTER_PAIRS_ALL,
	};
	muster_pairs_init(&t->pairs, places, t->count, plans[context->profile]);
	free(places);
}

void muster_ring_traffic_begin(
	struct muster_ring_traffic *t, const struct muster_ring_context *context, const int *group)
{
	size_t ranks = (size_t)context->members->ranks;
	*t = (struct muster_ring_traffic){
		.begun = true,
		.going = true,
		.cause = -1,
		.probe = SIZE_MAX, /* before the first */
		.items = muster_calloc(ranks + 1, sizeof *t->items),
		.members = muster_calloc(ranks + 1, sizeof *t->members),
		.peers = muster_calloc(ranks + 1, sizeof *t->peers),
	};
	for (size_t rank = 0; rank < ranks; rank++) {
		bool in = group[rank] == 0;
		t->members[rank] = in ? (int)t->count : -1;
		if (in)
			t->items[t->count++].rank = (int)rank;
	}
	plan_pairs(t, context);
}

void muster_ring_traffic_visit(struct muster_ring_traffic *t, int visit)
{
	t->visit = visit;
	t->going = true;
	t->probe = SIZE_MAX;
	t->round = t->rounds = 0;
}

/* ---- how a round ended ---- */

/* Whether the member has a place in the round that is under way. */
static bool took_part(const struct muster_ring_traffic *t, size_t member)
{
	if (t->shape == MUSTER_TRAFFIC_EACH)
		return t->under_way && !t->items[member].lost;
	return t->under_way && !t->items[member].out && (t->shape == MUSTER_TRAFFIC_ALL || t->peers[member] >= 0);
}

/* Note how the round ended for a member. It is out from here on when it is not among the entries, when it cannot take
 * part in a ring any more, or when it failed in the round; alone (EACH) a failure takes no member out. Of all that are
 * out the one with the highest end is the cause, of equal ones the first. */
static void note_member(struct muster_ring_traffic *t, const struct muster_ring_context *context, size_t member,
	const struct muster_ring_entry *entry)
{
	enum muster_ring_end end = entry ? entry->ready.end : MUSTER_RING_GONE;
	const char *why = entry ? entry->ready.detail : "no further message from this rank";
	bool failed = t->shape != MUSTER_TRAFFIC_EACH && took_part(t, member) && end != MUSTER_RING_OK;
	t->items[member].lost |= !entry || entry->why;
	if (t->items[member].out || (entry && !entry->why && !failed))
		return;
	if (entry && !*why)
		why = entry->why ? entry->why : "its round failed";
	t->items[member].out = muster_arena_string(context->run->arena, why);
	if (t->cause < 0 || end > t->cause_end) {
		t->cause = (int)member;
		t->cause_end = end;
	}
}

void muster_ring_traffic_note(
	struct muster_ring_traffic *t, const struct muster_ring_context *context, struct muster_ring_entries *entries)
{
	for (size_t member = 0; member < t->count; member++)
		note_member(t, context, member, entries->by_rank[t->items[member].rank]);
	for (size_t i = 0; i < entries->count; i++)
		if (!entries->items[i].why && t->members[entries->items[i].rank] < 0)
			entries->items[i].why = "the rank is not in the last all-reduce";
	t->under_way = false;
}

/* ---- the next round ---- */

/* What a ring measures of itself comes again in later visits, as all windows do. */
static bool is_of_visit(size_t index, int visit, const struct muster_ring_context *context)
{
	const struct muster_probe *probe = muster_probe_at(index);
	if (visit == MUSTER_VISITS && !(context->again >> index & 1))
		return false;
	bool traffic = muster_probe_has_traffic(probe, context->profile, (int)context->members->node_count);
	return visit == 0 ? traffic : probe->windows && (traffic || (probe->traffic && probe->ring));
}

/* The next probe with traffic, from its first round on. False: there is none. */
static bool next_probe(struct muster_ring_traffic *t, const struct muster_ring_context *context)
{
	do
		t->probe++;
	while (t->probe < muster_probe_count() && !is_of_visit(t->probe, t->visit, context));
	if (t->probe == muster_probe_count())
		return false;
	const struct muster_probe *probe = muster_probe_at(t->probe);
	int rounds = probe->traffic_rounds > 0 ? probe->traffic_rounds : 1;
	t->shape = probe->traffic_shape;
	t->rounds = t->shape == MUSTER_TRAFFIC_PAIRS ? t->pairs.rounds : rounds;
	t->round = 0;
	return true;
}

/* The partners of a round of pairs, without members that are out. Returns how many members have one. */
static size_t find_partners(struct muster_ring_traffic *t, enum muster_traffic_kind *ret_kind)
{
	size_t found = 0;
	*ret_kind = muster_pairs_round(&t->pairs, t->round, t->peers);
	for (size_t i = 0; i < t->count; i++) {
		if (t->peers[i] >= 0 && (t->items[i].out || t->items[t->peers[i]].out)) {
			t->peers[t->peers[i]] = NO_PARTNER;
			t->peers[i] = NO_PARTNER;
		}
		found += t->peers[i] >= 0;
	}
	return found;
}

/* For the supervisor of each rank in ms: the fixed time of pairs, or the probe's own deadline, with more for each
 * training step; at most what is left. */
static double deadline_of(
	const struct muster_ring_traffic *t, const struct muster_ring_context *context, double left_ms)
{
	const struct muster_probe *probe = muster_probe_at(t->probe);
	double wanted_ms = t->shape == MUSTER_TRAFFIC_PAIRS
				   ? context->deadlines->pair
				   : probe->deadline_ms + (double)context->steps * probe->traffic_ms_per_step;
	return fmin(wanted_ms, left_ms);
}

/* Why the probe's rounds from this one on cannot run, in the run's arena; NULL. */
static const char *why_not(
	const struct muster_ring_traffic *t, const struct muster_ring_context *context, double left_ms)
{
	if (t->shape == MUSTER_TRAFFIC_ALL && t->cause >= 0) {
		const struct muster_ring_member *cause = &t->items[t->cause];
		return muster_arena_printf(context->run->arena,
			"all ranks of the all-reduce are needed; rank %d (%s): %s", cause->rank,
			context->members->members[cause->rank].node, cause->out);
	}
	return left_ms < context->deadlines->trial_least ? "no time left before the run's deadline" : NULL;
}

/* Answer every rank that has entered: a member with a place gets it with its own partner; NO_TRAFFIC is for all, ranks
 * outside the ring too; the others wait for the next round. */
static void answer(const struct muster_ring_traffic *t, const struct muster_ring_context *context,
	const struct muster_ring_entries *entries, struct muster_ring_place place)
{
	struct muster_packer *answers = muster_ring_answers_begin(context, entries->barrier);
	const struct muster_ring_place waits = { .role = MUSTER_ROLE_WAITS };
	for (size_t i = 0; i < entries->count; i++) {
		const struct muster_ring_entry *entry = &entries->items[i];
		int member = t->members[entry->rank];
		bool has = place.role == MUSTER_ROLE_NO_TRAFFIC || (member >= 0 && took_part(t, (size_t)member));
		int peer = has && t->shape == MUSTER_TRAFFIC_PAIRS && member >= 0 ? t->peers[member] : -1;
		place.traffic.peer = peer;
		place.peer_rank = peer >= 0 ? t->items[peer].rank : -1;
		muster_ring_answers_add(answers, entry, has ? place : waits);
	}
	muster_ring_answers_send(context, MUSTER_TAG_SCATTER, answers);
}

/* Go on to the next round that anyone has a place in: rounds of pairs without any pair left are passed over. When a
 * probe cannot run, all ranks are told so once, and t->rounds = 0 lets the next call go on to the next probe. */
bool muster_ring_traffic_next(struct muster_ring_traffic *t, const struct muster_ring_context *context,
	const struct muster_ring_entries *entries, double now_ms)
{
	double left_ms = muster_ring_time_left(context, now_ms);
	while (t->going) {
		struct muster_ring_place place = { .role = MUSTER_ROLE_TRAFFIC };
		if (++t->round >= t->rounds)
			t->going = next_probe(t, context);
		if (!t->going || t->rounds == 0 ||
			(t->shape == MUSTER_TRAFFIC_PAIRS && find_partners(t, &place.kind) == 0))
			continue;
		place.probe = (int)t->probe;
		place.traffic.round = t->round;
		place.traffic.rounds = t->rounds;
		place.traffic.visit = t->visit;
		place.why = why_not(t, context, left_ms);
		place.deadline_ms = (int)deadline_of(t, context, left_ms);
		t->under_way = !place.why;
		if (place.why) {
			place.role = MUSTER_ROLE_NO_TRAFFIC;
			t->rounds = 0;
		}
		for (size_t i = 0; i < t->count; i++)
			t->items[i].cancelled = false;
		answer(t, context, entries, place);
		return true;
	}
	return false;
}

/* ---- rounds that have failed ---- */

void muster_ring_traffic_failed(struct muster_ring_traffic *t, const struct muster_ring_context *context,
	struct muster_barrier_id barrier, int rank, const char *why)
{
	int member = t->members[rank];
	if (member < 0 || t->shape == MUSTER_TRAFFIC_EACH || t->items[member].cancelled ||
		!took_part(t, (size_t)member))
		return;
	struct muster_packer *answers = muster_ring_answers_begin(context, barrier);
	for (size_t i = 0; i < t->count; i++) {
		if (t->items[i].cancelled || !(t->shape == MUSTER_TRAFFIC_ALL || t->peers[member] == (int)i))
			continue;
		t->items[i].cancelled = true;
		if ((int)i != member)
			muster_ring_answers_text(context, answers, t->items[i].rank, why);
	}
	t->items[member].cancelled = true;
	muster_ring_answers_send(context, MUSTER_TAG_CANCEL, answers);
}

const char *muster_ring_traffic_why_not(const struct muster_ring_traffic *t, const struct muster_ring_entry *entry)
{
	if (t->begun && t->members[entry->rank] >= 0)
		return "";
	return entry->why && *entry->why ? entry->why : "no all-reduce with this rank went well";
}
