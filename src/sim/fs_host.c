/* fs_host.c - what the kernel of a simulated node shows of its GPUs' driver, its processes and its settings */
#include "sim/fs_host.h"

#include <stdlib.h>
#include <string.h>

/* The driver is bound to every GPU that the kernel shows, also to one that has broken since. */
static void put_gpu(struct muster_sim_tree *t, const struct muster_sim_gpu *gpu, size_t minor)
{
	char node[32];
	muster_sim_tree_enter(t, "sys/bus/pci/devices/%s", gpu->bus_id);
	muster_sim_tree_link(t, "driver", "../../drivers/nvidia");
	muster_sim_tree_enter(t, "proc/driver/nvidia/gpus/%s", gpu->bus_id);
	muster_sim_tree_put(t, "information",
		"Model: \t\t %s\nIRQ:   \t\t 0\nGPU UUID: \t %s\nVideo BIOS: \t %s\nBus Type: \t PCIe\nBus Location: "
		"\t %s\nDevice Minor: \t %zu\nGPU Excluded:\t No",
		gpu->name, gpu->uuid, gpu->vbios, gpu->bus_id, minor);
	if (gpu->hidden)
		return;
	snprintf(node, sizeof node, "nvidia%zu", minor);
	muster_sim_tree_enter(t, "dev");
	muster_sim_tree_finish(t, node, muster_sim_tree_start(t, node));
}

static int by_bus_id(const void *a, const void *b)
{
	return strcmp(
		(*(const struct muster_sim_gpu *const *)a)->bus_id, (*(const struct muster_sim_gpu *const *)b)->bus_id);
}

/* The driver counts its devices in the order of the bus. */
static void put_gpus(struct muster_sim_tree *t, const struct muster_sim_node *node)
{
	size_t count = 0;
	const struct muster_sim_gpu **gpus = muster_calloc(node->gpu_count + node->unseen_gpu_count, sizeof *gpus);
	for (size_t i = 0; i < node->gpu_count; i++)
		gpus[count++] = &node->gpus[i];
	for (size_t i = 0; i < node->unseen_gpu_count; i++)
		gpus[count++] = &node->unseen_gpus[i];
	qsort(gpus, count, sizeof *gpus, by_bus_id);
	for (size_t minor = 0; minor < count; minor++)
		put_gpu(t, gpus[minor], minor);
	free(gpus);
}

static void put_process(struct muster_sim_tree *t, int pid, const char *name)
{
	muster_sim_tree_enter(t, "proc/%d", pid);
	muster_sim_tree_put(t, "comm", "%.15s", name);
	muster_sim_tree_put(t, "cmdline", "%s", name);
}

static void put_processes(struct muster_sim_tree *t, const struct muster_sim_node *node)
{
	put_process(t, 1, "systemd");
	put_process(t, 2, "kthreadd");
	for (size_t i = 0; i < node->daemon_count; i++)
		put_process(t, 1000 + (int)i, node->daemons[i]);
}

void muster_sim_host_write(struct muster_sim_tree *t, const struct muster_sim_node *node)
{
	put_gpus(t, node);
	put_processes(t, node);
}
