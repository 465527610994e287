/* floors.c - what a metric of the whole job must reach, as plain numbers */
#include "eval/floors.h"

#include "eval/eval.h"
#include "expect/describe.h"
#include "expect/operators.h"

#include <string.h>

static uint64_t bytes_of(const struct muster_check *check)
{
	for (size_t i = 0; i < check->where_count; i++)
		if (strcmp(check->where[i].key, "bytes") == 0 && check->where[i].value.type == MUSTER_NUMBER)
			return (uint64_t)check->where[i].value.number;
	return 0;
}

struct muster_floors muster_selection_floors(
	const struct muster_selection *choice, const struct muster_run *run, const char *metric)
{
	struct muster_error err;
	const char *how;
	const struct muster_expect *expect = muster_selection_find(choice, run, &how, &err);
	struct muster_floors floors = { 0 };
	size_t domains = muster_nvlink_domains_count(run, muster_metric_find("gpu.fabric_clique"));
	if (!expect && choice->has_common)
		expect = &choice->common;
	for (size_t i = 0; expect && i < expect->check_count; i++) {
		const struct muster_check *check = &expect->checks[i];
		const struct muster_operand *least = muster_check_operand_named(check, "min");
		if (strcmp(check->metric->name, metric) != 0 || check->severity != MUSTER_SEVERITY_FAIL || !least ||
			muster_describe_when(check, run, domains, run->arena))
			continue;
		floors.items = muster_realloc(floors.items, floors.count + 1, sizeof *floors.items);
		floors.items[floors.count++] =
			(struct muster_floor){ .bytes = bytes_of(check), .least = least->value.number };
	}
	return floors;
}
