/* SPDX-License-Identifier: Apache-2.0 */
/* fs.c - the files of a simulated node: what node_files.txt does not know of it
 *
 * Texts that are computed, lists, and what is made of disks. A function make_...() calls MAKE for a thing such as
 * "port": node_files.txt has the files of such a thing, and the function gives it the values that no field of cluster.h
 * is.
 *
 * The order in write_node(): disks before volumes, which are made of them and make the text of mountinfo; that before
 * the node's own files, which have the text; paths last, when the folder of the applications is mounted; then the log,
 * because each thing may have added lines to it, which are sorted by their time.
 */
#include "sim/fs.h"

#include "sim/files.h"
#include "util/cpuset.h"
#include "util/text.h"

#include <stdlib.h>
#include <string.h>

/* A node that is being written. */
struct writing {
	struct muster_sim_files files;
	const struct muster_sim_node *node;
	const struct muster_sim_hardware *hardware;
	struct muster_sim_scope scope; /* the node's */
};

#define TEXT(w, ...) muster_arena_printf((w)->files.arena, __VA_ARGS__)

/* The files and lines of one thing. Names that the scope does not have are looked up in the node's, unless the caller
 * has set what is around it. */
static void make(struct writing *w, const char *thing, struct muster_sim_scope scope)
{
	if (!scope.around)
		scope.around = &w->scope;
	muster_sim_files_make(&w->files, thing, &scope);
}

/* MAKE(w, "gid", .around = &port, .index = 0, MUSTER_SIM_NAMES({ "address", text })): members of the thing's scope. */
#define MAKE(w, thing, ...) make(w, thing, (struct muster_sim_scope){ __VA_ARGS__ })

/* What print has printed, without its last newline: a line of a file brings its own. */
static const char *printed(const struct writing *w, void (*print)(const struct writing *w, FILE *out))
{
	char *text;
	size_t length;
	FILE *out = muster_memory_open(&text, &length);
	print(w, out);
	muster_memory_close(out);
	const char *kept = muster_arena_string_n(w->files.arena, text, length > 0 ? length - 1 : 0);
	free(text);
	return kept;
}

/* -- CPUs -- */

/* The CPUs of a NUMA node as sysfs prints a mask: words of 32 bits for all CPUs of the node, highest first. CPUs 24-47
 * of 96: "00000000,0000ffff,ff000000". */
static const char *mask_of(const struct writing *w, int numa_node)
{
	hwloc_bitmap_t set = muster_sim_cpus(w->node, numa_node), all = muster_sim_cpus(w->node, -1);
	const char *text = "";
	for (unsigned int word = 0; (int)word <= hwloc_bitmap_last(all) / 32; word++)
		text = TEXT(w, "%08lx%s%s", hwloc_bitmap_to_ith_ulong(set, word / 2) >> word % 2 * 32 & 0xffffffff,
			word ? "," : "", text);
	hwloc_bitmap_free(set);
	hwloc_bitmap_free(all);
	return text;
}

const struct muster_sim_pci *muster_sim_pci_find(const struct muster_sim_hardware *hardware, const char *bus_id)
{
	static const struct muster_sim_pci foreign = { "", "0x020700", "0x15b3", "0x101c" };
	for (size_t i = 0; i < hardware->pci_count; i++)
		if (strcmp(hardware->pci[i].bus_id, bus_id) == 0)
			return &hardware->pci[i];
	return &foreign;
}

/* Four lines for each CPU. Threads of a core have neighbouring numbers, so the core's number is that of the CPU divided
 * by the threads. */
static void print_cpuinfo(const struct writing *w, FILE *out)
{
	const struct muster_sim_node *node = w->node;
	for (size_t i = 0; i < node->numa_count; i++) {
		hwloc_bitmap_t set = muster_sim_cpus(node, node->numas[i].os_index);
		for (int cpu = -1; (cpu = hwloc_bitmap_next(set, cpu)) >= 0;)
			fprintf(out, "processor\t: %d\nmodel name\t: %s\nphysical id\t: %d\ncore id\t\t: %d\n\n", cpu,
				node->cpu_model, node->numas[i].socket, cpu / node->threads_per_core);
		hwloc_bitmap_free(set);
	}
}

/* -- devices on the PCI bus -- */

