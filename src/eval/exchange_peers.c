/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_peers.c - the other end of an exchange between two ranks, and values that follow from several exchanges
 *
 * The derive_*.c files use this module before a run is judged, exchanges.c while the run is judged.
 */
#include "eval/exchange_peers.h"

#include "model/share.h"
#include "muster/probe.h"
#include "muster/run_data.h"
#include "util/array.h"

#include <stdlib.h>
#include <string.h>

/* An exchange says how fast a path is when its message has FULL_BYTES; or more than SHORT_BYTES, and takes LONG_MS or
 * more, so that the start of the exchange hardly counts. Smaller messages take longer to begin than to go. */
#define FULL_BYTES (64.0 * 1024 * 1024)
#define SHORT_BYTES 1e6
#define LONG_MS 2

struct muster_exchange_name {
	const char *name; /* first, for muster_by_text */
	size_t node;      /* place in the run */
};

struct muster_exchange_peers muster_exchange_peers_make(const struct muster_run *run, size_t domains)
{
	struct muster_exchange_name *names = muster_calloc(run->node_count + 1, sizeof *names);
	for (size_t n = 0; n < run->node_count; n++)
		names[n] = (struct muster_exchange_name){ run->nodes[n].name, n };
	qsort(names, run->node_count, sizeof *names, muster_by_text);
	return (struct muster_exchange_peers){ .run = run, .names = names, .one_domain = domains == 1 };
}

void muster_exchange_peers_done(struct muster_exchange_peers *peers)
{
	free(peers->names);
	peers->names = NULL;
}

bool muster_exchange_peer_find(
	const struct muster_exchange_peers *peers, const struct muster_sample *sample, struct muster_exchange_end *ret)
{
	const struct muster_exchange_name key = { .name = muster_sample_label_text(sample, "peer_node") };
	const struct muster_exchange_name *found =
		bsearch(&key, peers->names, peers->run->node_count, sizeof key, muster_by_text);
	const char *gpu = muster_sample_label_text(sample, "peer_gpu");
	const struct muster_node *node = found ? &peers->run->nodes[found->node] : NULL;
	for (size_t r = 0; node && r < node->rank_count; r++) {
		if (!node->ranks[r].gpu || strcmp(node->ranks[r].gpu, gpu) != 0)
			continue;
		*ret = (struct muster_exchange_end){ found->node, r };
		return true;
	}
	return false;
}

bool muster_exchange_is_network(const struct muster_exchange_peers *peers, const struct muster_sample *sample)
{
	const char *transport = muster_sample_label_text(sample, "transport");
	if (strncmp(transport, "NET/", 4) == 0)
		return true;
	if (strncmp(transport, "P2P/", 4) == 0 || strncmp(transport, "SHM", 3) == 0)
		return false;
	return strcmp(muster_sample_label_text(sample, "kind"), "rail") == 0 && !peers->one_domain;
}

const char *muster_exchange_nic(const struct muster_sample *sample)
{
	const char *nic = muster_sample_label_text(sample, "nic");
	return *nic && strcmp(nic, "none") != 0 && strcmp(nic, "unknown") != 0 ? nic : NULL;
}

/* The size of the message is a sample of pair.exchange_bytes of the same rank, with the same labels. A rank emits the
 * size before the rate, so the search goes backwards from the rate, and around the end. Without a size NULL: a report
 * that does not say it is believed. */
const char *muster_exchange_why_small(const struct muster_samples *samples, size_t at, struct muster_arena *arena)
{
	const struct muster_metric *metric = muster_metric_find("pair.exchange_bytes");
	const struct muster_value rate = samples->items[at].value;
	for (size_t i = 0; i < samples->count; i++) {
		const struct muster_sample *bytes = &samples->items[(at + samples->count - i) % samples->count];
		if (bytes->metric != metric || !muster_limit_fits(bytes, &samples->items[at]))
			continue;
		double size = bytes->value.type == MUSTER_NUMBER ? bytes->value.number : 0;
		if (size >= FULL_BYTES ||
			(size > SHORT_BYTES && rate.type == MUSTER_NUMBER && size / 1e6 >= LONG_MS * rate.number))
			return NULL;
		return muster_arena_printf(
			arena, "messages of %.4g MiB only, and a share is for 64 MiB", size / (1024 * 1024));
	}
	return NULL;
}

bool muster_exchange_is_measured(const struct muster_run *run, const struct muster_metric *metric)
{
	for (struct muster_run_walk at = { 0 }; muster_run_next(run, &at);)
		for (size_t i = at.rank ? at.samples->count : 0; i-- > 0;) /* what is derived stands last */
			if (at.samples->items[i].metric == metric)
				return true;
	return false;
}

/* ---- derived values ---- */

struct muster_limit muster_limit_of(
	const struct muster_samples *samples, const char *metric, struct muster_arena *arena)
{
	const struct muster_sample *sample = muster_sample_named(samples, metric);
	const char *link = sample ? muster_sample_label_text(sample, "link") : "";
	if (*link && sample->value.type == MUSTER_NUMBER && sample->value.number > 0)
		return (struct muster_limit){ .gbps = sample->value.number, .words = link };
	return (struct muster_limit){ .why = muster_arena_printf(arena, "%s: %s", metric,
					      sample && sample->reason ? sample->reason : "not measured"),
		.unread = sample ? muster_sample_unread(sample) : NULL };
}

void muster_derived_add(struct muster_samples *samples, const struct muster_metric *metric,
	const struct muster_label *labels, size_t label_count, double number, const char *reason, const char *unread)
{
	muster_samples_add(samples, (struct muster_sample){ .metric = metric,
					    .labels = labels,
					    .label_count = (unsigned int)label_count,
					    .value = reason ? muster_null() : muster_number(number),
					    .reason = reason,
					    .unread = reason ? unread : NULL });
}

void muster_exchange_limit_add(struct muster_run *run, struct muster_exchange_end end, size_t at,
	const struct muster_metric *metric, const char *path, struct muster_limit limit)
{
	struct muster_samples *samples = &run->nodes[end.node].ranks[end.rank].samples;
	const struct muster_sample *exchange = &samples->items[at];
	size_t count = exchange->label_count;
	struct muster_label *labels = muster_arena_alloc(run->arena, (count + 2) * sizeof *labels);
	memcpy(labels, exchange->labels, count * sizeof *labels);
	labels[count] = (struct muster_label){ "path", muster_string(path) };
	labels[count + 1] = (struct muster_label){ "link", muster_string(limit.words ? limit.words : path) };
	muster_derived_add(samples, metric, labels, count + 2, limit.gbps, limit.why, limit.unread);
}
