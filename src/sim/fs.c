/* fs.c - the files of a simulated node, as its kernel and distribution would show them
 *
 * Only what muster reads, and what a person would look for beside it. Texts are the kernel's, to the letter.
 */
#include "sim/fs.h"

#include "sim/fs_disks.h"
#include "sim/fs_host.h"
#include "sim/fs_paths.h"
#include "util/text.h"
#include "util/cpuset.h"

#include <stdlib.h>
#include <string.h>

void muster_sim_mask_print(hwloc_const_bitmap_t set, unsigned int cpus, FILE *out)
{
	for (unsigned int word = (cpus + 31) / 32; word-- > 0;)
		fprintf(out, "%08lx%s", hwloc_bitmap_to_ith_ulong(set, word / 2) >> word % 2 * 32 & 0xffffffff,
			word ? "," : "");
}

/* The CPUs of a NUMA node as sysfs prints the mask of them. */
static void put_mask(struct muster_sim_tree *t, const char *name, const struct muster_sim_node *node, int numa_node)
{
	hwloc_bitmap_t set = muster_sim_cpus(node, numa_node);
	FILE *out = muster_sim_tree_start(t, name);
	if (out) {
		muster_sim_mask_print(set, muster_sim_cpu_end(node), out);
		fputc('\n', out);
		muster_sim_tree_finish(t, name, out);
	}
	hwloc_bitmap_free(set);
}

static const char *numa_cpus(const struct muster_sim_node *node, int os_index)
{
	for (size_t i = 0; i < node->numa_count; i++)
		if (node->numas[i].os_index == os_index)
			return node->numas[i].cpu_list;
	return "";
}

unsigned int muster_sim_cpu_end(const struct muster_sim_node *node)
{
	hwloc_bitmap_t set = muster_sim_cpus(node, -1);
	int last = hwloc_bitmap_last(set);
	hwloc_bitmap_free(set);
	return (unsigned int)(last + 1);
}

const struct muster_sim_pci *muster_sim_pci_find(const struct muster_sim_hardware *hardware, const char *bus_id)
{
	static const struct muster_sim_pci foreign = { "", "0x020700", "0x15b3", "0x101c" };
	for (size_t i = 0; i < hardware->pci_count; i++)
		if (strcmp(hardware->pci[i].bus_id, bus_id) == 0)
			return &hardware->pci[i];
	return &foreign;
}

static void put_pci(struct muster_sim_tree *t, const struct muster_sim_node *node, const struct muster_sim_hardware *hw,
	const char *bus_id, int numa_node)
{
	const struct muster_sim_pci *pci = muster_sim_pci_find(hw, bus_id);
	if (node->acs && strcmp(node->gpus[0].bus_id, bus_id) == 0)
		muster_sim_switch_enter(t, bus_id);
	else
		muster_sim_tree_enter(t, "sys/bus/pci/devices/%s", bus_id);
	muster_sim_tree_put(t, "class", "%s", pci->class_code);
	muster_sim_tree_put(t, "vendor", "%s", pci->vendor);
	muster_sim_tree_put(t, "device", "%s", pci->device);
	muster_sim_tree_put(t, "numa_node", "%d", numa_node);
	muster_sim_tree_put(t, "local_cpulist", "%s", numa_cpus(node, numa_node));
	put_mask(t, "local_cpus", node, numa_node);
	muster_sim_tree_put(t, "uevent", "PCI_ID=%s:%s\nPCI_SLOT_NAME=%s", pci->vendor + 2, pci->device + 2, bus_id);
}

/* A state as sysfs prints it. */
static void put_state(struct muster_sim_tree *t, const char *file, enum muster_sim_port_word kind, const char *name)
{
	int number = muster_sim_port_word_number(kind, name);
	if (number < 0)
		muster_sim_tree_refuse(t, file, name, "no port has this state");
	else
		muster_sim_tree_put(t, file, "%d: %s", number, name);
}