/* A PCI device's files in sysfs. numa: the scope of its NUMA node. With the fault acs the node's first GPU is behind a
 * switch, whose configuration space is written here because it has bytes that are no text. */
static void make_pci(struct writing *w, const char *bus_id, const struct muster_sim_scope *numa)
{
	const struct muster_sim_pci *pci = muster_sim_pci_find(w->hardware, bus_id);
	const char *first = w->node->gpus[0].bus_id; /* NULL: all GPUs are missing */
	bool behind_switch = w->node->acs && first && strcmp(first, bus_id) == 0;
	const char *domain = muster_arena_string_n(w->files.arena, bus_id, strcspn(bus_id, ":"));
	MAKE(w, "pci", .around = numa,
		MUSTER_SIM_NAMES({ "bus_id", bus_id }, { "domain", domain },
			{ "behind_switch", behind_switch ? "1" : "" }, { "class", pci->class_code },
			{ "vendor", pci->vendor + 2 }, { "device", pci->device + 2 }));
	if (!behind_switch)
		return;
	/* At 0x100, where extended capabilities begin: id 0x000d (ACS), version 1, no next one; the capability register
	 * 0x001f; the control register 0x001d, which enables source validation, redirection of requests and of
	 * completions, and upstream forwarding. */
	static const unsigned char capability[] = { 0x0d, 0x00, 0x01, 0x00, 0x1f, 0x00, 0x1d, 0x00 };
	unsigned char config[4096] = { 0 };
	memcpy(config + 0x100, capability, sizeof capability);
	const char *path = TEXT(w, "sys/devices/pci%s:f0/%s:f0:00.0/%s:f1:00.0/config", domain, domain, domain);
	FILE *out = muster_sim_files_start(&w->files, path);
	if (out)
		fwrite(config, 1, sizeof config, out);
	muster_sim_files_finish(&w->files, path, out);
}

/* The bus ids of the devices that are near to a NUMA node: its GPUs, those that no library shows, then its adapters,
 * each once however many ports it has. *ret: in the arena. Returns how many they are. */
static size_t find_near(const struct writing *w, int numa_node, bool with_ethernet, const char ***ret)
{
	const struct muster_sim_node *node = w->node;
	const char **bus_ids = muster_arena_alloc(
		w->files.arena, (node->gpu_count + node->unseen_gpu_count + node->port_count) * sizeof *bus_ids);
	size_t count = 0;
	for (size_t i = 0; i < node->gpu_count; i++)
		if (node->gpus[i].numa_node == numa_node)
			bus_ids[count++] = node->gpus[i].bus_id;
	for (size_t i = 0; i < node->unseen_gpu_count; i++)
		if (node->unseen_gpus[i].numa_node == numa_node)
			bus_ids[count++] = node->unseen_gpus[i].bus_id;
	for (size_t i = 0; i < node->port_count; i++)
		if (node->ports[i].numa_node == numa_node && muster_sim_port_is_first(node, i) &&
			(with_ethernet || strcmp(node->ports[i].link_layer, "InfiniBand") == 0))
			bus_ids[count++] = node->ports[i].pci;
	*ret = bus_ids;
	return count;
}

/* A NUMA node and the devices that are near to it. */
static void make_numa(struct writing *w, const struct muster_sim_numa *numa)
{
	const struct muster_sim_scope scope = { .around = &w->scope,
		.type = &muster_sim_numa_type,
		.object = numa,
		MUSTER_SIM_NAMES({ "cpu_mask", mask_of(w, numa->os_index) },
			{ "memory_kib", TEXT(w, "%.0f", numa->memory_mib * 1024) }) };
	muster_sim_files_make(&w->files, "numa", &scope);
	const char **bus_ids;
	size_t count = find_near(w, numa->os_index, true, &bus_ids);
	for (size_t i = 0; i < count; i++)
		make_pci(w, bus_ids[i], &scope);
}

static int by_bus_id(const void *a, const void *b)
{
	return strcmp(
		(*(const struct muster_sim_gpu *const *)a)->bus_id, (*(const struct muster_sim_gpu *const *)b)->bus_id);
}

/* The driver numbers all GPUs that the kernel shows in the order of the bus, also those that no library shows, so these
 * are sorted first; the index is the number in /dev/nvidiaN. A stranger that is on several GPUs has one folder in
 * /proc. */
