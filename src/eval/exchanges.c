/* SPDX-License-Identifier: Apache-2.0 */
/* exchanges.c - join the two ends of each exchange, as all checks of its metric see them
 *
 * A healthy run costs one note for each sample and check: ends are joined only when an exchange is bad.
 *
 * evaluate.c calls muster_exchanges_note while it walks over the checks, and muster_exchanges_judge for a metric when
 * all checks of this metric are done. That takes these steps:
 *   find_halves    each note gets the numbers of its two ranks, and halves are sorted by them
 *   find_pairs     halves with the same two ranks, side by side, become one pair with one state
 *   first round    slow_pairs.c finds the parts that explain failures, exchange_findings.c reports them
 *   second round   keep_doubtful makes failures of the warnings that are left, and both do it once more
 *
 * An example: ranks 0 and 1 exchange 83 GB/s. Rank 0's sample fails pairs.edge_share and passes pairs.edge_usual; so
 * does rank 1's. These are four notes and four halves of one pair, whose state is SLOW.
 */
#include "eval/exchanges.h"

#include "util/array.h"

#include <stdlib.h>
#include <string.h>

void muster_exchanges_note(struct muster_eval *eval, size_t check, const struct muster_entry *entry,
	const struct muster_check_answer *answer)
{
	struct muster_exchange_notes *notes = eval->exchange_notes;
	struct muster_exchange_note note = { .sample = entry->sample,
		.node = entry->node,
		.rank = entry->rank,
		.check = (uint32_t)check,
		.status = answer ? answer->status : MUSTER_BLOCKED };
	if (!notes)
		notes = eval->exchange_notes = muster_calloc(1, sizeof *notes);
	if (answer && (answer->status == MUSTER_WARN || answer->status == MUSTER_FAIL)) {
		MUSTER_ARRAY_PUSH(notes->answers, notes->answer_count, notes->answer_room, *answer);
		note.answer = notes->answer_count;
	}
	MUSTER_ARRAY_PUSH(notes->items, notes->count, notes->room, note);
}

void muster_exchanges_done(struct muster_eval *eval)
{
	if (!eval->exchange_notes)
		return;
	free(eval->exchange_notes->items);
	free(eval->exchange_notes->answers);
	free(eval->exchange_notes);
	eval->exchange_notes = NULL;
}

/* ---- ends and exchanges ---- */

static int by_ranks(const void *a, const void *b)
{
	const struct muster_exchange_half *x = a, *y = b;
	return muster_sizes_order(x->ranks, y->ranks, 2);
}

static void find_nodes(struct muster_exchange_set *s)
{
	const struct muster_run *run = s->eval->run;
	for (size_t n = 0; n < run->node_count; n++)
		for (size_t r = 0; r < run->nodes[n].rank_count; r++)
			s->node_of[s->eval->first_rank[n] + r] = n;
}

/* A sample whose peer is not in the run, or that names its own rank as the peer, is a finding of its own rank. */
static void take_alone(struct muster_exchange_set *s, const struct muster_exchange_note *note)
{
	struct muster_place place = { .node = note->node, .rank = note->rank };
	if (note->answer)
		muster_result_take(
			s->eval, note->check, place, note->sample, s->eval->exchange_notes->answers[note->answer - 1]);
}

/* Make halves of all notes of the metric. On the way each rank gets its NIC: the label of its first exchange through
 * NICs. A NIC is known afterwards by the number of the first rank of the node that names the same one (nic_of); a rank
 * without a known NIC has its own number. */
static void find_halves(struct muster_exchange_set *s)
{
	const struct muster_exchange_notes *notes = s->eval->exchange_notes;
	const size_t *first_rank = s->eval->first_rank;
	for (size_t i = 0; i < notes->count; i++) {
		const struct muster_exchange_note *note = &notes->items[i];
		if (note->sample->metric != s->metric)
			continue;
		size_t own = first_rank[note->node] + note->rank, peer = own;
		struct muster_exchange_end end;
		if (muster_exchange_is_network(&s->peers, note->sample) && !s->nics[own])
			s->nics[own] = muster_exchange_nic(note->sample);
		if (muster_exchange_peer_find(&s->peers, note->sample, &end))
			peer = first_rank[end.node] + end.rank;
		if (peer == own) {
			take_alone(s, note);
			continue;
		}
		s->halves[s->half_count++] = (struct muster_exchange_half){
			.ranks = { own < peer ? own : peer, own < peer ? peer : own },
			.note = note,
		};
	}
	qsort(s->halves, s->half_count, sizeof *s->halves, by_ranks);
	for (size_t rank = 0; rank < s->eval->rank_count; rank++) {
		size_t first = s->eval->first_rank[s->node_of[rank]];
		while (first < rank &&
			(!s->nics[first] || !s->nics[rank] || strcmp(s->nics[first], s->nics[rank]) != 0))
			first++;
		s->nic_of[rank] = first;
	}
}

