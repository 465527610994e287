/* floors.c - what rings must reach to pass their checks, as plain numbers */
#include "eval/floors.h"

#include "eval/eval.h"
#include "expect/describe.h"
#include "expect/operators.h"

#include <math.h>
#include <string.h>

/* The number that a check's samples must have as this label; 0 when it does not ask for one. */
static double where_of(const struct muster_check *check, const char *label)
{
	return muster_label_number(check->where, check->where_count, label);
}

static double operand_of(const struct muster_check *check, const char *name)
{
	const struct muster_operand *operand = muster_check_operand_named(check, name);
	return operand ? operand->value.number : 0;
}

static void add_floor(struct muster_floors *floors, const struct muster_check *check, double least)
{
	if (least <= 0)
		return;
	floors->items = muster_realloc(floors->items, floors->count + 1, sizeof *floors->items);
	floors->items[floors->count++] =
		(struct muster_floor){ .bytes = (uint64_t)where_of(check, "bytes"), .least = least };
}

static bool applies(const struct muster_check *check, const struct muster_run *run, size_t domains, const char *metric)
{
	/* a share is not a number before all ranks have said what their links can do */
	return metric && strcmp(check->metric->name, metric) == 0 && !check->share_of &&
	       !muster_describe_when(check, run, domains, run->arena);
}

struct muster_floors muster_floors_of_ring(
	const struct muster_expect *expect, const struct muster_run *run, size_t domains, const char *metric)
{
	struct muster_floors floors = { 0 };
	for (size_t i = 0; expect && i < expect->check_count; i++) {
		const struct muster_check *check = &expect->checks[i];
		if (applies(check, run, domains, metric))
			add_floor(&floors, check, fmax(operand_of(check, "min"), operand_of(check, "warn_below")));
	}
	return floors;
}

/* Whether the check is about rings of other nodes or ranks. */
static bool is_of_others(const struct muster_check *check, const char *label, double number)
{
	double wanted = where_of(check, label);
	return wanted > 0 && wanted != number;
}

struct muster_floors muster_floors_of_node(
	const struct muster_expect *expect, const struct muster_run *run, const char *metric)
{
	struct muster_floors floors = { 0 };
	struct muster_run one = *run;
	while (one.node_count > 0 && one.nodes->rank_count == 0) {
		one.nodes++;
		one.node_count--;
	}
	if (one.node_count == 0)
		return floors;
	one.node_count = 1;
	one.job.ranks = (int)one.nodes->rank_count;
	for (size_t i = 0; expect && i < expect->check_count; i++) {
		const struct muster_check *check = &expect->checks[i];
		if (check->severity == MUSTER_SEVERITY_FAIL && applies(check, &one, 1, metric) &&
			!is_of_others(check, "nodes", 1) && !is_of_others(check, "ranks", one.job.ranks))
			add_floor(&floors, check, operand_of(check, "min"));
	}
	return floors;
}

struct muster_ring_floors muster_selection_floors(
	const struct muster_selection *choice, const struct muster_run *run, size_t domains, const char *metric)
{
	struct muster_error err;
	const char *how;
	const struct muster_expect *expect = muster_selection_find(choice, run, &how, &err);
	if (!expect && choice->has_common)
		expect = &choice->common;
	return (struct muster_ring_floors){
		.ring = muster_floors_of_ring(expect, run, domains, metric),
		.node = muster_floors_of_node(expect, run, metric),
	};
}