static void make_gpus(struct writing *w)
{
	const struct muster_sim_node *node = w->node;
	size_t count = 0;
	int stranger = 0;
	const struct muster_sim_gpu **gpus =
		muster_arena_alloc(w->files.arena, (node->gpu_count + node->unseen_gpu_count) * sizeof *gpus);
	for (size_t i = 0; i < node->gpu_count; i++) {
		const struct muster_sim_gpu *gpu = gpus[count++] = &node->gpus[i];
		MAKE(w, "working_gpu", .type = &muster_sim_gpu_type, .object = gpu, .index = i);
		if (gpu->stranger_pid != 0 && gpu->stranger_pid != stranger)
			MAKE(w, "stranger", .type = &muster_sim_gpu_type, .object = gpu);
		stranger = gpu->stranger_pid != 0 ? gpu->stranger_pid : stranger;
	}
	for (size_t i = 0; i < node->unseen_gpu_count; i++)
		gpus[count++] = &node->unseen_gpus[i];
	qsort(gpus, count, sizeof *gpus, by_bus_id);
	for (size_t i = 0; i < count; i++) {
		const char *driver = gpus[i]->driver;
		MAKE(w, "gpu", .type = &muster_sim_gpu_type, .object = gpus[i], .index = i,
			MUSTER_SIM_NAMES({ "bound", !*driver                      ? "nvidia"
						    : strcmp(driver, "none") == 0 ? ""
										  : driver },
				{ "ours", *driver || gpus[i]->hidden ? "" : "1" },
				{ "exclusion", gpus[i]->excluded ? "Yes" : "No" }));
	}
}

/* -- RDMA devices -- */

/* The number of a state, which sysfs prints before its name. */
static const char *state_number(struct writing *w, const char *file, enum muster_sim_port_word kind, const char *name)
{
	int number = muster_sim_port_word_number(kind, name);
	if (number < 0)
		muster_sim_files_refuse(&w->files, file, name, "no port has this state");
	return TEXT(w, "%d", number);
}

/* The table of GIDs. An Ethernet port has each address twice, for RoCE v1 and for RoCE v2, as mlx5 has them; with the
 * fault roce-v1 the entries of v2 are missing. The second address is an IPv4 address 10.0.N.P of node N and port P as
 * IPv6 writes it, made of the last bytes of the GID.
 *
 *   0    fe80:...              IB/RoCE v1
 *   1    fe80:...              RoCE v2
 *   2    ...:ffff:0a00:0101    IB/RoCE v1
 *   3    ...:ffff:0a00:0101    RoCE v2
 */
static void make_gids(struct writing *w, const struct muster_sim_port *port, const struct muster_sim_scope *around)
{
	bool ethernet = strcmp(port->link_layer, "Ethernet") == 0;
	const char *ipv4 =
		TEXT(w, "0000:0000:0000:0000:0000:ffff:0a%s", port->gid + strlen(port->gid) - strlen("01:0101"));
	for (size_t i = 0; i < (ethernet ? 4 : 1); i++) {
		bool v2 = i % 2 == 1;
		if (!v2 || !port->roce_v1)
			MAKE(w, "gid", .around = around, .index = i,
				MUSTER_SIM_NAMES({ "address", i < 2 ? port->gid : ipv4 },
					{ "type", v2 ? "RoCE v2" : "IB/RoCE v1" }));
	}
}

static void make_port(struct writing *w, const struct muster_sim_port *port, size_t index)
{
	const struct muster_sim_scope scope = { .around = &w->scope,
		.type = &muster_sim_port_type,
		.object = port,
		.index = index,
		MUSTER_SIM_NAMES({ "state_number", state_number(w, "state", MUSTER_SIM_PORT_STATE, port->state) },
			{ "phys_state_number",
				state_number(w, "phys_state", MUSTER_SIM_PORT_PHYS_STATE, port->phys_state) },
			{ "lid_hex", TEXT(w, "0x%x", (unsigned int)port->lid) },
			{ "sm_lid_hex", TEXT(w, "0x%x", (unsigned int)port->sm_lid) }) };
	muster_sim_files_make(&w->files, "port", &scope);
	make_gids(w, port, &scope);
	for (size_t i = 0; i < port->pkey_count; i++)
		MAKE(w, "pkey", .around = &scope, .index = i, MUSTER_SIM_NAMES({ "pkey", port->pkeys[i] }));
	for (size_t i = 0; i < port->counter_count; i++) {
		const char *name = port->counters[i].name;
		bool hw = strncmp(name, "hw:", 3) == 0;
		MAKE(w, "counter", .around = &scope, .type = &muster_sim_counter_type, .object = &port->counters[i],
			MUSTER_SIM_NAMES(
				{ "folder", hw ? "hw_counters" : "counters" }, { "file", hw ? name + 3 : name }));
	}
}

