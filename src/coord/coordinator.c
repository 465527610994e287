/* coordinator.c - rank 0's office: who is there, who leads which node, everybody's records */
#include "coordinator.h"

#include "util/log.h"
#include "util/text.h"
#include "muster/probe.h"
#include "muster/report.h"
#include "coord/ring_scheduler.h"
#include "coord/message.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void complete(void *arg, struct muster_barrier_set *barriers, struct muster_barrier *barrier);
static void late_entry(void *arg, struct muster_barrier_set *barriers, struct muster_barrier *barrier, size_t member);

void muster_coordinator_init(
	struct muster_coordinator *root, int ranks, double hello_until_ms, double limit_ms, double last_limit_ms)
{
	*root = (struct muster_coordinator){
		.ranks = ranks,
		.hellos = muster_calloc((size_t)ranks, sizeof *root->hellos),
		.here = muster_calloc((size_t)ranks, sizeof *root->here),
		.hello_until_ms = hello_until_ms,
		.limit_ms = limit_ms,
		.last_limit_ms = last_limit_ms,
	};
	muster_run_init(&root->run);
	muster_progress_init(&root->progress);
}

void muster_coordinator_advance_deadlines(struct muster_coordinator *root, double earlier_ms)
{
	root->hello_until_ms -= earlier_ms;
	root->limit_ms -= earlier_ms;
	root->last_limit_ms -= earlier_ms;
	root->barriers.limit_ms -= earlier_ms;
	root->barriers.last_limit_ms -= earlier_ms;
}

void muster_coordinator_done(struct muster_coordinator *root)
{
	muster_barrier_set_done(&root->barriers);
	muster_run_done(&root->run);
	for (size_t i = 0; root->dealers && i < muster_probe_count(); i++)
		muster_ring_scheduler_free(root->dealers[i]);
	free(root->dealers);
	free(root->hellos);
	free(root->here);
	free(root->leaders);
	free(root->done);
	*root = (struct muster_coordinator){ 0 };
}

/* A layout that sends the rank home with this exit code. */
static void send_off(int rank, int exit_code)
{
	struct muster_message_writer parcel;
	muster_message_begin(&parcel, (int[]){ exit_code, 0, 0 }, 3);
	muster_message_end(&parcel);
	muster_link_send(rank, MUSTER_TAG_MEMBERSHIP, parcel.bytes, parcel.length);
	free(parcel.bytes);
}

static void hello(struct muster_coordinator *root, const struct muster_message *message)
{
	struct muster_hello *from = &root->hellos[message->from];
	if (from->here)
		return;
	from->here = true;
	size_t host = strcspn(message->bytes, "\n"); /* "<host>\n<node>": a node's name may hold anything */
	from->host = muster_arena_string_n(root->run.arena, message->bytes, host);
	from->node = muster_arena_string(root->run.arena, message->bytes + host + (message->bytes[host] == '\n'));
	root->hello_count++;
	/* too late: the nodes are dealt, and it will be named as missing; or the run was called off before it came */
	if (root->laid_out)
		send_off(message->from, root->cancelled ? root->cancelled : MUSTER_EXIT_INCONCLUSIVE);
}

struct host {
	const char *node, *host; /* as they said it; interned, so equal texts are equal pointers */
	const char *name;        /* as it is called here */
};

/* Hosts that share a name are told apart: the first keeps it. */
static const char *name_host(struct muster_coordinator *root, const struct host *hosts, const struct muster_hello *from)
{
	int same = 1;
	for (size_t i = 0; i < root->leader_count; i++)
		same += hosts[i].node == from->node;
	if (same == 1)
		return from->node;
	const char *name = muster_arena_printf(root->run.arena, "%s#%d", from->node, same);
	muster_log(MUSTER_LOG_WARN, NULL, "%d hosts are called %s; one of them is %s here", same, from->node, name);
	return name;
}

/* Node indices in the order of their lowest rank. */
static void find_nodes(struct muster_coordinator *root)
{
	struct host *hosts = muster_calloc((size_t)root->ranks, sizeof *hosts);
	root->leaders = muster_calloc((size_t)root->ranks, sizeof *root->leaders);
	for (int rank = 0; rank < root->ranks; rank++) {
		struct muster_hello *from = &root->hellos[rank];
		if (!from->here)
			continue;
		/* launchers place ranks in blocks or in turn: look at the last node first, then at all */
		size_t node = root->leader_count;
		if (node > 0 && hosts[node - 1].node == from->node && hosts[node - 1].host == from->host)
			node--;
		else
			for (node = 0; node < root->leader_count &&
				       (hosts[node].node != from->node || hosts[node].host != from->host);
				node++)
				;
		if (node == root->leader_count) {
			hosts[node] = (struct host){ from->node, from->host, name_host(root, hosts, from) };
			root->leaders[root->leader_count++] = rank;
		}
		from->node_index = (int)node;
		from->node = hosts[node].name;
	}
	free(hosts);
}

