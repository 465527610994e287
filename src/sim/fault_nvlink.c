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

int muster_fault_c2c_down(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	return links_down(t->gpu->c2c_links, "C2C links", value, &t->gpu->c2c_links, err);
}

/* Whether NVLink goes on to other nodes; each node of such a machine type has the cluster UUID of its rack. */
static int check_rack(const struct muster_fault_target *t, struct muster_error *err)
{
	const char *cluster = t->node->gpus[0].fabric_cluster;
	if (strspn(cluster, "0-") == strlen(cluster))
		return muster_fail(err, MUSTER_EUSAGE, "NVLink ends at the node on this machine type");
	return 0;
}

/* The nodes' NVLink fabrics, by racks counted from 1. */
int muster_fault_rack(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	long number = 0;
	if (check_rack(t, err) < 0 || muster_parse_int(value, 1, 1000, &number, "VALUE", err) < 0)
		return -1;
	for (size_t i = 0; i < t->node->gpu_count; i++)
		t->node->gpus[i].fabric_cluster =
			muster_sim_fabric_cluster(t->cluster->arena, t->cluster->sku, (size_t)number - 1);
	return 0;
}

int muster_fault_clique(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	long number = 0;
	if (check_rack(t, err) < 0 || muster_parse_int(value, 0, 1000000, &number, "VALUE", err) < 0)
		return -1;
	for (size_t i = 0; i < t->node->gpu_count; i++)
		t->node->gpus[i].fabric_clique = (int)number;
	return 0;
}

int muster_fault_imex_missing(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	(void)value;
	if (t->node->imex_channels == 0)
		return muster_fail(err, MUSTER_EUSAGE, "this machine type has no IMEX channel");
	t->node->imex_channels = 0;
	return 0;
}

static int check_fabric(const struct muster_fault_target *t, struct muster_error *err)
{
	return t->gpu->fabric_state > 0 ? 0 : muster_fail(err, MUSTER_EUSAGE, "this GPU joins no NVLink fabric");
}

int muster_fault_fabric_state(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	static const char *const states[] = { "not-supported", "not-started", "in-progress", "completed", NULL };
	int state = check_fabric(t, err) < 0 ? -1 : muster_fault_word(value, states, err);
	if (state < 0)
		return -1;
	t->gpu->fabric_state = state; /* by nvmlGpuFabricState_t */
	return 0;
}

int muster_fault_fabric_status(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	long code = 0;
	if (check_fabric(t, err) < 0 || muster_parse_int(value, 0, 999, &code, "VALUE", err) < 0)
		return -1;
	t->gpu->fabric_status = (int)code;
	return 0;
}

int muster_fault_fabric_health(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	long mask = 0;
	if (check_fabric(t, err) < 0 || muster_parse_int(value, 0, INT32_MAX, &mask, "VALUE", err) < 0)
		return -1;
	t->gpu->fabric_health = (unsigned long long)mask;
	return 0;
}
