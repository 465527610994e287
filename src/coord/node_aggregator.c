/* node_aggregator.c - the lowest rank of a node keeps the barriers for all of its ranks */
#include "node_aggregator.h"

#include "util/log.h"
#include "util/text.h"
#include "muster/arena.h"
#include "muster/report.h"
#include "coord/barrier_id.h"
#include "model/run_merge.h"
#include "coord/message.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(
	sizeof((struct muster_node_aggregator *)0)->done / sizeof(int) >= MUSTER_PHASE_COUNT, "every phase is counted");

enum { PROGRESS_EVERY_MS = 100 };

static bool of_job(int barrier)
{
	return barrier == MUSTER_BARRIER_RECORD || barrier >= MUSTER_BARRIER_RING;
}

static void pass(int barrier, int rank, const char *bytes, size_t length)
{
	struct muster_message_writer parcel;
	muster_message_begin(&parcel, &barrier, 1);
	muster_message_add(&parcel, rank, bytes, length);
	muster_message_end(&parcel);
	muster_link_send(rank, MUSTER_TAG_RELEASE, parcel.bytes, parcel.length);
	free(parcel.bytes);
}

/* Payload of the peers barrier: "<local rank> <GPU> <UUID> <path>", "-" for what there is none of. */
struct took {
	char gpu[32], uuid[48], path[64];
	int local_rank;
};

static bool parse_took(const struct muster_barrier_entry *arrival, struct took *ret)
{
	return arrival->here &&
	       sscanf(arrival->bytes, "%d %31s %47s %63s", &ret->local_rank, ret->gpu, ret->uuid, ret->path) == 4;
}

/* Answer of the peers barrier: "<my turn> <turns>" and a line "<rank> <local rank> <GPU> <UUID>" for each rank that
 * came. GPUs on one path take turns, in the order of their ranks. */
static void settle_peers(const struct muster_barrier_set *barriers, const struct muster_barrier *barrier)
{
	struct took *all = muster_calloc(barriers->count, sizeof *all);
	int *turn = muster_calloc(barriers->count, sizeof *turn);
	int turns = 1;
	char *list = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&list, &length);
	for (size_t i = 0; out && i < barriers->count; i++) {
		if (!parse_took(&barrier->entries[i], &all[i]))
			continue;
		for (size_t j = 0; j < i; j++)
			turn[i] += all[j].gpu[0] != '-' && strcmp(all[j].path, all[i].path) == 0;
		if (all[i].gpu[0] != '-' && turn[i] + 1 > turns)
			turns = turn[i] + 1;
		fprintf(out, "%d %d %s %s\n", barriers->members[i], all[i].local_rank, all[i].gpu, all[i].uuid);
	}
	if (!out || fclose(out) != 0)
		abort(); /* out of memory */
	for (size_t i = 0; i < barriers->count; i++) {
		if (!barrier->entries[i].here)
			continue;
		char *answer = muster_asprintf("%d %d\n%s", turn[i], turns, list);
		pass(barrier->id, barriers->members[i], answer, strlen(answer));
		free(answer);
	}
	free(list);
	free(turn);
	free(all);
}

/* The records of the node's ranks, as one. A malformed one is left out: its rank will be named as missing. */
static void bundle_records(struct muster_node_aggregator *leader, const struct muster_barrier *barrier,
	struct muster_message_writer *parcel)
{
	struct muster_run run;
	struct muster_error err;
	bool *here = muster_calloc((size_t)leader->ranks, sizeof *here);
	muster_run_init(&run);
	for (size_t i = 0; i < leader->barriers.count; i++)
		if (barrier->entries[i].here && muster_run_merge(&run, barrier->entries[i].bytes,
							barrier->entries[i].length, here, leader->ranks, &err) < 0)
			muster_log(MUSTER_LOG_WARN,
				&(struct muster_log_place){ .node = leader->node, .rank = leader->members[i] },
				"its record is malformed: %s", err.text);
	for (size_t i = 0; i < run.job.samples.count && run.node_count > 0;
		i++) /* a rank brings its job's facts along */
		muster_samples_add(&run.nodes[0].ranks[0].samples, run.job.samples.items[i]);
	for (size_t i = 0; i < run.node_count; i++) {
		size_t length;
		char *text = muster_node_to_json(&run.nodes[i], &length);
		muster_message_add(parcel, leader->members[0], text, length);
		free(text);
	}
	muster_run_done(&run);
	free(here);
}

static void complete(void *arg, struct muster_barrier_set *barriers, struct muster_barrier *barrier)
{
	struct muster_node_aggregator *leader = arg;
	if (barrier->id == MUSTER_BARRIER_PEERS) {
		settle_peers(barriers, barrier);
		return;
	}
	if (!of_job(barrier->id)) {
		for (size_t i = 0; i < barriers->count; i++)
			if (barrier->entries[i].here)
				pass(barrier->id, barriers->members[i], "", 0);
		return;
	}
	struct muster_message_writer parcel;
	muster_message_begin(&parcel, &barrier->id, 1);
	if (barrier->id == MUSTER_BARRIER_RECORD)
		bundle_records(leader, barrier, &parcel);
	else
		for (size_t i = 0; i < barriers->count; i++)
			if (barrier->entries[i].here)
				muster_message_add(&parcel, barriers->members[i], barrier->entries[i].bytes,
					barrier->entries[i].length);
	muster_message_end(&parcel);
	muster_link_send(0, MUSTER_TAG_REDUCE, parcel.bytes, parcel.length);
	free(parcel.bytes);
}

