/* others.c - what the other ranks with the same GPU model have: their median, and how far they usually are from it
 *
 * All values of a model (or of a model and a machine type, or of one GPU of all nodes) are sorted once; a rank's others
 * are these without its own, so that each rank costs a few binary searches.
 */
#include "eval/eval.h"
#include "muster/arena.h"
#include "muster/run_data.h"
#include "util/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The values of the ranks with one key, ascending. */
struct group {
	const char *model;
	double *values;
	size_t count;
	double mean_deviation;
};

enum { MODEL, VM_SIZE, GPU, PEER, KEYS };

struct member {
	const struct muster_sample *sample;
	double value;          /* with share_of its share */
	const char *key[KEYS]; /* what those have in common that are compared; NULL where it does not matter */
	size_t group;
};

struct muster_others_index {
	struct member *members; /* by address of the sample */
	size_t member_count;
	struct group *groups;
	size_t group_count;
	double *values;
	double share, mad; /* how far from the median a value is bad: a share of it, or a multiple of the deviation */
	bool above;        /* the worse values are above the median: times */
};

static int by_sample(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	return ((uintptr_t)x->sample > (uintptr_t)y->sample) - ((uintptr_t)x->sample < (uintptr_t)y->sample);
}

/* Equal texts are most often equal pointers: those of a run are interned. */
static int key_order(const struct member *a, const struct member *b)
{
	for (size_t i = 0; i < KEYS; i++) {
		int order = a->key[i] == b->key[i] ? 0 : muster_text_order(a->key[i], b->key[i]);
		if (order)
			return order;
	}
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = key_order(x, y);
	return order ? order : (x->value > y->value) - (x->value < y->value);
}

const char *muster_gpu_model(const struct muster_rank *rank, struct muster_arena *arena)
{
	const char *model = muster_sample_text(&rank->samples, "gpu.name", "a GPU of unknown model");
	bool slice = rank->gpu_uuid && strncmp(rank->gpu_uuid, "MIG-", 4) == 0;
	return slice ? muster_arena_printf(arena, "%s, MIG %s", model,
			       muster_sample_text(&rank->samples, "gpu.mig_profile", "instance"))
		     : model;
}

/* The key of a sample: the model; with its VM size; with its GPU, and the GPU of its peer, if it has one. */
static void set_key(const struct muster_eval *eval, const struct muster_entry *entry, enum muster_others_of of,
	struct member *member)
{
	const struct muster_node *node = &eval->run->nodes[entry->node];
	const struct muster_rank *rank = &node->ranks[entry->rank];
	const struct muster_sample *sample = entry->sample;
	member->key[MODEL] = muster_gpu_model(rank, eval->report->arena);
	if (of == MUSTER_OTHERS_OF_MODEL)
		return;
	member->key[VM_SIZE] = muster_sample_text(&node->samples, "node.vm_size", NULL);
	if (of == MUSTER_OTHERS_OF_TYPE)
		return;
	member->key[GPU] = rank->gpu;
	member->key[PEER] = muster_label_string(sample->labels, sample->label_count, "peer_gpu");
}

/* Sorted values begin and end groups. */
static void make_groups(struct muster_others_index *others)
{
	for (size_t i = 0; i < others->member_count; i++) {
		struct member *member = &others->members[i];
		others->values[i] = member->value;
		if (i == 0 || key_order(member, &member[-1]) != 0)
			others->groups[others->group_count++] =
				(struct group){ .model = member->key[MODEL], .values = &others->values[i] };
		member->group = others->group_count - 1;
		others->groups[member->group].count++;
	}
	for (size_t i = 0; i < others->group_count; i++) {
		struct group *group = &others->groups[i];
		double median = (group->values[(group->count - 1) / 2] + group->values[group->count / 2]) / 2, sum = 0;
		for (size_t j = 0; j < group->count; j++)
			sum += fabs(group->values[j] - median);
		group->mean_deviation = sum / (double)group->count;
	}
}

struct muster_others_index *muster_others_make(const struct muster_eval *eval, size_t at, enum muster_others_of of)
{
	const struct muster_check *check = &eval->expect->checks[at];
	const struct muster_operand *outlier = muster_check_operand(check, MUSTER_OF_FLEET),
				    *slower = muster_check_operand(check, MUSTER_OF_OTHERS);
	struct muster_range range = eval->index.of_check[at];
	struct muster_others_index *others = muster_calloc(1, sizeof *others);
	others->members = muster_calloc(range.count + 1, sizeof *others->members);
	others->values = muster_calloc(range.count + 1, sizeof *others->values);
	others->groups = muster_calloc(range.count + 1, sizeof *others->groups);
	others->share = outlier ? outlier->warn : slower ? slower->value.number : 0;
	others->mad = slower ? slower->mad : 0;
	others->above = slower && muster_units[check->metric->unit].time;
	for (size_t i = 0; i < range.count; i++) {
		const struct muster_entry *entry = &eval->index.entries[range.start + i];
		struct member *member = &others->members[others->member_count];
		if (!muster_median_takes(eval, at, entry, &member->value))
			continue;
		others->member_count++;
		member->sample = entry->sample;
		set_key(eval, entry, of, member);
	}
	qsort(others->members, others->member_count, sizeof *others->members, by_key);
	make_groups(others);
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

/* How many values of the group are lower than this one. */
static size_t below(const struct group *group, double value)
{
	size_t low = 0, high = group->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (group->values[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct muster_others muster_others_find(const struct muster_others_index *others, const struct muster_sample *sample)
{
	const struct member key = { .sample = sample };
	const struct member *member =
		bsearch(&key, others->members, others->member_count, sizeof *others->members, by_sample);
	if (!member)
		return (struct muster_others){ .why_none = "its own value does not count" };
	const struct group *group = &others->groups[member->group];
	size_t count = group->count - 1;
	size_t low = below(group, member->value); /* its own place: any that has the same value will do */
	struct muster_others found = {
		.count = count, .model = group->model, .lower = low, .mean_deviation = group->mean_deviation
	};
	if (count == 0) {
		found.why_none = "no other rank has this GPU model, so there is nothing to compare with";
		return found;
	}
	found.median = (value_at(group, low, (count - 1) / 2) + value_at(group, low, count / 2)) / 2;
	found.deviation = (distance_of(group, low, found.median, (count - 1) / 2) +
				  distance_of(group, low, found.median, count / 2)) /
			  2;
	double away = fmax(others->share * found.median, others->mad * found.deviation);
	double bound = others->above ? found.median + away : found.median - away;
	found.bad = others->above ? group->count - below(group, nextafter(bound, INFINITY)) - (member->value > bound)
				  : below(group, bound) - (member->value < bound);
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
