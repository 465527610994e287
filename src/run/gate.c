/* gate.c - where several wait for each other, each with a deadline */
#include "gate.h"

#include "util/text.h"
#include "muster/arena.h"

#include <stdlib.h>
#include <string.h>

void muster_keeper_init(struct muster_keeper *keeper, const int *members, size_t count, double limit_ms)
{
	*keeper = (struct muster_keeper){
		.members = members,
		.count = count,
		.heard_ms = muster_calloc(count, sizeof *keeper->heard_ms),
		.limit_ms = limit_ms,
		.last_limit_ms = limit_ms,
	};
	for (size_t i = 0; i < count; i++)
		keeper->heard_ms[i] = muster_now_ms();
}

void muster_keeper_heard(struct muster_keeper *keeper, int rank)
{
	int member = muster_keeper_index(keeper, rank);
	if (member >= 0)
		keeper->heard_ms[member] = muster_now_ms();
}

void muster_keeper_lost(struct muster_keeper *keeper, int rank)
{
	int member = muster_keeper_index(keeper, rank);
	if (member >= 0)
		keeper->heard_ms[member] = -MUSTER_SILENCE_MS;
}

void muster_keeper_done(struct muster_keeper *keeper)
{
	for (struct muster_gate *gate = keeper->gates, *next; gate; gate = next) {
		next = gate->next;
		for (size_t i = 0; i < keeper->count; i++)
			free(gate->arrivals[i].bytes);
		free(gate->arrivals);
		free(gate);
	}
	free(keeper->heard_ms);
	*keeper = (struct muster_keeper){ 0 };
}

int muster_keeper_index(const struct muster_keeper *keeper, int rank)
{
	for (size_t i = 0; i < keeper->count; i++)
		if (keeper->members[i] == rank)
			return (int)i;
	return -1;
}

static struct muster_gate *find(struct muster_keeper *keeper, int id)
{
	struct muster_gate **at = &keeper->gates;
	while (*at && (*at)->id != id)
		at = &(*at)->next;
	if (!*at) {
		*at = muster_calloc(1, sizeof **at);
		(*at)->id = id;
		(*at)->arrivals = muster_calloc(keeper->count, sizeof *(*at)->arrivals);
	}
	return *at;
}

void muster_keeper_arrive(struct muster_keeper *keeper, int id, int rank, const char *bytes, size_t length)
{
	int member = muster_keeper_index(keeper, rank);
	if (member < 0)
		return;
	struct muster_gate *gate = find(keeper, id);
	struct muster_arrival *arrival = &gate->arrivals[member];
	if (arrival->here)
		return;
	arrival->here = true;
	arrival->bytes = muster_realloc(NULL, length + 1, 1);
	memcpy(arrival->bytes, bytes, length);
	arrival->bytes[length] = '\0';
	arrival->length = length;
	gate->begun = true;
	keeper->heard_ms[member] = muster_now_ms();
	if (gate->settled)
		keeper->too_late(keeper->arg, keeper, gate, (size_t)member);
}

/* Nobody is missing but the dead. */
static bool complete(const struct muster_keeper *keeper, const struct muster_gate *gate, double now_ms)
{
	for (size_t i = 0; i < keeper->count; i++)
		if (!gate->arrivals[i].here && now_ms - keeper->heard_ms[i] < MUSTER_SILENCE_MS)
			return false;
	return true;
}

void muster_keeper_poll(struct muster_keeper *keeper, double now_ms)
{
	for (struct muster_gate *gate = keeper->gates; gate; gate = gate->next) {
		double limit_ms = gate->id == keeper->last_gate ? keeper->last_limit_ms : keeper->limit_ms;
		if (gate->settled || !gate->begun || (now_ms < limit_ms && !complete(keeper, gate, now_ms)))
			continue;
		gate->settled = true;
		keeper->settle(keeper->arg, keeper, gate);
		for (size_t i = 0; i < keeper->count; i++) { /* whoever comes later gets a fixed answer */
			free(gate->arrivals[i].bytes);
			gate->arrivals[i].bytes = NULL;
		}
	}
}