/* Layout for a rank: "<exit code or 0> <node index> <nodes>", then a part for each rank of its node, lowest first, with
 * the node's name. */
static void lay_out(struct muster_coordinator *root)
{
	find_nodes(root);
	struct muster_message_writer *parcels = muster_calloc(root->leader_count, sizeof *parcels);
	for (size_t i = 0; i < root->leader_count; i++)
		muster_message_begin(&parcels[i], (int[]){ 0, (int)i, (int)root->leader_count }, 3);
	for (int rank = 0; rank < root->ranks; rank++)
		if (root->hellos[rank].here)
			muster_message_add(&parcels[root->hellos[rank].node_index], rank, root->hellos[rank].node,
				strlen(root->hellos[rank].node));
	for (size_t i = 0; i < root->leader_count; i++)
		muster_message_end(&parcels[i]);
	for (int rank = 0; rank < root->ranks; rank++) {
		const struct muster_hello *from = &root->hellos[rank];
		if (from->here)
			muster_link_send(rank, MUSTER_TAG_MEMBERSHIP, parcels[from->node_index].bytes,
				parcels[from->node_index].length);
	}
	for (size_t i = 0; i < root->leader_count; i++)
		free(parcels[i].bytes);
	free(parcels);
	muster_barrier_set_init(&root->barriers, root->leaders, root->leader_count, root->limit_ms);
	root->barriers.last_gate = MUSTER_BARRIER_RECORD;
	root->barriers.last_limit_ms = root->last_limit_ms;
	root->barriers.complete = complete;
	root->barriers.late_entry = late_entry;
	root->barriers.arg = root;
	root->done = muster_calloc(root->leader_count, sizeof *root->done);
	root->laid_out = true;
}

void muster_coordinator_cancel(struct muster_coordinator *root, int exit_code)
{
	for (int rank = 0; rank < root->ranks; rank++)
		send_off(rank, exit_code);
	root->laid_out = true;
	root->cancelled = exit_code;
}

/* One parcel of answers for each leader. */

struct muster_message_writer *muster_coordinator_begin_answers(const struct muster_coordinator *root, int barrier)
{
	struct muster_message_writer *parcels = muster_calloc(root->leader_count, sizeof *parcels);
	for (size_t i = 0; i < root->leader_count; i++)
		muster_message_begin(&parcels[i], &barrier, 1);
	return parcels;
}

void muster_coordinator_send_answers(
	const struct muster_coordinator *root, enum muster_tag tag, struct muster_message_writer *parcels)
{
	for (size_t i = 0; i < root->leader_count; i++) {
		muster_message_end(&parcels[i]);
		muster_link_send(root->leaders[i], tag, parcels[i].bytes, parcels[i].length);
		free(parcels[i].bytes);
	}
	free(parcels);
}

static void take_record(struct muster_coordinator *root, const char *bytes, size_t length)
{
	const char *text;
	size_t at = 0, size;
	int id, rank;
	if (!muster_message_header(bytes, length, &id, 1, &at))
		return;
	while (muster_message_part(bytes, length, &at, &rank, &text, &size)) {
		struct muster_error err;
		if (muster_run_merge(&root->run, text, size, root->here, root->ranks, &err) < 0)
			muster_log(
				MUSTER_LOG_WARN, NULL, "the record of rank %d's node is malformed: %s", rank, err.text);
	}
}

static void take_records(struct muster_coordinator *root, const struct muster_barrier *barrier)
{
	bool all = true;
	for (size_t i = 0; i < root->leader_count; i++) {
		if (barrier->entries[i].here)
			take_record(root, barrier->entries[i].bytes, barrier->entries[i].length);
		all = all && barrier->entries[i].here;
	}
	/* ranks that miss their leader find out about now, and send their records here */
	root->strays_until_ms = muster_now_ms() + (all ? 0 : MUSTER_SILENCE_MS);
}

