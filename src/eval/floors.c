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
	return metric && strcmp(check->metric->name, metric) == 0 &&
	       !muster_describe_when(check, run, domains, run->arena);
}

/* What the numbers of a check are to be multiplied with: 1, or the limit of a ring of all nodes, of which they are
 * shares. 0: the run has no such limit, or only limits whose labels do not match the check's limit_where. */
static double unit_of(const struct muster_check *check, const struct muster_run *run)
{
	const struct muster_samples *samples = &run->job.samples;
	double unit = check->share_of ? 0 : 1;
	for (size_t i = 0; i < samples->count && unit <= 0; i++) {
		const struct muster_sample *limit = &samples->items[i];
		if (limit->metric != check->share_of || limit->value.type != MUSTER_NUMBER ||
			muster_label_number(limit->labels, limit->label_count, "nodes") != (double)run->node_count)
			continue;
		unit = limit->value.number;
		for (size_t j = 0; j < check->limit_where_count; j++) {
			const struct muster_value *label = muster_sample_label(limit, check->limit_where[j].key);
			if (!label || !muster_value_equal(*label, check->limit_where[j].value))
				unit = 0;
		}
	}
	return unit;
}

struct muster_floors muster_floors_of_ring(
	const struct muster_expect *expect, const struct muster_run *run, size_t domains, const char *metric)
{
	struct muster_floors floors = { 0 };
	for (size_t i = 0; expect && i < expect->check_count; i++) {
		const struct muster_check *check = &expect->checks[i];
		if (applies(check, run, domains, metric))
			add_floor(&floors, check,
				unit_of(check, run) * fmax(operand_of(check, "min"), operand_of(check, "warn_below")));
	}
	return floors;
}

/* Whether the check is about rings of other nodes or ranks. */
static bool is_of_others(const struct muster_check *check, const char *label, double number)
{
	double wanted = where_of(check, label);
	return wanted > 0 && wanted != number;
}

/* The floors of a ring on so many nodes of the run, each with as many ranks as the first; with_warnings: what gives
 * only a warning is one too. */
static struct muster_floors floors_of_few(const struct muster_expect *expect, const struct muster_run *run,
	size_t nodes, size_t domains, bool with_warnings, const char *metric)
{
	struct muster_floors floors = { 0 };
	struct muster_run few = *run;
	while (few.node_count > 0 && few.nodes->rank_count == 0) {
		few.nodes++;
		few.node_count--;
	}
	if (few.node_count < nodes)
		return floors;
	few.node_count = nodes;
	few.job.ranks = (int)(nodes * few.nodes->rank_count);
	for (size_t i = 0; expect && i < expect->check_count; i++) {
		const struct muster_check *check = &expect->checks[i];
		double warning = with_warnings ? operand_of(check, "warn_below") : 0;
		if ((with_warnings || check->severity == MUSTER_SEVERITY_FAIL) &&
			applies(check, &few, domains, metric) && !is_of_others(check, "nodes", (double)nodes) &&
			!is_of_others(check, "ranks", few.job.ranks))
			add_floor(&floors, check, unit_of(check, &few) * fmax(operand_of(check, "min"), warning));
	}
	return floors;
}

struct muster_floors muster_floors_of_node(
	const struct muster_expect *expect, const struct muster_run *run, const char *metric)
{
	return floors_of_few(expect, run, 1, 1, false, metric);
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
		.pair = floors_of_few(expect, run, 2, domains < 2 ? domains : 2, true, metric),
		.node = muster_floors_of_node(expect, run, metric),
	};
}
