/* ring_ready.c - what the ranks bring to a round of rings, and who cannot take part */
#include "coord/ring_ready.h"

#include "muster/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS_MAX = 64 }; /* of versions that are told apart */

static void add_entry(
	struct muster_ring_entries *entries, int rank, size_t node, struct muster_bytes payload, bool with_ready)
{
	struct muster_ring_entry *entry = &entries->items[entries->count++];
	*entry = (struct muster_ring_entry){ .rank = rank, .node = node, .payload = payload };
	if (!with_ready)
		return;
	if (!muster_unpack_ring_ready(payload.bytes, payload.length, &entry->ready)) {
		entry->ready = (struct muster_ring_ready){ .uuid = "", .agree = "", .detail = "" };
		entry->why = "it did not say that it can take part";
	} else if (!entry->ready.can) {
		entry->why = entry->ready.why;
	}
}

static int by_rank(const void *a, const void *b)
{
	const struct muster_ring_entry *x = a, *y = b;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

void muster_ring_entries_read(struct muster_ring_entries *ret, const struct muster_membership *members,
	const struct muster_barrier *barrier, bool with_ready)
{
	size_t ranks = (size_t)members->ranks;
	*ret = (struct muster_ring_entries){
		.items = muster_calloc(ranks, sizeof *ret->items),
		.by_rank = muster_calloc(ranks, sizeof(struct muster_ring_entry *)),
	};
	bool *seen = muster_calloc(ranks, sizeof *seen);
	for (size_t node = 0; node < members->node_count; node++) {
		const struct muster_barrier_entry *from = &barrier->entries[node];
		struct muster_parts parts;
		struct muster_bytes payload;
		int rank;
		if (!from->here || !muster_unpack_parts(from->bytes, from->length, &parts))
			continue;
		while (muster_unpack_part(&parts, &rank, &payload)) {
			if (rank >= members->ranks || !members->members[rank].here ||
				members->members[rank].node_index != (int)node || seen[rank])
				continue;
			seen[rank] = true;
			add_entry(ret, rank, node, payload, with_ready);
		}
	}
	free(seen);
	if (ret->count > 0)
		qsort(ret->items, ret->count, sizeof *ret->items, by_rank);
	for (size_t i = 0; i < ret->count; i++)
		ret->by_rank[ret->items[i].rank] = &ret->items[i];
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
		struct muster_ring_entry *other = entries->items[i].why ? NULL : earlier_on_gpu(entries, i);
		if (other)
			muster_ring_exclude(&entries->items[i], "left out of the ring: rank %d has taken the same GPU",
				other->rank);
	}
}

void muster_ring_exclude_version_mismatches(const struct muster_probe *probe, struct muster_ring_entries *entries)
{
	struct {
		const char *name;
		size_t count;
	} kinds[KINDS_MAX];
	size_t kind_count = 0, most = 0;
	for (size_t i = 0; i < entries->count; i++) {
		const struct muster_ring_entry *entry = &entries->items[i];
		size_t k = 0;
		if (entry->why || !*entry->ready.agree)
			continue;
		while (k < kind_count && strcmp(kinds[k].name, entry->ready.agree) != 0)
			k++;
		if (k == kind_count && kind_count < KINDS_MAX) {
			kinds[kind_count].name = entry->ready.agree;
			kinds[kind_count++].count = 0;
		}
		if (k < kind_count)
			kinds[k].count++;
	}
	for (size_t k = 1; k < kind_count; k++)
		if (kinds[k].count > kinds[most].count)
			most = k;
	for (size_t i = 0; kind_count > 1 && i < entries->count; i++) {
		struct muster_ring_entry *entry = &entries->items[i];
		if (entry->why || !*entry->ready.agree || strcmp(entry->ready.agree, kinds[most].name) == 0)
			continue;
		muster_ring_exclude(entry, "left out of the ring: its %s is %.40s, and that of %zu ranks is %.40s",
			probe->ring_agree, entry->ready.agree, kinds[most].count, kinds[most].name);
	}
}
