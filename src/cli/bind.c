/* bind.c - `muster bind`: what puts each rank next to its GPU, in the words of srun, sbatch, mpirun and gres.conf
 *
 * From a hardware description, or from hwloc on this machine. No vendor library is needed: GPUs are PCI devices, in the
 * order of their bus ids, which is CUDA's with CUDA_DEVICE_ORDER=PCI_BUS_ID.
 */
#include "system/gres.h"
#include "system/topology.h"
#include "cli/cli.h"
#include "util/text.h"
#include "muster/report.h"
#include "system/hardware.h"
#include "util/env.h"
#include "util/cpuset.h"
#include "util/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VENDOR_NVIDIA 0x10de
#define CLASS_VGA 0x0300
#define CLASS_3D 0x0302

struct home {                    /* a NUMA node with CPUs */
	int os_index;            /* first, for muster_by_int */
	const char *mask, *list; /* of its CPUs */
	unsigned int cpus;       /* how many they are */
	const char *cores;       /* Slurm counts cores as hwloc's logical indices do, not CPUs */
	unsigned int core_count;
	int gpus; /* how many are next to it */
};

struct gpu {
	const char *bus_id;
	long minor; /* /dev/nvidia<minor> */
	size_t home;
};

struct machine {
	struct muster_arena *arena;
	const char *name, *origin;
	struct home *homes;
	struct gpu *gpus; /* by bus id */
	size_t home_count, gpu_count;
	size_t sockets;
	bool minors_known;
};

/* A text of malloc's into the arena. */
static const char *keep(struct muster_arena *arena, char *text)
{
	return muster_arena_take(arena, text);
}

/* Room for what is added below. */
static void machine_init(struct machine *machine, const char *name, const char *origin, size_t homes, size_t gpus)
{
	machine->name = name;
	machine->origin = origin;
	machine->homes = muster_arena_alloc(machine->arena, (homes + 1) * sizeof *machine->homes);
	machine->gpus = muster_arena_alloc(machine->arena, (gpus + 1) * sizeof *machine->gpus);
}

static void home_add(struct machine *machine, int os_index, hwloc_const_bitmap_t cpus, hwloc_const_bitmap_t cores)
{
	machine->homes[machine->home_count++] = (struct home){
		.os_index = os_index,
		.mask = keep(machine->arena, muster_cpuset_mask(cpus)),
		.list = keep(machine->arena, muster_cpuset_list(cpus)),
		.cpus = (unsigned int)hwloc_bitmap_weight(cpus),
		.cores = keep(machine->arena, muster_cpuset_list(cores)),
		.core_count = (unsigned int)hwloc_bitmap_weight(cores),
	};
}

static int by_bus_id(const void *a, const void *b)
{
	const struct gpu *x = a, *y = b;
	size_t m = strlen(x->bus_id), n = strlen(y->bus_id);
	return m == n ? strcmp(x->bus_id, y->bus_id) : m < n ? -1 : 1; /* a PCI domain may have more than four digits */
}

static int gpu_add(struct machine *machine, const char *bus_id, int os_index, struct muster_error *err)
{
	size_t home = 0;
	while (home < machine->home_count && machine->homes[home].os_index != os_index)
		home++;
	if (home == machine->home_count)
		return muster_fail(
			err, MUSTER_ENOTSUPPORTED, "GPU %s is on NUMA node %d, which has no CPUs", bus_id, os_index);
	machine->gpus[machine->gpu_count++] =
		(struct gpu){ .bus_id = muster_arena_string(machine->arena, bus_id), .home = home };
	machine->homes[home].gpus++;
	return 0;
}

/* ---- from a hardware description ---- */

/* Cores are numbered along the NUMA nodes, and the threads of a core are neighbours. */
static int homes_described(struct machine *machine, const struct muster_hardware *hardware, struct muster_error *err)
{
	unsigned int core = 0, threads = (unsigned int)hardware->threads_per_core;
	for (size_t i = 0; i < hardware->numa_count; i++) {
		hwloc_bitmap_t cpus = muster_cpuset_parse_list(hardware->numas[i].cpu_list, err), cores;
		if (!cpus)
			return -1;
		cores = hwloc_bitmap_alloc();
		for (unsigned int left = (unsigned int)hwloc_bitmap_weight(cpus) / threads; left > 0; left--)
			hwloc_bitmap_set(cores, core++);
		home_add(machine, hardware->numas[i].os_index, cpus, cores);
		hwloc_bitmap_free(cpus);
		hwloc_bitmap_free(cores);
	}
	return 0;
}

