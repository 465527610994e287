/* SPDX-License-Identifier: Apache-2.0 */
/* bind.c - `muster bind`: what puts each rank next to its GPU, in the words of srun, sbatch, mpirun and gres.conf
 *
 * A struct machine is filled in from a hardware description (machine_described) or from hwloc and the kernel on this
 * machine (machine_here). gpus_order() then brings it to a form that does not depend on its origin, and the print_
 * functions write commands and configuration; all other lines are comments. An example, of a machine with two NUMA
 * nodes of two CPUs and two GPUs:
 *
 *    # machine, from its hardware description: 2 GPUs, 2 NUMA nodes
 *    # GPU 0  0001:00:00.0  NUMA node 0  CPUs 0-1
 *    # GPU 1  0002:00:00.0  NUMA node 1  CPUs 2-3
 *
 *    # one task per GPU: task i of a node uses GPU i and the CPUs of its NUMA node
 *    srun --ntasks-per-node=2 --cpu-bind=mask_cpu:3,c
 *
 * No vendor library is needed: GPUs are PCI devices, in the order of their bus ids, which is CUDA's order with
 * CUDA_DEVICE_ORDER=PCI_BUS_ID. With --exec the process places itself and becomes another program (bind_exec).
 *
 * CPUs are counted in two ways. srun and sbatch take CPUs, which are hardware threads, in the numbers of the kernel;
 * Cores= of gres.conf takes cores in hwloc's logical order.
 */
#include "system/gres.h"
#include "system/nvidia_gpus.h"
#include "system/topology.h"
#include "cli/cli.h"
#include "util/text.h"
#include "muster/report.h"
#include "system/hardware.h"
#include "util/env.h"
#include "util/cpuset.h"
#include "util/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct numa_node {               /* a NUMA node with CPUs */
	int os_index;            /* first, for muster_by_int */
	hwloc_bitmap_t usable;   /* those of its CPUs that may be used */
	const char *mask, *list; /* of usable: "3" and "0-1" */
	unsigned int cpus;       /* how many it has, whether they may be used or not */
	const char *cores;       /* Slurm counts cores as hwloc's logical indices do, not CPUs */
	unsigned int core_count;
	int gpus; /* how many are next to it */
};

struct gpu {
	const char *bus_id;
	long minor;  /* /dev/nvidia<minor>; -1 when it is not known */
	size_t numa; /* index in machine.numas, which is sorted before any GPU is added */
};

struct machine {
	struct muster_arena *arena;
	const char *name, *origin;
	struct numa_node *numas;
	struct gpu *gpus; /* by bus id */
	size_t numa_count, gpu_count;
	size_t sockets;
	bool minors_known;  /* each GPU has a number from the driver; else gpus_order() assumes them */
	const char *doubt;  /* why it is not known which CPUs of a NUMA node are near a GPU; NULL: it is */
	const char *hidden; /* a line for each GPU that this process may not use, unless that is all of them */
};

/* A text of malloc's into the arena. */
static const char *keep(struct muster_arena *arena, char *text)
{
	return muster_arena_take(arena, text);
}

/* Set the names, and allocate room for as many NUMA nodes and GPUs as can be added. */
static void machine_init(struct machine *machine, const char *name, const char *origin, size_t numas, size_t gpus)
{
	machine->name = name;
	machine->hidden = "";
	machine->origin = origin;
	machine->numas = muster_arena_alloc(machine->arena, (numas + 1) * sizeof *machine->numas);
	machine->gpus = muster_arena_alloc(machine->arena, (gpus + 1) * sizeof *machine->gpus);
}

/* Add a NUMA node with these CPUs and cores. The machine owns `usable` from then on (machine_done); cpus and cores are
 * only counted and printed. */