/* Make pairs of the sorted halves. One check that is blocked makes the pair UNUSED, whatever other checks say: a
 * finding explains the exchange already. */
static void find_pairs(struct muster_exchange_set *s)
{
	static const enum muster_pair_state states[MUSTER_STATUS_COUNT] = {
		[MUSTER_PASS] = MUSTER_PAIR_GOOD,
		[MUSTER_WARN] = MUSTER_PAIR_DOUBTFUL,
		[MUSTER_FAIL] = MUSTER_PAIR_SLOW,
	};
	for (size_t i = 0, next; i < s->half_count; i = next) {
		const struct muster_exchange_half *half = &s->halves[i];
		struct muster_pair *pair = &s->pairs[s->pair_count];
		const struct muster_exchange_note *worst = half->note;
		bool blocked = false;
		for (next = i; next < s->half_count && by_ranks(half, &s->halves[next]) == 0; next++) {
			const struct muster_exchange_note *note = s->halves[next].note;
			blocked |= note->status == MUSTER_BLOCKED;
			worst = muster_exchange_note_worse(s->metric, note, worst) ? note : worst;
			pair->network |= muster_exchange_is_network(&s->peers, note->sample);
			s->halves[next].pair = s->pair_count;
		}
		pair->state = blocked ? MUSTER_PAIR_UNUSED : states[worst->status];
		for (size_t end = 0; end < 2; end++) {
			pair->ranks[end] = half->ranks[end];
			pair->nics[end] = s->nic_of[half->ranks[end]];
		}
		s->worst[s->pair_count++] = worst;
	}
}

/* For the second round: warnings that no part of the first round explains count as slow; failures, and what they
 * explain, are UNUSED, so they neither make a rank suspicious nor clear one. */
static void keep_doubtful(struct muster_exchange_set *s)
{
	for (size_t i = 0; i < s->pair_count; i++) {
		struct muster_pair *pair = &s->pairs[i];
		if (pair->part > 0 || pair->state == MUSTER_PAIR_SLOW)
			pair->state = MUSTER_PAIR_UNUSED;
		else if (pair->state == MUSTER_PAIR_DOUBTFUL)
			pair->state = MUSTER_PAIR_SLOW;
	}
}

void muster_exchanges_judge(struct muster_eval *eval, const struct muster_metric *metric)
{
	const struct muster_exchange_notes *notes = eval->exchange_notes;
	struct muster_exchange_set s = { .eval = eval, .metric = metric };
	bool bad = false;
	for (size_t i = 0; notes && i < notes->count && !bad; i++)
		bad = notes->items[i].answer && notes->items[i].sample->metric == metric;
	if (!bad)
		return;
	s.peers = muster_exchange_peers_make(eval->run, eval->report->domains);
	s.node_of = muster_calloc(eval->rank_count + 1, sizeof *s.node_of);
	s.nics = muster_calloc(eval->rank_count + 1, sizeof *s.nics);
	s.nic_of = muster_calloc(eval->rank_count + 1, sizeof *s.nic_of);
	s.halves = muster_calloc(notes->count + 1, sizeof *s.halves);
	s.pairs = muster_calloc(notes->count + 1, sizeof *s.pairs);
	s.worst = muster_calloc(notes->count + 1, sizeof *s.worst);
	find_nodes(&s);
	find_halves(&s);
	find_pairs(&s);
	for (int warnings = 0; warnings < 2; warnings++) {
		struct muster_slow_parts parts;
		if (warnings)
			keep_doubtful(&s);
		muster_slow_pairs_name(s.pairs, s.pair_count, s.node_of, eval->rank_count, &parts);
		muster_exchanges_report(&s, &parts);
		free(parts.items);
	}
	muster_exchange_peers_done(&s.peers);
	free(s.node_of);
	free(s.nics);
	free(s.nic_of);
	free(s.halves);
	free(s.pairs);
	free(s.worst);
}
