/* SPDX-License-Identifier: Apache-2.0 */
/* exchanges.h - exchanges between pairs of ranks: what checks say of them becomes findings that name parts
 *
 * exchanges.c joins the two ends of each exchange, localize/slow_pairs.c finds the parts, exchange_findings.c reports
 * them.
 *
 * Both ranks of an exchange have a sample of it, and several checks may look at each sample:
 *   note  what one check says of one rank's sample
 *   half  a note with the two ranks that it is about
 *   pair  all halves with the same two ranks: as bad as the worst of them, and unused when one of them is blocked
 * Parts are named twice: first by failures alone. Warnings count in a second search, without the pairs that a part
 * which failed explains: a warning must not move blame away from what is certain.
 */
#ifndef MUSTER_EVAL_EXCHANGES_H
#define MUSTER_EVAL_EXCHANGES_H

#include "eval/drafts.h"
#include "eval/exchange_peers.h"
#include "localize/slow_pairs.h"

/* What one check says of one rank's sample of an exchange. */
struct muster_exchange_note {
	const struct muster_sample *sample;
	uint32_t node, rank, check;
	enum muster_status status; /* PASS, WARN, FAIL; BLOCKED: the exchange proves nothing */
	size_t answer;             /* 1 + its place among the answers; 0 for none */
};

struct muster_exchange_notes {
	struct muster_exchange_note *items;
	size_t count, room;
	struct muster_check_answer *answers; /* of warnings and failures */
	size_t answer_count, answer_room;
	size_t named; /* 1 + the draft of the worst part that is slow; 0: none */
};

/* A note and its exchange. */
struct muster_exchange_half {
	size_t ranks[2]; /* numbers in the run, the lower one first */
	const struct muster_exchange_note *note;
	size_t pair;
};

/* All exchanges of one metric. A rank's number counts all ranks of the nodes before its own. */
struct muster_exchange_set {
	struct muster_eval *eval;
	const struct muster_metric *metric;
	struct muster_exchange_peers peers;
	size_t *node_of;   /* of each rank */
	const char **nics; /* of each rank: of its first exchange through known NICs; NULL */
	size_t *nic_of;    /* the first rank of the node with the same NIC */
	struct muster_exchange_half *halves;
	size_t half_count;
	struct muster_pair *pairs;
	const struct muster_exchange_note **worst; /* of each pair */
	size_t pair_count;
};

/* Remember what a check says of one rank's sample: a pass, a warning or a failure; answer NULL: it is blocked. */
void muster_exchanges_note(struct muster_eval *eval, size_t check, const struct muster_entry *entry,
	const struct muster_check_answer *answer);

/* The findings of a metric, after all its checks: one for each part. Each exchange has up to two samples, and is as bad
 * as the worse one. */
void muster_exchanges_judge(struct muster_eval *eval, const struct muster_metric *metric);
void muster_exchanges_done(struct muster_eval *eval);

bool muster_exchange_note_worse(
	const struct muster_metric *metric, const struct muster_exchange_note *a, const struct muster_exchange_note *b);

/* exchange_findings.c: a finding for each part of the set's pairs. The part decides what to do: the check's own advice
 * is for an exchange whose other rank is unknown. */
void muster_exchanges_report(struct muster_exchange_set *set, const struct muster_slow_parts *parts);

/* Findings about the whole job that are slow get an advice that leads to the slow part. After all checks. */
void muster_exchanges_explain(struct muster_eval *eval);

#endif
