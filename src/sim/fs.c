/* fs.c - the files of a simulated node, as its kernel and distribution would show them
 *
 * Only what muster reads, and what a person would look for beside it. Texts are the kernel's, to the letter.
 */
#include "sim/fs.h"

#include "util/text.h"
#include "util/cpuset.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where files go. After the first failure nothing more is written, and err says why. */
struct tree {
	const char *root;
	char directory[4096];
	bool failed;
	struct muster_error *err;
};

static void fail(struct tree *t, const char *what, const char *path)
{
	if (!t->failed)
		muster_fail(t->err, MUSTER_EIO, "%s %s: %s", what, path, strerror(errno));
	t->failed = true;
}

/* What the description asks for and no machine has. */
static void refuse(struct tree *t, const char *what, const char *text, const char *why)
{
	if (!t->failed)
		muster_fail(t->err, MUSTER_EUSAGE, "%s \"%s\": %s", what, text, why);
	t->failed = true;
}

/* What comes next goes into this directory under the root; it is made, and those above it. */
static void __attribute__((format(printf, 2, 3))) enter(struct tree *t, const char *format, ...)
{
	va_list args;
	size_t length = strlen(t->root);
	if (t->failed)
		return;
	snprintf(t->directory, sizeof t->directory, "%s/", t->root);
	va_start(args, format);
	int more = vsnprintf(t->directory + length + 1, sizeof t->directory - length - 1, format, args);
	va_end(args);
	if (more < 0 || (size_t)more >= sizeof t->directory - length - 1) {
		errno = ENAMETOOLONG;
		fail(t, "mkdir", t->directory);
		return;
	}
	for (char *slash = t->directory + length; slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(t->directory, 0777) < 0 && errno != EEXIST)
			fail(t, "mkdir", t->directory);
		*slash = '/';
	}
	if (mkdir(t->directory, 0777) < 0 && errno != EEXIST)
		fail(t, "mkdir", t->directory);
}

static FILE *start(struct tree *t, const char *name)
{
	char path[sizeof t->directory + 256];
	if (t->failed)
		return NULL;
	snprintf(path, sizeof path, "%s/%s", t->directory, name);
	FILE *out = fopen(path, "wx");
	if (!out)
		fail(t, "create", path);
	return out;
}

static void finish(struct tree *t, const char *name, FILE *out)
{
	if (!out)
		return;
	bool bad = ferror(out);
	if (fclose(out) != 0 || bad)
		fail(t, "write", name);
}

/* One file in the directory that was entered; a newline is added. */
static void __attribute__((format(printf, 3, 4))) put(struct tree *t, const char *name, const char *format, ...)
{
	va_list args;
	FILE *out = start(t, name);
	if (!out)
		return;
	va_start(args, format);
	vfprintf(out, format, args);
	va_end(args);
	fputc('\n', out);
	finish(t, name, out);
}

static void put_link(struct tree *t, const char *name, const char *to)
{
	char path[sizeof t->directory + 256];
	if (t->failed)
		return;
	snprintf(path, sizeof path, "%s/%s", t->directory, name);
	if (symlink(to, path) < 0)
		fail(t, "link", path);
}

void muster_sim_mask_print(hwloc_const_bitmap_t set, unsigned int cpus, FILE *out)
{
	for (unsigned int word = (cpus + 31) / 32; word-- > 0;)
		fprintf(out, "%08lx%s", hwloc_bitmap_to_ith_ulong(set, word / 2) >> word % 2 * 32 & 0xffffffff,
			word ? "," : "");
}

