/* leader.c - the lowest rank of a node keeps the gates for all of its ranks */
#include "leader.h"

#include "util/log.h"
#include "util/text.h"
#include "muster/arena.h"
#include "muster/report.h"
#include "run/gates.h"
#include "model/run_merge.h"
#include "run/parcel.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof((struct muster_leader *)0)->done / sizeof(int) >= MUSTER_PHASE_COUNT, "every phase is counted");

enum { PROGRESS_EVERY_MS = 100 };

static bool of_job(int gate)
{
	return gate == MUSTER_GATE_RECORD || gate >= MUSTER_GATE_RING;
}

static void pass(int gate, int rank, const char *bytes, size_t length)
{
	struct muster_parcel parcel;
	muster_parcel_begin(&parcel, &gate, 1);
	muster_parcel_add(&parcel, rank, bytes, length);
	muster_parcel_end(&parcel);
	muster_link_send(rank, MUSTER_TAG_PASS, parcel.bytes, parcel.length);
	free(parcel.bytes);
}

/* Payload of the peers gate: "<local rank> <GPU> <UUID> <path>", "-" for what there is none of. */
struct took {
	char gpu[32], uuid[48], path[64];
	int local_rank;
};

static bool parse_took(const struct muster_arrival *arrival, struct took *ret)
{
	return arrival->here &&
	       sscanf(arrival->bytes, "%d %31s %47s %63s", &ret->local_rank, ret->gpu, ret->uuid, ret->path) == 4;
}

/* Answer of the peers gate: "<my turn> <turns>" and a line "<rank> <local rank> <GPU> <UUID>" for each rank that came.
 * GPUs on one path take turns, in the order of their ranks. */
static void settle_peers(const struct muster_keeper *keeper, const struct muster_gate *gate)
{
	struct took *all = muster_calloc(keeper->count, sizeof *all);
	int *turn = muster_calloc(keeper->count, sizeof *turn);
	int turns = 1;
	char *list = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&list, &length);
	for (size_t i = 0; out && i < keeper->count; i++) {
		if (!parse_took(&gate->arrivals[i], &all[i]))
			continue;
		for (size_t j = 0; j < i; j++)
			turn[i] += all[j].gpu[0] != '-' && strcmp(all[j].path, all[i].path) == 0;
		if (all[i].gpu[0] != '-' && turn[i] + 1 > turns)
			turns = turn[i] + 1;
		fprintf(out, "%d %d %s %s\n", keeper->members[i], all[i].local_rank, all[i].gpu, all[i].uuid);
	}
	if (!out || fclose(out) != 0)
		abort(); /* out of memory */
	for (size_t i = 0; i < keeper->count; i++) {
		if (!gate->arrivals[i].here)
			continue;
		char *answer = muster_asprintf("%d %d\n%s", turn[i], turns, list);
		pass(gate->id, keeper->members[i], answer, strlen(answer));
		free(answer);
	}
	free(list);
	free(turn);
	free(all);
}

/* The records of the node's ranks, as one. A malformed one is left out: its rank will be named as missing. */
static void bundle_records(struct muster_leader *leader, const struct muster_gate *gate, struct muster_parcel *parcel)
{
	struct muster_run run;
	struct muster_error err;
	bool *here = muster_calloc((size_t)leader->ranks, sizeof *here);
	muster_run_init(&run);
	for (size_t i = 0; i < leader->keeper.count; i++)
		if (gate->arrivals[i].here && muster_run_merge(&run, gate->arrivals[i].bytes, gate->arrivals[i].length,
						      here, leader->ranks, &err) < 0)
			muster_log(MUSTER_LOG_WARN,
				&(struct muster_log_place){ .node = leader->node, .rank = leader->members[i] },
				"its record is malformed: %s", err.text);
	for (size_t i = 0; i < run.job.samples.count && run.node_count > 0;
		i++) /* a rank brings its job's facts along */
		muster_samples_add(&run.nodes[0].ranks[0].samples, run.job.samples.items[i]);
	for (size_t i = 0; i < run.node_count; i++) {
		size_t length;
		char *text = muster_node_to_json(&run.nodes[i], &length);
		muster_parcel_add(parcel, leader->members[0], text, length);
		free(text);
	}
	muster_run_done(&run);
	free(here);
}

static void settle(void *arg, struct muster_keeper *keeper, struct muster_gate *gate)
{
	struct muster_leader *leader = arg;
	if (gate->id == MUSTER_GATE_PEERS) {
		settle_peers(keeper, gate);
		return;
	}
	if (!of_job(gate->id)) {
		for (size_t i = 0; i < keeper->count; i++)
			if (gate->arrivals[i].here)
				pass(gate->id, keeper->members[i], "", 0);
		return;
	}
	struct muster_parcel parcel;
	muster_parcel_begin(&parcel, &gate->id, 1);
	if (gate->id == MUSTER_GATE_RECORD)
		bundle_records(leader, gate, &parcel);
	else
		for (size_t i = 0; i < keeper->count; i++)
			if (gate->arrivals[i].here)
				muster_parcel_add(
					&parcel, keeper->members[i], gate->arrivals[i].bytes, gate->arrivals[i].length);
	muster_parcel_end(&parcel);
	muster_link_send(0, MUSTER_TAG_BUNDLE, parcel.bytes, parcel.length);
	free(parcel.bytes);
}

