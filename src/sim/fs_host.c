/* fs_host.c - what the kernel of a simulated node shows of its GPUs' driver, its processes and its settings */
#include "sim/fs_host.h"

#include <stdlib.h>
#include <string.h>

void muster_sim_switch_enter(struct muster_sim_tree *t, const char *bus_id)
{
	/* an ACS capability, and behind its own word source validation and all redirections */
	static const unsigned char capability[] = { 0x0d, 0x00, 0x01, 0x00, 0x1f, 0x00, 0x1d, 0x00 };
	unsigned char config[4096] = { 0 };
	char link[256];
	int domain = (int)strcspn(bus_id, ":");
	memcpy(config + 0x100, capability, sizeof capability);
	muster_sim_tree_enter(
		t, "sys/devices/pci%.*s:f0/%.*s:f0:00.0/%.*s:f1:00.0", domain, bus_id, domain, bus_id, domain, bus_id);
	FILE *out = muster_sim_tree_start(t, "config");
	if (out)
		fwrite(config, 1, sizeof config, out);
	muster_sim_tree_finish(t, "config", out);
	snprintf(link, sizeof link, "../../../devices/pci%.*s:f0/%.*s:f0:00.0/%.*s:f1:00.0/%s", domain, bus_id, domain,
		bus_id, domain, bus_id, bus_id);
	muster_sim_tree_enter(t, "sys/devices/pci%.*s:f0/%.*s:f0:00.0/%.*s:f1:00.0/%s", domain, bus_id, domain, bus_id,
		domain, bus_id, bus_id);
	muster_sim_tree_enter(t, "sys/bus/pci/devices");
	muster_sim_tree_link(t, bus_id, link);
	muster_sim_tree_enter(t, "sys/bus/pci/devices/%s", bus_id);
}

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

static void put_limits(struct muster_sim_tree *t, const struct muster_sim_node *node)
{
	muster_sim_tree_enter(t, "proc/self");
	muster_sim_tree_put(t, "limits",
		"Limit                     Soft Limit           Hard Limit           Units\n"
		"Max locked memory         %-20s %-20s bytes",
		node->memlock, node->memlock);
	muster_sim_tree_enter(t, "proc");
	muster_sim_tree_put(t, "loadavg", "0.42 0.35 0.31 2/1810 4711");
}

/* One group of CPUs stands for all. */
static void put_settings(struct muster_sim_tree *t, const struct muster_sim_node *node)
{
	const char *colon = strstr(node->cpu_governor, ": ");
	if (colon) {
		muster_sim_tree_enter(t, "sys/devices/system/cpu/cpufreq/policy0");
		muster_sim_tree_put(t, "scaling_driver", "%.*s", (int)(colon - node->cpu_governor), node->cpu_governor);
		muster_sim_tree_put(t, "scaling_governor", "%s", colon + 2);
	}
	muster_sim_tree_enter(t, "sys/kernel/mm/hugepages/hugepages-2048kB");
	muster_sim_tree_put(t, "nr_hugepages", "0");
	muster_sim_tree_enter(t, "sys/kernel/mm/transparent_hugepage");
	muster_sim_tree_put(t, "enabled", "always [madvise] never");
	muster_sim_tree_enter(t, "sys/module/mlx5_core");
	if (*node->ofed_version)
		muster_sim_tree_put(t, "version", "%s", node->ofed_version);
	if (node->peermem)
		muster_sim_tree_enter(t, "sys/module/nvidia_peermem");
}

void muster_sim_host_write(struct muster_sim_tree *t, const struct muster_sim_node *node)
{
	put_gpus(t, node);
	put_processes(t, node);
	put_limits(t, node);
	put_settings(t, node);
}