static void numa_add(struct machine *machine, int os_index, hwloc_const_bitmap_t cpus, hwloc_bitmap_t usable,
	hwloc_const_bitmap_t cores)
{
	machine->numas[machine->numa_count++] = (struct numa_node){
		.os_index = os_index,
		.usable = usable,
		.mask = keep(machine->arena, muster_cpuset_mask(usable)),
		.list = keep(machine->arena, muster_cpuset_list(usable)),
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

/* Add a GPU that is next to the NUMA node with this index of the kernel. -1 with err when the machine has no such node
 * with CPUs: no mask can be printed for that GPU. */
static int gpu_add(struct machine *machine, struct gpu gpu, int os_index, struct muster_error *err)
{
	size_t numa = 0;
	while (numa < machine->numa_count && machine->numas[numa].os_index != os_index)
		numa++;
	if (numa == machine->numa_count)
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "GPU %s is on NUMA node %d, which has no CPUs",
			gpu.bus_id, os_index);
	gpu.bus_id = muster_arena_string(machine->arena, gpu.bus_id);
	gpu.numa = numa;
	machine->gpus[machine->gpu_count++] = gpu;
	machine->numas[numa].gpus++;
	return 0;
}

/* ---- from a hardware description ---- */

/* Add the NUMA nodes of the description. All of their CPUs may be used. Cores are numbered along the NUMA nodes, and
 * the threads of a core are neighbours, so a node of n CPUs has the next n / threads cores. -1 with err for a list of
 * CPUs that cannot be read. */
static int numas_described(struct machine *machine, const struct muster_hardware *hardware, struct muster_error *err)
{
	unsigned int core = 0, threads = (unsigned int)hardware->threads_per_core;
	for (size_t i = 0; i < hardware->numa_count; i++) {
		hwloc_bitmap_t cpus = muster_cpuset_parse_list(hardware->numas[i].cpu_list, err), cores;
		if (!cpus)
			return -1;
		cores = hwloc_bitmap_alloc();
		for (unsigned int left = (unsigned int)hwloc_bitmap_weight(cpus) / threads; left > 0; left--)
			hwloc_bitmap_set(cores, core++);
		numa_add(machine, hardware->numas[i].os_index, cpus, cpus, cores);
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
	if (numas_described(machine, &hardware, err) < 0)
		return -1;
	for (size_t i = 0; i < hardware.gpu_count; i++)
		if (gpu_add(machine, (struct gpu){ .bus_id = hardware.gpus[i].bus_id, .minor = -1 },
			    hardware.gpus[i].numa_node, err) < 0)
			return -1;
	return 0;
}

/* ---- from this machine ---- */

/* Add one NUMA node. `allowed` are the CPUs that this process may use; `cores` are all of the node, because gres.conf
 * is about the whole machine. They are in hwloc's logical order, as Slurm counts; CPUs take their place where hwloc
 * knows no cores. -1 with err when the topology has neither. */
static int numa_here(struct machine *machine, hwloc_topology_t topology, hwloc_obj_t node, hwloc_const_bitmap_t allowed,
	struct muster_error *err)
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
	hwloc_bitmap_t usable = hwloc_bitmap_alloc();
	hwloc_bitmap_and(usable, node->cpuset, allowed);
	numa_add(machine, (int)node->os_index, node->cpuset, usable, cores);
	hwloc_bitmap_free(cores);
	return 0;
}

/* Add the NUMA nodes that are the home of CPUs (muster_topology_homes), sorted by their index of the kernel.
 * machine->doubt says why the package of a node is not clear. */
static int numas_here(struct machine *machine, hwloc_topology_t topology, struct muster_error *err)
{
	hwloc_nodeset_t numas = hwloc_bitmap_alloc();
	hwloc_cpuset_t usable = hwloc_bitmap_alloc();
	int rc = muster_topology_usable(topology, usable, err);
	hwloc_cpuset_t package = hwloc_bitmap_alloc();
	struct muster_error doubt;
	muster_topology_homes(topology, hwloc_topology_get_complete_cpuset(topology), numas);
	for (hwloc_obj_t node = NULL;
		rc == 0 && (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node));) {
		if (!hwloc_bitmap_isset(numas, node->os_index))
			continue;
		rc = numa_here(machine, topology, node, usable, err);
		if (muster_topology_package(topology, node, package, &doubt) < 0)
			machine->doubt = muster_arena_string(machine->arena, doubt.text);
	}
	hwloc_bitmap_free(numas);
	hwloc_bitmap_free(usable);
	hwloc_bitmap_free(package);
	qsort(machine->numas, machine->numa_count, sizeof *machine->numas, muster_by_int); /* by os_index */
	return rc;
}

