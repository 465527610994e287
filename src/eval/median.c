/* median.c - the median of all values of a check in a run, or with share_of of their shares
 *
 * It shows a GPU, a port or a node that is slower than the others without an absolute threshold. peers.c says how many
 * are needed.
 */
#include "eval/eval.h"
#include "muster/arena.h"
#include "muster/run_data.h"
#include "util/array.h"

#include <stdlib.h>

bool muster_median_takes(const struct muster_eval *eval, size_t at, const struct muster_entry *entry, double *ret)
{
	const struct muster_check *check = &eval->expect->checks[at];
	const struct muster_sample *sample = entry->sample;
	const struct muster_sample *limit = check->share_of ? muster_index_limit(&eval->index, at, entry) : NULL;
	if (sample->value.type != MUSTER_NUMBER || !muster_sample_chosen(check, sample) ||
		muster_node_leader(&eval->run->nodes[entry->node]) == MUSTER_NOWHERE ||
		muster_check_excuse(check, sample->value) ||
		muster_block_find(eval, at, muster_entry_place(entry)).status == MUSTER_FAIL ||
		(check->share_of && !muster_limit_counts(check, limit)))
		return false;
	*ret = sample->value.number / (limit ? limit->value.number : 1);
	return true;
}

struct muster_median muster_median_find(const struct muster_eval *eval, size_t at)
{
	const struct muster_check *check = &eval->expect->checks[at];
	struct muster_range range = eval->index.of_check[at];
	double *values = muster_calloc(range.count + 1, sizeof *values);
	struct muster_median median = { 0 };
	const struct muster_entry *last = NULL;
	size_t count = 0;
	for (size_t i = 0; i < range.count; i++) {
		const struct muster_entry *entry = &eval->index.entries[range.start + i];
		if (!muster_median_takes(eval, at, entry, &values[count]))
			continue;
		median.places += muster_peers_is_next(last, entry);
		last = entry;
		count++;
	}
	median.value = count ? muster_median_of(values, count) : 0;
	median.why_none = count == 0         ? "no value"
			  : median.value < 0 ? "the median is below 0" /* a share of it would lie above it */
					     : muster_peers_lack(check, median.places, eval->report->arena);
	free(values);
	return median;
}