/* The CPUs of a NUMA node as sysfs prints the mask of them. */
static void put_mask(struct tree *t, const char *name, const struct muster_sim_node *node, int numa_node)
{
	hwloc_bitmap_t set = muster_sim_cpus(node, numa_node);
	FILE *out = start(t, name);
	if (out) {
		muster_sim_mask_print(set, muster_sim_cpu_end(node), out);
		fputc('\n', out);
		finish(t, name, out);
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

static void put_pci(struct tree *t, const struct muster_sim_node *node, const struct muster_sim_hardware *hw,
	const char *bus_id, int numa_node)
{
	const struct muster_sim_pci *pci = muster_sim_pci_find(hw, bus_id);
	enter(t, "sys/bus/pci/devices/%s", bus_id);
	put(t, "class", "%s", pci->class_code);
	put(t, "vendor", "%s", pci->vendor);
	put(t, "device", "%s", pci->device);
	put(t, "numa_node", "%d", numa_node);
	put(t, "local_cpulist", "%s", numa_cpus(node, numa_node));
	put_mask(t, "local_cpus", node, numa_node);
	put(t, "uevent", "PCI_ID=%s:%s\nPCI_SLOT_NAME=%s", pci->vendor + 2, pci->device + 2, bus_id);
}

/* A state as sysfs prints it. */
static void put_state(struct tree *t, const char *file, enum muster_sim_port_word kind, const char *name)
{
	int number = muster_sim_port_word_number(kind, name);
	if (number < 0)
		refuse(t, file, name, "no port has this state");
	else
		put(t, file, "%d: %s", number, name);
}

static void put_port(struct tree *t, const struct muster_sim_port *port, size_t index)
{
	char device[512];
	enter(t, "sys/class/infiniband/%s", port->device);
	put(t, "node_type", "1: CA");
	put(t, "fw_ver", "%s", port->firmware);
	put(t, "hca_type", "%s", port->hca_type);
	put(t, "board_id", "%s", port->board_id);
	put(t, "node_guid", "%s", port->guid);
	put(t, "sys_image_guid", "%s", port->guid);
	put(t, "node_desc", "%s", port->device);
	snprintf(device, sizeof device, "../../../bus/pci/devices/%s", port->pci);
	put_link(t, "device", device);

	enter(t, "sys/class/infiniband/%s/ports/%d", port->device, port->port);
	put_state(t, "state", MUSTER_SIM_PORT_STATE, port->state);
	put_state(t, "phys_state", MUSTER_SIM_PORT_PHYS_STATE, port->phys_state);
	put(t, "rate", "%s", port->rate);
	put(t, "link_layer", "%s", port->link_layer);
	put(t, "lid", "0x%x", (unsigned int)port->lid);
	put(t, "sm_lid", "0x%x", (unsigned int)port->sm_lid);
	put(t, "lid_mask_count", "0");
	put(t, "sm_sl", "0");
	enter(t, "sys/class/infiniband/%s/ports/%d/gids", port->device, port->port);
	put(t, "0", "%s", port->gid);
	enter(t, "sys/class/infiniband/%s/ports/%d/pkeys", port->device, port->port);
	for (size_t i = 0; i < port->pkey_count; i++) {
		char name[32];
		snprintf(name, sizeof name, "%zu", i);
		put(t, name, "%s", port->pkeys[i]);
	}
	for (int hw = 0; hw <= 1; hw++) {
		enter(t, "sys/class/infiniband/%s/ports/%d/%scounters", port->device, port->port, hw ? "hw_" : "");
		for (size_t i = 0; i < port->counter_count; i++) {
			const char *name = port->counters[i].name;
			bool is_hw = strncmp(name, "hw:", 3) == 0;
			if (is_hw == (hw == 1))
				put(t, is_hw ? name + 3 : name, "%.0f", port->counters[i].value);
		}
	}

	enter(t, "sys/class/infiniband_verbs/uverbs%zu", index);
	put(t, "ibdev", "%s", port->device);
	put(t, "abi_version", "1");
	char node_file[64];
	snprintf(node_file, sizeof node_file, "uverbs%zu", index);
	enter(t, "dev/infiniband");
	finish(t, node_file, start(t, node_file));
}

static void put_cpus(struct tree *t, const struct muster_sim_node *node)
{
	int last = 0;
	for (size_t i = 0; i < node->numa_count; i++) {
		const struct muster_sim_numa *numa = &node->numas[i];
		if (numa->os_index > last)
			last = numa->os_index;
		enter(t, "sys/devices/system/node/node%d", numa->os_index);
		put(t, "cpulist", "%s", numa->cpu_list);
		put_mask(t, "cpumap", node, numa->os_index);
		put(t, "meminfo", "Node %d MemTotal:       %.0f kB", numa->os_index, numa->memory_mib * 1024);
	}
	enter(t, "sys/devices/system/node");
	put(t, "online", last ? "0-%d" : "%d", last);
	put(t, "has_cpu", last ? "0-%d" : "%d", last);
	hwloc_bitmap_t all = muster_sim_cpus(node, -1);
	char *list = muster_cpuset_list(all);
	enter(t, "sys/devices/system/cpu");
	put(t, "online", "%s", list);
	put(t, "possible", "%s", list);
	put(t, "present", "%s", list);
	free(list);
	hwloc_bitmap_free(all);
}

static void put_cpuinfo(struct tree *t, const struct muster_sim_node *node)
{
	FILE *out = start(t, "cpuinfo");
	if (!out)
		return;
	for (size_t i = 0; i < node->numa_count; i++) {
		hwloc_bitmap_t set = muster_sim_cpus(node, node->numas[i].os_index);
		for (int cpu = -1; (cpu = hwloc_bitmap_next(set, cpu)) >= 0;)
			fprintf(out, "processor\t: %d\nmodel name\t: %s\nphysical id\t: %d\ncore id\t\t: %d\n\n", cpu,
				node->cpu_model, node->numas[i].socket, cpu / node->threads_per_core);
		hwloc_bitmap_free(set);
	}
	finish(t, "cpuinfo", out);
}

static void put_proc(struct tree *t, const struct muster_sim_node *node, size_t index)
{
	double kib = 0;
	for (size_t i = 0; i < node->numa_count; i++)
		kib += node->numas[i].memory_mib * 1024;
	enter(t, "proc");
	put_cpuinfo(t, node);
	put(t, "meminfo",
		"MemTotal:       %.0f kB\nMemFree:        %.0f kB\nMemAvailable:   %.0f kB\n"
		"SwapTotal:             0 kB\nSwapFree:              0 kB",
		kib, kib * 0.96, kib * 0.97);
	put(t, "version", "Linux version %s (buildd@muster) (gcc) #1 SMP", node->kernel);
	enter(t, "proc/sys/kernel");
	put(t, "osrelease", "%s", node->kernel);
	put(t, "hostname", "%s", node->name);
	put(t, "ostype", "Linux");
	enter(t, "proc/sys/kernel/random");
	put(t, "boot_id", "00000000-0000-4000-8000-%012zx", index + 1);
	enter(t, "proc/driver/nvidia");
	put(t, "version", "NVRM version: NVIDIA UNIX Open Kernel Module for %s  %s  Release Build", node->architecture,
		node->driver_version);
	char mode[128] = "";
	if (*node->coherent_memory_mode)
		snprintf(mode, sizeof mode, "CoherentGPUMemoryMode: \"%s\"\n", node->coherent_memory_mode);
	put(t, "params",
		"ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\nEnableStreamMemOPs: 0\n"
		"ImexChannelCount: 2048\nCreateImexChannel0: %d\n%sRegistryDwords: \"\"",
		node->imex_channels > 0, mode);
}

/* The driver's channels for memory shared between nodes; without IMEX the directory does not exist. */
static void put_imex(struct tree *t, const struct muster_sim_node *node)
{
	if (node->imex_channels > 0)
		enter(t, "dev/nvidia-caps-imex-channels");
	for (int i = 0; i < node->imex_channels; i++) {
		char name[32];
		snprintf(name, sizeof name, "channel%d", i);
		finish(t, name, start(t, name));
	}
}

/* "Ubuntu 22.04.5 LTS" also gives NAME and VERSION_ID. */
static void put_os(struct tree *t, const struct muster_sim_node *node)
{
	int name = (int)strcspn(node->os_name, " ");
	const char *version = node->os_name + strcspn(node->os_name, "0123456789");
	enter(t, "etc");
	put(t, "os-release", "PRETTY_NAME=\"%s\"\nNAME=\"%.*s\"\nVERSION_ID=\"%.*s\"", node->os_name, name,
		node->os_name, (int)strcspn(version, " "), version);
	put(t, "hostname", "%s", node->name);
}

/* What the instance metadata service of the simulated cloud answers; read as a file, never over the network. */
static void put_metadata(struct tree *t, const struct muster_sim_node *node)
{
	enter(t, ".");
	put(t, "metadata.json",
		"{\"compute\":{\"vmSize\":\"%s\",\"location\":\"simulation\",\"vmId\":\"%s\",\"placementGroupId\":"
		"\"%s\"}}",
		node->vm_size, node->name, node->placement_group);
}

static void put_disk(struct tree *t, const char *disk, double gb)
{
	enter(t, "sys/block/%s", disk);
	put(t, "size", "%.0f", gb * 1e9 / 512);
	put(t, "ro", "0");
	put(t, "removable", "0");
	enter(t, "dev");
	finish(t, disk, start(t, disk));
}

/* Disk nvme0n1 hangs on controller nvme0. */
static void put_nvme(struct tree *t, const struct muster_sim_disk *disk)
{
	static const char prefix[] = "nvme";
	char link[256];
	if (strncmp(disk->device, prefix, strlen(prefix)) != 0) {
		refuse(t, "disk", disk->device, "must be a name such as nvme0n1");
		return;
	}
	int length = (int)(strlen(prefix) + strspn(disk->device + strlen(prefix), "0123456789"));
	put_disk(t, disk->device, disk->gb);
	enter(t, "sys/class/nvme/%.*s", length, disk->device);
	put(t, "model", "%-40s", disk->model);
	put(t, "transport", "pcie");
	put(t, "state", "live");
	enter(t, "sys/block/%s", disk->device);
	snprintf(link, sizeof link, "../../class/nvme/%.*s", length, disk->device);
	put_link(t, "device", link);
}

static void put_disks(struct tree *t, const struct muster_sim_node *node)
{
	enter(t, "sys/block");
	for (size_t i = 0; i < node->disk_count; i++)
		put_nvme(t, &node->disks[i]);
	if (!(node->temp_disk_gb > 0))
		return;
	put_disk(t, "sdb", node->temp_disk_gb);
	enter(t, "sys/block/sdb/device");
	put(t, "model", "%-16s", "Virtual Disk");
	enter(t, "dev/disk/azure");
	put_link(t, "resource", "../../sdb");
}

static void put_nccl(struct tree *t, const struct muster_sim_node *node, const struct muster_sim_hardware *hw)
{
	FILE *out = NULL;
	enter(t, "etc");
	if (node->nccl_conf_count > 0)
		out = start(t, "nccl.conf");
	for (size_t i = 0; out && i < node->nccl_conf_count; i++)
		fprintf(out, "%s\n", node->nccl_conf[i]);
	finish(t, "nccl.conf", out);

	if (!*node->topo_file)
		return;
	const char *slash = strrchr(node->topo_file, '/');
	if (*node->topo_file != '/') {
		refuse(t, "topo_file", node->topo_file, "must be an absolute path");
		return;
	}
	enter(t, ".%.*s", (int)(slash - node->topo_file), node->topo_file);
	out = start(t, slash + 1);
	if (out)
		muster_sim_topo_file_print(node, hw, out);
	finish(t, slash + 1, out);
}

/* index: of the node; two nodes may have one name. */
static int write_node(const struct muster_sim_node *node, size_t index, const struct muster_sim_hardware *hw,
	struct muster_error *err)
{
	struct tree t = { .root = node->directory, .err = err };
	enter(&t, "sys/class/infiniband"); /* there even when no device is, as with the drivers loaded */
	for (size_t i = 0; i < node->gpu_count; i++)
		put_pci(&t, node, hw, node->gpus[i].bus_id, node->gpus[i].numa_node);
	for (size_t i = 0; i < node->port_count; i++) {
		put_pci(&t, node, hw, node->ports[i].pci, node->ports[i].numa_node);
		put_port(&t, &node->ports[i], i);
	}
	put_cpus(&t, node);
	put_proc(&t, node, index);
	put_imex(&t, node);
	put_os(&t, node);
	put_metadata(&t, node);
	put_disks(&t, node);
	put_nccl(&t, node, hw);
	enter(&t, ".");
	FILE *out = start(&t, "topology.xml");
	if (out)
		muster_sim_topology_print(node, hw, out);
	finish(&t, "topology.xml", out);
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