/* Add the GPUs of gpus. GPUs that are set aside for virtual machines are no GPUs of this machine. GPUs that a
 * container or a cgroup hides are left out and named as comments, unless all are hidden: then the lines are for the
 * whole machine. -1 with err when no GPU is left, or when one has no known NUMA node. */
static int gpus_here(struct machine *machine, hwloc_topology_t topology, const char *root,
	const struct muster_nvidia_gpus *gpus, struct muster_error *err)
{
	size_t ours = muster_nvidia_gpus_count(gpus, MUSTER_NVIDIA_OURS);
	for (size_t i = 0; i < gpus->count; i++) {
		const struct muster_nvidia_gpu *gpu = &gpus->items[i];
		hwloc_obj_t node;
		if (gpu->access == MUSTER_NVIDIA_HIDDEN && ours > 0)
			machine->hidden = muster_arena_printf(machine->arena, "%s# GPU %s may not be used here: %s\n",
				machine->hidden, gpu->bus_id, gpu->why);
		if (gpu->access == MUSTER_NVIDIA_SET_ASIDE || (gpu->access == MUSTER_NVIDIA_HIDDEN && ours > 0))
			continue;
		if (muster_topology_gpu_node(topology, root, gpu->bus_id, &node, err) < 0)
			return muster_wrap(err, "the NUMA node of GPU %s", gpu->bus_id);
		if (gpu_add(machine, (struct gpu){ .bus_id = gpu->bus_id, .minor = gpu->minor }, (int)node->os_index,
			    err) < 0)
			return -1;
	}
	if (machine->gpu_count > 0)
		return 0;
	return muster_fail(err, MUSTER_ENOTSUPPORTED,
		"no NVIDIA GPU among this machine's PCI devices; use --sku NAME for a machine type");
}

/* Fill in the machine from hwloc and from the kernel's files below root. hwloc's topology is of the process
 * (muster_topology) and is not released here. */
static int machine_here(struct machine *machine, const char *root, struct muster_error *err)
{
	hwloc_topology_t topology = muster_topology(err);
	struct muster_nvidia_gpus gpus;
	if (!topology || muster_nvidia_gpus_list(root, &gpus, err) < 0)
		return -1;
	int nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
	machine_init(machine, "this machine", "from hwloc and the kernel", nodes > 0 ? (size_t)nodes : 0, gpus.count);
	int sockets = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
	machine->sockets = sockets > 0 ? (size_t)sockets : 1;
	int rc = numas_here(machine, topology, err);
	rc = rc < 0 ? rc : gpus_here(machine, topology, root, &gpus, err);
	muster_nvidia_gpus_done(&gpus);
	return rc;
}

/* Sort the GPUs by bus id, and number the device files. The driver knows the numbers of /dev/nvidia<N>; where it does
 * not say one of them, all are assumed to be in the order of the bus ids. */
static void gpus_order(struct machine *machine)
{
	qsort(machine->gpus, machine->gpu_count, sizeof *machine->gpus, by_bus_id);
	machine->minors_known = true;
	for (size_t i = 0; i < machine->gpu_count; i++)
		machine->minors_known &= machine->gpus[i].minor >= 0;
	for (size_t i = 0; i < machine->gpu_count && !machine->minors_known; i++)
		machine->gpus[i].minor = (long)i;
}

/* ---- what is printed: commands and configuration; all else is a comment ---- */

/* The first GPU none of whose CPUs may be used; NULL when there is none. */
static const struct gpu *cut_off(const struct machine *machine)
{
	for (size_t i = 0; i < machine->gpu_count; i++)
		if (hwloc_bitmap_iszero(machine->numas[machine->gpus[i].numa].usable))
			return &machine->gpus[i];
	return NULL;
}

/* The CPUs that may be used on all NUMA nodes; *ret_all: all CPUs of these. */
static size_t count_usable(const struct machine *machine, size_t *ret_all)
{
	size_t usable = 0;
	*ret_all = 0;
	for (size_t i = 0; i < machine->numa_count; i++) {
		usable += (size_t)hwloc_bitmap_weight(machine->numas[i].usable);
		*ret_all += machine->numas[i].cpus;
	}
	return usable;
}

