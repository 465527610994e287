/* fault_partition.c - nodes that cannot work in one ring, though each of them is well */
#include "sim/fault_kinds.h"

#include "sim/scenario.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

/* A new barrier that concerns no node yet: sides are the caller's to fill in. */
static char *add_barrier(
	const struct muster_fault_target *t, const char *mode, const char *name, struct muster_error *err)
{
	static const char *const modes[] = { "hang", "error", "slow" };
	struct muster_sim_cluster *cluster = t->cluster;
	int found = muster_parse_name(mode, modes, 3, "VALUE", err);
	if (found < 0)
		return NULL;
	struct muster_sim_partition *all =
		muster_sim_copy(cluster->arena, cluster->barriers, cluster->barrier_count, sizeof *all);
	char *sides = muster_arena_alloc(cluster->arena, cluster->node_count + 1);
	memset(sides, '-', cluster->node_count);
	all[cluster->barrier_count++] =
		(struct muster_sim_partition){ .name = name, .mode = modes[found], .sides = sides };
	cluster->barriers = all;
	return sides;
}

int muster_fault_net_bad(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	char *sides =
		add_barrier(t, value, muster_arena_printf(t->cluster->arena, "%s and all others", t->node->name), err);
	if (!sides)
		return -1;
	memset(sides, 'b', t->cluster->node_count);
	sides[t->node - t->cluster->nodes] = 'a';
	return 0;
}

/* Between nodes 1 to this one, and the nodes after it. */
int muster_fault_cut(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	size_t before = (size_t)(t->node - t->cluster->nodes) + 1;
	if (before == t->cluster->node_count)
		return muster_fail(err, MUSTER_EUSAGE, "there is no node after the last one");
	char *sides = add_barrier(t, value,
		muster_arena_printf(t->cluster->arena, "%s and those before it, and those behind it", t->node->name),
		err);
	if (!sides)
		return -1;
	memset(sides, 'a', before);
	memset(sides + before, 'b', t->cluster->node_count - before);
	return 0;
}

/* VALUE is NODE or NODE:MODE. */
int muster_fault_link_bad(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	const struct muster_sim_cluster *cluster = t->cluster;
	const char *colon = strchr(value, ':');
	char *number = muster_asprintf("%.*s", colon ? (int)(colon - value) : (int)strlen(value), value);
	long other = 0;
	int rc = muster_parse_int(number, 1, (long)cluster->node_count, &other, "NODE", err);
	free(number);
	if (rc < 0)
		return -1;
	if (&cluster->nodes[other - 1] == t->node)
		return muster_fail(err, MUSTER_EUSAGE, "a link has two nodes");
	char *sides = add_barrier(t, colon ? colon + 1 : "hang",
		muster_arena_printf(cluster->arena, "%s and %s", t->node->name, cluster->nodes[other - 1].name), err);
	if (!sides)
		return -1;
	sides[t->node - cluster->nodes] = 'a';
	sides[other - 1] = 'b';
	return 0;
}
