/* SPDX-License-Identifier: Apache-2.0 */
/* connect.c - every rank's first message to every other rank
 *
 * NCCL connects two ranks at the first message between them, and waits for ever for a rank that does not come. Ranks at
 * a few distances are connected at a time: those of the present distances are all that this rank can be waiting for.
 *
 * Distances are connected in groups: 1, 2 to 3, 4 to 7, then eight at a time. Early groups are
 * small, so that few ranks name one that answers no rank, and late ones are not many. At distance d a
 * rank sends to rank + d and receives from rank - d, so that all ranks of a group connect at the same time, and no rank
 * waits for a rank that waits itself.
 */
#include "probes/nccl_collectives/collectives.h"

#include "util/array.h"
#include "util/clock.h"
#include "util/text.h"

#include <stdio.h>
#include <stdlib.h>

#define MESSAGE 16      /* bytes */
#define TIME_SHARE 0.5  /* of the session's time */
#define DISTANCES_MAX 8 /* at a time, from this distance on; before that 1, 2 and 4 */
#define LIST_MAX 160

/* A first message to and from the ranks at distances first to last - 1, behind this one and ahead of it, all in one
 * group: NCCL makes these connections at the same time. What is sent does not matter. Each sender has MESSAGE bytes of
 * its own in `received`. */
static int connect_some(const struct muster_nccl_session *s, int first, int last, struct muster_error *err)
{
	const struct muster_nccl_resources *resources = s->resources;
	int rank = s->ring.rank, ranks = s->ring.ranks;
	muster_step(s->ctx, "connecting to the ranks at distances %d to %d of %d", first, last - 1, ranks - 1);
	if (muster_nccl_group_start(s, err) < 0)
		return -1;
	for (int distance = first; distance < last; distance++) {
		int to = (rank + distance) % ranks, from = (rank + ranks - distance) % ranks;
		if (muster_nccl_send(s, resources->agreed, MESSAGE, to, err) < 0 ||
			muster_nccl_receive(s, resources->received + (uint64_t)from * MESSAGE, MESSAGE, from, err) < 0)
			return -1;
	}
	return muster_nccl_group_end(s, err) < 0 ? -1 : muster_nccl_finish(s, "connecting to other ranks", err);
}

/* The ranks of the job at distances first to last - 1, both ways, in ascending order: "5,8-15". A list that is too long
 * is cut off. */
static void list_ranks(const struct muster_nccl_session *s, int first, int last, char ret[LIST_MAX])
{
	int ranks[2 * DISTANCES_MAX], count = 0, all = s->ring.ranks;
	for (int distance = first; distance < last && distance < first + DISTANCES_MAX; distance++) {
		ranks[count++] = muster_nccl_rank_of_job((s->ring.rank + distance) % all);
		ranks[count++] = muster_nccl_rank_of_job((s->ring.rank + all - distance) % all);
	}
	qsort(ranks, (size_t)count, sizeof *ranks, muster_by_int);
	size_t used = 0;
	ret[0] = '\0';
	for (int i = 0, end; i < count && used < LIST_MAX; i = end + 1) {
		for (end = i; end + 1 < count && ranks[end + 1] <= ranks[end] + 1;)
			end++;
		used += (size_t)snprintf(ret + used, LIST_MAX - used, "%s%d", i ? "," : "", ranks[i]);
		if (ranks[end] > ranks[i] && used < LIST_MAX)
			used += (size_t)snprintf(ret + used, LIST_MAX - used, "-%d", ranks[end]);
	}
}

/* After a failure, whose err it wraps: name the ranks of the present distances. Another rank's failure
 * (MUSTER_ECALLEDOFF) says nothing about them, so none is named then. */
static int emit_unreached(const struct muster_nccl_session *s, int first, int last, struct muster_error *err)
{
	char list[LIST_MAX];
	if (err->code == MUSTER_ECALLEDOFF)
		return muster_wrap(err, "connecting all ranks");
	list_ranks(s, first, last, list);
	muster_emit_for(s->ctx, "rank.alltoall_unreached", NULL, muster_string(list));
	return muster_wrap(err, "all-to-all: no connection to all of the ranks %s", list);
}

/* A copy of the session has TIME_SHARE of its time, so that ranks that are not reached are found before the deadline of
 * the whole callback. */
int muster_collective_connect(const struct muster_nccl_session *given, struct muster_error *err)
{
	struct muster_nccl_session s = *given;
	double began_ms = muster_now_ms(), raw_ms = muster_clock_now(&muster_clock_raw);
	s.ring.timeout_ms = (int)((s.deadline_ms - began_ms) * TIME_SHARE);
	s.deadline_ms = began_ms + s.ring.timeout_ms;
	for (int first = 1, last; first < s.ring.ranks; first = last) {
		int width = first < 2 ? 1 : first < DISTANCES_MAX ? first : DISTANCES_MAX;
		last = first + width < s.ring.ranks ? first + width : s.ring.ranks;
		if (connect_some(&s, first, last, err) < 0)
			return emit_unreached(&s, first, last, err);
	}
	double slowest_ms = muster_clock_now(&muster_clock_raw) - raw_ms;
	if (muster_nccl_slowest(given, &slowest_ms, err) < 0)
		return -1;
	const struct muster_value labels[] = { muster_number(s.ring.nodes), muster_number(s.ring.ranks) };
	if (s.ring.rank == 0)
		muster_emit(s.ctx, "nccl.alltoall_connect_ms", labels, 2, muster_number(slowest_ms));
	return 0;
}