static void print_gpus(const struct machine *machine)
{
	size_t all, usable = count_usable(machine, &all);
	printf("# %s, %s: %zu GPU%s, %zu NUMA node%s\n", machine->name, machine->origin, machine->gpu_count,
		machine->gpu_count == 1 ? "" : "s", machine->numa_count, machine->numa_count == 1 ? "" : "s");
	for (size_t i = 0; i < machine->gpu_count; i++) {
		const struct numa_node *numa = &machine->numas[machine->gpus[i].numa];
		printf("# GPU %zu  %s  NUMA node %d  CPUs %s\n", i, machine->gpus[i].bus_id, numa->os_index,
			*numa->list ? numa->list : "none that may be used");
	}
	fputs(machine->hidden, stdout);
	if (machine->doubt)
		printf("# %s\n", machine->doubt);
	if (usable < all)
		printf("# %zu of %zu CPUs may be used here (Slurm's job, a cgroup or a container); lines for srun and "
		       "mpirun name no others\n",
			usable, all);
}

static void print_srun(const struct machine *machine)
{
	printf("\n# one task per GPU: task i of a node uses GPU i and the CPUs of its NUMA node\nsrun "
	       "--ntasks-per-node=%zu --cpu-bind=mask_cpu:",
		machine->gpu_count);
	for (size_t i = 0; i < machine->gpu_count; i++)
		printf("%s%s", i ? "," : "", machine->numas[machine->gpus[i].numa].mask);
	putchar('\n');
}

/* For a whole node, in numbers, because --exclusive does not give whole nodes on every site. Each task has an equal
 * share of the CPUs that may be used, rounded down, and at least one. */
static void print_sbatch(const struct machine *machine)
{
	size_t all, cpus = count_usable(machine, &all), gpus = machine->gpu_count;
	size_t share = gpus > 0 ? cpus / gpus : 0;
	printf("\n# the same in a job script, for the whole node\n#SBATCH --ntasks-per-node=%zu --gpus-per-node=%zu "
	       "--cpus-per-task=%zu\n",
		gpus, gpus, share > 0 ? share : 1);
}

/* No option of mpirun puts rank i next to GPU i on every machine: "--map-by ppr:N:numa" takes nodes without CPUs too,
 * deals as many ranks to each, in hwloc's order (Open MPI 4) or the kernel's (PRRTE of Open MPI 5, hwloc_base_util.c),
 * and GPUs must be listed in that order. So each rank places itself. */
static void print_mpirun(const struct machine *machine)
{
	printf("\n# each rank places itself: rank i of a node uses GPU i and the CPUs of its NUMA node\n"
	       "mpirun --map-by ppr:%zu:node --bind-to none -x CUDA_DEVICE_ORDER=PCI_BUS_ID muster bind --exec --\n",
		machine->gpu_count);
}

/* Slurm 24.11 drains a node whose gres.conf names a part of a socket (gres.conf(5), Cores): there each NUMA node must
 * count as a socket. */
static void print_sockets(const struct machine *machine)
{
	const struct numa_node *first = machine->numas;
	if (machine->numa_count <= machine->sockets)
		return;
	printf("# These cores are parts of sockets. Slurm 24.11 takes them only with this in slurm.conf:\n"
	       "#   SlurmdParameters=numa_node_as_socket\n");
	for (size_t i = 1; i < machine->numa_count; i++)
		if (first[i].core_count != first->core_count || first[i].cpus != first->cpus)
			return;
	printf("#   NodeName=... Sockets=%zu CoresPerSocket=%u ThreadsPerCore=%u\n", machine->numa_count,
		first->core_count, first->cpus / (first->core_count > 0 ? first->core_count : 1));
}

/* Print a line of gres.conf for each group of neighbours: GPUs in a row that are next to one NUMA node and whose device
 * files have numbers that follow each other. */