/* An RDMA device with its place on the PCI bus; index: of the file in /dev. */
static void put_rdma_device(struct muster_sim_tree *t, const struct muster_sim_port *port, size_t index)
{
	char device[512], node_file[64];
	muster_sim_tree_enter(t, "sys/class/infiniband/%s", port->device);
	muster_sim_tree_put(t, "node_type", "1: CA");
	muster_sim_tree_put(t, "fw_ver", "%s", port->firmware);
	muster_sim_tree_put(t, "hca_type", "%s", port->hca_type);
	muster_sim_tree_put(t, "board_id", "%s", port->board_id);
	muster_sim_tree_put(t, "node_guid", "%s", port->guid);
	muster_sim_tree_put(t, "sys_image_guid", "%s", port->guid);
	muster_sim_tree_put(t, "node_desc", "%s", port->device);
	snprintf(device, sizeof device, "../../../bus/pci/devices/%s", port->pci);
	muster_sim_tree_link(t, "device", device);

	muster_sim_tree_enter(t, "sys/class/infiniband_verbs/uverbs%zu", index);
	muster_sim_tree_put(t, "ibdev", "%s", port->device);
	muster_sim_tree_put(t, "abi_version", "1");
	snprintf(node_file, sizeof node_file, "uverbs%zu", index);
	muster_sim_tree_enter(t, "dev/infiniband");
	muster_sim_tree_finish(t, node_file, muster_sim_tree_start(t, node_file));
}

/* The table of GIDs. An Ethernet port has each address twice, for RoCE v1 and for RoCE v2, as mlx5 has them. */
static void put_gids(struct muster_sim_tree *t, const struct muster_sim_port *port)
{
	bool ethernet = strcmp(port->link_layer, "Ethernet") == 0;
	char name[32], ipv4[64];
	snprintf(ipv4, sizeof ipv4, "0000:0000:0000:0000:0000:ffff:0a%s",
		port->gid + strlen(port->gid) - strlen("01:0101"));
	for (int i = 0; i < (ethernet ? 4 : 1); i++) {
		bool v2 = i % 2 == 1;
		if (v2 && port->roce_v1)
			continue;
		snprintf(name, sizeof name, "%d", i);
		muster_sim_tree_enter(t, "sys/class/infiniband/%s/ports/%d/gids", port->device, port->port);
		muster_sim_tree_put(t, name, "%s", i < 2 ? port->gid : ipv4);
		muster_sim_tree_enter(t, "sys/class/infiniband/%s/ports/%d/gid_attrs/types", port->device, port->port);
		muster_sim_tree_put(t, name, "%s", v2 ? "RoCE v2" : "IB/RoCE v1");
	}
}

static void put_port(struct muster_sim_tree *t, const struct muster_sim_port *port)
{
	muster_sim_tree_enter(t, "sys/class/infiniband/%s/ports/%d", port->device, port->port);
	put_state(t, "state", MUSTER_SIM_PORT_STATE, port->state);
	put_state(t, "phys_state", MUSTER_SIM_PORT_PHYS_STATE, port->phys_state);
	muster_sim_tree_put(t, "rate", "%s", port->rate);
	muster_sim_tree_put(t, "link_layer", "%s", port->link_layer);
	muster_sim_tree_put(t, "lid", "0x%x", (unsigned int)port->lid);
	muster_sim_tree_put(t, "sm_lid", "0x%x", (unsigned int)port->sm_lid);
	muster_sim_tree_put(t, "lid_mask_count", "0");
	muster_sim_tree_put(t, "sm_sl", "0");
	put_gids(t, port);
	muster_sim_tree_enter(t, "sys/class/infiniband/%s/ports/%d/pkeys", port->device, port->port);
	for (size_t i = 0; i < port->pkey_count; i++) {
		char name[32];
		snprintf(name, sizeof name, "%zu", i);
		muster_sim_tree_put(t, name, "%s", port->pkeys[i]);
	}
	for (int hw = 0; hw <= 1; hw++) {
		muster_sim_tree_enter(
			t, "sys/class/infiniband/%s/ports/%d/%scounters", port->device, port->port, hw ? "hw_" : "");
		for (size_t i = 0; i < port->counter_count; i++) {
			const char *name = port->counters[i].name;
			bool is_hw = strncmp(name, "hw:", 3) == 0;
			if (is_hw == (hw == 1))
				muster_sim_tree_put(t, is_hw ? name + 3 : name, "%.0f", port->counters[i].value);
		}
	}
}

static void put_cpus(struct muster_sim_tree *t, const struct muster_sim_node *node)
{
	int last = 0;
	for (size_t i = 0; i < node->numa_count; i++) {
		const struct muster_sim_numa *numa = &node->numas[i];
		if (numa->os_index > last)
			last = numa->os_index;
		muster_sim_tree_enter(t, "sys/devices/system/node/node%d", numa->os_index);
		muster_sim_tree_put(t, "cpulist", "%s", numa->cpu_list);
		put_mask(t, "cpumap", node, numa->os_index);
		muster_sim_tree_put(
			t, "meminfo", "Node %d MemTotal:       %.0f kB", numa->os_index, numa->memory_mib * 1024);
	}
	muster_sim_tree_enter(t, "sys/devices/system/node");
	muster_sim_tree_put(t, "online", last ? "0-%d" : "%d", last);
	muster_sim_tree_put(t, "has_cpu", last ? "0-%d" : "%d", last);
	hwloc_bitmap_t all = muster_sim_cpus(node, -1);
	char *list = muster_cpuset_list(all);
	muster_sim_tree_enter(t, "sys/devices/system/cpu");
	muster_sim_tree_put(t, "online", "%s", list);
	muster_sim_tree_put(t, "possible", "%s", list);
	muster_sim_tree_put(t, "present", "%s", list);
	free(list);
	hwloc_bitmap_free(all);
}

