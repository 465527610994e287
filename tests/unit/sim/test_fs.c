/* SPDX-License-Identifier: Apache-2.0 */
/* test_fs.c - the files of a simulated node: sysfs to the letter, and a topology that hwloc understands */
#include "check_main.h"
#include "sim_fixture.h"
#include "temporary_root.h"

#include "system/kernel_log.h"
#include "vendor/nccl_topo.h"
#include "util/file.h"
#include "util/text.h"
#include "sim/fs.h"
#include "util/cpuset.h"

#include <hwloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];
static struct muster_sim_cluster cluster;
static struct muster_sim_hardware hardware;

static void generate(void)
{
	struct muster_sim_scenario s;
	struct muster_error err;
	temporary_root_make(directory, sizeof directory, "test");
	muster_sim_scenario_init(&s);
	s.sku = SIM_SKU;
	s.nodes = 3;
	muster_sim_scenario_add_fault(&s, "ib-down@node2/mlx5_ib3");
	muster_sim_scenario_add_fault(&s, "ib-missing@node2/mlx5_ib4");
	muster_sim_scenario_add_fault(&s, "gpu-missing@node2/gpu0");
	muster_sim_scenario_add_fault(&s, "disk-missing@node2=nvme3n1");
	muster_sim_scenario_add_fault(&s, "topo-stale@node2");
	muster_sim_scenario_add_fault(&s, "log-unreadable@node2");
	muster_sim_scenario_add_fault(&s, "xid@node1/gpu4=79:3h");
	muster_sim_scenario_add_fault(&s, "xid@node1/gpu5=94:now");
	muster_sim_scenario_add_fault(&s, "env@node2=NCCL_IB_PCI_RELAXED_ORDERING");
	muster_sim_scenario_add_fault(&s, "env@node2=NCCL_TOPO_FILE");
	muster_sim_scenario_add_fault(&s, "env@node2=NCCL_IGNORE_CPU_AFFINITY");
	muster_sim_scenario_add_fault(&s, "gpu-missing@node3");
	muster_sim_scenario_add_fault(&s, "acs@node3");
	muster_sim_scenario_add_fault(&s, "scratch-missing@node3");
	muster_sim_scenario_add_fault(&s, "disk-missing@node3=nvme0n1");
	ck_assert_msg(sim_build(&s, directory, &hardware, &cluster, &err) == 0, "%s", err.text);
	cluster.nodes[1].imex_channels = 3;
	cluster.nodes[1].coherent_memory_mode = "driver";
	ck_assert_msg(muster_sim_generate(&cluster, &hardware, &err) == 0, "%s", err.text);
	muster_sim_scenario_done(&s);
}

static void clean(void)
{
	muster_sim_cluster_done(&cluster);
	ck_assert_int_eq(temporary_root_remove(directory), 0);
}

static const char *path_of(const char *file)
{
	static char path[512];
	snprintf(path, sizeof path, "%s/%s", directory, file);
	return path;
}