static void print_gres(const struct machine *machine)
{
	const struct gpu *gpus = machine->gpus;
	printf("\n# gres.conf; Cores= counts cores in their logical order, not CPUs%s\n",
		machine->minors_known ? "" : "; device files are assumed to be in the order of the bus ids");
	print_sockets(machine);
	for (size_t i = 0, last; i < machine->gpu_count; i = last + 1) {
		for (last = i; last + 1 < machine->gpu_count && gpus[last + 1].numa == gpus[i].numa &&
			       gpus[last + 1].minor == gpus[last].minor + 1;)
			last++;
		if (last > i)
			printf("Name=gpu File=/dev/nvidia[%ld-%ld]", gpus[i].minor, gpus[last].minor);
		else
			printf("Name=gpu File=/dev/nvidia%ld", gpus[i].minor);
		printf(" Cores=%s\n", machine->numas[gpus[i].numa].cores);
	}
}

static void print_lines(const struct machine *machine)
{
	const struct gpu *far = cut_off(machine);
	print_gpus(machine);
	if (far) {
		printf("\n# None of the CPUs near GPU %s may be used, so no line for srun, sbatch or mpirun is right: "
		       "ask for other CPUs, or for the whole node.\n",
			far->bus_id);
	} else {
		print_srun(machine);
		print_sbatch(machine);
		print_mpirun(machine);
	}
	print_gres(machine);
}

static int machine_read(struct machine *machine, const char *hardware, const char *sku, struct muster_error *err)
{
	const char *root = muster_env(MUSTER_ENV_ROOT);
	if ((sku ? machine_described(machine, hardware, sku, err) : machine_here(machine, root ? root : "", err)) < 0)
		return -1;
	gpus_order(machine);
	return 0;
}

static void machine_done(struct machine *machine)
{
	for (size_t i = 0; i < machine->numa_count; i++)
		hwloc_bitmap_free(machine->numas[i].usable);
	muster_arena_free(machine->arena);
}

/* Print the lines of the machine, or of the machine type sku. Returns the exit code: 2 for what the user can correct,
 * else 3. */
static int bind_print(const char *hardware, const char *sku)
{
	struct machine machine = { .arena = muster_arena_new() };
	struct muster_error err;
	int failed = machine_read(&machine, hardware, sku, &err);
	if (!failed)
		print_lines(&machine);
	machine_done(&machine);
	if (!failed)
		return muster_cli_printed(MUSTER_EXIT_PASS);
	muster_cli_usage(&err);
	return err.code == MUSTER_EUSAGE ? MUSTER_EXIT_USAGE : MUSTER_EXIT_INCONCLUSIVE;
}

/* ---- --exec ---- */

/* The number of this process among those of its job on this node, as its launcher says it: the first variable that is
 * set counts. -1 with err without a launcher, and for a number that cannot be read. */
static int local_rank_read(long *ret, struct muster_error *err)
{
	/* Open MPI and PRRTE; Hydra of MPICH and Intel MPI; MVAPICH; Cray's PALS; torchrun; Slurm, whose number is that
	 * of mpirun's daemon where mpirun started the rank */
	static const char *const names[] = { "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
		"MV2_COMM_WORLD_LOCAL_RANK", "PALS_LOCAL_RANKID", "LOCAL_RANK", "SLURM_LOCALID" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *text = getenv(names[i]);
		if (text)
			return muster_parse_int(text, 0, INT_MAX, ret, names[i], err);
	}
	return muster_fail(err, MUSTER_ENOTSUPPORTED, "no launcher has given this process a local rank");
}

/* The GPU that CUDA and muster give this rank: the only GPU that the rank sees, or of several GPUs that with the rank's
 * number. CUDA_VISIBLE_DEVICES says which it sees, as indices in the order of bus ids; without the variable it is all.
 * NULL with err for an entry that is no such index, a UUID for instance, and for a local rank beyond the number of
 * GPUs. */
static const struct gpu *gpu_of_rank(const struct machine *machine, long local_rank, struct muster_error *err)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	size_t seen = machine->gpu_count, chosen = 0, *gpus = NULL;
	if (visible) {
		gpus = muster_arena_alloc(machine->arena, (strlen(visible) + 1) * sizeof *gpus);
		for (const char *at = visible, *end; chosen == 0 || at[-1] == ','; at = *end ? end + 1 : end) {
			long number;
			end = at + strcspn(at, ",");
			if (muster_parse_int(muster_arena_printf(machine->arena, "%.*s", (int)(end - at), at), 0,
				    (long)seen - 1, &number, "CUDA_VISIBLE_DEVICES", err) < 0)
				return NULL;
			gpus[chosen++] = (size_t)number;
		}
		seen = chosen;
	}
	size_t number = seen == 1 ? 0 : (size_t)local_rank;
	if (number < seen)
		return &machine->gpus[gpus ? gpus[number] : number];
	muster_fail(err, MUSTER_ENOTSUPPORTED, "local rank %ld, and %zu GPUs", local_rank, seen);
	return NULL;
}