static int machine_described(struct machine *machine, const char *directory, const char *sku, struct muster_error *err)
{
	struct muster_hardware hardware;
	if (muster_hardware_read(directory, sku, machine->arena, &hardware, err) < 0)
		return -1;
	machine_init(machine, sku, "from its hardware description", hardware.numa_count, hardware.gpu_count);
	machine->sockets = (size_t)hardware.sockets;
	if (homes_described(machine, &hardware, err) < 0)
		return -1;
	for (size_t i = 0; i < hardware.gpu_count; i++)
		if (gpu_add(machine, hardware.gpus[i].bus_id, hardware.gpus[i].numa_node, err) < 0)
			return -1;
	return 0;
}

/* ---- from this machine ---- */

/* Slurm's cores are hwloc's, or CPUs where hwloc knows no cores. */
static int home_here(struct machine *machine, hwloc_topology_t topology, hwloc_obj_t node, struct muster_error *err)
{
	bool has_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
	hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
	if (hwloc_get_nbobjs_by_type(topology, type) <= 0)
		return muster_fail(
			err, MUSTER_ENOTSUPPORTED, "hwloc's topology of this machine has no cores and no CPUs");
	if (muster_cpuset_check(node->cpuset, err) < 0)
		return -1;
	hwloc_bitmap_t cores = hwloc_bitmap_alloc();
	for (hwloc_obj_t core = NULL;
		(core = hwloc_get_next_obj_inside_cpuset_by_type(topology, node->cpuset, type, core));)
		hwloc_bitmap_set(cores, core->logical_index);
	home_add(machine, (int)node->os_index, node->cpuset, cores);
	hwloc_bitmap_free(cores);
	return 0;
}

static int homes_here(struct machine *machine, hwloc_topology_t topology, struct muster_error *err)
{
	hwloc_nodeset_t homes = hwloc_bitmap_alloc();
	int rc = 0;
	muster_topology_homes(topology, hwloc_topology_get_complete_cpuset(topology), homes);
	for (hwloc_obj_t node = NULL;
		rc == 0 && (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node));)
		if (hwloc_bitmap_isset(homes, node->os_index))
			rc = home_here(machine, topology, node, err);
	hwloc_bitmap_free(homes);
	qsort(machine->homes, machine->home_count, sizeof *machine->homes, muster_by_int); /* by os_index */
	return rc;
}

static bool is_gpu(hwloc_obj_t device)
{
	const struct hwloc_pcidev_attr_s *pci = &device->attr->pcidev;
	return pci->vendor_id == VENDOR_NVIDIA && (pci->class_id == CLASS_3D || pci->class_id == CLASS_VGA);
}