static void make_ports(struct writing *w)
{
	size_t devices = 0;
	for (size_t i = 0; i < w->node->port_count; i++) {
		const struct muster_sim_port *port = &w->node->ports[i];
		if (muster_sim_port_is_first(w->node, i))
			MAKE(w, "rdma_device", .type = &muster_sim_port_type, .object = port, .index = devices++);
		make_port(w, port, i);
	}
}

/* -- disks -- */

/* Major numbers of the kernel's devices.txt; that of device mappers is taken when the module is loaded. */
enum { MAJOR_SD = 8, MAJOR_MD = 9, MAJOR_DM = 253, MAJOR_NVME = 259 };

/* Bytes that go to one disk before the next one's turn: the defaults of mdadm and LVM. */
enum { CHUNK = 512 << 10, STRIPE = 64 << 10 };

/* A device in sys/block, or a partition of one. path: "md127", or "sdb/sdb1" of a partition; number: "9:127"; gb: 10^9
 * bytes; smallest, best: bytes of the smallest request that makes sense and of the best one. smallest 0: a partition,
 * which has no such files; best 0: a disk. */
static void make_block(struct writing *w, const char *path, const char *number, double gb, size_t smallest, size_t best)
{
	const char *slash = strrchr(path, '/');
	MAKE(w, "block",
		MUSTER_SIM_NAMES({ "path", path }, { "name", slash ? slash + 1 : path }, { "number", number },
			{ "sectors", TEXT(w, "%.0f", gb * 1e9 / 512) }, { "smallest", TEXT(w, "%zu", smallest) },
			{ "best", TEXT(w, "%zu", best) }, { "disk", smallest && !best ? "1" : "" }));
}

/* The NVMe disks, and the temporary disk with its one partition, where the machine type has one. */
static void make_disks(struct writing *w)
{
	static const char prefix[] = "nvme";
	const struct muster_sim_node *node = w->node;
	for (size_t i = 0; i < node->disk_count; i++) {
		const char *device = node->disks[i].device;
		if (strncmp(device, prefix, strlen(prefix)) != 0) {
			muster_sim_files_refuse(&w->files, "disk", device, "must be a name such as nvme0n1");
			return;
		}
		size_t length = strlen(prefix) + strspn(device + strlen(prefix), "0123456789");
		make_block(w, device, TEXT(w, "%d:%zu", MAJOR_NVME, i), node->disks[i].gb, 4096, 0);
		MAKE(w, "nvme", .type = &muster_sim_disk_type, .object = &node->disks[i],
			MUSTER_SIM_NAMES({ "controller", muster_arena_string_n(w->files.arena, device, length) }));
	}
	if (node->temp_disk_gb > 0) {
		make_block(w, "sdb", TEXT(w, "%d:16", MAJOR_SD), node->temp_disk_gb, 4096, 0);
		make_block(w, "sdb/sdb1", TEXT(w, "%d:17", MAJOR_SD), node->temp_disk_gb, 0, 0);
	}
}

/* A device that is made of all disks: an array of mdadm, or a logical volume. The array loses its first disks, so those
 * are no members. The best request has a stripe for each disk. */