/* Bind this process to the CPUs next to its GPU. -1 with err, and the process keeps its CPUs. */
static int place_here(struct machine *machine, struct muster_error *err)
{
	long local_rank;
	if (local_rank_read(&local_rank, err) < 0 || machine_read(machine, NULL, NULL, err) < 0)
		return -1;
	const struct gpu *gpu = gpu_of_rank(machine, local_rank, err);
	if (!gpu)
		return -1;
	hwloc_const_cpuset_t cpus = machine->numas[gpu->numa].usable;
	if (hwloc_bitmap_iszero(cpus))
		return muster_fail(err, MUSTER_ENOTSUPPORTED, "none of the CPUs near GPU %s may be used", gpu->bus_id);
	if (hwloc_set_cpubind(muster_topology(NULL), cpus, HWLOC_CPUBIND_PROCESS) < 0)
		return muster_fail(err, MUSTER_EIO, "CPUs %s near GPU %s: %s", machine->numas[gpu->numa].list,
			gpu->bus_id, strerror(errno));
	return 0;
}

/* Place this process and become the command; returns an exit code only when it cannot be started. A rank that cannot be
 * placed starts all the same: what is wrong is printed, and the affinity probe of muster records where the rank runs.
 */
static int bind_exec(char **command)
{
	struct machine machine = { .arena = muster_arena_new() };
	struct muster_error err;
	setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
	if (place_here(&machine, &err) < 0)
		fprintf(stderr, "muster: bind: this rank keeps its CPUs: %s\n", err.text);
	machine_done(&machine);
	execvp(command[0], command);
	int why = errno;
	muster_fail(&err, MUSTER_EUSAGE, "%s: %s", command[0], strerror(why));
	muster_cli_usage(&err);
	return why == ENOENT ? 127 : 126; /* as a shell's */
}

/* Print the GPUs per node of the job that standard input describes (system/gres.h). 2 when the text tells of no GPUs.
 */
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
	bool job = false, exec = false;
	const struct muster_option options[] = {
		{ "--sku", "NAME", "machine type with a hardware description, instead of this machine", .text = &sku,
			.words = muster_words_simulated },
		{ "--job", NULL,
			"print only the GPUs per node of the job that scontrol --details show job describes on "
			"standard input",
			.flag = &job },
		{ "--exec", NULL,
			"become COMMAND, as one rank of a job, on the CPUs next to the GPU with the number of its "
			"local rank, or to the only one that it sees",
			.flag = &exec },
	};
	struct muster_cli cli = {
		.usage = "muster bind [--sku NAME | --job | --exec -- COMMAND...]",
		.takes_rest = true,
		.prints = true,
		MUSTER_CLI_OPTIONS(options),
		.epilogue = "Prints the options of srun, sbatch and mpirun and the gres.conf lines that place each "
			    "rank next to its GPU.\nLines that begin with # are comments.\nExit codes: 0 printed, 2 "
			    "usage, or the job has no GPUs, 3 no NVIDIA GPU found, or its NUMA node is unknown; with "
			    "--exec that of COMMAND, or 126 or 127 if it cannot be started.\n",
	};
	struct muster_paths paths;
	struct muster_error err;
	int code;
	if (!muster_cli_begin(&cli, argc, argv, &paths, &code))
		return code;
	if (!exec && cli.rest < argc)
		muster_fail(&err, MUSTER_EUSAGE, "a command behind \"--\" needs --exec");
	else if (exec && cli.rest == argc)
		muster_fail(&err, MUSTER_EUSAGE, "--exec needs a command behind \"--\"");
	else
		return exec ? bind_exec(argv + cli.rest) : job ? job_print() : bind_print(paths.hardware, sku);
	return muster_cli_usage(&err);
}