/* Who deals the rings of this barrier's probe; NULL when it is no ring's barrier. */
static struct muster_ring_scheduler *dealer_of(struct muster_coordinator *root, int barrier)
{
	size_t probe =
		barrier < MUSTER_BARRIER_RING ? muster_probe_count() : (size_t)muster_barrier_ring_probe(barrier);
	if (probe >= muster_probe_count())
		return NULL;
	if (!root->dealers)
		root->dealers = muster_calloc(muster_probe_count(), sizeof *root->dealers);
	if (!root->dealers[probe])
		root->dealers[probe] = muster_ring_scheduler_new(root, muster_probe_at(probe));
	return root->dealers[probe];
}

/* "<barrier> <rank>\n<why>": a ring in which this rank has a part is broken. */
static void take_broken(struct muster_coordinator *root, const struct muster_message *message)
{
	int numbers[2];
	size_t at;
	if (!root->laid_out || root->gathered ||
		!muster_message_header(message->bytes, message->length, numbers, 2, &at))
		return;
	struct muster_ring_scheduler *dealer = dealer_of(root, numbers[0]);
	if (dealer)
		muster_ring_scheduler_broken(dealer, root, numbers[1], numbers[0], message->bytes + at);
}

static void complete(void *arg, struct muster_barrier_set *barriers, struct muster_barrier *barrier)
{
	struct muster_coordinator *root = arg;
	(void)barriers;
	if (root->gathered)
		return;
	if (barrier->id == MUSTER_BARRIER_RECORD)
		take_records(root, barrier);
	else if (dealer_of(root, barrier->id))
		muster_ring_scheduler_complete(dealer_of(root, barrier->id), root, barrier);
}

/* A whole node came too late: its ranks get the answer that sends them on. */
static void late_entry(void *arg, struct muster_barrier_set *barriers, struct muster_barrier *barrier, size_t member)
{
	struct muster_coordinator *root = arg;
	(void)barriers;
	const struct muster_barrier_entry *bundle = &barrier->entries[member];
	size_t at = 0, length;
	int id, rank;
	const char *bytes;
	struct muster_ring_scheduler *dealer = dealer_of(root, barrier->id);
	const char *answer = dealer ? muster_ring_scheduler_late_answer(dealer, barrier->id) : "";
	struct muster_message_writer *parcels = muster_coordinator_begin_answers(root, barrier->id);
	if (muster_message_header(bundle->bytes, bundle->length, &id, 1, &at))
		while (muster_message_part(bundle->bytes, bundle->length, &at, &rank, &bytes, &length))
			muster_message_add(&parcels[member], rank, answer, strlen(answer));
	muster_coordinator_send_answers(root, MUSTER_TAG_SCATTER, parcels);
}

static void take_bundle(struct muster_coordinator *root, const struct muster_message *message)
{
	int barrier;
	size_t at;
	if (!root->laid_out || !muster_message_header(message->bytes, message->length, &barrier, 1, &at))
		return;
	if (muster_barrier_set_index(&root->barriers, message->from) >= 0)
		muster_barrier_set_enter(&root->barriers, barrier, message->from, message->bytes, message->length);
	else if (barrier == MUSTER_BARRIER_RECORD && !root->gathered)
		take_record(root, message->bytes, message->length);
}

static void take_progress(struct muster_coordinator *root, const struct muster_message *message)
{
	int leader = root->laid_out ? muster_barrier_set_index(&root->barriers, message->from) : -1;
	size_t at;
	if (leader >= 0)
		(void)muster_message_header(
			message->bytes, message->length, root->done[leader], MUSTER_PHASE_COUNT, &at);
}

/* Afterwards it is for its leader to notice. */
static void gone_before_layout(struct muster_coordinator *root, int rank)
{
	root->hello_count -= root->hellos[rank].here;
	root->hellos[rank].here = false;
	root->gone_count++;
}

void muster_coordinator_message(struct muster_coordinator *root, const struct muster_message *message)
{
	if (root->laid_out && !root->cancelled)
		muster_barrier_set_heartbeat(&root->barriers, message->from);
	if (message->tag == MUSTER_TAG_HELLO)
		hello(root, message);
	else if (message->tag == MUSTER_TAG_REDUCE)
		take_bundle(root, message);
	else if (message->tag == MUSTER_TAG_PROGRESS)
		take_progress(root, message);
	else if (message->tag == MUSTER_TAG_RING_FAILED)
		take_broken(root, message);
	else if (message->tag == MUSTER_TAG_PEER_DIED && !root->laid_out)
		gone_before_layout(root, message->from);
}

