/* SPDX-License-Identifier: Apache-2.0 */
/* worker_env.c - put a rank's worker on its simulated node
 *
 * Nothing is mounted and no name is changed: the worker is the same program, and only its environment differs.
 *
 *   LD_LIBRARY_PATH, LD_PRELOAD      the stand-ins are found before the real libraries (standins/)
 *   MUSTER_ROOT                      /sys, /proc, /etc and /dev are read below the node's folder (fs.c)
 *   HWLOC_XMLFILE                    hwloc takes the node's topology from its file (fs_topology.c)
 *   MUSTER_METADATA_URL              the instance metadata service is a file, unless the user has set the variable
 *   MUSTER_SIM_CLUSTER, _RANK        the stand-ins find cluster.json, and who they are
 *   MUSTER_SIM_DIES                  how this worker misbehaves (fault_misbehave.h)
 *   CUDA_..., NCCL_..., UCX_...      the simulated node's, and none of this machine's (set_settings)
 */
#include "sim/command.h"

#include "system/settings.h"
#include "util/text.h"
#include "muster/arena.h"
#include "util/env.h"

#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void muster_sim_put_before(struct muster_arena *arena, const char *name, const char *first)
{
	const char *old = getenv(name);
	setenv(name, old && *old ? muster_arena_printf(arena, "%s:%s", first, old) : first, 1);
}

/* The address of a file, "file:///tmp/muster-sim-x/sim-1/metadata.json". Every byte that is not plain is written as %20
 * is for a blank: RFC 3986 leaves no '%', '#', '?' or blank as it is. */
static const char *file_url(struct muster_arena *arena, const char *path)
{
	static const char plain[] = "/-._~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *url = muster_arena_alloc(arena, sizeof "file://" + 3 * strlen(path));
	size_t used = (size_t)snprintf(url, sizeof "file://", "file://");
	for (; *path; path++)
		used += (size_t)snprintf(url + used, 4, strchr(plain, *path) ? "%c" : "%%%02X", (unsigned char)*path);
	return url;
}

/* Refuse a topology file that hwloc cannot read. With such a file in HWLOC_XMLFILE hwloc would look at the machine that
 * is really there, without a message, and the worker would be on the wrong node. index: of the rank. */
static int check_topology(const struct muster_sim_cluster *cluster, size_t index, struct muster_error *err)
{
	const char *root = cluster->nodes[cluster->ranks[index].node].directory;
	const char *path = muster_arena_printf(cluster->arena, "%s/topology.xml", root);
	hwloc_topology_t topology;
	if (hwloc_topology_init(&topology) < 0)
		return muster_fail(err, MUSTER_EIO, "hwloc_topology_init: %s", strerror(errno));
	int failed = hwloc_topology_set_xml(topology, path);
	hwloc_topology_destroy(topology);
	return failed ? muster_fail(err, MUSTER_EUSAGE, "%s: hwloc cannot read it", path) : 0;
}

/* The rank's environment is the simulated node's: what steers GPUs and fabrics on the machine that is really there, for
 * mpirun or for the user, is not the simulated user's. */
static void set_settings(const struct muster_sim_cluster *cluster, const struct muster_sim_rank *rank)
{
	const struct muster_sim_node *node = &cluster->nodes[rank->node];
	muster_env_unset_if(muster_setting_counts);
	for (size_t i = 0; i < node->environment_count; i++) {
		const char *equals = strchr(node->environment[i], '=');
		if (equals)
			setenv(muster_arena_string_n(
				       cluster->arena, node->environment[i], (size_t)(equals - node->environment[i])),
				equals + 1, 1);
	}
	if (rank->visible_gpus)
		setenv("CUDA_VISIBLE_DEVICES", rank->visible_gpus, 1);
}

static void set_environment(
	const struct muster_sim_cluster *cluster, size_t index, const char *path, const char *standins)
{
	struct muster_arena *arena = cluster->arena;
	const struct muster_sim_rank *rank = &cluster->ranks[index];
	const char *root = cluster->nodes[rank->node].directory;
	set_settings(cluster, rank);
	const char *deaths = "";
	for (size_t i = 0; i < rank->death_count; i++)
		deaths = muster_arena_printf(arena, "%s %s", deaths, rank->deaths[i]);
	muster_env_set(MUSTER_ENV_SIM_DIES, deaths, false);
	muster_sim_put_before(arena, "LD_LIBRARY_PATH", standins);
	/* by its bare name, found through LD_LIBRARY_PATH: a path with a blank in it would be two names here */
	muster_sim_put_before(arena, "LD_PRELOAD", "libmuster-preload.so");
	setenv("HWLOC_XMLFILE", muster_arena_printf(arena, "%s/topology.xml", root), 1);
	/* hwloc binds only where its topology is that of this system */
	setenv("HWLOC_THISSYSTEM", "1", 1);
	muster_env_set(MUSTER_ENV_ROOT, root, false);
	muster_env_set(MUSTER_ENV_SIM_CLUSTER, path, false);
	/* the user may try another service, or none */
	muster_env_set(
		MUSTER_ENV_METADATA_URL, file_url(arena, muster_arena_printf(arena, "%s/metadata.json", root)), true);
	muster_env_set(MUSTER_ENV_SIM_RANK, muster_arena_printf(arena, "%zu", index), false);
	/* A build with AddressSanitizer objects to any library that is preloaded before its own. */
	muster_sim_put_before(arena, "ASAN_OPTIONS", "verify_asan_link_order=0");
}

/* `muster node` starts the ranks of a node itself, all with the same wrapper, and so with the same number of a rank:
 * that of the first one. MUSTER_LOCAL_RANK, where it is set, is added. */
static int add_local_rank(const struct muster_sim_cluster *cluster, long *rank, struct muster_error *err)
{
	const char *text = muster_env(MUSTER_ENV_LOCAL_RANK);
	long local_rank = 0;
	if (text && muster_parse_int(
			    text, 0, (long)cluster->rank_count - 1 - *rank, &local_rank, "MUSTER_LOCAL_RANK", err) < 0)
		return -1;
	*rank += local_rank;
	return 0;
}

int muster_sim_worker_enter(
	const char *directory, const char *rank_text, const char *standins, struct muster_error *err)
{
	struct muster_sim_cluster cluster;
	long rank = 0;
	char *path = muster_asprintf("%s/cluster.json", directory);
	int rc = muster_sim_cluster_read(path, &cluster, err);
	if (rc == 0) {
		rc = muster_parse_int(rank_text, 0, (long)cluster.rank_count - 1, &rank, "rank", err);
		if (rc == 0)
			rc = add_local_rank(&cluster, &rank, err);
		if (rc == 0)
			rc = check_topology(&cluster, (size_t)rank, err);
		if (rc == 0)
			set_environment(&cluster, (size_t)rank, path, standins);
		muster_sim_cluster_done(&cluster);
	}
	free(path);
	return rc;
}