static void put_cpuinfo(struct muster_sim_tree *t, const struct muster_sim_node *node)
{
	FILE *out = muster_sim_tree_start(t, "cpuinfo");
	if (!out)
		return;
	for (size_t i = 0; i < node->numa_count; i++) {
		hwloc_bitmap_t set = muster_sim_cpus(node, node->numas[i].os_index);
		for (int cpu = -1; (cpu = hwloc_bitmap_next(set, cpu)) >= 0;)
			fprintf(out, "processor\t: %d\nmodel name\t: %s\nphysical id\t: %d\ncore id\t\t: %d\n\n", cpu,
				node->cpu_model, node->numas[i].socket, cpu / node->threads_per_core);
		hwloc_bitmap_free(set);
	}
	muster_sim_tree_finish(t, "cpuinfo", out);
}

static void put_proc(struct muster_sim_tree *t, const struct muster_sim_node *node, size_t index)
{
	double kib = 0;
	for (size_t i = 0; i < node->numa_count; i++)
		kib += node->numas[i].memory_mib * 1024;
	muster_sim_tree_enter(t, "proc");
	put_cpuinfo(t, node);
	muster_sim_tree_put(t, "meminfo",
		"MemTotal:       %.0f kB\nMemFree:        %.0f kB\nMemAvailable:   %.0f kB\n"
		"SwapTotal:             0 kB\nSwapFree:              0 kB",
		kib, kib * 0.96, kib * 0.97);
	muster_sim_tree_put(t, "version", "Linux version %s (buildd@muster) (gcc) #1 SMP", node->kernel);
	muster_sim_tree_enter(t, "proc/sys/kernel");
	muster_sim_tree_put(t, "osrelease", "%s", node->kernel);
	muster_sim_tree_put(t, "hostname", "%s", node->name);
	muster_sim_tree_put(t, "ostype", "Linux");
	muster_sim_tree_enter(t, "proc/sys/kernel/random");
	muster_sim_tree_put(t, "boot_id", "00000000-0000-4000-8000-%012zx", index + 1);
	muster_sim_tree_enter(t, "proc/driver/nvidia");
	muster_sim_tree_put(t, "version", "NVRM version: NVIDIA UNIX Open Kernel Module for %s  %s  Release Build",
		node->architecture, node->driver_version);
	char mode[128] = "";
	if (*node->coherent_memory_mode)
		snprintf(mode, sizeof mode, "CoherentGPUMemoryMode: \"%s\"\n", node->coherent_memory_mode);
	muster_sim_tree_put(t, "params",
		"ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\nEnableStreamMemOPs: 0\n"
		"ImexChannelCount: 2048\nCreateImexChannel0: %d\n%sRegistryDwords: \"\"",
		node->imex_channels > 0, mode);
}

/* The driver's channels for memory shared between nodes; without IMEX the directory does not exist. */
static void put_imex(struct muster_sim_tree *t, const struct muster_sim_node *node)
{
	int channels = node->imex_hidden ? 0 : node->imex_channels;
	if (channels > 0)
		muster_sim_tree_enter(t, "dev/nvidia-caps-imex-channels");
	for (int i = 0; i < channels; i++) {
		char name[32];
		snprintf(name, sizeof name, "channel%d", i);
		muster_sim_tree_finish(t, name, muster_sim_tree_start(t, name));
	}
}

/* "Ubuntu 22.04.5 LTS" also gives NAME and VERSION_ID. */
static void put_os(struct muster_sim_tree *t, const struct muster_sim_node *node)
{
	int name = (int)strcspn(node->os_name, " ");
	const char *version = node->os_name + strcspn(node->os_name, "0123456789");
	muster_sim_tree_enter(t, "etc");
	muster_sim_tree_put(t, "os-release", "PRETTY_NAME=\"%s\"\nNAME=\"%.*s\"\nVERSION_ID=\"%.*s\"", node->os_name,
		name, node->os_name, (int)strcspn(version, " "), version);
	muster_sim_tree_put(t, "hostname", "%s", node->name);
}