static const struct {
	const char *file, *text;
} files[] = {
	{ "sim-1/proc/self/mountinfo", "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
				       "27 22 0:24 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw,inode64\n"
				       "30 22 9:127 / /mnt/resource_nvme rw,relatime shared:30 - xfs /dev/md127 rw\n"
				       "31 22 8:17 / /mnt rw,relatime shared:31 - ext4 /dev/sdb1 rw\n"
				       "32 22 0:50 / /shared rw,relatime shared:32 - nfs4 nfs.sim:/export rw\n" },
	{ "sim-3/proc/self/mountinfo", "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
				       "27 22 0:24 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw,inode64\n"
				       "30 22 8:17 / /mnt rw,relatime shared:30 - ext4 /dev/sdb1 rw\n"
				       "31 22 0:50 / /shared rw,relatime shared:31 - nfs4 nfs.sim:/export rw\n" },
	{ "sim-1/sys/dev/block/9:127/md/level", "raid0\n" },
	{ "sim-1/sys/block/md127/md/raid_disks", "8\n" },
	{ "sim-2/sys/block/md127/md/raid_disks", "7\n" },
	{ "sim-1/sys/block/md127/md/array_state", "clean\n" },
	{ "sim-1/sys/dev/block/8:17/partition", "1\n" },
	{ "sim-1/sys/class/infiniband/mlx5_ib3/ports/1/state", "4: ACTIVE\n" },
	{ "sim-1/sys/class/infiniband/mlx5_ib3/ports/1/phys_state", "5: LinkUp\n" },
	{ "sim-1/sys/class/infiniband/mlx5_ib3/ports/1/rate", "200 Gb/sec (4X HDR)\n" },
	{ "sim-1/sys/class/infiniband/mlx5_ib3/ports/1/link_layer", "InfiniBand\n" },
	{ "sim-1/sys/class/infiniband/mlx5_ib3/ports/1/gid_attrs/types/0", "IB/RoCE v1\n" },
	{ "sim-1/sys/class/infiniband/mlx5_an0/ports/1/gid_attrs/types/3", "RoCE v2\n" },
	{ "sim-1/sys/class/infiniband/mlx5_ib3/ports/1/pkeys/0", "0x8001\n" },
	{ "sim-2/sys/class/infiniband/mlx5_ib7/ports/1/pkeys/0", "0x8001\n" },
	{ "sim-1/sys/class/infiniband/mlx5_ib3/ports/1/counters/link_downed", "0\n" },
	{ "sim-1/sys/class/infiniband/mlx5_ib3/ports/1/hw_counters/out_of_sequence", "0\n" },
	{ "sim-1/sys/class/infiniband/mlx5_ib3/device/numa_node", "0\n" },
	{ "sim-1/sys/class/infiniband/mlx5_ib3/device/uevent", "PCI_ID=15b3:101c\nPCI_SLOT_NAME=0104:00:00.0\n" },
	{ "sim-1/sys/class/infiniband/mlx5_ib3/node_type", "1: CA\n" },
	{ "sim-1/sys/class/infiniband/mlx5_an0/ports/1/link_layer", "Ethernet\n" },
	{ "sim-1/sys/class/infiniband/mlx5_an0/ports/1/rate", "40 Gb/sec (4X QDR)\n" },
	{ "sim-2/sys/class/infiniband/mlx5_ib3/ports/1/state", "1: DOWN\n" },
	{ "sim-2/sys/class/infiniband/mlx5_ib3/ports/1/phys_state", "2: Polling\n" },
	{ "sim-2/sys/class/infiniband/mlx5_ib3/ports/1/lid", "0xffff\n" },
	{ "sim-1/sys/bus/pci/devices/0001:00:00.0/numa_node", "1\n" },
	{ "sim-1/sys/bus/pci/devices/0001:00:00.0/local_cpulist", "24-47\n" },
	{ "sim-1/sys/bus/pci/devices/0001:00:00.0/local_cpus", "00000000,0000ffff,ff000000\n" },
	{ "sim-1/sys/bus/pci/devices/000e:00:00.0/local_cpus", "000000ff,ffff0000,00000000\n" },
	{ "sim-1/sys/bus/pci/devices/0001:00:00.0/vendor", "0x10de\n" },
	{ "sim-1/sys/devices/system/node/online", "0-3\n" },
	{ "sim-1/sys/devices/system/node/node3/cpulist", "72-95\n" },
	{ "sim-1/sys/devices/system/cpu/online", "0-95\n" },
	{ "sim-1/proc/sys/kernel/osrelease", "5.15.0-1110-azure\n" },
	{ "sim-1/etc/os-release", "PRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"22.04.5\"\n" },
	{ "sim-2/proc/sys/kernel/hostname", "sim-2\n" },
	{ "sim-2/proc/sys/kernel/random/boot_id", "00000000-0000-4000-8000-000000000002\n" },
	{ "sim-1/etc/nccl.conf", "NCCL_IB_PCI_RELAXED_ORDERING=1\nNCCL_TOPO_FILE=/opt/microsoft/ndv4/topo.xml\n"
				 "NCCL_IGNORE_CPU_AFFINITY=1\n" },
	{ "sim-1/sys/block/nvme3n1/size", "1875000000\n" },
	{ "sim-1/sys/block/nvme3n1/device/model", "Microsoft NVMe Direct Disk              \n" },
	{ "sim-1/sys/class/nvme/nvme7/transport", "pcie\n" },
	{ "sim-1/sys/block/sdb/size", "5871093750\n" },
	{ "sim-1/proc/driver/nvidia/params",
		"ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\nEnableStreamMemOPs: 0\n"
		"ImexChannelCount: 2048\nCreateImexChannel0: 0\nRegistryDwords: \"\"\n" },
	{ "sim-2/proc/driver/nvidia/params",
		"ModifyDeviceFiles: 1\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\nEnableStreamMemOPs: 0\n"
		"ImexChannelCount: 2048\nCreateImexChannel0: 1\nCoherentGPUMemoryMode: \"driver\"\n"
		"RegistryDwords: \"\"\n" },
	{ "sim-2/dev/nvidia-caps-imex-channels/channel2", "" },
	{ "sim-2/proc/uptime", "432000.00 432000.00\n" },
};