/* The number in the name of the GPU's device file, as the driver says it. */
static int minor_read(const char *root, const char *bus_id, long *ret)
{
	char *path = muster_asprintf("%s/proc/driver/nvidia/gpus/%s/information", root, bus_id);
	FILE *in = fopen(path, "r");
	char line[256];
	int found = -1;
	free(path);
	while (in && found < 0 && fgets(line, sizeof line, in)) {
		const char *label = "Device Minor:";
		if (strncmp(line, label, strlen(label)) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		const char *number = line + strlen(label);
		found = muster_parse_int(number + strspn(number, " \t"), 0, 1L << 20, ret, label, NULL);
		break;
	}
	if (in)
		fclose(in);
	return found;
}

static int machine_here(struct machine *machine, const char *root, struct muster_error *err)
{
	hwloc_topology_t topology = muster_topology(err);
	if (!topology)
		return -1;
	size_t gpus = 0;
	int nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
	for (hwloc_obj_t device = NULL; (device = hwloc_get_next_pcidev(topology, device));)
		gpus += is_gpu(device);
	machine_init(machine, "this machine", "from hwloc and the kernel", nodes > 0 ? (size_t)nodes : 0, gpus);
	int sockets = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
	machine->sockets = sockets > 0 ? (size_t)sockets : 1;
	if (homes_here(machine, topology, err) < 0)
		return -1;
	for (hwloc_obj_t device = NULL; (device = hwloc_get_next_pcidev(topology, device));) {
		const struct hwloc_pcidev_attr_s *pci = &device->attr->pcidev;
		char bus_id[32];
		hwloc_obj_t node;
		if (!is_gpu(device))
			continue;
		snprintf(bus_id, sizeof bus_id, "%04x:%02x:%02x.%x", (unsigned int)pci->domain, (unsigned int)pci->bus,
			(unsigned int)pci->dev, (unsigned int)pci->func);
		if (muster_topology_gpu_node(topology, root, bus_id, &node, err) < 0)
			return muster_wrap(err, "the NUMA node of GPU %s", bus_id);
		if (gpu_add(machine, bus_id, (int)node->os_index, err) < 0)
			return -1;
	}
	if (machine->gpu_count == 0)
		return muster_fail(err, MUSTER_ENOTSUPPORTED,
			"no NVIDIA GPU among this machine's PCI devices; use --sku NAME for a machine type");
	return 0;
}

/* In the order of bus ids; where the driver does not say it, the device files have that order as well. */
static void gpus_order(struct machine *machine, const char *root)
{
	qsort(machine->gpus, machine->gpu_count, sizeof *machine->gpus, by_bus_id);
	machine->minors_known = root != NULL;
	for (size_t i = 0; i < machine->gpu_count && machine->minors_known; i++)
		machine->minors_known = minor_read(root, machine->gpus[i].bus_id, &machine->gpus[i].minor) == 0;
	for (size_t i = 0; i < machine->gpu_count && !machine->minors_known; i++)
		machine->gpus[i].minor = (long)i;
}

/* ---- what is printed: commands and configuration; all else is a comment ---- */

static void print_gpus(const struct machine *machine)
{
	printf("# %s, %s: %zu GPU%s, %zu NUMA node%s\n", machine->name, machine->origin, machine->gpu_count,
		machine->gpu_count == 1 ? "" : "s", machine->home_count, machine->home_count == 1 ? "" : "s");
	for (size_t i = 0; i < machine->gpu_count; i++) {
		const struct home *home = &machine->homes[machine->gpus[i].home];
		printf("# GPU %zu  %s  NUMA node %d  CPUs %s\n", i, machine->gpus[i].bus_id, home->os_index,
			home->list);
	}
}

static void print_srun(const struct machine *machine)
{
	printf("\n# one task per GPU: task i of a node uses GPU i and the CPUs of its NUMA node\nsrun "
	       "--ntasks-per-node=%zu --cpu-bind=mask_cpu:",
		machine->gpu_count);
	for (size_t i = 0; i < machine->gpu_count; i++)
		printf("%s%s", i ? "," : "", machine->homes[machine->gpus[i].home].mask);
	putchar('\n');
}

/* Whole nodes by count, for a site where --exclusive does not give them. */
static void print_sbatch(const struct machine *machine)
{
	size_t cpus = 0, gpus = machine->gpu_count;
	for (size_t i = 0; i < machine->home_count; i++)
		cpus += machine->homes[i].cpus;
	size_t share = gpus > 0 ? cpus / gpus : 0;
	printf("\n# the same in a job script, for the whole node\n#SBATCH --ntasks-per-node=%zu --gpus-per-node=%zu "
	       "--cpus-per-task=%zu\n",
		gpus, gpus, share > 0 ? share : 1);
}

/* mpirun deals ranks to the NUMA nodes in their order, as many to each: the GPUs must follow. */
static void print_mpirun(const struct machine *machine)
{
	const char *joint = "";
	for (size_t h = 0; h < machine->home_count; h++) {
		if (machine->homes[h].gpus == machine->homes[0].gpus)
			continue;
		printf("\n# mpirun --map-by ppr:N:numa does not fit: NUMA node %d has %d GPUs, and NUMA node %d has "
		       "%d\n",
			machine->homes[0].os_index, machine->homes[0].gpus, machine->homes[h].os_index,
			machine->homes[h].gpus);
		return;
	}
	printf("\n# ranks follow the order of the NUMA nodes, so the GPUs are listed in the same order\nmpirun "
	       "--map-by ppr:%d:numa --bind-to numa -x CUDA_DEVICE_ORDER=PCI_BUS_ID -x CUDA_VISIBLE_DEVICES=",
		machine->homes[0].gpus);
	for (size_t h = 0; h < machine->home_count; h++)
		for (size_t i = 0; i < machine->gpu_count; i++)
			if (machine->gpus[i].home == h) {
				printf("%s%zu", joint, i);
				joint = ",";
			}
	putchar('\n');
}

/* Slurm 24.11 drains a node whose gres.conf names a part of a socket (gres.conf(5), Cores): there each NUMA node must
 * count as a socket. */
static void print_sockets(const struct machine *machine)
{
	const struct home *first = machine->homes;
	if (machine->home_count <= machine->sockets)
		return;
	printf("# These cores are parts of sockets. Slurm 24.11 takes them only with this in slurm.conf:\n"
	       "#   SlurmdParameters=numa_node_as_socket\n");
	for (size_t i = 1; i < machine->home_count; i++)
		if (first[i].core_count != first->core_count || first[i].cpus != first->cpus)
			return;
	printf("#   NodeName=... Sockets=%zu CoresPerSocket=%u ThreadsPerCore=%u\n", machine->home_count,
		first->core_count, first->cpus / (first->core_count > 0 ? first->core_count : 1));
}

static void print_gres(const struct machine *machine)
{
	const struct gpu *gpus = machine->gpus;
	printf("\n# gres.conf; Cores= counts cores in their logical order, not CPUs%s\n",
		machine->minors_known ? "" : "; device files are assumed to be in the order of the bus ids");
	print_sockets(machine);
	for (size_t i = 0, last; i < machine->gpu_count; i = last + 1) {
		for (last = i; last + 1 < machine->gpu_count && gpus[last + 1].home == gpus[i].home &&
			       gpus[last + 1].minor == gpus[last].minor + 1;)
			last++;
		if (last > i)
			printf("Name=gpu File=/dev/nvidia[%ld-%ld]", gpus[i].minor, gpus[last].minor);
		else
			printf("Name=gpu File=/dev/nvidia%ld", gpus[i].minor);
		printf(" Cores=%s\n", machine->homes[gpus[i].home].cores);
	}
}

static int bind_print(const char *hardware, const char *sku)
{
	struct machine machine = { .arena = muster_arena_new() };
	const char *root = muster_env(MUSTER_ENV_ROOT);
	struct muster_error err;
	root = root ? root : "";
	int failed = sku ? machine_described(&machine, hardware, sku, &err) : machine_here(&machine, root, &err);
	if (!failed) {
		gpus_order(&machine, sku ? NULL : root);
		print_gpus(&machine);
		print_srun(&machine);
		print_sbatch(&machine);
		print_mpirun(&machine);
		print_gres(&machine);
	}
	muster_arena_free(machine.arena);
	if (!failed)
		return muster_cli_printed(MUSTER_EXIT_PASS);
	muster_cli_usage(&err);
	return err.code == MUSTER_EUSAGE ? MUSTER_EXIT_USAGE : MUSTER_EXIT_INCONCLUSIVE;
}

static int job_print(void)
{
	struct muster_error err;
	char *record = NULL;
	size_t room = 0;
	long gpus = 0;
	int failed = muster_gres_of_job(getdelim(&record, &room, '\0', stdin) > 0 ? record : "", &gpus, &err);
	free(record);
	if (failed)
		return muster_cli_usage(&err);
	printf("%ld\n", gpus);
	return muster_cli_printed(MUSTER_EXIT_PASS);
}

int muster_cmd_bind(int argc, char **argv)
{
	const char *sku = NULL;
	bool job = false;
	const struct muster_option options[] = {
		{ "--sku", "NAME", "machine type with a hardware description, instead of this machine", .text = &sku,
			.words = muster_words_simulated },
		{ "--job", NULL,
			"print only the GPUs per node of the job that scontrol --details show job describes on "
			"standard input",
			.flag = &job },
	};
	struct muster_cli cli = {
		.usage = "muster bind [--sku NAME | --job]",
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "Prints the options of srun, sbatch and mpirun and the gres.conf lines that place each "
			    "rank next to its GPU.\nLines that begin with # are comments.\nExit codes: 0 printed, 2 "
			    "usage, or the job has no GPUs, 3 no NVIDIA GPU found, or its NUMA node is unknown.\n",
	};
	struct muster_paths paths;
	int code;
	if (!muster_cli_begin(&cli, argc, argv, &paths, &code))
		return code;
	return job ? job_print() : bind_print(paths.hardware, sku);
}