/* What the instance metadata service of the simulated cloud answers; read as a file, never over the network. */
static void put_metadata(struct muster_sim_tree *t, const struct muster_sim_node *node)
{
	muster_sim_tree_enter(t, ".");
	muster_sim_tree_put(t, "metadata.json",
		"{\"compute\":{\"vmSize\":\"%s\",\"location\":\"simulation\",\"vmId\":\"%s\",\"placementGroupId\":"
		"\"%s\"}}",
		node->vm_size, node->name, node->placement_group);
}

/* Programs of others on a GPU, as far as they can be named. */
static void put_strangers(struct muster_sim_tree *t, const struct muster_sim_node *node)
{
	int last = 0;
	for (size_t i = 0; i < node->gpu_count; i++) {
		if (node->gpus[i].stranger_pid == 0 || node->gpus[i].stranger_pid == last)
			continue;
		last = node->gpus[i].stranger_pid;
		muster_sim_tree_enter(t, "proc/%d", last);
		muster_sim_tree_put(t, "comm", "python3");
	}
}

static void put_nccl(
	struct muster_sim_tree *t, const struct muster_sim_node *node, const struct muster_sim_hardware *hw)
{
	FILE *out = NULL;
	muster_sim_tree_enter(t, "etc");
	if (node->nccl_conf_count > 0)
		out = muster_sim_tree_start(t, "nccl.conf");
	for (size_t i = 0; out && i < node->nccl_conf_count; i++)
		fprintf(out, "%s\n", node->nccl_conf[i]);
	muster_sim_tree_finish(t, "nccl.conf", out);

	if (!*node->topo_file)
		return;
	const char *slash = strrchr(node->topo_file, '/');
	if (*node->topo_file != '/') {
		muster_sim_tree_refuse(t, "topo_file", node->topo_file, "must be an absolute path");
		return;
	}
	muster_sim_tree_enter(t, ".%.*s", (int)(slash - node->topo_file), node->topo_file);
	out = muster_sim_tree_start(t, slash + 1);
	if (out)
		muster_sim_topo_file_print(node, hw, out);
	muster_sim_tree_finish(t, slash + 1, out);
}

/* index: of the node; two nodes may have one name. */
static int write_node(const struct muster_sim_node *node, size_t index, const struct muster_sim_hardware *hw,
	struct muster_error *err)
{
	struct muster_sim_tree t = { .root = node->directory, .err = err };
	size_t devices = 0;
	muster_sim_tree_enter(
		&t, "sys/class/infiniband"); /* there even when no device is, as with the drivers loaded */
	for (size_t i = 0; i < node->gpu_count; i++)
		put_pci(&t, node, hw, node->gpus[i].bus_id, node->gpus[i].numa_node);
	for (size_t i = 0; i < node->unseen_gpu_count; i++)
		put_pci(&t, node, hw, node->unseen_gpus[i].bus_id, node->unseen_gpus[i].numa_node);
	for (size_t i = 0; i < node->port_count; i++) {
		if (muster_sim_port_is_first(node, i)) {
			put_pci(&t, node, hw, node->ports[i].pci, node->ports[i].numa_node);
			put_rdma_device(&t, &node->ports[i], devices++);
		}
		put_port(&t, &node->ports[i]);
	}
	put_cpus(&t, node);
	put_proc(&t, node, index);
	put_imex(&t, node);
	muster_sim_host_write(&t, node);
	put_os(&t, node);
	put_metadata(&t, node);
	muster_sim_disks_write(&t, node);
	muster_sim_paths_write(&t, node);
	put_strangers(&t, node);
	put_nccl(&t, node, hw);
	muster_sim_put_log(&t, node);
	muster_sim_tree_enter(&t, ".");
	FILE *out = muster_sim_tree_start(&t, "topology.xml");
	if (out)
		muster_sim_topology_print(node, hw, out);
	muster_sim_tree_finish(&t, "topology.xml", out);
	return t.failed ? -1 : 0;
}

int muster_sim_generate(
	const struct muster_sim_cluster *cluster, const struct muster_sim_hardware *hardware, struct muster_error *err)
{
	const char *path = muster_arena_printf(cluster->arena, "%s/cluster.json", cluster->directory);
	for (size_t i = 0; i < cluster->node_count; i++)
		if (write_node(&cluster->nodes[i], i, hardware, err) < 0)
			return -1;
	return muster_sim_cluster_write(cluster, path, err);
}
