/* exchange_peers.c - the other end of an exchange between two ranks
 */
#include "eval/exchange_peers.h"

#include "eval/eval.h"
#include "muster/arena.h"
#include "util/sort.h"

#include <stdlib.h>
#include <string.h>

#define FULL_BYTES (64.0 * 1024 * 1024) /* smaller messages take longer to begin than to go */
#define SHORT_BYTES 1e6
#define SLOW_GBPS 1.2 /* slower than that, an exchange has a smaller message because it is slow: no more than 60 ms */

struct muster_exchange_name {
	const char *name;
	size_t node;
};

struct muster_exchange_peers muster_exchange_peers_make(const struct muster_run *run)
{
	struct muster_exchange_name *names = muster_calloc(run->node_count + 1, sizeof *names);
	for (size_t n = 0; n < run->node_count; n++)
		names[n] = (struct muster_exchange_name){ run->nodes[n].name, n };
	qsort(names, run->node_count, sizeof *names, muster_by_text);
	return (struct muster_exchange_peers){ .run = run, .names = names };
}

void muster_exchange_peers_done(struct muster_exchange_peers *peers)
{
	free(peers->names);
	peers->names = NULL;
}

const char *muster_exchange_label(const struct muster_sample *sample, const char *key)
{
	const char *text = muster_label_string(sample->labels, sample->label_count, key);
	return text ? text : "";
}

bool muster_exchange_peer_find(
	const struct muster_exchange_peers *peers, const struct muster_sample *sample, struct muster_exchange_end *ret)
{
	const struct muster_exchange_name key = { .name = muster_exchange_label(sample, "peer_node") };
	const struct muster_exchange_name *found =
		bsearch(&key, peers->names, peers->run->node_count, sizeof key, muster_by_text);
	const char *gpu = muster_exchange_label(sample, "peer_gpu");
	const struct muster_node *node = found ? &peers->run->nodes[found->node] : NULL;
	for (size_t r = 0; node && r < node->rank_count; r++) {
		if (!node->ranks[r].gpu || strcmp(node->ranks[r].gpu, gpu) != 0)
			continue;
		*ret = (struct muster_exchange_end){ found->node, r };
		return true;
	}
	return false;
}

bool muster_exchange_is_network(const struct muster_sample *sample, bool one_domain)
{
	const char *transport = muster_exchange_label(sample, "transport");
	if (strncmp(transport, "NET/", 4) == 0)
		return true;
	if (strncmp(transport, "P2P/", 4) == 0 || strncmp(transport, "SHM", 3) == 0)
		return false;
	return strcmp(muster_exchange_label(sample, "kind"), "rail") == 0 && !one_domain;
}

const char *muster_exchange_why_small(const struct muster_samples *samples, size_t at, struct muster_arena *arena)
{
	const struct muster_metric *metric = muster_metric_find("pair.exchange_bytes");
	const struct muster_value rate = samples->items[at].value;
	for (size_t i = 0; i < samples->count; i++) {
		/* the size comes before the rate: look there first */
		const struct muster_sample *bytes = &samples->items[(at + samples->count - i) % samples->count];
		if (bytes->metric != metric || !muster_limit_fits(bytes, &samples->items[at]))
			continue;
		double size = bytes->value.type == MUSTER_NUMBER ? bytes->value.number : 0;
		if (size >= FULL_BYTES || (size > SHORT_BYTES && rate.type == MUSTER_NUMBER && rate.number < SLOW_GBPS))
			return NULL;
		return muster_arena_printf(
			arena, "messages of %.4g MiB only, and a share is for 64 MiB", size / (1024 * 1024));
	}
	return NULL;
}
