/* others.c - what the other ranks with the same GPU model have: their median, and how far they usually are from it
 *
 * All values of a model are sorted once; a rank's others are these without its own, so that each rank costs a few
 * binary searches.
 */
#include "eval/eval.h"
#include "muster/arena.h"
#include "util/sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The values of the ranks with one model, ascending. */
struct group {
	const char *model;
	double *values;
	size_t count;
};

struct member {
	const struct muster_sample *sample;
	const char *model;
	size_t group;
};

struct muster_others_index {
	struct member *members; /* by address of the sample */
	size_t member_count;
	struct group *groups;
	size_t group_count;
	double *values;
};

static int by_sample(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	return ((uintptr_t)x->sample > (uintptr_t)y->sample) - ((uintptr_t)x->sample < (uintptr_t)y->sample);
}

static int by_model(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = strcmp(x->model, y->model);
	double p = x->sample->value.number, q = y->sample->value.number;
	return order ? order : (p > q) - (p < q);
}

static const char *text_of(const struct muster_rank *rank, const struct muster_metric *metric)
{
	const struct muster_sample *sample = muster_samples_find(&rank->samples, metric);
	return sample && sample->value.type == MUSTER_STRING ? sample->value.string : NULL;
}

const char *muster_gpu_model(const struct muster_rank *rank, struct muster_arena *arena)
{
	const char *model = text_of(rank, muster_metric_find("gpu.name"));
	bool slice = rank->gpu_uuid && strncmp(rank->gpu_uuid, "MIG-", 4) == 0;
	const char *profile = slice ? text_of(rank, muster_metric_find("gpu.mig_profile")) : NULL;
	model = model ? model : "a GPU of unknown model";
	return slice ? muster_arena_printf(arena, "%s, MIG %s", model, profile ? profile : "instance") : model;
}

struct muster_others_index *muster_others_make(const struct muster_eval *eval, size_t at)
{
	struct muster_range range = eval->index.of_check[at];
	struct muster_others_index *others = muster_calloc(1, sizeof *others);
	others->members = muster_calloc(range.count + 1, sizeof *others->members);
	others->values = muster_calloc(range.count + 1, sizeof *others->values);
	others->groups = muster_calloc(range.count + 1, sizeof *others->groups);
	for (size_t i = 0; i < range.count; i++) {
		const struct muster_entry *entry = &eval->index.entries[range.start + i];
		const struct muster_rank *rank = &eval->run->nodes[entry->node].ranks[entry->rank];
		if (muster_median_takes(eval, at, entry))
			others->members[others->member_count++] = (struct member){
				.sample = entry->sample,
				.model = muster_gpu_model(rank, eval->report->arena),
			};
	}
	qsort(others->members, others->member_count, sizeof *others->members, by_model);
	for (size_t i = 0; i < others->member_count; i++) {
		struct member *member = &others->members[i];
		others->values[i] = member->sample->value.number;
		if (i == 0 || strcmp(member->model, member[-1].model) != 0)
			others->groups[others->group_count++] =
				(struct group){ .model = member->model, .values = &others->values[i] };
		member->group = others->group_count - 1;
		others->groups[member->group].count++;
	}
	qsort(others->members, others->member_count, sizeof *others->members, by_sample);
	return others;
}

/* The value at a place among a group's values without the one at `own`. */
static double value_at(const struct group *group, size_t own, size_t place)
{
	return group->values[place < own ? place : place + 1];
}

/* The distance from the middle of the one that is number `rank` (from 0) by that distance. */
static double distance_of(const struct group *group, size_t own, double middle, size_t rank)
{
	size_t count = rank + 1, low = 0, high = group->count - 1 - count;
	while (low < high) { /* the first of the `count` values that are next to the middle */
		size_t first = low + (high - low) / 2;
		if (middle - value_at(group, own, first) > value_at(group, own, first + count) - middle)
			low = first + 1;
		else
			high = first;
	}
	return fmax(fabs(middle - value_at(group, own, low)), fabs(value_at(group, own, low + rank) - middle));
}

struct muster_others muster_others_find(const struct muster_others_index *others, const struct muster_sample *sample)
{
	const struct member key = { .sample = sample };
	const struct member *member =
		bsearch(&key, others->members, others->member_count, sizeof *others->members, by_sample);
	if (!member)
		return (struct muster_others){ .why_none = "its own value does not count" };
	const struct group *group = &others->groups[member->group];
	size_t low = 0, high = group->count, count = group->count - 1;
	struct muster_others found = { .count = count, .model = group->model };
	while (low < high) { /* its own place: any that has the same value will do */
		size_t middle = low + (high - low) / 2;
		if (group->values[middle] < sample->value.number)
			low = middle + 1;
		else
			high = middle;
	}
	if (count == 0) {
		found.why_none = "no other rank has this GPU model, so there is nothing to compare with";
		return found;
	}
	found.median = (value_at(group, low, (count - 1) / 2) + value_at(group, low, count / 2)) / 2;
	found.deviation = (distance_of(group, low, found.median, (count - 1) / 2) +
				  distance_of(group, low, found.median, count / 2)) /
			  2;
	if (!(found.median > 0))
		found.why_none = "the median of the other ranks is not above 0";
	return found;
}

void muster_others_free(struct muster_others_index *others)
{
	if (!others)
		return;
	free(others->members);
	free(others->groups);
	free(others->values);
	free(others);
}
