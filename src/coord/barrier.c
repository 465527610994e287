/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.c - a barrier with payloads and a deadline
 *
 * muster_barrier_poll completes a barrier by the first of these that holds:
 *   all members have entered             a comparison of two numbers, in each turn
 *   the limit has passed                 limit_ms, or record_limit_ms for RECORD
 *   all living members have entered      a search over all members, SCAN_SHARE times within silence_ms
 *
 * A member counts as having passed a barrier, too, when it has entered a later one (`latest`). Payloads are there for
 * the callbacks only: `complete` gets those of all that have entered, late_entry that of one, and both are freed after
 * it.
 */
#include "coord/barrier.h"

#include "util/array.h"
#include "muster/arena.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCAN_SHARE 100 /* searches for silent members within silence_ms */

void muster_barrier_set_init(struct muster_barrier_set *set, const int *members, size_t count, double now_ms)
{
	*set = (struct muster_barrier_set){
		.members = members,
		.count = count,
		.last_heartbeat_ms = muster_calloc(count + 1, sizeof *set->last_heartbeat_ms),
		.latest = muster_calloc(count + 1, sizeof *set->latest),
		.scanned_ms = now_ms,
	};
	for (size_t i = 0; i < count; i++)
		set->last_heartbeat_ms[i] = now_ms;
}

static void forget_payloads(const struct muster_barrier_set *set, struct muster_barrier *barrier)
{
	for (size_t i = 0; i < set->count; i++) {
		free(barrier->entries[i].bytes);
		barrier->entries[i].bytes = NULL;
	}
}

/* Remove a barrier from the list. */
static void forget(const struct muster_barrier_set *set, struct muster_barrier **at)
{
	struct muster_barrier *barrier = *at;
	*at = barrier->next;
	forget_payloads(set, barrier);
	free(barrier->entries);
	free(barrier);
}

void muster_barrier_set_done(struct muster_barrier_set *set)
{
	while (set->barriers)
		forget(set, &set->barriers);
	free(set->last_heartbeat_ms);
	free(set->latest);
	*set = (struct muster_barrier_set){ 0 };
}

int muster_barrier_member(const struct muster_barrier_set *set, int rank)
{
	const int *found = set->count ? bsearch(&rank, set->members, set->count, sizeof rank, muster_by_int) : NULL;
	return found ? (int)(found - set->members) : -1;
}

void muster_barrier_heartbeat(struct muster_barrier_set *set, int rank, double now_ms)
{
	int member = muster_barrier_member(set, rank);
	if (member >= 0)
		set->last_heartbeat_ms[member] = now_ms;
}

void muster_barrier_lost(struct muster_barrier_set *set, int rank)
{
	int member = muster_barrier_member(set, rank);
	if (member >= 0)
		set->last_heartbeat_ms[member] = -INFINITY; /* dead, whatever silence_ms is */
	set->scanned_ms = -INFINITY;                        /* the next poll searches at once */
}

bool muster_barrier_is_dead(const struct muster_barrier_set *set, size_t member, double now_ms)
{
	return now_ms - set->last_heartbeat_ms[member] >= set->silence_ms;
}

/* The barrier, a new one where this is its first entry; NULL when it is over: each member has entered it. */
static struct muster_barrier *find(struct muster_barrier_set *set, struct muster_barrier_id id)
{
	struct muster_barrier **at = &set->barriers;
	while (*at && !muster_barrier_same((*at)->id, id))
		at = &(*at)->next;
	if (!*at && muster_barrier_before(set->over, id)) {
		*at = muster_calloc(1, sizeof **at);
		(*at)->id = id;
		(*at)->entries = muster_calloc(set->count + 1, sizeof *(*at)->entries);
	}
	return *at;
}

static void keep_payload(struct muster_barrier_entry *entry, const char *bytes, size_t length)
{
	entry->bytes = muster_realloc(NULL, length + 1, 1);
	if (length > 0)
		memcpy(entry->bytes, bytes, length);
	entry->bytes[length] = '\0';
	entry->length = length;
}

/* An entry of a rank that is no member, a second entry, and an entry into a barrier that is over change nothing. The
 * entry is a heartbeat as well. In a complete barrier the callback late_entry answers it at once. */
void muster_barrier_enter(struct muster_barrier_set *set, struct muster_barrier_id id, int rank, const char *bytes,
	size_t length, double now_ms)
{
	int member = muster_barrier_member(set, rank);
	if (member < 0)
		return;
	struct muster_barrier *barrier = find(set, id);
	if (!barrier || barrier->entries[member].here)
		return;
	struct muster_barrier_entry *entry = &barrier->entries[member];
	entry->here = true;
	keep_payload(entry, bytes, length);
	barrier->entered++;
	if (muster_barrier_before(set->latest[member], id))
		set->latest[member] = id;
	set->last_heartbeat_ms[member] = now_ms;
	if (!barrier->complete)
		return;
	set->late_entry(set->arg, barrier, (size_t)member);
	free(entry->bytes);
	entry->bytes = NULL;
}

/* True when every living member has entered, or has entered a later barrier: a member goes on alone while its leader is
 * silent. */
static bool has_all_living(const struct muster_barrier_set *set, const struct muster_barrier *barrier, double now_ms)
{
	for (size_t i = 0; i < set->count; i++)
		if (!barrier->entries[i].here && !muster_barrier_is_dead(set, i, now_ms) &&
			!muster_barrier_before(barrier->id, set->latest[i]))
			return false;
	return true;
}

static double limit_of(const struct muster_barrier_set *set, const struct muster_barrier *barrier)
{
	return barrier->id.kind == MUSTER_BARRIER_RECORD ? set->record_limit_ms : set->limit_ms;
}

/* Complete what is due, and forget what is over. A barrier that is complete stays in the list until every member has
 * entered, because a member that is late must find it there. */
void muster_barrier_poll(struct muster_barrier_set *set, double now_ms)
{
	/* with 16,384 members, a search for silent members in every turn would cost more than all the rest */
	bool scan = now_ms - set->scanned_ms >= set->silence_ms / SCAN_SHARE;
	for (struct muster_barrier **at = &set->barriers, *barrier; (barrier = *at);) {
		if (!barrier->complete && (barrier->entered == set->count || now_ms >= limit_of(set, barrier) ||
						  (scan && has_all_living(set, barrier, now_ms)))) {
			barrier->complete = true;
			set->complete(set->arg, barrier, now_ms);
			forget_payloads(set, barrier);
		}
		if (!barrier->complete || barrier->entered < set->count) {
			at = &barrier->next;
			continue;
		}
		if (muster_barrier_before(set->over, barrier->id))
			set->over = barrier->id;
		forget(set, at);
	}
	if (scan)
		set->scanned_ms = now_ms;
}

/* Of the open barriers: at once where all have entered, else at the limit or at the next search for silent members,
 * whichever comes first. */
double muster_barrier_next(const struct muster_barrier_set *set, double now_ms)
{
	double next = INFINITY;
	for (const struct muster_barrier *barrier = set->barriers; barrier; barrier = barrier->next) {
		if (barrier->complete)
			continue;
		double scan = set->scanned_ms + set->silence_ms / SCAN_SHARE, limit = limit_of(set, barrier);
		double mine = barrier->entered == set->count ? now_ms : limit < scan ? limit : scan;
		next = mine < next ? mine : next;
	}
	return next;
}