static void late_entry(void *arg, struct muster_barrier_set *barriers, struct muster_barrier *barrier, size_t member)
{
	const struct muster_node_aggregator *leader = arg;
	const char *answer = barrier->id == leader->last_ring_gate ? "." : "-it came too late";
	pass(barrier->id, barriers->members[member], answer, strlen(answer));
}

void muster_node_aggregator_init(struct muster_node_aggregator *leader, const int *members, size_t count,
	const char *node, int ranks, double limit_ms, double last_limit_ms)
{
	*leader = (struct muster_node_aggregator){ .members = members, .node = node, .ranks = ranks };
	leader->dead = muster_calloc(count, sizeof *leader->dead);
	muster_barrier_set_init(&leader->barriers, members, count, limit_ms);
	leader->barriers.last_gate = MUSTER_BARRIER_RECORD;
	leader->barriers.last_limit_ms = last_limit_ms;
	leader->barriers.complete = complete;
	leader->barriers.late_entry = late_entry;
	leader->barriers.arg = leader;
}

void muster_node_aggregator_advance_deadlines(struct muster_node_aggregator *leader, double earlier_ms)
{
	leader->barriers.limit_ms -= earlier_ms;
	leader->barriers.last_limit_ms -= earlier_ms;
}

void muster_node_aggregator_done(struct muster_node_aggregator *leader)
{
	muster_barrier_set_done(&leader->barriers);
	free(leader->dead);
}

static void arrive(struct muster_node_aggregator *leader, const struct muster_message *message)
{
	int header[2]; /* barrier, the phase that has ended or -1 */
	size_t at;
	if (!muster_message_header(message->bytes, message->length, header, 2, &at))
		return;
	if (header[1] >= 0 && header[1] < MUSTER_PHASE_COUNT) {
		leader->done[header[1]]++;
		leader->progress_due = true;
	}
	muster_barrier_set_enter(
		&leader->barriers, header[0], message->from, message->bytes + at, message->length - at);
}

static void deal(struct muster_node_aggregator *leader, const struct muster_message *message)
{
	int barrier, rank;
	size_t at, length;
	const char *bytes;
	if (!muster_message_header(message->bytes, message->length, &barrier, 1, &at))
		return;
	if (barrier >= MUSTER_BARRIER_RING && !muster_barrier_is_ring_id(barrier))
		leader->ring_gate = barrier;
	while (muster_message_part(message->bytes, message->length, &at, &rank, &bytes, &length)) {
		if (barrier == leader->ring_gate && length == 1 && *bytes == '.')
			leader->last_ring_gate = barrier;
		pass(barrier, rank, bytes, length);
	}
}

/* To each rank that need not wait any more: "<barrier>\n<why>". */
static void call_off(const struct muster_message *message)
{
	int barrier, rank;
	size_t at, length;
	const char *bytes;
	if (!muster_message_header(message->bytes, message->length, &barrier, 1, &at))
		return;
	while (muster_message_part(message->bytes, message->length, &at, &rank, &bytes, &length)) {
		char *text = muster_asprintf("%d\n%.*s", barrier, (int)length, bytes);
		muster_link_send(rank, MUSTER_TAG_CANCEL, text, strlen(text));
		free(text);
	}
}

/* A member that died in a ring cannot say so itself. */
static void tell_of_the_dead(struct muster_node_aggregator *leader, double now_ms)
{
	for (size_t i = 0; leader->ring_gate > 0 && i < leader->barriers.count; i++) {
		if (now_ms - leader->barriers.last_heartbeat_ms[i] < MUSTER_SILENCE_MS ||
			leader->dead[i] == leader->ring_gate)
			continue;
		leader->dead[i] = leader->ring_gate;
		char *text = muster_asprintf("%d %d\nnothing came from rank %d any more", leader->ring_gate,
			leader->members[i], leader->members[i]);
		muster_link_send(0, MUSTER_TAG_RING_FAILED, text, strlen(text));
		free(text);
	}
}

void muster_node_aggregator_message(struct muster_node_aggregator *leader, const struct muster_message *message)
{
	if (message->tag == MUSTER_TAG_PEER_DIED) {
		muster_barrier_set_lost(&leader->barriers, message->from);
		return;
	}
	muster_barrier_set_heartbeat(&leader->barriers, message->from);
	if (message->tag == MUSTER_TAG_ENTER)
		arrive(leader, message);
	else if (message->tag == MUSTER_TAG_SCATTER && message->from == 0)
		deal(leader, message);
	else if (message->tag == MUSTER_TAG_CANCEL_RANKS && message->from == 0)
		call_off(message);
}

void muster_node_aggregator_poll(struct muster_node_aggregator *leader, double now_ms)
{
	muster_barrier_set_poll(&leader->barriers, now_ms);
	tell_of_the_dead(leader, now_ms);
	if (!leader->progress_due || now_ms - leader->progress_ms < PROGRESS_EVERY_MS)
		return;
	struct muster_message_writer parcel;
	muster_message_begin(&parcel, leader->done, MUSTER_PHASE_COUNT);
	muster_message_end(&parcel);
	muster_link_send(0, MUSTER_TAG_PROGRESS, parcel.bytes, parcel.length);
	free(parcel.bytes);
	leader->progress_due = false;
	leader->progress_ms = now_ms;
}