TEST_EACH(a_file_reads_as_the_kernel_would_print_it, files)
{
	struct muster_error err;
	char *text = NULL;
	size_t length = 0;
	ck_assert_msg(muster_file_read(path_of(files[_i].file), 4096, &text, &length, &err) == 0, "%s", err.text);
	ck_assert_str_eq(text, files[_i].text);
	free(text);
}

TEST(cpuinfo_lists_every_cpu_once)
{
	struct muster_error err;
	char *text = NULL;
	size_t length = 0, cpus = 0;
	ck_assert_int_eq(muster_file_read(path_of("sim-1/proc/cpuinfo"), 1 << 20, &text, &length, &err), 0);
	for (const char *at = text; (at = strstr(at, "processor\t:")); at++)
		cpus++;
	ck_assert_uint_eq(cpus, 96);
	ck_assert_ptr_nonnull(strstr(text, "model name\t: AMD EPYC 7V12 64-Core Processor\n"));
	free(text);
}

TEST(what_is_missing_is_missing_everywhere)
{
	ck_assert_int_eq(access(path_of("sim-1/sys/class/infiniband/mlx5_ib4"), F_OK), 0);
	ck_assert_int_ne(access(path_of("sim-2/sys/class/infiniband/mlx5_ib4"), F_OK), 0);
	ck_assert_int_ne(access(path_of("sim-2/sys/bus/pci/devices/0105:00:00.0"), F_OK), 0);
	ck_assert_int_ne(access(path_of("sim-2/sys/bus/pci/devices/0001:00:00.0"), F_OK), 0);
	ck_assert_int_eq(access(path_of("sim-2/sys/bus/pci/devices/0002:00:00.0"), F_OK), 0);
	ck_assert_int_ne(access(path_of("sim-2/sys/block/nvme3n1"), F_OK), 0);
	ck_assert_int_ne(access(path_of("sim-2/sys/class/nvme/nvme3"), F_OK), 0);
	ck_assert_int_ne(access(path_of("sim-2/etc/nccl.conf"), F_OK), 0); /* every line of it was taken away */
	ck_assert_int_ne(access(path_of("sim-1/dev/nvidia-caps-imex-channels"), F_OK), 0);
	ck_assert_int_ne(access(path_of("sim-2/dev/kmsg"), F_OK), 0);
	ck_assert_int_ne(access(path_of("sim-2/dev/nvidia-caps-imex-channels/channel3"), F_OK), 0);
}

TEST(the_kernels_log_is_in_order_of_time_and_has_its_faults)
{
	struct muster_error err;
	char *text, *rest, *line;
	size_t length, lines = 0, xids = 0;
	double last = 0;
	ck_assert_msg(muster_file_read(path_of("sim-1/dev/kmsg"), 1 << 20, &text, &length, &err) == 0, "%s", err.text);
	ck_assert_ptr_nonnull(strstr(text, "6,0,0,-;Linux version 5.15.0-1110-azure "));
	for (rest = text; (line = strsep(&rest, "\n")) != NULL && *line; lines++) {
		char form[64], record[MUSTER_KERNEL_TEXT_MAX + 1];
		uint64_t sequence;
		double seconds;
		ck_assert_msg(muster_kernel_record_parse(line, strlen(line), &sequence, &seconds, record), "%s", line);
		ck_assert_uint_eq(sequence, lines);
		ck_assert_double_ge(seconds, last);
		last = seconds;
		snprintf(form, sizeof form, "NVRM: Xid (PCI:000b:00:00): 79,");
		if (strncmp(record, form, strlen(form)) == 0)
			ck_assert_double_eq(seconds, MUSTER_SIM_UPTIME_S - 3 * 3600);
		xids += strstr(record, "Xid") != NULL;
	}
	ck_assert_uint_gt(lines, 30);
	ck_assert_uint_eq(xids, 1); /* the other one comes later */
	free(text);
}

TEST(the_link_to_the_temporary_disk_stays_in_the_root)
{
	char target[64] = "";
	ck_assert_int_eq(readlink(path_of("sim-1/dev/disk/azure/resource"), target, sizeof target - 1), 9);
	ck_assert_str_eq(target, "../../sdb");
	ck_assert_int_eq(access(path_of("sim-1/dev/disk/azure/resource"), F_OK), 0);
}