static void make_striped(struct writing *w, const struct muster_sim_volume *volume, const char *number, bool array)
{
	const struct muster_sim_node *node = w->node;
	size_t smallest = array ? CHUNK : STRIPE;
	const struct muster_sim_scope scope = { .around = &w->scope,
		.type = &muster_sim_volume_type,
		.object = volume,
		MUSTER_SIM_NAMES(
			{ "disks", TEXT(w, "%zu", node->disk_count) }, { "smallest", TEXT(w, "%zu", smallest) }) };
	make_block(w, volume->device, number, volume->gb, smallest, smallest * node->disk_count);
	muster_sim_files_make(&w->files, array ? "array" : "mapped", &scope);
	for (size_t i = (size_t)volume->missing_members; i < node->disk_count; i++) {
		const struct muster_sim_scope member = { .around = &scope,
			MUSTER_SIM_NAMES({ "disk", node->disks[i].device }, { "slot", TEXT(w, "%zu", i) }) };
		muster_sim_files_make(&w->files, "member", &member);
		if (array)
			muster_sim_files_make(&w->files, "array_disk", &member);
	}
}

static bool is_remote(const struct muster_sim_volume *volume)
{
	return strchr(volume->device, ':') != NULL;
}

static bool is_mapped(const struct muster_sim_volume *volume)
{
	return strncmp(volume->device, "dm-", 3) == 0;
}

/* Number of the volume's device, "major:minor", which is made where it is neither a disk nor a partition. A name that
 * is none of these is refused, because mountinfo needs a number. */
static const char *make_volume(struct writing *w, const struct muster_sim_volume *volume)
{
	const char *digits = volume->device + strcspn(volume->device, "0123456789");
	bool array = strncmp(volume->device, "md", 2) == 0;
	if (is_remote(volume))
		return "0:50";
	if (strcmp(volume->device, "sdb1") == 0)
		return TEXT(w, "%d:17", MAJOR_SD);
	if (array || is_mapped(volume)) {
		const char *number = TEXT(w, "%d:%ld", array ? MAJOR_MD : MAJOR_DM, strtol(digits, NULL, 10));
		make_striped(w, volume, number, array);
		return number;
	}
	for (size_t i = 0; i < w->node->disk_count; i++)
		if (strcmp(w->node->disks[i].device, volume->device) == 0)
			return TEXT(w, "%d:%zu", MAJOR_NVME, i);
	muster_sim_files_refuse(
		&w->files, "volume", volume->device, "must be a disk, sdb1, md127, dm-0 or of another machine");
	return "";
}

/* Makes the devices and the places of all volumes; the text of mountinfo, without its last newline. A line is
 *
 *   ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS shared:N - FILESYSTEM SOURCE OPTIONS
 *   30 22 9:127 / /mnt/resource_nvme rw,relatime shared:30 - xfs /dev/md127 rw
 */
static const char *make_mounts(struct writing *w)
{
	const struct muster_sim_node *node = w->node;
	const char *size = node->shm_mib > 0 ? TEXT(w, ",size=%.0fk", node->shm_mib * 1024) : "";
	const char *text = TEXT(w,
		"22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
		"27 22 0:24 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw%s,inode64",
		size);
	for (size_t i = 0; i < node->volume_count; i++) {
		const struct muster_sim_volume *volume = &node->volumes[i];
		const char *way = volume->read_only ? "ro" : "rw";
		size_t id = 30 + i;
		text = TEXT(w, "%s\n%zu 22 %s / %s %s,relatime shared:%zu - %s %s%s %s", text, id,
			make_volume(w, volume), volume->path, way, id, volume->filesystem,
			is_remote(volume) ? "" : "/dev/", is_mapped(volume) ? "mapper/scratch-data" : volume->device,
			way);
		MAKE(w, "mount", .type = &muster_sim_volume_type, .object = volume);
	}
	return text;
}

/* -- the applications' folder -- */

const char *const muster_sim_paths[] = { "/shared/apps", "/shared/apps/pytorch_env",
	"/shared/apps/pytorch_env/VERSION" };

/* What is in a folder that is missing is not there either. */
static void make_paths(struct writing *w)
{
	const struct muster_sim_node *node = w->node;
	for (size_t i = 0; i < sizeof muster_sim_paths / sizeof *muster_sim_paths; i++) {
		const char *path = muster_sim_paths[i];
		bool differs = muster_text_among(path, node->paths_other, node->path_other_count);
		bool is_file = i + 1 == sizeof muster_sim_paths / sizeof *muster_sim_paths;
		if (muster_text_among(path, node->paths_missing, node->path_missing_count))
			return;
		MAKE(w, is_file ? "version" : "folder",
			MUSTER_SIM_NAMES({ "place", path + 1 }, { "folder", strrchr(path, '/') + 1 },
				{ "differs", differs ? "1" : "" }));
	}
}