static void too_late(void *arg, struct muster_keeper *keeper, struct muster_gate *gate, size_t member)
{
	const struct muster_leader *leader = arg;
	const char *answer = gate->id == leader->last_ring_gate ? "." : "-it came too late";
	pass(gate->id, keeper->members[member], answer, strlen(answer));
}

void muster_leader_init(struct muster_leader *leader, const int *members, size_t count, const char *node, int ranks,
	double limit_ms, double last_limit_ms)
{
	*leader = (struct muster_leader){ .members = members, .node = node, .ranks = ranks };
	leader->dead = muster_calloc(count, sizeof *leader->dead);
	muster_keeper_init(&leader->keeper, members, count, limit_ms);
	leader->keeper.last_gate = MUSTER_GATE_RECORD;
	leader->keeper.last_limit_ms = last_limit_ms;
	leader->keeper.settle = settle;
	leader->keeper.too_late = too_late;
	leader->keeper.arg = leader;
}

void muster_leader_hasten(struct muster_leader *leader, double earlier_ms)
{
	leader->keeper.limit_ms -= earlier_ms;
	leader->keeper.last_limit_ms -= earlier_ms;
}

void muster_leader_done(struct muster_leader *leader)
{
	muster_keeper_done(&leader->keeper);
	free(leader->dead);
}

static void arrive(struct muster_leader *leader, const struct muster_message *message)
{
	int header[2]; /* gate, the phase that has ended or -1 */
	size_t at;
	if (!muster_parcel_header(message->bytes, message->length, header, 2, &at))
		return;
	if (header[1] >= 0 && header[1] < MUSTER_PHASE_COUNT) {
		leader->done[header[1]]++;
		leader->progress_due = true;
	}
	muster_keeper_arrive(&leader->keeper, header[0], message->from, message->bytes + at, message->length - at);
}

static void deal(struct muster_leader *leader, const struct muster_message *message)
{
	int gate, rank;
	size_t at, length;
	const char *bytes;
	if (!muster_parcel_header(message->bytes, message->length, &gate, 1, &at))
		return;
	if (gate >= MUSTER_GATE_RING && !muster_gate_is_ring_id(gate))
		leader->ring_gate = gate;
	while (muster_parcel_part(message->bytes, message->length, &at, &rank, &bytes, &length)) {
		if (gate == leader->ring_gate && length == 1 && *bytes == '.')
			leader->last_ring_gate = gate;
		pass(gate, rank, bytes, length);
	}
}

/* To each rank that need not wait any more: "<gate>\n<why>". */
static void call_off(const struct muster_message *message)
{
	int gate, rank;
	size_t at, length;
	const char *bytes;
	if (!muster_parcel_header(message->bytes, message->length, &gate, 1, &at))
		return;
	while (muster_parcel_part(message->bytes, message->length, &at, &rank, &bytes, &length)) {
		char *text = muster_asprintf("%d\n%.*s", gate, (int)length, bytes);
		muster_link_send(rank, MUSTER_TAG_STOP, text, strlen(text));
		free(text);
	}
}

/* A member that died in a ring cannot say so itself. */
static void tell_of_the_dead(struct muster_leader *leader, double now_ms)
{
	for (size_t i = 0; leader->ring_gate > 0 && i < leader->keeper.count; i++) {
		if (now_ms - leader->keeper.heard_ms[i] < MUSTER_SILENCE_MS || leader->dead[i] == leader->ring_gate)
			continue;
		leader->dead[i] = leader->ring_gate;
		char *text = muster_asprintf("%d %d\nnothing came from rank %d any more", leader->ring_gate,
			leader->members[i], leader->members[i]);
		muster_link_send(0, MUSTER_TAG_BROKEN, text, strlen(text));
		free(text);
	}
}

void muster_leader_message(struct muster_leader *leader, const struct muster_message *message)
{
	if (message->tag == MUSTER_TAG_GONE) {
		muster_keeper_lost(&leader->keeper, message->from);
		return;
	}
	muster_keeper_heard(&leader->keeper, message->from);
	if (message->tag == MUSTER_TAG_ARRIVE)
		arrive(leader, message);
	else if (message->tag == MUSTER_TAG_DEAL && message->from == 0)
		deal(leader, message);
	else if (message->tag == MUSTER_TAG_CALL_OFF && message->from == 0)
		call_off(message);
}

void muster_leader_poll(struct muster_leader *leader, double now_ms)
{
	muster_keeper_poll(&leader->keeper, now_ms);
	tell_of_the_dead(leader, now_ms);
	if (!leader->progress_due || now_ms - leader->progress_ms < PROGRESS_EVERY_MS)
		return;
	struct muster_parcel parcel;
	muster_parcel_begin(&parcel, leader->done, MUSTER_PHASE_COUNT);
	muster_parcel_end(&parcel);
	muster_link_send(0, MUSTER_TAG_PROGRESS, parcel.bytes, parcel.length);
	free(parcel.bytes);
	leader->progress_due = false;
	leader->progress_ms = now_ms;
}