static bool leader_is_dead(const struct muster_coordinator *root, size_t node, double now_ms)
{
	return now_ms - root->barriers.last_heartbeat_ms[node] >= MUSTER_SILENCE_MS;
}

/* But for dead leaders: what their ranks have to say may still come. */
static bool everyone_is_in(const struct muster_coordinator *root, double now_ms)
{
	for (int rank = 0; rank < root->ranks; rank++) {
		const struct muster_hello *hello = &root->hellos[rank];
		if (hello->here && !root->here[rank] &&
			(root->leaders[hello->node_index] != rank ||
				!leader_is_dead(root, (size_t)hello->node_index, now_ms)))
			return false;
	}
	return true;
}

static void end_gather(struct muster_coordinator *root)
{
	muster_run_add_missing(&root->run, root->hellos, root->here, root->ranks);
	root->gathered = true;
}

void muster_coordinator_log(const struct muster_coordinator *root, const char *format, ...)
{
	char text[MUSTER_ERROR_TEXT_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	muster_progress_say(&root->progress, text);
}

/* The first rank of the node that has a part in a ring of this round; -1. */
static int rank_in_ring(const struct muster_coordinator *root, const struct muster_ring_scheduler *dealer, size_t node)
{
	for (int rank = root->leaders[node]; rank < root->ranks; rank++)
		if (root->hellos[rank].here && root->hellos[rank].node_index == (int)node && dealer->group[rank] >= 0)
			return rank;
	return -1;
}

/* A node whose leader has died cannot say that its ring is broken. */
static void tell_of_the_dead(struct muster_coordinator *root, double now_ms)
{
	for (size_t probe = 0; root->dealers && !root->gathered && probe < muster_probe_count(); probe++) {
		struct muster_ring_scheduler *dealer = root->dealers[probe];
		for (size_t i = 0; dealer && dealer->round >= 0 && i < root->leader_count; i++) {
			int rank = leader_is_dead(root, i, now_ms) ? rank_in_ring(root, dealer, i) : -1;
			if (rank < 0)
				continue;
			char *why = muster_asprintf("nothing came from rank %d any more", root->leaders[i]);
			muster_ring_scheduler_broken(
				dealer, root, rank, muster_barrier_of_ring((int)probe, dealer->round), why);
			free(why);
		}
	}
}

void muster_coordinator_poll(struct muster_coordinator *root, double now_ms)
{
	int done[MUSTER_PHASE_COUNT] = { [MUSTER_PHASE_START] = root->hello_count };
	if (!root->laid_out && (root->hello_count + root->gone_count == root->ranks || now_ms > root->hello_until_ms))
		lay_out(root);
	if (root->barriers.count > 0)
		muster_barrier_set_poll(&root->barriers, now_ms);
	tell_of_the_dead(root, now_ms);
	if (!root->gathered && root->strays_until_ms > 0 &&
		(now_ms >= root->strays_until_ms || now_ms >= root->last_limit_ms || everyone_is_in(root, now_ms)))
		end_gather(root);
	for (size_t i = 0; i < root->barriers.count; i++)
		for (int phase = MUSTER_PHASE_START + 1; phase < MUSTER_PHASE_COUNT; phase++)
			done[phase] += root->done[i][phase];
	if (!root->gathered && !root->cancelled)
		muster_progress_show(&root->progress, done, root->ranks);
}

void muster_coordinator_give_up(struct muster_coordinator *root)
{
	for (struct muster_barrier *barrier = root->barriers.barriers; barrier && root->strays_until_ms <= 0;
		barrier = barrier->next)
		if (barrier->id == MUSTER_BARRIER_RECORD && !barrier->completed)
			take_records(root, barrier);
	if (!root->gathered)
		end_gather(root);
}

void muster_coordinator_release(struct muster_coordinator *root, int exit_code)
{
	struct muster_message_writer *parcels = muster_coordinator_begin_answers(root, MUSTER_BARRIER_RECORD);
	char answer[16];
	int length = snprintf(answer, sizeof answer, "%d", exit_code);
	for (int rank = 0; rank < root->ranks; rank++)
		if (root->hellos[rank].here)
			muster_message_add(&parcels[root->hellos[rank].node_index], rank, answer, (size_t)length);
	muster_coordinator_send_answers(root, MUSTER_TAG_SCATTER, parcels);
}
