/* fault_nvlink.c - the links of a GPU, and the fabric that they make within a node and a rack */
#include "sim/fault_kinds.h"

#include "util/text.h"
#include "sim/scenario.h"

#include <stdint.h>
#include <string.h>

static int links_down(int links, const char *kind, const char *value, int *ret_left, struct muster_error *err)
{
	long down = 0;
	if (links == 0)
		return muster_fail(err, MUSTER_EUSAGE, "this GPU has no %s", kind);
	if (muster_parse_int(value, 1, links, &down, "VALUE", err) < 0)
		return -1;
	*ret_left = links - (int)down;
	return 0;
}

int muster_fault_nvlink_down(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	return links_down(t->gpu->nvlinks, "NVLinks", value, &t->gpu->nvlinks_active, err);
}

/* KIND:ERRORS, as in "recovery:1". */
int muster_fault_nvlink_errors(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	const struct {
		const char *kind;
		double *errors;
	} counters[] = {
		{ "replay", &t->gpu->nvlink_replays },
		{ "recovery", &t->gpu->nvlink_recoveries },
		{ "crc", &t->gpu->nvlink_crc_errors },
	};
	const char *colon = strchr(value, ':');
	if (t->gpu->nvlinks == 0)
		return muster_fail(err, MUSTER_EUSAGE, "this GPU has no NVLinks");
	for (size_t i = 0; colon && i < sizeof counters / sizeof *counters; i++)
		if (strlen(counters[i].kind) == (size_t)(colon - value) &&
			strncmp(counters[i].kind, value, (size_t)(colon - value)) == 0)
			return muster_fault_number(colon + 1, 1, 1e9, counters[i].errors, err);
	return muster_fail(err, MUSTER_EUSAGE,
		"VALUE must be KIND:ERRORS with replay, recovery or crc as KIND, not \"%s\"", value);
}

int muster_fault_c2c_down(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	return links_down(t->gpu->c2c_links, "C2C links", value, &t->gpu->c2c_links, err);
}

/* The nodes' NVLink fabrics, by racks counted from 1. */
int muster_fault_rack(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	long number = 0;
	if (muster_parse_int(value, 1, 1000, &number, "VALUE", err) < 0)
		return -1;
	for (size_t i = 0; i < t->node->gpu_count; i++)
		t->node->gpus[i].fabric_cluster =
			muster_sim_fabric_cluster(t->cluster->arena, t->cluster->sku, (size_t)number - 1);
	return 0;
}

int muster_fault_clique(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	long number = 0;
	if (muster_parse_int(value, 0, 1000000, &number, "VALUE", err) < 0)
		return -1;
	for (size_t i = 0; i < t->node->gpu_count; i++)
		t->node->gpus[i].fabric_clique = (int)number;
	return 0;
}
