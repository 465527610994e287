/* gate.c - where several wait for each other, each with a deadline */
#include "gate.h"

#include "core/text.h"
#include "muster/pool.h"

#include <stdlib.h>
#include <string.h>

void muster_keeper_init(struct muster_keeper *keeper, const int *members, size_t count)
{
	*keeper = (struct muster_keeper){
		.members = members,
		.count = count,
		.late = muster_calloc(count, sizeof *keeper->late),
	};
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
	free(keeper->late);
	*keeper = (struct muster_keeper){ 0 };
}

int muster_keeper_index(const struct muster_keeper *keeper, int rank)
{
	for (size_t i = 0; i < keeper->count; i++)
		if (keeper->members[i] == rank)
			return (int)i;
	return -1;
}

size_t muster_gate_here(const struct muster_keeper *keeper, const struct muster_gate *gate)
{
	size_t here = 0;
	for (size_t i = 0; i < keeper->count; i++)
		here += gate->arrivals[i].here;
	return here;
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

void muster_keeper_arrive(
	struct muster_keeper *keeper, int id, int rank, int timeout_ms, const char *bytes, size_t length)
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
	keeper->late[member] = false;
	if (gate->until_ms <= 0)
		gate->until_ms = muster_now_ms() + timeout_ms;
	if (gate->settled)
		keeper->too_late(keeper->arg, keeper, gate, (size_t)member);
}

static bool complete(const struct muster_keeper *keeper, const struct muster_gate *gate)
{
	for (size_t i = 0; i < keeper->count; i++)
		if (!gate->arrivals[i].here && !keeper->late[i])
			return false;
	return true;
}

void muster_keeper_poll(struct muster_keeper *keeper, double now_ms)
{
	for (struct muster_gate *gate = keeper->gates; gate; gate = gate->next) {
		if (gate->settled || gate->until_ms <= 0)
			continue;
		if (!complete(keeper, gate) && now_ms < gate->until_ms)
			continue;
		for (size_t i = 0; i < keeper->count; i++)
			if (!gate->arrivals[i].here)
				keeper->late[i] = true;
		gate->settled = true;
		keeper->settle(keeper->arg, keeper, gate);
	}
}
