/* fault_node.c - the software, the settings and the disks of a node */
#include "sim/fault.h"

#include "sim/scenario.h"

#include <string.h>

/* -- the software, the settings and the disks of a node -- */

/* NVML's version is the CUDA major version followed by the driver version: "13.580.126.16". */
int muster_fault_driver_drift(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	if (strspn(value, "0123456789.") != strlen(value) || *value == '\0')
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be a version, not \"%s\"", value);
	t->node->driver_version = muster_fault_keep(t, value);
	t->node->nvml_version = muster_arena_printf(t->cluster->arena, "%d.%s", t->node->cuda_driver / 1000, value);
	return 0;
}

/* NAME=TEXT sets the variable in the environment of the node's ranks, NAME alone takes it away, from nccl.conf too. */
int muster_fault_env(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	struct muster_arena *arena = t->cluster->arena;
	struct muster_sim_node *node = t->node;
	size_t length = strcspn(value, "=");
	if (length == 0)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be NAME or NAME=TEXT, not \"%s\"", value);
	const char **lists[] = { node->environment, node->nccl_conf };
	size_t counts[] = { node->environment_count, node->nccl_conf_count };
	bool found = false;
	for (size_t l = 0; l < 2; l++) {
		const char **kept = muster_arena_alloc(arena, (counts[l] + 2) * sizeof *kept);
		size_t n = 0;
		for (size_t i = 0; i < counts[l]; i++)
			if (strncmp(lists[l][i], value, length) != 0 || lists[l][i][length] != '=')
				kept[n++] = lists[l][i];
		found = found || n < counts[l];
		lists[l] = kept;
		counts[l] = n;
	}
	if (value[length] == '=')
		lists[0][counts[0]++] = muster_fault_keep(t, value);
	else if (!found)
		return muster_fail(err, MUSTER_EUSAGE, "neither the ranks' environment nor nccl.conf has %s", value);
	node->environment = lists[0];
	node->environment_count = counts[0];
	node->nccl_conf = lists[1];
	node->nccl_conf_count = counts[1];
	return 0;
}

int muster_fault_disk_missing(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	struct muster_sim_node *node = t->node;
	struct muster_sim_disk *disks = muster_arena_alloc(t->cluster->arena, (node->disk_count + 1) * sizeof *disks);
	size_t kept = 0;
	for (size_t i = 0; i < node->disk_count; i++)
		if (strcmp(node->disks[i].device, value) != 0)
			disks[kept++] = node->disks[i];
	if (kept == node->disk_count)
		return muster_fail(err, MUSTER_EUSAGE, "the node has no disk \"%s\"", value);
	/* the RAID is made at boot, from the disks that are there */
	struct muster_sim_volume *scratch = node->volumes;
	double share = (double)kept / (double)node->disk_count;
	if (kept == 0 || strcmp(scratch->layout, "none") == 0) {
		node->volumes++;
		node->volume_count--;
	} else {
		scratch->gb *= share;
		scratch->free_gb *= share;
		scratch->read_gbps *= share;
		scratch->write_gbps *= share;
	}
	node->disks = disks;
	node->disk_count = kept;
	return 0;
}

int muster_fault_daemon_dead(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	struct muster_sim_node *node = t->node;
	const char **daemons = muster_arena_alloc(t->cluster->arena, (node->daemon_count + 1) * sizeof *daemons);
	size_t kept = 0;
	for (size_t i = 0; i < node->daemon_count; i++)
		if (strcmp(node->daemons[i], value) != 0)
			daemons[kept++] = node->daemons[i];
	if (kept == node->daemon_count)
		return muster_fail(err, MUSTER_EUSAGE, "no process \"%s\" runs on this machine type", value);
	node->daemons = daemons;
	node->daemon_count = kept;
	return 0;
}

int muster_fault_memory_channel(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	/* healthy nodes have one list together */
	struct muster_sim_numa *numas =
		muster_sim_copy(t->cluster->arena, t->node->numas, t->node->numa_count, sizeof *numas);
	numas[t->numa - t->node->numas].triad_gbps *= t->number;
	t->node->numas = numas;
	return 0;
}

/* -- the scratch of a node, and the folder that all nodes share, as one node sees it -- */

int muster_fault_volume_slow(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->volume->read_gbps *= t->number;
	t->volume->write_gbps *= t->number;
	return 0;
}

int muster_fault_volume_stalls(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	if (strcmp(value, "read") != 0 && strcmp(value, "write") != 0)
		return muster_fail(err, MUSTER_EUSAGE, "VALUE must be read or write, not \"%s\"", value);
	t->volume->stalls = muster_fault_keep(t, value);
	return 0;
}

int muster_fault_raid_degraded(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	double disks;
	if (strcmp(t->volume->layout, "none") == 0)
		return muster_fail(err, MUSTER_EUSAGE, "the scratch of this machine type is on one disk");
	if (muster_fault_number(value, 1, (double)t->node->disk_count - 1, &disks, err) < 0)
		return -1;
	t->volume->missing_members = (int)disks;
	return 0;
}

int muster_fault_scratch_full(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->volume->free_gb = t->volume->gb * (100 - t->number) / 100;
	return 0;
}

int muster_fault_scratch_missing(const struct muster_fault_target *t, const char *value, struct muster_error *err)
{
	(void)value, (void)err;
	t->node->volumes++;
	t->node->volume_count--;
	return 0;
}
