/* floors.c - what a metric of the whole job must reach, as plain numbers */
#include "eval/floors.h"

#include "eval/eval.h"
#include "expect/describe.h"
#include "expect/operators.h"

#include <string.h>

/* The expectations of the run; NULL when its machine is not known and nothing holds anywhere. */
static const struct muster_expect *expect_of(const struct muster_selection *choice, const struct muster_run *run)
{
	struct muster_error err;
	const char *how;
	size_t index = 0;
	if (choice->known)
		return &choice->named;
	if (choice->automatic && muster_recognise(run, &choice->candidates, &index, &how, &err) == 0 &&
		choice->candidates.items[index].misfit.code == MUSTER_OK)
		return &choice->candidates.items[index].expect;
	return choice->has_common ? &choice->common : NULL;
}

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
	const struct muster_expect *expect = expect_of(choice, run);
	struct muster_floors floors = { 0 };
	size_t domains = muster_nvlink_domains_count(run, muster_metric_find("gpu.fabric_clique"));
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