/* What leads from a mounted file system to its disks. */
TEST(a_file_system_leads_to_its_disks)
{
	ck_assert_int_eq(access(path_of("sim-1/mnt/resource_nvme"), W_OK), 0);
	ck_assert_int_eq(access(path_of("sim-1/sys/dev/block/9:127/slaves/nvme7n1/size"), F_OK), 0);
	ck_assert_int_eq(access(path_of("sim-1/sys/block/nvme7n1/holders/md127/md"), F_OK), 0);
	ck_assert_int_eq(access(path_of("sim-2/sys/dev/block/9:127/slaves/nvme3n1"), F_OK), -1);
	ck_assert_int_eq(access(path_of("sim-2/sys/dev/block/9:127/slaves/nvme4n1"), F_OK), 0);
	ck_assert_int_eq(access(path_of("sim-1/sys/dev/block/8:17/../queue/rotational"), F_OK), 0);
}

/* Each node's topology file places CPUs and GPUs where they are, but for what a stale one has swapped. */
TEST_WITH(the_topology_file_says_what_is_true_or_what_an_old_copy_says, .end = 2, .skip = !WITH_EXPAT)
{
	static struct muster_nccl_topo topo;
	const struct muster_sim_node *node = &cluster.nodes[_i];
	struct muster_error err;
	char *text, file[128];
	size_t length;
	snprintf(file, sizeof file, "%s/opt/microsoft/ndv4/topo.xml", node->name);
	ck_assert_msg(muster_file_read(path_of(file), 1 << 20, &text, &length, &err) == 0, "%s", err.text);
	ck_assert_msg(muster_nccl_topo_parse(text, length, &topo, &err) == 0, "%s", err.text);
	ck_assert_ptr_nonnull(strstr(text, "<pci busid=\"0104:00:00.0\" class=\"0x020700\""));
	ck_assert_ptr_null(strstr(text, "class=\"0x020000\"")); /* no Ethernet */
	free(text);
	ck_assert_uint_eq(topo.node_count, node->numa_count);
	for (size_t i = 0; i < topo.node_count; i++) {
		char *list = muster_cpuset_list(topo.nodes[i].cpus);
		ck_assert_int_eq(topo.nodes[i].numa_node, node->numas[i].os_index);
		ck_assert_str_eq(list, node->numas[i].cpu_list);
		free(list);
	}
	ck_assert_uint_eq(topo.gpu_count, node->gpu_count);
	for (size_t i = 0; i < topo.gpu_count; i++) {
		size_t g = 0;
		while (strcmp(node->gpus[g].bus_id, topo.gpus[i].bus_id) != 0)
			g++;
		int right = node->gpus[g].numa_node;
		ck_assert_int_eq(topo.gpus[i].numa_node, node->topo_file_swapped && right < 2 ? 1 - right : right);
	}
}

TEST(the_cluster_reads_back_as_it_was_written)
{
	struct muster_sim_cluster read;
	struct muster_error err;
	ck_assert_msg(muster_sim_cluster_read(path_of("cluster.json"), &read, &err) == 0, "%s", err.text);
	ck_assert_str_eq(read.sku, SIM_SKU);
	ck_assert_uint_eq(read.rank_count, 24);
	ck_assert_uint_eq(read.nodes[1].gpu_count, 7);
	ck_assert_uint_eq(read.nodes[1].port_count, 8);
	ck_assert_str_eq(read.nodes[1].ports[3].state, "DOWN");
	ck_assert_str_eq(read.ranks[7].cpu_mask, "ffffff000000000000");
	ck_assert_uint_eq(read.bandwidth_count, cluster.bandwidth_count);
	muster_sim_cluster_done(&read);
}

TEST(writing_twice_into_a_directory_is_an_error)
{
	struct muster_error err;
	ck_assert_int_eq(muster_sim_generate(&cluster, &hardware, &err), -1);
	ck_assert_int_eq(err.code, MUSTER_EIO);
	ck_assert_ptr_nonnull(strstr(err.text, "sim-1"));
}

static hwloc_topology_t load(const char *file)
{
	hwloc_topology_t topology;
	ck_assert_int_eq(hwloc_topology_init(&topology), 0);
	ck_assert_int_eq(hwloc_topology_set_xml(topology, path_of(file)), 0);
	ck_assert_int_eq(hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT), 0);
	ck_assert_int_eq(hwloc_topology_load(topology), 0);
	hwloc_topology_check(topology);
	return topology;
}

/* The CPUs that hwloc takes a PCI device to be near, as a mask; the caller frees. */
static char *near_mask(hwloc_topology_t topology, const char *bus_id)
{
	hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, bus_id);
	ck_assert_msg(device, "%s is not in the topology", bus_id);
	hwloc_obj_t parent = hwloc_get_non_io_ancestor_obj(topology, device);
	char *list = NULL;
	hwloc_bitmap_list_asprintf(&list, parent->cpuset);
	ck_assert_int_eq(hwloc_bitmap_weight(parent->nodeset), 1);
	return list;
}