/* -- the kernel's log -- */

static int by_time(const void *a, const void *b)
{
	const struct muster_sim_log_line *x = a, *y = b;
	return x->seconds != y->seconds ? (x->seconds > y->seconds) - (x->seconds < y->seconds)
					: (x->order > y->order) - (x->order < y->order);
}

/* Write dev/kmsg: the lines of a healthy boot, which were collected in w->files.log, and those of the faults, sorted by
 * time. What comes during the run is added then, by the stand-ins (standins/kernel_log.c). A record of the kernel is
 * "LEVEL,NUMBER,MICROSECONDS,-;TEXT". Ages count from MUSTER_SIM_UPTIME_S after boot. */
static void write_log(struct writing *w)
{
	const struct muster_sim_node *node = w->node;
	struct muster_sim_files *f = &w->files;
	for (size_t i = 0; i < node->kernel_log_count; i++) {
		char *text;
		double age = strtod(node->kernel_log[i], &text);
		if (text != node->kernel_log[i] && *text == ' ')
			muster_sim_files_log(f, MUSTER_SIM_UPTIME_S - age, text + 1);
	}
	qsort(f->log, f->log_count, sizeof *f->log, by_time);
	FILE *out = node->kernel_log_hidden ? NULL : muster_sim_files_start(f, "dev/kmsg");
	for (size_t i = 0; out && i < f->log_count; i++)
		fprintf(out, "6,%zu,%.0f,-;%s\n", i, f->log[i].seconds * 1e6, f->log[i].text);
	muster_sim_files_finish(f, "dev/kmsg", out);
}

/* -- the node -- */

/* The node as an NCCL topology file, as images for its machine type bring it along: each NUMA node's CPUs, and behind a
 * bridge that no machine has, its GPUs and InfiniBand adapters. In a stale one, what hangs on the first two NUMA nodes
 * has changed places. */
static void print_topo(const struct writing *w, FILE *out)
{
	const struct muster_sim_node *node = w->node;
	bool swapped = node->topo_file_swapped && node->numa_count > 1;
	fputs("<system version=\"1\">\n", out);
	for (size_t i = 0; i < node->numa_count; i++) {
		const char **bus_ids;
		size_t count = find_near(w, node->numas[swapped && i < 2 ? 1 - i : i].os_index, false, &bus_ids);
		fprintf(out, "  <cpu numaid=\"%d\" affinity=\"%s\" arch=\"%s\">\n", node->numas[i].os_index,
			mask_of(w, node->numas[i].os_index), node->architecture);
		fprintf(out, "    <pci busid=\"ffff:ff:%02zx.0\" class=\"0x060400\">\n", i + 1);
		for (size_t d = 0; d < count; d++)
			fprintf(out,
				"      <pci busid=\"%s\" class=\"%s\" link_speed=\"16.0 GT/s PCIe\" "
				"link_width=\"16\"/>\n",
				bus_ids[d], muster_sim_pci_find(w->hardware, bus_ids[d])->class_code);
		fputs("    </pci>\n  </cpu>\n", out);
	}
	fputs("</system>\n", out);
}

static void print_topology(const struct writing *w, FILE *out)
{
	muster_sim_topology_print(w->node, w->hardware, out);
}

/* The files of the node itself. index: of the node, which makes its boot id, because two nodes may have one name.
 * mountinfo: the text of that file. */
