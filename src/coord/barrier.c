/* barrier.c - where several wait for each other, each with a deadline */
#include "barrier.h"

#include "util/text.h"
#include "muster/arena.h"

#include <stdlib.h>
#include <string.h>

void muster_barrier_set_init(struct muster_barrier_set *barriers, const int *members, size_t count, double limit_ms)
{
	*barriers = (struct muster_barrier_set){
		.members = members,
		.count = count,
		.last_heartbeat_ms = muster_calloc(count, sizeof *barriers->last_heartbeat_ms),
		.limit_ms = limit_ms,
		.last_limit_ms = limit_ms,
	};
	for (size_t i = 0; i < count; i++)
		barriers->last_heartbeat_ms[i] = muster_now_ms();
}

void muster_barrier_set_heartbeat(struct muster_barrier_set *barriers, int rank)
{
	int member = muster_barrier_set_index(barriers, rank);
	if (member >= 0)
		barriers->last_heartbeat_ms[member] = muster_now_ms();
}

void muster_barrier_set_lost(struct muster_barrier_set *barriers, int rank)
{
	int member = muster_barrier_set_index(barriers, rank);
	if (member >= 0)
		barriers->last_heartbeat_ms[member] = -MUSTER_SILENCE_MS;
}

void muster_barrier_set_done(struct muster_barrier_set *barriers)
{
	for (struct muster_barrier *barrier = barriers->barriers, *next; barrier; barrier = next) {
		next = barrier->next;
		for (size_t i = 0; i < barriers->count; i++)
			free(barrier->entries[i].bytes);
		free(barrier->entries);
		free(barrier);
	}
	free(barriers->last_heartbeat_ms);
	*barriers = (struct muster_barrier_set){ 0 };
}

int muster_barrier_set_index(const struct muster_barrier_set *barriers, int rank)
{
	for (size_t i = 0; i < barriers->count; i++)
		if (barriers->members[i] == rank)
			return (int)i;
	return -1;
}

static struct muster_barrier *find(struct muster_barrier_set *barriers, int id)
{
	struct muster_barrier **at = &barriers->barriers;
	while (*at && (*at)->id != id)
		at = &(*at)->next;
	if (!*at) {
		*at = muster_calloc(1, sizeof **at);
		(*at)->id = id;
		(*at)->entries = muster_calloc(barriers->count, sizeof *(*at)->entries);
	}
	return *at;
}

void muster_barrier_set_enter(struct muster_barrier_set *barriers, int id, int rank, const char *bytes, size_t length)
{
	int member = muster_barrier_set_index(barriers, rank);
	if (member < 0)
		return;
	struct muster_barrier *barrier = find(barriers, id);
	struct muster_barrier_entry *arrival = &barrier->entries[member];
	if (arrival->here)
		return;
	arrival->here = true;
	arrival->bytes = muster_realloc(NULL, length + 1, 1);
	memcpy(arrival->bytes, bytes, length);
	arrival->bytes[length] = '\0';
	arrival->length = length;
	barrier->begun = true;
	barriers->last_heartbeat_ms[member] = muster_now_ms();
	if (barrier->completed)
		barriers->late_entry(barriers->arg, barriers, barrier, (size_t)member);
}

/* Nobody is missing but the dead. */
static bool complete(const struct muster_barrier_set *barriers, const struct muster_barrier *barrier, double now_ms)
{
	for (size_t i = 0; i < barriers->count; i++)
		if (!barrier->entries[i].here && now_ms - barriers->last_heartbeat_ms[i] < MUSTER_SILENCE_MS)
			return false;
	return true;
}

void muster_barrier_set_poll(struct muster_barrier_set *barriers, double now_ms)
{
	for (struct muster_barrier *barrier = barriers->barriers; barrier; barrier = barrier->next) {
		double limit_ms = barrier->id == barriers->last_gate ? barriers->last_limit_ms : barriers->limit_ms;
		if (barrier->completed || !barrier->begun ||
			(now_ms < limit_ms && !complete(barriers, barrier, now_ms)))
			continue;
		barrier->completed = true;
		barriers->complete(barriers->arg, barriers, barrier);
		for (size_t i = 0; i < barriers->count; i++) { /* whoever comes later gets a fixed answer */
			free(barrier->entries[i].bytes);
			barrier->entries[i].bytes = NULL;
		}
	}
}