TEST(hwloc_sees_packages_numa_nodes_and_cpus)
{
	hwloc_topology_t t = load("sim-1/topology.xml");
	ck_assert_int_eq(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE), 2);
	ck_assert_int_eq(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE), 4);
	ck_assert_int_eq(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU), 96);
	for (int i = 0; i < 4; i++) {
		hwloc_obj_t numa = hwloc_get_obj_by_type(t, HWLOC_OBJ_NUMANODE, (unsigned int)i);
		ck_assert_uint_eq(numa->attr->numanode.local_memory, 226772ull << 20);
		ck_assert_int_eq(hwloc_bitmap_first(numa->cpuset), 24 * (int)numa->os_index);
		ck_assert_int_eq(hwloc_bitmap_weight(numa->cpuset), 24);
	}
	hwloc_topology_destroy(t);
}

TEST(threads_of_a_core_are_neighbours)
{
	struct muster_sim_scenario scenario;
	struct muster_sim_hardware its_hardware;
	struct muster_sim_cluster two_threads;
	struct muster_error err;
	hwloc_topology_t t;
	char *text = NULL;
	size_t length = 0;
	muster_sim_scenario_init(&scenario);
	scenario.sku = SIM_SKU_VGPU;
	scenario.nodes = 1;
	ck_assert_int_eq(sim_build(&scenario, "/nowhere", &its_hardware, &two_threads, &err), 0);
	FILE *out = open_memstream(&text, &length);
	muster_sim_topology_print(&two_threads.nodes[0], &its_hardware, out);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_int_eq(hwloc_topology_init(&t), 0);
	ck_assert_int_eq(hwloc_topology_set_xmlbuffer(t, text, (int)length + 1), 0);
	ck_assert_int_eq(hwloc_topology_load(t), 0);
	hwloc_topology_check(t);
	ck_assert_int_eq(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU), 288);
	ck_assert_int_eq(hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE), 144);
	for (unsigned int i = 0; i < 144; i++) {
		hwloc_obj_t core = hwloc_get_obj_by_type(t, HWLOC_OBJ_CORE, i);
		ck_assert_uint_eq(core->os_index, i);
		ck_assert_int_eq(hwloc_bitmap_first(core->cpuset), (int)(2 * i));
		ck_assert_int_eq(hwloc_bitmap_last(core->cpuset), (int)(2 * i + 1));
		ck_assert_int_eq(hwloc_bitmap_weight(core->cpuset), 2);
	}
	hwloc_topology_destroy(t);
	free(text);
	muster_sim_cluster_done(&two_threads);
	muster_sim_scenario_done(&scenario);
}

TEST(hwloc_sees_every_device_on_its_numa_node)
{
	hwloc_topology_t t = load("sim-1/topology.xml");
	const struct muster_sim_node *node = &cluster.nodes[0];
	for (size_t i = 0; i < node->gpu_count; i++) {
		char *list = near_mask(t, node->gpus[i].bus_id);
		ck_assert_str_eq(list, node->numas[node->gpus[i].numa_node].cpu_list);
		free(list);
	}
	for (size_t i = 0; i < node->port_count; i++) {
		char *list = near_mask(t, node->ports[i].pci);
		ck_assert_str_eq(list, node->numas[node->ports[i].numa_node].cpu_list);
		free(list);
	}
	hwloc_topology_destroy(t);
}

TEST(hwloc_sees_the_rdma_devices_by_name_and_no_two_devices_behind_one_bridge)
{
	hwloc_topology_t t = load("sim-2/topology.xml");
	int rdma = 0;
	for (hwloc_obj_t os = NULL; (os = hwloc_get_next_osdev(t, os));) {
		ck_assert_int_eq(os->attr->osdev.type, HWLOC_OBJ_OSDEV_OPENFABRICS);
		ck_assert_str_ne(os->name, "mlx5_ib4");
		ck_assert_int_eq(os->parent->type, HWLOC_OBJ_PCI_DEVICE);
		rdma++;
	}
	ck_assert_int_eq(rdma, 8);
	for (hwloc_obj_t bridge = NULL; (bridge = hwloc_get_next_bridge(t, bridge));)
		ck_assert_uint_eq(bridge->io_arity, 1);
	ck_assert_ptr_null(hwloc_get_pcidev_by_busidstring(t, "0001:00:00.0"));
	hwloc_topology_destroy(t);
}

TEST_MAIN(.setup = generate, .teardown = clean, .once = true)
