/* SPDX-License-Identifier: Apache-2.0 */
/* ring_messages.c - the messages of a ring barrier as rank 0 sees them
 *
 * When a barrier is complete, ring_scheduler.c reads its entries (muster_ring_entries_read), excludes ranks here, and
 * answers. A reason in entry->why excludes a rank from the round; the first reason stays:
 *
 *   1  the rank itself says that it cannot take part, or its entry is malformed
 *   2  an earlier rank of its node has the same GPU
 *   3  its NCCL version is not the one of the ring
 *
 * Answers are collected for each leader and sent as one message to each, whatever the number of its ranks.
 */
#include "coord/ring_messages.h"

#include "coord/send.h"
#include "muster/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* VERSIONS_MAX: versions that are counted. RANKS_PER_ID: ranks for which one id is enough. Up to this number NCCL
 * itself lets all ranks come to the maker of an id at once (NCCL_UID_STAGGER_THRESHOLD of bootstrap.cc). */
enum { VERSIONS_MAX = 64, RANKS_PER_ID = 256 };

/* ---- what ranks enter with ---- */

/* with_ready: the payload is a struct muster_ring_ready (RING); without, it is left as bytes (RING_ID). */
static void read_entry(
	struct muster_ring_entry *entry, int rank, size_t node, struct muster_bytes payload, bool with_ready)
{
	*entry = (struct muster_ring_entry){ .rank = rank, .node = node, .payload = payload };
	if (!with_ready)
		return;
	if (!muster_unpack_ring_ready(payload.bytes, payload.length, &entry->ready)) {
		entry->ready = (struct muster_ring_ready){ .uuid = "", .agree = "", .detail = "" };
		entry->why = "the rank did not report that it is ready";
	} else if (!entry->ready.can) {
		entry->why = entry->ready.why;
	}
}

/* A leader's payload has a part for each of its ranks. A part counts when its rank is one of that leader's node, and
 * only the first part of a rank does. Payloads are first put in a table by rank, so that the entries are ascending
 * without sorting, whichever way the launcher has placed ranks on nodes. */
void muster_ring_entries_read(struct muster_ring_entries *ret, const struct muster_membership *members,
	const struct muster_barrier *barrier, bool with_ready)
{
	size_t ranks = (size_t)members->ranks;
	struct muster_bytes *payloads = muster_calloc(ranks, sizeof *payloads); /* by rank */
	for (size_t node = 0; node < members->node_count; node++) {
		const struct muster_barrier_entry *from = &barrier->entries[node];
		struct muster_parts parts;
		struct muster_bytes payload;
		int rank;
		if (!from->here || !muster_unpack_parts(from->bytes, from->length, &parts))
			continue;
		while (muster_unpack_part(&parts, &rank, &payload))
			if (rank < members->ranks && members->members[rank].here &&
				members->members[rank].node_index == (int)node && !payloads[rank].bytes)
				payloads[rank] = payload;
	}
	*ret = (struct muster_ring_entries){
		.barrier = barrier->id,
		.items = muster_calloc(ranks, sizeof *ret->items),
		.by_rank = muster_calloc(ranks, sizeof(struct muster_ring_entry *)),
	};
	for (int rank = 0; rank < members->ranks; rank++) {
		if (!payloads[rank].bytes)
			continue;
		ret->by_rank[rank] = &ret->items[ret->count++];
		read_entry(ret->by_rank[rank], rank, (size_t)members->members[rank].node_index, payloads[rank],
			with_ready);
	}
	free(payloads);
}

void muster_ring_entries_done(struct muster_ring_entries *entries)
{
	free(entries->items);
	free(entries->by_rank);
	*entries = (struct muster_ring_entries){ 0 };
}

void muster_ring_exclude(struct muster_ring_entry *entry, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(entry->excluded, sizeof entry->excluded, format, args);
	va_end(args);
	entry->why = entry->excluded;
}

/* The nearest earlier rank of the same node that has the same GPU and is not excluded; NULL. Entries are by rank, so
 * the ranks of one node are neighbours, or a number of nodes apart. The search ends LOOK_BACK entries back, and sooner
 * after 64 entries at a node of a lower number. */
static struct muster_ring_entry *earlier_on_gpu(struct muster_ring_entries *entries, size_t index)
{
	const struct muster_ring_entry *entry = &entries->items[index];
	enum { LOOK_BACK = 1024 }; /* a node has few ranks */
	for (size_t j = index; j-- > 0 && index - j <= LOOK_BACK;) {
		struct muster_ring_entry *other = &entries->items[j];
		if (!other->why && other->node == entry->node && strcmp(other->ready.uuid, entry->ready.uuid) == 0)
			return other;
		if (other->node < entry->node && index - j > 64)
			break; /* launchers place ranks in blocks, or in turn over few nodes */
	}
	return NULL;
}

void muster_ring_exclude_duplicate_gpus(struct muster_ring_entries *entries)
{
	for (size_t i = 0; i < entries->count; i++) {
		struct muster_ring_entry *entry = &entries->items[i];
		const struct muster_ring_entry *other = entry->why ? NULL : earlier_on_gpu(entries, i);
		if (other)
			muster_ring_exclude(entry,
				"excluded from the all-reduce: the rank would share GPU %.48s with rank %d",
				entry->ready.uuid, other->rank);
	}
}

struct version { /* a value of the probe's ring_agree metric */
	const char *name;
	size_t ranks;
};

struct versions {
	struct version items[VERSIONS_MAX];
	size_t count;
};