static void make_node(struct writing *w, size_t index, const char *mountinfo)
{
	const struct muster_sim_node *node = w->node;
	/* "Ubuntu 22.04.5 LTS" also gives NAME and VERSION_ID; "acpi-cpufreq: performance", a driver and a governor */
	const char *version = node->os_name + strcspn(node->os_name, "0123456789");
	const char *colon = strstr(node->cpu_governor, ": "), *mode = node->coherent_memory_mode;
	hwloc_bitmap_t all = muster_sim_cpus(node, -1);
	char *cpu_list = muster_cpuset_list(all);
	const char *conf = "";
	size_t last = node->numa_count - 1;
	double kib = 0;
	for (size_t i = 0; i < node->nccl_conf_count; i++)
		conf = TEXT(w, "%s%s%s", conf, i > 0 ? "\n" : "", node->nccl_conf[i]);
	for (size_t i = 0; i < node->numa_count; i++)
		kib += node->numas[i].memory_mib * 1024;
	if (*node->topo_file && *node->topo_file != '/')
		muster_sim_files_refuse(&w->files, "topo_file", node->topo_file, "must be an absolute path");
	MAKE(w, "node",
		MUSTER_SIM_NAMES({ "numa_list", TEXT(w, last ? "0-%zu" : "%zu", last) }, { "cpu_list", cpu_list },
			{ "cpuinfo", printed(w, print_cpuinfo) }, { "memory_kib", TEXT(w, "%.0f", kib) },
			{ "memory_free_kib", TEXT(w, "%.0f", kib * 0.96) },
			{ "memory_available_kib", TEXT(w, "%.0f", kib * 0.97) }, { "mountinfo", mountinfo },
			{ "uptime_s", TEXT(w, "%.0f", node->up_s > 0 ? node->up_s : MUSTER_SIM_UPTIME_S) },
			{ "boot_number", TEXT(w, "%012zx", index + 1) },
			{ "imex", node->imex_channels > 0 ? "1" : "0" },
			{ "coherent_memory_line", *mode ? TEXT(w, "CoherentGPUMemoryMode: \"%s\"\n", mode) : "" },
			{ "os", muster_arena_string_n(w->files.arena, node->os_name, strcspn(node->os_name, " ")) },
			{ "os_version", muster_arena_string_n(w->files.arena, version, strcspn(version, " ")) },
			{ "governor_driver", muster_arena_string_n(w->files.arena, node->cpu_governor,
						     colon ? (size_t)(colon - node->cpu_governor) : 0) },
			{ "governor", colon ? colon + 2 : "" }, { "temp_disk_model", "Virtual Disk" },
			{ "nccl_conf_lines", conf }, { "topo", printed(w, print_topo) },
			{ "topology", printed(w, print_topology) }));
	free(cpu_list);
	hwloc_bitmap_free(all);
}

/* What Hyper-V tells of the host: a record has a key of 512 bytes and a value of 2048, both padded with zeros. Each
 * node is on a host of its own. */
static void make_host(struct writing *w, size_t index)
{
	static const char path[] = "var/lib/hyperv/.kvp_pool_3";
	char records[2][512 + 2048] = { "HostName", "PhysicalHostName" };
	FILE *out = muster_sim_files_start(&w->files, path);
	for (size_t i = 0; i < 2; i++)
		snprintf(records[i] + 512, 2048, "SIMHOST%zu", index + 1);
	if (out)
		fwrite(records, 1, sizeof records, out);
	muster_sim_files_finish(&w->files, path, out);
}

/* All files of one node, in the order that the head of this file explains. The arena is this function's: nothing that
 * is made here outlives the node's files. */
static int write_node(const struct muster_sim_node *node, size_t index, const struct muster_sim_hardware *hw,
	struct muster_error *err)
{
	struct muster_arena *arena = muster_arena_new();
	struct writing w = { .files = { .root = node->directory,
				     .arena = arena,
				     .err = err,
				     .missing = node->files_missing,
				     .missing_count = node->file_missing_count },
		.node = node,
		.hardware = hw,
		.scope = { .type = &muster_sim_node_type, .object = node } };
	make_disks(&w);
	make_node(&w, index, make_mounts(&w));
	make_host(&w, index);
	for (size_t i = 0; i < node->numa_count; i++)
		make_numa(&w, &node->numas[i]);
	make_gpus(&w);
	make_ports(&w);
	for (size_t i = 0; i < node->daemon_count; i++)
		MAKE(&w, "daemon",
			MUSTER_SIM_NAMES({ "pid", TEXT(&w, "%zu", 1000 + i) }, { "name", node->daemons[i] },
				{ "comm", TEXT(&w, "%.15s", node->daemons[i]) }));
	for (int i = 0; i < node->imex_channels && !node->imex_hidden; i++)
		MAKE(&w, "imex_channel", .index = (size_t)i);
	make_paths(&w);
	write_log(&w);
	free(w.files.log);
	muster_arena_free(arena);
	return w.files.failed ? -1 : 0;
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
