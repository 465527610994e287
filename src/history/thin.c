/* SPDX-License-Identifier: Apache-2.0 */
/* thin.c - a part of many reports that stands for all of them */
#include "history/thin.h"

/* Keep `most` of the `count` wanted items of one side, in MUSTER_THIN_BLOCKS blocks of equal size: the first block
 * begins with the first item, the last one ends with the last item, and the starts are evenly spread. `at` counts the
 * wanted items of the side. Returns how many are kept, which is less than most where that is no multiple of the blocks.
 */
static size_t thin_side(struct muster_thin_item *items, size_t item_count, bool second, size_t count, size_t most)
{
	size_t size = most / MUSTER_THIN_BLOCKS, at = 0, kept = 0;
	if (count <= most)
		return count;
	for (size_t i = 0; i < item_count; i++) {
		struct muster_thin_item *item = &items[i];
		bool keep = false;
		if (!item->wanted || item->second != second)
			continue;
		for (size_t block = 0; block < MUSTER_THIN_BLOCKS && !keep; block++) {
			size_t start = block * (count - size) / (MUSTER_THIN_BLOCKS - 1);
			keep = at >= start && at < start + size;
		}
		at++;
		item->wanted = keep;
		kept += keep;
	}
	return kept;
}

size_t muster_thin(struct muster_thin_item *items, size_t count, size_t most)
{
	size_t sides[2] = { 0 };
	for (size_t i = 0; i < count; i++)
		if (items[i].wanted)
			sides[items[i].second]++;
	if (sides[0] + sides[1] <= most)
		return sides[0] + sides[1];
	size_t half = most / 2, first = sides[1] < half ? most - sides[1] : half,
	       last = sides[0] < half ? most - sides[0] : half;
	return thin_side(items, count, false, sides[0], first) + thin_side(items, count, true, sides[1], last);
}