/* NULL when there are too many. */
static struct version *find_version(struct versions *all, const char *name)
{
	size_t i = 0;
	while (i < all->count && strcmp(all->items[i].name, name) != 0)
		i++;
	if (i == VERSIONS_MAX)
		return NULL;
	if (i == all->count)
		all->items[all->count++] = (struct version){ .name = name };
	return &all->items[i];
}

/* Which version stays: the one that was agreed on before, if any rank still has it; else the one of most ranks, of
 * equally many the one of the lowest rank. A rank that has not said its version ("") stays too. */
void muster_ring_exclude_version_mismatches(
	const struct muster_probe *probe, struct muster_ring_entries *entries, struct muster_ring_agreed *agreed)
{
	bool tie = false, kept = false;
	struct versions all = { .count = 0 };
	const struct version *most = all.items;
	for (size_t i = 0; i < entries->count; i++) {
		const struct muster_ring_entry *entry = &entries->items[i];
		bool counts = !entry->why && *entry->ready.agree;
		struct version *version = counts ? find_version(&all, entry->ready.agree) : NULL;
		if (version)
			version->ranks++;
	}
	for (size_t i = 1; i < all.count; i++) {
		tie = all.items[i].ranks == most->ranks || (tie && all.items[i].ranks < most->ranks);
		if (all.items[i].ranks > most->ranks)
			most = &all.items[i];
	}
	for (size_t i = 0; i < all.count; i++)
		if (strcmp(all.items[i].name, agreed->version) == 0) {
			most = &all.items[i];
			kept = true;
		}
	if (!*agreed->version && all.count > 0) {
		snprintf(agreed->version, sizeof agreed->version, "%s", most->name);
		agreed->tie = tie;
	}
	for (size_t i = 0; all.count > 1 && i < entries->count; i++) {
		struct muster_ring_entry *entry = &entries->items[i];
		if (entry->why || !*entry->ready.agree || strcmp(entry->ready.agree, most->name) == 0)
			continue;
		const struct version *version = find_version(&all, entry->ready.agree);
		size_t ranks = version ? version->ranks : 1;
		muster_ring_exclude(entry, "excluded from the all-reduce: %s %.40s, other ranks %.40s (%zu : %zu%s)",
			probe->ring_agree, entry->ready.agree, most->name, ranks, most->ranks,
			ranks < most->ranks                             ? ""
			: kept && (ranks > most->ranks || !agreed->tie) ? ", as in the first ring"
									: ", no majority");
	}
}

/* ---- ids ---- */

/* As many groups as there are ids, of sizes that differ by one at most, the larger ones first; the first rank of each
 * group makes its id. 520 ranks have three ids, made by the ranks 0, 174 and 347 of the ring. */
int muster_ring_maker_index(int number, int ranks)
{
	int count = (ranks + RANKS_PER_ID - 1) / RANKS_PER_ID;
	if (count > MUSTER_RING_IDS_MAX)
		count = MUSTER_RING_IDS_MAX;
	for (int i = 0, first = 0; i < count && first <= number; i++) {
		if (first == number)
			return i;
		first += ranks / count + (i < ranks % count);
	}
	return -1;
}

/* ---- answers ---- */

struct muster_packer *muster_ring_answers_begin(
	const struct muster_ring_context *context, struct muster_barrier_id barrier)
{
	const struct muster_membership *members = context->members;
	struct muster_packer *answers = muster_calloc(members->node_count + 1, sizeof *answers);
	for (size_t i = 0; i < members->node_count; i++)
		muster_pack_parts(&answers[i], barrier);
	return answers;
}

void muster_ring_answers_add(
	struct muster_packer *answers, const struct muster_ring_entry *entry, struct muster_ring_place place)
{
	struct muster_packer p = { 0 };
	muster_pack_ring_place(&p, &place);
	muster_pack_part(&answers[entry->node], entry->rank, p.bytes, p.length);
	muster_packer_done(&p);
}

void muster_ring_answers_text(
	const struct muster_ring_context *context, struct muster_packer *answers, int rank, const char *text)
{
	struct muster_packer p = { 0 };
	muster_pack_text(&p, text);
	muster_pack_part(&answers[context->members->members[rank].node_index], rank, p.bytes, p.length);
	muster_packer_done(&p);
}

/* Also frees answers. A SCATTER without parts is sent too. Of CANCEL only messages with a part are sent: `none` shows
 * how long a message without parts is. */
void muster_ring_answers_send(
	const struct muster_ring_context *context, enum muster_tag tag, struct muster_packer *answers)
{
	const struct muster_membership *members = context->members;
	struct muster_packer none = { 0 };
	muster_pack_parts(&none, (struct muster_barrier_id){ MUSTER_BARRIER_RING, 0, 0, 0 });
	for (size_t i = 0; i < members->node_count; i++)
		if (tag != MUSTER_TAG_CANCEL || answers[i].length > none.length)
			muster_send_packed(context->transport, members->leaders[i], tag, &answers[i]);
		else
			muster_packer_done(&answers[i]);
	muster_packer_done(&none);
	free(answers);
}

void muster_ring_say(const struct muster_ring_context *context, const char *format, ...)
{
	char text[MUSTER_ERROR_TEXT_MAX];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	context->say(context->say_arg, text);
}

double muster_ring_time_left(const struct muster_ring_context *context, double now_ms)
{
	return context->limit_ms - now_ms - context->deadlines->last_ring;
}
