/* fault_traffic.c - exchanges of data between GPUs that are slow, though every part of the machine says that it is well
 */
#include "sim/fault_kinds.h"

#include "sim/scenario.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

struct peer {
	const struct muster_sim_node *node;
	const struct muster_sim_gpu *gpu;
};

/* "gpu2" of the target's node, "node2" for the GPU with the same number on that node, or "node2/gpu3". */
static int find_peer(const struct muster_fault_target *t, char *text, struct peer *ret, struct muster_error *err)
{
	const struct muster_sim_cluster *cluster = t->cluster;
	bool has_node = strncmp(text, "node", 4) == 0;
	char *slash = strchr(text, '/'), *gpu = has_node ? NULL : text;
	long node = t->node - cluster->nodes + 1, number = t->gpu->cuda_index;
	if (has_node && slash) {
		*slash = '\0';
		gpu = slash + 1;
	}
	if (has_node && muster_parse_int(text + 4, 1, (long)cluster->node_count, &node, "node", err) < 0)
		return -1;
	struct peer peer = { .node = &cluster->nodes[node - 1] };
	if (gpu && strncmp(gpu, "gpu", 3) != 0)
		return muster_fail(err, MUSTER_EUSAGE, "\"%s\" is not a GPU: use gpu2, node2 or node2/gpu3", gpu);
	if (gpu && muster_parse_int(gpu + 3, 0, (long)peer.node->gpu_count - 1, &number, "gpu", err) < 0)
		return -1;
	for (size_t i = 0; i < peer.node->gpu_count; i++)
		if (peer.node->gpus[i].cuda_index == number)
			peer.gpu = &peer.node->gpus[i];
	if (!peer.gpu || peer.gpu == t->gpu)
		return muster_fail(err, MUSTER_EUSAGE, "a link has two GPUs");
	*ret = peer;
	return 0;
}

/* VALUE is PEER:GB/s. */
int muster_fault_link_slow(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	struct muster_sim_cluster *cluster = t->cluster;
	char *text = value ? muster_strdup(value) : NULL, *colon = text ? strrchr(text, ':') : NULL;
	struct peer peer = { 0 };
	double gbps = 0;
	int rc = -1;
	if (colon)
		*colon = '\0';
	if (!colon)
		muster_fail(err, MUSTER_EUSAGE, "VALUE must be PEER:GB/s, for example gpu2:40 or node2:5");
	else if (muster_fault_number(colon + 1, 0.001, 10000, &gbps, err) == 0)
		rc = find_peer(t, text, &peer, err);
	free(text);
	if (rc < 0)
		return -1;
	struct muster_sim_link *all = muster_sim_copy(cluster->arena, cluster->links, cluster->link_count, sizeof *all);
	all[cluster->link_count++] = (struct muster_sim_link){
		.name = muster_arena_printf(cluster->arena, "%s/%s and %s/%s", t->node->name, t->gpu->bus_id,
			peer.node->name, peer.gpu->bus_id),
		.from_node = (int)(t->node - cluster->nodes),
		.to_node = (int)(peer.node - cluster->nodes),
		.from_gpu = t->gpu->bus_id,
		.to_gpu = peer.gpu->bus_id,
		.gbps = gbps,
	};
	cluster->links = all;
	return 0;
}
